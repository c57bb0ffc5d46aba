# SPDX-License-Identifier: MIT
"""Guard, worker and supervisor die between any two of their steps (builds with fault points)."""
import signal

import pytest

import fire
from fire import LockWatch, alive, behaving, use_guard, wait_tree
from fleet import ROTAD, marked_processes, wait_for
from guard_harness import GUARD

with_fault_points = pytest.mark.skipif(not fire.FAULT_POINTS,
                                       reason="this build has no fault points")
# These come when a run returns; all others in a run that is stopped at its worst case.
AT_RETURN = {"worker_returned", "worker_told_its_result", "guard_took_the_result"}
OUTCOMES = {"worker_told_its_result": "succeeded", "guard_told_the_end": "overrun"}


@pytest.mark.skipif(fire.FAULT_POINTS, reason="this build has fault points")
def test_what_is_shipped_has_no_fault_points():
    names = fire.fault_point_names()
    assert len(names) >= 30
    for program in (ROTAD, GUARD):
        content = program.read_bytes()
        assert b"FAULT_POINT" not in content
        assert [name for name in names if name.encode() in content] == []


@with_fault_points
def test_guard_and_worker_die_at_each_step(fleet):
    """All at once on one device: each job's name is the step at which its guard or worker dies."""
    names = fire.fault_point_names("guard_", "worker_")
    fire.behave(fleet)
    jobs = {name: behaving(fleet, name, "leaver" if name in AT_RETURN else "tree",
                           attempts=1, lease="4s", worst_case="3s") for name in names}
    jobs["pulse"] = {**fire.PULSE, **fleet.body("pulse")}
    device = fleet.device(jobs, max_running=64)
    use_guard(device, f'ROTA_FAULT_POINT="$2" exec {GUARD} "$@"')
    fleet.make_due("pulse", *names)
    watch = LockWatch(fleet, names)
    device.start()
    fleet.wait_entry("end", "pulse", within=20)
    before = fire.descriptors(device.pid)

    watch.until(lambda: all(fleet.history(name) for name in names), 25, "each end is recorded")
    watch.until(lambda: not any(alive(fleet, name) for name in names), 5, "all trees are gone")
    ends = {name: fleet.history(name)[0]["outcome"] for name in names}
    assert ends == {name: OUTCOMES.get(name, "crashed") for name in names}
    # Only a success frees the lock; all others leave it to expire.
    assert watch.gone - {"worker_told_its_result"} <= {
        name for name in names if not fleet.lock(name)}
    assert not fleet.lock("worker_told_its_result")
    wait_for(lambda: fire.descriptors(device.pid) <= before, 5, "no descriptor is left")
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    assert fire.check_pulse(fleet) >= 2


@with_fault_points
def test_supervisor_dies_at_each_step(fleet):
    """A device for each step. Its guard ends the tree; when it is started again the turn is too."""
    names = fire.fault_point_names("run_")
    fire.behave(fleet)
    devices = {}
    for name in names:
        devices[name] = fleet.device({name: behaving(fleet, name, "tree", attempts=2)}, name)
    fleet.make_due(*names)
    watch = LockWatch(fleet, names)
    for name, device in devices.items():
        device.start(ROTA_FAULT_POINT=name)
    wait_tree(fleet, "run_sent_the_stop", within=20)
    devices["run_sent_the_stop"].signal(signal.SIGTERM)

    watch.until(lambda: not any(device.runs() for device in devices.values()), 20,
                "each supervisor has died")
    statuses = {name: device.process.returncode for name, device in devices.items()}
    assert statuses == {name: -signal.SIGKILL for name in names}
    watch.until(lambda: not any(marked_processes(d.folder) for d in devices.values()), 5,
                "nothing of them is left")
    for name, device in devices.items():
        assert not alive(fleet, name)
        device.start()
    watch.until(lambda: all(fleet.claim(name)["attempt"] == "2" for name in names), 15,
                "each turn is tried again")
