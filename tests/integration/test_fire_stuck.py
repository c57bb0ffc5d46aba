# SPDX-License-Identifier: MIT
"""A tree that cannot be killed, as in uninterruptible sleep: a frozen cgroup v1, which SIGKILL does
not reach."""
import time

import fire
import pytest
from fire import Freezer, alive, behaving, needs_freezer, noted, wait_tree
from fleet import PREFIX, is_alive, now_ms, wait_for
from notify import NotifySocket

INTERVAL = 1.0


def turns_of(fleet, job):
    return fleet.claim(job).get("attempt"), fleet.claim(job).get("turn")


def watch_for(seconds, look):
    """Looks again and again until the time is over."""
    end = time.monotonic() + seconds

    def over():
        look()
        return time.monotonic() >= end
    wait_for(over, seconds + 5, "the time is over")


def check_pings(notify, since):
    pings = [at for at in notify.pings() if at >= since]
    gaps = [later - earlier for earlier, later in zip(pings, pings[1:])]
    # In ten minutes a busy machine stands still for a moment.
    assert len(pings) >= (time.monotonic() - since) / INTERVAL and max(gaps) < 2 * INTERVAL


def stay_stuck(fleet, device, notify, pids, seconds):
    """Its lock is left alone and expires, it is not started again, all else goes on."""
    since, since_ms = time.monotonic(), now_ms()
    expired = []

    def look():
        assert device.runs() and any(is_alive(pid) for pid in pids)
        if not fleet.lock("report"):
            expired.append(time.monotonic())
        else:
            assert not expired, "the lock was taken again"
    watch_for(seconds, look)
    assert expired and expired[0] - since < 4
    assert len(noted(fleet, "report")) == len(pids)
    check_pings(notify, since)
    count = fire.check_pulse(fleet, since_ms)
    assert count >= seconds * 1000 / fire.PULSE_MS / fire.SLOWNESS - 1
    assert len(device.lines("^report: something that it started cannot be killed; ")) == 1


def play_stuck(fleet, seconds):
    fire.behave(fleet)
    fleet.make_due("pulse", "report")
    # Due every 2 s, so that a device that could start it would.
    device = fleet.device({
        "pulse": {**fire.PULSE, **fleet.body("pulse")},
        "report": behaving(fleet, "report", "tree", every="2s", splay="0s", worst_case="1s",
                           catch_up="2s")})
    with NotifySocket(fleet.folder / "notify") as notify, Freezer() as freezer:
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL * 1_000_000)))
        pids = wait_tree(fleet, "report")
        freezer.freeze(*pids)
        device.wait_line("^report: something that it started cannot be killed; its lock is left to "
                         "expire, and it is not started here until that is gone$", 8)
        notify.wait_for(r"^STATUS=2 jobs.*, 1 stuck \(report cannot be killed\)", 2)
        assert fleet.history("report")[0]["outcome"] == "overrun"
        stay_stuck(fleet, device, notify, pids, seconds)

        freezer.thaw()
        device.wait_line("^report: the last process of its stuck run is gone$", 3)
        assert not alive(fleet, "report") or len(noted(fleet, "report")) > len(pids)
        wait_tree(fleet, "report", within=8, count=2 * len(pids))
        notify.wait_for("^STATUS=2 jobs(?!.*stuck)", 2)
        wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
        assert device.stop() == 0
    assert fleet.client.keys(f"{PREFIX}*")


@needs_freezer
def test_stuck_for_30_seconds(fleet):
    play_stuck(fleet, 10 if fire.SLOWNESS > 1 else 30)


@needs_freezer
@pytest.mark.long
def test_stuck_for_10_minutes(fleet):
    play_stuck(fleet, 600)


@needs_freezer
def test_stop_with_a_stuck_tree(fleet):
    """rotad ends when its time to stop is over, and says what it leaves."""
    fire.behave(fleet)
    fleet.make_due("report")
    device = fleet.device({"report": behaving(fleet, "report", "tree")}, stop_timeout="3s")
    with Freezer() as freezer:
        device.start()
        pids = wait_tree(fleet, "report")
        freezer.freeze(*pids)
        assert device.stop(within=6) == 0
        assert fleet.lock("report") or fleet.history("report")
        assert any(is_alive(pid) for pid in pids)
        freezer.thaw()
        wait_for(lambda: not any(is_alive(pid) for pid in pids), 3, "the guard ends what it has")
