# SPDX-License-Identifier: MIT
"""rota-guard --run with real processes: the tree's end whatever happens, and what is told of it."""
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import guard_harness as h
import pytest
from fleet import SLOWNESS
from guard_harness import Guard, run


@pytest.fixture
def note(tmp_path):
    return tmp_path / "pids"


@pytest.mark.parametrize("result", [h.SUCCEEDED, h.NOTHING, h.FAILED, h.REFUSED, h.DECLINED, h.LOST])
def test_result_is_told(behave, result):
    ended, guard = run(behave, {"as": "answer", "number": result})
    assert guard.frames[0]["type"] == h.STARTED
    assert (ended["how"], ended["result"], ended["stop"]) == (h.RETURNED, result, h.STOP_NONE)
    assert ended["clean"] == 1 and ended["killed"] == 0 and ended["leftovers"] == 0
    assert 0 <= ended["ran_ms"] < 5000


def test_results_that_are_none(behave):
    ended, _ = run(behave, {"as": "answer", "number": -13})
    assert (ended["result"], ended["detail"]) == (-13, "Permission denied")
    ended, _ = run(behave, {"as": "answer", "number": -2**31})
    assert (ended["result"], ended["detail"]) == (-2**31, "Unknown error 2147483647")
    ended, _ = run(behave, {"as": "answer", "number": 17})
    assert ended["result"] == h.FAILED
    assert ended["detail"] == "run() of plugin 'behave' returned 17, which is no result"


def test_what_the_plugin_is_told(behave):
    _, guard = run(behave, {"as": "run"}, fence=2**52, attempt=2)
    assert guard.lines() == ["nightly gate-1 1795967400000 4503599627370496 2 3 1 1"]


def test_reason_of_a_failure(behave):
    assert run(behave, {"as": "failing"})[0]["detail"] == "cannot open it"
    ended, guard = run(behave, {"as": "crash"})
    assert (ended["how"], ended["code"]) == (h.SIGNALLED, signal.SIGSEGV)
    assert ended["detail"] == "last words" and guard.lines(2) == ["last words"]


def test_plugin_exits(behave):
    for status in (0, 3):
        ended, _ = run(behave, {"as": "exit", "number": status})
        assert (ended["how"], ended["code"], ended["clean"]) == (h.EXITED, status, 1)


@pytest.mark.parametrize("way, words", [
    ("undeclared", "asked for the parameter 'nowhere', which it does not declare"),
    ("mistyped", "asked for its parameter 'number' as type duration, but declares another"),
])
def test_bug_of_the_plugin_ends_the_worker(behave, way, words):
    ended, _ = run(behave, {"as": way})
    assert (ended["how"], ended["code"]) == (h.EXITED, 70)
    assert words in ended["detail"]


def test_only_the_worker_speaks_for_the_run(behave):
    ended, _ = run(behave, {"as": "twins"})
    assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED)


def test_closed_descriptors(behave):
    """S23: its result cannot be told, so it is no success; how it ended is."""
    ended, _ = run(behave, {"as": "closer"})
    assert (ended["how"], ended["clean"]) == (h.EXITED, 1)


def test_descriptors_s25(behave):
    """S25: whatever the starter left open."""
    leaks = [os.open("/dev/zero", os.O_RDONLY) for _ in range(3)]
    for fd in leaks:
        os.set_inheritable(fd, True)
    try:
        _, guard = run(behave, {"as": "fds"})
    finally:
        for fd in leaks:
            os.close(fd)
    seen = [re.sub(r"\d+\]", "]", line) for line in sorted(guard.lines())]
    assert seen == ["0 /dev/null", "1 pipe:[]", "2 pipe:[]", "3 socket:[]", "4 pipe:[]"]


def test_descriptors_of_what_a_plugin_starts(behave):
    """The last one is the look itself."""
    assert run(behave, {"as": "parent"})[1].lines() == ["0", "1", "2", "3"]


def test_descriptors_of_what_is_tried(behave):
    done = subprocess.run([h.GUARD, "--try", behave, "as=fds"], capture_output=True, text=True, timeout=20, check=True)
    assert sorted(re.findall(r"(?m)^  stdout: (\d+) ", done.stderr)) == ["0", "1", "2", "3", "4"]


def test_surroundings(behave):
    _, guard = run(behave, {"as": "surroundings"}, user="kim", home="/home/kim")
    lines = guard.lines()
    env = sorted(line[4:].split("=")[0] for line in lines if line.startswith("env "))
    assert [name for name in env if not name.startswith(("ASAN", "UBSAN"))] == \
        ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER"]
    assert "env HOME=/home/kim" in lines and "env LOGNAME=kim" in lines
    assert "cwd /" in lines and "umask 022" in lines
    assert "blocked or ignored 0" in lines and "leader 1" in lines and "nnp 1" in lines


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_user_is_switched(behave):
    _, guard = run(behave, {"as": "surroundings"}, switch_user=1, uid=65534, gid=65534)
    lines = guard.lines()
    assert "uid 65534" in lines and "gid 65534" in lines
    assert [line for line in lines if line.startswith("group ")] == ["group 65534"]


def test_overrun_is_asked_then_ends_well(behave):
    ended, _ = run(behave, {"as": "stopping"}, worst_case_ms=300, stop_grace_ms=2000)
    assert (ended["how"], ended["result"], ended["stop"]) == \
        (h.RETURNED, h.DECLINED, h.STOP_OVERRUN)
    assert ended["killed"] == 0 and 300 <= ended["ran_ms"] < 1500
    assert ended["detail"] == "asked to stop"


def test_stop_interrupts_a_blocking_call(behave):
    ended, _ = run(behave, {"as": "interrupted"}, worst_case_ms=300, stop_grace_ms=5000)
    assert (ended["how"], ended["result"], ended["killed"]) == (h.RETURNED, h.DECLINED, 0)


def test_who_ignores_sigterm_is_killed_after_its_grace(behave, note):
    ended, _ = run(behave, {"as": "defiant", "file": str(note)}, worst_case_ms=300,
                   stop_grace_ms=400)
    assert (ended["how"], ended["code"], ended["stop"]) == \
        (h.SIGNALLED, signal.SIGKILL, h.STOP_OVERRUN)
    assert ended["killed"] == 1 and 700 <= ended["ran_ms"] < 1200


def test_lease_that_is_not_renewed(behave, note):
    """S = D - G, and the whole tree is gone by D (a kill that starts at D needs a moment)."""
    with Guard() as guard:
        guard.start(behave, {"as": "tree", "file": str(note)}, deadline_in_ms=1200,
                    stop_grace_ms=400, margin_ms=250 * 4 * SLOWNESS)
        guard.ready()
        ended = guard.ended()
        assert h.boot_ms() < guard.deadline + 250 * SLOWNESS
    assert ended["stop"] == h.STOP_DEADLINE and ended["clean"] == 1
    assert h.all_gone(h.pids_of(note))


def test_tie_is_an_overrun(behave):
    """O and D - G are one instant."""
    with Guard() as guard:
        guard.start(behave, {"as": "interrupted"}, worst_case_ms=1500, deadline_in_ms=1200,
                    stop_grace_ms=100)
        started = guard.next(h.STARTED)["started"]
        guard.send(h.DEADLINE, deadline=started + 1500 + 100)
        assert guard.ended()["stop"] == h.STOP_OVERRUN


def test_renewals_move_the_deadline(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "stopping"}, deadline_in_ms=900, stop_grace_ms=300)
        guard.ready()
        began = h.boot_ms()
        guard.send(h.DEADLINE, deadline=began + 2000)
        guard.send(h.DEADLINE, deadline=began + 400)  # only forward
        ended = guard.ended()
        assert 1700 <= h.boot_ms() - began < 2300
    assert (ended["stop"], ended["result"]) == (h.STOP_DEADLINE, h.DECLINED)


def test_renewal_after_the_stop_saves_nobody(behave, note):
    with Guard() as guard:
        guard.start(behave, {"as": "defiant", "file": str(note)}, deadline_in_ms=20000,
                    stop_grace_ms=500)
        guard.ready()
        guard.send(h.STOP, reason=9)
        guard.send(h.DEADLINE, deadline=h.boot_ms() + 60000)
        ended = guard.ended(5)
    assert (ended["stop"], ended["reason"], ended["killed"]) == (h.STOP_ORDERED, 9, 1)


def test_stop_by_order(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "stopping"}).ready()
        guard.send(h.STOP, reason=3)
        ended = guard.ended(5)
    assert (ended["stop"], ended["reason"], ended["result"]) == (h.STOP_ORDERED, 3, h.DECLINED)


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_to_the_guard_is_an_order_to_stop(behave, note, signo):
    with Guard() as guard:
        guard.start(behave, {"as": "tree", "file": str(note)}, stop_grace_ms=200).ready()
        guard.process.send_signal(signo)
        ended = guard.ended(5)
    assert (ended["stop"], ended["clean"]) == (h.STOP_ORDERED, 1)
    assert h.all_gone(h.pids_of(note))


def test_supervisor_gone_30_times(behave, tmp_path):
    """S20: daemonised grandchildren too, within 1 s at a grace of 500 ms, and no ENDED to nobody."""
    for i in range(10 if h.SANITIZED else 30):
        note = tmp_path / f"pids{i}"
        with Guard() as guard:
            guard.start(behave, {"as": "tree", "file": str(note)}, stop_grace_ms=500).ready()
            pids = h.pids_of(note)
            assert len(pids) == 4 and guard.worker in pids
            guard.close()
            h.wait_until(lambda: h.all_gone(pids), 1 * SLOWNESS, f"the end of {pids}")
            assert guard.process.wait(5) == 0


def test_guard_killed_takes_the_worker_along(behave, note):
    with Guard() as guard:
        guard.start(behave, {"as": "defiant", "file": str(note)}).ready()
        guard.process.kill()
        h.wait_until(lambda: h.all_gone([guard.worker]), 1, "the worker's end")


def test_frozen_guard(behave, note):
    """Kernel timers: the worker at D, the guard at D + M/2, with nobody there to act."""
    with Guard() as guard:
        guard.start(behave, {"as": "defiant", "file": str(note)}, deadline_in_ms=1500,
                    stop_grace_ms=200, margin_ms=600).ready()
        guard.process.send_signal(signal.SIGSTOP)
        h.wait_until(lambda: h.all_gone([guard.worker]), 3, "the worker's end")
        gone = h.boot_ms()
        assert guard.deadline - 5 <= gone < guard.deadline + 200 * SLOWNESS
        assert guard.process.wait(2) == -signal.SIGKILL
        assert guard.deadline + 290 <= h.boot_ms() < guard.deadline + 600


def test_frozen_guard_after_a_renewal(behave, note):
    """The worker's own timer was moved too: it lives past the first deadline, not past the second."""
    with Guard() as guard:
        guard.start(behave, {"as": "defiant", "file": str(note)}, deadline_in_ms=1000,
                    stop_grace_ms=100, margin_ms=250).ready()
        first, second = guard.deadline, h.boot_ms() + 2000
        guard.send(h.DEADLINE, deadline=second)
        # The guard has handed it on once it answers to what came after it.
        h.wait_until(lambda: h.boot_ms() > first - 150, 2)
        guard.process.send_signal(signal.SIGSTOP)
        h.wait_until(lambda: h.boot_ms() > first + 300, 2)
        assert h.is_alive(guard.worker)
        h.wait_until(lambda: h.all_gone([guard.worker]), 2, "the worker's end")
        assert second - 5 <= h.boot_ms() < second + 200


def test_stopped_tree_is_continued_and_ended(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "stopping"}, stop_grace_ms=3000).ready()
        os.kill(guard.worker, signal.SIGSTOP)
        guard.send(h.STOP, reason=0)
        ended = guard.ended(5)
    assert (ended["how"], ended["result"], ended["killed"]) == (h.RETURNED, h.DECLINED, 0)


def test_leftovers_of_a_success_s22(behave, note):
    """S22: a daemon that holds stdout open keeps nobody waiting."""
    began = time.monotonic()
    ended, _ = run(behave, {"as": "leaver", "file": str(note)})
    assert time.monotonic() - began < 2
    assert (ended["how"], ended["result"], ended["stop"]) == (h.RETURNED, h.SUCCEEDED, h.STOP_NONE)
    assert (ended["leftovers"], ended["clean"], ended["killed"]) == (1, 1, 0)
    assert h.all_gone(h.pids_of(note))


def test_leftovers_of_one_group_are_all_counted(behave, note):
    """Though they die together, by the first kill of one of them, and that one is dead already."""
    ended, _ = run(behave, {"as": "litter", "number": 50, "file": str(note)})
    assert (ended["leftovers"], ended["clean"], ended["killed"]) == (51, 1, 0)
    assert h.all_gone(h.pids_of(note))


def test_overrun_with_a_daemon_s22(behave, note):
    ended, _ = run(behave, {"as": "tree", "file": str(note)}, worst_case_ms=500, stop_grace_ms=200)
    assert (ended["stop"], ended["clean"]) == (h.STOP_OVERRUN, 1)
    assert h.all_gone(h.pids_of(note))


def test_fork_bomb(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "bomb", "number": 10 if h.SANITIZED else 40}, stop_grace_ms=100).ready()
        guard.send(h.STOP, reason=0)
        began = time.monotonic()
        ended = guard.ended(10)
        took = time.monotonic() - began
    assert (ended["clean"], ended["stop"]) == (1, h.STOP_ORDERED)
    assert took < 3


def test_forks_that_outrun_a_walk(behave):
    """Only the kill of their whole group, in one step, catches them."""
    with Guard() as guard:
        guard.start(behave, {"as": "hares", "number": 3}, stop_grace_ms=100).ready()
        guard.send(h.STOP, reason=0)
        began = time.monotonic()
        ended = guard.ended(10)
        took = time.monotonic() - began
    assert (ended["clean"], ended["stop"]) == (1, h.STOP_ORDERED)
    assert took < 3


def test_plugin_that_reuses_the_hosts_descriptor(behave):
    """Nothing of the host's gets into the plugin's socket."""
    ended, guard = run(behave, {"as": "reuser"})
    assert guard.lines() == ["-1"]
    assert (ended["how"], ended["code"]) == (h.EXITED, 0)
    assert not [f for f in guard.frames if f["type"] in (h.LOG, h.PROGRESS)]


FREEZER = Path("/sys/fs/cgroup/freezer")


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.access(FREEZER, os.W_OK), reason="needs root and the v1 freezer")
def test_tree_that_cannot_be_killed(behave):
    """As in uninterruptible sleep: told once after D, as not clean; the guard stays until it is over."""
    group = FREEZER / f"rota-test-{os.getpid()}"
    group.mkdir()
    try:
        with Guard() as guard:
            guard.start(behave, {"as": "stopping"}, deadline_in_ms=2000, stop_grace_ms=300,
                        margin_ms=800).ready()
            (group / "cgroup.procs").write_text(str(guard.worker))
            (group / "freezer.state").write_text("FROZEN")
            try:
                ended = guard.next(h.ENDED)
                assert guard.deadline + 190 <= h.boot_ms() < guard.deadline + 500
                assert (ended["clean"], ended["killed"]) == (0, 1)
                before = cpu_seconds(guard.process.pid)
                h.wait_until(lambda: h.boot_ms() > guard.deadline + 2000, 3)
                # What cannot be killed is not worth a busy guard above all others.
                assert cpu_seconds(guard.process.pid) - before < 0.25
                assert guard.process.poll() is None and h.is_alive(guard.worker)
            finally:
                (group / "freezer.state").write_text("THAWED")
            assert guard.receive(3) is None
            assert guard.process.wait(3) == 0
    finally:
        h.wait_until(lambda: not (group / "cgroup.procs").read_text(), 5, "an empty group")
        group.rmdir()


def test_lines(behave):
    ended, guard = run(behave, {"as": "long_line", "number": 10000})
    first, second, third = guard.lines(1)
    assert first == "x" * 1900 + "... (8100 bytes more)"
    assert second == r"a\x00b" and third == "rest"
    assert guard.lines(2) == ["no end"]
    assert ended["detail"] == "no end"


def test_flood_is_bounded_and_counted(behave):
    _, guard = run(behave, {"as": "flood", "number": 100000})
    outputs = [f for f in guard.frames if f["type"] == h.OUTPUT]
    told = [f for f in outputs if f["text"]]
    assert 200 <= len(told) < 2000
    assert sum(f["dropped"] for f in outputs) + len(told) == 100000


def test_supervisor_that_never_reads(behave):
    """The socket is full of lines: the run goes on, and its end is told once there is room."""
    with Guard(send_buffer=4608) as guard:
        guard.start(behave, {"as": "flood", "number": 300000}, worst_case_ms=30000)
        guard.next(h.STARTED)
        h.wait_until(lambda: not h.descendants(guard.process.pid), 10, "the tree's end")
        assert guard.process.poll() is None
        assert guard.ended(5)["result"] == h.SUCCEEDED
    outputs = [f for f in guard.frames if f["type"] == h.OUTPUT]
    # The guard may still empty the pipe while these are read: then a burst goes out, and what a few seconds allow.
    assert len(outputs) < 1000
    assert sum(f["dropped"] + bool(f["text"]) for f in outputs) == 300000


def test_end_waits_for_room(behave):
    """The lines fill the socket to the brim, none is dropped, and the ENDED itself has to wait."""
    def run_unheard(guard, lines):
        guard.start(behave, {"as": "flood", "number": lines})
        assert select.select([guard.socket], [], [], 10)[0]  # STARTED
        h.wait_until(lambda: not h.descendants(guard.process.pid), 10, "the tree's end")

    def lines_that_fit():
        with Guard(send_buffer=4608) as guard:
            run_unheard(guard, 150)
            guard.ended(5)
        return next(i for i, f in enumerate(guard.frames[1:]) if f.get("dropped"))

    fitting = lines_that_fit()
    with Guard(send_buffer=4608) as guard:
        run_unheard(guard, fitting)
        with pytest.raises(subprocess.TimeoutExpired):
            guard.process.wait(0.3)
        assert guard.ended(5)["result"] == h.SUCCEEDED
    outputs = [f for f in guard.frames if f["type"] == h.OUTPUT]
    assert (len(outputs), sum(f["dropped"] for f in outputs)) == (fitting, 0)


def test_progress_and_log(behave):
    ended, guard = run(behave, {"as": "chatty"})
    told = [f for f in guard.frames if f["type"] == h.PROGRESS]
    assert told[-1]["permille"] == 1000 and told[-1]["text"] == "all"
    assert len(told) <= ended["ran_ms"] / 200 + 3
    assert [(f["level"], f["text"]) for f in guard.frames if f["type"] == h.LOG] == \
        [(4, "half 5")]


def test_clocks_of_the_plugin(behave):
    _, guard = run(behave, {"as": "clock"}, worst_case_ms=20000, deadline_in_ms=10000,
                   stop_grace_ms=2000)
    lease, budget = map(int, guard.lines()[0].split())
    assert 7000 < lease <= 8000 and 19000 < budget <= 20000


def test_lease_that_is_over_starts_nobody(behave):
    ended, guard = run(behave, {"as": "answer"}, deadline_in_ms=300, stop_grace_ms=400)
    assert (ended["how"], ended["stop"], ended["clean"]) == (h.UNSTARTED, h.STOP_DEADLINE, 1)
    assert guard.worker is None


def test_wrong_parameters_at_the_run(behave):
    ended, _ = run(behave, {"as": "answer", "nomber": 1})
    assert ended["how"] == h.UNLOADABLE
    assert ended["detail"] == "plugin 'behave' has no parameter 'nomber'; did you mean 'number'?"


def test_plugin_that_others_could_replace(behave, tmp_path):
    copy = tmp_path / "copy.so"
    copy.write_bytes(behave.read_bytes())
    copy.chmod(0o666)
    ended, _ = run(copy, {"as": "answer"})
    assert ended["how"] == h.UNLOADABLE
    assert "others could replace the plugin" in ended["detail"]
    copy.chmod(0o644)
    tmp_path.chmod(0o777)
    ended, _ = run(copy, {"as": "answer"})
    assert ended["how"] == h.UNLOADABLE and str(tmp_path) in ended["detail"]
    tmp_path.chmod(0o755)
    assert run(copy, {"as": "answer"})[0]["how"] == h.RETURNED


def test_bad_frames():
    with Guard() as guard:
        guard.socket.send(b"hello, what is this")
        assert guard.process.wait(5) == 1
    with Guard() as guard:
        guard.send(h.STOP, reason=1)
        assert guard.process.wait(5) == 1
    with Guard() as guard:
        guard.close()
        assert guard.process.wait(5) == 0


def test_bad_frames_during_a_run_change_nothing(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "stopping"}).ready()
        good = h.pack(h.DEADLINE, {"deadline": h.boot_ms() + 1})
        for packet in (b"x", good[:-1], good + b"x", b"ROTA" + good[4:6] * 4,
                       h.pack(h.DEADLINE, {}), good[:12] + b"\xff" * (len(good) - 12)):
            guard.socket.send(packet)
        guard.send(h.STOP, reason=4)
        ended = guard.ended(5)
    assert (ended["reason"], ended["result"]) == (4, h.DECLINED)


@pytest.mark.skipif(h.SANITIZED, reason="a sanitizer has its own memory")
def test_memory(behave):
    with Guard() as guard:
        guard.start(behave, {"as": "stopping"}).ready()
        assert h.dirty_kib(guard.process.pid) + h.dirty_kib(guard.worker) <= 256
        guard.send(h.STOP, reason=0)
        guard.ended(5)


@pytest.mark.skipif(h.SANITIZED, reason="not what is shipped")
def test_program_is_small_and_needs_libc_only(tmp_path):
    small = tmp_path / "rota-guard"
    subprocess.run(["strip", "-o", str(small), str(h.GUARD)], check=True)
    assert small.stat().st_size < 100 * 1024
    dynamic = subprocess.run(["readelf", "-d", str(h.GUARD)], check=True, capture_output=True,
                             text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert [name for name in needed if not name.startswith("ld-linux")] == ["libc.so.6"]
