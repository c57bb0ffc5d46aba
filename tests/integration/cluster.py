# SPDX-License-Identifier: MIT
"""A real Redis Cluster: three masters and a replica of each, redis-servers of its own on an address of the loopback
that is its own too, nothing on disk but what a node keeps of its cluster, all ended by their pids.

    cluster = Cluster().start()
    device = fleet.device(jobs, redis=cluster.settings())
    with cluster.moving(slot, cluster.masters()[1]) as move: ...   # a slot in its half-way states

Whoever comes without a name may do what conf/redis-acl.example gives to a device of the fleet `test:`, as in
redis_server.py; the tests themselves are another user, who may do all, and so are the nodes among themselves."""
import collections
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile

import redis

from clock.virtual_clock import VirtualClock
from redis_server import NO_RETRY, PROGRAM, READY_SECONDS, TESTS_USER, example_rules, wait_for

SLOTS = 16384
# Of the first node, and from a port to its bus; nobody is given these for a connection of his own.
PORT, BUS = 7001, 10_000
FORMED_SECONDS = 30
# Of the same errors, the first words in the text of redis-py 4, and the classes of 6, which takes these words off.
MOVING = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN")
MOVING_CLASSES = (redis.exceptions.AskError, redis.exceptions.TryAgainError, redis.exceptions.ClusterDownError)

Place = collections.namedtuple("Place", "id port is_master master slots failing")


def crc16(data):
    """As the specification of Redis Cluster has it (XMODEM): bit by bit, unlike runtime/core/slot.c."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (0x1021 if crc & 0x8000 else 0)
        crc &= 0xffff
    return crc


def slot_of(key):
    begin = key.find("{")
    end = key.find("}", begin) if begin >= 0 else -1
    tag = key[begin + 1:end] if end > begin + 1 else key
    return crc16(tag.encode()) % SLOTS


def own_host():
    """An address of the loopback that nobody else has in this moment."""
    while True:
        host = f"127.{random.randint(16, 250)}.{random.randint(0, 250)}.{random.randint(2, 250)}"
        with socket.socket() as probe:
            try:
                probe.bind((host, PORT))
            except OSError:
                continue
        return host


class Node:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.host, self.port = cluster.host, cluster.port + number
        self.bus = self.port + BUS
        self.folder = cluster.folder / str(number)
        self.folder.mkdir()
        self.process, self.frozen = None, False
        self.clock = None  # of its own; to be set before it is started

    @property
    def text(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def start(self):
        command = [PROGRAM, str(self.cluster.folder / "users.conf"), "--bind", self.host,
                   "--bind-source-addr", self.host, "--protected-mode", "no",
                   "--dir", str(self.folder), "--save", "", "--appendonly", "no", "--daemonize", "no",
                   "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                   "--cluster-port", str(self.bus), "--cluster-node-timeout", str(self.cluster.node_timeout_ms),
                   "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
                   "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
                   "--masteruser", TESTS_USER, "--masterauth", "any", *self.ports(), *self.cluster.options]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.clock.environment() if self.clock else None)
        return self

    def own_clock(self):
        """A VirtualClock."""
        self.cluster.options += ("--jemalloc-bg-thread", "no")  # in a clock that is behind it never rests
        self.clock = VirtualClock(self.folder)
        return self.clock

    def ports(self):
        if not self.cluster.tls:
            return ["--port", str(self.port)]
        tls = self.cluster.tls
        return ["--port", "0", "--tls-port", str(self.port), "--tls-cluster", "yes", "--tls-replication", "yes",
                "--tls-cert-file", str(tls.certificate.file), "--tls-key-file", str(tls.certificate.key),
                "--tls-ca-cert-file", str(tls.ca), "--tls-auth-clients", "no"]

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with self.client() as client:
                return client.ping()
        except redis.RedisError:
            return False

    def client(self, **options):
        tls = {"ssl": True, "ssl_cert_reqs": "none"} if self.cluster.tls else {}
        return redis.Redis(self.host, self.port, decode_responses=True, username=TESTS_USER, password="any",
                           retry=NO_RETRY, socket_timeout=5, **{**tls, **options})

    def ask(self, *words):
        with self.client() as client:
            return client.execute_command(*words)

    @property
    def id(self):
        return self.ask("CLUSTER", "MYID")

    def connections(self, name=None):
        """Of devices: those that have said a name, or this one; others are the nodes' and the tests'."""
        with self.client() as client:
            names = [each["name"] for each in client.client_list()]
        return [each for each in names if each and name in (None, each)]

    def errors(self):
        """What it has answered with errors: {first word: how often}."""
        with self.client() as client:
            stats = client.info("errorstats")
        # redis-py 4 leaves "count=5" as it is, 6 makes {"count": 5} of it.
        counts = {word: each["count"] if isinstance(each, dict) else each.removeprefix("count=")
                  for word, each in stats.items()}
        return {word.removeprefix("errorstat_"): int(count) for word, count in counts.items()}

    def is_master(self):
        with self.client() as client:
            return client.info("replication")["role"] == "master"

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def kill(self):
        """As a crash does: nothing is said goodbye to."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process, self.frozen = None, False


class KeyedClient:
    """A client of the tests, of which each command goes to the node that has its first key; whatever nodes are called
    that redis-py cannot reach."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __getattr__(self, name):
        def call(key, *words, **options):
            def done():
                try:
                    with self.cluster.owner(slot_of(key)).client() as client:
                        return [getattr(client, name)(key, *words, **options)]
                except (redis.ConnectionError, *MOVING_CLASSES):
                    return None
                except redis.ResponseError as error:
                    if str(error).split()[0] not in MOVING:
                        raise
                    return None
            return wait_for(done, FORMED_SECONDS, f"{name} {key}")[0]
        return call

    def close(self):
        pass


class Cluster:
    """node_timeout_ms: how long a node is silent before the others hold it for failed. As short as a busy machine takes
    it; where none is to be held for failed, long."""

    def __init__(self, *options, masters=3, replicas=1, node_timeout_ms=2000, host=None, port=PORT, tls=None,
                 rules=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-cluster-"))
        self.options, self.node_timeout_ms, self.tls = options, node_timeout_ms, tls
        self.host, self.port = host or own_host(), port
        self.first_masters, self.replicas = masters, replicas
        self.rules = rules or {"default": example_rules() + ["nopass"]}
        self.nodes = [Node(self, number) for number in range(masters * (1 + replicas))]

    # What a Fleet wants of its Redis.

    @property
    def address(self):
        return self.nodes[0].text

    def client(self):
        return KeyedClient(self)

    def settings(self, *seeds, **more):
        """A device's redis = { }: by these nodes, or by all."""
        return {"address": [node.text for node in seeds or self.nodes], "cluster": True, "connect_timeout": "1s",
                "command_timeout": "1s", "backoff_min": "50ms", "backoff_max": "1s", "tls": False, **more}

    # How it comes and goes.

    def start(self):
        users = {**self.rules, TESTS_USER: ["on", "nopass", "~*", "&*", "+@all"]}
        (self.folder / "users.conf").write_text("".join(
            f"user {user} {' '.join(rules)}\n" for user, rules in users.items()))
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            wait_for(node.answers, READY_SECONDS, f"{node.text} answers")
        self._form()
        return self

    def _form(self):
        masters, replicas = self.nodes[:self.first_masters], self.nodes[self.first_masters:]
        for number, node in enumerate(masters):
            first, last = (SLOTS * each // len(masters) for each in (number, number + 1))
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            self.nodes[0].ask("CLUSTER", "MEET", node.host, node.port, node.bus)
        ids = [node.id for node in self.nodes]

        def all_know():
            return all({place.id for place in self.map(node)} == set(ids) for node in self.nodes)
        wait_for(all_know, FORMED_SECONDS, "all nodes know each other")
        for number, node in enumerate(replicas):
            node.ask("CLUSTER", "REPLICATE", ids[number % len(masters)])
        self.wait_whole()
        for node in self.nodes:  # a replica's first word, before it has said who it is, was refused
            node.ask("CONFIG", "RESETSTAT")

    def map(self, node=None):
        """Who is who, as a node sees it."""
        places = []
        for line in (node or self.living()[0]).ask("CLUSTER", "NODES").splitlines():
            own, address, flags, master, _, _, _, _, *slots = line.split()
            pairs = [tuple(map(int, (word.split("-")[0], word.split("-")[-1]))) for word in slots if word[0] != "["]
            port = int(address.partition("@")[0].rpartition(":")[2])
            places.append(Place(own, port, "master" in flags, master, pairs, "fail" in flags.split(",")))
        return places

    def living(self):
        """Those that answer."""
        return [node for node in self.nodes if node.process and not node.frozen]

    def wait_whole(self, within=FORMED_SECONDS):
        """Each node that lives says that all slots are served, each replica has what its master has, and all agree who
        is who, and who has which slots."""
        def is_whole(node):
            info, role = node.ask("CLUSTER INFO"), node.ask("INFO", "replication")
            return info["cluster_state"] == "ok" and int(info["cluster_slots_ok"]) == SLOTS and \
                (role["role"] == "master" or role["master_link_status"] == "up")

        def seen_by(node):
            return {(place.id, place.is_master, place.master, tuple(place.slots)) for place in self.map(node)
                    if not place.failing}
        wait_for(lambda: all(is_whole(node) and seen_by(node) == seen_by(self.living()[0]) for node in self.living()),
                 within, "the cluster is whole")

    def close(self):
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Who has what.

    def node_at(self, port):
        return self.nodes[port - self.port]

    def masters(self):
        return [node for node in self.living() if node.is_master()]

    def owner(self, slot, asked=None):
        """Who serves a slot, as one node sees it."""
        def owners():
            return [place.port for place in self.map(asked) if place.is_master and not place.failing and
                    any(first <= slot <= last for first, last in place.slots)]
        [port] = wait_for(owners, FORMED_SECONDS, f"somebody has the slot {slot}")
        return self.node_at(port)

    def replica_of(self, master):
        own = master.id
        [place] = [place for place in self.map(master) if place.master == own]
        return self.node_at(place.port)

    def job_in(self, node, stem="job"):
        """The name of a job whose keys are this node's."""
        mine = [pair for place in self.map(node) if place.port == node.port for pair in place.slots]
        return next(name for name in (f"{stem}_{number}" for number in range(10_000))
                    if any(first <= crc16(name.encode()) % SLOTS <= last for first, last in mine))

    def errors(self):
        total = collections.Counter()
        for node in self.living():
            total.update(node.errors())
        return total

    # Slots that move.

    def moving(self, slot, target):
        return Move(self, slot, target)

    def reshard(self, source, target, count):
        """As people do it, with redis-cli."""
        return subprocess.run(
            ["redis-cli", "--no-auth-warning", "--user", TESTS_USER, "--pass", "any", "--cluster", "reshard",
             source.text, "--cluster-from", source.id, "--cluster-to", target.id,
             "--cluster-slots", str(count), "--cluster-yes"],
            check=True, capture_output=True, text=True, timeout=60)


class Move:
    """One slot on its way from its owner to another node, step by step."""

    def __init__(self, cluster, slot, target):
        self.cluster, self.slot, self.target = cluster, slot, target
        self.source = cluster.owner(slot)

    def begin(self):
        self.target.ask("CLUSTER", "SETSLOT", self.slot, "IMPORTING", self.source.id)
        self.source.ask("CLUSTER", "SETSLOT", self.slot, "MIGRATING", self.target.id)
        return self

    def keys(self):
        return self.source.ask("CLUSTER", "GETKEYSINSLOT", self.slot, 100)

    def take(self, *keys):
        """These keys go over; without any, all that are there."""
        keys = keys or self.keys()
        if keys:
            self.source.ask("MIGRATE", self.target.host, self.target.port, "", 0, 5000, "REPLACE", "AUTH2", TESTS_USER,
                            "any", "KEYS", *keys)

    def end(self):
        """The target first: else, for a moment, both would send everybody to the other."""
        for node in (self.target, self.source, *self.cluster.living()):
            if node.is_master():
                node.ask("CLUSTER", "SETSLOT", self.slot, "NODE", self.target.id)

    def whole(self):
        self.begin()
        self.take()
        self.end()
