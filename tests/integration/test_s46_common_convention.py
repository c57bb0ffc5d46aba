# SPDX-License-Identifier: MIT
"""S46: the lock is a plain SET NX PX: whoever does the same excludes rota and is excluded."""
from fleet import ONCE, SHORT, wait_for

HELD_MS = 1500


def start(fleet, text=""):
    fleet.make_due("backup")
    return fleet.device({"backup": {**SHORT, **ONCE, "worst_case": "3s", "lease": "10s",
                                    **fleet.body("backup", text)}}).start()


def test_s46_another_client_holds_it(fleet):
    lock = fleet.client.lock(fleet.key("backup", "lock"), timeout=HELD_MS / 1000)
    assert lock.acquire(blocking=False)
    until = fleet.client.time()
    device = start(fleet)

    device.wait_line("is held by another holder", 2)
    begin = fleet.wait_entry("begin")
    # By the server's clock, which is this machine's: not before the other's lock has ended.
    assert begin.at >= until[0] * 1000 + until[1] // 1000 + HELD_MS
    assert fleet.wait_history("backup")[0]["outcome"] == "succeeded"


def test_s46_another_client_frees_it(fleet):
    lock = fleet.client.lock(fleet.key("backup", "lock"), timeout=60)
    assert lock.acquire(blocking=False)
    device = start(fleet)
    device.wait_line("is held by another holder", 2)
    lock.release()
    # It watches until the end that it was told; a restart makes it ask at once.
    assert fleet.entries("begin") == []
    assert device.stop() == 0
    device.start()
    fleet.wait_entry("end")


def test_s46_the_other_way_round(fleet):
    start(fleet, "sleep 1")
    fleet.wait_entry("begin")
    key = fleet.key("backup", "lock")
    assert not fleet.client.lock(key, timeout=5).acquire(blocking=False)
    assert fleet.client.set(key, "cli", nx=True, px=5000) is None
    fleet.wait_history("backup")
    assert fleet.entries("end")
    other = fleet.client.lock(key, timeout=5)
    assert wait_for(lambda: other.acquire(blocking=False), 2, "the lock is free after the end")
    other.release()
