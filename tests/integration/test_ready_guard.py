# SPDX-License-Identifier: MIT
"""A guard is made ready before the question that it may be needed for, and waits without an order."""
import os
import signal
from pathlib import Path

import pytest

from fault_proxy import late, redis_by
from fleet import ONCE, children_of, is_alive, wait_for

JOB = {"plugin": "exec", "every": "2s", "worst_case": "10s", "stop_grace": "300ms", "retry_delay": "0s"}
SLOW = late(0.6)


def waiting(proxy, fleet, before=lambda: None):
    """A device whose acquires are answered late, and its guard, which waits meanwhile."""
    proxy.always("acquire", SLOW)
    fleet.make_due("report")
    over = fleet.folder / "report.sh.over"
    jobs = {"report": {**JOB, **fleet.body("report", 'until [ -e "$0.over" ]; do sleep 0.01; done')}}
    device = fleet.device(jobs, name="far", redis=redis_by(proxy, command_timeout="2s")).start()
    # The first turn is asked for at once, so that nobody saw it coming.
    fleet.wait_entry("begin")
    over.touch()
    fleet.wait_history("report")
    over.unlink()
    before()
    proxy.wait_for("acquire", proxy.count("acquire") + 1)
    guard, = wait_for(device.guards, 1, "a guard is ready")
    return device, guard


@pytest.fixture
def slow(proxy, fleet):
    return waiting(proxy, fleet)


def test_it_waits_and_is_the_one_that_runs(fleet, slow):
    device, guard = slow
    assert children_of(guard) == [] and len(fleet.entries("begin")) == 1
    fleet.wait_entry("begin", count=2)
    assert device.guards() == [guard] and len(children_of(guard)) == 1
    (fleet.folder / "report.sh.over").touch()
    assert [entry["outcome"] for entry in fleet.wait_history("report", 2)] == ["succeeded"] * 2


def test_one_that_is_killed_while_it_waits_is_no_crash(fleet, slow):
    device, guard = slow
    files = f"/proc/{device.pid}/fd"
    before = len(os.listdir(files))
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: len(os.listdir(files)) == before - 1, 5, "nothing of it is kept")
    (fleet.folder / "report.sh.over").touch()
    ends = fleet.wait_history("report", 2)
    assert [(entry["outcome"], entry["attempt"]) for entry in ends] == [("succeeded", "1")] * 2
    assert device.complaints() == []


def test_one_that_is_dead_and_not_reaped_yet_is_no_crash(fleet, slow):
    """rotad finds it dead by the START that does not get through."""
    device, guard = slow
    device.signal(signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: not is_alive(guard), 1, "it is dead")
    wait_for(lambda: fleet.lock("report"), 2, "Redis has granted it")
    device.signal(signal.SIGCONT)
    (fleet.folder / "report.sh.over").touch()
    ends = fleet.wait_history("report", 2)
    assert [(entry["outcome"], entry["attempt"]) for entry in ends] == [("succeeded", "1")] * 2
    assert device.complaints() == []


def test_it_goes_where_the_turn_is_anothers(proxy, fleet):
    key = fleet.key("report", "lock")
    device, guard = waiting(proxy, fleet, lambda: fleet.client.set(key, "other:" + "0" * 32, px=5000))
    wait_for(lambda: not is_alive(guard), 0.9, "it has gone with the answer")
    device.wait_line("is held by", 1)
    wait_for(lambda: not device.guards(), 1, "it is reaped, and there is no other")
    assert len(fleet.entries("begin")) == 1


def test_it_goes_where_no_answer_comes(proxy, slow):
    device, guard = slow
    proxy.hold()
    wait_for(lambda: not is_alive(guard), 5, "it has gone when the answer is given up")
    device.wait_line("does not answer", 1)
    proxy.release()


def faults_of_children(device):
    """Page faults of all children that it has reaped: each of them had some."""
    return int(Path(f"/proc/{device.pid}/stat").read_text().rpartition(")")[2].split()[8])


def test_there_is_none_where_no_slot_is_free(fleet):
    fleet.make_due("long", "report")
    report = {**JOB, **fleet.body("report")}
    long = {"plugin": "exec", "worst_case": "60s", **ONCE,
            **fleet.body("long", 'until [ -e "$0.over" ]; do sleep 0.01; done')}
    device = fleet.device({"report": report}, max_running=1).start()
    fleet.wait_history("report")
    device.write({"report": report, "long": long}, max_running=1)
    device.signal(signal.SIGHUP)
    fleet.wait_entry("begin", "long")
    before = faults_of_children(device)
    device.wait_line("report: WAITING -> NO_SLOT")
    wait_for(lambda: len(device.guards()) == 1, 2, "there is the long job's guard alone")
    assert faults_of_children(device) == before
    (fleet.folder / "long.sh.over").touch()
    fleet.wait_history("report", 2)


def test_it_goes_with_a_job_that_leaves(slow):
    device, guard = slow
    device.write({})
    device.signal(signal.SIGHUP)
    device.wait_line("reloaded: 0 jobs", 3)
    wait_for(lambda: not device.guards(), 3, "it has gone")


def test_nothing_is_left_of_it_after_rotad(slow):
    device, guard = slow
    device.kill()
    wait_for(lambda: not is_alive(guard), 1, "it has gone")
