# SPDX-License-Identifier: MIT
"""The fake server does what it says: else the tests that stand on it prove nothing."""
import socket

import pytest
import redis

from fake_server import (GREETING, FakeServer, closing, drip, endless, granted, held, recorded,
                         renewed, resetting, silence)
from fault_proxy import FaultProxy
from fleet import wait_for
from redis_server import NO_RETRY
from resp import error, script_body

TURN = 1_700_000_000_000


@pytest.fixture(params=[False, True], ids=["unix", "tcp"])
def server(request):
    with FakeServer(tcp=request.param) as the_server:
        yield the_server


def connect(server):
    peer = socket.socket(server.listener.family)
    peer.settimeout(1)
    peer.connect(server.listener.getsockname())
    return peer


def client_of(server):
    if server.address.startswith("unix:"):
        where = {"unix_socket_path": server.address[5:]}
    else:
        where = {"host": "127.0.0.1", "port": int(server.address.rpartition(":")[2])}
    return redis.Redis(**where, decode_responses=True, socket_timeout=1, retry=NO_RETRY)


def test_first_rule_that_fits_answers(server):
    with client_of(server) as client:
        server.rule("GET", error("LOADING not yet"), times=2)
        server.rule("GET", b"$1\r\na\r\n")
        for _ in range(2):
            with pytest.raises(redis.BusyLoadingError):
                client.get("a")
        assert client.get("a") == client.get("a") == "a"
        with pytest.raises(redis.ResponseError, match="no rule for SET"):
            client.set("a", 1)
        assert client.time()[0] > TURN / 1000
        assert [seen.words for seen in server.commands("SET")] == [[b"SET", b"a", b"1"]]
        assert server.count("GET") == 4
        server.rule("", b":7\r\n")
        assert client.incr("a") == 7


def test_scripts_have_their_answers(server):
    answers = {"acquire": granted, "renew": renewed, "finish": recorded}
    for kind, answer in answers.items():
        server.rule(kind, answer)
    with client_of(server) as client:
        def ask(kind):
            return client.eval(script_body(kind), 1, "lock", "token", TURN)
        got = {kind: ask(kind) for kind in answers}
        assert (got["acquire"][0], got["acquire"][-1]) == ("acquired", TURN)
        assert (got["renew"][0], got["finish"][0]) == ("renewed", "recorded")
        server.clear()
        server.rule("acquire", held)
        assert ask("acquire")[0] == "held"


def test_one_byte_at_a_time(server):
    server.rule(GREETING, drip(b"+hello\r\n", 0.005))
    with connect(server) as peer:
        parts = []
        while sum(map(len, parts)) < len("+hello\r\n"):
            parts.append(peer.recv(100))
        # A busy machine may bring two at once, but never all.
        assert len(parts) > 2 and b"".join(parts) == b"+hello\r\n"


def test_endless_until_the_other_side_goes(server):
    server.rule(GREETING, endless(b"*1\r\n", head=b"+"))
    with connect(server) as peer:
        taken = 0
        while taken < 1_000_000:
            taken += len(peer.recv(65536))
    wait_for(lambda: server.connections[0].ended.is_set(), 2, "it stops")
    assert server.connections[0].sent >= taken


def test_closing_and_resetting(server):
    server.rule("A", closing(b"+bye"))
    server.rule("B", resetting())
    with connect(server) as peer:
        peer.sendall(b"*1\r\n$1\r\nA\r\n")
        assert peer.recv(100) + peer.recv(100) == b"+bye"
    with connect(server) as peer:
        peer.sendall(b"*1\r\n$1\r\nB\r\n")
        if peer.family == socket.AF_UNIX:
            assert peer.recv(100) == b""
        else:
            with pytest.raises(ConnectionResetError):
                peer.recv(100)


def test_silence(server):
    server.rule("A", silence())
    with connect(server) as peer:
        peer.settimeout(0.05)
        peer.sendall(b"*1\r\n$1\r\nA\r\n")
        with pytest.raises(TimeoutError):
            peer.recv(100)
        server.wait_for("A")


def test_proxy_before_it(server):
    if server.address.startswith("unix:"):
        server.rule("GET", b":1\r\n")
        with FaultProxy(server.address[5:]) as proxy, proxy.connect() as peer:
            peer.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n")
            assert peer.recv(100) == b":1\r\n"
