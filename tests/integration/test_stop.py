# SPDX-License-Identifier: MIT
"""SIGTERM to rotad: workers are asked, else killed, then reaped; then the lock is released."""
import signal
import time

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, is_alive, wait_for

KIND = {**RENEWED, **ONCE, "lease": "6s"}
NEEDS_A_SECOND = """
trap 'trap "" TERM; note asked; sleep 1; note over; exit 0' TERM
sleep 60 &
note ready
wait
"""
DEAF = """
trap '' TERM
note ready
while :; do sleep 0.1; done
"""


def start(fleet, text, **more):
    fleet.make_due("report")
    jobs = {"report": {**KIND, **more, **fleet.body("report", text)}}
    device = fleet.device(jobs).start()
    fleet.wait_entry("ready")  # before, SIGTERM would end it like any shell
    return device, fleet.wait_entry("begin")


def test_worker_is_asked_then_reaped_then_the_lock_is_released(fleet):
    device, begin = start(fleet, NEEDS_A_SECOND, stop_grace="2s")
    token = fleet.lock("report")
    device.signal(signal.SIGTERM)

    fleet.wait_entry("asked", within=2)
    assert fleet.lock("report") == token and is_alive(begin.pid)
    wait_for(lambda: fleet.lock("report") is None, 4, "the lock is released")
    assert fleet.entries("over") and not is_alive(begin.pid)
    assert device.ended() == 0
    entry, = fleet.history("report")
    assert (entry["outcome"], entry["held"]) == ("declined", "1")
    assert entry["detail"] == "rotad stops, or is drained"
    # No attempt is counted, and any other device may take it from now on.
    assert fleet.claim("report")["attempt"] == "0"
    fleet.device({"report": {**KIND, "stop_grace": "2s", **fleet.body("report")}}).start()
    assert fleet.wait_entry("begin", count=2).attempt == 1


def test_worker_that_is_deaf_is_killed_after_the_grace(fleet):
    device, begin = start(fleet, DEAF, stop_grace="500ms")
    asked = time.monotonic()
    device.signal(signal.SIGTERM)
    wait_for(lambda: not is_alive(begin.pid), 2, "the worker is killed")
    assert time.monotonic() - asked >= 0.5
    assert device.ended() == 0
    assert [entry["outcome"] for entry in fleet.history("report")] == ["declined"]
    assert fleet.lock("report") is None


def test_idle_stops_at_once(fleet):
    device = fleet.device({"report": {**RENEWED, **ONCE, **fleet.body("report")}}).start()
    device.wait_line("not run; it waits for its next one")
    begun = time.monotonic()
    assert device.stop() == 0
    assert time.monotonic() - begun < 1 * SLOWNESS


def test_stops_while_redis_is_gone(fleet):
    device, begin = start(fleet, NEEDS_A_SECOND, stop_grace="2s")
    idle = fleet.device({"other": {**RENEWED, **ONCE, **fleet.body("other")}}).start()
    idle.wait_line("not run; it waits for its next one")
    fleet.redis.kill()
    assert idle.stop(3) == 0
    # The second that the worker needs, and a time-out for the finish that nobody takes.
    assert device.stop(5) == 0
    assert fleet.entries("over") and not is_alive(begin.pid)
    device.wait_line("report: was not yet told to Redis when rotad stopped; its lock, if any, is left to expire", 1)


def test_stops_while_its_question_has_no_answer(fleet):
    """Nothing ran, so there is nothing that Redis was not told; nor is the time to stop over."""
    device = fleet.device({"report": {**SHORT, "every": "2s", **fleet.body("report")}}).start()
    fleet.wait_history("report")
    fleet.redis.process.send_signal(signal.SIGSTOP)
    try:
        device.wait_line("does not answer")
        assert device.stop(5) == 0
    finally:
        fleet.redis.process.send_signal(signal.SIGCONT)
    device.wait_line("report: had no answer from Redis when rotad stopped; its lock, if any, is left to expire", 1)
    assert not device.lines("was not yet told|time to stop was over")
