# SPDX-License-Identifier: MIT
"""S5: a job runs; its supervisor alone is stopped for the lease and 2 s more, then continued."""
import signal

from fault_proxy import redis_by
from fleet import ONCE, RENEWED, is_alive, now_ms, wait_for

LEASE = 3
BODY = """
[ "$ROTA_ATTEMPT" = 1 ] || { sleep 4; exit 0; }
while :; do note beat; sleep 0.02; done
"""


def ends(fleet):
    return [(entry["attempt"], entry["outcome"]) for entry in fleet.history("report")]


def test_s5_frozen_past_its_lease(proxy, fleet):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report", BODY)}}
    fleet.make_due("report")
    frozen = fleet.device(jobs, name="frozen", redis=redis_by(proxy)).start()
    begin = fleet.wait_entry("begin")
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by frozen")
    token = fleet.lock("report")

    frozen.signal(signal.SIGSTOP)
    until = now_ms() + (LEASE + 2) * 1000
    wait_for(lambda: not is_alive(begin.pid), LEASE, "the guard has ended the worker")
    assert fleet.lock("report") == token
    again = fleet.wait_entry("begin", count=2, within=LEASE + 3)
    assert again.attempt == 2
    assert max(beat.at for beat in fleet.entries("beat")) < again.at
    wait_for(lambda: now_ms() >= until, LEASE + 2, "the time of the freeze has passed")

    # While the other does not renew, whatever moves its lock would be the one that wakes.
    other.signal(signal.SIGSTOP)
    key = fleet.key("report", "lock")
    token, left = fleet.lock("report"), fleet.client.pttl(key)
    assert token.startswith("other:")
    frozen.signal(signal.SIGCONT)

    def lost():
        nonlocal left
        holder, now_left = fleet.client.pipeline(transaction=True).get(key).pttl(key).execute()
        assert holder == token and now_left <= left
        left = now_left
        return ("1", "lost") in ends(fleet)
    wait_for(lost, 2, "the loss is recorded")
    other.signal(signal.SIGCONT)
    frozen.wait_line("^report: stopped after .*, because the lock could not be renewed", 1)

    wait_for(lambda: ("2", "succeeded") in ends(fleet), 8, "the other's run is recorded")
    assert len(fleet.entries("begin")) == 2
    assert fleet.lock("report") is None
