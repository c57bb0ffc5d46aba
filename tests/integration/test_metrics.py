# SPDX-License-Identifier: MIT
"""rotactl metrics, and metrics_file: every number of a device, as a collector reads it."""
import getpass
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import openmetrics
from fleet import LOCAL, ONCE, ONCE_MS, PREFIX, RENEWED, SHORT, wait_for
from guard_harness import ROOT
from openmetrics import value
from rotactl import rotactl, wait_started

PAGE = (ROOT / "docs/rotactl.1.scd").read_text()


def text_of(device, *words):
    done = rotactl(device, "metrics", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def metrics_of(device):
    return openmetrics.read(text_of(device))


def wait_metrics(device, condition, what, within=20):
    """What it says when the condition holds of that."""
    def there():
        found = metrics_of(device)
        return found if condition(found) else None
    return wait_for(there, within, what)


def idle(fleet, name, **settings):
    return {name: {**SHORT, **ONCE, **fleet.body(name), **settings}}


def test_runs_of_a_device(fleet):
    count = fleet.folder / "count"
    body = f"echo x >>{count}; [ $(wc -l <{count}) -gt 2 ] && exit 0; exit 1"
    jobs = {"job": {**SHORT, **ONCE, "first": "now", **fleet.body("job", body)}, **idle(fleet, "idle"),
            "wrong": {"plugin": "exec", "every": "1h"}, "off": {**SHORT, **ONCE, **fleet.body("off"), "enabled": False}}
    begun = time.time()
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^job: succeeded in .*, attempt 3 of 3", 20)
    found = metrics_of(device)
    assert (value(found, "rota_job_runs_total", job_name="job", outcome="succeeded"),
            value(found, "rota_job_runs_total", job_name="job", outcome="failed"),
            value(found, "rota_job_runs_total", job_name="idle", outcome="failed")) == (1, 2, 0)
    assert begun < value(found, "rota_job_last_success_timestamp_seconds", job_name="job") <= time.time() + 1
    assert value(found, "rota_job_last_success_timestamp_seconds", job_name="idle") is None
    times = [value(found, "rota_job_run_time_seconds", job_name="job", of=of) for of in ("median", "p95", "longest")]
    assert 0 < times[0] <= times[1] <= times[2] < 2
    assert value(found, "rota_job_worst_case_seconds", job_name="job") == 2
    assert value(found, "rota_job_period_seconds", job_name="idle") == 366 * 86_400
    assert value(found, "rota_job_next_turn_timestamp_seconds", job_name="idle") % (366 * 86_400) == 0
    assert [value(found, "rota_jobs", state=state) for state in ("runs", "invalid", "disabled", "elsewhere")] == [2, 1, 1, 0]
    assert value(found, "rota_job_barred", job_name="wrong", reason="invalid") == 1
    assert value(found, "rota_configuration_mistakes") == 1
    info, = found["rota_info"].samples
    assert dict(info)["device"] == "gate-1" and re.fullmatch(r"\d+\.\d+\.\d+", dict(info)["version"])
    assert begun - 2 < value(found, "rota_start_timestamp_seconds") <= value(found, "rota_metrics_timestamp_seconds")
    assert 100_000 < value(found, "rota_memory_bytes", kind="private_dirty") < value(found, "rota_memory_bytes", kind="resident")
    assert value(found, "rota_cpu_seconds_total") > 0
    assert not any(name.startswith("rota_redis") for name in found)


def test_both_ways_to_write_it_say_the_same(fleet):
    device = wait_started(fleet.device(idle(fleet, "job"), **LOCAL).start())
    plain = metrics_of(device)
    strict = openmetrics.read(text_of(device, "--openmetrics"), strict=True)
    assert [name.removesuffix("_total") for name in plain] == list(strict)
    assert [list(family.samples) for family in plain.values()] == [list(family.samples) for family in strict.values()]
    with pytest.raises(openmetrics.Mistake):
        openmetrics.read(text_of(device), strict=True)


def test_every_name_is_in_the_manual(fleet):
    """And nothing else is."""
    jobs = {"job": {**RENEWED, **ONCE, "first": "now", **fleet.body("job", "sleep 20")}, **idle(fleet, "idle")}
    device = wait_started(fleet.device(jobs).start())
    found = wait_metrics(device, lambda found: value(found, "rota_job_renewals_total", job_name="job") >= 2, "it is renewed")
    found |= openmetrics.read(text_of(device, "--fleet"))
    shown = {name for line in PAGE.splitlines() if line.startswith("*rota_") for name in re.findall(r"\*(rota_\w+)\*", line)}
    assert set(found) == shown - {"rota_redis_servers", "rota_redis_servers_up"}  # a quorum's: test_status_topology.py
    assert 0 < value(found, "rota_job_renewal_margin_seconds", job_name="job") <= 1.45
    assert value(found, "rota_job_renewal_margin_seconds", job_name="idle") is None
    left = value(found, "rota_job_lease_end_timestamp_seconds", job_name="job") - value(found, "rota_metrics_timestamp_seconds")
    assert 0 < left <= 3.1
    assert value(found, "rota_job_running", job_name="job") == 1


def test_turns_of_others_and_takeovers(fleet):
    jobs = {"job": {**RENEWED, **ONCE, "first": "now", "attempts": 2, **fleet.body("job", "sleep 20")}}
    first = wait_started(fleet.device(jobs).start())
    fleet.wait_entry("begin", "job", 20)
    other = wait_started(fleet.device(jobs).start())
    wait_for(lambda: other.lines("^job: .*gate-1"), 20, "it has been refused")
    first.kill()
    found = wait_metrics(other, lambda found: value(found, "rota_job_takeovers_total", job_name="job") == 1, "it takes over")
    assert value(found, "rota_job_turns_passed_total", job_name="job", reason="error") == 0


def test_redis_comes_and_goes(fleet):
    device = wait_started(fleet.device(idle(fleet, "job")).start())
    found = wait_metrics(device, lambda found: value(found, "rota_clock_known") == 1, "it has asked Redis")
    assert (value(found, "rota_redis_up"), value(found, "rota_redis_connections_total")) == (1, 1)
    sent, received = (value(found, f"rota_redis_{way}_bytes_total") for way in ("sent", "received"))
    stats = fleet.client.info("stats")
    assert 100 < sent <= stats["total_net_input_bytes"] and 50 < received <= stats["total_net_output_bytes"]
    assert abs(value(found, "rota_clock_offset_seconds")) < 1 and value(found, "rota_redis_trip_seconds") < 2
    fleet.redis.kill()
    fleet.redis.start()
    assert rotactl(device, "history", "job").returncode == 0
    again = wait_metrics(device, lambda found: value(found, "rota_redis_connections_total") == 2, "it has a new connection")
    assert value(again, "rota_redis_sent_bytes_total") > sent
    fleet.redis.kill()
    assert rotactl(device, "history", "job").returncode == 1
    down = wait_metrics(device, lambda found: value(found, "rota_redis_up") == 0, "it has noticed")
    assert value(down, "rota_redis_sent_bytes_total") >= value(again, "rota_redis_sent_bytes_total")


def test_the_fleets_clock_jumps(timed_fleet):
    fleet = timed_fleet
    device = wait_started(fleet.device(idle(fleet, "job")).start())
    found = wait_metrics(device, lambda found: value(found, "rota_clock_known") == 1, "it knows the time")
    assert value(found, "rota_clock_jumps_total") == 0
    before = value(found, "rota_clock_offset_seconds")
    fleet.redis.clock.add(3_600_000)

    def jumped():
        rotactl(device, "run", "job")  # a reply says what time it is
        after = metrics_of(device)
        return after if value(after, "rota_clock_jumps_total") == 1 else None
    after = wait_for(jumped, 20, "it has noticed")
    assert abs(before - value(after, "rota_clock_offset_seconds") - 3600) < 2


# --- the fleet ---

def fleet_metrics(device):
    return openmetrics.read(text_of(device, "--fleet"))


def test_devices_and_what_others_have_written(fleet):
    """Names and versions may be anything that somebody has put into Redis."""
    device = wait_started(fleet.device(idle(fleet, "job")).start())
    wait_metrics(device, lambda found: value(found, "rota_clock_known") == 1, "it has said hello")
    key, now = f"{PREFIX}{{_fleet}}:devices", int(time.time() * 1000)
    wait_for(lambda: fleet.client.hlen(key) == 1, 10, "it is known")
    record, = fleet.client.hvals(key)
    words = record.split(" ")
    fleet.client.hset(key, mapping={
        "gate-7": " ".join([str(now - 60_000), *words[1:3], 'a"}\\\x1b', *words[4:]]),
        "gate-8": " ".join([str(now - 2 * 86_400_000), *words[1:]])})
    fleet.client.hset(f"{PREFIX}{{_fleet}}:jobs", mapping={'x"} 1\nrota_up 0': 5, "old": 1000})
    found = fleet_metrics(device)
    assert [value(found, "rota_fleet_devices", state=state) for state in ("heard", "silent")] == [2, 1]
    assert value(found, "rota_fleet_versions", version='a"}\\\\x1b') == 1 and len(found["rota_fleet_versions"].samples) == 2
    assert value(found, "rota_fleet_configurations") == 1
    assert {dict(labels)["job_name"] for labels in found["rota_fleet_job_paused"].samples} == {"job", "old"}
    assert value(found, "rota_fleet_job_last_turn_timestamp_seconds", job_name="old") is None  # Redis has no record of it
    assert value(found, "rota_fleet_job_overdue_turns", job_name="old") is None
    assert [value(found, "rota_fleet_job_configurations", job_name=job) for job in ("job", "old")] == [1, 0]


def test_a_run_whose_lock_is_gone_is_none(fleet):
    """Its device has vanished, and the job may be late."""
    device = wait_started(fleet.device(idle(fleet, "job")).start())
    wait_metrics(device, lambda found: value(found, "rota_clock_known") == 1, "it has asked Redis")
    token, turn = "gate-7:" + "0" * 32, ONCE_MS
    wait_for(lambda: fleet.claim("job"), 10, "the job is known")
    fleet.client.hset(fleet.key("job", "claim"), mapping={
        "turn": turn, "attempt": 1, "token": token, "state": "running", "done": turn - ONCE_MS + 1, "started": turn})
    fleet.client.set(fleet.key("job", "lock"), token)
    for running in (1, 0):
        found = fleet_metrics(device)
        assert value(found, "rota_fleet_job_running", job_name="job") == running
        assert value(found, "rota_fleet_job_overdue_turns", job_name="job") > 50
        fleet.client.delete(fleet.key("job", "lock"))


def test_a_job_on_each_device(fleet):
    job = {**SHORT, **ONCE, "scope": "device", "splay": "0s", "attempts": 1,
           **fleet.body("update", '[ "$ROTA_JOB" ] && [ -e "$ROTA_TEST/well" ] && exit 0; touch "$ROTA_TEST/well"; exit 1')}
    devices = [fleet.device({"update": job}) for _ in range(2)]
    fleet.make_due_here("update", *devices)
    for device in devices:
        wait_started(device.start())

    def settled():
        found = fleet_metrics(devices[0])
        states = [value(found, "rota_fleet_job_devices", job_name="update", state=state)
                  for state in ("done", "running", "to_go")]
        return found if states == [1, 0, 1] else None
    found = wait_for(settled, 20, "one has done it")
    for name in ("running", "given_up", "overdue_turns"):
        assert value(found, f"rota_fleet_job_{name}", job_name="update") is None


def test_redis_cannot_be_asked_for_the_fleet(fleet):
    device = wait_started(fleet.device(idle(fleet, "job")).start())
    wait_metrics(device, lambda found: value(found, "rota_clock_known") == 1, "it has asked Redis")
    fleet.redis.kill()
    done = rotactl(device, "metrics", "--fleet")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("rotactl: Redis cannot be asked: ")


# --- metrics_file ---

def wait_file(path, former=None):
    """What is in it, when that is another one than before."""
    def there():
        try:
            return path.stat() if path.stat().st_ino != former else None
        except FileNotFoundError:
            return None
    status = wait_for(there, 20, f"{path.name} is written")
    assert status.st_mode & 0o7777 == 0o644
    return status.st_ino, openmetrics.read(path.read_text())


def test_file_is_there_soon_and_gone_at_the_end(fleet):
    path = fleet.folder / "rota.prom"
    device = fleet.device(idle(fleet, "job"), metrics_file=path, **LOCAL).start()
    _, found = wait_file(path)
    assert value(found, "rota_jobs", state="runs") == value(found, "rota_job_stuck", job_name="job") + 1 == 1
    assert abs(value(found, "rota_metrics_timestamp_seconds") - path.stat().st_mtime) < 2
    assert os.listdir(fleet.folder).count("rota.prom.new") == 0
    assert device.stop() == 0
    assert not path.exists() and not (fleet.folder / "rota.prom.new").exists()


def test_file_is_left_alone_for_a_minute(fleet):
    """However much happens."""
    path = fleet.folder / "rota.prom"
    jobs = {"job": {**SHORT, "every": "1s", "splay": "0s", "worst_case": "500ms", **fleet.body("job")}}
    fleet.device(jobs, metrics_file=path, **LOCAL).start()
    inode, _ = wait_file(path)
    fleet.wait_entry("end", "job", 30, count=len(fleet.entries("end")) + 4)
    assert path.stat().st_ino == inode


@pytest.mark.long
def test_file_is_written_again_after_a_minute_and_not_without_a_change(fleet):
    path = fleet.folder / "rota.prom"
    jobs = {"job": {**SHORT, "every": "15s", "splay": "0s", **fleet.body("job")}}
    device = fleet.device(jobs, metrics_file=path, **LOCAL).start()
    inode, first = wait_file(path)
    inode, second = wait_for(lambda: path.stat().st_ino != inode and wait_file(path, inode), 90, "it is written again")
    assert 59.9 <= value(second, "rota_metrics_timestamp_seconds") - value(first, "rota_metrics_timestamp_seconds") < 80
    assert value(second, "rota_job_runs_total", job_name="job", outcome="succeeded") >= 3
    device.write(idle(fleet, "job"), metrics_file=path)
    device.signal(signal.SIGHUP)
    inode, _ = wait_for(lambda: path.stat().st_ino != inode and wait_file(path, inode), 90, "the reload is a change")
    with pytest.raises(AssertionError):
        wait_for(lambda: path.stat().st_ino != inode, 75, "and that was all")


def test_file_follows_the_configuration(fleet):
    """At once, not after a minute."""
    path, other = fleet.folder / "rota.prom", fleet.folder / "other.prom"
    device = wait_started(fleet.device(idle(fleet, "job"), **LOCAL).start())
    for name, gone in ((path, other), (other, path)):
        device.write(idle(fleet, "job"), metrics_file=name)
        device.signal(signal.SIGHUP)
        wait_file(name)
        wait_for(lambda: not gone.exists(), 20, "the former one is gone")
    # What cannot be written leaves no file that is never brought up to date again.
    device.write(idle(fleet, "job"), metrics_file=fleet.folder / "missing" / "rota.prom")
    device.signal(signal.SIGHUP)
    wait_for(lambda: not other.exists(), 20, "the former one is gone")
    device.write(idle(fleet, "job"), metrics_file=path)
    device.signal(signal.SIGHUP)
    wait_file(path)
    device.write(idle(fleet, "job"))
    device.signal(signal.SIGHUP)
    wait_for(lambda: not path.exists(), 20, "it is gone")


def test_nobody_is_followed(fleet):
    """What stands at the place of the new file is replaced; so is a link at the place of the file itself."""
    path, victim = fleet.folder / "rota.prom", fleet.folder / "victim"
    victim.write_text("mine\n")
    path.symlink_to(victim)
    (fleet.folder / "rota.prom.new").symlink_to(victim)
    fleet.device(idle(fleet, "job"), metrics_file=path, **LOCAL).start()
    wait_for(lambda: not path.is_symlink(), 20, "the link is replaced")
    wait_file(path)
    assert victim.read_text() == "mine\n"


def said_of_file(device, **settings):
    device.wait_line("metrics_file", 20)
    return [(line.level, line.text) for line in device.lines("metrics_file") if "reload" not in line.text]


@pytest.mark.parametrize("place, why, advice", [
    ("missing/rota.prom", "No such file or directory", "make its folder, or write another path"),
    ("ledger/rota.prom", "Not a directory", "make its folder, or write another path"),
    ("plugins", "Is a directory", "write the path of a file"),
])
def test_what_is_said_where_it_cannot_be_written(fleet, place, why, advice):
    path = fleet.folder / place
    jobs = {"job": {**SHORT, "every": "1s", "splay": "0s", "worst_case": "500ms", **fleet.body("job")}}
    device = fleet.device(jobs, metrics_file=path, **LOCAL).start()
    device.wait_line("metrics_file", 20)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded", 20)
    fleet.wait_entry("end", "job", 30, count=len(fleet.entries("end", "job")) + 3)  # by now it was tried again
    assert said_of_file(device) == [("warning", f"metrics_file '{path}' cannot be written: {why}; {advice}")]
    assert not list(fleet.folder.glob("**/*.new"))


def test_what_is_said_of_another_path(fleet):
    """Who writes a second one that is wrong is told of it, too."""
    first, second = fleet.folder / "missing" / "rota.prom", fleet.folder / "ledger" / "rota.prom"
    jobs = idle(fleet, "job")
    device = fleet.device(jobs, metrics_file=first, **LOCAL).start()
    device.wait_line("metrics_file", 20)
    device.write(jobs, metrics_file=second)
    device.signal(signal.SIGHUP)
    device.wait_line("metrics_file", 20, count=2)
    good = fleet.folder / "rota.prom"
    device.write(jobs, metrics_file=good)
    device.signal(signal.SIGHUP)
    wait_file(good)
    assert [text.split("'")[1] for _, text in said_of_file(device)] == [str(first), str(second)]


def test_what_is_said_where_it_can_be_written_again(fleet):
    path = fleet.folder / "missing" / "rota.prom"
    device = fleet.device(idle(fleet, "job"), metrics_file=path, **LOCAL).start()
    device.wait_line("metrics_file", 20)
    path.parent.mkdir()
    device.signal(signal.SIGHUP)
    wait_file(path)
    device.wait_line("written again", 20)
    assert said_of_file(device)[1:] == [("notice", f"metrics_file '{path}' is written again")]


@pytest.mark.skipif(getpass.getuser() != "root", reason="only root can mount")
def test_a_full_disk(fleet):
    folder = fleet.folder / "small"
    folder.mkdir()
    fleet.enter = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size=4k none {folder} && exec "$@"', "sh"]
    jobs = {}
    for number in range(10):
        jobs |= idle(fleet, f"job-{number}")
    device = fleet.device(jobs, metrics_file=folder / "rota.prom", **LOCAL).start()
    (level, text), = said_of_file(device)
    assert (level, text) == ("warning", f"metrics_file '{folder}/rota.prom' cannot be written: No space left on device; "
                                        "make room there")


# --- others' readers ---

@pytest.mark.long
@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_takes_it(fleet):
    jobs = {"job": {**RENEWED, **ONCE, "first": "now", **fleet.body("job", "sleep 20")}, **idle(fleet, "idle")}
    device = wait_started(fleet.device(jobs).start())
    wait_metrics(device, lambda found: value(found, "rota_job_renewals_total", job_name="job") >= 1, "it is renewed")
    for words in ((), ("--fleet",)):
        done = subprocess.run(["promtool", "check", "metrics"], input=text_of(device, *words), text=True,
                              capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
