# SPDX-License-Identifier: MIT
"""A rotad in systemd's hands: its jobs run, it is reloaded and stopped, it hangs, is killed, and comes back."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import LONG, SHORT
from machine import wait_for

TREE = pathlib.Path(__file__).resolve().parents[2]
SLEEPER = "^sleep 7777"
# Nobody's turn to take over, so its grace may be long.
SLOW = 'plugin = "exec"; every = "2s"; worst_case = "%s"; stop_grace = "%s"; attempts = 1;'
REDIS = ('prefix = "test:"; redis = { address = "unix:/shared/redis.sock"; connect_timeout = "500ms"; '
         'command_timeout = "300ms"; };')


def runs(device, pattern=SLEEPER, seconds=30):
    """Waits until the job's process is there."""
    return wait_for(lambda: device.processes(pattern), seconds,
                    lambda: f"the job runs: {device.journal('-u', 'rotad')[-3000:]}")


def entries(device, *words):
    """The journal's entries with all their fields, the oldest first."""
    return [json.loads(line) for line in device.out("journalctl", "-o", "json", *words).splitlines()]


def start_redis(device):
    """A Redis for all machines that share the folder."""
    device.out("systemd-run", "--quiet", "--unit=shared-redis", "redis-server", "--port", "0", "--save", "",
               "--unixsocket", "/shared/redis.sock", "--unixsocketperm", "777", "--dir", "/tmp")
    wait_for(lambda: "PONG" in redis(device, "ping"), 20, "redis answers")


def redis(device, *words):
    return device.run("redis-cli", "-s", "/shared/redis.sock", *words, check=False).stdout


@pytest.fixture
def with_redis(boot, release, shared):
    device = boot(release, shared=shared)
    start_redis(device)
    return device


def test_a_run_here_is_one_entry_with_its_fields(device):
    device.start({"a": (SHORT, "true")})
    device.wait_journal("a: succeeded", 20)
    entry = entries(device, "ROTA_JOB=a", "ROTA_OUTCOME=succeeded")[0]
    assert entry["PRIORITY"] == "6" and entry["_SYSTEMD_UNIT"] == "rotad.service"
    assert int(entry["ROTA_TURN"]) % 1000 == 0 and int(entry["ROTA_FENCE"]) > 0 and entry["ROTA_ATTEMPT"] == "1"
    assert device.status().startswith("1 job; next a at ")


def test_the_journal_has_the_jobs_lines_and_explains_ours(device):
    device.start({"a": (SHORT, "echo said by the job")})
    device.wait_journal("a: succeeded", 20)
    assert "said by the job" in device.journal("-t", "a").splitlines()
    assert "Subject: a ran and its turn is done" in device.out("journalctl", "--no-pager", "-x", "-t", "rotad")


def test_a_job_runs_under_its_lock_in_redis(with_redis):
    with_redis.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    runs(with_redis)
    assert "1 running" in with_redis.status()
    lock = redis(with_redis, "get", "test:{a}:lock").strip()
    assert lock.startswith("gate-1"), redis(with_redis, "keys", "*")


def test_reload_good_and_bad(device):
    device.start({"a": (SHORT, "true")})
    pid = device.rotad()
    device.configure({"a": (SHORT, "true"), "b": (SHORT, "true")})
    device.out("systemctl", "reload", "rotad.service")
    device.wait_journal("b: succeeded", 20)
    assert device.status().startswith("2 jobs")
    device.configure({"a": (SHORT + " colour = 3;", "true")})
    done = device.run("systemctl", "reload", "rotad.service", check=False)
    # A later one sends the signal itself, and hears no more than that the reload is over.
    assert (done.returncode != 0) == (device.release == "bookworm")
    device.wait_journal("reload: refused for the mistakes above", 20)
    device.wait_journal("test.conf:2: job 'a': ", 20)
    assert device.status().startswith("2 jobs")
    assert device.rotad() == pid and device.show("rotad.service", "ActiveState") == "active"


def test_a_reload_may_take_longer_than_systemd_grants(device, tmp_path):
    """rotad tells how long it may take: the plugins that hang have 5 s each, two at a time."""
    subprocess.run(["gcc", "-shared", "-fPIC", "-DHANGS", f"-I{TREE}/plugins/include", "-o", tmp_path / "hangs.so",
                    TREE / "tests/integration/plugins/broken.c"], check=True)
    plugin, jobs = device.put(tmp_path / "hangs.so"), {"a": (SHORT, "true")}
    for number in range(3):
        device.out("cp", plugin, f"/usr/lib/rota/hangs{number}.so")
        jobs[f"b{number}"] = (SHORT.replace("exec", f"hangs{number}"), "true")
    device.drop_in("TimeoutStartSec=3s")
    device.start({"a": (SHORT, "true")})
    device.configure(jobs)
    begun = time.monotonic()
    device.run("systemctl", "reload", "rotad.service", check=False)
    device.wait_journal("reload: refused for the mistakes above", 40)
    assert time.monotonic() - begun >= 10
    wait_for(lambda: device.show("rotad.service", "SubState") == "running", 10, "systemd knows that it is over")
    assert device.show("rotad.service", "ReloadResult") == ("exit-code" if device.release == "bookworm" else "success")
    assert "timed out" not in device.journal("-u", "rotad")


def test_a_stop_during_a_reload_is_no_failure(device):
    """Several times, since what systemd ends and what ends by itself race."""
    device.configure({"a": (SHORT, "true")})
    for _ in range(3):
        device.out("systemctl", "restart", "rotad.service")
        wait_for(lambda: device.status().startswith("1 job"), 20, device.status)
        device.out("systemctl", "reload", "--no-block", "rotad.service")
        device.out("systemctl", "stop", "rotad.service")
        assert device.show("rotad.service", "Result") == "success", device.journal("-u", "rotad")[-2000:]


def test_stop_during_a_job(with_redis):
    with_redis.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    runs(with_redis)
    with_redis.out("systemctl", "stop", "rotad.service")
    assert with_redis.processes(SLEEPER + "|rota-guard|rotad") == []
    assert with_redis.show("rotad.service", "Result") == "success"
    assert with_redis.show("rotad.service", "ExecMainStatus") == "0"
    assert redis(with_redis, "exists", "test:{a}:lock").strip() == "0"
    assert entries(with_redis, "ROTA_JOB=a", "ROTA_OUTCOME=declined")


def test_a_stop_takes_as_long_as_the_job_needs(device):
    """Longer than TimeoutStopSec, and systemd does not kill it: rotad asks for more time."""
    device.drop_in("TimeoutStopSec=2s")
    device.start({"a": (SLOW % ("10m", "20s"), "trap 'sleep 5; echo put away; exit' TERM; echo began; while :; do sleep 1; done")})
    device.wait_journal("began", 20, "-t", "a")
    device.out("systemctl", "stop", "rotad.service")
    assert "put away" in device.journal("-t", "a")
    assert device.show("rotad.service", "Result") == "success"
    assert entries(device, "ROTA_JOB=a", "ROTA_OUTCOME=declined")


def test_killed_it_is_back_and_its_job_is_gone(with_redis):
    with_redis.drop_in("RestartSec=500ms")
    with_redis.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    runs(with_redis)
    killed = with_redis.rotad()
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: with_redis.processes("^/usr/sbin/rotad ") not in ([], [killed]), 20, "rotad is back")
    assert with_redis.show("rotad.service", "NRestarts") == "1"
    assert with_redis.processes(SLEEPER) == []
    # Nobody deletes the lock after a crash.
    assert redis(with_redis, "exists", "test:{a}:lock").strip() == "1"


def test_frozen_it_is_restarted_and_another_takes_over(with_redis, boot, shared):
    """Its tree ends in time, with nobody's help; the lock expires by itself; the watchdog ends rotad, and it is back."""
    with_redis.drop_in("WatchdogSec=8s\nRestartSec=500ms" + ("\nRestartSteps=0" if with_redis.release != "bookworm" else ""))
    with_redis.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    runs(with_redis)
    other = boot(with_redis.release, "gate-2", shared=shared)
    other.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    other.wait_journal("ready", 20, "-u", "rotad")
    assert redis(with_redis, "get", "test:{a}:lock").startswith("gate-1-")
    frozen = with_redis.rotad()
    os.kill(frozen, signal.SIGSTOP)
    wait_for(lambda: not with_redis.processes(SLEEPER), 20, "the frozen rotad's job has ended")
    runs(other)
    assert redis(with_redis, "get", "test:{a}:lock").startswith("gate-2-")
    wait_for(lambda: with_redis.show("rotad.service", "NRestarts") == "1", 40, "the watchdog has seen it")
    wait_for(lambda: with_redis.show("rotad.service", "ActiveState") == "active", 20, "it is back")
    assert "Watchdog timeout" in with_redis.journal("-u", "rotad")
    assert with_redis.rotad() != frozen and with_redis.processes(SLEEPER + "|rota-guard") == []
    # Nobody ended the new holder's run.
    assert redis(with_redis, "get", "test:{a}:lock").startswith("gate-2-") and other.processes(SLEEPER)


def test_a_frozen_guard_is_not_rotads_trouble(device):
    """Guard, worker and job stand still for longer than the watchdog waits: rotad ends them, and is not restarted."""
    device.drop_in("WatchdogSec=3s")
    device.start({"a": (SLOW % ("6s", "100ms"), "exec sleep 7777")})
    runs(device)
    rotad = device.rotad()
    for pid in device.processes(SLEEPER + "|rota-guard"):
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: entries(device, "MESSAGE_ID=f2222e95882d48b09233317e43e4c024"), 60, lambda: device.journal("-u", "rotad"))
    assert device.rotad() == rotad and device.show("rotad.service", "NRestarts") == "0"


def test_a_wrong_secret_is_said_and_a_right_one_taken(with_redis):
    redis(with_redis, "config", "set", "requirepass", "sesame")
    with_redis.write("/etc/rota/redis.password", "open\n", 0o600)
    with_redis.out("chown", "rota:rota", "/etc/rota/redis.password")
    with_redis.start({"a": (SHORT, "true")}, top=REDIS.replace("; };", '; password_file = "/etc/rota/redis.password"; };'))
    with_redis.wait_journal("WRONGPASS", 20, "-u", "rotad")
    assert with_redis.show("rotad.service", "ActiveState") == "active"
    with_redis.write("/etc/rota/redis.password", "sesame\n", 0o600)
    with_redis.out("chown", "rota:rota", "/etc/rota/redis.password")
    with_redis.wait_journal("a: succeeded", 60, "-u", "rotad")


@pytest.mark.long
def test_redis_is_away_for_five_minutes(with_redis):
    """The watchdog never bites meanwhile, and the job's turns go on when it is back."""
    with_redis.drop_in("WatchdogSec=6s")
    with_redis.start({"a": (SHORT, "true")}, top=REDIS)
    with_redis.wait_journal("a: succeeded", 20, "-u", "rotad")
    pid = with_redis.rotad()
    with_redis.out("systemctl", "stop", "shared-redis.service")
    back = int(time.time()) + 300
    wait_for(lambda: time.time() >= back, 330, "time passes")
    assert with_redis.rotad() == pid and with_redis.show("rotad.service", "NRestarts") == "0"
    start_redis(with_redis)
    wait_for(lambda: entries(with_redis, "--since", f"@{back}", "ROTA_JOB=a", "ROTA_OUTCOME=succeeded"), 60,
             lambda: with_redis.journal("-u", "rotad")[-3000:])
