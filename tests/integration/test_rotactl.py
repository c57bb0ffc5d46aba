# SPDX-License-Identifier: MIT
"""rotactl: what it prints, and its exit statuses."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from fleet import LOCAL, ONCE, RENEWED, ROOT, SHORT, SLOWNESS, children_of, wait_for
from rotactl import ROTACTL, begin, command, folder_of, rotactl, socket_of, wait_started

INCLUDE = ROOT / "plugins" / "include"


@pytest.fixture
def device(fleet):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report")},
            "off": {**RENEWED, **ONCE, "enabled": False, **fleet.body("off")},
            "away": {**RENEWED, **ONCE, "devices": ["another"], **fleet.body("away")},
            "wrong": {**RENEWED, **ONCE, "plugin": "exce", **fleet.body("wrong")}}
    return wait_started(fleet.device(jobs, **LOCAL).start())


def run(*words, **environment):
    return subprocess.run([ROTACTL, *words], capture_output=True, text=True, check=False, timeout=20,
                          env={**os.environ, **environment})


# --- status ---

def wait_ready(device):
    wait_for(lambda: "next report" in rotactl(device, "status", "--check").stdout, 5, "it waits for its turn")


def shown(device, *words, code=1):
    """What status prints, line by line."""
    done = rotactl(device, "status", *words)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout.splitlines()


def matches(lines, *patterns):
    assert len(lines) == len(patterns), "\n".join(lines)
    for line, pattern in zip(lines, patterns):
        assert re.fullmatch(pattern, line), f"{line!r} is not {pattern!r}"


UP = r"up \d+(\.\d)? m?s"
CLOCK = r"fleet clock \d\d:\d\d:\d\d UTC, ours [+-]0\.\d s"
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"


def test_status(device):
    wait_ready(device)
    matches(shown(device),
            rf"{device.name}  rotad 0\.1\.0, {UP} +fleet test +local, this device alone",
            "4 jobs, 1 invalid, 1 disabled, 1 elsewhere",
            "",
            "  JOB     STATE      LAST TURN         RESULT                  NEXT",
            "  away    elsewhere  -                 -                       -",
            "  off     disabled   -                 -                       -",
            rf"  report  ready      {DATE}  not run here            {DATE}",
            "x wrong   invalid    -                 -                       -",
            "",
            rf"x wrong: {re.escape(str(device.conf))}:\d+: .*; did you mean 'exec'\?")


def test_status_of_runs(fleet):
    jobs = {"bad": {**RENEWED, **ONCE, "first": "now", "attempts": 1, **fleet.body("bad", "echo 'no route'; exit 1")},
            "good": {**RENEWED, **ONCE, "first": "now", **fleet.body("good")},
            "long": {**RENEWED, **ONCE, "first": "now", **fleet.body("long", "sleep 60")}}
    device = wait_started(fleet.device(jobs).start())
    device.wait_line("^bad: given up", 20)
    device.wait_line("^good: succeeded", 20)
    device.wait_line("^long: started", 20)
    matches(shown(device),
            rf"{device.name}  rotad 0\.1\.0, {UP} +fleet test +redis ok, \d+ ms",
            rf"3 jobs, 1 running, 1 given up +{CLOCK}",
            "",
            "  JOB   STATE     LAST TURN .* RESULT .* NEXT",
            rf"! bad   given up  {DATE}  failed here, 1 of 1 +{DATE}",
            rf"  good  ready     {DATE}  done here, \d+ m?s +{DATE}",
            rf"> long  running   {DATE}  \d+(\.\d)? m?s of 30 s +{DATE}",
            "",
            r"! bad: no route \(exit status 1\)")
    told = json.loads(rotactl(device, "status", "--json").stdout)
    bad, good, long = told["jobs"]
    assert (bad["outcome"], bad["outcome_why"], bad["outcome_attempt"]) == ("failed", "no route (exit status 1)", 1)
    assert good["outcome"] == "succeeded" and good["outcome_turn"] == good["turn"] < good["next"]
    assert long["state"] == "running" and 0 <= long["ran_ms"] < long["limit_ms"] == 30000
    assert told["redis"] == "ok" and told["fleet"] == "test:" and abs(told["ours_ms"]) < 60_000


def test_status_of_one_who_waits_for_another(fleet):
    jobs = {"long": {**RENEWED, **ONCE, "first": "now", **fleet.body("long", "sleep 60")}}
    runner = wait_started(fleet.device(jobs).start())
    runner.wait_line("^long: started", 20)
    other = wait_started(fleet.device(jobs).start())
    line = wait_for(lambda: next((line for line in shown(other, "--noheadings", code=0) if "held by" in line), None), 20,
                    "it has asked")
    assert re.fullmatch(rf"  long  watching  {DATE}  held by {runner.name} +in \d+(\.\d)? s", line)


def test_status_while_redis_is_away(fleet):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report")}}
    device = fleet.device(jobs)
    fleet.redis.kill()
    wait_started(device.start())
    lines = wait_for(lambda: (lambda got: "redis unreachable" in got[0] and got)(
        rotactl(device, "status").stdout.splitlines()), 20, "it is known")
    assert rotactl(device, "status").returncode == 1
    assert re.fullmatch(r"! redis: .*, for .*; 0 turns missed", lines[-1])


def test_all_well_is_no_look(fleet):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report")}}
    device = wait_started(fleet.device(jobs).start())
    wait_ready(device)
    assert len(shown(device, code=0)) == 5


def test_columns(device):
    wait_ready(device)
    assert shown(device, "-o", "mark,JOB,state") == [
        "MARK  JOB     STATE", "      away    elsewhere", "      off     disabled", "      report  ready",
        "x     wrong   invalid"]
    assert shown(device, "--noheadings", "--output=job") == ["away", "off", "report", "wrong"]
    why = shown(device, "-o", "why")[-1]
    assert why.startswith(f"{device.conf}:")


def test_times_in_the_local_zone(device):
    device.fleet.environment = {**device.fleet.environment, "TZ": "XXX-5:30"}
    wait_ready(device)
    utc, local = (shown(device, "--noheadings", "-o", "next", *words)[2] for words in ((), ("--local",)))
    assert utc.endswith(" 00:00") and local.endswith(" 05:30")


def test_status_as_a_monitor_s_plugin(device):
    wait_ready(device)
    [line] = shown(device, "--check")
    assert line.startswith("4 jobs, 1 invalid (wrong), 1 disabled, 1 on other devices; next report at ")
    device.kill()
    assert shown(device, "--check", code=2) == [
        f"rotactl: no rotad runs with the runtime folder {folder_of(device)}"]


def on_terminal(device, *words, until=None, columns=80, **environment):
    """What comes on a terminal; until: a pattern, after which it is ended by Ctrl-C."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command(device, *words), stdout=end, stderr=end,
                               env={**device.fleet.environment, "TERM": "xterm", **environment})
    os.close(end)
    got, deadline = b"", time.monotonic() + 10 * SLOWNESS
    with contextlib.suppress(OSError):  # a terminal's end
        while select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            got += os.read(terminal, 65536)
            if until and re.search(until, got.decode(), re.S):
                process.send_signal(signal.SIGINT)
    if process.poll() is None and time.monotonic() > deadline:
        process.kill()
    os.close(terminal)
    return process.wait(20), got.decode().replace("\r\n", "\n")


def read_until(terminal, pattern):
    """What comes on it, with that at its end."""
    got, deadline = b"", time.monotonic() + 20 * SLOWNESS
    while not re.search(pattern, got, re.S):
        assert select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0], got
        got += os.read(terminal, 65536)
    return got


def test_a_terminal_has_colours_and_no_long_lines(device):
    wait_ready(device)
    code, got = on_terminal(device, "status")
    assert code == 1 and "\x1b[31mx wrong" in got
    plain = re.sub(r"\x1b\[\d*m", "", got)
    assert max(map(len, plain.splitlines())) <= 80 and re.search(r"\nx wrong: .*\n  .*\n", plain)
    assert "\x1b" not in on_terminal(device, "status", NO_COLOR="1")[1]
    assert "\x1b" not in on_terminal(device, "status", TERM="dumb")[1]
    assert max(map(len, on_terminal(device, "status", columns=50, NO_COLOR="1")[1].splitlines()[3:])) <= 50


def test_watch_draws_again_in_the_same_place(device):
    wait_ready(device)
    code, got = on_terminal(device, "status", "--watch", until=r"\x1b\[H.*\x1b\[J.*\x1b\[H.*\x1b\[J")
    assert code == -signal.SIGINT
    assert got.startswith("\x1b[2J\x1b[?7l\x1b[H") and got.endswith("\x1b[0m\x1b[?7h\n") and "\x1b[K\n" in got


def test_watch_needs_a_terminal(device):
    done = rotactl(device, "status", "--watch")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "rotactl: --watch draws on a terminal, which standard output is not; leave it out\n"


def test_watch_goes_on_where_the_terminal_gets_another_size(device):
    """Also while it waits for rotad's answer."""
    wait_ready(device)
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(command(device, "status", "--watch"), stdout=end, stderr=end,
                               env={**device.fleet.environment, "TERM": "xterm"})
    try:
        read_until(terminal, rb"\x1b\[J")
        device.signal(signal.SIGSTOP)
        # It has asked, and sleeps in poll(); some kernels do not say where.
        wait_for(lambda: re.search("poll|^0", Path(f"/proc/{process.pid}/wchan").read_text()), 10, "it waits")
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process.send_signal(signal.SIGWINCH)
        device.signal(signal.SIGCONT)
        read_until(terminal, rb"\x1b\[2J.*\x1b\[J")
        process.send_signal(signal.SIGINT)
        assert process.wait(20 * SLOWNESS) == -signal.SIGINT
    finally:
        device.signal(signal.SIGCONT)
        process.kill()
        process.wait()
        os.close(end)
        os.close(terminal)


def test_watch_ends_where_its_terminal_is_gone(device):
    """Also where nobody tells it so by a signal: nothing would end it."""
    wait_ready(device)
    terminal, end = pty.openpty()
    process = subprocess.Popen(command(device, "status", "--watch"), stdout=end, stderr=subprocess.PIPE, text=True,
                               env=device.fleet.environment)
    os.close(end)
    try:
        assert os.read(terminal, 65536)
        os.close(terminal)
        _, said = process.communicate(timeout=20 * SLOWNESS)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, said) == (
        71, "rotactl: standard output cannot be written: Input/output error\n")


def test_status_in_json(device):
    wait_ready(device)
    done = rotactl(device, "--json", "status")
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert told["device"] == device.name and told["status"].startswith("4 jobs, 1 invalid (wrong)")
    assert (told["store"], told["version"], "redis" in told) == ("local", "0.1.0", False)
    assert [(job["job"], job["state"], "why" in job) for job in told["jobs"]] == [
        ("away", "elsewhere", False), ("off", "disabled", False), ("report", "ready", False),
        ("wrong", "invalid", True)]


def test_no_jobs(fleet):
    device = wait_started(fleet.device(None, **LOCAL).start())
    assert rotactl(device, "status", "--check").stdout == "no jobs yet\n"
    assert shown(device, code=0)[1:] == ["no jobs yet"]
    assert json.loads(rotactl(device, "status", "--json").stdout)["jobs"] == []
    assert rotactl(device, "drain").returncode == 0
    assert shown(device, code=0)[1:] == ["no jobs yet, drained"]


def test_names_that_would_speak_to_the_terminal(fleet):
    """They are in no line raw, and in JSON they are what they were."""
    jobs = {"report": {**RENEWED, **ONCE, "plugin": "ex\x1b]0;owned\x07", **fleet.body("report")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    done = rotactl(device, "status")
    assert done.returncode == 1 and "\x1b" not in done.stdout and "\x07" not in done.stdout
    assert "\\x1b]0;owned\\x07" in done.stdout
    assert "\x1b" not in rotactl(device, "status", "--json").stdout


def test_many_jobs(fleet):
    """More than fits into a socket at once."""
    jobs = {f"job_{i:04}": {**SHORT, "every": "1d", "plugin": "exce" if i % 2 else "exec", **fleet.body("any")}
            for i in range(1000)}
    device = fleet.device(jobs, **LOCAL).start()
    device.wait_line("ready as", within=30)
    told = json.loads(rotactl(device, "status", "--json").stdout)
    assert [job["job"] for job in told["jobs"]] == sorted(jobs)


# --- show ---

def test_show_a_run(fleet):
    jobs = {"long": {**RENEWED, "cron": "0 0 * * *", "first": "now", "version": 3, **fleet.body("long", "echo part 1; sleep 60")}}
    fleet.make_due("long")
    device = wait_started(fleet.device(jobs).start())
    device.wait_line("long. part 1", 20)
    done = rotactl(device, "show", "long")
    assert (done.returncode, done.stderr) == (0, "")
    clock = r"(\w{3} )?\d\d:\d\d(:\d\d)?"
    matches(done.stdout.splitlines(),
            "long: plugin exec",
            rf"  from        {re.escape(str(device.conf))}:\d+, version 3, fingerprint [0-9a-f]{{8}}",
            r"  schedule    0 0 \* \* \* UTC, one device of the fleet, late by at most .*",
            r"  next        \w+ 00:00(, \w+ 00:00){4}",
            "  timing      worst case 30 s, lease 3 s, grace 300 ms, 3 attempts",
            rf"  now         running here since {clock}, attempt 1, fence \d+",
            r"              lease renewed [\d.]+ m?s ago, [\d.]+ m?s left",
            "",
            "  last output",
            r"    (\w{3} )?\d\d:\d\d:\d\d part 1")


def test_show_what_ran(fleet):
    jobs = {"bad": {**RENEWED, **ONCE, "first": "now", "attempts": 2,
                    **fleet.body("bad", "echo 'no \\033[2Jroute'; exit 1")},
            "good": {**RENEWED, **ONCE, "first": "now", **fleet.body("good")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^bad: given up", 20)
    device.wait_line("^good: succeeded", 20)
    done = rotactl(device, "show", "bad")
    assert (done.returncode, done.stderr) == (1, "") and "\x1b" not in done.stdout
    day, clock = DATE.split()
    matches(done.stdout.splitlines()[-9:],
            rf"  now         given up; turn of {DATE}: failed here, 2 of 2",
            r"  look        no \\x1b\[2Jroute \(exit status 1\)",
            "",
            "  LAST RUNS HERE    TURN        TRY  RESULT      TOOK",
            rf"  {day}        {clock}         2  failed      \d+ m?s +no \\x1b\[2Jroute \(exit status 1\)",
            rf"  {day}        {clock}         1  failed      \d+ m?s +no \\x1b\[2Jroute \(exit status 1\)",
            "",
            "  last output",
            r"    (\w{3} )?\d\d:\d\d:\d\d no \\x1b\[2Jroute")
    good = rotactl(device, "show", "good")
    assert good.returncode == 0
    assert re.search(r"\n  run times, 30 days: median \d+ ms, 95 % \d+ ms, longest \d+ ms\n", good.stdout)


def test_show_one_with_a_mistake(device):
    done = rotactl(device, "show", "wrong")
    assert (done.returncode, done.stderr) == (1, "")
    assert [line[:14] for line in done.stdout.splitlines()] == [
        "wrong: plugin ", "  from        ", "  now         ", "  look        "]
    assert rotactl(device, "show", "off").stdout.splitlines()[-1] == "  now         disabled"


def test_show_none(device):
    done = rotactl(device, "show", "x\x1b[2J")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "rotactl: there is no job 'x\\x1b[2J' here; rotactl status has all\n"


def test_show_has_each_name_once(device):
    """An object of JSON that has one twice is read by some programs, and not by others."""
    def once(pairs):
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    wait_ready(device)
    done = rotactl(device, "show", "report", "--json")
    assert isinstance(json.loads(done.stdout, object_pairs_hook=once)["next"], list)
    told = json.loads(rotactl(device, "status", "--json").stdout, object_pairs_hook=once)
    assert isinstance(told["jobs"][2]["next"], int)


@pytest.mark.parametrize("words", [["show", b"\xff"], ["run", b"\xff"], ["history", b"\xff"],
                                   ["pause", "report", "--reason", b"na\xefve"]])
def test_a_word_that_is_no_text_is_no_fault_of_rotad_s(device, words):
    done = rotactl(device, *words)
    assert (done.returncode, done.stdout, done.stderr) == (
        64, "", "rotactl: one of these words is no text in UTF-8, and so it is no name here\n")


# --- reload ---

def test_reload(device):
    device.write({"report": {**RENEWED, **ONCE, **device.fleet.body("report")}}, **LOCAL)
    done = rotactl(device, "reload")
    assert (done.returncode, done.stdout, done.stderr) == (0, "reloaded: 1 job\n", "")
    device.wait_line("^reloaded: 1 job$")


def test_reload_says_what_is_wrong(device):
    before = device.conf.read_text()
    device.write_text(before.replace("worst_case", "wrost_case", 1) + "jobs_ = 1;\n")
    done = rotactl(device, "reload")
    *lines, last = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (78, "")
    assert last == "reload: refused for the mistakes above; the old configuration stays"
    for words in ("unknown key 'wrost_case'; did you mean 'worst_case'?", "unknown key 'jobs_'",
                  "did you mean 'exec'?"):
        assert sum(words in line for line in lines) == 1
    assert all(line.startswith(str(device.conf)) for line in lines)
    assert "4 jobs" in rotactl(device, "status").stdout


def test_reload_tells_warnings_from_mistakes(device):
    """In the journal the level does."""
    device.write({"report": {**RENEWED, "every": "1s", "wrost_case": "1s", **device.fleet.body("report")}}, **LOCAL)
    done = rotactl(device, "reload")
    assert done.returncode == 78
    [mistake] = [line for line in done.stdout.splitlines() if "wrost_case" in line]
    [warning] = [line for line in done.stdout.splitlines() if "turns that fall due" in line]
    assert not mistake.endswith(" (a warning)") and warning.endswith(" (a warning)")
    device.wait_line("longer than the period of 1 s; turns that fall due during a run are left out$")


def test_reload_hears_the_one_that_it_asked_for(device):
    """The files may have been changed since the one under way has read them."""
    good = {"report": {**RENEWED, **ONCE, **device.fleet.body("report")}}
    device.write(good, **LOCAL)
    device.signal(signal.SIGSTOP)
    asked = [begin(device, "reload") for _ in range(3)]
    device.signal(signal.SIGCONT)
    for one in asked:
        out, _ = one.communicate(timeout=30)
        assert (one.returncode, out) == (0, "reloaded: 1 job\n")
    device.write({**good, "second": good["report"]}, **LOCAL)
    assert rotactl(device, "reload").stdout == "reloaded: 2 jobs\n"


def test_reload_of_what_takes_a_restart(fleet, device):
    device.write({"report": {**RENEWED, **ONCE, **fleet.body("report")}}, prefix="other:")
    done = rotactl(device, "reload")
    assert done.returncode == 78
    assert done.stdout == "reload: prefix has changed, which takes a restart; the old configuration stays\n"


def test_reload_says_that_its_reader_was_killed(fleet, device):
    """Nothing else would be above 'the mistakes above'."""
    source = ("#include <rota/plugin.h>\n"
              "__attribute__((constructor)) static void hang(void) { for (;;) __asm__ volatile(\"\"); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-I", INCLUDE, "-x", "c", "-", "-o", fleet.plugins / "hangs.so"],
                   input=source, text=True, check=True)
    device.write({"report": {**RENEWED, **ONCE, "plugin": "hangs"}}, **LOCAL)
    reload = begin(device, "reload")
    reader = wait_for(lambda: [pid for pid in children_of(device.pid) if children_of(pid)], 5, "it probes")
    os.kill(reader[0], signal.SIGKILL)
    out, _ = reload.communicate(timeout=20)
    assert reload.returncode == 78
    assert out.splitlines() == ["reload: reading the new configuration ended by signal 9 (Killed)",
                                "reload: refused for the mistakes above; the old configuration stays"]


# --- without an answer ---

def test_no_rotad(tmp_path):
    done = run("--runtime-dir", tmp_path, "status")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rotactl: no rotad runs with the runtime folder {tmp_path}\n"


@pytest.mark.skipif(Path("/run/rota").exists(), reason="a rotad of this machine's own")
def test_no_rotad_where_the_unit_has_it():
    done = run("status")
    assert (done.returncode, done.stderr) == (
        2, "rotactl: no rotad runs with the runtime folder /run/rota; systemctl status rotad says more\n")


def test_rotad_was_killed(device):
    device.kill()
    assert socket_of(device).exists()
    done = rotactl(device, "status")
    assert done.returncode == 2
    assert done.stderr == f"rotactl: no rotad runs with the runtime folder {folder_of(device)}\n"
    # The next one is not kept from listening by what is left.
    device.start()
    device.wait_line("ready as", count=2)
    assert rotactl(device, "status").returncode == 1


def test_rotad_is_stopped(device):
    device.signal(signal.SIGSTOP)
    done = rotactl(device, "status")
    device.signal(signal.SIGCONT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"rotactl: rotad does not answer at {socket_of(device)}: nothing came within 10 s\n")


def test_no_folder_for_the_socket_is_no_end(fleet):
    """rotad goes on without one, and says so."""
    name = "x" * 110
    device = fleet.device({"report": {**RENEWED, **ONCE, **fleet.body("report")}}, **LOCAL)
    device.folder = fleet.folder / name
    device.folder.mkdir()
    device.start()
    line = device.wait_line("rotactl cannot ask")
    assert line.text == f"rotactl cannot ask: {folder_of(device)}/control: File name too long"
    device.wait_line("ready as")


# --- usage ---

@pytest.mark.parametrize("words, said", [
    ([], "rotactl: say what to do, for instance: rotactl status"),
    (["drian"], "rotactl: there is no command 'drian'; did you mean 'drain'?"),
    (["x\x1b[2J"], "rotactl: there is no command 'x\\x1b[2J'; rotactl --help lists all"),
    (["status", "report"], "rotactl: status takes no 'report'"),
    (["--jsn", "status"], "rotactl: there is no option '--jsn'; did you mean '--json'?"),
    (["-j", "status"], "rotactl: there is no option '-j'; rotactl --help lists all"),
    (["status", "--json=yes"], "rotactl: '--json=yes' takes no value"),
    (["status", "--json=\x1b[2J"], "rotactl: '--json=\\x1b[2J' takes no value"),
    (["show"], "rotactl: show needs the name of one job: rotactl show nightly_report"),
    (["show", "a", "b"], "rotactl: show needs the name of one job: rotactl show nightly_report"),
    (["show", "a", "--watch"], "rotactl: show takes no --watch"),
    (["drain", "--json"], "rotactl: drain takes no --json"),
    (["drain", "--local"], "rotactl: drain takes no --local"),
    (["timeline", "-o", "job"], "rotactl: timeline takes no -o"),
    (["status", "-o", "job,stat"], "rotactl: there is no column 'stat'; did you mean 'state'?"),
    (["status", "-o", "job,"],
     "rotactl: there is no column ''; there are job, state, last, result, next, mark, why"),
    (["status", "-o"], "rotactl: -o needs columns: -o job,next"),
    (["status", "-o", "job", "--json"], "rotactl: -o and --json do not go together; leave one out"),
    (["status", "--watch", "--check"], "rotactl: --watch and --check do not go together; leave one out"),
    (["fleet", "--json", "--check"], "rotactl: --check and --json do not go together; leave one out"),
    (["status", "--json", "--timeout", "1m"], "rotactl: status takes no --timeout"),
    (["reload", "--timeout", "1m"], "rotactl: reload takes no --timeout"),
    (["drain", "--timeout", "90"],
     "rotactl: --timeout is '90', which is no time; write \"90s\" or \"10m\", for instance"),
    (["drain", "--timeout"], "rotactl: --timeout needs a time: --timeout 10m"),
    (["status", "--runtime-dir"], "rotactl: --runtime-dir needs a folder: --runtime-dir /run/rota"),
])
def test_usage(words, said):
    done = run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (64, "", said + "\n")


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_a_full_disk_is_no_success(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([ROTACTL, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=20)
    assert done.returncode == 71
    assert done.stderr == "rotactl: standard output cannot be written: No space left on device\n"


def test_help_and_version():
    assert run("--version").stdout.startswith("rotactl 0.")
    shown = run("--help")
    assert run("help").stdout == shown.stdout
    assert shown.returncode == 0 and all(len(line) <= 80 for line in shown.stdout.splitlines())
    for word in ("status", "drain", "undrain", "reload", "--timeout", "--json", "--runtime-dir"):
        assert word in shown.stdout
