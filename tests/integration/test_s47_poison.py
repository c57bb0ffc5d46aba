# SPDX-License-Identifier: MIT
"""S47: a job that crashes every time, and one that kills its whole device, are tried `attempts` times in the whole
fleet, then given up until the next turn, and that is reported."""
import os
import signal

from fleet import ONCE, SHORT, children_of, wait_for

# L = 1.85 s, so that a crash is over soon.
POISON = {**SHORT, **ONCE, "worst_case": "300ms", "stop_grace": "0s", "splay": "0s"}


def given_up(devices):
    return [line for device in devices for line in device.lines("^poison: given up until ")]


def outcomes(fleet):
    return sorted((int(entry["attempt"]), entry["outcome"]) for entry in fleet.history("poison"))


def test_s47_it_crashes_its_worker_every_time(fleet):
    fleet.make_due("poison")
    # The worker is the shell's parent: plugin and program are gone at once.
    job = {"poison": {**POISON, **fleet.body("poison", "kill -9 $PPID")}}
    devices = [fleet.device(job).start() for _ in range(5)]
    wait_for(lambda: given_up(devices), 30, "it is given up")
    assert outcomes(fleet) == [(1, "crashed"), (2, "crashed"), (3, "crashed")]
    assert sorted(entry.attempt for entry in fleet.entries("begin")) == [1, 2, 3]
    line, = given_up(devices)
    assert line.level == "error" and "after attempt 3 of 3; last: crashed" in line.text
    claim = fleet.claim("poison")
    assert (claim["state"], claim["attempt"], claim["streak"]) == ("gave_up", "3", "1")
    # Nobody tries it again: a device that comes later neither.
    late = fleet.device(job).start()
    late.wait_line(r"^poison: ASKING -> WAITING \(SETTLE\)$", 8)
    assert len(fleet.entries("begin")) == 3


def test_s47_it_kills_its_whole_device(fleet):
    fleet.make_due("poison")
    # Long enough for the power to go while it runs, also where the machine is slow.
    job = {"poison": {**POISON, "worst_case": "2s", **fleet.body("poison", "sleep 60")}}
    devices = [fleet.device(job).start() for _ in range(5)]
    for attempt in (1, 2, 3):
        begin = fleet.wait_entry("begin", count=attempt, within=15)
        assert begin.attempt == attempt
        lose_power(next(device for device in devices if device.runs() and begin.pid in programs_of(device)))
    # Nobody that watched it is left; the next to ask finds it out.
    found = fleet.device(job).start().wait_line("^poison: given up until ", 20)
    assert found.level == "error" and found.text.endswith("since its attempts are used up")
    assert outcomes(fleet) == [(1, "vanished"), (2, "vanished"), (3, "vanished")]
    assert len(fleet.entries("begin")) == 3


def programs_of(device):
    """What its workers have started. A device that starts has guards too: they look at its files."""
    workers = [worker for guard in device.guards() for worker in children_of(guard)]
    return [program for worker in workers for program in children_of(worker)]


def lose_power(device):
    """Everything of it at once, before anybody can say a word."""
    guards = device.guards()
    workers = [worker for guard in guards for worker in children_of(guard)]
    programs = [program for worker in workers for program in children_of(worker)]
    below = [pid for program in programs for pid in children_of(program)]
    device.signal(signal.SIGSTOP)
    for pid in guards + workers + programs + below:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    device.kill()
