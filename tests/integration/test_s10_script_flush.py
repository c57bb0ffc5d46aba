# SPDX-License-Identifier: MIT
"""S10: before every command the server forgets its scripts."""
import socket
import threading

import pytest

from fleet import ONCE, RENEWED, wait_for


class FlushingProxy:
    """A socket before Redis's own that says SCRIPT FLUSH before it hands anything on."""

    def __init__(self, server):
        self.server = server
        self.path = str(server.folder / "proxy.sock")
        self.flushes = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.open = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server.socket)
            self.open += [client, server]
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source, target, flush):
        with self.server.client() as flusher:
            try:
                while data := source.recv(65536):
                    if flush:
                        flusher.script_flush()
                        self.flushes += 1
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                return  # closed by the other direction, or at the end of the test

    def close(self):
        for each in self.open:
            each.close()


@pytest.fixture
def proxy(redis_server):
    the_proxy = FlushingProxy(redis_server)
    try:
        yield the_proxy
    finally:
        the_proxy.close()


def test_s10_script_flush_before_every_command(proxy, fleet):
    jobs = {"report": {**RENEWED, **ONCE, **fleet.body("report", "sleep 2.5")}}
    redis = {"address": f"unix:{proxy.path}", "connect_timeout": "300ms",
             "command_timeout": "300ms"}
    fleet.make_due("report")
    devices = [fleet.device(jobs, redis=redis).start() for _ in range(2)]
    fleet.wait_entry("end")

    entry, = fleet.wait_history("report")
    assert (entry["outcome"], entry["attempt"]) == ("succeeded", "1")
    assert fleet.lock("report") is None
    assert len(fleet.entries("begin")) == 1
    # hello and acquire by both, two renewals, finish and the index: each by its body at last.
    def count_bodies():
        return fleet.client.info("commandstats")["cmdstat_eval"]["calls"]
    wait_for(lambda: count_bodies() >= 8, 5, "the other device has asked, too")
    assert proxy.flushes > count_bodies()  # what goes out in one piece is handed on in one
    assert [line for device in devices for line in device.complaints()] == []
