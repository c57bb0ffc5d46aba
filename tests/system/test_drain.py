# SPDX-License-Identifier: MIT
"""rotactl in a booted system: before an upgrade and a reboot nothing starts, and what runs ends or is handed over."""
import time

import packages
from conftest import LONG, SHORT
from machine import wait_for
from test_life import REDIS, SLEEPER, entries, runs, start_redis

# Lease, splay (a lease's tenth at most) and 1 s, and what a busy machine takes.
TAKEN_OVER_SECONDS = 3 + 0.3 + 1 + 6


def test_drained_it_hands_over_and_stays_drained(boot, release, shared):
    one = boot(release, shared=shared)
    start_redis(one)
    one.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    runs(one)
    two = boot(release, "gate-2", shared=shared)
    two.start({"a": (LONG, "exec sleep 7777")}, top=REDIS)
    two.wait_journal("ready", 20, "-u", "rotad")
    one.out("rotactl", "drain", "--timeout", "1s")
    assert one.processes(SLEEPER) == []
    began = time.monotonic()
    runs(two)
    assert time.monotonic() - began < TAKEN_OVER_SECONDS
    assert entries(one, "ROTA_JOB=a", "ROTA_OUTCOME=declined")
    assert "drained" in one.status()
    assert one.show("rotad.service", "ActiveState") == "active"
    two.out("systemctl", "stop", "rotad.service")
    # No attempt was counted for what was handed over.
    [entry] = entries(two, "ROTA_JOB=a", "ROTA_OUTCOME=declined")
    assert entry["ROTA_ATTEMPT"] == "1"
    one.out("rotactl", "undrain")
    runs(one)


def test_an_upgrade_lets_a_run_end_first(device):
    """The run outlives the old package's last word, and the new rotad takes turns again."""
    device.start({"a": (SHORT.replace("500ms", "20s"), "echo began; sleep 5; echo ended")})
    device.wait_journal("began", 20)
    device.install(packages.debs(device.release)["rota"])
    assert "ended" in device.journal("-t", "a").splitlines()
    assert not entries(device, "ROTA_JOB=a", "ROTA_OUTCOME=declined")
    assert "drained" not in device.status()
    began = device.journal("-t", "a").count("began")
    wait_for(lambda: device.journal("-t", "a").count("began") > began, 30, "it takes turns again")


def test_a_reload_by_rotactl_says_what_is_wrong(device):
    device.start({"a": (SHORT, "true")})
    device.configure({"a": (SHORT + " colour = 3;", "true")})
    done = device.run("rotactl", "reload", check=False)
    assert done.returncode == 78 and "test.conf:2: job 'a': " in done.stdout + done.stderr


def test_a_job_may_not_say_anything_there(device):
    for user, ended in (("rota-job", {77}), ("rota", {0, 1})):  # 1: of jobs that need a look
        done = device.run("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "rotactl", "status", check=False)
        assert done.returncode in ended, done
