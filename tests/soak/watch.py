# SPDX-License-Identifier: MIT
"""What a soak is told: by its devices as their service manager, by the servers, and by /proc."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import selectors
import socket
import struct
import threading
import time

import redis

from fleet import children_of
from redis_server import TESTS_USER
from world import PREFIX, append, boot_us

SAMPLE_SECONDS = 5
OF_LOCKS = re.compile(re.escape(PREFIX) + r"\{[^}]*\}:(lock|seats)$")
WRITES = ("set", "del", "unlink", "expire", "pexpire", "pexpireat", "zadd", "zrem", "zremrangebyscore")
# A line of MONITOR: the server's time, the database, who, and the words, quoted as redis-cli does.
SHOWN = re.compile(r"^\+(\d+\.\d{6}) \[\d+ (.*?)\] (.*)$")
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|.)")
CONTROL = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b"}


def unescape(match):
    text = match[1]
    return chr(int(text[1:], 16)) if len(text) == 3 else CONTROL.get(text, text)


class Watch:
    """Threads, each of which ends by itself once close() is called."""

    def __init__(self, world):
        self.world, self.closed = world, threading.Event()
        self.redis = world.folder / "redis"
        self.seen = {}  # (server, job): the newest entry's id
        self.threads = [threading.Thread(target=self._notes, daemon=True)]
        self.threads += [threading.Thread(target=self._commands, args=[each], daemon=True) for each in world.servers]
        self.threads += [threading.Thread(target=self._switches, args=[each], daemon=True) for each in world.sentinels]
        self.threads.append(threading.Thread(target=self._samples, daemon=True))
        self.selector = selectors.DefaultSelector()
        for device in world.devices.values():
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            sock.bind(str(device.folder / "notify"))
            self.selector.register(sock, selectors.EVENT_READ, device)

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def close(self):
        """Once the servers have ended."""
        self.closed.set()
        for thread in self.threads:
            thread.join(10)

    def _notes(self):
        while not self.closed.is_set():
            for key, _ in self.selector.select(0.5):
                with contextlib.suppress(BlockingIOError):
                    while True:
                        data, control, _, _ = key.fileobj.recvmsg(4096, socket.CMSG_SPACE(12))
                        pid = next((struct.unpack("3i", each[2][:12])[0] for each in control), 0)
                        append(key.data.folder / "notify.jsonl", us=boot_us(), pid=pid, text=data.decode().strip())

    def _commands(self, server):
        with open(self.redis / "commands.jsonl", "a", encoding="utf-8", buffering=1) as out:
            while not self.closed.is_set():
                try:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                        sock.connect(str(server.socket))
                        sock.sendall(f"AUTH {TESTS_USER} any\r\nMONITOR\r\n".encode())
                        out.write(json.dumps({"us": boot_us(), "server": server.name, "open": True}) + "\n")
                        self._monitor(server, sock.makefile("r", encoding="utf-8", errors="replace"), out)
                except OSError:
                    pass
                self.closed.wait(0.1)

    @staticmethod
    def _monitor(server, lines, out):
        """Until the server ends. What a script did comes behind its EVALSHA, as a client's that is called lua."""
        client, script = None, None
        for line in lines:
            shown = SHOWN.match(line)
            if not shown:
                continue
            words = WORD.findall(shown[3])
            command = words[0].lower()
            if shown[2] != "lua":
                client, script = shown[2], None
                if command == "evalsha":
                    script = words[1][:8]
                elif command == "eval":
                    script = hashlib.sha1(ESCAPED.sub(unescape, words[1]).encode("latin-1", "replace")).hexdigest()[:8]
            if command in WRITES and len(words) > 1 and OF_LOCKS.match(words[1]):
                row = {"us": boot_us(), "server_us": int(shown[1].replace(".", "")), "server": server.name,
                       "client": client, "script": script, "words": words}
                out.write(json.dumps(row) + "\n")

    def _switches(self, sentinel):
        while not self.closed.is_set():
            try:
                with sentinel.client(socket_timeout=1) as client, client.pubsub() as channel:
                    channel.subscribe("+switch-master")
                    while not self.closed.is_set():
                        message = channel.get_message(timeout=1)
                        if message and message["type"] == "message":
                            append(self.world.folder / "faults.jsonl", begin_us=boot_us(), end_us=boot_us(),
                                   kind="switch", devices=[], server=sentinel.name, master=message["data"].split()[3])
            except (redis.RedisError, OSError, ValueError):
                self.closed.wait(0.2)

    def _samples(self):
        due = time.monotonic()
        while not self.closed.is_set():
            append(self.world.folder / "samples.jsonl", us=boot_us(),
                   devices={name: found for name, each in self.world.devices.items() if (found := of_device(each))},
                   redis={each.name: self._of_server(each) for each in self.world.servers})
            due = max(due + SAMPLE_SECONDS, time.monotonic())
            self.closed.wait(due - time.monotonic())

    def _of_server(self, server):
        try:
            with server.client() as client:
                info = client.info()
                self.history(server, client)
                return {"memory": info["used_memory"], "clients": info["connected_clients"], "keys": client.dbsize(),
                        "role": info["role"]}
        except (redis.RedisError, OSError):
            return None

    def history(self, server, client):
        """What is new of each job's history, before a failover or a restart can lose it."""
        for job in self.world.jobs:
            last = self.seen.get((server.name, job))
            key = f"{PREFIX}{{{job}}}:history"
            entries = client.xrange(key, f"({last}" if last else "-")
            if not entries and last and not client.exists(key):
                self.seen.pop((server.name, job))  # Redis lost its data: ids may begin anew
            for entry, fields in entries:
                append(self.redis / "history.jsonl", us=boot_us(), server=server.name, job=job, id=entry, fields=fields)
                self.seen[server.name, job] = entry


def of_device(device):
    """What its rotad uses now; None where there is none."""
    process = device.process
    if process is None:
        return None
    proc = pathlib.Path(f"/proc/{process.pid}")
    try:
        rollup = (proc / "smaps_rollup").read_text()
        children = children_of(process.pid)
        return {"pid": process.pid, "private_kib": int(re.search(r"Private_Dirty: *(\d+)", rollup)[1]),
                "fds": len(os.listdir(proc / "fd")), "children": len(children),
                "zombies": sum(map(is_zombie, children))}
    except (OSError, TypeError):
        return None


def is_zombie(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
