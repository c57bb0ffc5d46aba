# SPDX-License-Identifier: MIT
"""A job by hand, on one device: rotactl run, stop, pause and resume without --fleet, check."""
import json
import re
import subprocess

import pytest

from control_client import ask
from fleet import LOCAL, ONCE, ONCE_MS, RENEWED, SHORT, SLOWNESS, wait_for
from rotactl import begin, command, rotactl, wait_started

HOURLY = {**SHORT, "every": "1h"}
UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
UNTIL_TOLD = 'trap "exit 3" TERM; while :; do sleep 0.05; done'


def started(fleet, jobs, count=1, **top):
    devices = [wait_started(fleet.device(jobs, **top).start()) for _ in range(count)]
    for device in devices:
        wait_for(lambda device=device: all(
            job["state"] in ("ready", "paused", "running", "watching") for job in jobs_of(device)), 10, "its jobs wait")
    return devices


def jobs_of(device):
    return json.loads(rotactl(device, "status", "--json").stdout)["jobs"]


def state(device, job):
    return next(each["state"] for each in jobs_of(device) if each["job"] == job)


def known(fleet, *jobs):
    """They have had all turns up to now."""
    fleet.make_done(fleet_now(fleet) // 3_600_000 * 3_600_000, *jobs)


def fleet_now(fleet):
    seconds, micros = fleet.client.time()
    return seconds * 1000 + micros // 1000


# --- run ---

def test_a_run_is_a_turn_of_its_own(fleet):
    known(fleet, "report")
    fleet.client.hset(fleet.key("report", "claim"), "streak", 2)
    job = {"report": {**HOURLY, **fleet.body("report", 'echo "try $ROTA_ATTEMPT, fence $ROTA_FENCE"')}}
    device, other = started(fleet, job, count=2)
    before = fleet_now(fleet)
    done = rotactl(device, "run", "report", "--wait")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("succeeded in ")
    entry, = fleet.entries("begin")
    assert before <= entry.turn <= fleet_now(fleet) and entry.attempt == 1
    claim = fleet.claim("report")
    assert (claim["manual"], claim["streak"], int(claim["done"])) == ("1", "2", entry.turn)
    assert fleet.lock("report") is None
    assert fleet.history("report")[-1]["outcome"] == "succeeded"
    device.wait_line(r"^report: succeeded in .*, by hand at \d\d:\d\d:\d\d UTC")
    device.wait_line(r"^report: \S+ runs it by hand$")
    assert rotactl(device, "run", "report", "--wait").returncode == 0  # at once: Redis knows of the end
    # Another one is another turn; nothing of it is anything to the other device.
    assert rotactl(other, "run", "report").stdout == "started here\n"
    assert fleet.wait_entry("end", count=3).turn > entry.turn


def test_a_run_that_fails_is_not_tried_again(fleet):
    known(fleet, "report")
    device, = started(fleet, {"report": {**HOURLY, "attempts": 3, **fleet.body("report", "echo vault is shut; exit 1")}})
    done = rotactl(device, "run", "report", "--wait")
    assert done.returncode == 1
    assert done.stdout.startswith("failed after ") and "vault is shut" in done.stdout
    assert fleet.wait_history("report")[-1]["attempt"] == "1"
    claim = fleet.claim("report")
    assert (claim["state"], claim["streak"]) == ("gave_up", "0")
    assert state(device, "report") == "ready" and len(fleet.entries("begin")) == 1
    assert not device.lines("given up")


def test_two_devices_never_run_it_at_once(fleet):
    known(fleet, "long")
    device, other = started(fleet, {"long": {**RENEWED, "every": "1h", **fleet.body("long", UNTIL_FREED)}}, count=2)
    waiting = begin(device, "run", "long", "--wait")
    fleet.wait_entry("begin")
    held = rotactl(other, "run", "long")
    assert held.returncode == 1
    assert held.stdout.startswith("not started: held by gate-1, whose lease ends in ")
    here = rotactl(device, "run", "long")
    assert (here.returncode, here.stdout) == (1, "not started: it runs here already\n")
    assert state(other, "long") == "ready"  # and it does not watch
    (fleet.folder / "free").touch()
    out, _ = waiting.communicate(timeout=20 * SLOWNESS)
    assert waiting.returncode == 0 and out.startswith("succeeded in ")
    assert len(fleet.entries("begin")) == 1


def test_who_watches_keeps_its_place(fleet):
    """The third to be refused would not come back: nobody may lose a place by a question that was in vain."""
    fleet.make_due("long")
    job = {**RENEWED, **ONCE, "splay": "0s", **fleet.body("long", UNTIL_FREED)}
    devices = started(fleet, {"long": job}, count=3)
    fleet.wait_entry("begin")
    wait_for(lambda: sorted(state(each, "long") for each in devices) == ["running", "watching", "watching"], 10, "two watch")
    assert fleet.claim("long")["watch"] == "2"
    one = next(each for each in devices if state(each, "long") == "watching")
    for options in ([], ["--as-due"]) * 2:
        assert rotactl(one, "run", "long", *options).stdout.startswith("not started: held by ")
        wait_for(lambda: state(one, "long") == "watching", 10, "it watches again")
    assert fleet.claim("long")["watch"] == "2"
    (fleet.folder / "free").touch()
    fleet.wait_entry("end")


@pytest.mark.parametrize("watchers", [1, 2])
def test_who_is_refused_third_is_not_told_to_wait(fleet, watchers):
    """A lease that is not renewed has two who watch it: nobody else comes back for its turn."""
    fleet.make_due("report")
    fleet.client.hset(fleet.key("report", "claim"), mapping={
        "watch": watchers, "watched": fleet_now(fleet) // ONCE_MS * ONCE_MS})
    fleet.client.set(fleet.key("report", "lock"), "other:" + "0" * 32, px=60_000)
    device, = started(fleet, {"report": {**SHORT, **ONCE, "splay": "0s", **fleet.body("report")}})

    def refusal():
        text = rotactl(device, "run", "report", "--as-due").stdout
        return text if text.startswith("not started: held by other, whose lease ends in ") else None
    end = "" if watchers == 2 else "; it is asked for again then, by itself"
    for _ in range(2):
        assert wait_for(refusal, 10, "the lock is held").endswith(f" unless it is renewed{end}\n")
    assert fleet.claim("report")["watch"] == str(watchers + 1)


def test_who_waits_may_go(fleet):
    known(fleet, "long")
    device, = started(fleet, {"long": {**RENEWED, "every": "1h", **fleet.body("long", UNTIL_FREED)}})
    waiting = begin(device, "run", "long", "--wait")
    fleet.wait_entry("begin")
    waiting.kill()
    waiting.communicate()
    assert state(device, "long") == "running"
    (fleet.folder / "free").touch()
    fleet.wait_entry("end")
    wait_for(lambda: fleet.claim("long")["state"] == "succeeded", 5, "it is recorded")


def test_the_open_turn(fleet):
    """This device has left it out, as it came too late; by hand it is run as what it is."""
    fleet.make_due("report")
    job = {"report": {**SHORT, **ONCE, "catch_up": "0s", **fleet.body("report")}}
    device, = started(fleet, job)
    assert not fleet.entries("begin")
    done = rotactl(device, "run", "report", "--as-due", "--wait")
    assert done.returncode == 0 and done.stdout.startswith("succeeded in ")
    entry, = fleet.entries("begin")
    assert entry.turn % (366 * 86_400_000) == 0
    assert fleet.claim("report")["manual"] == ""
    none = rotactl(device, "run", "report", "--as-due")
    assert (none.returncode, none.stdout) == (1, "not started: no turn is open: the newest is done, by gate-1\n")
    for option in ("--force", "--ignore-lock"):
        both = rotactl(device, "run", "report", "--as-due", option)
        assert both.returncode == 64 and "--as-due goes with neither --force nor --ignore-lock" in both.stderr


def test_a_paused_job_is_run_by_force_alone(fleet):
    known(fleet, "report")
    device, = started(fleet, {"report": {**HOURLY, **fleet.body("report")}})
    rotactl(device, "pause", "report", "--fleet", "--reason", "NAS full")
    refused = rotactl(device, "run", "report")
    assert refused.returncode == 1
    assert refused.stdout.startswith("not started: it is paused in the whole fleet by ")
    assert refused.stdout.endswith(": NAS full; --force runs it all the same\n")
    rotactl(device, "pause", "report", "--reason", "mine")
    here = rotactl(device, "run", "report")
    assert here.returncode == 1 and "paused on this device by " in here.stdout and ": mine; --force" in here.stdout
    assert rotactl(device, "run", "report", "--force", "--wait").returncode == 0
    assert len(fleet.entries("begin")) == 1


def test_without_its_lock_no_key_is_touched(fleet):
    known(fleet, "report", "fenced")
    body = fleet.body("report", 'echo "fence $ROTA_FENCE"')
    jobs = {"report": {**HOURLY, **body}, "fenced": {**HOURLY, "require_fence": True, **body}}
    device, = started(fleet, jobs)
    fleet.client.set(fleet.key("report", "lock"), "somebody")
    before = {key: fleet.client.dump(key) for key in fleet.client.keys("test:{report}:*")}
    done = rotactl(device, "run", "report", "--ignore-lock", "--wait")
    assert done.returncode == 0, done.stdout
    assert {key: fleet.client.dump(key) for key in fleet.client.keys("test:{report}:*")} == before
    device.wait_line(r"^report\| fence 0$")
    shown = next(line for line in rotactl(device, "status").stdout.splitlines() if line.startswith("  report"))
    assert "done here, " in shown, shown  # though Redis knows nothing of it
    refused = rotactl(device, "run", "fenced", "--ignore-lock")
    assert (refused.returncode, refused.stdout) == (
        1, "not started: without its lock it has no fence, and its require_fence is true\n")


def test_without_its_lock_there_is_no_lease(fleet):
    known(fleet, "long")
    device, = started(fleet, {"long": {**RENEWED, "every": "1h", **fleet.body("long", UNTIL_FREED)}})

    def lease():
        shown = {name for name in dict(ask(device, "Show", "s", "long")[0]) if name.startswith("lease_")} - {"lease_ms"}
        return shown, "rota_job_lease_end_timestamp_seconds{" in rotactl(device, "metrics").stdout

    assert rotactl(device, "run", "long", "--ignore-lock").returncode == 0
    assert lease() == (set(), False)
    assert rotactl(device, "stop", "long").returncode == 0
    assert rotactl(device, "run", "long").returncode == 0
    assert lease() == ({"lease_renewed_ms", "lease_left_ms"}, True)
    (fleet.folder / "free").touch()
    fleet.wait_entry("end")


def test_without_redis_the_answer_comes(fleet):
    known(fleet, "report")
    device, = started(fleet, {"report": {**HOURLY, **fleet.body("report")}})
    fleet.redis.kill()
    for _ in range(2):
        done = rotactl(device, "run", "report", "--wait")
        assert done.returncode == 1 and done.stdout.startswith("not started: Redis "), done.stdout
    assert rotactl(device, "run", "report", "--ignore-lock", "--wait").returncode == 0
    fleet.redis.start()
    wait_for(lambda: rotactl(device, "run", "report", "--wait").returncode == 0, 20, "it runs again")
    # Nobody was told that it had started when it had not.
    assert len(fleet.entries("begin")) == 2


def test_before_the_first_contact(fleet):
    fleet.redis.kill()
    device = wait_started(fleet.device({"report": {**HOURLY, **fleet.body("report")}}).start())
    done = rotactl(device, "run", "report")
    assert done.returncode == 1 and "the time that its turns go by is not known yet" in done.stdout
    fleet.redis.start()


def test_seats(fleet):
    jobs = {"update": {**RENEWED, "every": "1h", "scope": "device", "concurrency": 1,
                       **fleet.body("update", UNTIL_FREED)}}
    device, other = started(fleet, jobs, count=2)
    waiting = begin(device, "run", "update", "--wait")
    fleet.wait_entry("begin")
    full = rotactl(other, "run", "update")
    assert full.returncode == 1 and full.stdout.startswith("not started: no seat is free, 1 is taken; one may be in ")
    (fleet.folder / "free").touch()
    out, _ = waiting.communicate(timeout=20 * SLOWNESS)
    assert waiting.returncode == 0 and out.startswith("succeeded in ")
    assert fleet.record("update", device)["flags"] == "5"  # held, by hand


@pytest.mark.parametrize("top, settings", [(LOCAL, {}), ({}, {"lock": "none"})], ids=["local", "lock none"])
def test_where_redis_has_no_part(fleet, top, settings):
    device, = started(fleet, {"report": {**HOURLY, **settings, **fleet.body("report")}}, **top)
    for count in (1, 2):
        done = rotactl(device, "run", "report", "--wait")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert len(fleet.entries("end")) == count
    assert not fleet.client.keys("*{report}*")


def test_why_it_does_not_run(fleet):
    known(fleet, "report")
    body = fleet.body("report", UNTIL_FREED)
    jobs = {"report": {**RENEWED, "every": "1h", **body}, "second": {**HOURLY, **body},
            "off": {**HOURLY, **body, "enabled": False}, "else": {**HOURLY, **body, "devices": ["x*"]},
            "bad": {**HOURLY, **body, "plugin": "no-such"}}
    device = wait_started(fleet.device(jobs, max_running=1).start())
    wait_for(lambda: state(device, "second") == "ready", 10, "they wait")
    for job, why in (("off", "enabled is false"), ("else", "its devices are others"), ("bad", "has a mistake: ")):
        done = rotactl(device, "run", job)
        assert done.returncode == 1 and why in done.stdout
    assert rotactl(device, "run", "report").returncode == 0
    full = rotactl(device, "run", "second")
    assert full.returncode == 1 and "max_running = 1" in full.stdout
    nobody = rotactl(device, "run", "none")
    assert (nobody.returncode, nobody.stderr) == (64, "rotactl: there is no such job in this device's "
                                                   "configuration; rotactl status has all\n")
    draining = begin(device, "drain")
    wait_for(lambda: "draining" in rotactl(device, "status", "--check").stdout, 5, "it drains")
    assert rotactl(device, "run", "second").stdout == "not started: this device is drained; rotactl undrain ends that\n"
    (fleet.folder / "free").touch()
    draining.communicate(timeout=20 * SLOWNESS)


# --- stop ---

def test_stop_closes_the_turn(fleet):
    fleet.make_due("long")
    device, other = started(fleet, {"long": {**RENEWED, **ONCE, "splay": "0s", **fleet.body("long", UNTIL_TOLD)}}, count=2)
    fleet.wait_entry("begin")
    runs, idle = (device, other) if state(device, "long") == "running" else (other, device)
    nothing = rotactl(idle, "stop", "long")
    assert (nothing.returncode, nothing.stdout) == (1, "it does not run here\n")
    done = rotactl(runs, "stop", "long")
    assert done.returncode == 0
    assert done.stdout.startswith("stopped after ") and "; its turn is closed, and no device runs it again\n" in done.stdout
    last = fleet.wait_history("long")[-1]
    assert (last["outcome"], last["detail"]) == ("stopped", "stopped by an operator")
    claim = fleet.claim("long")
    assert claim["done"] == claim["turn"] and fleet.lock("long") is None
    wait_for(lambda: state(idle, "long") == "ready", 10, "the watcher hears of it")
    assert len(fleet.entries("begin")) == 1
    runs.wait_line(r"^long: \S+ stops its run$")
    runs.wait_line(r"^long: stopped after .*: stopped by an operator, turn of ")


def test_stop_hands_the_turn_over(fleet):
    fleet.make_due("long")
    device, other = started(fleet, {"long": {**RENEWED, **ONCE, "splay": "0s", **fleet.body("long", UNTIL_TOLD)}}, count=2)
    fleet.wait_entry("begin")
    runs, idle = (device, other) if state(device, "long") == "running" else (other, device)
    done = rotactl(runs, "stop", "long", "--hand-over")
    assert done.returncode == 0 and done.stdout.endswith("; another device may take its turn now\n")
    again = fleet.wait_entry("begin", count=2)
    assert again.attempt == 1 and state(idle, "long") == "running"
    assert fleet.history("long")[0]["detail"] == "handed over by an operator"
    by_hand = rotactl(idle, "stop", "long")
    assert by_hand.returncode == 0


# --- pause and resume ---

def test_a_pause_is_this_devices_alone(fleet):
    period = {**SHORT, "every": "2s", "splay": "0s"}
    jobs = {"tick": {**period, **fleet.body("tick")}, "tock": {**period, **fleet.body("tock")}}
    device, other = started(fleet, jobs, count=2)
    done = rotactl(device, "pause", "tick", "--reason", "disk \\x is full")
    assert (done.returncode, done.stdout) == (
        0, "paused on this device, until it is resumed, or rotad ends; what runs goes on to its end\n")
    begun = len(fleet.entries("begin", "tick"))
    fleet.wait_entry("begin", "tick", count=begun + 3, within=20)
    assert not [e for e in fleet.entries("begin", "tick")[begun + 1:] if is_of(fleet, device, e)]
    fleet.wait_entry("begin", "tock")
    status = rotactl(device, "status")
    assert ": disk \\x is full\n" in status.stdout and "p tick: paused on this device by " in status.stdout
    assert state(device, "tick") == "paused" and state(other, "tick") != "paused"
    assert 'rota_job_barred{job_name="tick",reason="paused_here"} 1\n' in rotactl(device, "metrics").stdout
    assert "rota_job_barred{" not in rotactl(other, "metrics").stdout
    assert ", 1 paused" in rotactl(device, "status", "--check").stdout
    assert "  look        paused on this device by " in rotactl(device, "show", "tick").stdout
    assert "paused on this device by " in rotactl(device, "status", "-o", "why").stdout
    device.write(jobs)  # a reload leaves it
    assert rotactl(device, "reload").returncode == 0
    assert state(device, "tick") == "paused"
    resumed = rotactl(device, "resume", "tick")
    assert resumed.returncode == 0 and resumed.stdout.endswith(": disk \\x is full\n")
    assert rotactl(device, "resume", "tick").stdout == "it was not paused on this device\n"
    device.wait_line(r"^tick: resumed on this device by \S+$")
    wait_for(lambda: state(device, "tick") != "paused", 5, "it takes turns again")


def is_of(fleet, device, entry):
    """Whether the fleet's history has that run as the device's."""
    return any(run["token"].startswith(device.name + ":") and int(run["turn"]) == entry.turn
               for run in fleet.history(entry.job))


def test_a_pause_ends_by_itself(fleet):
    known(fleet, "report")
    device, = started(fleet, {"report": {**HOURLY, **fleet.body("report")}})
    done = rotactl(device, "pause", "report", "--reason", "a moment", "--for", "500ms")
    assert done.stdout.startswith("paused on this device, until that time is over, or rotad ends; ")
    device.wait_line(r"^report: its pause on this device is over$")
    assert state(device, "report") == "ready"


def test_what_fell_due_meanwhile_is_caught_up_with(fleet):
    """The job is paused before it takes turns at all, so that its turn is due by then."""
    fleet.make_due("report")
    job = {**SHORT, **ONCE, "splay": "0s", **fleet.body("report")}
    device = wait_started(fleet.device({"report": {**job, "enabled": False}}).start())
    assert rotactl(device, "pause", "report", "--reason", "not now").returncode == 0
    device.write({"report": job})
    assert rotactl(device, "reload").returncode == 0
    wait_for(lambda: re.search(r'turns_passed_total\{\w+="report",reason="paused"\} 1', rotactl(device, "metrics").stdout),
             10, "its turn has passed")
    assert not fleet.entries("begin")
    resumed = rotactl(device, "resume", "report", "--catch-up")
    assert resumed.stdout.endswith("the turn that fell due meanwhile is asked for now\n")
    fleet.wait_entry("end")
    again = rotactl(device, "resume", "report", "--catch-up")
    assert again.stdout == "it was not paused on this device\nno turn is to be taken after all\n"


# --- check ---

def test_check_uses_nothing(fleet):
    device, = started(fleet, {"report": {**HOURLY, **fleet.body("report")}}, **LOCAL)
    done = rotactl(device, "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a reload would take it\n", "")
    said = len(device.lines())
    device.write({"report": {**HOURLY, **fleet.body("report"), "worst_case": "10"}}, **LOCAL)
    bad = rotactl(device, "check")
    assert bad.returncode == 78 and 'worst_case is "10"' in bad.stdout and "a reload would" not in bad.stdout
    assert len(device.lines()) == said  # the journal has nothing of it
    assert state(device, "report") == "ready"
    device.write({"report": {**HOURLY, **fleet.body("report")}}, **LOCAL)
    assert rotactl(device, "reload").stdout == "reloaded: 1 job\n"


@pytest.mark.parametrize("words", [["run"], ["stop"], ["run", "a", "b"], ["stop", "a", "--wait"]])
def test_usage(fleet, words):
    device = fleet.device({})
    assert subprocess.run(command(device, *words), capture_output=True, text=True, check=False).returncode == 64
