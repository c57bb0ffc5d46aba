# SPDX-License-Identifier: MIT
"""S6: an operator deletes or replaces the lock's key while a renewed job runs."""
from fleet import ONCE, RENEWED, is_alive, wait_for

# One renewal falls due each second; the rest is for its way and a busy machine.
NOTICED_SECONDS = 2.5


def start(fleet, text):
    fleet.make_due("report")
    jobs = {"report": {**RENEWED, **ONCE, "attempts": 1, **fleet.body("report", text)}}
    device = fleet.device(jobs).start()
    return device, fleet.wait_entry("begin")


def test_s6_deleted_and_nobody_held_it_since(fleet):
    device, _ = start(fleet, "sleep 4")
    token = wait_for(lambda: fleet.lock("report"), 2, "the lock is there")
    fleet.client.delete(fleet.key("report", "lock"))

    wait_for(lambda: fleet.lock("report") == token, NOTICED_SECONDS, "the lock is taken back")
    device.wait_line("its lock was gone from Redis, nobody had taken it, and it is taken back", 2)
    fleet.wait_entry("end")
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["succeeded"]
    assert len(fleet.entries("begin")) == 1


def test_s6_replaced_by_a_foreign_value(fleet):
    device, begin = start(fleet, "sleep 60")
    key = fleet.key("report", "lock")
    fleet.client.set(key, "operator", px=60_000)

    device.wait_line(r"the lock is no longer this device's \(now: operator\); the run is stopped",
                     NOTICED_SECONDS)
    wait_for(lambda: not is_alive(begin.pid), 2, "the worker is stopped")
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["lost"]
    assert fleet.lock("report") == "operator"
    # Neither renewed nor cut: what has gone of its minute is the test's own time.
    assert 60_000 - 20_000 < fleet.client.pttl(key) <= 60_000
    assert fleet.entries("end") == []


def test_s6_deleted_and_another_held_it_since(fleet):
    device, begin = start(fleet, "sleep 60")
    claim = fleet.claim("report")
    # What another device's turn leaves behind once its lock is gone again.
    fleet.client.pipeline(transaction=True).delete(fleet.key("report", "lock")).hset(
        fleet.key("report", "claim"), mapping={
            "token": "other:" + "1" * 32, "attempt": int(claim["attempt"]) + 1,
            "state": "crashed"}).execute()

    device.wait_line("the lock is no longer this device's", NOTICED_SECONDS)
    wait_for(lambda: not is_alive(begin.pid), 2, "the worker is stopped")
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["lost"]
    assert fleet.lock("report") is None
    assert fleet.claim("report")["token"].startswith("other:")


def test_s6_another_device_is_told_by_its_name(fleet):
    device, _ = start(fleet, "sleep 60")
    fleet.client.set(fleet.key("report", "lock"), "gate-9:" + "1" * 32, px=3000)
    device.wait_line(r"the lock is no longer this device's \(now: gate-9\); the run is stopped", NOTICED_SECONDS)
