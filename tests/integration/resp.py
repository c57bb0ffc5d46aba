# SPDX-License-Identifier: MIT
"""The Redis protocol (RESP2), as far as tests need it: whole messages out of a stream of bytes."""
import hashlib
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# As they are sent: runtime/redis/embed.cmake leaves comments out.
SENT_SCRIPTS = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"), "runtime", "redis")


def script_body(name):
    """A script as it is embedded, and sent."""
    asked = SENT_SCRIPTS.parent / "supervisor" / "asked"
    body, = {path.read_text(encoding="utf-8") for folder in (SENT_SCRIPTS, SENT_SCRIPTS / "survey", asked)
             for path in folder.glob(f"{name}.lua")}
    return body


KIND_OF_SHA = {hashlib.sha1(path.read_bytes()).hexdigest(): path.stem
               for path in (*SENT_SCRIPTS.glob("*.lua"), *SENT_SCRIPTS.glob("survey/*.lua"))}


def message_end(data, at=0):
    """Where the message that begins there ends; 0 where it is not whole yet."""
    line = data.find(b"\r\n", at)
    if line < 0:
        return 0
    mark, end = data[at:at + 1], line + 2
    count = int(data[at + 1:line]) if mark in b"$*" else 0
    if mark == b"$" and count >= 0:
        end += count + 2
    for _ in range(count if mark == b"*" else 0):
        end = message_end(data, end)
        if not end:
            return 0
    return end if end <= len(data) else 0


class Messages:
    """Cuts a stream into whole messages; what is not whole yet stays in `rest`."""

    def __init__(self):
        self.rest = b""

    def feed(self, data):
        self.rest += data
        whole = []
        while end := message_end(self.rest):
            whole.append(self.rest[:end])
            self.rest = self.rest[end:]
        return whole


def arguments(command):
    """The words of a command: an array of bulk strings."""
    words, at = [], command.index(b"\r\n") + 2
    while at < len(command):
        start = command.index(b"\r\n", at) + 2
        at = start + int(command[at + 1:start - 2]) + 2
        words.append(command[start:at - 2])
    return words


def kind_of(words):
    """`acquire`, `renew`, `finish`: a script, sent whole or by name. Else the command's name."""
    name = words[0].decode(errors="replace").upper()
    if name not in ("EVAL", "EVALSHA") or len(words) < 2:
        return name
    if name == "EVAL":
        return KIND_OF_SHA.get(hashlib.sha1(words[1]).hexdigest(), name)
    return KIND_OF_SHA.get(words[1].decode(errors="replace"), name)


def encode(value):
    """Bytes are sent as they are, a text as a bulk string, a list as an array."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, str):
        return b"$%d\r\n%s\r\n" % (len(value.encode()), value.encode())
    return b"*%d\r\n" % len(value) + b"".join(encode(each) for each in value)


def error(text):
    return f"-{text}\r\n".encode()
