# SPDX-License-Identifier: MIT
"""lock_key: jobs, and programs that have never heard of rota, that share one lock never run at the same time."""
import pytest

from fleet import ONCE, ONCE_MS, PREFIX, SHORT, now_ms, wait_for

KEY = "shop:{orders}:lock"
# L = 2.85 s.
ORDERS = {**SHORT, **ONCE, "worst_case": "1s", "lock_key": KEY}


@pytest.fixture(autouse=True)
def key_is_allowed(redis_server):
    """As conf/redis-acl.example says of a lock_key that does not begin as the fleet's keys do."""
    redis_server.allow(f"~{KEY}")


def claim(job):
    return f"{PREFIX}{{orders}}:{job}:claim"


def make_due(fleet, *jobs):
    turn = now_ms() // ONCE_MS * ONCE_MS - ONCE_MS
    for job in jobs:
        fleet.client.hset(claim(job), mapping={
            "v": 1, "turn": turn, "attempt": 1, "token": "earlier:" + "0" * 32, "state": "succeeded",
            "fence": 1, "done": turn, "retry": 0, "ended": turn})


def spans(fleet):
    begins, ends = fleet.entries("begin"), fleet.entries("end")
    return sorted((b.at, e.at) for b in begins for e in ends if e.pid == b.pid)


def test_two_jobs_of_one_lock_run_one_after_the_other(fleet):
    jobs = {name: {**ORDERS, **fleet.body(name, "sleep 0.5")} for name in ("export", "import")}
    make_due(fleet, *jobs)
    first = fleet.device(jobs).start()
    second = fleet.device(jobs).start()
    fleet.wait_entry("end", count=2, within=12)
    (_, ended), (began, _) = spans(fleet)
    assert began >= ended
    for name in jobs:
        wait_for(lambda n=name: fleet.client.hget(claim(n), "state") == "succeeded", 3, f"{name} is recorded")
        assert len(fleet.runs(name)) == 1
    assert first.lines("is held by") + second.lines("is held by")
    # A claim each, one lock, which is exactly the key.
    assert fleet.client.hget(claim("export"), "token") != fleet.client.hget(claim("import"), "token")
    assert not fleet.client.exists(KEY) and fleet.client.keys("*}:lock") == []


def test_a_program_of_the_common_convention_shares_it(fleet):
    job = {"export": {**ORDERS, "worst_case": "30s", **fleet.body("export", "until [ -e $ROTA_TEST/tried ]; do sleep 0.02; done")}}
    make_due(fleet, "export")
    lock = fleet.client.lock(KEY, timeout=60)
    assert lock.acquire(blocking=False)
    device = fleet.device(job).start()
    # However long the device takes to ask: it is told of 2 s at most, and asks again then.
    held = "^export: turn of .* is held by another holder$"
    wait_for(lambda: fleet.client.pexpire(KEY, 2000) and device.lines(held), 30, "it is told that the lock is held")
    held_at = now_ms()
    assert fleet.entries() == []
    begin = fleet.wait_entry("begin", within=30)
    assert begin.at >= held_at + 1500
    assert fleet.client.set(KEY, "cli", nx=True, px=5000) is None
    (fleet.folder / "tried").touch()
    fleet.wait_entry("end")
    other = fleet.client.lock(KEY, timeout=5)
    assert wait_for(lambda: other.acquire(blocking=False), 10, "the lock is free after the end")
    other.release()


def test_a_lock_that_never_ends_is_said(fleet):
    job = {"export": {**ORDERS, **fleet.body("export")}}
    make_due(fleet, "export")
    fleet.client.set(KEY, "cli")
    device = fleet.device(job).start()
    line = device.wait_line(rf"^export: its lock in Redis \({KEY}\) has no expiry, so no device has set it; it waits "
                            "until that is gone. Its value: cli$")
    assert line.level == "warning"
    fleet.client.delete(KEY)
    fleet.wait_entry("end", within=15)
    assert len(device.lines("has no expiry")) == 1


def test_a_lock_of_its_own_that_never_ends_is_said_too(fleet):
    fleet.make_due("export")
    fleet.client.set(fleet.key("export", "lock"), "cli")
    device = fleet.device({"export": {**SHORT, **ONCE, **fleet.body("export")}}).start()
    device.wait_line(r"^export: its lock in Redis \(PREFIX\{export\}:lock\) has no expiry, so ")
