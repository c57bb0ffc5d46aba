# SPDX-License-Identifier: MIT
"""What two writable masters mean, measured: after a failover by Sentinel the old master takes writes until Sentinel gets
round to make it a replica. How long a client that stays there can write, how long rota's devices do, and how many turns
are run twice, once by each; with what shortens it. docs/redis.md has the table that this prints (pytest -s -m long)."""
import collections
import contextlib
import threading
import time

import pytest
import redis

from fleet import Fleet, now_ms, wait_for
from redis_server import Monitor
from sentinel import DEVICE_RULES, Group, boot_ms

pytestmark = pytest.mark.long

DEAF = [f"user default reset on nopass {DEVICE_RULES.replace('+subscribe', '')}"]
MIN_REPLICAS = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"]
# A turn a second: whoever is at a master runs those that nobody has recorded there.
JOB = {"plugin": "exec", "every": "1s", "worst_case": "1s", "stop_grace": "200ms", "retry_delay": "0s", "first": "now"}
WATCHED_SECONDS = 25
WRITES = ('"set"', '"hset"', '"SET"', '"HSET"', '"pexpire"', '"PEXPIRE"')

Mode = collections.namedtuple("Mode", "users options how")
MODES = {
    "by its steps alone": Mode(DEAF, [], "sentinel"),
    "with +switch-master": Mode((), [], "sentinel"),
    "by its steps, min-replicas": Mode(DEAF, MIN_REPLICAS, "sentinel"),
    "with +switch-master, min-replicas": Mode((), MIN_REPLICAS, "sentinel"),
    "FAILOVER at the master": Mode((), [], "failover"),
    "frozen until then": Mode((), [], "freeze"),
    "frozen until then, min-replicas": Mode((), MIN_REPLICAS, "freeze"),
}


class Client(threading.Thread):
    """Holds on to the connection that it has, and writes 50 times a second. .last: ms of the last write that was taken."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.last, self.refused, self.ends = server, 0, {}, False

    def run(self):
        with self.server.client(socket_timeout=60) as client:
            client.ping()
            while not self.ends:
                try:
                    client.set("a-client's", boot_ms())
                    self.last = boot_ms()
                except redis.RedisError as why:
                    self.refused.setdefault(type(why).__name__, boot_ms())
                    if not isinstance(why, redis.ResponseError):
                        return
                time.sleep(0.02)


class Scripts(Monitor):
    """When a script of rota's has last written there: no client of this file sends one."""
    last = 0

    def take(self, line):
        if " lua] " in line and any(word in line for word in WRITES):
            self.last = boot_ms()


def fail_over(group, mode):
    """When the new master was published."""
    began = boot_ms()
    if mode.how == "sentinel":
        group.failover()
    elif mode.how == "freeze":
        group.servers[0].freeze()
    else:
        old, new = group.servers[:2]
        with old.client() as client:
            client.execute_command("FAILOVER", "TO", group.host, new.port, "TIMEOUT", 5000)
    switch = group.wait_switch(began, seconds=120)
    if mode.how == "freeze":
        group.servers[0].thaw()
    return began, switch


def twice(fleet):
    """Turns that began more than once."""
    runs = collections.Counter((entry.job, entry.turn) for entry in fleet.entries("begin"))
    return sorted(turn for (_, turn), count in runs.items() if count > 1)


@pytest.mark.parametrize("name", MODES)
def test_two_masters(name):
    mode = MODES[name]
    group = Group(replicas=2, sentinel_users=mode.users, server_options=mode.options, failover_timeout_ms=20_000)
    with contextlib.closing(group.start()), contextlib.closing(Fleet(group.master())) as fleet:
        old = group.master()
        jobs = {f"job{i}": {**JOB, **fleet.body(f"job{i}", "sleep 0.1")} for i in range(3)}
        settings = group.settings(command_timeout="300ms", connect_timeout="1s")
        for _ in range(3):
            fleet.device(jobs, redis=settings).start()
        for job in jobs:
            fleet.wait_entry("begin", job, within=20, count=2)
        client, scripts = Client(old), Scripts(old)
        client.start()
        wait_for(lambda: client.last and scripts.last, 10, "the client writes, and rota does")
        began, switch = fail_over(group, mode)
        # Who connects from now on is at the new master.
        for _ in range(2):
            fleet.device(jobs, redis=settings).start()
        deadline = boot_ms() + WATCHED_SECONDS * 1000
        wait_for(lambda: old.role() == "slave" and boot_ms() > deadline, 3 * WATCHED_SECONDS, "the old master is none", slowest=0.2)
        client.ends = True
        client.join(10)
        scripts.close()
        gap = longest_gap(fleet)
        figures = {"published after": switch.at - began, "a client wrote until": client.last - switch.at,
                   "rota wrote until": scripts.last - switch.at, "turns run twice": len(twice(fleet)),
                   "longest time without a start": gap}
        print(f"\n{name}: {figures}")
        judge(name, figures)


def longest_gap(fleet):
    starts = sorted(entry.at for entry in fleet.entries("begin"))
    return max(b - a for a, b in zip(starts, [*starts[1:], now_ms()]))


def judge(name, figures):
    client, rota, double = (figures[each] for each in ("a client wrote until", "rota wrote until", "turns run twice"))
    if name == "by its steps alone":
        assert client > 5000 and rota > 5000 and double > 3
    elif name == "with +switch-master":
        assert client > 5000 and rota < 2000 and double <= 3 * 3
    elif name == "FAILOVER at the master":
        assert client < 0 and rota < 0 and double == 0
    elif name == "frozen until then":
        assert client > 5000 and rota < 2000
    else:
        assert client < 4000 and rota < 2000


def test_with_one_replica_nobody_takes_writes():
    """Until the old master has become the new one's replica."""
    with contextlib.closing(Group(replicas=1, server_options=MIN_REPLICAS, failover_timeout_ms=20_000)) as group:
        group.start()
        old, [new] = group.master(), group.others()
        began = boot_ms()
        group.failover()
        switch = group.wait_switch(began)

        def takes(server):
            with server.client() as client:
                try:
                    return client.set("a", 1)
                except redis.ResponseError as why:
                    # redis-py takes "READONLY" off the text, and leaves "NOREPLICAS".
                    assert isinstance(why, redis.ReadOnlyError) or str(why).startswith("NOREPLICAS") or server is old, why
                    return False
        assert not takes(old) and not takes(new)
        wait_for(lambda: takes(new), 40, "the new master takes writes")
        print(f"\nthe new master takes writes {boot_ms() - switch.at} ms after the switch was published")
        assert boot_ms() - switch.at > 5000
