# SPDX-License-Identifier: MIT
"""lock = "none": every device runs each turn, in fleet time, and Redis is told nothing of the job."""
import re

from fleet import SHORT, wait_for

PERIOD_MS = 2000
QUEUE = {**SHORT, "every": f"{PERIOD_MS}ms", "lock": "none", "splay": "0s"}


def runs_of(device):
    return [line.text for line in device.lines(r"^queue: succeeded")]


def check_row(device):
    """None is left out but what fell due during a run, as a busy machine's may take long, and that is said. Returns the
    turns, as numbers of the day's."""
    turns, left_out = [], []
    for text in runs_of(device):
        hour, minute, second = re.search(r" (\d\d):(\d\d)(?::(\d\d))? UTC", text).groups()
        at_ms = (int(hour) * 3600 + int(minute) * 60 + int(second or 0)) * 1000
        assert at_ms % PERIOD_MS == 0
        turns.append(at_ms // PERIOD_MS)
        left_out.append(int((re.search(r"; (\d+) turns? fell due meanwhile", text) or [0, 0])[1]))
    for before, after, missed in zip(turns, turns[1:], left_out):
        assert (after - before) % (86_400_000 // PERIOD_MS) == 1 + missed
    return turns


def test_every_device_runs_each_turn_with_no_key(fleet):
    job = {"queue": {**QUEUE, "worst_case": "30s", **fleet.body("queue", 'echo "fence $ROTA_FENCE"')}}
    devices = [fleet.device(job).start() for _ in range(2)]
    wait_for(lambda: all(len(runs_of(device)) >= 3 for device in devices), 15, "both have run three turns")
    # Each by itself, and both the same ones.
    rows = [check_row(device) for device in devices]
    assert set(rows[0]) & set(rows[1])
    assert max(map(fleet.runs().count, fleet.runs())) == 2
    assert fleet.client.keys("*{queue}*") == []
    assert {line.text for device in devices for line in device.lines(r"^queue\| ")} == {"queue| fence 0"}
    assert [device.complaints() for device in devices] == [[], []]


def test_goes_on_without_redis_once_it_has_the_time(fleet):
    device = fleet.device({"queue": {**QUEUE, "worst_case": "30s", **fleet.body("queue")}}).start()
    fleet.wait_entry("end")
    fleet.redis.kill()
    before = len(runs_of(device))
    wait_for(lambda: len(runs_of(device)) >= before + 3, 20, "three more runs")
    assert len(check_row(device)) >= 3
    assert device.lines("queue: .*missed") == []


def test_is_tried_again_here(fleet):
    job = {**QUEUE, "every": "1h", "attempts": 2, "retry_delay": "500ms", "first": "now"}
    device = fleet.device({"queue": {**job, **fleet.body("queue", "exit 1")}}).start()
    device.wait_line(r"^queue: given up until .* after attempt 2 of 2", 30)
    first, second = fleet.entries("begin")
    assert (first.attempt, second.attempt, first.turn) == (1, 2, second.turn)
    assert second.at - first.at >= 500
