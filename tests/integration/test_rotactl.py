# SPDX-License-Identifier: MIT
"""rotactl: what it prints, and its exit statuses."""
import json
import os
import signal
import subprocess

import pytest

from fleet import LOCAL, ONCE, RENEWED, ROOT, SHORT, children_of, wait_for
from rotactl import ROTACTL, begin, folder_of, rotactl, socket_of, wait_started

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

def test_status(device):
    wait_for(lambda: "next report" in rotactl(device, "status").stdout, 5, "it waits for its turn")
    done = rotactl(device, "status")
    assert (done.returncode, done.stderr) == (0, "")
    first, *jobs = done.stdout.splitlines()
    assert first.startswith(f"{device.name}: 4 jobs, 1 invalid (wrong), 1 disabled, 1 on other devices; next report at ")
    assert jobs[:3] == ["  away                 elsewhere", "  off                  disabled",
                        "  report               ready"]
    assert jobs[3].startswith(f"  wrong                invalid: {device.conf}:")
    assert jobs[3].endswith("did you mean 'exec'?") and len(jobs) == 4


def test_status_in_json(device):
    wait_for(lambda: "next report" in rotactl(device, "status").stdout, 5, "it waits for its turn")
    done = rotactl(device, "--json", "status")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["device"] == device.name and told["status"].startswith("4 jobs, 1 invalid (wrong)")
    assert [(job["job"], job["state"], "why" in job) for job in told["jobs"]] == [
        ("away", "elsewhere", False), ("off", "disabled", False), ("report", "ready", False),
        ("wrong", "invalid", True)]


def test_no_jobs(fleet):
    device = wait_started(fleet.device(None, **LOCAL).start())
    assert rotactl(device, "status").stdout == f"{device.name}: no jobs yet\n"
    assert json.loads(rotactl(device, "status", "--json").stdout)["jobs"] == []
    assert rotactl(device, "drain").returncode == 0
    assert rotactl(device, "status").stdout == f"{device.name}: no jobs yet, drained\n"


def test_names_that_would_speak_to_the_terminal(fleet):
    """They are in no line raw, and in JSON they are what they were."""
    jobs = {"report": {**RENEWED, **ONCE, "plugin": "ex\x1b]0;owned\x07", **fleet.body("report")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    done = rotactl(device, "status")
    assert done.returncode == 0 and "\x1b" not in done.stdout and "\x07" not in done.stdout
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


def test_rotad_was_killed(device):
    device.kill()
    assert socket_of(device).exists()
    done = rotactl(device, "status")
    assert done.returncode == 2
    assert done.stderr == f"rotactl: no rotad runs with the runtime folder {folder_of(device)}\n"
    # The next one is not kept from listening by what is left.
    device.start()
    device.wait_line("ready as", count=2)
    assert rotactl(device, "status").returncode == 0


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
    (["drain", "--json"], "rotactl: drain takes no --json"),
    (["status", "--json", "--timeout", "1m"], "rotactl: status takes no --timeout"),
    (["reload", "--timeout", "1m"], "rotactl: reload takes no --timeout"),
    (["drain", "--timeout", "90"],
     "rotactl: --timeout is '90', which is no time; write \"90s\" or \"10m\", for instance"),
    (["drain", "--timeout"], "rotactl: --timeout is '', which is no time; write \"90s\" or \"10m\", for instance"),
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
