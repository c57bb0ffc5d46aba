# SPDX-License-Identifier: MIT
"""Those that run a command under a lock, behind one interface: command() is a locked run, or a loop of them."""
import contextlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from fleet import wait_for
from redis_server import RedisServer, free_port

HERE = pathlib.Path(__file__).resolve().parent
# Where fetch_peers of ./quickstart puts what is not installed.
FETCHED = pathlib.Path(os.environ.get("ROTA_PEERS", HERE.parents[2] / "build" / "peers"))
MODULES = FETCHED / "node" / "node_modules"
HELD = 75
GRACE_MS = 40_000


def program(name):
    """Its path: fetched, or the machine's. None where it is not to be had."""
    path = os.pathsep.join([str(FETCHED / "usr" / "bin"), str(FETCHED / "usr" / "sbin"), os.environ["PATH"]])
    return shutil.which(name, path=path)


def first_line(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()[0].strip()


class Place:
    """The job, the file that it writes, and the servers: what all runs of the peers share."""

    def __init__(self, folder):
        self.folder, self.file, self.job = folder, folder / "stamps", str(folder / "job")
        self.file.touch()
        for name in ("job", "peak"):
            subprocess.run(["gcc", "-O2", "-o", folder / name, HERE / f"{name}.c"], check=True)
        self.redis, self.etcd, self.etcd_port = RedisServer().start(), None, 0
        self.redis.allow("~*", "&*", "+@all")
        self.port = self.redis.open_port()

    def begin_etcd(self):
        if self.etcd or not program("etcd"):
            return self.etcd
        self.etcd_port, peer = free_port(), free_port()
        url, own = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{peer}"
        with open(self.folder / "etcd.log", "wb") as log:
            self.etcd = subprocess.Popen(
                [program("etcd"), "--data-dir", self.folder / "etcd", "--listen-client-urls", url,
                 "--advertise-client-urls", url, "--listen-peer-urls", own, "--initial-advertise-peer-urls", own,
                 "--initial-cluster", f"default={own}"], stdout=log, stderr=log)
        wait_for(lambda: b"ready to serve client requests" in (self.folder / "etcd.log").read_bytes(), 30,
                 "etcd serves")
        return self.etcd

    def command_of(self, host, due, hold=False):
        return [self.job, str(self.file), host, str(due), str(int(hold))]

    def peak(self, command, environment):
        """KiB: the largest RSS of any process of such a run."""
        out = self.folder / "peak-kib"
        subprocess.run([self.folder / "peak", out, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
        return int(out.read_text())

    def stamps(self, host):
        """[(due us, pid, begin us, end us)] of whole lines."""
        lines = self.file.read_text().rpartition("\n")[0].splitlines()
        return [tuple(map(int, words[1:])) for words in map(str.split, lines) if words[0] == host]

    def close(self):
        if self.etcd:
            self.etcd.kill()
            self.etcd.wait()
        self.redis.close()


class Locker:
    """A peer of one kind. `why` it is not to be had, or None. waits: it asks once and waits for the lock."""
    waits = False
    note = ""

    def __init__(self, place):
        self.place = place

    def why(self):
        return None

    def server(self):
        return self.place.redis.process.pid

    def environment(self):
        return dict(os.environ)

    def start(self, key, ttl_ms, host, due=None, hold=False):
        """One locked run, begun now."""
        due = time.time_ns() // 1000 if due is None else due
        return subprocess.Popen(self.command(key, ttl_ms) + self.place.command_of(host, due, hold),
                                env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def is_held(self, key):
        with self.place.redis.client() as client:
            return bool(client.exists(key))

    def take(self, key):
        with self.place.redis.client() as client:
            client.set(key, "another's")


class Shell(Locker):
    name = "cron + redis-cli script"

    def why(self):
        return None if program("redis-cli") else "there is no redis-cli"

    def version(self):
        return first_line("redis-cli", "--version")

    def command(self, key, ttl_ms):
        return ["/bin/sh", str(HERE / "locked.sh"), self.place.redis.socket, key, str(ttl_ms)]


class Bash(Locker):
    name = "cron + bash lock script"
    note = f"keeps the lock for a grace of {GRACE_MS // 1000} s"

    def version(self):
        return first_line("bash", "--version")

    def command(self, key, ttl_ms):
        return ["/bin/bash", str(HERE / "graced.bash"), str(self.place.port), key, str(ttl_ms), str(GRACE_MS)]


class Python(Locker):
    name = "redis-py Lock, one-shot"

    def version(self):
        return importlib.metadata.version("redis")

    def command(self, key, ttl_ms, count=0, period_ms=0):
        return [sys.executable, "-B", str(HERE / "locked.py"), self.place.redis.socket, key, str(ttl_ms), str(count),
                str(period_ms)]


class Node(Locker):
    name = "node-redlock, one-shot"

    def why(self):
        if not program("node"):
            return "there is no node"
        return None if (MODULES / "redlock").is_dir() else "npm did not fetch redlock and ioredis"

    def version(self):
        version = json.loads((MODULES / "redlock" / "package.json").read_text())["version"]
        return f"{version}, node {first_line(program('node'), '--version')}"

    def environment(self):
        return {**os.environ, "NODE_PATH": str(MODULES)}

    def command(self, key, ttl_ms, count=0, period_ms=0):
        return [program("node"), str(HERE / "locked.js"), self.place.redis.socket, key, str(ttl_ms), str(count),
                str(period_ms)]


class Etcd(Locker):
    name = "etcdctl lock"
    waits = True
    note = "its lease is etcd's"

    def why(self):
        if not program("etcd") or not program("etcdctl"):
            return "Debian's packages etcd-server and etcd-client are not to be had"
        self.place.begin_etcd()
        return None

    def version(self):
        return first_line(program("etcd"), "--version")

    def server(self):
        return self.place.begin_etcd().pid

    def environment(self):
        return {**os.environ, "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": f"127.0.0.1:{self.place.etcd_port}"}

    def command(self, key, ttl_ms):
        return [program("etcdctl"), "lock", "--ttl", str(ttl_ms // 1000), key]

    def is_held(self, key):
        return bool(subprocess.run([program("etcdctl"), "get", "--prefix", key + "/", "--keys-only"], check=True,
                                   env=self.environment(), stdout=subprocess.PIPE).stdout.strip())


ONCE = (Shell, Bash, Python, Node, Etcd)
LOOPS = {Python: "redis-py Lock, resident", Node: "node-redlock, resident"}


@contextlib.contextmanager
def place_in(folder):
    folder.mkdir()
    place = Place(folder)
    try:
        yield place
    finally:
        place.close()
