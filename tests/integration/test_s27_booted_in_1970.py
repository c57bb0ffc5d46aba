# SPDX-License-Identifier: MIT
"""S27: the device boots in 1970, and its clock is set some time later."""
import pytest

from clock.virtual_clock import VirtualClock
from fleet import LOCAL, SHORT, now_ms, wait_for
from notify import NotifySocket

PERIOD_MS = 2000
TICK = {**SHORT, "every": f"{PERIOD_MS}ms", "attempts": 1}
BOOTED_MS = 5000


@pytest.fixture
def clock(fleet):
    clock = VirtualClock(fleet.folder)
    clock.say_synchronised(False)
    clock.set(BOOTED_MS)
    return clock


def turns(fleet):
    return [entry.turn for entry in fleet.entries("begin", "tick")]


def consecutive(found):
    return list(range(found[0], found[0] + len(found) * PERIOD_MS, PERIOD_MS))


def test_s27_with_redis_by_fleet_time(fleet, clock):
    """On time from the start: what its own clock says does not matter, nor that it is set."""
    fleet.make_due("tick")
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")}}).start(clock)
    fleet.wait_entry("begin", "tick", count=3, within=20)
    clock.set(now_ms())
    fleet.wait_entry("begin", "tick", count=6, within=20)
    found = turns(fleet)
    assert found[1:] == consecutive(found[1:])
    assert all(0 <= entry.at - entry.turn < PERIOD_MS for entry in fleet.entries("begin")[1:])
    assert device.lines("clock went") == []


def test_s27_local_waits_for_the_clock(fleet, clock):
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")},
                           "other": {**TICK, **fleet.body("other")}}, **LOCAL)
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(clock, NOTIFY_SOCKET=notify.path)
        notify.wait_for(r"^STATUS=2 jobs, 2 wait for the clock; local, this device alone; this "
                        r"device's clock says 1970-01-01, before this rota was built \(.*\)$", 10)
        device.wait_line("^this device's clock says 1970-01-01, before .*; jobs wait until it is set$")
        begun = clock.now_ms()
        wait_for(lambda: clock.now_ms() > begun + 2 * PERIOD_MS, 10, "two periods pass")
        assert fleet.entries() == []

        right = now_ms()
        clock.set(right)
        device.wait_line("^this device's clock can be used after .*: it says 20")
        notify.wait_for("^STATUS=2 jobs; next .*; local, this device alone$", 10)
    fleet.wait_entry("begin", "tick", count=3, within=20)
    found = turns(fleet)
    assert found == consecutive(found)
    assert found[0] > right  # none is made up for: nobody knows whether it was run
    assert len(device.lines("^this device's clock")) == 2


@pytest.mark.long
def test_s27_synchronised_without_being_set(fleet, clock):
    """Built by a machine whose clock was ahead: that it is synchronised is enough, and is found out
    within a minute, though nothing tells of it."""
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")}}, **LOCAL).start(clock)
    device.wait_line("jobs wait until it is set$")
    clock.say_synchronised(True)
    device.wait_line("^this device's clock can be used after .*: it says 1970", within=75)
    fleet.wait_entry("begin", "tick", within=20)


def test_s27_redis_not_there_yet(fleet, clock):
    """To wait for the fleet's clock is a state of its own."""
    fleet.redis.kill()
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")}})
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(clock, NOTIFY_SOCKET=notify.path)
        notify.wait_for("^STATUS=1 job, 1 waits for the fleet's clock; redis unreachable", 10)
        fleet.redis.start()
        notify.wait_for("^STATUS=1 job; next tick at .*; redis ok$", 10)
    assert fleet.entries("begin", "tick") == [] or turns(fleet)[0] > 0
