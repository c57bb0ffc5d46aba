# SPDX-License-Identifier: MIT
"""One file, many jobs: it is loaded once, and what a check() does costs its own job only."""
import os
import signal
import time

import guard_harness as h
import pytest
from guard_harness import Guard

DEADLINE = 5
# A job that is no trouble has to be answered long before another one's deadline.
PROMPT = 4

CRASHED = "the plugin crashed while it was loaded and checked: killed by signal 6 (SIGABRT)"
LATE = "the plugin was not loaded and checked within 5 s"
TOO_MANY_LATE = ("the plugin is not checked for this job, since for 3 jobs before it that took more than 5 s; "
                 "its check() must be quick")


class Probed:
    def __init__(self, folder, *defines):
        self.note = folder / "loaded"
        self.pids = folder / "pids"
        self.file = h.compile_plugin(folder, h.PLUGINS / "probed.c", None,
                                     [f'NOTE="{self.note}"', *defines])

    def loads(self):
        return len(self.note.read_text().splitlines())

    def left(self):
        """What check() left behind; each said who it is before check() went on."""
        return [int(line) for line in self.pids.read_text().splitlines()]

    def answers(self, guard, *ways):
        """The errors of one job a way."""
        errors = []
        for index, way in enumerate(ways):
            answer = guard.probe(self.file, {"way": way, "pids": str(self.pids)}, index=index)
            assert answer["index"] == index
            errors.append([text for _, text in answer["errors"]])
        return errors


@pytest.fixture
def probed(tmp_path):
    return Probed(tmp_path)


@pytest.fixture
def guard():
    with Guard("--probe") as one:
        yield one


def ended(guard):
    guard.close()
    assert guard.process.wait(5) == 0


def test_loaded_once_for_all_jobs(probed, guard):
    assert probed.answers(guard, *["good"] * 20) == [[]] * 20
    assert probed.loads() == 1


@pytest.mark.parametrize("way, words", [
    ("crash", CRASHED),
    ("exit", "the plugin ended its process with exit status 9 while it was loaded and checked"),
    ("kill all", "killed by signal 9 (SIGKILL)"),
    ("close", "the plugin ended its process with exit status 0"),
])
def test_one_of_three_ends_its_process(probed, guard, way, words):
    first, second, third = probed.answers(guard, "good", way, "good")
    assert (first, third) == ([], [])
    assert len(second) == 1 and words in second[0]
    assert probed.loads() == 1


def test_one_of_three_hangs(probed, guard):
    began = time.monotonic()
    assert probed.answers(guard, "good") == [[]]
    assert time.monotonic() - began < PROMPT
    began = time.monotonic()
    assert LATE in probed.answers(guard, "hang")[0][0]
    assert time.monotonic() - began > DEADLINE - 0.5
    assert not h.descendants(guard.process.pid)
    began = time.monotonic()
    assert probed.answers(guard, "good") == [[]]
    assert time.monotonic() - began < PROMPT
    assert probed.loads() == 2


def test_all_of_a_file_hang(probed, guard):
    """Each would keep all jobs of the device waiting: after three the others are told at once."""
    assert probed.answers(guard, "good") == [[]]
    for _ in range(3):
        assert LATE in probed.answers(guard, "hang")[0][0]
    began = time.monotonic()
    assert probed.answers(guard, *["hang"] * 10, "good") == [[TOO_MANY_LATE]] * 11
    assert time.monotonic() - began < PROMPT
    assert not h.descendants(guard.process.pid)


def test_state_of_one_job_is_unknown_to_the_next(probed, guard):
    assert probed.answers(guard, "scribble", "good") == [[], []]
    assert probed.loads() == 1


def test_processes_left_behind(probed, guard):
    """Those in its process group end with the job, the others with the guard at the latest."""
    assert probed.answers(guard, "leave", "good") == [[], []]
    same_group, daemon = probed.left()
    assert not h.is_alive(same_group)
    ended(guard)
    assert not h.is_alive(daemon)


def test_daemon_left_by_a_crash(probed, guard):
    """It holds the job's socket; the crash is told all the same, and at once."""
    began = time.monotonic()
    assert probed.answers(guard, "leave and crash", "good") == [[CRASHED], []]
    assert time.monotonic() - began < PROMPT
    left = probed.left()
    assert len(left) == 1
    ended(guard)
    assert not any(h.is_alive(pid) for pid in left)


def test_dead_leftovers_do_not_pile_up(probed, guard):
    """A process that waits to be reaped counts against the service's limit of tasks."""
    def dead():
        return [pid for pid in h.descendants(guard.process.pid) if not h.is_alive(pid)]
    for _ in range(10):
        probed.answers(guard, "leave")
    # Each left one that was killed with it; that of the last may not be dead at the first look.
    assert len(probed.left()) == 20
    assert probed.answers(guard, "good") == [[]] and len(dead()) <= 1


def test_child_that_is_killed_between_two_jobs(probed, guard):
    assert probed.answers(guard, "good") == [[]]
    child, = h.descendants(guard.process.pid)
    os.kill(child, signal.SIGKILL)
    h.wait_until(lambda: not h.is_alive(child), 5, "the child's death")
    assert probed.answers(guard, "good") == [[]]
    assert probed.loads() == 2


def test_constructor_that_crashes_is_asked_once(tmp_path, guard):
    """What it left holds the socket to the guard; the crash is told all the same, and at once."""
    probed = Probed(tmp_path, "BREAKS")
    began = time.monotonic()
    assert probed.answers(guard, "good", "good", "good") == [[CRASHED]] * 3
    assert time.monotonic() - began < PROMPT
    assert not h.descendants(guard.process.pid)
    assert probed.loads() == 1


def test_constructor_that_starts_a_thread(tmp_path, guard):
    """A fork has no such thread, so each job has a process that loads the file itself."""
    probed = Probed(tmp_path, "THREADED")
    assert probed.answers(guard, *["thread"] * 3, "crash", "thread") == [[]] * 3 + [[CRASHED], []]
    assert probed.loads() == 5


def test_guard_that_is_killed_takes_all_along(probed, guard):
    guard.send(h.PROBE, {"way": "hang"}, plugin_path=str(probed.file), job="x", index=0)
    left = h.wait_until(lambda: len(h.descendants(guard.process.pid)) == 2 and
                        h.descendants(guard.process.pid), 5, "the hanging check")
    guard.process.kill()
    h.wait_until(lambda: not any(h.is_alive(pid) for pid in left), 5, "their death")
