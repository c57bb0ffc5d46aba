# SPDX-License-Identifier: MIT
"""Who is stopped when, and that all of a tree is: instants and processes that are easily missed."""
import os
import signal
import time

import guard_harness as h
import pytest
import sandbox
from guard_harness import EXEC, Guard

not_sanitized = pytest.mark.skipif(h.SANITIZED, reason="a sanitizer wants to be loaded first")


def threads_of(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


def test_process_whose_first_thread_has_ended(behave, tmp_path):
    note = tmp_path / "pids"
    with Guard() as guard:
        guard.start(behave, {"as": "headless", "file": str(note)}, stop_grace_ms=100).ready()
        pid = int(note.read_text())
        h.wait_until(lambda: not h.is_alive(pid), 5, "a first thread that is dead")
        assert threads_of(pid) == 2
        below = h.descendants(pid) - {pid}
        guard.send(h.STOP, reason=0)
        ended = guard.ended(5)
    assert (ended["clean"], len(below)) == (1, 1)
    assert threads_of(pid) == 0 and not h.is_alive(below.pop())


REFUSING = """
#include <errno.h>

int pidfd_open(int pid, unsigned flags)
{
    errno = EPERM;
    return -1;
}
"""


@not_sanitized
def test_container_that_refuses_pidfds(behave, folder, tmp_path):
    """As older ones do with every call that they do not know."""
    note = tmp_path / "pids"
    with Guard(prefix=h.preloaded(folder, "refusing", REFUSING)) as guard:
        guard.start(behave, {"as": "tree", "file": str(note)}, stop_grace_ms=100).ready()
        guard.send(h.STOP, reason=0)
        ended = guard.ended(5)
    assert ended["clean"] == 1
    assert not any(h.is_alive(int(pid)) for pid in note.read_text().split())


def test_tree_has_its_grace(tmp_path):
    """The worker and the shell go at once; what they started still has its time to save its work."""
    saved = tmp_path / "saved"
    inner = f"trap 'sleep 0.3; echo all >{saved}; exit' TERM; echo up; while :; do sleep 0.02; done"
    with Guard() as guard:
        guard.start(EXEC, {"command": ["sh", "-c", 'sh -c "$0"; :', inner]}, stop_grace_ms=5000)
        guard.next(h.OUTPUT)
        guard.send(h.STOP, reason=0)
        began = time.monotonic()
        ended = guard.ended(10)
        took = time.monotonic() - began
    assert saved.read_text() == "all\n"
    assert (ended["clean"], ended["killed"], ended["leftovers"]) == (1, 0, 0)
    assert took < 4


def test_what_ignores_the_stop_after_its_worker_is_killed(behave, tmp_path):
    defiant = "trap '' TERM; echo up; while :; do sleep 0.02; done"
    with Guard() as guard:
        guard.start(EXEC, {"command": ["sh", "-c", 'sh -c "$0"; :', defiant]}, stop_grace_ms=400)
        guard.next(h.OUTPUT)
        began = time.monotonic()
        guard.send(h.STOP, reason=0)
        ended = guard.ended(10)
        took = time.monotonic() - began
    assert (ended["clean"], ended["result"]) == (1, h.DECLINED) and ended["leftovers"] >= 1
    assert 0.4 <= took < 2


@pytest.mark.skipif(not sandbox.has_right(23), reason="nobody here may go before others")
def test_who_ends_a_tree_goes_before_it(behave, tmp_path):
    """Else what forks for ever crowds its guard out."""
    def nice_of(pid):
        return os.getpriority(os.PRIO_PROCESS, pid)
    with Guard() as guard:
        guard.start(behave, {"as": "defiant", "file": str(tmp_path / "pids")}, stop_grace_ms=2000).ready()
        before = nice_of(guard.process.pid)
        guard.send(h.STOP, reason=0)
        h.wait_until(lambda: nice_of(guard.process.pid) == -20, 1.5, "the guard's hurry")
        assert nice_of(guard.worker) == before
        assert guard.ended()["killed"] == 1


@pytest.mark.parametrize("defines", [["SLOW"], ["SLOW", "DEAF"]], ids=["by the signal", "by the pipe"])
def test_stop_while_the_plugin_is_loaded(folder, defines):
    plugin = h.compile_plugin(folder, h.PLUGINS / "broken.c", "_".join(defines).lower(), defines)
    with Guard() as guard:
        guard.start(plugin, stop_grace_ms=5000)
        assert guard.next(h.OUTPUT)["text"] == "loading"
        guard.send(h.STOP, reason=6)
        ended = guard.ended(5)
    assert guard.lines() == ["loading"]
    assert (ended["how"], ended["result"], ended["detail"], ended["killed"]) == \
        (h.RETURNED, h.DECLINED, "stopped before it began", 0)


@pytest.mark.parametrize("turn", range(30))
def test_stop_right_after_the_start(turn):
    """Whenever it comes: the work does not begin, or is asked to end; it never has to be killed."""
    with Guard() as guard:
        guard.start(EXEC, {"command": ["sleep", "60"]}, stop_grace_ms=10000)
        if turn > 0:
            guard.next(h.STARTED)
            instant = time.monotonic() + (turn - 1) * 0.0002
            while time.monotonic() < instant:
                pass
        guard.send(h.STOP, reason=0)
        began = time.monotonic()
        ended = guard.ended(15)
    assert (ended["stop"], ended["clean"], ended["killed"]) == (h.STOP_ORDERED, 1, 0)
    assert time.monotonic() - began < 5


def test_result_that_came_before_the_stop(behave):
    """The guard gets to see both at once."""
    with Guard() as guard:
        guard.start(behave, {"as": "late_answer"}, stop_grace_ms=5000).ready()
        guard.process.send_signal(signal.SIGSTOP)
        h.wait_until(lambda: not h.is_alive(guard.worker), 5, "the worker's end")
        guard.send(h.STOP, reason=3)
        guard.process.send_signal(signal.SIGCONT)
        ended = guard.ended(5)
    assert (ended["how"], ended["result"], ended["stop"]) == (h.RETURNED, h.SUCCEEDED, h.STOP_NONE)


def test_crash_that_came_before_the_stop(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "interrupted"}, stop_grace_ms=5000).ready()
        guard.process.send_signal(signal.SIGSTOP)
        os.kill(guard.worker, signal.SIGSEGV)
        h.wait_until(lambda: not h.is_alive(guard.worker) and threads_of(guard.worker) == 1, 5,
                     "the end of all the worker's threads")
        guard.send(h.STOP, reason=3)
        guard.process.send_signal(signal.SIGCONT)
        ended = guard.ended(5)
    assert (ended["how"], ended["code"], ended["stop"]) == \
        (h.SIGNALLED, signal.SIGSEGV, h.STOP_NONE)


LEAVING = """
#include <sys/syscall.h>
#include <unistd.h>

static int guard;

__attribute__((constructor)) static void begin(void)
{
    guard = getpid();
}

/* The worker leaves when a signal comes. */
void _exit(int status)
{
    if (getpid() != guard) {
        write(1, "leaving\\n", 8);
        pause();
    }
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
"""


@not_sanitized
def test_stop_between_the_result_and_the_workers_end(behave, folder):
    with Guard(prefix=h.preloaded(folder, "leaving", LEAVING)) as guard:
        guard.start(behave, {"as": "answer"}, stop_grace_ms=5000)
        assert guard.next(h.OUTPUT)["text"] == "leaving"
        guard.send(h.STOP, reason=3)
        ended = guard.ended(5)
    assert (ended["how"], ended["result"], ended["stop"], ended["killed"]) == \
        (h.RETURNED, h.SUCCEEDED, h.STOP_NONE, 0)


def test_last_word_under_a_stream_of_renewals(behave):
    """A worker that leaves with renewals unread has told its result all the same."""
    for _ in range(50):
        with Guard() as guard:
            guard.start(behave, {"as": "answer"}, worst_case_ms=60000)
            deadline, ended = guard.deadline, None
            while not ended:
                deadline += 1
                try:
                    guard.send(h.DEADLINE, deadline=deadline)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                while h.select.select([guard.socket], [], [], 0)[0] and not ended:
                    frame = guard.receive(5)
                    assert frame is not None, "an end of file before the end was told"
                    ended = frame if frame["type"] == h.ENDED else None
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED)


def test_worker_that_has_its_guard_trace_it(hydra):
    """A stop for its tracer is no end, and the guard lets it go on."""
    ended, guard = h.run(hydra, {"as": "tame"})
    assert (ended["how"], ended["result"], ended["killed"]) == (h.RETURNED, h.SUCCEEDED, 0), ended
    assert guard.process.returncode == 0


TRACED_CHECK = """
#include <rota/plugin.h>
#include <signal.h>
#include <sys/ptrace.h>

static int check(const struct rota_run *r)
{
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGUSR1);
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "traced", .version = "1", .summary = "Stops.", .check = check, .run = check);
"""


def test_check_that_has_its_parent_trace_it(folder):
    """What stops for its tracer is ended, and no stop is told as an end."""
    plugin = h.compile_text(folder, "traced", TRACED_CHECK)
    with Guard("--probe") as guard:
        answer = guard.probe(plugin)
    assert [text for _, text in answer["errors"]] == [
        "the plugin crashed while it was loaded and checked: killed by signal 9 (SIGKILL)"]


@pytest.mark.parametrize("longest_ms", [0, 60000], ids=["without a thread", "with a thread"])
def test_plugin_that_keeps_signals_away(hydra, longest_ms):
    """A run that ends before its first lease does has no thread of the host's, and hears of its stop all the same."""
    with Guard() as guard:
        guard.start(hydra, {"as": "deaf"}, max_runtime_ms=longest_ms, stop_grace_ms=10000).ready()
        assert threads_of(guard.worker) == (2 if longest_ms else 1)
        guard.send(h.STOP, reason=0)
        ended = guard.ended(15)
    assert (ended["how"], ended["result"], ended["killed"]) == (h.RETURNED, h.DECLINED, 0)


def test_stop_descriptor_that_the_plugin_closed(behave):
    """It is not readable, it is gone: nobody is asked to stop."""
    with Guard() as guard:
        guard.start(behave, {"as": "deaf"}, deadline_in_ms=10000).ready()
        guard.send(h.DEADLINE, deadline=guard.deadline + 5000)
        ended = guard.ended(10)
    assert (ended["result"], ended["stop"]) == (h.SUCCEEDED, h.STOP_NONE)
