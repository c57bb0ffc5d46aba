# SPDX-License-Identifier: MIT
"""rotactl status and show of real runs and fleets: what other devices did, how far a run is; --json, --check, --watch."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

from fleet import LOCAL, ONCE, RENEWED, ROOT, SHORT, SLOWNESS, wait_for
from rotactl import ROTACTL, Raw, command, method_call, rotactl, wait_started

HOSTILE = "\x1b]0;owned\x07\u202egnp.exe\u2028\x9b|\"\\"


@pytest.fixture
def device(fleet):
    return wait_started(fleet.device({"job": {**SHORT, **ONCE, **fleet.body("job")}}, **LOCAL).start())


def told(device, *words):
    done = rotactl(device, *words, "--json")
    assert done.returncode in (0, 1) and done.stderr == ""
    return json.loads(done.stdout)


def job_of(device, name="job"):
    return next(job for job in told(device, "status")["jobs"] if job["job"] == name)


def row_of(device, name="job"):
    """The job's line of the table, by its words."""
    done = rotactl(device, "status", "--noheadings")
    [line] = [line for line in done.stdout.splitlines() if line[2:].startswith(name)]
    return line[0], *re.split(r"  +", line[2:])


# --- what others did ---

def test_a_turn_that_another_device_did(fleet):
    jobs = {"job": {**SHORT, **ONCE, "first": "now", **fleet.body("job")}}
    runner = wait_started(fleet.device(jobs).start())
    runner.wait_line("^job: succeeded", 20)
    other = wait_started(fleet.device(jobs).start())
    job = wait_for(lambda: (lambda job: "turn_went" in job and job)(job_of(other)), 20, "it has heard that it is done")
    assert (job["turn_went"], job["turn_by"], job["state"]) == ("done", runner.name, "ready")
    mark, _, state, _, result, _ = row_of(other)
    assert (mark, state, result) == (" ", "ready", f"done by {runner.name}")
    shown = rotactl(other, "show", "job")
    assert shown.returncode == 0 and f": done by {runner.name}\n" in shown.stdout
    assert "turns not taken since start (" in shown.stdout and " 1 done by others, 0 held, 0 no Redis\n" in shown.stdout


def test_one_s_own_before_a_restart(fleet):
    jobs = {"job": {**SHORT, **ONCE, "first": "now", **fleet.body("job")}}
    device = wait_started(fleet.device(jobs).start())
    device.wait_line("^job: succeeded", 20)
    device.stop()
    device.start()
    device.wait_line("ready as", count=2)
    wait_for(lambda: row_of(device)[4] == "done here", 20, "it has heard that it did it itself")


def test_a_turn_that_was_given_up(fleet):
    """The one that ran it last says why; who asks later is told where to look."""
    jobs = {"job": {**SHORT, **ONCE, "first": "now", "attempts": 1, **fleet.body("job", "echo no route; exit 1")}}
    runner = wait_started(fleet.device(jobs).start())
    runner.wait_line("^job: given up", 20)
    other = wait_started(fleet.device(jobs).start())
    wait_for(lambda: job_of(other)["state"] == "given up", 20, "it has heard that it is given up")
    assert row_of(runner)[:3] == ("!", "job", "given up") == row_of(other)[:3]
    assert row_of(runner)[4] == "failed here, 1 of 1" and row_of(other)[4] == "not run here"
    reasons = [rotactl(device, "status").stdout.splitlines()[-1] for device in (runner, other)]
    assert reasons == ["! job: no route (exit status 1)",
                       "! job: given up by the whole fleet until its next turn; rotactl history says why"]
    assert rotactl(other, "status").returncode == rotactl(other, "show", "job").returncode == 1


def test_a_failure_that_another_device_made_good(fleet):
    """It needs no look any more."""
    once = fleet.folder / "failed"
    jobs = {"job": {**SHORT, **ONCE, "first": "now", "retry_delay": "8s",
                    **fleet.body("job", f"[ -e {once} ] && exit 0; touch {once}; exit 1")}}
    first = wait_started(fleet.device(jobs).start())
    first.wait_line("^job: failed", 20)
    assert row_of(first)[:3] == ("!", "job", "retrying") and job_of(first)["look"]
    first.signal(signal.SIGSTOP)
    second = wait_started(fleet.device(jobs).start())
    second.wait_line("^job: succeeded", 30)
    first.signal(signal.SIGCONT)
    wait_for(lambda: row_of(first)[4] == f"done by {second.name}", 20, "it has heard")
    assert row_of(first)[0] == " " and "look" not in job_of(first)
    assert rotactl(first, "status").returncode == 0


# --- how far a run is, and what its plugin is ---

def test_progress_and_the_plugin_s_version(fleet, behave):
    shutil.copy(behave, fleet.plugins)
    (fleet.plugins / "behave.description").write_text("plugin: behave\nversion: 3.2\\x1b\ncontract: 1\n")
    fleet.make_due("job")
    device = wait_started(fleet.device({"job": {**RENEWED, **ONCE, "plugin": "behave",
                                                "params": {"as": "steady", "number": 20000}}}).start())
    shown = wait_for(lambda: (lambda done: "on it" in done and done)(rotactl(device, "show", "job").stdout), 20,
                     "its progress is shown")
    assert shown.splitlines()[0] == "job: plugin behave 3.2\\x1b"
    assert re.search(r'^ {14}lease renewed .* ago, .* left; \d+ % "on it"$', shown, re.M)
    job = told(device, "show", "job")
    assert job["progress"] == "on it" and 0 <= job["permille"] <= 1000 and job["plugin_version"] == "3.2\\x1b"
    (fleet.plugins / "behave.description").unlink()
    assert "plugin_version" not in told(device, "show", "job")


def test_what_a_job_is_for(fleet):
    """It may be changed while the job goes on as it is, with what is remembered of it."""
    job = {**SHORT, **ONCE, "first": "now", "description": 'Says "on".', **fleet.body("job")}
    device = wait_started(fleet.device({"job": job}, **LOCAL).start())
    device.wait_line("^job: succeeded", 20)
    assert rotactl(device, "show", "job").stdout.splitlines()[0] == 'job: "Says "on"." Plugin exec'
    device.write({"job": {**job, "description": "Says off."}}, **LOCAL)
    assert rotactl(device, "reload").returncode == 0
    shown = told(device, "show", "job")
    assert shown["description"] == "Says off." and [run["outcome"] for run in shown["runs"]] == ["succeeded"]


# --- JSON ---

def test_all_of_a_job_in_json(fleet):
    jobs = {"job": {**RENEWED, "cron": "0 0 * * *", "first": "now", "version": 3, "attempts": 2,
                    **fleet.body("job", "printf 'no \\033[2Jroute\\n'; exit 1")}}
    fleet.make_due("job")
    device = wait_started(fleet.device(jobs).start())
    device.wait_line("^job: given up", 20)
    done = rotactl(device, "show", "job", "--json")
    assert done.returncode == 1 and "\x1b" not in done.stdout
    job = json.loads(done.stdout)
    assert (job["job"], job["state"], job["device"], job["plugin"]) == ("job", "given up", device.name, "exec")
    assert (job["file"], job["version"], job["cron"], job["timezone"]) == (str(device.conf), 3, "0 0 * * *", "UTC")
    assert (job["scope"], job["lock"], job["attempts"], job["worst_case_ms"]) == ("fleet", "redis", 2, 30000)
    assert (job["lease_ms"], job["stop_grace_ms"], job["retry_delay_ms"]) == (3000, 300, 0)
    assert len(job["next"]) == 5 and job["next"] == sorted(job["next"])
    assert [(run["attempt"], run["outcome"]) for run in job["runs"]] == [(2, "failed"), (1, "failed")]
    assert job["look"] == job["runs"][0]["why"] == "no \\x1b[2Jroute (exit status 1)"
    assert job["counts"]["failed"] == 2 and [line["text"] for line in job["output"]] == ["no \\x1b[2Jroute"]


def test_a_job_that_takes_no_turns_in_json(fleet):
    jobs = {"job": {**SHORT, **ONCE, "enabled": False, **fleet.body("job")},
            "bad": {**SHORT, **ONCE, "plugin": HOSTILE, **fleet.body("bad")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    job = told(device, "show", "job")
    assert (job["state"], job["attempts"], job["output"]) == ("disabled", 3, []) and "runs" not in job
    assert "did you mean" in told(device, "show", "bad")["look"] or told(device, "show", "bad")["state"] == "invalid"


def test_hostile_texts_are_valid_json_and_nowhere_raw(fleet):
    jobs = {"bad": {**SHORT, **ONCE, "plugin": HOSTILE, **fleet.body("bad")},
            "job": {**SHORT, **ONCE, "first": "now", "attempts": 1,
                    **fleet.body("job", "printf '\\033[2J\\342\\200\\256 \\377 \"|\\\\\\n'; exit 1")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^job: given up", 20)
    for words in (["status"], ["show", "job"], ["show", "bad"]):
        for how in ([], ["--json"], ["--noheadings"]):
            raw = subprocess.run(command(device, *words, *how), capture_output=True, check=False, timeout=20,
                                 env={**device.fleet.environment, "LC_ALL": "C.UTF-8"}).stdout
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xff", raw), words
            if how == ["--json"]:
                json.loads(raw)


# --- a monitor's check ---

def test_a_check_says_what_needs_a_look(fleet):
    jobs = {"job": {**SHORT, **ONCE, "first": "now", "attempts": 1, **fleet.body("job", "echo 'a|b'; exit 1")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^job: given up", 20)
    done = rotactl(device, "status", "--check")
    assert done.returncode == 1
    assert re.fullmatch(r"1 job; next .*; look at job: a/b \(exit status 1\)\n", done.stdout)


def test_a_check_names_jobs_up_to_a_point(fleet):
    jobs = {f"job{i}": {**SHORT, **ONCE, "plugin": "exce", **fleet.body("job")} for i in range(7)}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    done = rotactl(device, "status", "--check")
    assert done.returncode == 1 and done.stdout.endswith("; look at job0, job1, job2, job3, job4 and 2 more\n")


def test_a_check_without_an_answer_says_so_on_standard_output(tmp_path):
    done = subprocess.run([ROTACTL, "--runtime-dir", tmp_path, "status", "--check"], capture_output=True, text=True,
                          check=False, timeout=20)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == f"rotactl: no rotad runs with the runtime folder {tmp_path}\n"


@pytest.mark.parametrize("first, second", [("--check", "--json"), ("--watch", "--json"), ("--watch", "--check")])
def test_one_way_to_print_it(tmp_path, first, second):
    done = subprocess.run([ROTACTL, "--runtime-dir", tmp_path, "status", second, first], capture_output=True, text=True,
                          check=False, timeout=20)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == f"rotactl: {first} and {second} do not go together; leave one out\n"


# --- a picture that is drawn again ---

class Terminal:
    """rotactl on one."""

    def __init__(self, device, *words, rows=24, columns=80):
        self.master, end = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.master)
        self.process = subprocess.Popen(command(device, *words), stdin=end, stdout=end, stderr=end,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**device.fleet.environment, "TERM": "xterm", "NO_COLOR": "1"})
        os.close(end)
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        os.close(self.master)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, pattern):
        """What has come since the last time, up to what matches."""
        deadline = time.monotonic() + 10 * SLOWNESS
        while not (found := re.search(pattern, self.got)):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], self.got
            with contextlib.suppress(OSError):  # a terminal's end
                self.got += os.read(self.master, 65536)
        seen, self.got = self.got[:found.end()], self.got[found.end():]
        return seen.decode().replace("\r\n", "\n")


PICTURE = rb"\x1b\[J\x1b\[\?7h"


@pytest.fixture
def many(fleet):
    jobs = {f"job_{i:02}": {**SHORT, **ONCE, **fleet.body("job")} for i in range(40)}
    return wait_started(fleet.device(jobs, **LOCAL).start())


def test_a_picture_is_no_taller_than_its_terminal_and_follows_its_size(many):
    with Terminal(many, "status", "--watch") as terminal:
        first = terminal.read_until(PICTURE)
        assert first.startswith("\x1b[2J\x1b[?7l\x1b[H") and first.count("\n") == 23
        assert first.splitlines()[22] == "... and 22 lines more\x1b[K"
        again = terminal.read_until(PICTURE)
        assert again.startswith("\x1b[?7l\x1b[H") and again.count("\n") == 23
        terminal.resize(50, 45)
        resized = terminal.read_until(rb"(?s)\x1b\[2J.*?" + PICTURE).partition("\x1b[2J")[2]
        lines = re.sub(r"\x1b\[\??\w+", "", resized).splitlines()
        assert "job_39" in resized and "more" not in resized and max(map(len, lines)) <= 45


def test_ctrl_c_leaves_a_clean_terminal(many):
    with Terminal(many, "status", "--watch") as terminal:
        terminal.read_until(PICTURE)
        os.write(terminal.master, b"\x03")
        assert terminal.read_until(rb"\x1b\[0m\x1b\[\?7h\r?\n").count("\x1b[?25l") == 0
        assert terminal.process.wait(10 * SLOWNESS) == -signal.SIGINT
        assert termios.tcgetattr(terminal.master) == terminal.before


def test_a_picture_ends_with_its_rotad(many):
    with Terminal(many, "status", "--watch") as terminal:
        terminal.read_until(PICTURE)
        many.kill()
        terminal.read_until(rb"rotactl: rotad does not answer at .*/control: it has ended")
        assert terminal.process.wait(10 * SLOWNESS) == 2


# --- what programs may rely on ---

def page(name, section):
    """The section of a page, without its marks."""
    text = (ROOT / "docs" / name).read_text().partition(f"\n# {section}\n")[2].partition("\n# ")[0]
    return text.replace("\\_", "_")


def test_every_method_is_documented_with_its_arguments(device):
    with Raw(device) as client:
        client.receive_until(b"OK")
        client.send(method_call("Introspect", "org.freedesktop.DBus.Introspectable"))
        said = client.receive_until(b"</node>").decode(errors="replace")
    text = re.sub(r"\s+", " ", page("rotad.8.scd", "THE CONTROL SOCKET"))
    interface = said.partition('<interface name="rota.Control1">')[2].partition("</interface>")[0]
    methods = re.findall(r'<method name="(\w+)">(.*?)</method>', interface, re.S)
    assert len(methods) > 10
    for name, body in methods:
        args = re.findall(r'<arg type="[^"]+"( name="\w+")? direction="(\w+)"', body)
        names = {way: [arg[7:-1] for arg, direction in args if direction == way] for way in ("in", "out")}
        assert all(names["in"]) and all(names["out"]), f"{name} has an argument without a name"
        assert f"*{name}*({', '.join(names['in'])}): {', '.join(names['out'])} " in text, name
    assert set(re.findall(r"\*(\w+)\*\(", text)) - {"rotactl"} == {name for name, _ in methods}


def test_every_name_in_json_is_documented(fleet):
    jobs = {"job": {**RENEWED, **ONCE, "first": "now", "attempts": 1, "description": "Fails.",
                    **fleet.body("job", "echo no; exit 1")},
            "long": {**RENEWED, **ONCE, "first": "now", **fleet.body("long", "sleep 60")},
            "wrong": {**RENEWED, **ONCE, "plugin": "exce", **fleet.body("wrong")}}
    device = wait_started(fleet.device(jobs).start())
    device.wait_line("^job: given up", 20)
    device.wait_line("^long: started", 20)
    status, shown = told(device, "status"), [told(device, "show", name) for name in jobs]
    names = set(status) | {name for job in [*status["jobs"], *shown] for name in job}
    names |= {name for job in shown for part in ("runs", "output") for row in job.get(part, []) for name in row}
    text = page("rotactl.1.scd", "JSON")
    assert names - set(re.findall(r"\*(\w+)\*", text)) == set()
