# SPDX-License-Identifier: MIT
"""rotad --check, and --check --online, where Redis is more than one server: sentinels, a cluster, a quorum. Real ones."""
import re
import subprocess

import pytest

from cluster import Cluster
from fleet import BUILD, ROTAD, conf_value, wait_for
from quorum import Servers
from redis_server import TESTS_USER, free_port
from sentinel import DEVICE_RULES, Group

OK, UNAVAILABLE, NOPERM, CONFIG = 0, 69, 77, 78
SIX = ["name", "connection", "tls", "login", "scripts", "server"]
JOB = 'report = { plugin = "exec"; every = "1h"; worst_case = "1m"; params = { command = [ "/bin/true" ]; }; };'


class Said:
    """What it printed: {heading: {row: (mark, text)}}, in order."""

    def __init__(self, done):
        self.status, self.stderr, self.text = done.returncode, done.stderr, done.stdout
        self.blocks = {}
        rows = None
        for before, line in zip([""] + self.text.split("\n"), self.text.split("\n")):
            if rows is not None and re.match(r"[ !x] [a-z]+ ", line):
                assert len(line) <= 80 or " " not in line[14:], line
                name = line[2:14].strip()
                assert name not in rows
                rows[name] = (line[0], line[14:])
            elif rows and line.startswith(" " * 14):
                rows[name] = (rows[name][0], rows[name][1] + " " + line[14:])
            elif line and not before:
                rows = self.blocks.setdefault(line, {})
        self.blocks = {heading: rows for heading, rows in self.blocks.items()
                       if rows and heading != "report"}


@pytest.fixture
def check(tmp_path):
    def ask(redis, *more, online=True):
        path = tmp_path / "rotad.conf"
        path.write_text(f'prefix = "test:";\ndevice = "gate-1";\nplugin_dir = [ "{BUILD}/plugins" ];\n'
                        f"redis = {conf_value(redis)};\njobs = {{ {JOB} }};\n")
        words = [ROTAD, "-c", path, "--check", "--no-probe", *(["--online"] if online else []), *more]
        return Said(subprocess.run(words, capture_output=True, text=True, timeout=60, check=False))
    return ask


# --- sentinels ---

@pytest.fixture(scope="module")
def group():
    with_group = Group().start()
    yield with_group
    with_group.close()


def test_sentinels_and_their_master(check, group):
    said = check(group.settings())
    assert (said.status, said.stderr) == (OK, "")
    master = group.master().text
    assert list(said.blocks) == [*(f"{sentinel.text}, a sentinel" for sentinel in group.sentinels),
                                 "mymaster, by its sentinels", f"{master}, the master mymaster"]
    for sentinel in group.sentinels:
        rows = said.blocks[f"{sentinel.text}, a sentinel"]
        assert list(rows) == ["name", "connection", "tls", "login", "master", "failover"]
        assert rows["login"] == (" ", "user default without a password")
        assert rows["master"] == (" ", f"mymaster is {master}")
        assert rows["failover"][0] == "!" and "ACL SETUSER default +sentinel|ckquorum" in rows["failover"][1]
    assert said.blocks["mymaster, by its sentinels"] == {"sentinels": (" ", f"3 of 3 name {master}")}
    rows = said.blocks[f"{master}, the master mymaster"]
    assert list(rows) == SIX and {rows[row][0] for row in SIX[:5]} == {" "}


def test_a_sentinel_that_may_tell_of_failovers(check, group):
    for sentinel in group.sentinels:
        sentinel.ask("ACL", "SETUSER", "default", "+sentinel|ckquorum")
    try:
        said = check(group.settings())
        for sentinel in group.sentinels:
            assert said.blocks[f"{sentinel.text}, a sentinel"]["failover"] == \
                (" ", "3 usable Sentinels. Quorum and failover authorization can be reached")
    finally:
        for sentinel in group.sentinels:
            sentinel.ask("ACL", "SETUSER", "default", "-sentinel|ckquorum")


def test_a_sentinel_that_may_not_be_listened_to(check, group):
    """All works, but a switch is noticed late: nothing else would tell."""
    deaf = group.sentinels[1]
    deaf.ask("ACL", "SETUSER", "default", "-subscribe")
    try:
        said = check(group.settings())
        assert said.status == OK
        rows = [said.blocks[f"{sentinel.text}, a sentinel"] for sentinel in group.sentinels]
        assert ["switch" in row for row in rows] == [False, True, False]
        assert rows[1]["switch"] == ("!", "may not be listened to, so that the old master is left later; write at the "
                                          "sentinel: ACL SETUSER default +subscribe +unsubscribe &+switch-master")
    finally:
        deaf.ask("ACL", "SETUSER", "default", "+subscribe")


def test_a_master_that_they_do_not_know(check, group):
    said = check(group.settings(master="other"))
    assert said.status == UNAVAILABLE
    rows = said.blocks[f"{group.sentinels[0].text}, a sentinel"]
    assert rows["master"] == ("x", 'it knows no other; write into redis.master the name that "sentinel monitor" gives it '
                                   "in sentinel.conf")
    assert said.blocks["other, by its sentinels"] == {"sentinels": ("x", "none of 3 knows it")}
    assert len(said.blocks) == 4


def test_one_sentinel_is_gone_and_one_is_a_server(check, group):
    server = group.master().text
    dead = f"{group.host}:{free_port()}"
    said = check(group.settings(sentinels=[dead, server, group.sentinels[1].text]))
    assert said.status == OK
    rows = said.blocks[f"{dead}, a sentinel"]
    assert rows["connection"] == ("x", f"{group.host}: connection refused")
    assert (rows["login"], rows["master"]) == ((" ", "not reached"), (" ", "not reached"))
    rows = said.blocks[f"{server}, a sentinel"]
    assert rows["master"][0] == "x" and "failover" not in rows
    assert said.blocks["mymaster, by its sentinels"] == {"sentinels": ("!", f"1 of 3 name {server}")}


def test_no_sentinel_answers(check, group):
    dead = f"{group.host}:{free_port()}"
    said = check(group.settings(sentinels=[dead]))
    assert said.status == UNAVAILABLE
    assert said.blocks["mymaster, by its sentinels"] == {"sentinels": ("x", "none of 1 can be asked")}


def test_the_login_at_the_sentinels(check, group, tmp_path):
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("wrong\n")
    for sentinel in group.sentinels:
        sentinel.ask("ACL", "SETUSER", "rota", "reset", "on", ">told", *DEVICE_RULES.split(), "-subscribe")
    settings = group.settings(sentinel_username="rota", sentinel_password_file=str(password))
    said = check(settings)
    assert said.status == NOPERM
    assert said.blocks[f"{group.sentinels[0].text}, a sentinel"]["login"] == \
        ("x", "it refuses rota; see redis.sentinel_username and sentinel_password_file (WRONGPASS)")
    password.write_text("told\n")
    said = check(settings)
    assert said.status == OK
    assert said.blocks[f"{group.sentinels[0].text}, a sentinel"]["login"] == (" ", "user rota")
    for sentinel in group.sentinels:
        sentinel.ask("ACL", "SETUSER", "rota", "-sentinel|get-master-addr-by-name")
    said = check(settings)
    assert said.status == NOPERM
    assert said.blocks[f"{group.sentinels[0].text}, a sentinel"]["master"] == (
        "x", "may not be asked for; write at the sentinel: ACL SETUSER rota +sentinel|get-master-addr-by-name +subscribe "
             "+unsubscribe &+switch-master")


def test_sentinels_that_name_different_servers(check):
    """The second group's sentinel knows its own server by the same name."""
    with_other = Group(replicas=0, sentinels=1, quorum=1).start()
    try:
        first = Group(replicas=0, sentinels=2, quorum=2).start()
        try:
            said = check(first.settings(sentinels=[each.text for each in (*with_other.sentinels, *first.sentinels)]))
            assert said.status == OK
            assert said.blocks["mymaster, by its sentinels"] == {"sentinels": (
                "!", f"2 of 3 name {first.master().text}, others another one: a failover is under way, or they do not watch "
                     "the same servers")}
            assert list(said.blocks)[-1] == f"{first.master().text}, the master mymaster"
        finally:
            first.close()
    finally:
        with_other.close()


def test_a_master_that_may_not_be_asked_for_its_role(check, group):
    server = group.master()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-role")
        said = check(group.settings())
        client.execute_command("ACL", "SETUSER", "default", "+role")
    assert said.status == NOPERM
    assert said.blocks[f"{server.text}, the master mymaster"]["rights"] == ("x", "write at Redis: ACL SETUSER default +role")


# --- a cluster ---

@pytest.fixture(scope="module")
def nodes():
    with Cluster(replicas=0, node_timeout_ms=30_000) as cluster:
        yield cluster.start()


def test_nodes_of_a_cluster(check, nodes):
    said = check(nodes.settings(*nodes.nodes[:2], tls=False))
    assert (said.status, said.stderr) == (OK, "")
    assert list(said.blocks) == [node.text for node in nodes.nodes[:2]]
    for rows in said.blocks.values():
        assert list(rows) == [*SIX, "cluster"]
        assert re.match(r"(redis|valkey) [\d.]+, a node of a Redis Cluster; maxmemory-policy noeviction", rows["server"][1])
        assert rows["cluster"] in ((" ", "it works: 3 masters, 16384 of 16384 slots"),
                                   ("!", "its state cannot be checked; write at Redis: ACL SETUSER default +cluster|info"))


def test_the_state_of_a_cluster(check, nodes):
    first = nodes.nodes[0]
    first.ask("ACL", "SETUSER", "default", "+cluster|info")
    settings = nodes.settings(first, tls=False)
    assert check(settings).blocks[first.text]["cluster"] == (" ", "it works: 3 masters, 16384 of 16384 slots")
    def state():
        return first.ask("CLUSTER INFO")["cluster_state"]
    first.ask("CONFIG", "SET", "cluster-require-full-coverage", "yes")
    first.ask("CLUSTER", "DELSLOTS", 0)
    try:
        wait_for(lambda: state() == "fail", 10, "the node holds the cluster for down")
        said = check(settings)
        assert said.status == UNAVAILABLE
        assert said.blocks[first.text]["cluster"] == (
            "x", "it is down: 16383 of 16384 slots are served; see CLUSTER INFO there")
        first.ask("CONFIG", "SET", "cluster-require-full-coverage", "no")
        wait_for(lambda: state() == "ok", 10, "it serves the other slots")
        said = check(settings)
        assert said.status == OK
        assert said.blocks[first.text]["cluster"] == ("!", "it works: 3 masters, 16383 of 16384 slots")
    finally:
        first.ask("CONFIG", "SET", "cluster-require-full-coverage", "no")
        first.ask("CLUSTER", "ADDSLOTS", 0)
        nodes.wait_whole()


def test_a_node_that_may_not_be_asked_for_what_moves(check, nodes):
    first = nodes.nodes[0]
    first.ask("ACL", "SETUSER", "default", "-asking")
    said = check(nodes.settings(first, tls=False))
    first.ask("ACL", "SETUSER", "default", "+asking")
    assert said.status == NOPERM
    assert said.blocks[first.text]["rights"] == ("x", "write at Redis: ACL SETUSER default +asking")


def test_a_node_without_cluster(check, nodes, redis_server):
    """And a server that is no node, with it."""
    said = check({"address": nodes.nodes[0].text, "tls": False})
    assert said.status == UNAVAILABLE
    assert ", a node of a Redis Cluster; write redis.cluster = true; its clock " in \
        said.blocks[nodes.nodes[0].text]["server"][1]
    said = check({"address": redis_server.address, "tls": False, "cluster": True})
    mark, text = said.blocks[redis_server.address]["server"]
    assert (said.status, mark) == (OK, "!")
    assert "; it is no Redis Cluster: leave redis.cluster out; its clock " in text


# --- a quorum ---

@pytest.fixture
def servers():
    all_of_them = Servers(3)
    try:
        yield all_of_them.start()
    finally:
        all_of_them.close()


def quorum_of(*addresses, **more):
    return {"quorum": [{"address": address} for address in addresses], "tls": False, "connect_timeout": "500ms",
            "command_timeout": "500ms", **more}


def test_servers_of_a_quorum(check, servers):
    addresses = [server.address for server in servers.all]
    said = check(quorum_of(*addresses))
    assert (said.status, said.stderr) == (OK, "")
    assert list(said.blocks) == [*addresses, "the quorum of 3"]
    assert all(list(said.blocks[address]) == SIX for address in addresses)
    assert said.blocks["the quorum of 3"] == {"servers": (" ", "3 of 3 can be used; 2 are needed"),
                                              "apart": (" ", "each is a server of its own")}
    servers.kill(1)
    said = check(quorum_of(*addresses))
    assert (said.status, said.blocks["the quorum of 3"]["servers"]) == (OK, ("!", "2 of 3 can be used; 2 are needed"))
    assert said.blocks["the quorum of 3"]["apart"] == ("!", "cannot be checked of 1, whose run_id could not be asked for")
    servers.freeze(2)
    said = check(quorum_of(*addresses))
    assert (said.status, said.blocks["the quorum of 3"]["servers"]) == (
        UNAVAILABLE, ("x", "1 of 3 can be used; 2 are needed"))


def test_two_of_a_quorum_are_one(check, servers):
    first, second, third = servers.all
    also = f"127.0.0.1:{first.open_port()}"
    said = check(quorum_of(first.address, second.address, also))
    assert said.status == CONFIG
    assert said.blocks["the quorum of 3"]["apart"] == (
        "x", f"{first.address} and {also} are one server, which would count twice; write servers that are independent of "
             "each other")
    assert check(quorum_of(first.address, second.address, third.address)).status == OK


def test_one_of_a_quorum_is_a_replica_of_another(check, servers):
    first, second, third = servers.all
    port = first.open_port()
    with second.client() as client:
        client.config_set("masteruser", TESTS_USER)
        client.config_set("masterauth", "any")
        client.replicaof("127.0.0.1", port)
        wait_for(lambda: client.info("replication")["master_link_status"] == "up", 10, "it follows")
    said = check(quorum_of(*(server.address for server in servers.all)))
    assert (said.status, said.blocks["the quorum of 3"]["servers"]) == (OK, ("!", "2 of 3 can be used; 2 are needed"))
    mark, text = said.blocks[second.address]["server"]
    assert mark == "x"
    assert ", a replica, which takes no writes; each server of a quorum is a master that has nothing of the others; " in text


def test_a_login_of_its_own(check, servers, tmp_path):
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("sesame\n")
    second = servers.all[1]
    with second.client() as client:
        client.execute_command("ACL", "SETUSER", "two", "on", ">sesame", "~test:{*", "+@all")
    settings = quorum_of(*(server.address for server in servers.all))
    settings["quorum"][1] |= {"username": "two", "password_file": str(password), "database": 3}
    said = check(settings)
    assert said.status == OK
    assert [said.blocks[server.address]["login"][1] for server in servers.all] == [
        "user default without a password, database 0", "user two, database 3", "user default without a password, database 0"]


# --- what is said without asking ---

def words(text):
    return " ".join(text.split())


def test_what_each_is_is_said(check):
    sentinel = check({"sentinels": "192.0.2.1:26379", "master": "m"}, online=False)
    assert sentinel.status == OK
    assert ("Redis is the master that a sentinel names. Around a failover two servers can both be master for some "
            "seconds, and a turn may run twice: rotad(8), SENTINEL.") in words(sentinel.text)
    assert "in the clear" not in sentinel.text
    clear = check({"sentinels": "127.0.0.1:26379", "master": "m", "tls": False}, online=False)
    assert "All goes in the clear, also to servers that are learned: redis.tls is false." in words(clear.text)
    cluster = check({"address": "192.0.2.1:7000", "cluster": True}, online=False)
    assert ("Redis is a cluster. A failover of one of its nodes can lose the newest writes, a lock too, and a turn may "
            "run twice: rotad(8), CLUSTER.") in words(cluster.text)
    five = check({"quorum": [{"address": f"192.0.2.{i}:6379"} for i in range(1, 6)]}, online=False)
    assert ("A lock is held where 3 of 5 servers grant it: 2 of them may be down. That is more available than one "
            "server, and no safer: an efficiency lock without a fence, on masters that share nothing. One that comes back "
            "without its newest writes can give a lock away a second time: rotad(8), QUORUM. Each question goes to all of "
            "them, and is so many times counted in what jobs cost.") in words(five.text)
    one = check({"address": "192.0.2.1:6379"}, online=False)
    assert not re.search("failover|quorum|QUORUM|cluster", one.text)


def test_what_a_quorum_costs(check):
    """Each question goes to each of them."""
    def month(said):
        [(number, unit)] = re.findall(r"All jobs and hello, over TLS: about (\d+) ([kM])B a month alone", said.text)
        return int(number) * (1000 if unit == "M" else 1)
    one = check({"address": "192.0.2.1:6379"}, online=False)
    five = check({"quorum": [{"address": f"192.0.2.{i}:6379"} for i in range(1, 6)]}, online=False)
    assert month(five) == pytest.approx(5 * month(one), rel=0.03)
