# SPDX-License-Identifier: MIT
"""S26: the wall clock steps an hour ahead, back, to 1970 and to 2098, and a job that is due every
few seconds by it has one run an interval all the while."""
import pytest

from clock.virtual_clock import VirtualClock
from fleet import LOCAL, ONCE, SHORT, wait_for

PERIOD_MS = 2000
TICK = {**SHORT, "every": f"{PERIOD_MS}ms", "worst_case": "500ms", "attempts": 1}
HOUR_MS = 3_600_000
YEARS_MS = 72 * 365 * 86_400_000
# Some days after the build, so that an hour ago is not before it.
AHEAD_MS = 10 * 86_400_000


def to_1970(clock):
    return -(clock.now_ms() // PERIOD_MS * PERIOD_MS) + 1000 * PERIOD_MS


STEPS = {
    "an hour ahead": (lambda clock: HOUR_MS, "this device's clock went forward by 1 h at once"),
    "an hour back": (lambda clock: -HOUR_MS, "this device's clock went back by 1 h at once"),
    "to 2098": (lambda clock: YEARS_MS, "this device's clock went forward by .* at once"),
    "to 1970": (to_1970, "this device's clock says 1970-01-01, before this rota was built "
                         r"\(\d{4}-\d\d-\d\d\); jobs go on by the time from before"),
}


@pytest.fixture
def clock(fleet):
    clock = VirtualClock(fleet.folder)
    clock.say_synchronised(False)
    clock.add(AHEAD_MS // PERIOD_MS * PERIOD_MS)
    return clock


def step(clock, ms):
    """By whole periods, far from any turn."""
    assert ms % PERIOD_MS == 0
    wait_for(lambda: PERIOD_MS // 3 < clock.now_ms() % PERIOD_MS < PERIOD_MS * 2 // 3, 10,
             "the middle of an interval")
    clock.add(ms)


def intervals(entries):
    """By the machine's clock, which the ledger has: turns are at the same instants by that one."""
    return [entry.at // PERIOD_MS for entry in entries]


@pytest.mark.parametrize("to", STEPS)
def test_s26_one_run_an_interval(fleet, clock, to):
    ms, said = STEPS[to]
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")},
                           "hourly": {**SHORT, "every": "1h", **fleet.body("hourly")}},
                          **LOCAL).start(clock)
    fleet.wait_entry("begin", "tick", within=20)
    ms = ms(clock)
    step(clock, ms)
    # Noticed when it happens, not with the next question.
    assert device.wait_line(f"^{said}$", 2)
    fleet.wait_entry("begin", "tick", count=len(fleet.entries("begin", "tick")) + 2, within=20)
    step(clock, -ms)
    back = "can be used after .*: it says" if to == "to 1970" else "went (back|forward) by"
    device.wait_line(f"^this device's clock {back}", 2, count=1 if to == "to 1970" else 2)
    fleet.wait_entry("begin", "tick", count=len(fleet.entries("begin", "tick")) + 2, within=20)

    found = intervals(fleet.entries("begin", "tick"))
    assert found == list(range(found[0], found[0] + len(found)))
    assert len(device.lines("^this device's clock")) == 2
    assert device.lines("tick: (its record lay in the future|.* is left out)") == []


@pytest.mark.parametrize("ms", [HOUR_MS, -HOUR_MS], ids=["ahead", "back"])
def test_s26_a_lease_lasts_as_long_as_it_was_to(fleet, clock, ms):
    """The lock that a crash has left ends neither with the step nor an hour later."""
    body = fleet.body("crashes", '[ "$ROTA_ATTEMPT" = 2 ] || { kill -SEGV $PPID; sleep 60; }')
    job = {**SHORT, **ONCE, "first": "now", **body}
    device = fleet.device({"crashes": job}, **LOCAL).start(clock)
    device.wait_line("crashes: crashed after .*, attempt 1 of 3", within=15)
    clock.add(ms)
    device.wait_line("crashes: succeeded in .*, attempt 2 of 3", within=15)
    first, second = device.lines(r"crashes: ASKING -> STARTING \(GRANT\)")
    assert second.at - first.at - ms > 3000
    assert device.lines("crashes: .* is held by") == []


@pytest.mark.parametrize("ms", [HOUR_MS, -HOUR_MS], ids=["ahead", "back"])
def test_s26_a_run_that_fails_after_the_step(fleet, clock, ms):
    """Its turn lies ahead again, or long ago; the turns that come do not wait for its next try."""
    body = fleet.body("fails", '[ -e "$ROTA_TEST/mended" ] || { sleep 3; exit 1; }')
    job = {**TICK, **body, "worst_case": "5s", "attempts": 3, "retry_delay": "10m"}
    device = fleet.device({"fails": job}, **LOCAL).start(clock)
    fleet.wait_entry("begin", "fails", within=20)
    (fleet.folder / "mended").touch()
    clock.add(ms)
    device.wait_line("fails: failed after .*; [12] turns? fell due meanwhile$", within=20)
    fleet.wait_entry("begin", "fails", count=3, within=20)
