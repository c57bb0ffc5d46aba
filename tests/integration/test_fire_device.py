# SPDX-License-Identifier: MIT
"""A whole device under fire: guards frozen and killed, nothing left to start a guard with."""
import os
import resource
import signal

import fire
import pytest
from fire import FIRE, Freezer, LockWatch, alive, behaving, needs_freezer, use_guard, wait_tree
from fleet import ONCE, SANITIZED, is_alive, now_ms, wait_for
from guard_harness import boot_ms


@pytest.fixture
def pulse(fleet):
    """A healthy job beside those under fire; and the plugin that behaves."""
    fire.behave(fleet)
    fleet.make_due("pulse")
    return {"pulse": {**fire.PULSE, **fleet.body("pulse")}}


def check_left(device, fds):
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    wait_for(lambda: fire.descriptors(device.pid) <= fds, 5, "no descriptor is left")


def calm(device):
    """The number of its descriptors while nothing runs."""
    def there():
        count = fire.descriptors(device.pid)
        return count if not device.guards() and count == fire.descriptors(device.pid) else None
    return wait_for(there, 5, "nothing runs")


def strangers(device):
    """Children of rotad's that once were below a guard of report: they bear its command line."""
    return [pid for pid in device.guards() if is_alive(pid) and command_of(pid)[2:3] == [b"report"]]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return words.read().split(b"\0")
    except OSError:
        return []


def guard_of(device, job):
    def there():
        for pid in device.guards():
            if command_of(pid)[2:3] == [job.encode()]:
                return pid
        return None
    return wait_for(there, 5, f"the guard of {job}")


@pytest.mark.parametrize("way", ["tree", "hares"])
def test_guard_killed(fleet, pulse, way):
    """Its whole tree is ended by rotad, also one that forks faster than single kills can follow."""
    fleet.make_due("report")
    device = fleet.device({**pulse, "report": behaving(fleet, "report", way, 3, attempts=2,
                                                       worst_case="20s")})
    watch = LockWatch(fleet, ["report"])
    device.start()
    device.wait_line("^report[|] ready$", 15)
    guard = guard_of(device, "report")
    token = fleet.lock("report")
    os.kill(guard, signal.SIGKILL)
    killed = boot_ms()
    watch.until(lambda: fleet.history("report"), 3, "the end is recorded")
    # Its lock stays: what is left of a lease of 3 s that was renewed each second.
    assert fleet.lock("report") == token or boot_ms() - killed > 1500
    assert not alive(fleet, "report") and not strangers(device)
    assert fleet.history("report")[-1]["outcome"] == "crashed"
    device.wait_line("^report: crashed after .*: its guard was killed by signal 9[,:] ")
    # The lock ends by itself, then comes the second try.
    wait_for(lambda: fleet.claim("report")["attempt"] == "2", 6, "the turn is tried again")
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    fire.check_pulse(fleet)


def test_guard_stopped(fleet, pulse):
    """SIGSTOP: the worker's timer acts at D, the guard's at D + M/2, and rotad on what is left."""
    device = fleet.device({**pulse, "report": behaving(fleet, "report", "tree", attempts=1)})
    fleet.make_due("report")
    watch = LockWatch(fleet, ["report"])
    device.start()
    pids = wait_tree(fleet, "report")
    os.kill(guard_of(device, "report"), signal.SIGSTOP)
    watch.until(lambda: fleet.history("report"), 8, "the end is recorded")
    watch.until(lambda: not any(is_alive(pid) for pid in pids), 1, "the tree is gone")
    assert fleet.lock("report") or watch.gone
    assert fleet.history("report")[0]["outcome"] == "crashed"
    check_left(device, calm(device))
    fire.check_pulse(fleet)


@needs_freezer
def test_guard_that_cannot_be_killed(fleet, pulse):
    """Only the guard is frozen: rotad ends what is below it by D + M/2, says that it is stuck, and
    takes turns again when it is gone."""
    device = fleet.device({**pulse, "report": behaving(fleet, "report", "tree", attempts=2)})
    fleet.make_due("report")
    watch = LockWatch(fleet, ["report"])
    with Freezer() as freezer:
        device.start()
        pids = wait_tree(fleet, "report")
        guard = guard_of(device, "report")
        freezer.freeze(guard)
        watch.until(lambda: not any(is_alive(pid) for pid in pids), 8, "the tree is gone")
        assert is_alive(guard)
        device.wait_line("^report: its guard did not end it in time and is killed$", 1)
        device.wait_line("^report: something that it started cannot be killed; ", 2)
        wait_for(lambda: not fleet.lock("report"), 4, "the lock expires by itself")
        freezer.thaw()
        device.wait_line("^report: the last process of its stuck run is gone$", 3)
    assert not is_alive(guard)
    assert fleet.history("report")[0]["outcome"] == "crashed"
    wait_for(lambda: fleet.claim("report")["attempt"] == "2", 6, "the turn is tried again")
    fire.check_pulse(fleet)


@needs_freezer
def test_guard_of_a_stuck_tree_is_killed(fleet, pulse):
    """It does not count as gone with its guard: rotad waits for it itself."""
    device = fleet.device({**pulse, "report": behaving(fleet, "report", "tree", attempts=2)})
    fleet.make_due("report")
    with Freezer() as freezer:
        device.start()
        pids = wait_tree(fleet, "report")
        freezer.freeze(*pids)
        device.wait_line("^report: something that it started cannot be killed; ", 8)
        guard = guard_of(device, "report")
        os.kill(guard, signal.SIGKILL)
        wait_for(lambda: not is_alive(guard) and fire.zombies_of(device.pid) == [], 3,
                 "the guard is reaped")
        wait_for(lambda: not fleet.lock("report"), 4, "the lock expires by itself")
        assert not device.lines("^report: the last process of its stuck run is gone$")
        freezer.thaw()
        device.wait_line("^report: the last process of its stuck run is gone$", 3)
    assert not any(is_alive(pid) for pid in pids)


@needs_freezer
def test_all_frozen_past_the_lease(fleet):
    """rotad, guard and worker, as a suspended machine: another device takes over, and on waking the
    worker executes nothing more and nothing of the other's lease is touched."""
    fire.behave(fleet)
    jobs = {"report": behaving(fleet, "report", "stamper", worst_case="20s")}
    fleet.make_due("report")
    first = fleet.device(jobs).start()
    first.wait_line("^report[|] ready$", 15)
    worker, = [pid for pid in fire.fleet.children_of(guard_of(first, "report"))]
    with Freezer() as freezer:
        stamps = os.open(fire.note_of(fleet, "report"), os.O_RDONLY)  # the second writes it anew
        second = fleet.device({"report": {**FIRE, **ONCE, "worst_case": "20s", "params": {
            "as": "tree", "file": fire.note_of(fleet, "second")}}}).start()
        second.wait_line("is held by gate-1", 10)
        frozen = freezer.freeze(first.pid, guard_of(first, "report"), worker)
        second.wait_line("^report: taken over from gate-1", 8)
        wait_tree(fleet, "second")
        token = fleet.lock("report")
        freezer.thaw()
        wait_for(lambda: not is_alive(worker), 3, "the worker is gone")
        first.wait_line("^report: (lost|crashed)", 5)
    data = os.pread(stamps, 16, 0)
    os.close(stamps)
    last = int.from_bytes(data[:8], "little") * 1000 + int.from_bytes(data[8:], "little") // 10**6
    assert 0 < last <= frozen
    assert fleet.lock("report") == token
    assert fleet.claim("report")["token"] == token
    assert len(alive(fleet, "second")) == 4
    check_left(first, calm(first))


def test_descriptors_of_rotad_used_up(fleet, pulse):
    """Not one is left for a guard: the turn goes to others, and what runs goes on."""
    report = behaving(fleet, "report", "tree", worst_case="6s", attempts=1)
    device = fleet.device({**pulse, "report": report})
    fleet.make_due("report")
    device.start()
    wait_tree(fleet, "report")
    soft, hard = resource.prlimit(device.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(device.pid, resource.RLIMIT_NOFILE, (3, hard))
    device.wait_line("^pulse: rota-guard could not be started: Too many open files; the turn of", 5)
    device.wait_line("^report: overrun: ", 10)
    assert not alive(fleet, "report")
    assert fleet.history("report")[0]["outcome"] == "overrun"
    resource.prlimit(device.pid, resource.RLIMIT_NOFILE, (soft, hard))
    healed = now_ms()
    wait_for(lambda: [e for e in fleet.entries("end", "pulse") if e.at > healed], 8,
             "it runs again")
    check_left(device, calm(device))


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has its own memory")
def test_memory_of_rotad_is_short(fleet, pulse):
    """Not a page more for rotad: nothing can be started, nothing falls over."""
    device = fleet.device(pulse).start()
    fleet.wait_entry("end", "pulse")
    soft, hard = resource.prlimit(device.pid, resource.RLIMIT_AS)
    resource.prlimit(device.pid, resource.RLIMIT_AS, (4096, hard))
    device.wait_line("^pulse: rota-guard could not be started: Cannot allocate memory; ", 5)
    resource.prlimit(device.pid, resource.RLIMIT_AS, (soft, hard))
    healed = now_ms()
    wait_for(lambda: [e for e in fleet.entries("end", "pulse") if e.at > healed], 8,
             "it runs again")


def test_guard_that_gives_up_before_the_start(fleet, pulse):
    """As the loader does where a library is missing: nothing ran, so no attempt is counted."""
    device = fleet.device(pulse)
    use_guard(device, f'[ "$1" = --run ] || exec {fire.GUARD} "$@"; exit 127')
    device.start()
    assert [entry["outcome"] for entry in fleet.wait_history("pulse", 1)] == ["unstarted"]
    wait_for(lambda: not fleet.lock("pulse"), 1, "the lock is free")
    assert fleet.claim("pulse")["attempt"] == "0"


@pytest.mark.parametrize("fault", ["missing", "not executable"])
def test_no_guard_to_be_had(fleet, pulse, fault):
    """The turn is left to others at once: no attempt is counted, and the next device takes it."""
    device = fleet.device(pulse)
    guard = use_guard(device)
    device.start()
    fleet.wait_entry("end", "pulse")
    away = guard.with_name("away")
    if fault == "missing":
        guard.rename(away)
    else:
        guard.chmod(0o644)
    words = {"missing": "No such file or directory", "not executable": "Permission denied"}[fault]
    device.wait_line(f"^pulse: rota-guard could not be started: {words}; the turn of .* is left to "
                     "other devices$", 5)
    assert "unstarted" in [entry["outcome"] for entry in fleet.wait_history("pulse", 2)]
    wait_for(lambda: not fleet.lock("pulse"), 1, "the lock is free")
    if fault == "missing":
        away.rename(guard)
    else:
        guard.chmod(0o755)
    healed = now_ms()
    wait_for(lambda: [e for e in fleet.entries("end", "pulse") if e.at > healed], 8,
             "it runs again")
    check_left(device, calm(device))


PIDS = "/sys/fs/cgroup/pids"


@pytest.mark.skipif(not os.access(f"{PIDS}/cgroup.procs", os.W_OK),
                    reason="needs root and the pids group of cgroup v1")
def test_fork_of_a_guard_fails(fleet, pulse):
    device = fleet.device(pulse).start()
    fleet.wait_entry("end", "pulse")
    group = f"{PIDS}/rota-test-{device.pid}"
    os.mkdir(group)
    try:
        with open(f"{group}/pids.max", "w", encoding="ascii") as most:
            most.write("1")
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as members:
            members.write(str(device.pid))
        device.wait_line("^pulse: rota-guard could not be started: Resource temporarily unavailable"
                         "; the turn of .* is left to other devices$", 5)
        with open(f"{group}/pids.max", "w", encoding="ascii") as most:
            most.write("max")
        healed = now_ms()
        wait_for(lambda: [e for e in fleet.entries("end", "pulse") if e.at > healed], 8,
                 "it runs again")
        assert device.stop() == 0
    finally:
        device.kill()
        os.rmdir(group)
