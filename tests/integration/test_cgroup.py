# SPDX-License-Identifier: MIT
"""A control group of its own for each run: for real in the group v2 that is here, which has no controllers to keep limits
with; what those would be told is seen in a tree of plain files."""
import os
import subprocess
from pathlib import Path

import guard_harness as h
import pytest
import sandbox
from guard_harness import Guard
from sandbox import AS_STRANGER, needs_root

MIB = 1 << 20


def mounted():
    """Where the groups of version 2 are that this process is in; None."""
    mounts = [line.split() for line in open("/proc/self/mounts", encoding="utf-8")]
    [own] = [line[3:].strip("/\n") for line in open("/proc/self/cgroup", encoding="utf-8") if line.startswith("0::")] or [None]
    found = [Path(mount[1]) / own for mount in mounts if mount[2] == "cgroup2"] if own is not None else []
    return found[0] if found and os.access(found[0], os.W_OK) else None


@pytest.fixture
def folder():
    """One of the test's own."""
    if mounted() is None:
        pytest.skip("there is no group of version 2 to make one in")
    made = mounted() / f"rota-test-{os.getpid()}"
    made.mkdir()
    yield made
    for group in sorted((path for path in made.rglob("*") if path.is_dir()), reverse=True):
        h.wait_until(lambda group=group: "populated 0" in (group / "cgroup.events").read_text(), 5, f"{group} is empty")
        group.rmdir()
    made.rmdir()


@pytest.fixture
def stranger(folder):
    """A process of the test's own, gone before the folder is."""
    process = subprocess.Popen(["/bin/sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def fake(tmp_path):
    """The kernel would put these files there."""
    group = tmp_path / "nightly"
    group.mkdir()
    for name in ("cgroup.procs", "cgroup.kill", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max"):
        (group / name).touch()
    (group / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 0\n")
    return group


def written(group):
    return {path.name: path.read_text() for path in group.iterdir() if "events" not in path.name}


def group_of(pid):
    [line] = [line for line in open(f"/proc/{pid}/cgroup", encoding="utf-8") if line.startswith("0::")]
    return Path(line[3:].strip())


def groups_in(folder):
    return [path for path in folder.iterdir() if path.is_dir()]


def let_run_out_of_memory(group, kills):
    """As the kernel would count."""
    (group / "memory.events").write_text(f"low 0\noom 1\noom_kill {kills}\noom_group_kill {kills}\n")


@needs_root
def test_each_run_has_its_own(place, folder):
    with place.sleeper(**AS_STRANGER, cgroup=str(folder)) as (guard, program):
        for pid in (guard.worker, program):
            assert (group_of(pid).parent.name, group_of(pid).name) == (folder.name, "nightly")
        assert group_of(guard.process.pid) == group_of(os.getpid())
        assert guard.unapplied == ""
    assert groups_in(folder) == []


@needs_root
@pytest.mark.skipif(h.SANITIZED, reason="a sanitizer has needs of its own")
def test_none_is_left_where_no_worker_can_be_had(place, folder):
    os.chown(folder, sandbox.OTHER, sandbox.OTHER)
    with Guard(prefix=[*sandbox.AS_OTHER, "prlimit", "--nproc=1"], program=place.guard) as guard:
        ended = guard.start(place.behave, {"as": "answer"}, cgroup=str(folder)).ended()
    assert (ended["how"], groups_in(folder)) == (h.UNSTARTED, [])


@needs_root
def test_its_own_user_cannot_change_it(place, folder):
    _, _, lines = place.python("import os, sys\nprint(any(os.access(sys.argv[1] + '/nightly/' + name, os.W_OK)\n"
                               "      for name in ['.', *os.listdir(sys.argv[1] + '/nightly')]))", folder, **AS_STRANGER,
                               cgroup=str(folder))
    assert lines == ["False"]


@needs_root
@sandbox.needs_room
def test_limits_without_controllers_are_the_processes_and_told(place, folder):
    if (mounted() / "cgroup.subtree_control").read_text().strip():
        pytest.skip("there are controllers here")
    ended, guard, lines = place.python("print(open('/proc/self/limits').read())", **AS_STRANGER, cgroup=str(folder),
                                       memory=256 * MIB, processes=20)
    assert ended["result"] == h.SUCCEEDED
    seen = sandbox.limits_of(lines)
    assert (seen["Max address space"][0], seen["Max processes"][0]) == (str(256 * MIB), "21")
    assert guard.unapplied == \
        "limits.memory holds for each process, not for all together, since its group has no memory controller; " \
        "limits.processes counts all processes of the job's user, since its group has no pids controller"


@needs_root
def test_all_in_it_are_killed_at_once(place, folder, stranger):
    """What a walk does not see as the worker's is killed too: here, one that the test has put there."""
    with Guard(program=place.guard) as guard:
        guard.start(place.behave, {"as": "bomb", "number": 50}, stop_grace_ms=100, cgroup=str(folder)).ready()
        (folder / "nightly" / "cgroup.procs").write_text(str(stranger.pid))
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
    assert (ended["killed"], ended["clean"]) == (1, 1)
    assert stranger.wait(5) == -9


@needs_root
def test_one_that_cannot_be_made_anew_is_used_again(place, folder):
    (folder / "nightly").mkdir()
    (folder / "nightly" / "below").mkdir()
    with place.sleeper(cgroup=str(folder)) as (_, program):
        assert group_of(program).name == "nightly"
    (folder / "nightly" / "below").rmdir()


@needs_root
def test_one_that_was_left_is_made_anew(place, folder):
    """What it has counted was not this run's."""
    (folder / "nightly").mkdir()
    before = (folder / "nightly").stat().st_ino
    with place.sleeper(cgroup=str(folder)) as (_, program):
        assert group_of(program).name == "nightly" and (folder / "nightly").stat().st_ino != before


@needs_root
def test_one_that_something_lives_in_is_not(place, folder, stranger):
    (folder / "nightly").mkdir()
    (folder / "nightly" / "cgroup.procs").write_text(str(stranger.pid))
    ended, guard, _ = place.python("print()", **AS_STRANGER, cgroup=str(folder), processes=20)
    assert ended["result"] == h.SUCCEEDED
    assert guard.unapplied == "limits.processes counts all processes of the job's user, since it has no control group " \
                              "of its own: Device or resource busy"
    assert stranger.poll() is None


def test_limits_of_the_whole_tree_are_the_groups(place, fake):
    _, guard, lines = place.python("print(open('/proc/self/limits').read())", cgroup=str(fake.parent), memory=64 * MIB,
                                   processes=16)
    assert written(fake) == {"cgroup.procs": "0", "cgroup.kill": "", "memory.max": str(64 * MIB), "memory.swap.max": "0",
                             "memory.oom.group": "1", "pids.max": "17"}
    assert guard.unapplied == ""
    mine = sandbox.limits_of(open("/proc/self/limits", encoding="ascii"))
    seen = sandbox.limits_of(lines)
    assert [seen[name] for name in ("Max address space", "Max processes")] == \
        [mine[name] for name in ("Max address space", "Max processes")]


def test_limits_of_an_earlier_configuration_are_lifted(place, fake):
    (fake / "memory.max").write_text("1")
    place.python("print()", cgroup=str(fake.parent))
    assert [written(fake)[name] for name in ("memory.max", "memory.swap.max", "pids.max")] == ["max", "max", "max"]


def test_without_swap_accounting(place, fake):
    (fake / "memory.swap.max").unlink()
    (fake / "memory.oom.group").unlink()
    _, guard, _ = place.python("print()", cgroup=str(fake.parent), memory=64 * MIB)
    assert written(fake)["memory.max"] == str(64 * MIB) and guard.unapplied == ""


def test_the_kernel_is_asked_to_kill(place, fake):
    """Whoever the guard ends has not died of its memory, whatever was killed of it before."""
    let_run_out_of_memory(fake, 1)
    with Guard(program=place.guard) as guard:
        guard.start(place.behave, {"as": "defiant", "file": str(place.open / "pids")}, stop_grace_ms=100,
                    cgroup=str(fake.parent)).ready()
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
    assert (ended["killed"], ended["detail"]) == (1, "")
    assert set(written(fake)["cgroup.kill"]) == {"1"}


@pytest.mark.parametrize("kills,words", [(1, "it used more than its limits.memory: last words"), (0, "last words")])
def test_out_of_memory_is_the_reason(place, fake, kills, words):
    """The kernel would count and kill; here the test counts, and the worker kills itself."""
    let_run_out_of_memory(fake, kills)
    ended, _ = h.run(place.exec, {"command": ["/bin/sh", "-c", "echo last words; kill -9 $PPID; sleep 60"]},
                     cgroup=str(fake.parent))
    assert (ended["how"], ended["code"], ended["detail"]) == (h.SIGNALLED, 9, words)


@sandbox.needs_room
def test_a_folder_that_is_gone(place, tmp_path):
    ended, guard, _ = place.python("print()", cgroup=str(tmp_path / "gone"), memory=256 * MIB)
    assert ended["result"] == h.SUCCEEDED
    assert guard.unapplied == "limits.memory holds for each process, not for all together, since it has no control " \
                              "group of its own: No such file or directory"
