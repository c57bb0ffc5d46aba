# SPDX-License-Identifier: MIT
"""S35: on SIGTERM a worker is asked, then reaped, then its lock is released; what cannot be reaped keeps its lock."""
import signal
import time

import fire
from fire import Freezer, behaving, needs_freezer, wait_tree
from fleet import ONCE, RENEWED, SLOWNESS, is_alive, wait_for
from notify import NotifySocket

NEEDS_TWO_SECONDS = """
trap 'trap "" TERM; note asked; sleep 2; note over; exit 0' TERM
note ready
while :; do sleep 0.1; done
"""
STOP_TIMEOUT_S = 20
SPARE_S = 5
INTERVAL_S = 0.5 * SLOWNESS


def assert_fed(notify, since, until):
    """The watchdog, from then on to the end."""
    instants = [since] + [at for at in notify.pings() if at > since] + [until]
    assert max(later - earlier for earlier, later in zip(instants, instants[1:])) < INTERVAL_S


def test_s35_asked_then_reaped_then_released(fleet):
    fleet.make_due("report")
    jobs = {"report": {**RENEWED, **ONCE, "lease": "20s", "stop_grace": "10s",
                       **fleet.body("report", NEEDS_TWO_SECONDS)}}
    with NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(jobs, stop_timeout=f"{STOP_TIMEOUT_S}s")
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL_S * 1_000_000)))
        fleet.wait_entry("ready")
        begin = fleet.wait_entry("begin")
        token = fleet.lock("report")
        device.signal(signal.SIGTERM)
        # In one datagram, at once: the service manager's own limit must not be the first.
        said = notify.wait_for("^STOPPING=1$", 2)
        assert f"EXTEND_TIMEOUT_USEC={(STOP_TIMEOUT_S + SPARE_S) * 1_000_000}" in said.splitlines()
        asked = time.monotonic()
        fleet.wait_entry("asked", within=2)

        def released():
            lives, lock = is_alive(begin.pid), fleet.lock("report")
            assert lock in (token, None) and not (lock is None and lives), "released before it was reaped"
            return lock is None
        wait_for(released, 8, "the lock is released")
        assert device.ended() == 0
        ended = time.monotonic()
        assert notify.texts("^READY=1$") == ["READY=1"]
        assert_fed(notify, asked, ended)
    assert fleet.entries("over")[0].at - fleet.entries("asked")[0].at >= 1900
    entry, = fleet.history("report")
    assert (entry["outcome"], entry["held"]) == ("declined", "1")
    assert not device.guards() and fleet.claim("report")["attempt"] == "0"


@needs_freezer
def test_s35_what_cannot_be_reaped_is_not_released(fleet):
    fire.behave(fleet)
    fleet.make_due("report")
    device = fleet.device({"report": behaving(fleet, "report", "tree", worst_case="60s", lease="30s")},
                          stop_timeout="3s")
    with Freezer() as freezer:
        device.start()
        pids = wait_tree(fleet, "report")
        token = fleet.lock("report")
        freezer.freeze(*pids)
        assert device.stop(within=8) == 0
        assert token and fleet.lock("report") == token
        assert fleet.client.pttl(fleet.key("report", "lock")) > 0
        assert fleet.history("report") == [] and fleet.claim("report")["state"] == "running"
        assert any(is_alive(pid) for pid in pids)
        freezer.thaw()
        wait_for(lambda: not any(is_alive(pid) for pid in pids), 5, "the guard ends what it has")
        assert fleet.lock("report") == token
