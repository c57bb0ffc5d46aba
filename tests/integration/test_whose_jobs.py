# SPDX-License-Identifier: MIT
"""`enabled` and `devices`: which devices take a job's turns, and what they say of the others'."""
import signal
import subprocess

import pytest

from fleet import SHORT, wait_for
from notify import NotifySocket

TICK = {**SHORT, "every": "1s", "attempts": 1, "splay": "100ms"}


def runners(fleet, job):
    """The devices that have run it, by their tokens."""
    return {entry["token"].partition(":")[0] for entry in fleet.history(job)}


def test_only_matching_devices_take_turns(fleet):
    fleet.make_due("gates", "off", "all")
    jobs = {"gates": {**TICK, "devices": ["gate-1*", "roof"], **fleet.body("gates")},
            "off": {**TICK, "enabled": False, **fleet.body("off")},
            "all": {**TICK, **fleet.body("all")}}
    gates = [fleet.device(jobs, name) for name in ("gate-1", "gate-12")]
    others = [fleet.device(jobs, name) for name in ("gate-2", "old-gate-1")]
    with NotifySocket(fleet.folder / "gate") as gate, NotifySocket(fleet.folder / "other") as other:
        for device in gates:
            device.start(NOTIFY_SOCKET=gate.path)
        for device in others:
            device.start(NOTIFY_SOCKET=other.path)
        fleet.wait_history("gates", 3, within=15)
        fleet.wait_history("all", 3, within=15)
        gate.wait_for("^STATUS=3 jobs, 1 disabled.*; redis ok$", 10)
        other.wait_for("^STATUS=3 jobs, 1 disabled, 1 on other devices.*; redis ok$", 10)
    assert runners(fleet, "gates") <= {"gate-1", "gate-12"}
    for device in others:
        assert device.lines("^all: ")
        assert device.lines("^gates: ") == []
    assert fleet.runs("off") == []
    assert [line for device in fleet.devices for line in device.lines("^off: ")] == []
    assert fleet.history("off") == []


def test_where_nothing_runs_nothing_is_asked(fleet):
    jobs = {"gates": {**TICK, "devices": ["gate-1*"], **fleet.body("gates")},
            "off": {**TICK, "enabled": False, **fleet.body("off")}}
    device = fleet.device(jobs, "roof")
    with NotifySocket(fleet.folder / "roof-socket") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        notify.wait_for("^STATUS=2 jobs, 1 disabled, 1 on other devices; nothing runs here$", 10)
    stats = fleet.client.info("commandstats")
    assert not [name for name in stats if name.startswith("cmdstat_eval") or name == "cmdstat_time"]


def test_both_follow_a_reload(fleet):
    fleet.make_due("gates", "off")
    device = fleet.device({"gates": {**TICK, "devices": ["gate-1"], **fleet.body("gates")},
                           "off": {**TICK, "enabled": False, **fleet.body("off")}}).start()
    fleet.wait_entry("end", "gates", count=2)
    assert fleet.runs("off") == []
    device.write({"gates": {**TICK, "devices": ["roof"], **fleet.body("gates")},
                  "off": {**TICK, **fleet.body("off")}})
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 2 jobs$")
    device.wait_line("gates: .* -> OFF")
    gates = len(fleet.runs("gates"))
    fleet.wait_entry("end", "off", count=3)
    assert len(fleet.runs("gates")) == gates


def has_hosts():
    return subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode == 0


def test_a_new_host_name_counts_from_the_next_start(fleet):
    """Until then the fleet sees the old one, and patterns are for what it sees."""
    if not has_hosts():
        pytest.skip("no host name of our own here")
    fleet.make_due("gates", "roofs")
    fleet.enter = ["unshare", "--uts", "sh", "-c", 'hostname gate-1; exec "$@"', "sh"]
    jobs = {"gates": {**TICK, "devices": ["gate-1"], **fleet.body("gates")},
            "roofs": {**TICK, "devices": ["roof"], **fleet.body("roofs")}}
    device = fleet.device(jobs, device="%H").start()
    fleet.wait_entry("end", "gates")
    subprocess.run(["nsenter", "--target", str(device.pid), "--uts", "hostname", "roof"], check=True)
    # Plugins of jobs that are not for this device are not looked for.
    jobs["roofs"]["plugin"] = "nowhere"
    device.write(jobs)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 2 jobs$")
    fleet.wait_entry("end", "gates", count=len(fleet.entries("end", "gates")) + 2)
    assert runners(fleet, "gates") == {"gate-1"} and fleet.runs("roofs") == []

    jobs["roofs"]["plugin"] = "exec"
    device.write(jobs)
    assert device.stop() == 0
    fleet.enter[4] = 'hostname roof; exec "$@"'
    device.start()
    wait_for(lambda: runners(fleet, "roofs") == {"roof"}, 10, "the new name has run it")
