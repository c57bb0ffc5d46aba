# SPDX-License-Identifier: MIT
"""The store on Redis under a test's hand (store_driver), and servers that it talks to; with their fixtures.

PREFIX{backup}:... are the keys."""
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"))
DRIVER = BUILD / "tests" / "integration" / "store_driver"
SECONDS = 10
PERIOD = 60_000
LOCK, CLAIM = "test:{backup}:lock", "test:{backup}:claim"
A, B = "device-a:" + "a" * 32, "device-b:" + "b" * 32
ACQUIRED = b"*5\r\n$8\r\nacquired\r\n:1000\r\n:7\r\n:1\r\n:900\r\n"
NOT_OURS = "a reply that is not rota's"


class Driver:
    def __init__(self, *endpoints, **options):
        arguments = [f"endpoint={endpoint}" for endpoint in endpoints]
        for key, value in options.items():
            arguments += [f"{key}={each}" for each in (value if isinstance(value, list) else [value])]
        self.process = subprocess.Popen([DRIVER, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.buffer = b""
        self.events = []

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def submit(self, name, verb, **keys):
        self.say(" ".join(["submit", name, verb, *(f"{k}={v}" for k, v in keys.items())]))

    def event(self, kind, seconds=SECONDS, **wanted):
        """The next event of the kind and with these values; others are kept for later."""
        deadline = time.monotonic() + seconds
        while True:
            for number, event in enumerate(self.events):
                if event["event"] == kind and all(event[k] == v for k, v in wanted.items()):
                    return self.events.pop(number)
            self._read(deadline, f"{kind} {wanted}")

    def _read(self, deadline, what):
        left = deadline - time.monotonic()
        pipe = self.process.stdout
        ready = left > 0 and select.select([pipe], [], [], left)[0]
        assert ready, f"no {what} in time, but: {self.events}"
        data = os.read(pipe.fileno(), 65536)
        assert data, f"the driver ended ({self.process.wait()}) before {what}: {self.events}"
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            # Nothing is ever called back from within submit() or cancel().
            assert event["inside"] == 0, event
            self.events.append(event)

    def answer(self, name, **more):
        return self.event("answer", id=name, **more)

    def call(self, verb, name="x", **keys):
        self.submit(name, verb, **keys)
        return self.answer(name)

    def pending(self):
        self.say("pending")
        return self.event("pending")["count"]

    def sound(self, slack=5000):
        self.say(f"sound {slack}")
        return self.event("sound")["sound"] == 1

    def close(self):
        """Ends it; whatever the sanitizers say about it shows in its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()


@pytest.fixture
def drive():
    drivers = []

    def start(*endpoints, **options):
        drivers.append(Driver(*endpoints, **options))
        return drivers[-1]
    yield start
    statuses = [driver.close() for driver in drivers]
    assert statuses == [0] * len(drivers)


class FakeServer:
    """A listening socket; the test itself accepts, reads the commands and writes the replies."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rota-fake-")
        self.path = f"{self.folder}/redis.sock"
        self.address = f"unix:{self.path}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(SECONDS)
        self.peers = []

    def accept(self, login=True):
        peer = Peer(self.listener.accept()[0])
        self.peers.append(peer)
        if login:
            assert peer.command()[:2] == ["CLIENT", "SETNAME"]
            peer.send(b"+OK\r\n")
        return peer

    def close(self):
        for peer in self.peers:
            peer.socket.close()
        self.listener.close()
        shutil.rmtree(self.folder)


class Peer:
    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(SECONDS)
        self.file = connection.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def command(self):
        count = self.file.readline()
        assert count[:1] == b"*", count
        words = []
        for _ in range(int(count[1:])):
            length = int(self.file.readline()[1:])
            words.append(self.file.read(length + 2)[:-2].decode())
        return words

    def is_closed(self):
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True


@pytest.fixture
def fake():
    server = FakeServer()
    yield server
    server.close()


def now_ms(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def make_known(client, **fields):
    """The job has a past, so that its next turn is granted."""
    turn = now_ms(client)
    client.hset(CLAIM, mapping={"v": 1, "turn": turn - PERIOD, "attempt": 1, "token": "old:0",
                                "state": "succeeded", "ended": 1, "done": turn - PERIOD,
                                "schedules": "s1", **fields})
    return {"turn": turn, "next": turn + PERIOD}


def element(value):
    if isinstance(value, int):
        return b":%d\r\n" % value
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(element, value))
    return b"$%d\r\n%s\r\n" % (len(value), value.encode())
