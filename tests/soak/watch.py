# SPDX-License-Identifier: MIT
"""What a soak is told: by its devices as their service manager, by the servers, and by /proc."""
import contextlib
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
from world import PREFIX, append, boot_us

SAMPLE_SECONDS = 5
OF_LOCKS = re.compile(re.escape(PREFIX) + r"\{[^}]*\}:(lock|seats)$")


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
        with open(self.redis / "commands.jsonl", "a", encoding="utf-8") as out:
            while not self.closed.is_set():
                try:
                    # It ends with its server: redis-py closes a monitor that hears nothing for a time.
                    with server.client(socket_timeout=None) as client, client.monitor() as monitor:
                        out.write(json.dumps({"us": boot_us(), "server": server.name, "open": True}) + "\n")
                        self._monitor(server, monitor, out)
                except (redis.RedisError, ValueError, OSError):
                    self.closed.wait(0.1)
                out.flush()

    def _monitor(self, server, monitor, out):
        script, client = None, None
        while not self.closed.is_set():
            each = monitor.next_command()
            words = each["command"].split(" ")
            if each["client_type"] != "lua":
                client = f"{each['client_address']}:{each['client_port']}"
                name = words[0].lower()
                script = words[1][:8] if name == "evalsha" else "eval" if name == "eval" else None
                # A write that no script did; of a replica, what its master sent.
                if name not in ("set", "del", "unlink", "pexpire", "pexpireat", "zadd", "zrem"):
                    continue
            if len(words) > 1 and OF_LOCKS.match(words[1]) and words[0].lower() not in (
                    "get", "getrange", "strlen", "pttl", "type", "exists", "zcard", "zscore", "zrange", "zrangebyscore"):
                out.write(json.dumps({"us": boot_us(), "server_us": int(each["time"] * 1_000_000), "server": server.name,
                                      "client": client, "script": script, "words": words}) + "\n")

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
