# SPDX-License-Identifier: MIT
"""Who may touch whom: a worker, its guard, and the workers of other jobs, by each way that a user has."""
import json
import os
import subprocess

import guard_harness as h
import pytest
import sandbox
from guard_harness import Guard
from sandbox import AS_OTHER, AS_STRANGER, OTHER, STRANGER, needs_root, needs_scope

# Tries each way at each of the processes that it is given, and tells which were let.
TRY = r"""
import ctypes, json, os, signal, sys
def may(act, *arguments):
    try:
        act(*arguments)
        return True
    except OSError:
        return False
def trace(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(0x4206, pid, None, None) != 0:  # PTRACE_SEIZE
        raise OSError
def access(path, how=os.O_RDONLY):
    os.close(os.open(path, how))
WAYS = {"signal": lambda pid: os.kill(pid, signal.SIGCONT), "ask": lambda pid: os.kill(pid, 0),
        "stop": lambda pid: (os.kill(pid, signal.SIGSTOP), os.kill(pid, signal.SIGCONT)), "trace": trace,
        "memory": lambda pid: access(f"/proc/{pid}/mem", os.O_RDWR), "environment": lambda pid: access(f"/proc/{pid}/environ"),
        "descriptors": lambda pid: access(f"/proc/{pid}/fd/0")}
print(json.dumps({who: [name for name, way in WAYS.items() if may(way, int(pid))]
                  for who, pid in zip(sys.argv[1::2], sys.argv[2::2])}))
"""
ALL = ["signal", "ask", "stop", "trace", "memory", "environment", "descriptors"]
MAY_SWITCH = sandbox.may_switch_as(OTHER)


def touched(place, targets, **values):
    """{who: the ways that a worker's program has to them}"""
    arguments = [text for who, pid in targets.items() for text in (who, str(pid))]
    _, _, lines = place.python(TRY, *arguments, **values)
    return json.loads(lines[0])


def status_of(pid):
    return dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status", encoding="ascii")
                if ":\t" in line)


def capabilities_of(pid):
    return {name: int(value, 16) for name, value in status_of(pid).items()
            if name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}


@needs_root
@needs_scope
def test_jobs_of_one_user_are_kept_apart(place):
    with place.sleeper(**AS_STRANGER, apart=1) as (guard, program):
        targets = {"worker": guard.worker, "program": program, "guard": guard.process.pid}
        assert touched(place, targets, **AS_STRANGER, apart=1) == {who: [] for who in targets}
        assert h.is_alive(program) and h.is_alive(guard.worker)


@needs_root
def test_without_it_they_are_not(place):
    """So it is that which keeps them apart. The worker's own memory is closed to all in any case."""
    with place.sleeper(**AS_STRANGER) as (guard, program):
        seen = touched(place, {"worker": guard.worker, "program": program, "guard": guard.process.pid}, **AS_STRANGER)
    assert seen == {"worker": ["signal", "ask", "stop"], "program": ALL, "guard": []}


@needs_root
@pytest.mark.skipif(h.SANITIZED, reason="a sanitizer wants to be loaded first")
def test_a_kernel_that_cannot_keep_them_apart_runs_them(place):
    """What is said of it is rotad's to say."""
    older = ["env", f"LD_PRELOAD={sandbox.landlock_hider(place.folder)}"]
    with place.sleeper(**AS_STRANGER, apart=1) as (guard, _):
        assert touched(place, {"worker": guard.worker}, prefix=older, **AS_STRANGER, apart=1) == \
            {"worker": ["signal", "ask", "stop"]}


@needs_root
@needs_scope
def test_its_own_processes_are_its_own(place):
    """It signals, traces and reads what it started; and its files are as they were: rename and link across folders."""
    _, _, lines = place.python(
        "import ctypes, os, signal, subprocess, sys\n"
        "child = subprocess.Popen(['/bin/sleep', '60'])\n"
        "seized = ctypes.CDLL(None).ptrace(0x4206, child.pid, None, None) == 0\n"
        "open(f'/proc/{child.pid}/environ', 'rb').read(1)\n"
        "child.send_signal(signal.SIGKILL)\n"
        "os.chdir(sys.argv[1])\n"
        "for folder in ('a', 'b'):\n"
        "    os.mkdir(folder)\n"
        "open('a/file', 'w').close()\n"
        "os.rename('a/file', 'b/file')\n"
        "os.link('b/file', 'a/link')\n"
        "print(seized, child.wait(), os.path.samefile('a/link', 'b/file'))\n", place.open, **AS_STRANGER, apart=1)
    assert lines == ["True -9 True"]


@needs_root
@needs_scope
def test_it_may_mount_as_before(place):
    """Where it could: in namespaces of its own."""
    ended, _, lines = place.python("import subprocess\n"
                                   "subprocess.run(['unshare', '-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'], check=True)\n"
                                   "print('mounted')\n", **AS_STRANGER, apart=1)
    assert (ended["result"], lines) == (h.SUCCEEDED, ["mounted"])


@needs_root
@needs_scope
def test_its_guard_ends_it_as_before(place):
    with Guard(program=place.guard) as guard:
        guard.start(place.exec, {"command": ["/bin/sh", "-c", "trap '' TERM; exec sleep 60"]}, stop_grace_ms=300,
                    **AS_STRANGER, apart=1).next(h.STARTED)
        program = h.wait_until(lambda: sandbox.program_of(guard), 5, "the program")
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
        assert (ended["killed"], ended["clean"]) == (1, 1) and not h.is_alive(program)


@needs_root
@needs_scope
def test_where_the_guard_has_the_jobs_user(place):
    """No right divides them, but that the job is kept apart, and the guard's memory is closed."""
    with place.sleeper(prefix=AS_OTHER, apart=1) as (guard, program):
        targets = {"guard": guard.process.pid, "worker": guard.worker, "program": program}
        assert touched(place, targets, prefix=AS_OTHER, apart=1) == {who: [] for who in targets}
        seen = touched(place, targets, prefix=AS_OTHER)
    assert seen == {"guard": ["signal", "ask", "stop"], "worker": ["signal", "ask", "stop"], "program": ALL}


@needs_root
def test_who_becomes_another_user_keeps_no_capability(place):
    """From one user to another that are both not root the kernel takes none away."""
    with place.sleeper(prefix=MAY_SWITCH, **AS_STRANGER) as (guard, program):
        assert capabilities_of(guard.process.pid)["CapAmb"] != 0
        for pid in (guard.worker, program):
            assert set(capabilities_of(pid).values()) == {0}
            assert status_of(pid)["Uid"].split() == [str(STRANGER)] * 4
        seen = touched(place, {"guard": guard.process.pid}, prefix=MAY_SWITCH, **AS_STRANGER)
    assert seen == {"guard": []}


@needs_root
def test_who_stays_what_the_guard_is_keeps_none_either(place):
    with place.sleeper(prefix=MAY_SWITCH) as (guard, program):
        for pid in (guard.worker, program):
            assert set(capabilities_of(pid).values()) == {0}


@needs_root
def test_a_guard_that_is_not_root_kills_workers_of_other_users(place):
    with Guard(prefix=MAY_SWITCH, program=place.guard) as guard:
        guard.start(place.exec, {"command": ["/bin/sh", "-c", "trap '' TERM; exec sleep 60"]}, stop_grace_ms=300,
                    **AS_STRANGER, apart=1).next(h.STARTED)
        h.wait_until(lambda: sandbox.program_of(guard), 5, "the program")
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
    assert (ended["killed"], ended["clean"]) == (1, 1)


@needs_root
def test_such_a_guards_death_ends_its_worker(place):
    with Guard(prefix=MAY_SWITCH, program=place.guard) as guard:
        guard.start(place.behave, {"as": "defiant", "file": str(place.open / "pids")}, **AS_STRANGER, apart=1).ready()
        guard.process.kill()
        h.wait_until(lambda: not h.is_alive(guard.worker), 2, "the worker's end")


@needs_root
def test_a_probing_guards_memory_is_closed(place):
    with Guard("--probe", prefix=AS_OTHER, program=place.guard) as guard:
        assert guard.probe(place.behave, {"as": "answer"})["loaded"] == 1
        assert touched(place, {"guard": guard.process.pid}, prefix=AS_OTHER) == {"guard": ["signal", "ask", "stop"]}
        guard.close()
        assert guard.process.wait(5) == 0


# A process of a job that lets its user have no more signals wait.
HOARD = r"""
import os, resource, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
for _ in range(resource.getrlimit(resource.RLIMIT_SIGPENDING)[0] + 1):
    os.kill(os.getpid(), signal.SIGRTMIN)
print("all", flush=True)
signal.pause()
"""


@needs_root
def test_signals_that_wait_keep_no_other_job_from_its_start(place):
    """The kernel counts a timer as one, and each worker has one."""
    hoarder = subprocess.Popen(["/usr/bin/python3", "-c", HOARD], stdout=subprocess.PIPE, user=STRANGER,
                               group=STRANGER, extra_groups=[])
    try:
        assert hoarder.stdout.readline() == b"all\n"
        ended, _ = h.run(place.behave, {"as": "answer"}, **AS_STRANGER)
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED), ended
    finally:
        hoarder.kill()
        hoarder.communicate()


@needs_root
def test_root_keeps_its_rights(place):
    with place.sleeper() as (guard, program):
        assert capabilities_of(program)["CapEff"] == capabilities_of(os.getpid())["CapEff"]


@needs_root
def test_groups_are_those_that_were_asked_for(place):
    _, _, lines = place.python("import os\nprint(os.getgid(), sorted(os.getgroups()))", **AS_STRANGER, groups=[7, 9])
    assert lines == [f"{STRANGER} [7, 9, {STRANGER}]"]


@pytest.mark.parametrize("core,dumpable", [(0, "0"), (1 << 20, "1")])
def test_a_workers_memory_is_open_only_for_core_dumps(place, core, dumpable):
    _, guard = h.run(place.behave, {"as": "surroundings"}, core=core)
    assert f"dumpable {dumpable}" in guard.lines()


def test_try_is_open_to_a_debugger(place):
    done = subprocess.run([place.guard, "--try", place.behave, "as=surroundings"], capture_output=True, text=True,
                          timeout=20, check=True)
    assert "  stdout: dumpable 1\n" in done.stderr


def test_environment_and_folder_of_a_job(place):
    (place.open / "here").mkdir()
    _, guard, lines = place.python("import os\nprint(os.getcwd(), os.environ['COLOUR'], os.environ['HOME'], os.environ['PATH'])",
                                   environment=["COLOUR=green = blue", "PATH=/usr/bin"], working_dir=str(place.open / "here"))
    assert lines == [f"{place.open}/here green = blue / /usr/bin"]


@needs_root
def test_a_folder_that_the_jobs_user_may_not_enter(place):
    closed = place.folder / "closed"
    closed.mkdir(mode=0o700)
    ended, _ = h.run(place.behave, {"as": "answer"}, **AS_STRANGER, working_dir=str(closed))
    assert (ended["how"], ended["detail"]) == \
        (h.UNSTARTED, "the worker cannot go to its working_dir: Permission denied")


# Its constructor tells COLOUR, how many groups it has, and whether a process of its own user is out of its reach.
TELLTALE = r"""
#include <rota/plugin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int run(const struct rota_run *r) { (void)r; return ROTA_SUCCEEDED; }
__attribute__((constructor)) static void tell(void)
{
    const char *colour = getenv("COLOUR");
    FILE *out = fopen(OUT, "a");

    fprintf(out, "%s %d %d\n", colour ? colour : "-", getgroups(0, NULL), kill(VICTIM, 0) != 0);
    fclose(out);
}
ROTA_PLUGIN(.name = "telltale", .version = "1", .summary = "Tells.", .run = run);
"""


@needs_root
@needs_scope
def test_probe_is_made_as_a_run_would_be(place):
    """Each job in its own; but a folder that is not there yet is left to the run."""
    told = place.open / "told"
    with place.sleeper(**AS_STRANGER) as (_, victim), Guard(mode="--probe", program=place.guard) as guard:
        plugin = h.compile_text(place.folder, "telltale", TELLTALE, defines=[f'OUT="{told}"', f"VICTIM={victim}"])
        for values, line in (({}, "- 1 0"), ({"environment": ["COLOUR=red"]}, "red 1 0"), ({"groups": [7, 9]}, "- 3 0"),
                             ({"groups": [7, 8]}, "- 3 0"), ({}, "- 1 0"), ({"apart": 1, "working_dir": "/nowhere"}, "- 1 1")):
            before = len(told.read_text().splitlines()) if told.exists() else 0
            answer = guard.probe(plugin, **AS_STRANGER, **values)
            assert (answer["loaded"], answer["errors"]) == (1, [])
            assert told.read_text().splitlines()[before:] == [line]
        guard.close()
        assert guard.process.wait(5) == 0
