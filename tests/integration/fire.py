# SPDX-License-Identifier: MIT
"""What the tests under fire share: plugins that behave badly on whole devices, and the freezer."""
import os
import pathlib
import re
import shutil
import time

import pytest

import fleet
from fleet import BUILD, ONCE, ROOT, ROTAD, SLOWNESS, is_alive, wait_for
from guard_harness import PLUGINS, boot_ms, compile_plugin

GUARD = BUILD / "runtime" / "guard" / "rota-guard"
FAULT_POINTS = ROTAD.exists() and b"ROTA_FAULT_POINT" in ROTAD.read_bytes()

# D comes 3.75 s after the asking and is moved by a renewal; a run ends by its worst case before it.
FIRE = {"plugin": "behave", "worst_case": "2s", "stop_grace": "300ms", "lease": "3s",
        "retry_delay": "0s", **ONCE}
PULSE_MS = 2000
PULSE = {"plugin": "exec", "every": f"{PULSE_MS}ms", "splay": "0s", "worst_case": "1500ms",
         "stop_grace": "300ms", "retry_delay": "0s"}


def fault_point_names(*prefixes):
    """As the sources have them."""
    found = set()
    for folder in ("guard", "supervisor"):
        for source in (ROOT / "runtime" / folder).glob("*.c"):
            found |= set(re.findall(r"FAULT_POINT\((\w+)\)", source.read_text()))
    return sorted(name for name in found if not prefixes or name.startswith(prefixes))


def behave(the_fleet):
    compile_plugin(the_fleet.plugins, PLUGINS / "behave.c")


def note_of(the_fleet, job):
    return the_fleet.folder / f"{job}.pids"


def behaving(the_fleet, job, way, number=0, **settings):
    """A job of the plugin `behave`, which notes its processes."""
    return {**FIRE, "params": {"as": way, "number": number, "file": note_of(the_fleet, job)},
            **settings}


def noted(the_fleet, job):
    note = note_of(the_fleet, job)
    return [int(line) for line in note.read_text().split()] if note.exists() else []


def alive(the_fleet, job):
    return [pid for pid in noted(the_fleet, job) if is_alive(pid)]


def wait_tree(the_fleet, job, within=10, count=4):
    """The processes of a way `tree`, all of them there."""
    wait_for(lambda: len(noted(the_fleet, job)) >= count, within, f"the tree of {job} stands")
    return noted(the_fleet, job)


class LockWatch:
    """Finds a process of a job alive after the job's lock had gone."""

    def __init__(self, the_fleet, jobs):
        self.fleet, self.jobs = the_fleet, list(jobs)
        self.held, self.gone = set(), set()

    def look(self):
        client = self.fleet.client
        for job in self.jobs:
            if client.exists(fleet.Fleet.key(job, "lock")):
                self.held.add(job)
            elif job in self.held:
                self.gone.add(job)
                left = alive(self.fleet, job)
                assert not left, f"{job}: {left} outlived the lock"

    def until(self, condition, within, what):
        def there():
            self.look()
            return condition()
        return wait_for(there, within, what, slowest=0.005)


def use_guard(device, script=None):
    """The device gets programs of its own, and what stands in for rota-guard where there is one."""
    programs = device.folder / "programs"
    (programs / "supervisor").mkdir(parents=True)
    (programs / "guard").mkdir()
    shutil.copy(ROTAD, programs / "supervisor" / "rotad")
    for module in ("librota-check.so", "librota-control.so", "librota-local.so", "librota-topology.so"):
        shutil.copy(ROTAD.parent / module, programs / "supervisor")
    guard = programs / "guard" / "rota-guard"
    if script is None:
        shutil.copy(GUARD, guard)
    else:
        guard.write_text(f"#!/bin/sh\n{script}\n")
        guard.chmod(0o755)
    plain = device.command
    device.command = lambda *options: [str(programs / "supervisor" / "rotad"),
                                       *plain(*options)[1:]]
    return guard


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def zombies_of(pid):
    return [child for child in fleet.children_of(pid) if not is_alive(child)]


def check_pulse(the_fleet, since_ms=0):
    """Each turn of the job "pulse" was done once, and begun in time. The number of them. The first of all fell due before
    the device was there, and the next one may have fallen due while it ran."""
    wait_for(lambda: len(the_fleet.entries("begin", "pulse")) > 1, 5, "the second pulse")
    entries = the_fleet.entries("begin", "pulse")
    turns = [e.turn for e in entries if e.at >= since_ms]
    later = [e for e in entries[1:] if e.at >= since_ms]
    missed = [e.turn for e, after in zip(later, later[1:]) if after.turn - e.turn > PULSE_MS * SLOWNESS]
    assert turns == sorted(set(turns)) and not missed
    assert later and max(e.at - e.turn for e in later) < PULSE_MS * SLOWNESS
    return len(turns)


ROOT_GROUP = pathlib.Path("/sys/fs/cgroup/freezer")
needs_freezer = pytest.mark.skipif(not os.access(ROOT_GROUP / "cgroup.procs", os.W_OK),
                                   reason="needs root and the freezer of cgroup v1")


class Freezer:
    """A cgroup v1 of the test's own, whose members SIGKILL does not reach while they are frozen."""

    def __init__(self):
        self.group = ROOT_GROUP / f"rota-test-{os.getpid()}-{time.monotonic_ns()}"

    def __enter__(self):
        self.group.mkdir()
        return self

    def __exit__(self, *unused):
        self.thaw()
        for pid in self.members():
            (ROOT_GROUP / "cgroup.procs").write_text(str(pid))
        wait_for(lambda: not self.members(), 5, "the group is empty")
        self.group.rmdir()

    def members(self):
        return [int(line) for line in (self.group / "cgroup.procs").read_text().split()]

    def add(self, *pids):
        for pid in pids:
            (self.group / "cgroup.procs").write_text(str(pid))

    def freeze(self, *pids):
        """The instant (boot clock, ms) at which all of them stood still."""
        self.add(*pids)
        (self.group / "freezer.state").write_text("FROZEN")
        wait_for(lambda: (self.group / "freezer.state").read_text() == "FROZEN\n", 5,
                 "all are frozen")
        return boot_ms()

    def thaw(self):
        (self.group / "freezer.state").write_text("THAWED")
