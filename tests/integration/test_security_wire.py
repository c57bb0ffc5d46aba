# SPDX-License-Identifier: MIT
"""What docs/security.md says of the wire: who hears the password."""
import contextlib
import re
import socket
import ssl
import subprocess
import threading

import pytest

from fleet import BUILD, ONCE, SHORT, wait_for
from tls import Authority


class Listener:
    """Takes connections, keeps what it hears, and answers every read with +OK."""

    def __init__(self, context=None):
        self.context, self.heard, self.tries = context, b"", 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer = self.socket.accept()[0]
                peer.settimeout(5)
                with contextlib.suppress(OSError), peer:
                    self._hear(peer)
                self.tries += 1

    def _hear(self, peer):
        if self.context:
            peer = self.context.wrap_socket(peer, server_side=True)
        with peer:
            while data := peer.recv(65536):
                self.heard += data
                peer.sendall(b"+OK\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.fixture
def ca():
    with Authority() as authority:
        yield authority


def context_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    return context


def start(fleet, listener, **redis):
    secret = fleet.folder / "password"
    secret.touch(mode=0o600)
    secret.write_text("sesame\n")
    return fleet.device({"report": {**SHORT, **ONCE, **fleet.body("report")}}, redis={
        "address": listener.address, "password_file": secret, "connect_timeout": "500ms", "command_timeout": "300ms",
        "backoff_min": "50ms", "backoff_max": "1s", **redis}).start()


def test_without_tls_the_password_goes_in_the_clear(fleet):
    with Listener() as listener:
        start(fleet, listener, tls=False)
        wait_for(lambda: b"sesame" in listener.heard, 10, "it is heard")


@pytest.mark.parametrize("server", ["no_tls", "unknown_ca", "another_name"])
def test_no_server_that_is_not_verified_hears_the_password(fleet, ca, server):
    with Authority("Another CA") as other:
        context = {"no_tls": None, "unknown_ca": context_of(other.issue("127.0.0.1")),
                   "another_name": context_of(ca.issue("redis.test"))}[server]
        with Listener(context) as listener:
            device = start(fleet, listener, tls=True, tls_ca=ca.file)
            wait_for(lambda: listener.tries > 2, 10, "it was tried")
            assert b"sesame" not in listener.heard and b"AUTH" not in listener.heard
            assert device.complaints(), "it says so"


def test_who_is_verified_hears_it(fleet, ca):
    """So that the test before shows something."""
    with Listener(context_of(ca.issue("127.0.0.1"))) as listener:
        start(fleet, listener, tls=True, tls_ca=ca.file)
        wait_for(lambda: b"sesame" in listener.heard, 10, "it is heard")


def test_beyond_this_machine_tls_is_on_and_no_key_weakens_it(fleet):
    redis = {"address": "redis.example:6379"}
    device = fleet.device({"report": {**SHORT, **ONCE, **fleet.body("report")}}, redis=redis)
    printed = subprocess.run(device.command("--print-config"), capture_output=True, text=True, check=True, timeout=30).stdout
    assert re.search(r"^ *tls = true;", printed, re.M)
    manual = (BUILD / "docs" / "rotad.conf.5.scd").read_text()
    keys = {key for key in re.findall(r"^\*(\w+)\*$", manual, re.M) if re.search("tls|verif|secur|cipher|trust", key)}
    assert keys == {"tls", "tls_ca", "tls_cert", "tls_key", "tls_name"}, "a new key is for docs/security.md"
