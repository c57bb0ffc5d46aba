# SPDX-License-Identifier: MIT
import pytest

from fleet import Fleet
from redis_server import RedisServer


@pytest.fixture
def redis_server():
    """A redis-server of the test's own; see RedisServer for what can be done to it."""
    server = RedisServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def fleet(redis_server):
    """Devices that share that Redis; at the end each has to stop well, and nothing may be left."""
    the_fleet = Fleet(redis_server)
    try:
        yield the_fleet
    finally:
        the_fleet.close()
