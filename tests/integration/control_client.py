# SPDX-License-Identifier: MIT
"""A client of the control socket that knows D-Bus as far as tests need it: calls a method, reads its answer."""
import re
import struct

from rotactl import Raw, padded

ALIGNMENT = {"y": 1, "g": 1, "v": 1, "u": 4, "i": 4, "b": 4, "s": 4, "o": 4, "a": 4, "x": 8, "t": 8, "(": 8, "{": 8}
NUMBERS = {"y": "B", "u": "I", "i": "i", "b": "I", "x": "q", "t": "Q"}
METHOD_ERROR = 3


class Refused(Exception):
    """An error that was answered: .name is its last word."""

    def __init__(self, name, text):
        super().__init__(text)
        self.name = name.rpartition(".")[2]


def split(signature):
    """Into whole types."""
    types, at = [], 0
    while at < len(signature):
        end = at
        while signature[end] == "a":
            end += 1
        depth = 0
        while True:
            depth += (signature[end] in "({") - (signature[end] in ")}")
            end += 1
            if depth == 0:
                break
        types.append(signature[at:end])
        at = end
    return types


class Reader:
    """Values of a message's bytes."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def align(self, to):
        self.at += -self.at % to

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def value(self, kind):
        self.align(ALIGNMENT[kind[0]])
        if kind[0] in NUMBERS:
            form = NUMBERS[kind[0]]
            return struct.unpack(f"<{form}", self.take(struct.calcsize(form)))[0]
        if kind[0] in "sog":
            size = self.value("y" if kind == "g" else "u")
            return self.take(size + 1)[:-1].decode()
        if kind[0] == "v":
            return self.value(self.value("g"))
        if kind[0] in "({":
            return tuple(self.value(part) for part in split(kind[1:-1]))
        size = self.value("u")
        self.align(ALIGNMENT[kind[1]])
        end, items = self.at + size, []
        while self.at < end:
            items.append(self.value(kind[1:]))
        return items


def written(signature, values):
    body = b""
    for kind, value in zip(signature, values):
        body += b"\0" * (-len(body) % ALIGNMENT[kind])
        if kind == "s":
            body += struct.pack("<I", len(value.encode())) + value.encode() + b"\0"
        else:
            body += struct.pack(f"<{NUMBERS[kind]}", value)
    return body


def call_bytes(member, signature="", *values, serial=1):
    fields, body = b"", written(signature, values)
    texts = [(1, b"o", b"/rota"), (2, b"s", b"rota.Control1"), (3, b"s", member.encode())]
    for code, kind, text in texts:
        fields = padded(fields) + bytes([code, 1]) + kind + b"\0" + struct.pack("<I", len(text)) + text + b"\0"
    if signature:
        fields = padded(fields) + b"\x08\x01g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    head = struct.pack("<BBBBIII", ord("l"), 1, 0, 1, len(body), serial, len(fields))
    return padded(head + fields) + body


class Client(Raw):
    """Of one device. Answers come in the order of the questions."""

    def __init__(self, device):
        super().__init__(device)
        self.got = self.receive_until(b"\r\n")
        while not re.search(rb"(OK|ERROR)[^\r\n]*\r\n", self.got):
            self.got += self.socket.recv(65536)
        self.got = b""
        self.last = 0

    def begin(self, member, signature="", *values):
        self.last += 1
        self.send(call_bytes(member, signature, *values, serial=self.last))

    def _whole(self):
        while True:
            while self.got[:1] not in (b"l", b""):           # of the greeting
                self.got = self.got.partition(b"\r\n")[2]
            if len(self.got) >= 16:
                body, _, fields = struct.unpack("<III", self.got[4:16])
                size = 16 + fields + -fields % 8 + body
                if len(self.got) >= size:
                    message, self.got = self.got[:size], self.got[size:]
                    return message, size - body
            more = self.socket.recv(65536)
            assert more, "the connection was closed"
            self.got += more

    def end(self):
        """The next answer's values."""
        message, body_at = self._whole()
        head = dict(Reader(message, 12).value("a(yv)"))
        reader = Reader(message[body_at:])
        values = [reader.value(kind) for kind in split(head.get(8, ""))]
        if message[1] == METHOD_ERROR:
            raise Refused(head[4], values[0] if values else "")
        return values

    def call(self, member, signature="", *values):
        self.begin(member, signature, *values)
        return self.end()


def ask(device, member, signature="", *values):
    with Client(device) as client:
        return client.call(member, signature, *values)
