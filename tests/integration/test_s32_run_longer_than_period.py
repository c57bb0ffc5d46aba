# SPDX-License-Identifier: MIT
"""S32: a run that takes 3.5 periods. Nothing queues up behind it, and what it passed by is said."""
import re

from fleet import SHORT

PERIOD_MS = 2000
RUNS = 2
SAID = re.compile(r"long: succeeded in .*, attempt 1 of 3; (\d+) turns fell due meanwhile$")


def said(fleet):
    lines = [line for device in fleet.devices for line in device.lines("^long: succeeded")]
    return sorted(lines)


def test_s32_next_start_is_the_next_due_instant(fleet):
    jobs = {"long": {**SHORT, "worst_case": "20s", "every": f"{PERIOD_MS}ms", "splay": "50ms",
                     **fleet.body("long", "sleep 6.8")}}
    fleet.make_due("long")
    for _ in range(2):
        fleet.device(jobs).start()
    fleet.wait_entry("begin", count=RUNS + 1, within=RUNS * 9 + 10)

    runs = fleet.entries("begin")
    ends = said(fleet)
    assert len(ends) == RUNS
    for run, end, following in zip(runs, ends, runs[1:]):
        missed = int(SAID.match(end.text)[1])
        # Three, unless the machine was too busy to run it in time.
        assert missed == (end.at - run.turn) // PERIOD_MS >= 3
        assert following.turn == run.turn + (missed + 1) * PERIOD_MS
        assert following.turn > run.turn + 6800
    assert [entry["outcome"] for entry in fleet.wait_history("long", RUNS)] == ["succeeded"] * RUNS
