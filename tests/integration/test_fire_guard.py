# SPDX-License-Identifier: MIT
"""A guard alone, under fire: frozen with its worker, short of memory, descriptors and processes."""
import contextlib
import os
import resource
import shutil
import signal
import time
from pathlib import Path

import guard_harness as h
import pytest
from fire import Freezer, needs_freezer
from guard_harness import Guard
from sandbox import needs_root

not_sanitized = pytest.mark.skipif(h.SANITIZED, reason="a sanitizer has needs of its own")


def stamp_ms(path):
    seconds, nanoseconds = (int.from_bytes(path.read_bytes()[i:i + 8], "little") for i in (0, 8))
    return seconds * 1000 + nanoseconds // 1000000


def freeze_past_the_lease(guards, notes, freezer):
    """Each worker's newest instruction was before the freeze, though it was thawed after D."""
    pids = [pid for guard in guards for pid in (guard.process.pid, guard.worker)]
    began = h.boot_ms()
    h.wait_until(lambda: all(stamp_ms(note) > began for note in notes), 5, "all of them run")
    frozen = freezer.freeze(*pids)
    assert frozen < min(guard.deadline for guard in guards)
    lease_end = max(guard.deadline for guard in guards) + 250
    h.wait_until(lambda: h.boot_ms() > lease_end, 10)
    freezer.thaw()
    for guard in guards:
        assert guard.process.wait(5) == -signal.SIGKILL
    h.wait_until(lambda: h.all_gone(pids), 5, "the end of all")
    assert max(stamp_ms(note) for note in notes) <= frozen


@needs_freezer
@pytest.mark.parametrize("turn", range(5))
def test_frozen_past_the_lease(behave, tmp_path, turn):
    """Guard and worker: the worker executes nothing more. Ten at once here, 50 of 50 in all."""
    guards, notes = [], [tmp_path / f"stamp{i}" for i in range(10)]
    with contextlib.ExitStack() as stack:
        for note in notes:
            guard = stack.enter_context(Guard())
            guard.start(behave, {"as": "stamper", "file": str(note)}, stop_grace_ms=100,
                        deadline_in_ms=6000 if h.SANITIZED else 3000)
            guard.ready()
            os.kill(guard.worker, signal.SIGSTOP)  # until all are there
            guards.append(guard)
        for guard in guards:
            os.kill(guard.worker, signal.SIGCONT)
        with Freezer() as freezer:
            freeze_past_the_lease(guards, notes, freezer)


@needs_freezer
def test_a_tree_that_cannot_be_killed_is_told_of_with_time_to_spare(behave, tmp_path):
    """A guard that gets no processor just then would be killed, and an overrun be taken for a crash."""
    note = tmp_path / "pids"
    with Guard() as guard, Freezer() as freezer:
        guard.start(behave, {"as": "tree", "file": str(note)}, worst_case_ms=500, stop_grace_ms=100,
                    deadline_in_ms=9000 if h.SANITIZED else 4000).ready()
        freezer.freeze(*h.pids_of(note))
        ended = guard.next(h.ENDED, 12)
        assert h.boot_ms() < guard.deadline - 500
        assert (ended["stop"], ended["clean"]) == (h.STOP_OVERRUN, 0)
        assert guard.process.poll() is None
        freezer.thaw()
        assert guard.process.wait(5) == 0
    assert h.all_gone(h.pids_of(note))


@not_sanitized
@needs_root
def test_no_process_to_be_had(behave, folder):
    """RLIMIT_NPROC of the guard's user: no worker, said, and nothing is left."""
    program = folder / "rota-guard"
    shutil.copy(h.GUARD, program)
    with Guard(prefix=["setpriv", "--reuid=65534", "--clear-groups", "prlimit", "--nproc=1"],
               program=program) as guard:
        ended = guard.start(behave, {"as": "answer"}).ended(5)
    assert (ended["how"], ended["clean"]) == (h.UNSTARTED, 1)
    assert ended["detail"] == "no worker could be started: Resource temporarily unavailable"
    assert guard.worker is None


@not_sanitized
@pytest.mark.parametrize("mebibytes", range(2, 15))
def test_memory_short_from_the_start(behave, tmp_path, mebibytes):
    """RLIMIT_AS from where not even the program loads to where all is well."""
    note = tmp_path / "pids"
    note.touch()
    with Guard(prefix=["prlimit", f"--as={mebibytes << 20}"]) as guard:
        with contextlib.suppress(BrokenPipeError):
            guard.start(behave, {"as": "tree", "file": str(note)}, worst_case_ms=300,
                        stop_grace_ms=100, deadline_in_ms=2000)
        assert guard.process.wait(4) in (0, 1, 127, -signal.SIGKILL)
        h.wait_until(lambda: h.all_gone(h.pids_of(note)), 1, "the tree's end")
        assert h.boot_ms() < guard.deadline + 250


@not_sanitized
def test_memory_short_once_the_tree_stands(behave, tmp_path):
    """The guard gets no more memory when it has to end its tree."""
    note = tmp_path / "pids"
    with Guard() as guard:
        guard.start(behave, {"as": "tree", "file": str(note)}, stop_grace_ms=100,
                    deadline_in_ms=3000).ready()
        resource.prlimit(guard.process.pid, resource.RLIMIT_AS, (4096, 4096))
        guard.send(h.STOP, reason=0)
        ended = guard.ended(5)
        assert h.boot_ms() < guard.deadline
    assert (ended["clean"], ended["stop"]) == (1, h.STOP_ORDERED)
    assert h.all_gone(h.pids_of(note))


@pytest.mark.parametrize("descriptors", range(4, 20))
def test_descriptors_used_up(behave, tmp_path, descriptors):
    """From where not even the program loads to where all is well: a tree that the guard could not
    find again is not started."""
    note = tmp_path / "pids"
    note.touch()
    with Guard(prefix=["prlimit", f"--nofile={descriptors}"]) as guard:
        with contextlib.suppress(BrokenPipeError):
            guard.start(behave, {"as": "tree", "file": str(note)}, worst_case_ms=300,
                        stop_grace_ms=100, deadline_in_ms=2000)
        assert guard.process.wait(6) in (0, 1, 127)
        assert h.all_gone(h.pids_of(note))
        assert h.SANITIZED or h.boot_ms() < guard.deadline + 250


STEPPED_CLOCK = """
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* 1970 and 2098, by turns. */
static time_t wrong(void)
{
    static int calls;

    return __sync_fetch_and_add(&calls, 1) % 2 ? 4040000000 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ts);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ts->tv_sec = wrong();
    return r;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    tv->tv_sec = wrong();
    tv->tv_usec = 0;
    return 0;
}

time_t time(time_t *at)
{
    time_t now = wrong();

    if (at)
        *at = now;
    return now;
}
"""


@not_sanitized
def test_wall_clock_steps(behave, tmp_path):
    """Overrun and grace are of the boot clock, whatever the wall clock does."""
    note = tmp_path / "pids"
    with Guard(prefix=h.preloaded(tmp_path, "clock", STEPPED_CLOCK)) as guard:
        guard.start(behave, {"as": "tree", "file": str(note)}, worst_case_ms=500,
                    stop_grace_ms=300)
        guard.ready()
        assert str(tmp_path / "clock.so") in Path(f"/proc/{guard.worker}/maps").read_text()
        ended = guard.ended(5)
    assert (ended["stop"], ended["clean"]) == (h.STOP_OVERRUN, 1)
    assert 800 <= ended["ran_ms"] < 1300
    assert h.all_gone(h.pids_of(note))


def test_tree_is_killed_30_times_in_a_row(behave, tmp_path):
    began = time.monotonic()
    for i in range(10 if h.SANITIZED else 30):
        note = tmp_path / f"pids{i}"
        with Guard() as guard:
            guard.start(behave, {"as": "tree", "file": str(note)}, stop_grace_ms=50).ready()
            guard.send(h.STOP, reason=0)
            ended = guard.ended(3)
        assert (ended["clean"], ended["killed"], len(h.pids_of(note))) == (1, 1, 4)
        assert h.all_gone(h.pids_of(note))
    assert time.monotonic() - began < (60 if h.SANITIZED else 15)
