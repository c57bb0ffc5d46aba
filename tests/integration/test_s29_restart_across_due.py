# SPDX-License-Identifier: MIT
"""S29: a daily job, and a device, or the whole fleet, that is not there at its instant."""
import pytest

from fleet import SHORT, wait_for
from fleet_time import begin_at, instant

DAILY = {**SHORT, "cron": "0 3 * * *", "splay": "100ms"}
TICK = {**SHORT, "every": "1s", "attempts": 1}
DUE = instant("2026-06-17 03:00")


def restart_across_due(fleet, devices, settings):
    """The devices wait for 03:00, are stopped, and come again 5 minutes after it."""
    begin_at(fleet, "2026-06-17 02:59:50")
    fleet.make_done(instant("2026-06-16 03:00"), "daily")
    fleet.make_done(instant("2026-06-17 02:59"), "tick")
    jobs = {"daily": {**DAILY, **settings, **fleet.body("daily")}, "tick": {**TICK, **fleet.body("tick")}}
    for _ in range(devices):
        fleet.device(jobs).start()
    for device in fleet.devices:
        device.wait_line("tick: ASKING -> ")  # so the other has been looked at too
    stop(fleet)
    assert fleet.runs("daily") == []
    begin_at(fleet, "2026-06-17 03:05:00")
    start(fleet)


def start(fleet):
    for device in fleet.devices:
        device.start()


def stop(fleet):
    for device in fleet.devices:
        assert device.stop() == 0


def wait_ticks(fleet, count):
    wait_for(lambda: len(fleet.runs("tick")) >= count, 15, f"{count} ticks")


@pytest.mark.parametrize("devices", [1, 3])
def test_s29_once_in_the_fleet(timed_fleet, devices):
    restart_across_due(timed_fleet, devices, {})
    timed_fleet.wait_history("daily")
    stop(timed_fleet)
    ticks = len(timed_fleet.runs("tick"))
    start(timed_fleet)  # and again: it is done
    wait_ticks(timed_fleet, ticks + 2)
    assert timed_fleet.runs("daily") == [DUE]
    assert [entry["outcome"] for entry in timed_fleet.history("daily")] == ["succeeded"]


@pytest.mark.parametrize("devices", [1, 3])
def test_s29_not_after_catch_up(timed_fleet, devices):
    restart_across_due(timed_fleet, devices, {"catch_up": "2m"})
    for device in timed_fleet.devices:
        device.wait_line(r"daily: the turn of 03:00 UTC is more than catch_up \(2m\) late and is left out")
    wait_ticks(timed_fleet, len(timed_fleet.runs("tick")) + 2)
    assert timed_fleet.runs("daily") == []
