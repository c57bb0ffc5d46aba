# SPDX-License-Identifier: MIT
"""if_unreachable = "run": turns go on without Redis, and nothing that succeeded then runs again afterwards."""
from fault_proxy import lost_reply, redis_by
from fleet import SHORT, now_ms, wait_for

PERIOD_MS = 3000
ALONE = r"^update: Redis cannot be reached, and the turn of .* is run all the same \(if_unreachable\)$"
UPDATE = {**SHORT, "every": f"{PERIOD_MS}ms", "scope": "device", "concurrency": 1, "splay": "0s",
          "if_unreachable": "run"}


def follow(turns):
    return all(later - earlier == PERIOD_MS for earlier, later in zip(turns, turns[1:]))


def done_is(fleet, device, turn):
    return lambda: int(fleet.record("update", device).get("done", 0)) >= turn


def test_turns_go_on_and_are_told_afterwards(fleet):
    device = fleet.device({"update": {**UPDATE, **fleet.body("update")}})
    fleet.make_due_here("update", device)
    device.start()
    fleet.wait_entry("end")
    assert not device.lines(ALONE)
    fleet.redis.kill()
    device.wait_line(ALONE, 8, count=2)
    fleet.wait_entry("end", count=len(fleet.entries("begin")))
    fleet.redis.start()  # and knows nothing any more
    turn = fleet.runs()[-1]
    wait_for(done_is(fleet, device, turn), 3, "the newest run is told")
    # One that has restarted has only Redis to know it by.
    device.kill()
    device.start()
    device.wait_line("update: NO_CLOCK -> WAITING", 3, count=2)
    begun = len(fleet.entries("begin"))
    fleet.wait_entry("begin", count=begun + 1, within=8)
    turns = fleet.runs()
    assert len(set(turns)) == len(turns) and follow(turns[:begun]), turns


def test_outage_begins_while_it_runs(fleet):
    """Its end cannot be told, and the next turns do not wait for that."""
    go = fleet.folder / "go"
    device = fleet.device({"update": {**UPDATE, **fleet.body("update", f"until [ -e '{go}' ]; do sleep 0.01; done")}})
    fleet.make_due_here("update", device)
    device.start()
    fleet.wait_entry("begin")
    fleet.redis.kill()
    go.touch()
    device.wait_line(ALONE, 8)
    fleet.redis.start()
    wait_for(done_is(fleet, device, fleet.runs()[-1]), 5, "the newest run is told")
    turns = fleet.runs()
    assert len(set(turns)) == len(turns), turns


def test_from_the_boot_on_by_its_own_clock(fleet):
    fleet.redis.kill()
    jobs = {"update": {**UPDATE, **fleet.body("update")},
            "skips": {**UPDATE, "if_unreachable": "skip", **fleet.body("skips")}}
    device = fleet.device(jobs).start()
    device.wait_line(ALONE, 10, count=2)
    fleet.redis.start()
    device.wait_line("skips: NO_CLOCK -> WAITING", 5)
    wait_for(done_is(fleet, device, fleet.runs("update")[-1]), 5, "the newest run is told")
    turns = fleet.runs("update")
    assert fleet.runs("skips") == [] and len(set(turns)) == len(turns) and follow(turns), turns


def test_a_question_without_an_answer_is_waited_for(proxy, fleet):
    """Its seat may be this device's: until it has run out (L = 2.05 s) nothing is begun. Then it is, and once."""
    job = {**UPDATE, "every": "6s", "worst_case": "500ms", "stop_grace": "0s"}
    device = fleet.device({"update": {**job, **fleet.body("update")}}, redis=redis_by(proxy))
    fleet.make_due_here("update", device, turn=now_ms(), done=now_ms())
    device.start()
    device.wait_line("update: turn of .* is settled")
    proxy.next("seat_acquire", lost_reply())
    proxy.wait_for("seat_acquire", 2)
    sent = now_ms()
    proxy.hold()
    assert device.wait_line(ALONE, 5).at >= sent + 1800
    fleet.wait_entry("end")
    turn = fleet.runs()[0]
    proxy.release()
    wait_for(done_is(fleet, device, turn), 5, "it is told")
    assert fleet.runs().count(turn) == 1


def test_what_redis_has_granted_does_not_run_again_alone_after_a_restart(fleet):
    """Whatever `first` says: a turn that was due before is left to Redis."""
    quick = {**UPDATE, "worst_case": "500ms", "stop_grace": "0s"}  # L = 2.05 s
    jobs = {"update": {**quick, "every": "1h", "first": "now", **fleet.body("update")},
            "beside": {**quick, **fleet.body("beside")}}
    device = fleet.device(jobs).start()
    fleet.wait_entry("end", "update")
    turn = fleet.runs("update")[0]
    wait_for(done_is(fleet, device, turn), 5, "it is told")
    fleet.redis.kill()
    device.kill()
    device.start()
    device.wait_line(ALONE.replace("update", "beside"), 10, count=2)
    fleet.redis.start()
    device.wait_line("update: turn of .* is settled|update: there is no record", 5, count=2)
    assert fleet.runs("update") == [turn]
    assert not device.lines(ALONE)
