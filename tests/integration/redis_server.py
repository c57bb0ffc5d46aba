# SPDX-License-Identifier: MIT
"""A private redis-server: a unix socket in a folder of its own, nothing on disk, ended by its pid.

Whoever comes without a name, as rotad does in most tests, may do there what conf/redis-acl.example gives to a device of
the fleet `test:`, and nothing else. The tests themselves are another user, who may do all."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from clock.virtual_clock import VirtualClock

READY_SECONDS = 10
# Another server than the machine's: the program's path. Redis 7 and 8 and Valkey 8 are meant to do.
PROGRAM = os.environ.get("ROTA_REDIS_SERVER", "redis-server")
ACL_EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "conf" / "redis-acl.example"
TESTS_USER = "tests"
# Each command is sent once: what does not work is the test's to see.
NO_RETRY = Retry(NoBackoff(), 0)


def example_rules(prefix="test:", user="rota"):
    """The words of the example's user, for another fleet; without the one that is the password."""
    lines = [line.split() for line in ACL_EXAMPLE.read_text().splitlines()]
    [words] = [line[2:] for line in lines if line[:2] == ["user", user]]
    return [word.replace("acme-gw:", prefix) for word in words if not word.startswith("#")]


def wait_for(condition, seconds, what, slowest=0.03):
    """Waits until condition() is true and returns its value; fails after the deadline. Asks every 5 ms, and what
    takes long less often: many tests share a machine. slowest: the longest pause in seconds."""
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds} s: {what}"
        time.sleep(min(slowest, max(0.005, waited / 50)))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RedisServer:
    def __init__(self, *options, own_clock=False):
        # Not pytest's folder: its path may be longer than a socket's may be.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-redis-"))
        self.socket = str(self.folder / "redis.sock")
        self.address = f"unix:{self.socket}"
        self.options = list(options)
        self.port = 0
        self.process = None
        self.clock = VirtualClock(self.folder) if own_clock else None
        if own_clock:
            # Its allocator's thread waits for instants of the wall clock: in one that is behind, it never rests.
            self.options += ["--jemalloc-bg-thread", "no"]

    def start(self):
        pathlib.Path(self.socket).unlink(missing_ok=True)
        self._write_users()
        command = [PROGRAM, str(self.folder / "users.conf"), "--port", str(self.port), "--bind", "127.0.0.1",
                   "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
                   "--dir", str(self.folder), "--daemonize", "no", *self.options]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.clock.environment() if self.clock else None)
        wait_for(self._answers, READY_SECONDS, f"redis-server in {self.folder} answers")
        return self

    def _write_users(self):
        users = {"default": example_rules(), TESTS_USER: ["on", "~*", "&*", "+@all"]}
        (self.folder / "users.conf").write_text("".join(
            f"user {user} {' '.join(rules)} nopass\n" for user, rules in users.items()))

    def allow(self, *rules):
        """More than the example gives: a key outside of the prefix, for a start."""
        with self.client() as client:
            client.execute_command("ACL", "SETUSER", "default", *rules)

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with self.client() as client:
                client.ping()
        except redis.RedisError:
            return False
        return True

    def client(self, username=TESTS_USER, password="any", **options):
        """Of the tests' own user, unless another is named."""
        return redis.Redis(unix_socket_path=self.socket, decode_responses=True, username=username,
                           password=password, retry=NO_RETRY, **options)

    def open_port(self):
        """Listens on a free port of the loopback as well; it stays over a restart."""
        def listens():
            try:
                port = free_port()
                with self.client() as client:
                    client.config_set("port", port)
            except redis.ResponseError:  # somebody was faster
                return 0
            return port
        self.port = wait_for(listens, READY_SECONDS, "a free port")
        return self.port

    def kill(self):
        """As a crash does: nothing is said goodbye to."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def follow(replica, master):
    """Makes a server another's replica, and waits until it is one."""
    with replica.client() as client:
        client.config_set("masteruser", TESTS_USER)
        client.config_set("masterauth", "any")
        client.replicaof("127.0.0.1", master.port or master.open_port())
        wait_for(lambda: client.info("replication")["master_link_status"] == "up", 20, f"{replica.folder} follows {master.folder}")


class Monitor:
    """Each line of what a server is sent, as its MONITOR tells it, goes to take(), which a thread of its own calls."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(server.socket)
        self.socket.sendall(f"AUTH {TESTS_USER} any\r\nMONITOR\r\n".encode())
        self.lines = self.socket.makefile("rb")
        assert self.lines.readline() + self.lines.readline() == b"+OK\r\n+OK\r\n"
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.lines:
            self.take(line.decode(errors="replace"))

    def take(self, line):
        raise NotImplementedError

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.lines.close()
        self.socket.close()
