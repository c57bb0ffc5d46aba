# SPDX-License-Identifier: MIT
"""Stands between rotad and a real Redis, and does to their bytes what a bad link does.

    with FaultProxy(redis_server.socket) as proxy:     # proxy.address goes into the configuration
        proxy.next("renew", lost_reply())              # Redis acts, its reply never comes
        proxy.next("renew", late(1.0), late(1.0))      # the two after it are answered late
        proxy.always("acquire", answered(error("LOADING Redis is loading the dataset in memory")))
        proxy.hold()                                   # nothing passes, either way ...
        proxy.release()                                # ... and then all of it does, late

Commands are told apart by kind: acquire, renew, finish and hello are scripts, sent by name or
whole; any other command goes by its name. As with TCP, what comes after lost bytes on their
connection is lost too, and what comes after late ones is late too.
"""
import asyncio
import collections
import contextlib
import pathlib
import random
import shutil
import socket
import tempfile
import threading
import time

import fleet
from resp import Messages, arguments, kind_of

CHUNK = 65536
# A TCP retransmits after this at the earliest, then after twice as long each time.
RETRANSMISSION_SECONDS = 0.2

# What is done to one command and its reply. `answer`: Redis is never asked. `cut_request`,
# `cut_reply`: so many bytes pass, then the connection is closed.
Fault = collections.namedtuple(
    "Fault", "lose_request lose_reply delay answer cut_request cut_reply",
    defaults=(False, False, 0, None, None, None))
Seen = collections.namedtuple("Seen", "at kind words connection")

PASS = Fault()


def lost_request():
    return Fault(lose_request=True)


def lost_reply():
    return Fault(lose_reply=True)


def late(seconds):
    return Fault(delay=seconds)


def answered(reply):
    """In Redis's stead, by these bytes. resp.error() makes an error of a text."""
    return Fault(answer=reply)


def cut_request(after):
    return Fault(cut_request=after)


def cut_reply(after):
    return Fault(cut_reply=after)


def redis_by(proxy, **more):
    """The configuration's redis group for a device behind the proxy."""
    return {"address": proxy.address, "connect_timeout": "300ms", "command_timeout": "300ms",
            "backoff_min": "50ms", "backoff_max": "1s", **more}


class Flow:
    """One direction of a connection: bytes leave in order, each not before it is due."""

    def __init__(self, proxy, writer):
        self.proxy, self.writer = proxy, writer
        self.queue = asyncio.Queue()
        self.due = 0.0
        self.dead = False

    def put(self, data, delay=0.0):
        if self.dead:
            return
        self.due = max(self.due, time.monotonic() + delay + self.proxy.stall())
        self.queue.put_nowait((self.due, data))

    def end(self, abruptly=False):
        """What was put is still delivered, then the other side sees the end."""
        self.queue.put_nowait((self.due, b"" if abruptly else None))

    async def run(self):
        """True where the connection is to be cut."""
        while True:
            due, data = await self.queue.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self.proxy.flows.wait()
            if data == b"":
                return True
            if data is None:
                with contextlib.suppress(OSError, RuntimeError):
                    self.writer.write_eof()
                return False
            self.writer.write(data)
            with contextlib.suppress(OSError):
                await self.writer.drain()


class Connection:
    def __init__(self, proxy, number, client, server):
        self.proxy, self.number = proxy, number
        (self.client_in, client_out), (self.server_in, server_out) = client, server
        self.up, self.down = Flow(proxy, server_out), Flow(proxy, client_out)
        self.faults = collections.deque()  # of the commands that are not answered yet, in order

    def request(self, message):
        words = arguments(message)
        kind = kind_of(words)
        fault = self.proxy.fault_for(kind, words, self.number, len(message))
        if fault.cut_request is not None:
            self.up.put(message[:fault.cut_request], self.proxy.one_way)
            self.up.end(abruptly=True)
            self.up.dead = True
        elif fault.lose_request:
            self.up.dead = True
        elif not self.up.dead:
            self.faults.append((kind, fault))
            if fault.answer is None:
                self.up.put(message, self.proxy.one_way)
            elif len(self.faults) == 1:
                self.answer_instead()

    def answer_instead(self):
        while self.faults and self.faults[0][1].answer is not None:
            kind, fault = self.faults.popleft()
            self.pass_reply(kind, fault, fault.answer)

    def reply(self, message):
        kind, fault = self.faults.popleft() if self.faults else ("", PASS)
        self.pass_reply(kind, fault, message)
        self.answer_instead()

    def pass_reply(self, kind, fault, message):
        self.proxy.count_reply(kind, len(message))
        if fault.cut_reply is not None:
            self.down.put(message[:fault.cut_reply], self.proxy.one_way)
            self.down.end(abruptly=True)
            self.down.dead = True
        elif fault.lose_reply:
            self.down.dead = True
        else:
            self.down.put(message, self.proxy.one_way + fault.delay)

    async def read(self, source, take, flow):
        messages = Messages()
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                for message in messages.feed(data):
                    take(message)
        if messages.rest:
            flow.put(messages.rest, self.proxy.one_way)
        flow.end()

    async def run(self):
        readers = [asyncio.ensure_future(self.read(self.client_in, self.request, self.up)),
                   asyncio.ensure_future(self.read(self.server_in, self.reply, self.down))]
        writers = {asyncio.ensure_future(flow.run()) for flow in (self.up, self.down)}
        try:
            while writers:
                done, writers = await asyncio.wait(writers, return_when=asyncio.FIRST_COMPLETED)
                if any(task.result() for task in done):
                    break
        finally:
            for task in (*readers, *writers):
                task.cancel()
            self.up.writer.close()
            self.down.writer.close()


class FaultProxy:
    """Runs in a thread of its own; every method may be called from the test."""

    def __init__(self, server_path, round_trip=0.0, loss=0.0, netns=None, seed=None):
        """Loss: the part of messages that wait for a retransmission. Netns: listens by TCP there.

        The seed decides which messages those are; it is printed, since a failure may want it.
        """
        self.server_path, self.one_way, self.loss = server_path, round_trip / 2, loss
        self.seed = random.randrange(1 << 32) if seed is None else seed
        self.random = random.Random(self.seed)
        self.lock = threading.Lock()
        self.coming = collections.defaultdict(collections.deque)
        self.standing = {}
        self.seen = []  # every command, in order
        self.request_bytes, self.reply_bytes = collections.Counter(), collections.Counter()
        self.connections = 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-proxy-"))
        self.netns = netns
        self.listener, self.address = self._listen()
        self.open, self.started = set(), threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.thread.start()
        assert self.started.wait(10), "the proxy listens"
        print(f"fault proxy: seed {self.seed}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # What the test may ask for.

    def next(self, kind, *faults):
        """One fault for each of the coming commands of the kind; PASS leaves one out."""
        with self.lock:
            self.coming[kind].extend(faults)

    def always(self, kind, fault):
        """Every command of the kind that next() has nothing for. "" stands for every kind."""
        with self.lock:
            self.standing[kind] = fault

    def clear(self):
        with self.lock:
            self.coming.clear()
            self.standing.clear()

    def hold(self):
        """No byte passes, until release(). Connections can be made, as to a server that hangs."""
        self._call(self.flows.clear)

    def release(self):
        self._call(self.flows.set)

    def drop(self):
        """What is under way is lost, and all that these connections will carry; they stay open."""
        self._call(self._kill_flows)

    def cut(self):
        """Closes every connection at once."""
        self._call(lambda: [task.cancel() for task in self.open])

    def count(self, kind=""):
        """Commands that came, of that kind or all."""
        with self.lock:
            return sum(kind in ("", seen.kind) for seen in self.seen)

    def commands(self, kind=""):
        with self.lock:
            return [seen for seen in self.seen if kind in ("", seen.kind)]

    def wait_for(self, kind, count=1, within=10):
        """The count-th command of the kind, once it has come."""
        def there():
            return self.count(kind) >= count and self.commands(kind)[count - 1]
        return fleet.wait_for(there, within, f"{kind} comes {count} times")

    def connect(self):
        """A socket of the test's own, to where the devices connect."""
        peer = self.netns.socket() if self.netns else socket.socket(socket.AF_UNIX)
        peer.connect(self.listener.getsockname())
        return peer

    def close(self):
        if self.thread.is_alive():
            self._call(self.ended.set)
            self.thread.join()
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What its connections ask for.

    def fault_for(self, kind, words, connection, size):
        with self.lock:
            self.seen.append(Seen(time.monotonic(), kind, words, connection))
            self.request_bytes[kind] += size
            if self.coming[kind]:
                return self.coming[kind].popleft()
            return self.standing.get(kind, self.standing.get("", PASS))

    def count_reply(self, kind, size):
        with self.lock:
            self.reply_bytes[kind] += size

    def stall(self):
        """How long a message waits for its retransmissions."""
        seconds, wait = 0.0, RETRANSMISSION_SECONDS
        while self.loss and self.random.random() < self.loss:
            seconds, wait = seconds + wait, wait * 2
        return seconds

    def _listen(self):
        if self.netns is None:
            path = str(self.folder / "redis.sock")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            address = f"unix:{path}"
        else:
            listener = self.netns.socket()
            listener.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % listener.getsockname()[1]
        listener.listen(128)
        return listener, address

    def _call(self, what):
        """Runs it in the proxy's thread, and waits until that has happened."""
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (what(), done.set()))
        assert done.wait(10), "the proxy hears"

    def _kill_flows(self):
        for task in self.open:
            for flow in task.flows:
                flow.dead = True
                while not flow.queue.empty():
                    flow.queue.get_nowait()

    async def _serve(self):
        self.loop = asyncio.get_running_loop()
        self.flows, self.ended = asyncio.Event(), asyncio.Event()
        self.flows.set()
        is_unix = self.listener.family == socket.AF_UNIX
        serve = asyncio.start_unix_server if is_unix else asyncio.start_server
        server = await serve(self._connection, sock=self.listener)
        self.started.set()
        await self.ended.wait()
        server.close()
        for task in self.open:
            task.cancel()
        await asyncio.gather(*self.open, return_exceptions=True)

    async def _connection(self, reader, writer):
        task = asyncio.current_task()
        self.open.add(task)
        task.flows = ()
        self.connections += 1
        try:
            # A connection costs a round trip of its own before the first byte.
            await asyncio.sleep(2 * self.one_way)
            try:
                server = await asyncio.open_unix_connection(self.server_path)
            except OSError:
                writer.close()
                return
            connection = Connection(self, self.connections, (reader, writer), server)
            task.flows = (connection.up, connection.down)
            await connection.run()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self.open.discard(task)
