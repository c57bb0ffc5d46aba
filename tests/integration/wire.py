# SPDX-License-Identifier: MIT
"""Stands between a device and its PostgreSQL, as a network does that keeps what it carries for a while.

    with Wire(postgres) as wire:            # wire.connection goes into the job
        wire.hold(b"UPDATE")                # from the first bytes to the server on that hold it
        wire.wait_held()
        wire.release()                      # they come late: it does not matter who of the senders still lives
"""
import contextlib
import pathlib
import shutil
import socket
import tempfile
import threading

import fleet

CHUNK = 65536
END_SECONDS = 10


class Wire:
    def __init__(self, postgres):
        self.server = postgres
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-wire-"))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / f".s.PGSQL.{postgres.port}"))
        self.listener.listen(64)
        self.lock = threading.Lock()
        self.marks = []
        self.passes = threading.Event()
        self.passes.set()
        self.held = 0  # chunks, and ends, that wait
        self.sockets, self.threads = [], []
        self._begin(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def connection(self):
        return f"host={self.folder} port={self.server.port} user={self.server.user} dbname={self.server.database}"

    def hold(self, *marks):
        """Nothing more goes to the server, on any connection, once bytes with one of the marks come; without a mark:
        from now on. Not even the end of a connection does. Answers pass."""
        with self.lock:
            self.marks = list(marks)
            if not marks:
                self.passes.clear()

    def wait_held(self, count=1, within=20):
        fleet.wait_for(lambda: self.held >= count, within, f"{count} times bytes are held")

    def release(self):
        with self.lock:
            self.marks = []
            self.passes.set()

    def close(self):
        self.release()
        # A thread that waits in accept() is woken by this alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        with self.lock:
            sockets = list(self.sockets)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(END_SECONDS)
        for each in (self.listener, *self.sockets):
            each.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _begin(self, what, *arguments):
        thread = threading.Thread(target=what, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                with self.lock:
                    self.sockets += [client, server]
                try:
                    server.connect(self.server.address)
                except OSError:
                    client.close()
                    continue
                self._begin(self._carry_up, client, server)
                self._begin(self._carry_down, server, client)

    def _carry_up(self, client, server):
        data = b"any"
        while data:
            try:
                data = client.recv(CHUNK)
            except OSError:
                data = b""
            self._keep(data)
            with contextlib.suppress(OSError):
                if data:
                    server.sendall(data)
                else:
                    server.shutdown(socket.SHUT_WR)

    def _keep(self, data):
        with self.lock:
            if any(mark in data for mark in self.marks):
                self.passes.clear()
            if self.passes.is_set():
                return
            self.held += 1
        self.passes.wait()

    @staticmethod
    def _carry_down(server, client):
        """To the end: who sent may be dead, and the server is not to be held up by that."""
        with contextlib.suppress(OSError):
            while data := server.recv(CHUNK):
                with contextlib.suppress(OSError):
                    client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
