# SPDX-License-Identifier: MIT
"""S31: the whole fleet is off for 3 days. What the start costs is the unit test's of this name."""
from fleet import SHORT, SLOWNESS, wait_for
from fleet_time import begin_at, instant

DEVICES = 3


def scripts_run(fleet):
    stats = fleet.client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval"))


def test_s31_one_catch_up_run(timed_fleet):
    begin_at(timed_fleet, "2026-06-16 13:59:55")
    timed_fleet.make_done(instant("2026-06-16 13:59"), "minutely")
    jobs = {"minutely": {**SHORT, "cron": "* * * * *", "splay": "100ms", **timed_fleet.body("minutely")}}
    devices = [timed_fleet.device(jobs).start() for _ in range(DEVICES)]
    timed_fleet.wait_history("minutely")
    for device in devices:
        assert device.stop() == 0
    before = scripts_run(timed_fleet)

    begin_at(timed_fleet, "2026-06-19 14:00:52")
    for device in devices:
        device.start()
    wait_for(lambda: len(timed_fleet.history("minutely")) >= 3, 15, "a catch-up run, and the next turn's")
    for device in devices:
        assert device.stop() == 0

    assert timed_fleet.runs() == [instant("2026-06-16 14:00"), instant("2026-06-19 14:00"),
                                  instant("2026-06-19 14:01")]
    if SLOWNESS == 1:
        # Each said hello, asked for either turn, and may have watched its holder; two runs were recorded, each
        # also in the fleet's index.
        assert scripts_run(timed_fleet) - before <= DEVICES * (1 + 2 * 2) + 2 * 2
        assert [line for device in devices for line in device.complaints()] == []
