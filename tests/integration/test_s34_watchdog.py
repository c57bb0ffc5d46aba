# SPDX-License-Identifier: MIT
"""S34: the watchdog is fed at twice its rate while the main loop is well, and by nothing else. That no guard and no
plugin stops that is in test_watchdog.py; that systemd restarts a rotad that hangs, in tests/system."""
import signal
import time

import pytest

from fire import PULSE, PULSE_MS, check_pulse
from fleet import ONCE, RENEWED, SLOWNESS, now_ms, wait_for
from notify import NotifySocket

SHORT_S = 0.5 * SLOWNESS
LONG_S = 60.0


@pytest.fixture
def notify(fleet):
    with NotifySocket(fleet.folder / "notify") as the_socket:
        yield the_socket


def start(device, notify, interval_s):
    device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(interval_s * 1_000_000)))
    notify.wait_for("^READY=1$", 10)
    return device


def gaps_of(pings):
    return [later - earlier for earlier, later in zip(pings, pings[1:])]


def check_rate(pings, interval_s):
    gaps = sorted(gaps_of(pings))
    # In minutes a busy machine stands still for a moment.
    assert gaps[len(gaps) * 99 // 100 - 1] < interval_s and gaps[-1] < 2 * interval_s
    assert gaps[len(gaps) // 2] <= 0.52 * interval_s
    assert len(gaps) * interval_s / sum(gaps) < 2.5


def test_s34_two_pings_an_interval_while_jobs_run(fleet, notify):
    fleet.make_due("pulse", "report")
    start(fleet.device({"pulse": {**PULSE, **fleet.body("pulse")},
                        "report": {**RENEWED, **ONCE, **fleet.body("report", "sleep 20")}}), notify, SHORT_S)
    fleet.wait_entry("begin", "report")
    wait_for(lambda: len(notify.pings()) > 16, 16 * SHORT_S, "pings")
    check_rate(notify.pings(), SHORT_S)


@pytest.mark.long
def test_s34_two_pings_a_minute_where_a_minute_is_enough(fleet, notify):
    start(fleet.device({"pulse": {**PULSE, **fleet.body("pulse")}}), notify, LONG_S)
    wait_for(lambda: len(notify.pings()) > 3, 2 * LONG_S, "pings")
    pings = notify.pings()
    check_rate(pings, LONG_S)
    assert min(gaps_of(pings)) > 0.44 * LONG_S


def test_s34_a_blocked_main_loop_stops_them(fleet, notify):
    """The guard of a run, and the worker, go on: they do not ping in its place."""
    fleet.make_due("report")
    device = start(fleet.device({"report": {**RENEWED, **ONCE, "lease": "30s",
                                            **fleet.body("report", "sleep 60")}}), notify, SHORT_S)
    fleet.wait_entry("begin")
    device.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_for(lambda: time.monotonic() - stopped > 3 * SHORT_S, 4 * SHORT_S, "the time is over")
    # One may have been on its way.
    assert [at for at in notify.pings() if at > stopped + SHORT_S] == []
    assert device.guards()
    device.signal(signal.SIGCONT)
    continued = time.monotonic()
    wait_for(lambda: [at for at in notify.pings() if at > continued], 2 * SHORT_S, "they come again")


@pytest.mark.parametrize("seconds", [20, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", ["silent", "refused"])
def test_s34_a_dead_redis_does_not_stop_them(fleet, notify, how, seconds):
    fleet.make_due("pulse")
    device = start(fleet.device({"pulse": {**PULSE, **fleet.body("pulse")}}), notify, SHORT_S)
    fleet.wait_entry("end")
    died = time.monotonic()
    if how == "silent":
        fleet.redis.process.send_signal(signal.SIGSTOP)
    else:
        fleet.redis.kill()
    try:
        wait_for(lambda: time.monotonic() - died > seconds, seconds + 10, "the time is over")
        assert device.runs()
        check_rate([at for at in notify.pings() if at > died], SHORT_S)
        assert notify.texts("^STATUS=")[-1].startswith("STATUS=1 job")
        assert "redis unreachable since" in notify.texts("^STATUS=")[-1]
        assert len(notify.texts("^READY=1$")) == 1 and not notify.texts("^STOPPING=1$")
    finally:
        if how == "silent":
            fleet.redis.process.send_signal(signal.SIGCONT)
        else:
            fleet.redis.start()
    # The turn that was being asked for meanwhile is late.
    back = now_ms() + PULSE_MS
    wait_for(lambda: [entry for entry in fleet.entries("begin") if entry.at > back], 15, "turns are taken again")
    assert check_pulse(fleet, back) > 0
