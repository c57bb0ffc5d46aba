# SPDX-License-Identifier: MIT
"""S3: lease 3 s, renewed each second, time-outs 200 ms, grace 300 ms, a job of 10 s."""
from fleet import ONCE, RENEWED, wait_for

LEASE_MS = 3000
DEVICES = 3


def test_s3_one_holder_throughout(fleet):
    jobs = {"report": {**RENEWED, **ONCE, "worst_case": "15s", **fleet.body("report", "sleep 10")}}
    redis = {"address": fleet.redis.address, "connect_timeout": "200ms", "command_timeout": "200ms"}
    fleet.make_due("report")
    for _ in range(DEVICES):
        fleet.device(jobs, redis=redis).start()
    fleet.wait_entry("begin")

    holders, least = set(), LEASE_MS
    key = fleet.key("report", "lock")

    def ended():
        nonlocal least
        holder, left = fleet.client.pipeline(transaction=True).get(key).pttl(key).execute()
        if fleet.entries("end"):
            return True
        holders.add(holder)
        least = min(least, left)
        return False
    wait_for(ended, 20, "the job ends")

    assert len(holders) == 1 and None not in holders
    assert LEASE_MS / 2 <= least
    assert len(fleet.entries("begin")) == 1
    wait_for(lambda: fleet.lock("report") is None, 2, "the lock is gone after the end")
    assert [entry["outcome"] for entry in fleet.history("report")] == ["succeeded"]
