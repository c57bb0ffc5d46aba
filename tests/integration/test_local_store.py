# SPDX-License-Identifier: MIT
"""store = "local": turns of one device alone, with what Redis would do done in rotad's memory."""
import pathlib
import shutil
import signal

import pytest

from fire import use_guard
from fleet import LOCAL, ONCE, RENEWED, ROTAD, SHORT, is_alive, now_ms, wait_for
from notify import NotifySocket
from test_s53_no_jobs import sockets

PERIOD_MS = 2000
TICK = {**SHORT, "every": f"{PERIOD_MS}ms", "attempts": 1}
# L = 3.85 s: a job that was never seen waits for as long before it runs.
FIRST = {**SHORT, **ONCE, "first": "now"}


def connections(fleet):
    return fleet.client.info("stats")["total_connections_received"]


def turns(fleet, job=""):
    return [entry.turn for entry in fleet.entries("begin", job)]


def test_each_turn_once_and_no_packet(fleet):
    """From the next turn on: those that were due before rotad started have passed."""
    before = connections(fleet)
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")}}, **LOCAL)
    with NotifySocket(fleet.folder / "notify") as notify:
        started = now_ms()
        device.start(NOTIFY_SOCKET=notify.path)
        fleet.wait_entry("end", count=4, within=20)
        notify.wait_for("^STATUS=1 job; next tick at .*; local, this device alone$", 5)
    inodes, beyond = sockets(device.pid)
    assert beyond == []
    assert connections(fleet) == before
    found = turns(fleet)
    assert found[0] > started
    assert device.lines("there is no record") == []  # no holder can be left to wait for
    assert found == list(range(found[0], found[0] + len(found) * PERIOD_MS, PERIOD_MS))
    assert device.complaints() == []


def test_yearly_job_does_not_run_its_past(fleet):
    device = fleet.device({"yearly": {**SHORT, **ONCE, **fleet.body("yearly")},
                           "tick": {**TICK, **fleet.body("tick")}}, **LOCAL).start()
    fleet.wait_entry("end", "tick", count=3, within=20)
    assert fleet.entries("", "yearly") == []
    assert device.lines("yearly: turn of .* is settled")


def test_first_now_runs_the_latest_once(fleet):
    device = fleet.device({"yearly": {**FIRST, **fleet.body("yearly")},
                           "tick": {**TICK, **fleet.body("tick")}}, **LOCAL).start()
    device.wait_line("yearly: there is no record of it by this schedule; its turn of .* waits")
    fleet.wait_entry("end", "yearly", within=15)
    fleet.wait_entry("end", "tick", count=len(turns(fleet, "tick")) + 2, within=15)
    assert len(turns(fleet, "yearly")) == 1


def test_tried_again_and_given_up(fleet):
    jobs = {"heals": {**FIRST, "attempts": 3,
                      **fleet.body("heals", '[ "$ROTA_ATTEMPT" = 2 ] || exit 1')},
            "fails": {**FIRST, "attempts": 2, **fleet.body("fails", "exit 1")}}
    device = fleet.device(jobs, **LOCAL).start()
    device.wait_line("heals: succeeded in .*, attempt 2 of 3", within=15)
    device.wait_line("fails: given up until .* after attempt 2 of 2", within=15)
    assert [e.attempt for e in fleet.entries("begin", "heals")] == [1, 2]
    assert [e.attempt for e in fleet.entries("begin", "fails")] == [1, 2]


def test_renewed(fleet):
    """Longer than its lease of 3 s, which is kept by renewals."""
    job = {**RENEWED, **ONCE, "first": "now", **fleet.body("long", "sleep 5")}
    device = fleet.device({"long": job}, **LOCAL).start()
    device.wait_line("long: succeeded in .*, attempt 1 of 3", within=20)
    assert len(device.lines("long: lease renewed")) >= 3
    assert device.complaints() == []


def test_crash_leaves_the_lock_to_expire(fleet):
    """What the crash left behind is unknown until the lease of 3.85 s is over."""
    body = fleet.body("crashes", '[ "$ROTA_ATTEMPT" = 2 ] || { kill -SEGV $PPID; sleep 60; }')
    device = fleet.device({"crashes": {**FIRST, **body}}, **LOCAL).start()
    device.wait_line("crashes: crashed after .*, attempt 1 of 3", within=15)
    device.wait_line("crashes: succeeded in .*, attempt 2 of 3", within=15)
    first, second = device.lines("^crashes: ASKING -> STARTING")  # granted; a loaded machine starts it later
    assert second.at - first.at > 3000
    assert len(fleet.entries("begin")) == 2


def test_a_stop_that_ends_before_the_run(fleet):
    """There is nobody for whom a lock could be left."""
    job = {**FIRST, "stop_grace": "1s", **fleet.body("long", "trap '' TERM; note deaf; sleep 30")}
    device = fleet.device({"long": job}, **{**LOCAL, "stop_timeout": "100ms"}).start()
    begin = fleet.wait_entry("deaf", within=15)
    assert device.stop() == 0
    device.wait_line("^long: still ran when rotad's time to stop was over$", 1)
    wait_for(lambda: not is_alive(begin.pid), 5, "the run is ended by its guard")


def test_record_outlives_an_edit(fleet):
    """An edit that leaves the schedule alone makes no new job of it: its turn is done."""
    device = fleet.device({"yearly": {**FIRST, **fleet.body("yearly")}}, **LOCAL).start()
    device.wait_line("yearly: succeeded", within=15)
    device.write({"yearly": {**FIRST, **fleet.body("other")}})
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$")
    device.wait_line("yearly: turn of .* is settled", within=10)
    assert len(turns(fleet)) == 1


def idle_jobs(fleet, **tick):
    return {"off": {**TICK, "enabled": False, **fleet.body("off")},
            "elsewhere": {**TICK, "devices": ["nowhere-*"], **fleet.body("elsewhere")},
            "tick": {**TICK, **fleet.body("tick"), **tick}}


@pytest.mark.parametrize("top", [{}, LOCAL], ids=["redis", "local"])
def test_jobs_that_are_not_for_here(fleet, top):
    """None runs: not one packet. Then a reload switches one on, and off again while it runs."""
    fleet.make_due("tick")
    before = connections(fleet)
    device = fleet.device(idle_jobs(fleet, enabled=False), **top)
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        notify.wait_for(
            "^STATUS=3 jobs, 2 disabled, 1 on other devices; nothing runs here$", 10)
        assert connections(fleet) == before
        assert sockets(device.pid)[1] == []

        device.write(idle_jobs(fleet, worst_case="10s", **fleet.body("tick", "sleep 3")))
        device.signal(signal.SIGHUP)
        fleet.wait_entry("begin", "tick", within=15)
        notify.wait_for("^STATUS=3 jobs, 1 disabled, 1 on other devices, 1 running", 5)
        device.write(idle_jobs(fleet, enabled=False))
        device.signal(signal.SIGHUP)
        fleet.wait_entry("end", "tick")
        notify.wait_for("^STATUS=3 jobs, 2 disabled, 1 on other devices; ", 5, count=2)
    device.wait_line("tick: .* -> OFF")
    assert fleet.entries("", "off") == fleet.entries("", "elsewhere") == []
    assert len(turns(fleet, "tick")) == len(fleet.entries("end", "tick"))


def test_restart_remembers_nothing(fleet):
    """And makes up for nothing: the turns before its start have passed."""
    device = fleet.device({"tick": {**TICK, **fleet.body("tick")}}, **LOCAL).start()
    fleet.wait_entry("end", "tick", within=15)
    assert device.stop() == 0
    restarted = now_ms()
    device.start()
    count = len(turns(fleet))
    fleet.wait_entry("end", "tick", count=count + 2, within=15)
    assert all(turn > restarted for turn in turns(fleet)[count:])
    assert len(turns(fleet)) == len(set(turns(fleet)))


# --- the module that keeps these turns ---

MODULE = "librota-local.so"


def is_loaded(device):
    return MODULE in pathlib.Path(f"/proc/{device.pid}/maps").read_text()


def reload(device, jobs):
    device.write(jobs)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: ", count=len(device.lines("^reloaded: ")) + 1)


@pytest.mark.parametrize("needs", [{"lock": "none"}, {"scope": "device", "if_unreachable": "run"}])
def test_it_is_loaded_for_the_first_job_that_needs_it(fleet, needs):
    """And not for jobs that take turns with the fleet."""
    ours = {"ours": {**TICK, **fleet.body("ours")}}
    device = fleet.device(ours).start()
    fleet.wait_entry("end", "ours", within=15)
    reload(device, ours)
    assert not is_loaded(device)
    reload(device, {**ours, "own": {**TICK, **needs, **fleet.body("own")}})
    wait_for(lambda: is_loaded(device), 5, "the module is loaded")
    fleet.wait_entry("end", "own", within=20)


def test_without_its_module_it_says_so_once_and_other_jobs_run(fleet):
    """A reload tries it again."""
    ours = {"ours": {**TICK, **fleet.body("ours")}}
    own = {name: {**TICK, "lock": "none", **fleet.body(name)} for name in ("one", "two")}
    device = fleet.device({**ours, **own})
    module = use_guard(device).parent.parent / "supervisor" / MODULE
    module.unlink()
    device.start()
    fleet.wait_entry("end", "ours", within=15)
    said, = device.lines("turns of this device alone")
    assert (said.level, said.text) == ("error", f"turns of this device alone cannot be kept: {module}: No such file or "
                                       "directory; restart rotad, or install all of rota again")
    for name in own:
        assert device.lines(f"{name}: not started here: ")
    assert fleet.entries("begin", "one") == []
    shutil.copy(ROTAD.parent / MODULE, module)
    reload(device, {**ours, **own})
    fleet.wait_entry("end", "one", within=20)
    fleet.wait_entry("end", "two", within=20)
