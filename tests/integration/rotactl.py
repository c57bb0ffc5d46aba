# SPDX-License-Identifier: MIT
"""rotactl, and a client of the control socket that knows no manners."""
import contextlib
import socket
import struct
import subprocess

import valgrind
from fleet import BUILD, SLOWNESS, wait_for

ROTACTL = BUILD / "runtime" / "rotactl" / "rotactl"
GREETING = b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"


def folder_of(device):
    return device.folder / "run"


def socket_of(device):
    return folder_of(device) / "control"


def command(device, *words, enter=()):
    return [*enter, *valgrind.PREFIX, ROTACTL, "--runtime-dir", folder_of(device), *words]


def rotactl(device, *words, enter=()):
    """What it did: .returncode, .stdout, .stderr."""
    return subprocess.run(command(device, *words, enter=enter), capture_output=True, text=True, check=False,
                          timeout=60 * SLOWNESS, env=device.fleet.environment)


def begin(device, *words):
    """The same, going on beside the test."""
    return subprocess.Popen(command(device, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=device.fleet.environment)


def wait_started(device):
    """Its jobs are known: what it says of itself is no more that it has just been started."""
    wait_for(lambda: socket_of(device).exists(), 5, "there is a control socket")
    device.wait_line("ready as")
    return device


def padded(data):
    return data + b"\0" * (-len(data) % 8)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def method_call(member, interface="rota.Control1", serial=1, argument=None):
    """A method call without arguments, or with one text, as bytes."""
    fields, body = b"", b"" if argument is None else string(argument)
    for code, kind, value in ((1, b"o", "/rota"), (2, b"s", interface), (3, b"s", member)):
        fields = padded(fields) + bytes([code, 1]) + kind + b"\0" + string(value)
    if argument is not None:
        fields = padded(fields) + b"\x08\x01g\0\x01s\0"
    return padded(struct.pack("<BBBBIII", ord("l"), 1, 0, 1, len(body), serial, len(fields)) + fields) + body


class Raw:
    """Bytes, in and out."""

    def __init__(self, device, greeting=GREETING):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10 * SLOWNESS)
        self.socket.connect(str(socket_of(device)))
        if greeting:
            self.socket.sendall(greeting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_what_fits(self, data):
        """Until nobody takes any more for a while, or the connection is gone. How much that was."""
        self.socket.settimeout(1)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < len(data):
                sent += self.socket.send(data[sent:sent + 65536])
        return sent

    def receive_until(self, word):
        got = b""
        while word not in got:
            more = self.socket.recv(65536)
            assert more, got
            got += more
        return got

    def is_dropped(self):
        """Reads on to the end, which comes."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True
