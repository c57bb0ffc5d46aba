# SPDX-License-Identifier: MIT
"""What the service manager hears; no guard, plugin or Redis can stop the watchdog's pings."""
import os
import pathlib
import signal

import pytest

from fleet import ONCE, RENEWED, SANITIZED, SHORT, is_alive, wait_for
from guard_harness import PLUGINS, compile_plugin
from notify import NotifySocket

INTERVAL = 2.0 if SANITIZED else 1.0


@pytest.fixture
def notify(fleet):
    with NotifySocket(fleet.folder / "notify") as the_socket:
        yield the_socket


def start(device, notify):
    return device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL * 1_000_000)))


def check_pings(notify, since, least):
    """As many as that since then, and never an interval without one."""
    wait_for(lambda: len([at for at in notify.pings() if at >= since]) >= least,
             (least + 2) * INTERVAL, "the pings go on")
    pings = notify.pings()
    gaps = sorted(later - earlier for earlier, later in zip(pings, pings[1:]))
    assert gaps[-1] < INTERVAL
    assert gaps[len(gaps) // 2] <= 0.55 * INTERVAL


def test_what_the_service_manager_hears(fleet, notify):
    fleet.make_due("report")
    jobs = {"report": {**SHORT, **ONCE, **fleet.body("report", 'env >"$0.env"; sleep 1')}}
    device = start(fleet.device(jobs), notify)
    notify.wait_for("^READY=1$", 10)
    notify.wait_for(r"^STATUS=1 job, 1 running \(report\); redis ok$", 5)
    fleet.wait_entry("end")
    notify.wait_for(r"^STATUS=1 job; next report at .* UTC; redis ok$", 5)
    assert "NOTIFY_SOCKET" not in pathlib.Path(f"{fleet.folder}/report.sh.env").read_text()
    device.signal(signal.SIGHUP)
    notify.wait_for("^RELOADING=1$", 10)
    notify.wait_for("^READY=1$", 10, count=2)
    assert device.stop() == 0
    notify.wait_for("^STOPPING=1$", 2)
    assert notify.texts("^EXTEND_TIMEOUT_USEC=[0-9]+$")
    # A line for people is one line, and they are all told apart.
    statuses = notify.texts("^STATUS=")
    assert all("\n" not in status for status in statuses)
    assert all(earlier != later for earlier, later in zip(statuses, statuses[1:]))
    known = {"READY", "STATUS", "RELOADING", "MONOTONIC_USEC", "STOPPING", "EXTEND_TIMEOUT_USEC",
             "WATCHDOG"}
    lines = [line for text in notify.texts() for line in text.splitlines()]
    assert {line.partition("=")[0] for line in lines} == known


def test_hanging_plugin_does_not_stop_the_pings(fleet, notify):
    compile_plugin(fleet.plugins, PLUGINS / "broken.c", "hangs", ["HANGS"])
    fleet.make_due("report")
    jobs = {"hangs": {**SHORT, **ONCE, "plugin": "hangs"},
            "report": {**SHORT, **ONCE, **fleet.body("report")}}
    device = start(fleet.device(jobs), notify)
    notify.wait_for("^READY=1$", 2)
    fleet.wait_entry("end", "report", within=20)
    device.wait_line("^hangs is invalid, the other 1 job runs: .*")
    assert len(notify.pings()) >= 4 / (INTERVAL / 2)  # a plugin has 5 s in a probe
    check_pings(notify, 0, 10)


def test_stopped_guard_and_frozen_redis_do_not_stop_the_pings(fleet, notify):
    fleet.make_due("report")
    jobs = {"report": {**RENEWED, **ONCE, "attempts": 1, **fleet.body("report", "sleep 60")}}
    device = start(fleet.device(jobs), notify)
    begin = fleet.wait_entry("begin")
    guard, = device.guards()
    os.kill(guard, signal.SIGSTOP)
    fleet.redis.process.send_signal(signal.SIGSTOP)
    frozen = notify.pings()[-1]
    try:
        device.wait_line("does not answer")
        # The worker's own timer, and the guard's, act where the guard cannot.
        wait_for(lambda: not is_alive(begin.pid) and not is_alive(guard), 6,
                 "guard and worker are gone")
        check_pings(notify, frozen, 10)
        notify.wait_for(r"^STATUS=1 job.*; redis unreachable since .* UTC, 0 turns missed$", 2)
    finally:
        fleet.redis.process.send_signal(signal.SIGCONT)
    device.wait_line("answers again after")
    check_pings(notify, frozen, 14)
