# SPDX-License-Identifier: MIT
"""Plays journald for one rotad: its socket, in a mount namespace, and its native protocol, whole."""
import array
import contextlib
import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import threading

from fleet import wait_for

CLONE_NEWNET = 0x40000000
WHERE = "/run/systemd/journal"
ENTER = f'mount -t tmpfs none /run && mkdir -p {WHERE} && mount --bind "$1" {WHERE} && shift && exec "$@"'


def can_be_played():
    """Whether this user may make a mount namespace."""
    return subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run"], check=False,
                          capture_output=True).returncode == 0


def parse(entry):
    """One entry's fields, each the list of its values, which are bytes."""
    fields, at = {}, 0
    while at < len(entry):
        end = entry.index(b"\n", at)
        name, equals, value = entry[at:end].partition(b"=")
        if not equals:
            size, = struct.unpack_from("<Q", entry, end + 1)
            value = entry[end + 9:end + 9 + size]
            end += 9 + size
            assert entry[end:end + 1] == b"\n", entry
        assert name and set(name) <= set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), entry
        fields.setdefault(name.decode(), []).append(value)
        at = end + 1
    return fields


def roomy_socket():
    """Takes as many datagrams unread as journald's does, for which systemd raises the kernel's 10. That number is
    a network namespace's, so the calling thread moves to one of its own."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        with contextlib.suppress(OSError):
            pathlib.Path("/proc/sys/net/unix/max_dgram_qlen").write_text("512")
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


class Journal:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-journal-"))
        self.received, self.marks = [], threading.Semaphore(0)
        ready = threading.Event()
        self.thread = threading.Thread(target=self._read, args=[ready], daemon=True)
        self.thread.start()
        assert ready.wait(10)

    def _read(self, ready):
        fds = array.array("i")
        self.socket = roomy_socket()
        self.socket.bind(str(self.folder / "socket"))
        ready.set()
        while True:
            data, control, _, _ = self.socket.recvmsg(1 << 20, socket.CMSG_SPACE(fds.itemsize))
            for _, _, carried in control:  # an entry that is too large for a datagram
                fds = array.array("i", carried)
                with os.fdopen(fds[0], "rb") as file:
                    file.seek(0)
                    data = file.read()
            if data == b"close":
                return
            if data == b"mark":
                self.marks.release()
            else:
                self.received.append(data)

    def _tell(self, word):
        """The thread that reads, behind all that has come."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(str(self.folder / "socket"))
            sender.send(word)

    def start(self, device, **environment):
        """The device, which takes this journal for the one that its stderr leads to."""
        device.fleet.enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(self.folder)]
        device.log.touch()
        stream = device.log.stat()
        return device.start(JOURNAL_STREAM=f"{stream.st_dev}:{stream.st_ino}", **environment)

    def entries(self, identity):
        """Those of that SYSLOG_IDENTIFIER that were sent, in order: texts, and a field that stands there twice is an
        error."""
        self._tell(b"mark")
        assert self.marks.acquire(timeout=10)
        found = []
        for entry in map(parse, list(self.received)):
            assert all(len(values) == 1 for values in entry.values()), entry
            fields = {name: values[0].decode() for name, values in entry.items()}
            if fields["SYSLOG_IDENTIFIER"] == identity:
                found.append(fields)
        return found

    def messages(self, identity):
        return [entry["MESSAGE"] for entry in self.entries(identity)]

    def wait_message(self, identity, text, within=10):
        return wait_for(lambda: [e for e in self.entries(identity) if text in e["MESSAGE"]], within,
                        f"{identity} says {text!r}")[0]

    def close(self):
        self._tell(b"close")
        self.thread.join()
        self.socket.close()
        (self.folder / "socket").unlink()
        self.folder.rmdir()
