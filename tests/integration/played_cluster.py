# SPDX-License-Identifier: MIT
"""Nodes of a Redis Cluster that a test plays, and what is asked of them."""
import contextlib
import socket

import pytest

from store_harness import A, ACQUIRED, SECONDS, FakeServer, Peer, element

SLOT = 1914  # hash of "backup"; any number does, rota goes by its own
TIME = b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n"
RECORDED = element(["recorded", 1000, 1, 0])
ACQUIRE = {"token": A, "turn": 900, "next": 1900}


class FakeNode(FakeServer):
    """The same over TCP; address is an endpoint as store_driver takes it."""

    def __init__(self, host="127.0.0.1"):
        self.listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.listener.settimeout(SECONDS)
        self.host, self.port = host, self.listener.getsockname()[1]
        self.address, self.peers = f"{host} {self.port}", []
        self.place = f"{host}:{self.port}"

    def close(self):
        for peer in self.peers:
            peer.socket.close()
        self.listener.close()

    def sends(self, peer, kind, to):
        peer.send(f"-{kind} {SLOT} {to}\r\n".encode())

    def is_left_alone(self, seconds=0.3):
        """Nobody connects for so long."""
        self.listener.settimeout(seconds)
        try:
            self.peers.append(Peer(self.listener.accept()[0]))
        except TimeoutError:
            return True
        finally:
            self.listener.settimeout(SECONDS)
        return False


@pytest.fixture
def nodes():
    all_nodes = [FakeNode() for _ in range(3)]
    yield all_nodes
    for node in all_nodes:
        node.close()


def asked(driver, node, name="x", verb="acquire", **keys):
    """The command is with the node: its connection."""
    driver.submit(name, verb, **{**ACQUIRE, **keys})
    peer = node.accept()
    assert peer.command()[0] in ("EVALSHA", "TIME")
    return peer


def serve(node):
    """Grants what the first connection asks."""
    peer = node.accept(login=False)
    with contextlib.suppress(AssertionError, OSError):  # it is over
        while command := peer.command():
            peer.send(ACQUIRED if command[0] == "EVALSHA" else b"+OK\r\n")
