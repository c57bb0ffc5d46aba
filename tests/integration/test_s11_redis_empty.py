# SPDX-License-Identifier: MIT
"""S11: Redis restarts empty while a job runs: its lease is taken back if nobody had it since, else it
is lost and the worker is stopped. Nothing crashes."""
import pytest

from fault_proxy import redis_by
from fleet import ONCE, RENEWED, wait_for

OTHER = "other:" + "0" * 32


class Running:
    """A device whose job runs, by a proxy that lets nothing through while Redis is restarted."""

    def __init__(self, fleet, proxy):
        self.fleet, self.proxy = fleet, proxy
        fleet.make_due("sync")
        # 10 s, so that a restart on a busy machine is over in time.
        job = {**RENEWED, **ONCE, "lease": "10s", **fleet.body("sync", "sleep 6")}
        self.device = fleet.device({"sync": job}, redis=redis_by(proxy)).start()
        fleet.wait_entry("begin")

    def empty_redis(self, meanwhile=lambda: None):
        self.proxy.hold()
        self.fleet.redis.kill()
        self.proxy.cut()
        self.fleet.redis.start()
        assert self.fleet.client.dbsize() == 0
        meanwhile()
        self.proxy.release()


@pytest.fixture
def running(fleet, proxy):
    return Running(fleet, proxy)


def test_s11_taken_back_where_nobody_had_it(fleet, running):
    running.empty_redis()
    wait_for(lambda: fleet.lock("sync"), 10, "the lease is there again")
    assert fleet.lock("sync").startswith("gate-1:")
    fleet.wait_history("sync", within=20)
    assert fleet.claim("sync")["state"] == "succeeded"
    assert [entry.what for entry in fleet.entries()] == ["begin", "end"]
    assert running.device.runs()


def test_s11_lost_where_another_has_it(fleet, running):
    running.empty_redis(lambda: fleet.client.set(fleet.key("sync", "lock"), OTHER, px=60_000))
    line = running.device.wait_line("^sync: .*lost")
    assert line.level in ("warning", "error")
    wait_for(lambda: not running.device.guards(), 10, "the worker is gone")
    assert fleet.entries("end") == []
    assert fleet.lock("sync") == OTHER
    assert running.device.runs()
