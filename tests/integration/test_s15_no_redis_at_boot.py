# SPDX-License-Identifier: MIT
"""S15: no Redis at boot, for 20 s, or 5 minutes; the service manager's part is played."""
import pytest

from fleet import ONCE, SHORT, wait_for
from notify import NotifySocket

WATCHDOG_SECONDS = 2.0


@pytest.mark.parametrize("seconds", [20, pytest.param(300, marks=pytest.mark.long)])
def test_s15_ready_waits_and_recovers(fleet, seconds):
    fleet.redis.kill()
    # An empty Redis that comes late: what would be written there first would race with the device.
    jobs = {"report": {**SHORT, **ONCE, "first": "now", **fleet.body("report")}}
    device = fleet.device(jobs)
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path,
                     WATCHDOG_USEC=str(int(WATCHDOG_SECONDS * 1_000_000)))
        notify.wait_for("^READY=1$", 2)
        notify.wait_for("^STATUS=1 job.*; redis unreachable.*, 0 turns missed$", 5)
        begun = notify.messages[0][0]

        def over():
            assert device.runs()
            return notify.pings() and notify.pings()[-1] - begun > seconds
        wait_for(over, seconds + 2 * WATCHDOG_SECONDS, "the time is over")
        pings = [begun, *notify.pings()]
        assert max(later - earlier for earlier, later in zip(pings, pings[1:])) < WATCHDOG_SECONDS
        assert len(notify.texts("^READY=1$")) == 1
        assert len(device.complaints()) == 1  # that Redis does not answer, and not once a try

        fleet.redis.start()
        fleet.wait_entry("end", within=10)
        notify.wait_for("^STATUS=.*; redis ok$", 2)
        device.wait_line("answers again after", 1)
        assert device.runs() and len(fleet.entries("begin")) == 1
