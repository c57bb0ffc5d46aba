# SPDX-License-Identifier: MIT
"""Devices on a real Redis Cluster of six nodes: jobs whose keys are in slots of all of them; nodes that go, nodes that
hang, slots that move."""
import json
import subprocess
import time

import pytest

from cluster import Cluster, slot_of
from fleet import ONCE, PREFIX, RENEWED, SHORT, Fleet, now_ms, wait_for
from redis_server import example_rules
from rotactl import command, rotactl, wait_started

EVERY_SECOND = {**SHORT, "every": "1s", "catch_up": "1s", "attempts": 1}
UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
# The seconds that the nodes take to hold one for failed and to promote its replica, and as many again.
PROMOTED = 30


@pytest.fixture
def cluster():
    with Cluster(rules={"default": [*example_rules(), "~batch:lock", "nopass"]}) as the_cluster:
        yield the_cluster.start()


@pytest.fixture
def fleet(cluster):
    the_fleet = Fleet(cluster)
    try:
        yield the_fleet
    finally:
        the_fleet.close()


def one_a_master(fleet, cluster, settings, text=""):
    """{job: settings}, the first in the first master, and so on."""
    names = [cluster.job_in(master, f"on{master.number}") for master in cluster.masters()]
    return {name: {**settings, **fleet.body(name, text)} for name in names}


def all_kinds(fleet, cluster):
    """A job in each master, turns of each device, keys of all forms."""
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    jobs["tagged"] = {**EVERY_SECOND, "lock_key": PREFIX + "{shared}:lock", **fleet.body("tagged")}
    jobs["whole"] = {**EVERY_SECOND, "lock_key": "batch:lock", **fleet.body("whole")}
    jobs["renamed"] = {**EVERY_SECOND, "was": "oldname", **fleet.body("renamed")}
    jobs["seated"] = {**EVERY_SECOND, "scope": "device", "concurrency": 2, **fleet.body("seated")}
    return jobs


def device_of(fleet, jobs, **redis):
    return fleet.device(jobs, redis=fleet.redis.settings(**redis)).start()


def connections(cluster, device):
    """To each node that lives."""
    return [len(node.connections(device.name)) for node in cluster.living()]


def assert_once_a_turn(fleet, *jobs):
    for name in jobs:
        turns = fleet.runs(name)
        assert len(turns) == len(set(turns)), name


# --- all is well ---

def test_jobs_of_all_kinds(cluster, fleet):
    jobs = all_kinds(fleet, cluster)
    devices = [device_of(fleet, jobs) for _ in range(3)]
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=4)
    assert_once_a_turn(fleet, *(set(jobs) - {"seated"}))
    errors = cluster.errors()
    # Each device learns each slot once; and no command has keys of two slots.
    assert set(errors) <= {"MOVED", "NOSCRIPT"} and 0 < errors["MOVED"] <= 3 * (len(jobs) + 1), errors
    for device in devices:
        assert connections(cluster, device) == [1, 1, 1, 0, 0, 0]
        assert not device.complaints()


def test_one_connection_for_one_job(cluster, fleet):
    """Nobody is asked but who has the job's keys, and who has the fleet's own."""
    home = cluster.owner(slot_of(PREFIX + "{_fleet}:size"))
    name = cluster.job_in(home)
    device = device_of(fleet, {name: {**EVERY_SECOND, **fleet.body(name)}})
    fleet.wait_entry("end", name, 20, count=2)
    wanted = [1 if node is home else 0 for node in cluster.nodes]
    wait_for(lambda: connections(cluster, device) == wanted, 10, "nothing is connected to but what is needed")


def test_seeds_that_are_away(cluster, fleet):
    """Any node that is there does."""
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    replica = cluster.replica_of(cluster.nodes[0])
    address = [f"{cluster.host}:{port}" for port in (6999, 6998)] + [replica.text]
    device = device_of(fleet, jobs, address=address)
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=2)
    assert not device.lines("does not answer|cannot be used")


@pytest.mark.parametrize("ahead_ms", [3000, -3000])
def test_nodes_whose_clocks_differ(ahead_ms):
    """Fleet time is that of one node. The others' answers move it by nothing, and jobs that are theirs start when their
    own clocks let them."""
    with Cluster() as cluster:
        home = next(number for number, (first, last) in enumerate([(0, 5460), (5461, 10921), (10922, 16383)])
                    if first <= slot_of("_fleet") <= last)
        odd = cluster.nodes[(home + 1) % 3]
        odd.own_clock().add(ahead_ms)
        fleet = Fleet(cluster.start())
        try:
            slow = {**EVERY_SECOND, "every": "4s", "catch_up": "4s"}
            jobs = one_a_master(fleet, cluster, slow)
            device = device_of(fleet, jobs)
            for name in jobs:
                fleet.wait_entry("end", name, 40, count=3)
            assert not device.lines("clock went"), device.output()[-3000:]
            for name in jobs:
                turns = fleet.runs(name)
                assert len(turns) == len(set(turns)) and turns == sorted(turns), turns
                assert all(b - a == 4000 for a, b in zip(turns[1:], turns[2:])), turns
        finally:
            fleet.close()


# --- nodes that go ---

def test_a_node_is_killed(cluster, fleet):
    """Its replica is promoted, and the jobs go on there; the others never wait."""
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    devices = [device_of(fleet, jobs) for _ in range(2)]
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=2)
    victim = cluster.nodes[1]
    [hit, *others] = sorted(jobs, key=lambda name: cluster.owner(slot_of(name)) is not victim)
    replica = cluster.replica_of(victim)
    victim.kill()
    killed, before = time.monotonic(), {name: len(fleet.runs(name)) for name in jobs}
    wait_for(replica.is_master, PROMOTED, "the replica is promoted")
    promoted = time.monotonic()
    fleet.wait_entry("end", hit, 20, count=before[hit] + 3)
    print(f"promoted after {promoted - killed:.1f} s, runs again {time.monotonic() - promoted:.1f} s later")
    gaps = {name: max(b - a for a, b in zip(fleet.runs(name), fleet.runs(name)[1:])) for name in others}
    assert max(gaps.values()) <= 3000, gaps
    assert_once_a_turn(fleet, *others)
    for device in devices:
        assert sum(connections(cluster, device)) == 3 and len(replica.connections(device.name)) == 1
        assert not device.lines("jobs wait"), device.output()[-3000:]


def test_a_lease_lives_through_a_failover(cluster, fleet):
    """A run whose lock is on the node that is killed is renewed on the replica that follows it."""
    name = cluster.job_in(cluster.nodes[2])
    fleet.make_due(name)
    job = {**RENEWED, **ONCE, "lease": "30s", "worst_case": "5m", **fleet.body(name, UNTIL_FREED)}
    device = device_of(fleet, {name: job})
    fleet.wait_entry("begin", name, 20)
    token, replica = fleet.lock(name), cluster.replica_of(cluster.nodes[2])
    wait_for(lambda: replica.ask("CLUSTER", "COUNTKEYSINSLOT", slot_of(name)) >= 2, 10, "the replica has it")
    cluster.nodes[2].kill()
    wait_for(replica.is_master, PROMOTED, "the replica is promoted")
    key = fleet.key(name, "lock")

    def renewed():
        with replica.client() as client:
            return client.get(key) == token and client.pttl(key) > 25_000
    wait_for(renewed, 30, "the lease is renewed on the new master")
    (fleet.folder / "free").touch()
    fleet.wait_entry("end", name)
    wait_for(lambda: replica.ask("HGET", fleet.key(name, "claim"), "state") == "succeeded", 10, "it is recorded")
    assert not device.lines("lost")


def test_a_frozen_node_costs_its_own_jobs_alone(cluster, fleet):
    """It takes connections, and says nothing. No replica is promoted before the node's time-out; all others go on."""
    for node in cluster.nodes:
        node.ask("CONFIG", "SET", "cluster-node-timeout", "60000")
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    device_of(fleet, jobs)
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=2)
    victim = cluster.nodes[0] if cluster.owner(slot_of("_fleet")) is not cluster.nodes[0] else cluster.nodes[1]
    hit = next(name for name in jobs if cluster.owner(slot_of(name), cluster.nodes[2]) is victim)
    others = [name for name in jobs if name != hit]
    victim.freeze()
    try:
        frozen = now_ms()
        before = {name: len(fleet.runs(name)) for name in jobs}
        for name in others:
            fleet.wait_entry("end", name, 20, count=before[name] + 6)
        late = [entry for entry in fleet.entries("begin") if entry.job in others and
                entry.turn > frozen and entry.at - entry.turn > 1000]
        assert not late, late
    finally:
        victim.thaw()
    fleet.wait_entry("end", hit, 20, count=before[hit] + 2)
    assert_once_a_turn(fleet, *jobs)


def test_all_nodes_go_and_come_back(cluster, fleet):
    """One line says so, and one that it is over."""
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    device = device_of(fleet, jobs)
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=1)
    for node in cluster.nodes:
        node.kill()
    device.wait_line("does not answer .*; jobs wait")
    for node in cluster.nodes:
        node.start()
    for node in cluster.nodes:
        wait_for(node.answers, 10, f"{node.text} answers")
    device.wait_line("answers again after", 30)
    for name in jobs:
        count = len(fleet.runs(name))
        fleet.wait_entry("end", name, 40, count=count + 2)
    assert len([line for line in device.lines("jobs wait") if line.level == "error"]) == 1


# --- slots that move ---

class Lease:
    """The lock of a job, as a node has it."""

    def __init__(self, fleet, job):
        self.key, self.token = fleet.key(job, "lock"), fleet.lock(job)

    def left_ms(self, node):
        """Read also where it is on its way."""
        with node.client(single_connection_client=True) as client:
            client.execute_command("ASKING")
            assert client.get(self.key) == self.token
            client.execute_command("ASKING")
            return client.pttl(self.key)

    def wait_renewed(self, node, within=15):
        """Anew, from now on: its time to live grows."""
        seen = [self.left_ms(node)]

        def grows():
            seen.append(self.left_ms(node))
            return seen[-1] > seen[-2] + 500
        wait_for(grows, within, f"{node.text} renews it")


def test_a_slot_moves_while_its_lease_is_renewed(cluster, fleet):
    """Step by step, and in each half-way state for a while: none of them costs the lease, and the run ends well."""
    source, target = cluster.nodes[:2]
    name = cluster.job_in(source)
    fleet.make_due(name)
    job = {**RENEWED, **ONCE, "lease": "9s", "worst_case": "5m", **fleet.body(name, UNTIL_FREED)}
    device = device_of(fleet, {name: job})
    fleet.wait_entry("begin", name, 20)
    lease, move = Lease(fleet, name), cluster.moving(slot_of(name), target)
    move.begin()
    lease.wait_renewed(source)  # it has all keys that a renewal names
    move.take(lease.key)
    wait_for(lambda: cluster.errors()["TRYAGAIN"] >= 2, 10, "renewals are told to try again: the keys are apart")
    move.take()
    lease.wait_renewed(target)  # by ASK
    assert cluster.errors()["ASK"] >= 1
    move.end()
    lease.wait_renewed(target)
    (fleet.folder / "free").touch()
    fleet.wait_entry("end", name)
    wait_for(lambda: fleet.claim(name).get("state") == "succeeded", 10, "it is recorded")
    assert not device.lines("lost|overrun")
    errors = cluster.errors()
    assert errors["CROSSSLOT"] == 0 and errors["NOPERM"] == 0, errors
    wait_for(lambda: len(source.connections(device.name)) <= (cluster.owner(slot_of("_fleet")) is source), 10,
             "who has none of its slots any more is left")


def test_slots_are_moved_by_redis_cli(cluster, fleet):
    """redis-cli --cluster reshard, there and back, under jobs that are due each second."""
    jobs = one_a_master(fleet, cluster, EVERY_SECOND)
    devices = [device_of(fleet, jobs) for _ in range(2)]
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=2)
    first, second = cluster.nodes[:2]
    for name in jobs:  # those of the first go over, by keys of the test's own names
        slot = slot_of(name)
        if cluster.owner(slot) is not second:
            cluster.moving(slot, second).whole()
    cluster.wait_whole()
    cluster.reshard(second, first, 100)
    before = {name: len(fleet.runs(name)) for name in jobs}
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=before[name] + 3)
    assert_once_a_turn(fleet, *jobs)
    assert cluster.errors()["CROSSSLOT"] == 0
    for device in devices:
        assert not [line for line in device.lines() if line.level == "error"], device.output()[-2000:]


def test_how_long_a_move_delays_a_job(cluster, fleet):
    """While a slot moves, its jobs wait: no script with several keys is served there, until it has moved. A move of
    redis-cli takes milliseconds; a slot that somebody leaves half-way is a job that does not run."""
    name = cluster.job_in(cluster.nodes[0])
    device = device_of(fleet, {name: {**EVERY_SECOND, **fleet.body(name)}})
    fleet.wait_entry("end", name, 20, count=2)
    move = cluster.moving(slot_of(name), cluster.nodes[1]).begin()
    device.wait_line("moving the job's keys")
    refused = cluster.errors()["TRYAGAIN"]
    wait_for(lambda: cluster.errors()["TRYAGAIN"] > refused + 1, 20, "it is asked for in vain, again and again")
    before = len(fleet.runs(name))
    move.take()
    move.end()
    ended = time.monotonic()
    fleet.wait_entry("end", name, 20, count=before + 1)
    print(f"runs {time.monotonic() - ended:.2f} s after the move")
    assert time.monotonic() - ended < 10
    device.wait_line("answers again; it was: it is moving the job's keys")


# --- what people ask ---

def test_rotactl(cluster, fleet):
    """Each question goes where the keys are."""
    jobs = one_a_master(fleet, cluster, {**SHORT, "every": "1h"})
    device = wait_started(device_of(fleet, jobs))
    for name in jobs:
        wait_for(lambda name=name: fleet.claim(name), 10, "the job is known")
        fleet.client.xadd(fleet.key(name, "history"), {
            "turn": 1_000_000, "attempt": 1, "token": "gate-7:" + "0" * 32, "outcome": "failed", "fence": 5, "ran": 9,
            "detail": f"because of {name}"})
    seen = rotactl(device, "fleet")
    assert " on a cluster, " in seen.stdout
    assert seen.returncode == 0 and all(name in seen.stdout for name in jobs), seen
    for name in jobs:
        assert f"because of {name}" in rotactl(device, "history", name).stdout
        assert rotactl(device, "pause", name, "--fleet", "--reason", "repairs").returncode == 0
        wait_for(lambda name=name: fleet.client.get(fleet.key(name, "pause")), 5, "it is paused")
        assert rotactl(device, "resume", name, "--fleet").returncode == 0
        assert not fleet.client.get(fleet.key(name, "pause"))
        fleet.client.set(fleet.key(name, "lock"), "gate-7:" + "0" * 32, px=60_000)
        done = subprocess.run(command(device, "release", name), input="yes\n", capture_output=True, text=True,
                              check=False, timeout=60, env=fleet.environment)
        assert done.returncode == 0 and not fleet.client.get(fleet.key(name, "lock")), done
    status = json.loads(rotactl(device, "status", "--json").stdout)
    assert status["device"] == device.name
    fleet.client.hset(fleet.key("old", "claim"), "v", 1)
    assert rotactl(device, "forget", "old").stdout == "forgotten: Redis knows nothing of old any more\n"
    assert not fleet.claim("old")
