# SPDX-License-Identifier: MIT
"""How a run can end: each outcome in the claim, in the history and in the line that people read."""
import shutil
import signal

import guard_harness
from fleet import ONCE, RENEWED, SHORT, is_alive, now_ms, wait_for


def start(fleet, text, kind=SHORT, params=None, **more):
    fleet.make_due("report")
    job = {**kind, **ONCE, **more, **fleet.body("report", text, **(params or {}))}
    return fleet.device({"report": job}).start()


def recorded(fleet, count=1):
    return [(entry["outcome"], entry["attempt"], entry["detail"])
            for entry in fleet.wait_history("report", count)]


def lock_is_left(fleet):
    """After a crash nobody deletes it: it is there with the rest of its time."""
    return fleet.client.pttl(fleet.key("report", "lock")) > 0


def test_succeeded(fleet):
    device = start(fleet, "echo all is well")
    assert recorded(fleet) == [("succeeded", "1", "")]
    device.wait_line(r"^report: succeeded in .* ms, turn of .*, attempt 1 of 3$")
    device.wait_line(r"^report\| all is well$")
    claim = fleet.claim("report")
    assert (claim["state"], claim["attempt"], claim["done"]) == ("succeeded", "1", claim["turn"])
    assert fleet.lock("report") is None


def test_what_outlives_a_success_is_killed_and_counted(fleet):
    device = start(fleet, "sleep 60 & sleep 60 &")
    assert recorded(fleet) == [("succeeded", "1", "")]
    warned = device.wait_line(r"^report: processes that outlived its run and were killed: 2$")
    assert warned.level == "warning"
    wait_for(lambda: not device.guards(), 3, "no guard is left")


def test_nobody_wonders_what_outlives_a_crash(fleet):
    device = start(fleet, "sleep 60 & kill -9 $PPID; sleep 60", attempts=1)
    assert recorded(fleet)[0][0] == "crashed"
    assert not device.lines("outlived its run")


def test_nothing(fleet):
    device = start(fleet, "exit 3", params={"nothing_exit": ["3"]})
    assert recorded(fleet) == [("nothing", "1", "")]
    device.wait_line(r"^report: had nothing to do in .*, attempt 1 of 3$")
    claim = fleet.claim("report")
    assert (claim["state"], claim["done"]) == ("nothing", claim["turn"])
    assert fleet.lock("report") is None


def test_failed_is_tried_again_after_retry_delay_then_given_up(fleet):
    device = start(fleet, "echo 'no way out' >&2; note fails; exit 1", attempts=2,
                   retry_delay="700ms")
    assert recorded(fleet, 2) == [("failed", "1", "no way out (exit status 1)"),
                                  ("failed", "2", "no way out (exit status 1)")]
    device.wait_line(r"^report: failed after .*: no way out \(exit status 1\), turn of .*, attempt 1 of 2$")
    device.wait_line(r'^report: given up until .* after attempt 2 of 2; '
                     r'last: failed, "no way out \(exit status 1\)"$')
    assert fleet.entries("begin")[1].at - fleet.entries("fails")[0].at >= 700
    assert fleet.claim("report")["state"] == "gave_up"
    assert fleet.lock("report") is None


def test_after_a_turn_that_was_given_up_there_is_one_try(fleet):
    fleet.client.hset(fleet.key("report", "claim"), "streak", 1)
    device = start(fleet, "exit 1", attempts=2)
    device.wait_line(r"^report: given up until .* after its only attempt \(an earlier turn was given up\); last: ")
    assert recorded(fleet) == [("failed", "1", "exit status 1")]
    assert fleet.claim("report")["streak"] == "2"


def test_refused_is_given_up_at_once(fleet):
    device = start(fleet, "echo 'no such account' >&2; exit 4", params={"refuse_exit": ["4"]})
    assert recorded(fleet) == [("refused", "1", "no such account (exit status 4)")]
    device.wait_line(r"^report: refused after .*: no such account \(exit status 4\), turn of .*, attempt 1 of 3$")
    device.wait_line(r'^report: given up until .*, since trying again cannot help: '
                     r'"no such account \(exit status 4\)"$')
    assert fleet.claim("report")["state"] == "gave_up"
    assert len(fleet.entries("begin")) == 1


def test_declined_is_for_any_other_device(fleet):
    device = start(fleet, '[ -e "$0.here" ] || { : >"$0.here"; exit 75; }')
    assert recorded(fleet)[0][:2] == ("declined", "1")
    device.wait_line(r"^report: declined after .*, attempt 1 of 3$")
    claim = fleet.claim("report")
    assert (claim["state"], claim["attempt"]) == ("declined", "0")
    assert fleet.lock("report") is None

    job = {**SHORT, **ONCE, "params": {"command": ["/bin/sh", fleet.folder / "report.sh"]}}
    other = fleet.device({"report": job}).start()
    other.wait_line("^report: succeeded in .*, attempt 1 of 3$")
    assert len(device.lines("report: started")) == 1


def test_crashed_leaves_its_lock(fleet):
    # The shell's parent is the worker.
    device = start(fleet, '[ "$ROTA_ATTEMPT" = 2 ] || { kill -SEGV $PPID; sleep 60; }')
    assert recorded(fleet)[0][:2] == ("crashed", "1")
    ended = now_ms()
    device.wait_line(r"^report: crashed after .*: killed by signal 11 \(.*\), .*, attempt 1 of 3$")
    assert fleet.claim("report")["state"] == "crashed"
    assert lock_is_left(fleet)
    left = fleet.client.pttl(fleet.key("report", "lock"))
    assert not is_alive(fleet.entries("begin")[0].pid)
    # The next try has to wait for it, since what the crash left behind is unknown.
    again = fleet.wait_entry("begin", count=2)
    assert again.at - ended >= left - 500
    assert recorded(fleet, 2)[1][:2] == ("succeeded", "2")


def test_overrun_is_stopped_at_its_worst_case(fleet):
    device = start(fleet, "trap 'note asked; exit 0' TERM; sleep 60 & wait", worst_case="1500ms",
                   attempts=1)
    assert recorded(fleet)[0][:2] == ("overrun", "1")
    device.wait_line(r"^report: overrun: stopped after .*, since its worst_case is 1.5 s; "
                     r"turn of .*, attempt 1 of 1$")
    assert fleet.claim("report")["state"] == "gave_up"
    assert lock_is_left(fleet)
    begin, asked = fleet.entries("begin")[0], fleet.entries("asked")[0]
    assert asked.at - begin.at >= 500


def test_lost_where_its_storage_knows_a_newer_fence(fleet):
    shutil.copy(guard_harness.compile_plugin(fleet.folder, guard_harness.PLUGINS / "fenced.c"), fleet.plugins)
    fleet.make_due("report")
    device = fleet.device({"report": {**SHORT, **ONCE, "plugin": "fenced", "attempts": 2,
                                      "params": {"newest": 2**53 - 1}}}).start()
    assert recorded(fleet)[0] == ("lost", "1", "a newer run was here")
    said = device.wait_line(r"^report: lost after .*: a newer run was here, turn of .*, attempt 1 of 2$")
    assert said.level == "warning"
    assert fleet.claim("report")["state"] == "lost"
    assert lock_is_left(fleet)
    # The next try has to wait for the lock.
    assert recorded(fleet, 2)[1][:2] == ("lost", "2")


def test_lost_is_over_before_its_lease(fleet):
    device = start(fleet, "trap 'note asked' TERM; while :; do note beat; sleep 0.05; done",
                   kind=RENEWED)
    begin = fleet.wait_entry("begin")
    wait_for(lambda: fleet.client.pttl(fleet.key("report", "lock")) > 2700, 5, "a fresh renewal")
    frozen = now_ms()
    ends = frozen + fleet.client.pttl(fleet.key("report", "lock"))
    fleet.redis.process.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: not is_alive(begin.pid) or now_ms() > ends, 10, "the worker is gone")
        assert now_ms() < ends, "the worker outlived its lease"
    finally:
        fleet.redis.process.send_signal(signal.SIGCONT)
    asked = fleet.entries("asked")
    assert len(asked) == 1 and asked[0].at > frozen
    assert fleet.entries("beat")[-1].at < ends

    device.wait_line(r"^report: stopped after .*, because the lock could not be renewed for .*; "
                     r"another device may run it from .* UTC on$")
    assert recorded(fleet)[0][:2] == ("lost", "1")
    assert fleet.wait_entry("begin", count=2).at >= ends
