# SPDX-License-Identifier: MIT
"""S12: the master that a device is connected to becomes a replica, and the connection stays. READONLY, plain or from within
a script's error, leads to a fresh resolution within 2 s; nothing counts as held that is not confirmed.

Three ways by which a device knows its master: Sentinel, a list of addresses, a name whose address changes."""
import contextlib

import pytest

from fleet import ONCE, RENEWED, Fleet, now_ms, wait_for
from redis_server import TESTS_USER, RedisServer
from sentinel import DEVICE_RULES, SERVER_PORT, Group, boot_ms, own_host
from store_harness import A, B, CLAIM, FakeServer, element, make_known
from test_names import NAME, Names, may_mount

RESOLVED_MS = 2000
LEASE_MS = 6000
# With the back-off that rota has where nobody says otherwise.
TIMES = {"tls": False, "connect_timeout": "1s", "command_timeout": "500ms"}
PLAIN = b"-READONLY You can't write against a read only replica.\r\n"
WRAPPED = (b"-ERR Error running script (call to f_0123456789abcdef): @user_script:1: @user_script: 1: "
           b"-READONLY You can't write against a read only replica.\r\n")


class Pair:
    """A master and its replica, on two addresses and one port."""
    enter = ()

    def __init__(self):
        self.hosts = [own_host(), own_host()]
        self.old, self.new = (self._server(host) for host in self.hosts)
        self.old.start(), self.new.start()
        with self.new.client() as client:
            client.replicaof(self.hosts[0], SERVER_PORT)
        wait_for(self.follows, 20, "the replica follows")

    @staticmethod
    def _server(host):
        server = RedisServer("--bind", host, "--protected-mode", "no", "--masteruser", TESTS_USER, "--masterauth", "any",
                             "--replica-announce-ip", host, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
        server.port = SERVER_PORT
        return server

    def follows(self):
        with self.old.client() as client:
            return client.info("replication")["connected_slaves"] == 1

    def promote(self):
        with self.new.client() as client:
            client.replicaof("no", "one")

    def demote(self):
        with self.old.client() as client:
            client.replicaof(self.hosts[1], SERVER_PORT)

    def close(self):
        self.old.close(), self.new.close()


class ByAddresses(Pair):
    def settings(self):
        return {"address": [f"{host}:{SERVER_PORT}" for host in self.hosts], **TIMES}


class ByName(Pair):
    def __init__(self):
        if not may_mount():
            pytest.skip("no mount namespace of our own here")
        super().__init__()
        self.names = None

    def settings(self):
        return {"address": f"{NAME}:{SERVER_PORT}", **TIMES}

    def prepare(self, fleet):
        self.names = Names(fleet)
        self.names.hosts(self.hosts[0])

    def promote(self):
        super().promote()
        self.names.hosts(self.hosts[1])


class BySentinel:
    """Sentinels that let nobody listen: so the connection stays where it is, whatever they publish."""

    def __init__(self):
        rules = DEVICE_RULES.replace("+subscribe", "")
        self.group = Group(sentinel_users=[f"user default reset on nopass {rules}"]).start()
        self.old, [self.new] = self.group.master(), self.group.others()

    def settings(self):
        known = self.group.settings()
        return {"sentinels": known["sentinels"], "master": known["master"], **TIMES}

    def promote(self):
        began = boot_ms()
        self.group.failover()
        self.group.wait_switch(began)
        assert self.new.role() == "master"

    def demote(self):
        with self.old.client() as client:
            client.replicaof(self.group.host, self.new.port)

    def close(self):
        self.group.close()


@pytest.fixture(params=[BySentinel, ByAddresses, ByName], ids=["sentinel", "addresses", "name"])
def pair(request):
    with contextlib.closing(request.param()) as pair:
        yield pair


@pytest.fixture
def fleet(pair):
    with contextlib.closing(Fleet(pair.old)) as fleet:
        if hasattr(pair, "prepare"):
            pair.prepare(fleet)
        yield fleet


def is_connected(device, server):
    with server.client() as client:
        return device.name in [each["name"] for each in client.client_list()]


def holder(fleet, pair, text):
    fleet.make_due("report")
    job = {**RENEWED, **ONCE, "lease": "6s", **fleet.body("report", text)}
    device = fleet.device({"report": job}, redis=pair.settings()).start()
    fleet.wait_entry("begin")
    assert is_connected(device, pair.old)
    return device


def test_s12_a_run_goes_on_at_the_new_master(pair, fleet):
    device = holder(fleet, pair, "sleep 8")
    pair.promote()
    assert is_connected(device, pair.old)
    pair.demote()
    wait_for(lambda: is_connected(device, pair.new), 10, "the device is at the new master")
    there = now_ms()
    refused = device.wait_line("it is a replica")
    assert there - refused.at < RESOLVED_MS
    fleet.wait_entry("end", within=20)
    with pair.new.client() as client:
        outcomes = wait_for(lambda: client.xrange(fleet.key("report", "history")), 10, "the end is recorded")
        assert [fields["outcome"] for _, fields in outcomes] == ["succeeded"]
        assert client.get(fleet.key("report", "lock")) is None
    assert len(fleet.entries("begin")) == 1
    # The old one did not take a word of it.
    assert not is_connected(device, pair.old)


def test_s12_without_a_master_nothing_is_held_past_its_end(pair, fleet):
    device = holder(fleet, pair, "while :; do note beat; sleep 0.05; done")
    with pair.old.client() as client:
        client.replicaof("127.0.0.1", 1)  # nobody
        left = client.pttl(fleet.key("report", "lock"))
    assert 0 < left <= LEASE_MS
    end = now_ms() + left
    device.wait_line("the lock could not be renewed", within=15)
    wait_for(lambda: not device.guards(), 15, "the worker has ended")
    assert max(entry.at for entry in fleet.entries("beat")) < end
    assert device.lines("it is a replica")
    # As soon as there is one again, that is told, and the lock was never brought back.
    if isinstance(pair, BySentinel):
        with pair.old.client() as client:
            client.replicaof("no", "one")
        master = pair.old
    else:
        pair.promote()
        master = pair.new
    with master.client() as client:
        outcomes = wait_for(lambda: client.xrange(fleet.key("report", "history")), 40, "the end is recorded")
        assert outcomes[0][1]["outcome"] == "lost"


@pytest.mark.parametrize("error", [PLAIN, WRAPPED], ids=["plain", "in a script's error"])
def test_s12_readonly_in_any_form(drive, redis_server, error):
    """The first of the list is a master until it says otherwise."""
    with contextlib.closing(FakeServer()) as old:
        driver = drive(old.address, redis_server.address, min=500, max=60_000)
        with redis_server.client() as client:
            turn = make_known(client, attempt=2, token=B)
            client.hset(CLAIM, mapping={"turn": turn["turn"], "state": "running"})
        driver.submit("t", "renew", token=A, turn=turn["turn"], fence=1)
        old.accept().send(element(["renewed", 1000, 900]))
        old_peer = old.peers[0]
        assert old_peer.command()[0] == "EVALSHA"
        assert driver.answer("t")["answer"] == "renewed"
        driver.submit("u", "renew", token=A, turn=turn["turn"], fence=1)
        assert old_peer.command()[0] == "EVALSHA"
        old_peer.send(error)
        told = driver.answer("u")
        assert (told["status"], told["fault"]) == ("error", "replica")
        refused = driver.event("link", state="waiting", fault="replica")["at"]
        driver.submit("v", "renew", token=A, turn=turn["turn"], fence=1)
        # It is asked of the other, and what that says counts: another has it.
        assert driver.answer("v")["answer"] == "lost"
        up = driver.event("link", state="up", endpoint=redis_server.address)["at"]
        assert up - refused < RESOLVED_MS
