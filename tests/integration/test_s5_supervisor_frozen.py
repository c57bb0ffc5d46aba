# SPDX-License-Identifier: MIT
"""S5: a job runs, and its supervisor alone is stopped for the lease and 2 s more, then continued."""
import signal

import pytest

from fault_proxy import FaultProxy, redis_by
from fleet import ONCE, RENEWED, RENEWED_LEASE, is_alive, now_ms, wait_for

BODY = """
[ "$ROTA_ATTEMPT" = 1 ] || { sleep 4; exit 0; }
while :; do note beat; sleep 0.02; done
"""


@pytest.fixture
def proxy(redis_server):
    with FaultProxy(redis_server.socket) as the_proxy:
        yield the_proxy


def test_s5_frozen_past_its_lease(fleet, proxy):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report", BODY)}}
    fleet.make_due("report")
    frozen = fleet.device(jobs, name="frozen", redis=redis_by(proxy)).start()
    begin = fleet.wait_entry("begin")
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by frozen")
    token = fleet.lock("report")

    frozen.signal(signal.SIGSTOP)
    until = now_ms() + (RENEWED_LEASE + 2) * 1000
    wait_for(lambda: not is_alive(begin.pid), RENEWED_LEASE, "the guard has ended the worker")
    assert fleet.lock("report") == token
    again = fleet.wait_entry("begin", count=2, within=RENEWED_LEASE + 3)
    assert again.attempt == 2
    assert max(beat.at for beat in fleet.entries("beat")) < again.at
    wait_for(lambda: now_ms() >= until, RENEWED_LEASE + 2, "the time of the freeze has passed")

    # While the other does not renew, whatever moves its lock was the one that wakes.
    other.signal(signal.SIGSTOP)
    token = fleet.lock("report")
    assert token.startswith("other:")
    left = fleet.client.pttl(fleet.key("report", "lock"))
    frozen.signal(signal.SIGCONT)
    proxy.wait_for("finish", within=2)

    def said():
        nonlocal left
        holder, now_left = fleet.client.pipeline(transaction=True).get(fleet.key("report", "lock")).pttl(
            fleet.key("report", "lock")).execute()
        assert holder == token and now_left <= left
        left = now_left
        return [line for line in frozen.lines("^report: ") if line.level == "error"]
    wait_for(said, 1, "the loss is said")
    other.signal(signal.SIGCONT)

    frozen.wait_line(r"^report: stopped after .*, because the lock could not be renewed")
    assert [entry["outcome"] for entry in fleet.history("report") if entry["token"] != token] in (
        ["vanished", "lost"], ["lost"], ["vanished"])
    fleet.wait_entry("begin", count=2)
    wait_for(lambda: [entry for entry in fleet.history("report")
                      if (entry["token"], entry["outcome"]) == (token, "succeeded")], 8, "the other's run is recorded")
    assert len(fleet.entries("begin")) == 2
