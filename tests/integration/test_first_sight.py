# SPDX-License-Identifier: MIT
"""Nothing runs by surprise: a job that Redis has no record of waits for its next turn."""
import collections

from fleet import ONCE, SHORT, wait_for

TICK = {**SHORT, "every": "2s", "attempts": 1}


def turns(fleet, job):
    return collections.Counter(entry.turn for entry in fleet.entries("begin", job))


def test_new_job_does_not_run_its_past(fleet):
    jobs = {"yearly": {**SHORT, **ONCE, **fleet.body("yearly")},
            "tick": {**TICK, **fleet.body("tick")}}
    fleet.make_due("tick")
    devices = [fleet.device(jobs).start() for _ in range(2)]
    wait_for(lambda: any(device.lines(
        "yearly: there is no record of it by this schedule, so its past turn of .* is not run; it waits")
        for device in devices), 5, "the past turn is said to be left out")
    fleet.wait_entry("end", "tick", count=2, within=15)
    assert fleet.entries("", "yearly") == []
    assert fleet.claim("yearly")["state"] == "assumed"


def test_first_now_runs_the_latest_once(fleet):
    jobs = {"yearly": {**SHORT, **ONCE, "first": "now", **fleet.body("yearly")},
            "tick": {**TICK, **fleet.body("tick")}}
    fleet.make_due("tick")
    devices = [fleet.device(jobs).start() for _ in range(2)]
    fleet.wait_history("yearly", within=15)
    for device in devices:
        assert device.stop() == 0
        device.start()
    fleet.wait_entry("end", "tick", count=len(fleet.entries("end", "tick")) + 2, within=15)
    assert len(fleet.entries("begin", "yearly")) == 1
    assert [entry["outcome"] for entry in fleet.history("yearly")] == ["succeeded"]


def test_redis_emptied(fleet):
    jobs = {"yearly": {**SHORT, **ONCE, **fleet.body("yearly")},
            "tick": {**TICK, **fleet.body("tick")}}
    fleet.make_due("yearly", "tick")
    devices = [fleet.device(jobs).start() for _ in range(2)]
    fleet.wait_history("yearly")
    fleet.wait_entry("end", "tick", within=15)
    for device in devices:
        device.wait_line("yearly: (ASKING|CLOSING) -> WAITING")
    fleet.client.flushall()
    # One goes on as it is, the other asks anew for all that is due.
    assert devices[1].stop() == 0
    devices[1].start()
    devices[1].wait_line("yearly: there is no record of it by this schedule, so its past turn")
    fleet.wait_entry("end", "tick", count=len(fleet.entries("end", "tick")) + 2, within=20)
    assert len(fleet.entries("begin", "yearly")) == 1
    assert [turn for turn, count in turns(fleet, "tick").items() if count > 1] == []
