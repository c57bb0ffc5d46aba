# SPDX-License-Identifier: MIT
"""Stands between a client and PostgreSQL, counts the messages that pass, and is as slow as a long way.

    with PgProxy(postgres.address, round_trip=0.1) as proxy:    # proxy.connection instead of the server's
        proxy.flights                                           # how often the client has waited for the server

A flight of libpq's pipeline mode ends with one Sync, a plain query is a Query: each costs one round trip. What comes
before the login is passed as it is: there is no TLS here."""
import collections
import contextlib
import queue
import shutil
import socket
import struct
import tempfile
import threading
import time

CHUNK = 65536


class Messages:
    """Counts a client's messages by their kind; the first one has none."""

    def __init__(self, seen):
        self.seen, self.rest, self.begun = seen, b"", False

    def feed(self, data):
        self.rest += data
        while True:
            head = 1 if self.begun else 0
            if len(self.rest) < head + 4:
                return
            size = head + struct.unpack_from(">I", self.rest, head)[0]
            if len(self.rest) < size:
                return
            if self.begun:
                self.seen[chr(self.rest[0])] += 1
            self.begun, self.rest = True, self.rest[size:]


class PgProxy:
    def __init__(self, server, round_trip=0.0):
        self.server, self.one_way = server, round_trip / 2
        self.seen = collections.Counter()
        self.folder = tempfile.mkdtemp(prefix="rota-pgproxy-")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder}/.s.PGSQL.5432")
        self.listener.listen(16)
        self.connection = f"host={self.folder} port=5432 user=tests dbname=postgres"
        self.sockets, self.threads = [], []
        self._begin(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()
        for thread in self.threads:
            thread.join(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def flights(self):
        return self.seen["S"] + self.seen["Q"]

    def cut(self):
        """Ends every connection, and takes no further one."""
        for each in [self.listener, *self.sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _begin(self, what, *args):
        self.threads.append(threading.Thread(target=what, args=args, daemon=True))
        self.threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.server)
                self.sockets += [client, server]
                self._flow(client, server, Messages(self.seen).feed)
                self._flow(server, client, lambda data: None)

    def _flow(self, source, sink, look):
        waiting = queue.Queue()
        self._begin(self._read, source, waiting, look)
        self._begin(self._write, sink, waiting)

    def _read(self, source, waiting, look):
        data = b"any"
        while data:
            data = b""
            with contextlib.suppress(OSError):
                data = source.recv(CHUNK)
            look(data)
            waiting.put((time.monotonic() + self.one_way, data))

    def _write(self, sink, waiting):
        data = b"any"
        while data:
            due, data = waiting.get()
            time.sleep(max(0.0, due - time.monotonic()))
            with contextlib.suppress(OSError):
                if data:
                    sink.sendall(data)
                else:
                    sink.shutdown(socket.SHUT_WR)
