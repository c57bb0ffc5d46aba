# SPDX-License-Identifier: MIT
"""A Redis that has as many clients as its maxclients allows: devices wait for a place, and say so once."""
import pytest

from fleet import SHORT, Fleet, wait_for
from redis_server import RedisServer


@pytest.fixture
def full_fleet():
    """Over a Redis of five clients; the fleet's own is one of them."""
    server = RedisServer("--maxclients", "5")
    try:
        the_fleet = Fleet(server.start())
        try:
            yield the_fleet
        finally:
            the_fleet.close()
    finally:
        server.close()


def refused(fleet):
    return fleet.client.info("stats")["rejected_connections"]


def test_a_device_waits_for_a_place(full_fleet):
    fleet = full_fleet
    assert fleet.client.ping()
    others = [fleet.redis.client() for _ in range(4)]
    try:
        assert all(other.ping() for other in others)
        tick = {**SHORT, "every": "1s", **fleet.body("tick")}
        device = fleet.device({"tick": tick}, redis={
            "address": fleet.redis.address, "backoff_min": "200ms", "backoff_max": "1s"}).start()
        said = "cannot be used: it has as many clients as its maxclients allows"
        assert device.wait_line(said).level == "error"
        # It backs off: some refusals a second, as many as windows from 200 ms to 1 s allow.
        before = refused(fleet)
        wait_for(lambda: refused(fleet) >= before + 3, 10, "it tries again")
        # By the connection alone, and not by each who waits for it as well.
        assert [line.text for line in device.complaints()] == [device.lines(said)[0].text]
        assert fleet.runs("tick") == []
    finally:
        for other in others:
            other.connection_pool.disconnect()
    device.wait_line("answers again after")
    fleet.wait_entry("end", "tick")
    assert len(device.lines(said)) == 1
