# SPDX-License-Identifier: MIT
"""Turns without a crowd: who says and asks what, counted by what Redis was sent."""
import collections
import time

import pytest

from fleet import SANITIZED, SHORT, wait_for
from redis_server import Monitor

FLEET = "test:{_fleet}"
# By the first key that a script is given, and how many there are.
KINDS = {("size", 5): "hello", ("jobs", 1): "index", ("confs", 1): "config_get", ("confs", 2): "config_put",
         ("lock", 5): "acquire", ("lock", 2): "renew", ("lock", 3): "finish"}


class Wire(Monitor):
    """What clients send, in order."""

    def __init__(self, server):
        self.seen = []
        super().__init__(server)

    def take(self, line):
        source, _, command = line.partition("] ")
        if not source.endswith(" lua"):
            self.seen.append(self._kind(command.replace('"', "").split()))

    @staticmethod
    def _kind(words):
        if words[0].upper() != "EVALSHA":
            return words[0].upper()
        return KINDS.get((words[3].rpartition(":")[2], int(words[2])), " ".join(words[:4]))

    def count(self, kind):
        return self.seen.count(kind)


def told(fleet, devices):
    """A fleet of so many has been saying hello for an hour."""
    hour = int(fleet.client.time()[0]) // 3600
    fleet.client.hset(f"{FLEET}:size", mapping={"hour": hour, "now": devices * 3_600_000, "before": 0, "boots": 0,
                                                "boots_before": 0, "hellos": devices * 6, "hellos_before": 0})


def test_an_idle_device_says_hello_and_nothing_else(fleet):
    wire = Wire(fleet.redis)
    try:
        job = {**SHORT, "every": "366d", "catch_up": "0s", **fleet.body("idle")}
        device = fleet.device({"idle": job, "other": job}).start()
        wait_for(lambda: wire.count("hello"), 10, "hello")
        wait_for(lambda: wire.count("config_put"), 10, "its configuration")
        quiet = time.monotonic() + 2
        wait_for(lambda: time.monotonic() > quiet, 5, "two seconds")
        ours = collections.Counter(kind for kind in wire.seen if kind not in ("PING", "EVAL", "MONITOR"))
        assert ours["hello"] == 1 and ours["TIME"] == 0
        assert set(ours) <= {"hello", "config_put", "CLIENT", "HELLO", "SELECT"}, ours
        time_of, boot, _, version, digest = fleet.client.hget(f"{FLEET}:devices", fleet.machine(device)).split()
        assert int(time_of) > 0 and len(boot) >= 1 and version[0].isdigit() and len(digest) == 8
    finally:
        wire.close()


def test_a_run_tells_the_index(fleet):
    fleet.make_due("tick")
    wire = Wire(fleet.redis)
    try:
        # However full the machine, no command is sent twice.
        patient = {"address": fleet.redis.address, "connect_timeout": "5s", "command_timeout": "5s"}
        job = {**SHORT, "every": "366d", "catch_up": "366d", **fleet.body("tick")}
        fleet.device({"tick": job}, redis=patient).start()
        wait_for(lambda: fleet.client.hget(f"{FLEET}:jobs", "tick"), 10, "the index")
        assert fleet.client.hget(f"{FLEET}:jobs", "tick") == fleet.claim("tick")["done"]
        assert (wire.count("acquire"), wire.count("finish"), wire.count("index")) == (1, 1, 1)
    finally:
        wire.close()


@pytest.mark.skipif(SANITIZED, reason="it counts, and another build has counted")
def test_thirty_devices_are_no_crowd(fleet):
    """PROTOCOL's table: some nine ask at once, and one or two later; one finish, one word to the index."""
    devices, turns = 30, 12
    told(fleet, devices)
    fleet.make_due("tick")
    job = {**SHORT, "every": "2s", "splay": "200ms", **fleet.body("tick")}
    for _ in range(devices):
        fleet.device({"tick": job}).start()
    for device in fleet.devices:
        device.wait_line("-> WAITING", within=30)
    wire = Wire(fleet.redis)
    try:
        before = len(set(fleet.runs()))
        wait_for(lambda: len(set(fleet.runs())) >= before + turns, 2 * (turns + 12), f"{turns} turns")
    finally:
        wire.close()
    asked = wire.count("acquire")
    run = len(set(fleet.runs())) - before
    assert max(collections.Counter(fleet.runs()).values()) == 1
    commands = asked + wire.count("finish") + wire.count("index")
    print(f"{commands / run:.1f} commands a turn of {devices} devices")
    assert 6 * run <= commands <= 20 * run
    # No turn is left out for it.
    assert len(set(fleet.runs())) >= turns


def test_every_device_asks_where_it_is_told_to(fleet):
    told(fleet, 1000)
    fleet.make_due("tick")
    job = {**SHORT, "every": "2s", "splay": "100ms", **fleet.body("tick")}
    wire = Wire(fleet.redis)
    try:
        for _ in range(3):
            fleet.device({"tick": job}, turns="all").start()
        fleet.wait_entry("end", count=4, within=20)
        assert wire.count("acquire") >= 6
    finally:
        wire.close()
