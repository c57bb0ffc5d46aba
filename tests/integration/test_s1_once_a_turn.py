# SPDX-License-Identifier: MIT
"""S1, in a fifth of its time: five devices, a job every 2 s, starts spread over 1.8 s."""
import collections
import time

from fleet import SHORT, SLOWNESS

PERIOD_MS = 2000
TURNS = 10
DEVICES = 5


def test_s1_once_a_turn(fleet):
    jobs = {"tick": {**SHORT, "every": f"{PERIOD_MS}ms", "splay": "100ms",
                     **fleet.body("tick", "sleep 0.005")}}
    fleet.make_due("tick")
    begun = time.monotonic()
    for place in range(DEVICES):
        # The starts themselves are what the scenario spreads.
        time.sleep(max(0, begun + place * 0.45 - time.monotonic()))
        fleet.device(jobs).start()
    first = fleet.wait_entry("begin", within=15).turn
    last = first + TURNS * PERIOD_MS
    # A turn later, so that a second run of the last one would have been seen.
    fleet.wait_entry("begin", count=TURNS + 2, within=(TURNS + 3) * PERIOD_MS / 1000)

    runs = collections.Counter(entry.turn for entry in fleet.entries("begin"))
    turns = [turn for turn in runs if first <= turn < last]
    assert all(turn % PERIOD_MS == 0 for turn in runs)
    assert {turn: count for turn, count in runs.items() if count > 1} == {}
    assert TURNS - 1 <= len(turns) <= TURNS + 1
    # The others asked and were told; nobody saw an error.
    assert sum(len(device.lines("settled|held")) for device in fleet.devices) >= TURNS
    if SLOWNESS == 1:
        assert [line for device in fleet.devices for line in device.complaints()] == []
