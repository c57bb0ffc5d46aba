# SPDX-License-Identifier: MIT
"""A private redis-server: a unix socket in a folder of its own, nothing on disk, ended by its pid."""
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import redis

from clock.virtual_clock import VirtualClock

READY_SECONDS = 10


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
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
                   "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
                   "--dir", str(self.folder), "--daemonize", "no", *self.options]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.clock.environment() if self.clock else None)
        wait_for(self._answers, READY_SECONDS, f"redis-server in {self.folder} answers")
        return self

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with self.client() as client:
                client.ping()
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False
        return True

    def client(self, **options):
        return redis.Redis(unix_socket_path=self.socket, decode_responses=True, **options)

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
