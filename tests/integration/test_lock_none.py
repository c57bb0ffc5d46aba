# SPDX-License-Identifier: MIT
"""lock = "none": every device runs each turn, in fleet time, and Redis is told nothing of the job."""
from fleet import SHORT, wait_for

PERIOD_MS = 2000
QUEUE = {**SHORT, "every": f"{PERIOD_MS}ms", "lock": "none", "splay": "0s"}


def runs_of(device):
    return [line.text for line in device.lines(r"^queue: succeeded")]


def test_every_device_runs_each_turn_with_no_key(fleet):
    job = {"queue": {**QUEUE, **fleet.body("queue", 'echo "fence $ROTA_FENCE"')}}
    devices = [fleet.device(job).start() for _ in range(2)]
    wait_for(lambda: all(len(runs_of(device)) >= 3 for device in devices), 15, "both have run three turns")
    turns = fleet.runs()
    assert all(turns.count(turn) == 2 for turn in sorted(set(turns))[1:3])
    assert fleet.client.keys("*{queue}*") == []
    assert {line.text for device in devices for line in device.lines(r"^queue\| ")} == {"queue| fence 0"}
    assert [device.complaints() for device in devices] == [[], []]


def test_goes_on_without_redis_once_it_has_the_time(fleet):
    device = fleet.device({"queue": {**QUEUE, **fleet.body("queue")}}).start()
    fleet.wait_entry("end")
    fleet.redis.kill()
    fleet.wait_entry("end", count=len(fleet.entries("end")) + 2)
    turns = fleet.runs()
    assert turns == list(range(turns[0], turns[0] + len(turns) * PERIOD_MS, PERIOD_MS))
    assert device.lines("queue: .*missed") == []


def test_is_tried_again_here(fleet):
    job = {**QUEUE, "every": "1h", "attempts": 2, "retry_delay": "500ms", "first": "now"}
    device = fleet.device({"queue": {**job, **fleet.body("queue", "exit 1")}}).start()
    device.wait_line(r"^queue: given up until .* after attempt 2 of 2", 30)
    first, second = fleet.entries("begin")
    assert (first.attempt, second.attempt, first.turn) == (1, 2, second.turn)
    assert second.at - first.at >= 500
