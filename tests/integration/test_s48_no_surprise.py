# SPDX-License-Identifier: MIT
"""S48: what is added, edited or lost at 14:00 does not run before its next turn, 03:00. The afternoon
and the night as a whole are the unit test's of this name."""
import signal

from fleet import SHORT, wait_for
from fleet_time import begin_at, instant

DAILY = {**SHORT, "cron": "0 3 * * *", "splay": "100ms"}
TICK = {**SHORT, "every": "1s", "attempts": 1}
NO_RECORD = ("daily: there is no record of it by this schedule, so its past turn of 03:00 UTC is not run; "
             "it waits for its next one")
DEVICES = 2


class Afternoon:
    """Two devices at 14:00, with a job that ticks: it shows that turns go on being taken."""

    def __init__(self, fleet, **jobs):
        self.fleet = fleet
        begin_at(fleet, "2026-06-16 14:00:00")
        fleet.make_done(instant("2026-06-16 13:59"), "tick")
        for _ in range(DEVICES):
            fleet.device(self.whole(jobs)).start()
        self.wait_ticks()

    def whole(self, jobs):
        bodies = {job: {**settings, **self.fleet.body(job)} for job, settings in jobs.items()}
        return {"tick": {**TICK, **self.fleet.body("tick")}, **bodies}

    def reload(self, **jobs):
        for device in self.fleet.devices:
            device.write(self.whole(jobs))
            device.signal(signal.SIGHUP)
        for device in self.fleet.devices:
            device.wait_line("^reloaded: ")

    def restart(self, at=None):
        for device in self.fleet.devices:
            assert device.stop() == 0
        if at:
            begin_at(self.fleet, at)
        for device in self.fleet.devices:
            device.start()

    def wait_ticks(self):
        seen = len(self.fleet.runs("tick"))
        wait_for(lambda: len(self.fleet.runs("tick")) >= seen + 2, 15, "two more ticks")

    def wait_said(self, pattern, within=10):
        """By any device: one finds it out, the others are told that it is settled."""
        wait_for(lambda: any(device.lines(pattern) for device in self.fleet.devices), within, pattern)

    def wait_night(self, turn):
        """The turn of the night, from 3 s before it; then it has run, and once."""
        before = self.fleet.runs("daily")
        self.restart("2026-06-17 02:59:57")
        self.fleet.wait_history("daily", len(before) + 1, within=20)
        self.wait_ticks()
        assert self.fleet.runs("daily") == before + [instant(turn)]


def test_s48_added(timed_fleet):
    afternoon = Afternoon(timed_fleet)
    afternoon.reload(daily=DAILY)
    afternoon.wait_said(NO_RECORD)
    afternoon.restart()
    afternoon.wait_ticks()
    assert timed_fleet.runs("daily") == []
    afternoon.wait_night("2026-06-17 03:00")


def test_s48_edited(timed_fleet):
    before = {**DAILY, "cron": "0 2 * * *", "first": "now"}
    afternoon = Afternoon(timed_fleet, daily=before)
    # Its record is of a real run, so that it knows its schedule.
    timed_fleet.wait_history("daily")
    afternoon.reload(daily=DAILY)
    afternoon.wait_said(NO_RECORD)
    afternoon.restart()
    afternoon.wait_ticks()
    assert timed_fleet.runs("daily") == [instant("2026-06-16 02:00")]
    afternoon.wait_night("2026-06-17 03:00")


def test_s48_redis_emptied(timed_fleet):
    timed_fleet.make_done(instant("2026-06-16 03:00"), "daily")
    afternoon = Afternoon(timed_fleet, daily=DAILY)
    timed_fleet.client.flushall()
    afternoon.wait_ticks()
    afternoon.restart()
    afternoon.wait_said(NO_RECORD)
    afternoon.wait_ticks()
    assert timed_fleet.runs("daily") == []
    afternoon.wait_night("2026-06-17 03:00")


def test_s48_first_now_runs_once(timed_fleet):
    afternoon = Afternoon(timed_fleet)
    afternoon.reload(daily={**DAILY, "first": "now"})
    timed_fleet.wait_history("daily")
    afternoon.restart()
    afternoon.wait_ticks()
    assert timed_fleet.runs("daily") == [instant("2026-06-16 03:00")]
    afternoon.reload(daily={**DAILY, "cron": "0 4 * * *", "first": "now"})
    timed_fleet.wait_history("daily", 2)
    afternoon.restart()
    afternoon.wait_ticks()
    assert timed_fleet.runs("daily") == [instant("2026-06-16 03:00"), instant("2026-06-16 04:00")]
