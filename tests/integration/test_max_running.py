# SPDX-License-Identifier: MIT
"""max_running: a device that is full waits, or leaves the turn to one that is not."""
from fleet import ONCE, SHORT, now_ms, wait_for

JOBS = ("a", "b", "c", "d", "e")


def jobs_of(fleet, text):
    fleet.make_due(*JOBS)
    return {job: {**SHORT, **ONCE, "splay": "100ms", **fleet.body(job, text)} for job in JOBS}


def wait_all(fleet):
    for job in JOBS:
        fleet.wait_history(job, within=20)
    assert sorted(entry.job for entry in fleet.entries("begin")) == list(JOBS)
    for job in JOBS:
        assert [entry["outcome"] for entry in fleet.history(job)] == ["succeeded"]


def test_one_device_one_after_the_other(fleet):
    fleet.device(jobs_of(fleet, "sleep 0.3"), max_running=1).start()
    wait_all(fleet)
    # begin, end, begin, end: never two at once
    assert [entry.what for entry in fleet.entries()] == ["begin", "end"] * len(JOBS)


def test_two_devices_none_twice(fleet):
    jobs = {job: {**body, "worst_case": "3s"} for job, body in jobs_of(fleet, "sleep 0.3").items()}
    for _ in range(2):
        fleet.device(jobs, max_running=1).start()
    wait_all(fleet)
    running = 0
    for entry in fleet.entries():
        running += 1 if entry.what == "begin" else -1
        assert running <= 2


def test_a_full_device_leaves_turns_to_others(fleet):
    gate = fleet.folder / "open"
    jobs = jobs_of(fleet, "sleep 0.1")
    long = {"plugin": "exec", "worst_case": "60s", **ONCE, "devices": ["gate-1"],
            **fleet.body("long", f"while ! [ -e {gate} ]; do sleep 0.05; done")}
    fleet.make_due("long")
    first = fleet.device({"long": long}, max_running=1).start()
    fleet.wait_entry("begin", "long")
    # Full already when the others come: by a reload, which leaves its run alone.
    first.write({"long": long, **jobs}, max_running=1)
    first.signal(1)
    first.wait_line("^reloaded: 6 jobs$")
    for job in JOBS:
        first.wait_line(f"{job}: WAITING -> NO_SLOT")
    second = fleet.device({"long": long, **jobs}, max_running=1).start()
    for job in JOBS:
        fleet.wait_history(job, within=20)
    assert fleet.entries("end", "long") == []
    assert {entry["token"].partition(":")[0] for job in JOBS for entry in fleet.history(job)} == {second.name}
    gate.touch()
    fleet.wait_history("long")
    # With a free slot it asks, and is told that all is done.
    for job in JOBS:
        first.wait_line(f"{job}: turn of .* is settled")
    assert sorted(entry.job for entry in fleet.entries("begin")) == sorted((*JOBS, "long"))


def test_a_turn_that_found_no_slot_in_time_says_so(fleet):
    gate = fleet.folder / "open"
    fleet.make_due("long")
    jobs = {"long": {"plugin": "exec", "worst_case": "60s", **ONCE,
                     **fleet.body("long", f"while ! [ -e {gate} ]; do sleep 0.05; done")}}
    device = fleet.device(jobs, max_running=1).start()
    fleet.wait_entry("begin", "long")
    brief = {**SHORT, "every": "10s", "catch_up": "0s", "splay": "0s", "first": "now"}
    device.write({**jobs, "brief": {**brief, **fleet.body("brief")}}, max_running=1)
    device.signal(1)
    device.wait_line("brief: .* -> NO_SLOT", 30)
    # Later than catch_up and the second that each question may be late, and well before the next turn, which would be
    # run when a slot is free.
    wait_for(lambda: 2500 < now_ms() % 10_000 < 3500, 30, "it is too late for the turn")
    gate.touch()
    device.wait_line(r"^brief: the turn of .* is more than catch_up \(0s\) late and is left out: "
                     r"no slot was free \(max_running\)$")
