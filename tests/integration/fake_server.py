# SPDX-License-Identifier: MIT
"""A server that answers by the test's rules, of which the first that fits is taken.

    with FakeServer() as server:                       # server.address goes into the configuration
        server.rule("acquire", error("LOADING Redis is loading the dataset in memory"), times=2)
        server.rule("acquire", granted)                # made anew for each command
        server.rule("renew", drip(b"$5\r\nhel", 0.01)) # one byte at a time
        server.rule("finish", endless(b"*1\r\n"))      # for ever: deep nesting
        server.rule("TIME", silence())
        server.rule("GREETING", b"...")                # said to who connects, unasked

Without a rule the login is accepted, TIME is told, hello and index are answered as to the only device of
a fleet, and everything else is an error that says so.
"""
import collections
import pathlib
import shutil
import socket
import struct
import tempfile
import threading
import time

import fleet
from resp import Messages, arguments, encode, error, kind_of

CHUNK = 65536
GREETING = "GREETING"
Seen = collections.namedtuple("Seen", "at kind words connection")


def now_ms():
    return time.time_ns() // 1_000_000


# Answers of the scripts, for who wants a good one between the bad ones.

def granted(words):
    """To an acquire: the turn that it asked for, as its first attempt."""
    keys = int(words[2])
    return encode(["acquired", now_ms(), now_ms(), 1, int(words[3 + keys + 1])])


def held(words, left_ms=1000, holder="other:" + "0" * 32):
    del words
    return encode(["held", now_ms(), left_ms, holder, 0, 1, 1])


def renewed(words):
    keys = int(words[2])
    return encode(["renewed", now_ms(), int(words[3 + keys + 1]) // 2])


def recorded(words):
    del words
    return encode(["recorded", now_ms(), 1, 0])


def hello(words):
    """To a device that is alone in its fleet, and of whose jobs nothing is known."""
    names = words[3 + int(words[2]) + 6].split()
    return encode(["hello", now_ms(), 1, 0, 1, 0, 0, [0] * len(names), []])


def indexed(words):
    del words
    return encode(["indexed", now_ms()])


def told_time(words):
    del words
    seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
    return encode([str(seconds), str(micros)])


def ok(words):
    del words
    return b"+OK\r\n"


WITHOUT_RULE = {"CLIENT": ok, "AUTH": ok, "SELECT": ok, "TIME": told_time, "hello": hello, "index": indexed}


# Answers that are no bytes: functions of the connection.

class Act:
    def __init__(self, act):
        self.act = act


def silence():
    """Reads on, says nothing."""
    return Act(lambda connection: None)


def drip(data, gap=0.0):
    """One byte at a time, each in a packet of its own where the gap is not 0."""
    def act(connection):
        for at in range(len(data)):
            connection.pause(gap)
            connection.send(data[at:at + 1])
    return Act(act)


def endless(data, head=b""):
    """The head once, and then the data until the other side has had enough."""
    def act(connection):
        connection.send(head)
        block = data * max(1, CHUNK // len(data))
        while connection.send(block):
            pass
    return Act(act)


def closing(data=b""):
    """Says it, then closes."""
    def act(connection):
        connection.send(data)
        connection.close()
    return Act(act)


def resetting():
    """Closes without a goodbye; over TCP the other side sees a reset."""
    def act(connection):
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.ended.set()
        connection.socket.close()
    return Act(act)


class Connection:
    def __init__(self, server, number, peer):
        self.server, self.number, self.socket = server, number, peer
        self.sent = 0
        self.ended = threading.Event()

    def send(self, data):
        """False once the other side is gone."""
        try:
            while data:
                done = self.socket.send(data)
                self.sent += done
                data = data[done:]
        except OSError:
            return False
        return not self.ended.is_set()

    def pause(self, seconds):
        if seconds:
            self.ended.wait(seconds)

    def close(self):
        self.ended.set()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def run(self):
        messages = Messages()
        self.server.answer(self, GREETING, [])
        try:
            while not self.ended.is_set() and (data := self.socket.recv(CHUNK)):
                for message in messages.feed(data):
                    words = arguments(message)
                    self.server.answer(self, kind_of(words), words)
        except OSError:
            pass
        self.close()


class Rule:
    def __init__(self, kind, answer, times):
        self.kind, self.answer, self.left = kind, answer, times


class FakeServer:
    """Every method may be called while it is at work."""

    def __init__(self, tcp=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-fake-"))
        self.lock = threading.Lock()
        self.rules, self.seen, self.connections = [], [], []
        if tcp:
            self.listener = socket.socket()
            self.listener.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        else:
            path = str(self.folder / "redis.sock")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.address = f"unix:{path}"
        self.listener.listen(128)
        self.threads = []
        self._start(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rule(self, kind, answer, times=None):
        """What to say to commands of the kind ("": any), so many times, else for ever.

        The answer: bytes; what silence(), drip(), endless(), closing() or resetting() made; or a
        function of the command's words that gives one of these. The rule comes after the others.
        """
        with self.lock:
            self.rules.append(Rule(kind, answer, times))

    def clear(self):
        with self.lock:
            self.rules.clear()

    def count(self, kind=""):
        return len(self.commands(kind))

    def commands(self, kind=""):
        with self.lock:
            return [seen for seen in self.seen if kind in ("", seen.kind)]

    def wait_for(self, kind, count=1, within=10):
        """The count-th command of the kind, once it has come."""
        def there():
            return self.count(kind) >= count and self.commands(kind)[count - 1]
        return fleet.wait_for(there, within, f"{kind} comes {count} times")

    def close(self):
        # Only a shutdown wakes who waits in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.threads[0].join()
        for connection in self.connections:
            connection.close()
        for thread in self.threads[1:]:
            thread.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def answer(self, connection, kind, words):
        reply = self._choose(connection, kind, words)
        if callable(reply):
            reply = reply(words)
        if isinstance(reply, Act):
            reply.act(connection)
        else:
            connection.send(reply)

    def _choose(self, connection, kind, words):
        with self.lock:
            if kind != GREETING:
                self.seen.append(Seen(time.monotonic(), kind, words, connection.number))
            for rule in self.rules:
                if rule.left == 0 or rule.kind != kind and (rule.kind or kind == GREETING):
                    continue
                if rule.left is not None:
                    rule.left -= 1
                return rule.answer
        if kind == GREETING:
            return b""
        return WITHOUT_RULE.get(kind) or error(f"ERR this server has no rule for {kind}")

    def _start(self, run):
        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            connection = Connection(self, len(self.connections) + 1, peer)
            self.connections.append(connection)
            self._start(connection.run)
