# SPDX-License-Identifier: MIT
"""rotad --check --online, of the server itself: what it is, and whether its settings suit rota."""
import contextlib
import re

import pytest

import redis
from fake_server import FakeServer, closing
from fleet import now_ms, wait_for
from online import NOT_REACHED, OK, UNAVAILABLE, server
from redis_server import follow
from resp import encode, error

@pytest.mark.parametrize("answer, text", [
    (error("LOADING Redis is loading the dataset in memory"), "it still loads its data (LOADING)"),
    (error("MASTERDOWN Link with MASTER is down"), "it is a replica without its master (MASTERDOWN)"),
    (closing(), "the server closed the connection"),
    (b"*1\r\n$5\r\nhello\r\n", "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", 2, 2, "", "", ""]), "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", "x", 2, "", "", "", ""]), "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", 6, 2, "", "", "", ""]), "what answers there is no Redis"),
])
def test_it_serves_nobody(online, answer, text):
    with FakeServer() as fake:
        fake.rule("survey", answer)
        said = online(fake.address)
        assert (said.status, said.rows["server"]) == (UNAVAILABLE, ("x", text))


def test_before_redis_7_rights_cannot_be_looked_up(online):
    with FakeServer() as fake:
        fake.rule("survey", lambda words: encode(["survey", 1, "redis 6.2.7", 0, "noeviction", 2, 2, "", "?", "", ""]))
        said = online(fake.address)
        assert said.status == OK
        assert said.rows["scripts"] == ("!", "cannot be checked before Redis 7")
        assert said.rows["server"] == (" ", "redis 6.2.7; maxmemory-policy noeviction; saved in an append-only file")


@pytest.mark.parametrize("policy", ["volatile-lru", "allkeys-lru", "noeviction", "denied"])
def test_s37_the_policy_is_looked_at(online, redis_server, policy):
    if policy == "denied":
        redis_server.allow("-info", "-config")
    else:
        with redis_server.client() as client:
            client.config_set("maxmemory-policy", policy)
    said = online(redis_server.address)
    mark, text = said.rows["server"]
    assert (said.status, mark) == (OK, " " if policy == "noeviction" else "!")
    if policy == "denied":
        assert text.startswith("all but its clock cannot be checked; write at Redis: ACL SETUSER default +info; its clock is ")
    elif policy == "noeviction":
        assert "; maxmemory-policy noeviction; " in text
    else:
        assert (f"; maxmemory-policy {policy}: where memory is short, locks and claims are lost, and a turn may run twice; "
                "write noeviction there; ") in text


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
def test_its_memory_is_full(online, policy):
    with server("--maxmemory", "64mb", "--maxmemory-policy", policy) as the_server, the_server.client() as client:
        refused = "; maxmemory-policy noeviction: it is out of memory and refuses writes; raise its maxmemory of 1000 bytes; "
        assert online(the_server.address).status == OK
        client.config_set("maxmemory", 1000)
        said = online(the_server.address)
        if policy == "noeviction":
            assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
            assert refused in said.rows["server"][1]
        else:
            assert (said.status, said.rows["server"][0]) == (OK, "!")
        client.config_set("maxmemory", 0)
        assert online(the_server.address).status == OK


def test_saved_to_disk(online, redis_server):
    with redis_server.client() as client:
        wait_for(lambda: int(client.info("server")["uptime_in_seconds"]) > 3, 10, "it has run for a while")
        client.save()
        assert re.search(r"; saved to disk [\d.]+ m?s ago; ", online(redis_server.address).rows["server"][1])
        client.config_set("appendonly", "yes")
        wait_for(lambda: client.info("persistence")["aof_enabled"] == 1, 10, "it appends")
        assert "; saved in an append-only file; " in online(redis_server.address).rows["server"][1]


def test_saving_fails(online, redis_server):
    with redis_server.client() as client:
        (redis_server.folder / "dump.rdb").mkdir()
        with contextlib.suppress(redis.RedisError):
            client.bgsave()
        wait_for(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", 10, "the save has failed")
        said = online(redis_server.address)
        assert (said.status, said.rows["server"][0]) == (OK, "!")
        assert "; its last try to save to disk failed, see its log; " in said.rows["server"][1]


def test_a_replica(online, redis_server):
    with server() as master:
        port = master.open_port()
        with redis_server.client() as client:
            client.config_set("masteruser", "tests")
            client.config_set("masterauth", "any")
            client.replicaof("127.0.0.1", port)
            wait_for(lambda: client.info("replication")["master_link_status"] == "up", 10, "it follows")
            said = online(redis_server.address)
            assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
            assert ", a replica, which takes no writes; write its master in redis.address; " in said.rows["server"][1]
            # Beside its master it may well stand in the list: rotad goes on to that one.
            assert online(redis_server.address, master.address).status == OK


def test_a_node_of_a_cluster(online):
    with server("--cluster-enabled", "yes") as node:
        said = online(node.address)
        assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
        assert ", a node of a Redis Cluster; write redis.cluster = true; " in said.rows["server"][1]


@pytest.mark.parametrize("gone", ["EVAL", "EVALSHA", "TIME", "ZADD"])
def test_a_command_that_was_renamed_away(online, gone):
    """An access rule would not bring it back."""
    with server("--rename-command", gone, "") as the_server:
        said = online(the_server.address)
        assert (said.status, said.rows["scripts"]) == (UNAVAILABLE, NOT_REACHED)
        assert said.rows["server"] == ("x", "it lacks a command that rota needs (ERR)")


def test_info_was_renamed_away(online):
    with server("--rename-command", "INFO", "") as the_server:
        said = online(the_server.address)
        mark, text = said.rows["server"]
        assert (said.status, mark) == (OK, "!")
        assert text.startswith("all but its clock cannot be checked: it lacks the command INFO; its clock is ")


@pytest.mark.parametrize("ahead_ms, mark, text", [
    (500, " ", r"; its clock is (4\d\d|5\d\d) ms ahead of ours"),
    (-3_600_000, "!", r"; its clock is (1 h|59 min \d+ s) behind ours, and turns go by it"),
])
def test_its_clock(online, ahead_ms, mark, text):
    with server(own_clock=True) as the_server:
        the_server.clock.add(ahead_ms)
        said = online(the_server.address)
        assert said.status == OK
        assert said.rows["server"][0] == mark and re.search(text + "$", said.rows["server"][1])


def test_what_is_never_saved(online):
    """Where there is something to save, and time enough for any server that saves at all."""
    with server(own_clock=True) as the_server, the_server.client() as client:
        never = "; not saved to disk since its start 2 h {}ago: a restart of it costs each job a turn or the wait for one " \
            "lease; write appendonly yes there; "
        the_server.clock.add(7_260_000)
        wait_for(lambda: int(client.info("server")["uptime_in_seconds"]) > 7200, 10, "it has run for two hours")
        assert "write appendonly" not in online(the_server.address).rows["server"][1]
        client.set("test:{report}:lock", "x")
        said = online(the_server.address)
        assert (said.status, said.rows["server"][0]) == (OK, "!")
        assert re.search(never.format(r"(\d+ \w+ )?"), said.rows["server"][1])
        client.config_set("appendonly", "yes")
        wait_for(lambda: client.info("persistence")["aof_enabled"] == 1, 10, "it appends")
        assert "; saved in an append-only file; " in online(the_server.address).rows["server"][1]


def test_replicas_that_it_does_not_wait_for(online, redis_server):
    """With two or more of them."""
    with server() as first, server() as second, redis_server.client() as client:
        careless = "; it takes writes that reach none of its replicas: "
        refuses = "; no replica follows it closely, and it refuses writes (its min-replicas-to-write); "
        assert careless not in online(redis_server.address).rows["server"][1]
        follow(first, redis_server)
        assert online(redis_server.address).rows["server"][0] == " "
        follow(second, redis_server)
        said = online(redis_server.address)
        assert (said.status, said.rows["server"][0]) == (OK, "!")
        assert careless in said.rows["server"][1]
        client.config_set("min-replicas-to-write", 1)
        said = online(redis_server.address)
        assert careless not in said.rows["server"][1] and refuses not in said.rows["server"][1]
        for replica in (first, second):
            with replica.client() as there:
                there.replicaof("NO", "ONE")
        wait_for(lambda: client.info("replication")["min_slaves_good_slaves"] == 0, 20, "it has none any more")
        said = online(redis_server.address)
        assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
        assert refuses in said.rows["server"][1]


def test_nearly_too_many_connections(online, redis_server):
    crowded = "; of the 20 connections that it takes nine in ten are in use; raise its maxclients; "
    with redis_server.client() as client, contextlib.ExitStack() as crowd:
        client.config_set("maxclients", 20)
        assert crowded not in online(redis_server.address).rows["server"][1]
        for _ in range(17):
            crowd.enter_context(redis_server.client()).ping()
        said = online(redis_server.address)
        assert (said.status, said.rows["server"][0]) == (OK, "!")
        assert crowded in said.rows["server"][1]


@pytest.mark.parametrize("fork_ms, mark", [(149, " "), (150, "!")])
def test_a_fork_that_nearly_outlasts_a_command(online, fork_ms, mark):
    """At a command_timeout of 300 ms."""
    with FakeServer() as fake:
        fake.rule("survey", lambda words: encode(["survey", now_ms(), "redis 7.0.15", 0, "noeviction", 2, 2, "", "", "", "", 0,
                                                  0, 0, 0, fork_ms]))
        said = online(fake.address)
        assert (said.status, said.rows["server"][0]) == (OK, mark)
        assert ("; its last fork took 150 ms, in which it answered nobody; " in said.rows["server"][1]) == (mark == "!")
