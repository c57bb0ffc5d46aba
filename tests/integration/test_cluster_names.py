# SPDX-License-Identifier: MIT
"""What the nodes of a cluster are called, and who they let in: addresses, names, none at all; passwords, TLS."""
import collections
import contextlib
import random

import pytest

from cluster import Cluster, own_host, slot_of
from fleet import SHORT, Fleet, wait_for
from redis_server import example_rules
from rotactl import rotactl
from tls import Authority

EVERY_SECOND = {**SHORT, "every": "1s", "catch_up": "1s", "attempts": 1}
Tls = collections.namedtuple("Tls", "certificate ca")


def some_port():
    """Of six nodes on 127.0.0.1, below those that the system gives away."""
    return random.randint(8_000, 20_000)


@contextlib.contextmanager
def fleet_on(cluster):
    with cluster:
        the_fleet = Fleet(cluster.start())
        try:
            yield the_fleet
        finally:
            the_fleet.close()


def jobs_of(fleet):
    names = [fleet.redis.job_in(master, f"on{master.number}") for master in fleet.redis.masters()]
    return {name: {**EVERY_SECOND, **fleet.body(name)} for name in names}


def assert_all_run(fleet, device, jobs, **redis):
    """On one connection to each master; and also while a slot moves."""
    cluster = fleet.redis
    for name in jobs:
        fleet.wait_entry("end", name, 30, count=2)
    connections = [len(node.connections(device.name)) for node in cluster.nodes]
    assert connections == [1, 1, 1, 0, 0, 0], connections
    assert not [line for line in device.lines() if line.level == "error"], device.output()[-2000:]


@pytest.mark.parametrize("host, settings", [
    (None, ["--cluster-preferred-endpoint-type", "unknown-endpoint"]),
    ("127.0.0.1", ["--cluster-preferred-endpoint-type", "hostname", "--cluster-announce-hostname", "localhost"]),
    ("::1", []),
], ids=["unknown-endpoint", "hostname", "ipv6"])
def test_nodes_by(host, settings):
    with fleet_on(Cluster(*settings, host=host, port=some_port())) as fleet:
        jobs = jobs_of(fleet)
        device = fleet.device(jobs, redis=fleet.redis.settings(fleet.redis.nodes[0])).start()
        assert_all_run(fleet, device, jobs)


def test_a_seed_by_its_name_is_the_node_that_others_know_by_its_address():
    """Nobody is connected to twice."""
    with fleet_on(Cluster(host="127.0.0.1", port=some_port())) as fleet:
        cluster = fleet.redis
        jobs = jobs_of(fleet)
        seeds = [f"localhost:{node.port}" for node in cluster.nodes[:3]]
        device = fleet.device(jobs, redis=cluster.settings(address=seeds)).start()
        assert_all_run(fleet, device, jobs)


def test_nodes_that_do_not_know_their_names():
    """That is a setting of theirs; it is said, and what it is."""
    with fleet_on(Cluster("--cluster-preferred-endpoint-type", "hostname")) as fleet:
        cluster = fleet.redis
        away = next(node for node in cluster.nodes[:3] if cluster.owner(slot_of("_fleet")) is not node)
        name = cluster.job_in(away)
        seed = cluster.owner(slot_of("_fleet"))
        device = fleet.device({name: {**EVERY_SECOND, **fleet.body(name)}}, redis=cluster.settings(seed)).start()
        device.wait_line("has no name; see its cluster-announce-hostname")


def secret(fleet, text):
    file = fleet.folder / f"{text}.password"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_a_user_with_a_password_on_all_nodes():
    """The same for each; a node that refuses it costs its own jobs, and is told of, until it takes it."""
    rules = {"default": ["off"], "rota": [*example_rules(), ">sesame"]}
    with fleet_on(Cluster(rules=rules)) as fleet:
        cluster = fleet.redis
        jobs = jobs_of(fleet)
        home = cluster.owner(slot_of("_fleet"))
        odd = next(node for node in cluster.masters() if node is not home)
        hit = next(name for name in jobs if cluster.owner(slot_of(name)) is odd)
        odd.ask("ACL", "SETUSER", "rota", "resetpass", ">other")
        redis = cluster.settings(home, username="rota", password_file=secret(fleet, "sesame"))
        device = fleet.device(jobs, redis=redis).start()
        device.wait_line(f"{odd.text} cannot be used: the password is refused.*; the jobs whose keys it has wait;", 20)
        for name in set(jobs) - {hit}:
            fleet.wait_entry("end", name, 20, count=3)
        assert "redis unreachable" not in rotactl(device, "status").stdout
        assert "\nrota_redis_up 1\n" in rotactl(device, "metrics").stdout
        assert not fleet.runs(hit)
        # That the others are connected to anew is no news of this one.
        for node in cluster.nodes:
            if node is not odd:
                node.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for name in set(jobs) - {hit}:
            fleet.wait_entry("end", name, 20, count=len(fleet.runs(name)) + 2)
        assert device.lines("all nodes of the cluster") == []
        odd.ask("ACL", "SETUSER", "rota", "resetpass", ">sesame")
        fleet.wait_entry("end", hit, 30, count=2)
        device.wait_line("^all nodes of the cluster that are needed can be used again$")


def test_the_password_changes():
    """While the fleet runs: what is read again goes to all nodes."""
    rules = {"default": ["off"], "rota": [*example_rules(), ">sesame"]}
    with fleet_on(Cluster(rules=rules)) as fleet:
        cluster = fleet.redis
        jobs = jobs_of(fleet)
        file = secret(fleet, "sesame")
        device = fleet.device(jobs, redis=cluster.settings(username="rota", password_file=file)).start()
        for name in jobs:
            fleet.wait_entry("end", name, 30)
        file.write_text("changed")
        for node in cluster.nodes:
            node.ask("ACL", "SETUSER", "rota", "resetpass", ">changed")
            node.ask("CLIENT", "KILL", "USER", "rota")
        before = {name: len(fleet.runs(name)) for name in jobs}
        for name in jobs:
            fleet.wait_entry("end", name, 30, count=before[name] + 3)
        device.wait_line("has another password now")


def test_tls_on_all_nodes():
    """The certificates are for the addresses that MOVED names."""
    host = own_host()
    with Authority() as ca:
        tls = Tls(ca.issue(host), ca.file)
        with fleet_on(Cluster(tls=tls, host=host)) as fleet:
            jobs = jobs_of(fleet)
            redis = fleet.redis.settings(fleet.redis.nodes[0], tls=True, tls_ca=ca.file)
            device = fleet.device(jobs, redis=redis).start()
            assert_all_run(fleet, device, jobs)
            name = next(iter(jobs))
            fleet.redis.moving(slot_of(name), fleet.redis.nodes[1]).whole()
            count = len(fleet.runs(name))
            fleet.wait_entry("end", name, 20, count=count + 2)


def test_tls_of_a_node_that_is_another():
    """A certificate for another address is refused there, too."""
    host = own_host()
    with Authority() as ca:
        tls = Tls(ca.issue("127.0.0.99"), ca.file)
        with fleet_on(Cluster(tls=tls, host=host)) as fleet:
            jobs = jobs_of(fleet)
            device = fleet.device(jobs, redis=fleet.redis.settings(tls=True, tls_ca=ca.file)).start()
            device.wait_line("cannot be used: .*is for 127.0.0.99, not for")
            assert not fleet.runs()
            wait_for(lambda: not any(node.connections() for node in fleet.redis.nodes), 5, "nobody has said a name")
