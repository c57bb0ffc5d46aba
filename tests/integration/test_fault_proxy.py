# SPDX-License-Identifier: MIT
"""The fault proxy does what it says: else the scenarios that stand on it prove nothing."""
import time

import pytest
import redis

from cellular import ROUND_TRIP_SECONDS, cellular, namespace_that_drops
from fault_proxy import (PASS, FaultProxy, answered, cut_reply, cut_request, late, lost_reply,
                         lost_request)
from fleet import wait_for
from redis_server import NO_RETRY
from resp import error, message_end, script_body


@pytest.fixture
def redis_server(redis_server):
    """Where all may do all: nobody here is a device."""
    redis_server.allow("allkeys", "+@all")
    return redis_server


@pytest.fixture
def proxy(redis_server):
    with FaultProxy(redis_server.socket, seed=1) as the_proxy:
        yield the_proxy


@pytest.fixture
def client(proxy):
    with client_of(proxy) as the_client:
        yield the_client


def client_of(proxy, timeout=0.3):
    return redis.Redis(unix_socket_path=proxy.address.removeprefix("unix:"), decode_responses=True,
                       socket_timeout=timeout, single_connection_client=True, retry=NO_RETRY)


def test_everything_passes_and_is_counted(proxy, client):
    body = script_body("renew")
    with pytest.raises(redis.ResponseError):
        client.eval(body, 0)
    with pytest.raises(redis.ResponseError):
        client.evalsha(client.script_load(body), 0)
    assert client.set("a", "x" * 100_000)
    assert client.get("a") == "x" * 100_000
    assert [proxy.count(kind) for kind in ("renew", "SET", "GET", "SCRIPT")] == [2, 1, 1, 1]
    # The newer redis modules introduce themselves.
    assert proxy.count() - proxy.count("CLIENT") == 5
    assert proxy.request_bytes["SET"] > 100_000 and proxy.reply_bytes["GET"] > 100_000
    assert proxy.reply_bytes["SET"] == len("+OK\r\n")


def test_lost_request_never_reaches_redis(proxy, client, redis_server):
    proxy.next("SET", PASS, lost_request())
    client.set("a", 1)
    with pytest.raises(redis.TimeoutError):
        client.set("a", 2)
    assert redis_server.client().get("a") == "1"


def test_lost_reply_of_what_redis_did(proxy, client, redis_server):
    proxy.next("SET", lost_reply())
    with pytest.raises(redis.TimeoutError):
        client.set("a", 2)
    assert redis_server.client().get("a") == "2"
    client.set("a", 3)  # over a new connection


def test_late_reply(proxy, client):
    proxy.next("GET", late(0.2))
    begun = time.monotonic()
    assert client.get("a") is None
    assert 0.2 <= time.monotonic() - begun < 0.3


def test_answered_in_its_stead_and_in_order(proxy, client, redis_server):
    proxy.always("SET", answered(error("OOM too much")))
    pipeline = client.pipeline(transaction=False).incr("n").set("a", 1).incr("n")
    one, refused, two = pipeline.execute(raise_on_error=False)
    assert (one, two) == (1, 2) and "too much" in repr(refused)
    assert redis_server.client().get("a") is None
    proxy.clear()
    assert client.set("a", 1)


@pytest.mark.parametrize("fault, arrives", [(cut_request(9), None), (cut_reply(2), "1")],
                         ids=["request", "reply"])
def test_cut_in_the_midst(proxy, client, redis_server, fault, arrives):
    proxy.next("SET", fault)
    with pytest.raises(redis.ConnectionError):
        client.execute_command("SET", "a", 1)
    assert redis_server.client().get("a") == arrives


def test_held_bytes_come_late(proxy, redis_server):
    with client_of(proxy) as client, redis_server.client() as direct:
        client.ping()
        proxy.hold()
        with pytest.raises(redis.TimeoutError):
            client.set("a", 1)
        client.close()
        assert direct.get("a") is None
        proxy.release()
        wait_for(lambda: direct.get("a") == "1", 2, "the late command arrives")


def test_dropped_bytes_never_come(proxy, client, redis_server):
    client.ping()
    proxy.drop()
    with pytest.raises(redis.TimeoutError):
        client.set("a", 1)
    assert client.set("b", 1)  # over a new connection
    assert redis_server.client().get("a") is None


def test_cut_closes(proxy, client):
    client.ping()
    proxy.cut()
    with pytest.raises(redis.ConnectionError):
        client.execute_command("PING")


def test_no_redis_behind_it(proxy, client, redis_server):
    redis_server.kill()
    with pytest.raises(redis.ConnectionError):
        client.ping()


def test_loss_is_a_wait(redis_server):
    with FaultProxy(redis_server.socket, loss=0.5, seed=3) as proxy:
        with client_of(proxy, timeout=30) as client:
            begun = time.monotonic()
            for _ in range(4):
                client.ping()
            assert time.monotonic() - begun > 0.2


@pytest.mark.parametrize("real", [True, False], ids=["nftables", "played"])
def test_cellular_takes_its_round_trip(redis_server, monkeypatch, real):
    if not real:
        monkeypatch.setenv("PATH", "")
    with cellular(redis_server.socket) as (proxy, enter):
        if real and not enter:
            pytest.skip("no network namespace can be made here")
        assert bool(enter) == real
        begun = time.monotonic()
        with proxy.connect() as peer:
            peer.settimeout(10)
            peer.sendall(b"*1\r\n$4\r\nPING\r\n")
            assert peer.recv(100) == b"+PONG\r\n"
        # One for the connection and one for the command.
        assert 2 * ROUND_TRIP_SECONDS <= time.monotonic() - begun


def test_nftables_drops():
    with namespace_that_drops(99) as netns:
        if netns is None:
            pytest.skip("no network namespace can be made here")
        with netns.socket() as peer, pytest.raises(TimeoutError):
            peer.settimeout(0.2)
            peer.connect(("127.0.0.1", 1))
        assert netns.dropped() > 0


def test_messages_end_where_they_end():
    whole = b"*2\r\n$4\r\nLL\r\n\r\n*1\r\n:1\r\n"
    assert [message_end(whole[:cut]) for cut in range(len(whole))] == [0] * len(whole)
    assert message_end(whole + b"+OK") == len(whole)
    assert message_end(b"$-1\r\n*-1\r\n") == 5
