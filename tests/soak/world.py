# SPDX-License-Identifier: MIT
"""The soak's world: a bridge, and at it each device, server and Sentinel in a network namespace of its own.

All of this is in namespaces of the soak (soak.py): however it ends, the kernel takes away what is left."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import types

import redis

import fleet
from redis_server import NO_RETRY, PROGRAM, TESTS_USER, example_rules, wait_for
from sentinel import DEVICE_RULES

import jobs

PREFIX, MASTER = "soak:", "soak"
PORT, SENTINEL_PORT = 6379, 26379
DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS = 2_000, 6_000
WATCHDOG_US = 10_000_000
# Where each device finds its own folder, so that all have the same configuration of each job.
OWN = pathlib.Path("/run/soak")
ENTER = f'mount --bind "$1" {OWN} && shift && exec "$@"'
RESTART_US = 500_000  # as systemd's RestartSec, for a rotad that ends without us


def boot_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def run(*command, text=None, check=True):
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False, timeout=60)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


def append(path, **fields):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def fill(folder):
    """The file system that the folder is, to its last byte."""
    with open(folder / "fill", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(65536)):
            pass


def make_bridge():
    pathlib.Path("/run/netns").mkdir()
    OWN.mkdir()
    run("ip", "-batch", "-", text="link set lo up\nlink add br0 type bridge\nlink set br0 up\n"
        "addr add 10.77.0.254/16 dev br0\n")


class Node:
    """A network namespace at the bridge, by the name of who lives there."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        self.enter = ["nsenter", f"--net=/run/netns/{name}"]
        self.downs = 0
        run("ip", "-batch", "-", text=f"netns add {name}\nlink add v-{name} type veth peer name eth0 netns {name}\n"
            f"link set v-{name} master br0 up\n")
        run("ip", "-n", name, "-batch", "-", text=f"link set lo up\naddr add {address}/16 dev eth0\nlink set eth0 up\n")
        self.identity = os.stat(f"/run/netns/{name}").st_ino

    def processes(self):
        """All that live in there, whatever they are."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{pid}/ns/net").st_ino == self.identity:
                    found.append(int(pid))
        return found

    def take_link_down(self):
        self.downs += 1
        run("ip", "-n", self.name, "link", "set", "eth0", "down")

    def take_link_up(self):
        self.downs -= 1
        if not self.downs:
            run("ip", "-n", self.name, "link", "set", "eth0", "up")

    def drop(self, table, percent):
        """So many packets of a hundred, both ways. Each fault has a table of its own: they overlap."""
        rule = "drop" if percent >= 100 else f"numgen random mod 100 < {percent} drop"
        run(*self.enter, "nft", "-f", "-", text=f"""table inet {table} {{
            chain arriving {{ type filter hook input priority 0; iifname "eth0" {rule}; }}
            chain leaving {{ type filter hook output priority 0; oifname "eth0" {rule}; }}
        }}\n""")

    def drop_no_more(self, table):
        run(*self.enter, "nft", "delete", "table", "inet", table)


class Process:
    """A redis-server, as a server or as a Sentinel, in a folder and a network namespace of its own."""

    def __init__(self, folder, name, address, port, more=()):
        self.name, self.folder, self.port = name, folder / name, port
        self.node, self.process, self.more = Node(name, address), None, list(more)
        self.folder.mkdir(parents=True)
        self.conf, self.socket = self.folder / "conf", self.folder / "socket"

    def start(self):
        self.socket.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.node.enter, PROGRAM, str(self.conf), *self.more],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def answers(self):
        try:
            with self.client() as client:
                return client.ping()
        except redis.RedisError:
            return False

    def wait_ready(self):
        wait_for(self.answers, 20, f"{self.name} answers")


class Server(Process):
    """Its disk is a small file system of its own, which can be filled."""

    def __init__(self, folder, name, address, master=None):
        super().__init__(folder, name, address, PORT)
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "none", str(self.disk))
        users = [("default", example_rules(PREFIX)), (TESTS_USER, ["on", "~*", "&*", "+@all"])]
        self.conf.write_text("\n".join([
            *(f"user {user} {' '.join(rules)} nopass" for user, rules in users),
            f"bind {address} 127.0.0.1", f"port {PORT}", f"unixsocket {self.socket}", "protected-mode no",
            f"dir {self.disk}", "save 3600 1", "appendonly no", "stop-writes-on-bgsave-error yes",
            "maxmemory 64mb", "maxmemory-policy noeviction",
            f"masteruser {TESTS_USER}", "masterauth any", f"replica-announce-ip {address}",
            "repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
            "repl-timeout 10", *([f"replicaof {master} {PORT}"] if master else [])]) + "\n")

    def client(self, **options):
        """By its unix socket, which no fault of the network touches."""
        return redis.Redis(unix_socket_path=str(self.socket), decode_responses=True, username=TESTS_USER,
                           password="any", retry=NO_RETRY, **{"socket_timeout": 3, **options})

    def ask(self, *words):
        with self.client() as client:
            return client.execute_command(*words)

    def role(self):
        try:
            return self.ask("ROLE")[0]
        except redis.RedisError:
            return None

    def forget(self):
        for file in self.disk.glob("*.rdb"):
            file.unlink()


class Sentinel(Process):
    def __init__(self, folder, name, address, master):
        super().__init__(folder, name, address, SENTINEL_PORT, ["--sentinel"])
        self.conf.write_text("\n".join([
            f"bind {address}", f"dir {self.folder}", "protected-mode no", f"port {SENTINEL_PORT}",
            f"sentinel announce-ip {address}", f"sentinel monitor {MASTER} {master} {PORT} 2",
            f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {MASTER} {FAILOVER_TIMEOUT_MS}",
            f"sentinel auth-user {MASTER} {TESTS_USER}", f"sentinel auth-pass {MASTER} any",
            f"user {TESTS_USER} on nopass ~* &* +@all", f"sentinel sentinel-user {TESTS_USER}",
            "sentinel sentinel-pass any", f"user default reset on nopass {DEVICE_RULES}"]) + "\n")

    def client(self, **options):
        return redis.Redis(self.node.address, self.port, decode_responses=True, username=TESTS_USER, password="any",
                           retry=NO_RETRY, **{"socket_timeout": 3, **options})

    def ask(self, *words):
        with self.client() as client:
            return client.execute_command(*words)

    def master(self):
        """The address that it gives."""
        try:
            return self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)[0]
        except (redis.RedisError, TypeError):
            return None

    def knows_all(self):
        try:
            facts = self.ask("SENTINEL", "MASTER", MASTER)
        except redis.RedisError:
            return False
        facts = facts if isinstance(facts, dict) else dict(zip(facts[::2], facts[1::2]))
        return int(facts["num-other-sentinels"]) == 2 and int(facts["num-slaves"]) == 1


class Device(fleet.Device):
    """A rotad in its namespace, started again where it ends without being asked."""

    def __init__(self, world, number):
        self.world, name = world, f"d{number:02}"
        self.node = Node(name, f"10.77.1.{number}")
        self.begin_us, self.end, self.back_us = 0, None, None
        self.away = 0  # so many faults keep it from coming back
        folder = world.folder / "devices" / name
        settings = jobs.conf(str(world.work), str(OWN / "ledger"), str(world.folder / "storage"), world.names)
        top = {"prefix": PREFIX, "metrics_file": str(folder / "run" / "metrics"), "checkin": "10m", "redis": {
            "sentinels": [f"{each.node.address}:{SENTINEL_PORT}" for each in world.sentinels], "master": MASTER,
            "tls": False, "connect_timeout": f"{jobs.CONNECT_MS}ms", "command_timeout": f"{jobs.COMMAND_MS}ms",
            "backoff_min": "100ms", "backoff_max": "2s"}}
        enter = [*self.node.enter, "unshare", "--mount", "sh", "-c", ENTER, "sh", str(folder)]
        place = types.SimpleNamespace(folder=world.folder / "devices", plugins=world.plugins, enter=enter,
                                      environment=dict(os.environ), redis=types.SimpleNamespace(address=""))
        self.jobs = settings
        super().__init__(place, name, settings, top)
        self.log, self.run = self.folder / "journal", self.folder / "run"
        self.run.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=128k,mode=755", "none", str(self.run))

    def start(self, clock=None, **environment):
        self.begin_us, self.end, self.back_us = boot_us(), None, None
        return super().start(clock, NOTIFY_SOCKET=str(self.folder / "notify"), WATCHDOG_USEC=str(WATCHDOG_US),
                             **environment)

    def tell(self, *words):
        """rotactl, which is not waited for."""
        return subprocess.Popen([self.world.rotactl, "--runtime-dir", str(self.run), *words],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lives(self):
        return self.process is not None and self.end is None and self.process.poll() is None

    def kill_supervisor(self, back_us):
        """It comes back then, if no other fault keeps it away."""
        self.end, self.back_us = "killed by us", back_us
        self.process.kill()

    def forget(self):
        """What a boot clears: the runtime folder. It is full, or not, as before."""
        for each in self.run.iterdir():
            if each.name != "fill":
                shutil.rmtree(each) if each.is_dir() else each.unlink()

    def note_life(self, how):
        append(self.folder / "lives.jsonl", pid=self.process.pid, begin_us=self.begin_us, end_us=boot_us(), how=how)
        self.process = None

    def look(self):
        """Notes its end, and starts it again in time, unless a fault keeps it away."""
        if self.process and self.process.poll() is not None:
            status = self.process.returncode
            how = self.end or (f"exit {status}" if status >= 0 else f"signal {-status}")
            self.note_life(how)
            if self.back_us is None:
                self.back_us = boot_us() + RESTART_US
        if self.process is None and not self.away and self.back_us is not None and boot_us() >= self.back_us:
            self.start()


class World:
    def __init__(self, folder, build, devices, work):
        self.folder, self.work, self.jobs = folder, work, list(jobs.JOBS)
        self.rotactl = str(build / "runtime" / "rotactl" / "rotactl")
        self.plugins = folder / "plugins"
        self.plugins.mkdir(mode=0o755)
        shutil.copy(build / "plugins" / "exec.so", self.plugins)
        self.names = [f"d{number:02}" for number in range(1, devices + 1)]
        make_bridge()
        (folder / "devices").mkdir()
        self.servers = [Server(folder / "redis", "a", "10.77.0.1"),
                        Server(folder / "redis", "b", "10.77.0.2", "10.77.0.1")]
        self.sentinels = [Sentinel(folder / "redis", f"s{number}", f"10.77.0.{10 + number}", "10.77.0.1")
                          for number in (1, 2, 3)]
        self.devices = {name: Device(self, number) for number, name in enumerate(self.names, 1)}

    def start_servers(self):
        for each in (*self.servers, *self.sentinels):
            each.start()
        for each in (*self.servers, *self.sentinels):
            each.wait_ready()
        wait_for(lambda: all(each.knows_all() for each in self.sentinels), 40, "the Sentinels know each other",
                 slowest=0.5)

    def server_at(self, address):
        return next((each for each in self.servers if each.node.address == address), None)

    def master(self):
        """Where the first Sentinel that answers says it is."""
        return next((found for each in self.sentinels if (found := self.server_at(each.master()))), self.servers[0])

    def end(self):
        """Asks every device to stop, and notes how each did."""
        running = [each for each in self.devices.values() if each.process]
        for device in running:
            with contextlib.suppress(ProcessLookupError):
                device.signal(signal.SIGCONT)
                device.signal(signal.SIGTERM)
        limit = time.monotonic() + 25
        for device in running:
            try:
                status = device.process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                device.kill()
                status = "none: it did not end in 25 s of being asked"
            how = "the end" if status == 0 else f"exit {status} at the end"
            device.note_life(how)

    def end_servers(self):
        for each in (*self.sentinels, *self.servers):
            each.kill()
