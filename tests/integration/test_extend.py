# SPDX-License-Identifier: MIT
"""overrun = "extend": each progress moves the end to worst_case after it, up to max_runtime; the guard is the judge."""
import shutil

import guard_harness as h
from fleet import ONCE, RENEWED
from guard_harness import Guard, run


def steady(behave, for_ms, **values):
    """A run that reports for so long, and then waits for its end. ENDED, and what budget it had left then."""
    ended, guard = run(behave, {"as": "steady", "number": for_ms}, deadline_in_ms=20000, **values)
    return ended, int(guard.lines()[0])


def test_progress_moves_the_end(behave):
    ended, left = steady(behave, 900, worst_case_ms=600, max_runtime_ms=10000)
    assert ended["stop"] == h.STOP_OVERRUN
    assert 900 + 500 <= ended["ran_ms"] < 5000
    assert 300 < left <= 600, "the plugin is told by the same end"


def test_not_without_max_runtime(behave):
    ended, left = steady(behave, 10000, worst_case_ms=600)
    assert ended["stop"] == h.STOP_OVERRUN and 600 <= ended["ran_ms"] < 5000 and left == 0


def test_never_past_max_runtime(behave):
    ended, left = steady(behave, 10000, worst_case_ms=600, max_runtime_ms=1000)
    assert ended["stop"] == h.STOP_OVERRUN and 1000 <= ended["ran_ms"] < 5000 and left == 0


def test_a_lease_that_is_not_renewed_ends_it_all_the_same(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "steady", "number": 10000}, worst_case_ms=600, max_runtime_ms=10000,
                    deadline_in_ms=1600, stop_grace_ms=400)
        assert guard.ended()["stop"] == h.STOP_DEADLINE
        assert h.boot_ms() < guard.deadline + 3000


def test_a_renewed_run_goes_on_as_long_as_it_reports(fleet, behave):
    shutil.copy(behave, fleet.plugins)
    fleet.make_due("firmware")
    device = fleet.device({"firmware": {
        **RENEWED, **ONCE, "plugin": "behave", "worst_case": "1s", "overrun": "extend", "max_runtime": "10s",
        "params": {"as": "steady", "number": 2500}}}).start()
    entry, = fleet.wait_history("firmware")
    assert entry["outcome"] == "overrun" and int(entry["ran"]) >= 3400
    device.wait_line(r"^firmware: overrun: stopped after .*, since it reported no progress for 1 s; ")
    assert device.lines("firmware: lease renewed"), "its lease is kept past worst_case"
