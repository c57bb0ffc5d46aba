# SPDX-License-Identifier: MIT
"""S28 with real processes and the system's time zones: the minutes around both changes of the clock in
Berlin. The days around them, and other years, are played by the unit test of this name."""
from fleet import SHORT, SLOWNESS, wait_for
from fleet_time import begin_at, instant

BERLIN = {"timezone": "Europe/Berlin"}
CRONS = {
    "daily": {"cron": "30 2 * * *", **BERLIN},
    "hourly": {"cron": "0 * * * *", **BERLIN},
    "half": {"cron": "30 * * * *", **BERLIN},
    "utc": {"cron": "30 2 * * *"},
}
DEVICES = 2


def start_before(fleet, now):
    """A fleet that finds itself 4 s before what the test is about; all before it is done."""
    begin_at(fleet, now)
    for job in CRONS:
        if not fleet.claim(job):
            fleet.make_done(instant(now), job)
    jobs = {job: {**SHORT, **cron, "splay": "100ms", **fleet.body(job)} for job, cron in CRONS.items()}
    if not fleet.devices:
        for _ in range(DEVICES):
            fleet.device(jobs, log_level="info")
    for device in fleet.devices:
        device.start()


def wait_runs(fleet, *expected):
    """Exactly these runs, each recorded; then the devices stop."""
    wait_for(lambda: len(fleet.entries("end")) >= len(expected), 15, f"the runs of {expected}")
    # A script that has written its end still has to exit: a stop before that would break it off.
    for job, _ in expected:
        fleet.wait_history(job, count=sum(name == job for name, _ in expected))
    for device in fleet.devices:
        assert device.stop() == 0
    found = sorted((entry.job, entry.turn) for entry in fleet.entries("begin"))
    assert found == sorted((job, instant(turn)) for job, turn in expected)
    for job, _ in expected:
        assert {entry["outcome"] for entry in fleet.history(job)} == {"succeeded"}


def assert_few_lines(fleet):
    for device in fleet.devices:
        if SLOWNESS == 1:
            assert device.complaints() == []
        assert len(device.lines()) < 10, device.output()


def test_s28_forward(timed_fleet):
    # 01:59:56 of winter time; the next second but three is 03:00:00.
    start_before(timed_fleet, "2026-03-29 00:59:56")
    wait_runs(timed_fleet, ("daily", "2026-03-29 01:00"), ("hourly", "2026-03-29 01:00"))
    assert_few_lines(timed_fleet)


def test_s28_back(timed_fleet):
    # 02:29:56 of summer time, and an hour later of winter time.
    first = [("daily", "2026-10-25 00:30"), ("half", "2026-10-25 00:30")]
    start_before(timed_fleet, "2026-10-25 00:29:56")
    wait_runs(timed_fleet, *first)
    hour = [("hourly", "2026-10-25 01:00")]  # of the clock between them
    start_before(timed_fleet, "2026-10-25 01:29:56")
    wait_runs(timed_fleet, *first, *hour, ("half", "2026-10-25 01:30"))
    assert_few_lines(timed_fleet)
