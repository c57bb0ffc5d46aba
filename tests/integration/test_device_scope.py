# SPDX-License-Identifier: MIT
"""Device scope with real processes: every device runs the turn, and what each did is in Redis before it begins."""
import pathlib

import pytest

from fleet import ONCE, ONCE_MS, SHORT, now_ms, wait_for
from notify import NotifySocket

HERE = {**SHORT, **ONCE, "scope": "device", "concurrency": 3, "splay": "0s"}


def start(fleet, text="", count=1, **more):
    job = {**HERE, **more, **fleet.body("update", text)}
    devices = [fleet.device({"update": job}) for _ in range(count)]
    fleet.make_due_here("update", *devices)
    return [device.start() for device in devices]


def state(fleet, device):
    return fleet.record("update", device).get("state")


def test_every_device_runs_the_turn_once(fleet):
    devices = start(fleet, 'echo "fence $ROTA_FENCE"', count=3, concurrency=1)
    fleet.wait_entry("end", count=3)
    for device in devices:
        wait_for(lambda d=device: state(fleet, d) == "succeeded", 3, f"{device.name} is recorded")
        assert fleet.record("update", device)["attempt"] == "1"
        device.wait_line(r"^update: succeeded in .*, attempt 1 of 3$")
        assert device.stop() == 0
    begins, ends = fleet.entries("begin"), fleet.entries("end")
    assert all(begins[i + 1].at >= ends[i].at for i in range(2)), "one seat, one at a time"
    said = [line.text for device in devices for line in device.lines(r"^update\| ")]
    assert said == ["update| fence 0"] * 3, "none with seats"
    # A restart does not run it again.
    devices[0].start()
    devices[0].wait_line(r"^update: turn of .* is settled", 5)
    assert len(fleet.entries("begin")) == 3


def test_recorded_before_it_begins(fleet):
    """What a run reads of its own device says that it runs."""
    device, = start(fleet, "sleep 1")
    fleet.wait_entry("begin")
    record = fleet.record("update", device)
    assert (record["state"], record["attempt"]) == ("running", "1")
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()
    assert len(record["boot"]) >= 8 and boot.startswith(record["boot"])


def rebooted(fleet, **more):
    """A device that was running its turn in an earlier boot, and has lost its seat since."""
    device = fleet.device({"update": {**HERE, **more, **fleet.body("update")}})
    turn = now_ms() // ONCE_MS * ONCE_MS
    fleet.make_due_here("update", device, turn=turn, attempt=1, started=turn, ended=0, state="running",
                        boot="00000000")
    return device.start()


def test_a_job_that_reboots_its_device_does_not_run_twice(fleet):
    device = rebooted(fleet, attempts=1)
    device.wait_line(r"^update: given up until .*, since its attempts are used up$")
    assert fleet.entries() == []
    entry, = fleet.wait_history("update")
    assert (entry["outcome"], entry["detail"]) == ("vanished", "rebooted")


def test_a_reboot_counts_as_an_attempt(fleet):
    device = rebooted(fleet)
    assert fleet.wait_entry("begin").attempt == 2
    device.wait_line(r"^update: succeeded in .*, attempt 2 of 3$")
    assert not device.lines("taken over"), "nobody takes over from itself"


@pytest.mark.parametrize("attempts, runs", [(1, 1), (3, 2)])
def test_a_run_that_its_own_reboot_stops(fleet, attempts, runs):
    """As in docs/guide.md: rotad is asked to stop while the job waits for that. Does it run again after the boot?"""
    pid = fleet.folder / "pid"
    stop = f"until [ -s '{pid}' ]; do sleep 0.05; done; kill -TERM $(cat '{pid}'); rm '{pid}'; exec sleep 60"
    body = fleet.body("update", f"[ $ROTA_ATTEMPT != 1 ] || [ -e '{fleet.folder}/back' ] || {{ {stop}; }}")
    device = fleet.device({"update": {**HERE, "worst_case": "90s", "attempts": attempts, **body}})
    fleet.make_due_here("update", device)
    device.start()
    pid.write_text(str(device.pid))
    assert device.ended() == 0
    device.wait_line("^update: declined after .*: rotad stops, or is drained, turn of ")
    (fleet.folder / "back").touch()
    device.start()
    given_up = "^update: given up until .*, since its attempts are used up$"
    device.wait_line(given_up if runs == 1 else "^update: succeeded in ")
    assert len(fleet.entries("begin")) == runs


def test_brake_pauses_the_job_in_the_whole_fleet(fleet):
    devices = start(fleet, "echo 'no space' >&2; exit 1", attempts=1, stop_after_failures=2)
    devices[0].wait_line("update: given up", 5)
    assert not fleet.client.exists(fleet.key("update", "pause"))
    job = {**HERE, "attempts": 1, "stop_after_failures": 2,
           **fleet.body("update", "echo 'no space' >&2; exit 1")}
    second = fleet.device({"update": job})
    fleet.make_due_here("update", second)
    second.start()
    line = second.wait_line(r"paused in the whole fleet", 5)
    assert (line.level, line.text) == ("error", "update: paused in the whole fleet after 2 failures in a row; "
                                            "mend it, then rotactl resume --fleet")
    assert fleet.client.get(fleet.key("update", "pause")) == \
        "rota: stopped after 2 failures in a row; last: gate-2, failed: no space (exit status 1)"
    third = fleet.device({"update": job})
    fleet.make_due_here("update", third)
    third.start()
    third.wait_line("^update: paused in the whole fleet, by rota: stopped after 2 failures in a row; last: gate-2, "
                    r"failed: no space \(exit status 1\)$", 5)
    assert len(fleet.entries("begin")) == 2
    assert len(second.lines("whole fleet")) == 1 and not devices[0].lines("whole fleet")


def test_what_a_pause_says_and_how_it_ends(fleet):
    """As rotad(8) has it under PAUSE: a key that people write; it is said when it begins, and when it is over."""
    job = {**SHORT, "every": "2s", "splay": "0s", "attempts": 1, **fleet.body("update")}
    fleet.make_due("update")
    device = fleet.device({"update": job}, log_level="info")
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        fleet.wait_entry("end")
        fleet.client.set(fleet.key("update", "pause"), "kim: NAS full", ex=86_400)
        line = device.wait_line("^update: paused in the whole fleet until .+ UTC, by kim: NAS full$")
        assert line.level == "notice"
        notify.wait_for("^STATUS=1 job, 1 paused; redis ok$", 5)
        ran, passed = len(fleet.entries("begin")), int(fleet.claim("update")["paused"])
        wait_for(lambda: int(fleet.claim("update")["paused"]) >= passed + 4000, 10, "two more turns have passed")
        assert len(fleet.entries("begin")) == ran
        assert notify.texts("^STATUS=")[-1].endswith("1 job, 1 paused; redis ok")
        fleet.client.delete(fleet.key("update", "pause"))
        device.wait_line("^update: not paused any more$")
        fleet.wait_entry("end", count=ran + 1)
    assert len(device.lines("paused")) == 2


def test_resumed_after_failures_as_the_manual_says(fleet):
    flag = fleet.folder / "mended"
    job = {**HERE, "every": "2s", "catch_up": "2s", "attempts": 1, "stop_after_failures": 2,
           **fleet.body("update", f"test -e '{flag}' || exit 1")}
    device = fleet.device({"update": job})
    fleet.make_due_here("update", device)
    device.start()
    device.wait_line("^update: paused in the whole fleet after 2 failures in a row; mend it")
    failed = len(fleet.entries("begin"))
    fleet.client.delete(fleet.key("update", "pause"))
    fleet.client.hdel(fleet.key("update", "claim"), "fails")
    device.wait_line("^update: paused in the whole fleet after 2", count=2)
    assert len(fleet.entries("begin")) == failed + 2, "failures are counted anew"
    fleet.client.delete(fleet.key("update", "pause"))
    flag.touch()
    device.wait_line("^update: succeeded")


def test_who_waits_for_a_seat_is_in_the_status(fleet):
    devices = [fleet.device({"update": {**HERE, "concurrency": 1, **fleet.body("update", "sleep 1")}}) for _ in range(2)]
    fleet.make_due_here("update", *devices)
    devices[0].start()
    fleet.wait_entry("begin")
    with NotifySocket(fleet.folder / "notify") as notify:
        devices[1].start(NOTIFY_SOCKET=notify.path)
        notify.wait_for("^STATUS=1 job, 1 in a queue; redis ok$", 10)
        notify.wait_for(r"^STATUS=1 job, 1 running \(update\); redis ok$", 10)
