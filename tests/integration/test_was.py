# SPDX-License-Identifier: MIT
"""A job that was renamed shares its turns with the devices that have not heard of it yet."""
import collections

from fleet import SHORT

PERIOD_MS = 2000
TICK = {**SHORT, "every": f"{PERIOD_MS}ms", "attempts": 1, "splay": "100ms"}


def wait_end(fleet):
    """Up to the end of the next run, so that the whole of a period is left until another."""
    fleet.wait_entry("end", count=len(fleet.entries("end")) + 1)


def test_was_shares_turns_by_the_old_keys(fleet):
    fleet.make_due("old")
    old = fleet.device({"old": {**TICK, **fleet.body("old")}}).start()
    new = fleet.device({"new": {**TICK, "was": "old", **fleet.body("new")}}).start()
    fleet.wait_entry("end", count=4, within=20)
    for device, job in ((old, "old"), (new, "new")):
        device.wait_line(f"{job}: ASKING -> (WAITING|STARTING)", count=2)

    # Alone, the renamed one goes on from the other's record: no first sight, no turn left out.
    wait_end(fleet)
    assert old.stop() == 0
    fleet.wait_entry("end", "new", count=len(fleet.entries("end", "new")) + 3)
    assert new.stop() == 0
    assert new.lines("there is no record of it") == []
    # The turns of both names are one row, each run once.
    turns = collections.Counter(fleet.runs())
    assert sorted(turns) == list(range(min(turns), max(turns) + 1, PERIOD_MS))
    assert set(turns.values()) == {1}
    assert {entry["turn"] for entry in fleet.history("old")} == {str(turn) for turn in turns}
    assert fleet.client.keys("*{new}*") == []

    # And the old one goes on from the renamed one's.
    done = fleet.claim("old")["done"]
    old.start()
    fleet.wait_entry("begin", "old", count=len(fleet.entries("begin", "old")) + 1)
    assert old.lines("there is no record of it") == []
    assert fleet.entries("begin", "old")[-1].turn > int(done)


def test_a_run_of_the_old_name_holds_the_new_one_back(fleet):
    fleet.make_due("old")
    once = {"plugin": "exec", "worst_case": "20s", "every": "366d", "catch_up": "366d"}
    old = fleet.device({"old": {**once, **fleet.body("old", "sleep 2")}}).start()
    fleet.wait_entry("begin", "old")
    new = fleet.device({"new": {**once, "was": "old", **fleet.body("new")}}).start()
    new.wait_line(f"new: turn of .* is held by {old.name}")
    fleet.wait_history("old")
    assert [entry.job for entry in fleet.entries("begin")] == ["old"]
