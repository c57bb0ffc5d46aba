# SPDX-License-Identifier: MIT
"""S40: two seats, three devices: never more than two at once, a killed holder's seat is free within its lease, and
nothing is left in Redis."""
from fleet import ONCE, SHORT, wait_for

# L = 3.85 s, as SHORT.
LEASE_MS = 3850
SEATS = {**SHORT, **ONCE, "scope": "device", "concurrency": 2, "splay": "0s", "history": 0}
# What a guard takes to end a tree whose supervisor was killed.
ORPHAN_MS = 1500


def most_at_once(spans):
    """`spans`: begin and end of each run."""
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)


def test_s40_a_holder_of_a_seat_is_killed(fleet):
    go = fleet.folder / "go"
    job = {**SEATS, **fleet.body("firmware", f"until [ -e '{go}' ]; do sleep 0.02; done")}
    devices = [fleet.device({"firmware": job}) for _ in range(3)]
    fleet.make_due_here("firmware", *devices)
    devices[0].start()
    devices[1].start()
    fleet.wait_entry("begin", count=2)
    assert len(fleet.seats("firmware")) == 2
    devices[2].start()
    devices[2].wait_line(r"^firmware: turn of .*: no seat is free; place 1 in the queue$")
    assert len(fleet.entries("begin")) == 2

    devices[0].kill()
    killed_at = fleet.client.time()
    killed_ms = killed_at[0] * 1000 + killed_at[1] // 1000
    third = fleet.wait_entry("begin", count=3)
    # The seat is left to expire, and is not free before the work has ended.
    first = fleet.entries("begin")[0]
    assert third.at >= first.at + LEASE_MS - 1500
    go.touch()
    fleet.wait_entry("end", count=2)
    ends = [entry.at for entry in fleet.entries("end")]
    assert most_at_once([(first.at, min(killed_ms + ORPHAN_MS, third.at)),
                         (fleet.entries("begin")[1].at, max(ends)), (third.at, max(ends))]) == 2

    for device in devices[1:]:
        wait_for(lambda d=device: fleet.record("firmware", d).get("state") == "succeeded", 3,
                 f"{device.name} is recorded")
    assert fleet.record("firmware", devices[0])["state"] == "running"
    seats, queue = fleet.key("firmware", "seats"), fleet.key("firmware", "queue")
    assert fleet.seats("firmware") == []
    wait_for(lambda: not fleet.client.exists(seats) and not fleet.client.exists(queue), 12,
             "neither seats nor a queue are left")
    assert [key for key in fleet.client.keys("*firmware*") if fleet.client.pttl(key) < 0] == []
