# SPDX-License-Identifier: MIT
import pytest

from fault_proxy import FaultProxy
from fleet import Fleet
from redis_server import RedisServer
from resp import SCRIPTS


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; only quickstart test --all runs it")


def pytest_collection_modifyitems(items):
    """The longest begin first: who runs them side by side then waits for nobody at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def redis_server():
    """A redis-server of the test's own; see RedisServer for what can be done to it."""
    server = RedisServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def proxy(redis_server):
    """Between that Redis, which knows the scripts already, and the devices with redis_by()."""
    with redis_server.client() as client:
        for script in SCRIPTS.glob("*.lua"):
            client.script_load(script.read_text())
    with FaultProxy(redis_server.socket) as the_proxy:
        yield the_proxy


@pytest.fixture
def fleet(redis_server):
    """Devices that share that Redis; at the end each has to stop well, and nothing may be left."""
    the_fleet = Fleet(redis_server)
    try:
        yield the_fleet
    finally:
        the_fleet.close()
