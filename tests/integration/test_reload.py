# SPDX-License-Identifier: MIT
"""SIGHUP: what has not changed goes on as it was; what cannot be read changes nothing."""
import signal

import pytest

from fleet import ONCE, RENEWED, SHORT

PERIOD_MS = 2000
TICK = {**SHORT, "every": f"{PERIOD_MS}ms", "attempts": 1}


def turns(fleet, job):
    return [entry.turn for entry in fleet.entries("begin", job)]


def wait_turns(fleet, job, more, within=15):
    fleet.wait_entry("begin", job, count=len(turns(fleet, job)) + more, within=within)


def assert_no_turn_left_out(found):
    assert found == list(range(found[0], found[0] + len(found) * PERIOD_MS, PERIOD_MS))


def test_changed_added_removed(fleet):
    jobs = {name: {**TICK, **fleet.body(name)} for name in ("same", "changed", "removed")}
    jobs["long"] = {**RENEWED, **ONCE, **fleet.body("long", "sleep 6")}
    fleet.make_due(*jobs)
    device = fleet.device(jobs, max_running=8).start()
    for job in jobs:
        fleet.wait_entry("begin", job)
    long = fleet.entries("begin", "long")

    del jobs["removed"]
    jobs["changed"] = {**TICK, **fleet.body("changed_now", "note anew")}
    jobs["added"] = {**TICK, **fleet.body("added")}
    device.write(jobs, max_running=8)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 4 jobs$")
    before = len(turns(fleet, "same"))
    removed = len(turns(fleet, "removed"))
    fleet.wait_entry("begin", "added")
    fleet.wait_entry("anew", "changed")
    wait_turns(fleet, "same", 2)

    assert len(turns(fleet, "removed")) <= removed + 1  # one may have been on its way
    assert device.lines("removed: .* -> OFF")
    # Neither begun anew nor asked about out of its time.
    assert device.lines("(same|long): .* -> OFF") == []
    # Four first runs at once may outlast a turn on a crowded machine; what the reload does comes after it.
    assert_no_turn_left_out(turns(fleet, "same")[before:])
    fleet.wait_entry("end", "long")
    assert fleet.entries("begin", "long") == long
    assert [entry["outcome"] for entry in fleet.wait_history("long")] == ["succeeded"]
    wait_turns(fleet, "same", 1)
    assert len(turns(fleet, "removed")) <= removed + 1


def test_changed_while_it_runs(fleet):
    """The run goes on by the old settings to its end; the new ones are for the next turn."""
    fleet.make_due("report")
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report", "sleep 2")}}
    device = fleet.device(jobs).start()
    fleet.wait_entry("begin")
    device.write({"report": {**RENEWED, **ONCE, **fleet.body("other")}})
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$")
    fleet.wait_entry("end")
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["succeeded"]
    device.wait_line("report: .* -> WAITING", count=len(device.lines("report: .* -> OFF")) + 1)
    assert len(fleet.entries("begin")) == 1


@pytest.mark.parametrize("off", [{"enabled": False}, {"devices": ["another"]}])
def test_switched_off_and_on_while_it_runs(fleet, off):
    """The run goes on to its end; no turn is taken until the job is back, and none of those twice."""
    fleet.make_due("report")
    job = {**RENEWED, "every": "2s", "attempts": 1, **fleet.body("report", "sleep 5")}
    device = fleet.device({"report": job}).start()
    fleet.wait_entry("begin")
    device.write({"report": {**job, **off}})
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$")
    device.wait_line("report: .* -> OFF")
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["succeeded"]
    assert len(fleet.entries("begin")) == 1
    device.write({"report": job})
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$", count=2)
    fleet.wait_entry("end", count=2)
    assert len(set(turns(fleet, "report"))) == len(turns(fleet, "report"))


@pytest.mark.parametrize("break_it, said", [
    (lambda text: text.replace("worst_case", "wrost_case"),
     r":\d+: job 'same': unknown key 'wrost_case'; did you mean 'worst_case'\?"),
    (lambda text: text.replace("device =", "device", 1), r":2: "),
    (lambda text: text + "jobs_ = 1;\n", r":\d+: unknown key 'jobs_'"),
], ids=["a key", "the syntax", "beyond the jobs"])
def test_broken_file_changes_nothing(fleet, break_it, said):
    fleet.make_due("same")
    jobs = {"same": {**TICK, **fleet.body("same")}}
    device = fleet.device(jobs).start()
    # Not the first run: on a crowded machine it may outlast a turn.
    fleet.wait_entry("begin", "same", count=2)
    device.write_text(break_it(device.conf.read_text()))
    device.signal(signal.SIGHUP)
    device.wait_line("^reload: refused for the mistakes above; the old configuration stays$")
    errors = [line for line in device.lines(f"^{device.conf}{said}") if line.level == "error"]
    assert len(errors) == 1
    wait_turns(fleet, "same", 2)
    assert_no_turn_left_out(turns(fleet, "same")[1:])
    # The next one that is right is taken.
    device.write(jobs)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$")


def test_what_takes_a_restart(fleet):
    fleet.make_due("same")
    jobs = {"same": {**TICK, **fleet.body("same")}}
    device = fleet.device(jobs).start()
    fleet.wait_entry("begin", "same")
    device.write(jobs, prefix="other:")
    device.signal(signal.SIGHUP)
    device.wait_line("^reload: prefix has changed, which takes a restart; "
                     "the old configuration stays$")
    wait_turns(fleet, "same", 1)
    assert fleet.client.keys("other:*") == []


def test_what_needs_no_restart_before_the_first_job(fleet):
    """Nothing of it is in use yet: the name that the fleet will see, too."""
    device = fleet.device({}).start()
    device.wait_line("^no jobs yet")
    fleet.make_due("first")
    device.write({"first": {**TICK, "devices": ["renamed"], **fleet.body("first")}},
                 device="renamed")
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 1 job$")
    entries = fleet.wait_history("first")
    assert entries[0]["token"].partition(":")[0] == "renamed"


def test_says_a_warning_once(fleet):
    """A reload adds what is new, wherever the old now stands in the file."""
    slow = {**TICK, "worst_case": "3s", **fleet.body("slow")}
    device = fleet.device({"slow": slow}).start()
    said = r"job '{}': worst_case is .*, longer than the period of .*are left out$"
    first = device.wait_line(r"job 'slow': worst_case is ")
    device.write({"added": dict(slow), "slow": slow})
    device.signal(signal.SIGHUP)
    device.wait_line(said.format("added"))
    device.wait_line("^reloaded: 2 jobs$")
    assert first and len(device.lines("job 'slow': worst_case is ")) == 1
