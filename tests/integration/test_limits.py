# SPDX-License-Identifier: MIT
"""limits.*, where there is no control group: what a job's processes meet, and what is told of it."""
import subprocess

import guard_harness as h
import pytest
import sandbox
from guard_harness import run
from sandbox import AS_STRANGER, STRANGER, limits_of, needs_root

MIB = 1 << 20
# A worker whose lease can be renewed has a thread of ours.
RENEWED = {"worst_case_ms": 20000, "deadline_in_ms": 15000}
SHOW = "print(open('/proc/self/limits').read())"


@needs_root
@sandbox.needs_room
def test_all_are_set(place):
    _, guard, lines = place.python(SHOW, **AS_STRANGER, memory=256 * MIB, cpu_time_ms=2500, open_files=100, processes=20,
                                   file_size=MIB, core=8192)
    seen = limits_of(lines)
    assert seen["Max address space"] == (str(256 * MIB),) * 2
    assert seen["Max cpu time"] == ("3", "4")
    assert seen["Max open files"] == ("100", "100")
    assert seen["Max processes"] == ("21", "21")
    assert seen["Max file size"] == (str(MIB),) * 2
    assert seen["Max core file size"] == ("8192", "8192")
    assert guard.unapplied == ""


def test_what_is_not_limited_is_as_the_guard_has_it(place):
    _, guard, lines = place.python(SHOW)
    mine = limits_of(subprocess.check_output(["cat", "/proc/self/limits"], text=True).splitlines())
    assert limits_of(lines) == {**mine, "Max core file size": ("0", "0")}
    assert guard.unapplied == ""


@needs_root
@pytest.mark.skipif(not sandbox.has_right(24), reason="root itself may not raise hard limits here")
def test_hard_limits_rise_where_the_guard_may(place):
    _, guard, lines = place.python(SHOW, **AS_STRANGER, open_files=4096, prefix=["prlimit", "--nofile=50:60"])
    assert limits_of(lines)["Max open files"] == ("4096", "4096")
    assert guard.unapplied == ""


@needs_root
def test_hard_limits_that_may_not_rise_are_told(place):
    _, guard, lines = place.python(SHOW, **AS_STRANGER, open_files=4096, file_size=10 * MIB,
                                   prefix=["prlimit", "--nofile=50:60", "setpriv", "--bounding-set=-sys_resource"])
    assert limits_of(lines)["Max open files"] == ("60", "60")
    assert guard.unapplied == "limits.open_files is 60, as the system allows no more"


@needs_root
def test_processes_of_root_are_not_limited_and_that_is_told(place):
    _, guard, lines = place.python(SHOW, processes=10)
    assert limits_of(lines)["Max processes"] == limits_of(open("/proc/self/limits", encoding="ascii"))["Max processes"]
    assert guard.unapplied == "limits.processes is not kept, since the job runs as root"


@needs_root
def test_forks_end_at_the_limit(place):
    """Worker, program and its children: our own thread does not count."""
    _, _, lines = place.python("import os, signal\n"
                               "made = 0\n"
                               "try:\n"
                               "    while True:\n"
                               "        if os.fork() == 0:\n"
                               "            signal.pause()\n"
                               "        made += 1\n"
                               "except BlockingIOError:\n"
                               "    print(made)\n", **AS_STRANGER, **RENEWED, processes=10)
    assert lines == ["8"]


@needs_root
def test_a_user_with_too_many_processes_is_told(place):
    """The worker does not come as far as its plugin."""
    with place.sleeper(**AS_STRANGER):
        ended, _ = run(place.behave, {"as": "answer"}, **AS_STRANGER, **RENEWED, processes=1)
    assert ended["how"] == h.UNSTARTED
    assert "limits.processes" in ended["detail"]


@needs_root
def test_so_is_who_cannot_start_its_program(place):
    with place.sleeper(**AS_STRANGER):
        ended, _ = run(place.exec, {"command": ["/bin/true"]}, **AS_STRANGER, processes=2)
    assert ended["result"] == h.FAILED
    assert ended["detail"] == "/bin/true cannot be started: Resource temporarily unavailable; see limits.processes"


@sandbox.needs_room
def test_memory_of_a_process(place):
    _, _, lines = place.python("try:\n    x = bytearray(512 << 20)\nexcept MemoryError:\n    print('no more')\n",
                               memory=256 * MIB)
    assert lines == ["no more"]


@sandbox.needs_room
def test_memory_in_which_the_plugin_cannot_be_loaded_is_told(place):
    ended, _ = run(place.behave, {"as": "answer"}, memory=MIB)
    assert ended["how"] == h.UNLOADABLE
    assert ended["detail"].startswith("the plugin cannot be loaded: ")
    assert ended["detail"].endswith("; its limits.memory may be too small")


def test_open_files_of_a_process(place):
    _, _, lines = place.python("import os\nheld = []\ntry:\n    while True:\n        held.append(os.dup(0))\n"
                               "except OSError:\n    print(held[-1] + 1)\n", open_files=30)
    assert lines == ["30"]


def test_used_up_cpu_time_is_the_reason(place):
    ended, _ = run(place.behave, {"as": "spin"}, cpu_time_ms=1000)
    assert (ended["how"], ended["code"]) == (h.SIGNALLED, 24)
    assert ended["detail"] == "it used up its limits.cpu_time: last words"


def test_who_blocks_the_signal_of_it_is_killed_a_second_later(place):
    ended, _ = run(place.behave, {"as": "defiant", "file": str(place.open / "pids")}, cpu_time_ms=1000)
    assert (ended["how"], ended["code"], ended["killed"], ended["stop"]) == (h.SIGNALLED, 9, 0, h.STOP_NONE)


def test_a_program_that_used_up_its_cpu_time_is_told(place):
    ended, _ = run(place.exec, {"command": ["/bin/sh", "-c", "while :; do :; done"]}, cpu_time_ms=1000)
    assert ended["detail"] == "/bin/sh was killed by signal 24 (SIGXCPU): it used up its limits.cpu_time"


def test_too_large_a_file_is_the_reason(place):
    file = place.open / "file"
    ended, _ = run(place.behave, {"as": "writer", "number": 5000, "file": str(file)}, file_size=4096)
    assert ended["detail"] == "it wrote more than its limits.file_size: last words"
    assert file.stat().st_size == 4096


def test_no_file_at_all(place):
    """0 is a limit: only what is no regular file may be written."""
    ended, _ = run(place.exec, {"command": ["/bin/sh", "-c", "echo x; echo x >$0", str(place.open / "none")]}, file_size=0)
    assert "SIGXFSZ" in ended["detail"] or ended["result"] == h.FAILED
    assert (place.open / "none").stat().st_size == 0


@needs_root
def test_probe_has_no_limits(place):
    """A file is loaded once for jobs of all limits."""
    with h.Guard(mode="--probe", program=place.guard) as guard:
        assert guard.probe(place.behave, {"as": "answer"}, **AS_STRANGER, open_files=8, memory=MIB)["loaded"] == 1
        guard.close()
        assert guard.process.wait(5) == 0


def test_try_has_no_limits_but_no_cores(place):
    mine = limits_of(open("/proc/self/limits", encoding="ascii"))
    done = subprocess.run([place.guard, "--try", place.exec, "command=/bin/cat", "command=/proc/self/limits"],
                          capture_output=True, text=True, timeout=20, check=True)
    seen = limits_of(line.replace("  stdout: ", "") for line in done.stderr.splitlines())
    assert seen == {**mine, "Max core file size": ("0", "0")}


def test_user_is_not_in_any_passwd():
    """Else what is counted here is not the test's own."""
    assert f":{STRANGER}:" not in open("/etc/passwd", encoding="utf-8").read()
