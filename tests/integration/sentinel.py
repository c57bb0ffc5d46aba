# SPDX-License-Identifier: MIT
"""A master with replicas and the sentinels that watch them: real ones, on an address of the loopback that is their own,
nothing on disk but what a sentinel keeps of its configuration, all ended by their pids.

    group = Group().start()
    device = fleet.device(jobs, redis=group.settings())
    group.failover()                       # planned, by a sentinel
    group.master().kill()                  # not planned
    group.switches                         # what sentinels published meanwhile

Whoever comes without a name may do what conf/redis-acl.example gives to a device, as in redis_server.py; the tests are
another user, who may do all, and so are the servers among themselves, and the sentinels at them."""
import collections
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import redis

from redis_server import NO_RETRY, PROGRAM, READY_SECONDS, TESTS_USER, RedisServer, free_port, wait_for

SERVER_PORT, SENTINEL_PORT = 6401, 26401
# A sentinel tells the others of itself every two seconds, and finds replicas by a question to the master.
KNOWN_SECONDS = 30
FAILOVER_SECONDS = 40

# What conf/redis-acl.example has for a user of sentinels.
DEVICE_RULES = ("resetchannels &+switch-master -@all +client|setname +sentinel|get-master-addr-by-name +subscribe "
                "+unsubscribe")

Switch = collections.namedtuple("Switch", "at sentinel port")  # ms of CLOCK_BOOTTIME


def boot_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def own_host():
    """An address of the loopback that nobody else has in this moment."""
    while True:
        host = f"127.{random.randint(16, 250)}.{random.randint(0, 250)}.{random.randint(2, 250)}"
        with socket.socket() as probe:
            try:
                probe.bind((host, SENTINEL_PORT))
            except OSError:
                continue
        return host


def bound(host):
    """Where a server of that name listens: at all of its addresses, for servers and sentinels that are told a name try
    the first of them alone, and for localhost that is ::1 on some machines. "-": others have it in /etc/hosts only."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [f"-{address}" if ":" in address else address for address in dict.fromkeys(each[4][0] for each in found)]


class Server(RedisServer):
    """A redis-server of the group: by TCP, too, with users who may replicate."""

    def __init__(self, group, port, master_port=None):
        super().__init__("--bind", *bound(group.host), "--protected-mode", "no", "--masteruser", TESTS_USER,
                         "--masterauth", "any", "--replica-announce-ip", group.host, "--repl-diskless-sync", "yes",
                         "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", *group.server_options)
        self.group, self.port, self.master_port = group, port, master_port
        if group.tls:
            self.options += ["--port", "0", "--tls-port", str(port), *group.tls_options()]

    @property
    def text(self):
        return f"{self.group.host}:{self.port}"

    def start(self):
        options = self.options
        if self.master_port:
            self.options = [*options, "--replicaof", self.group.host, str(self.master_port)]
        super().start()
        self.options = options
        return self

    def restart(self, master_port=None):
        """As it comes back after a crash: without data; as a replica where a port is given."""
        self.master_port = master_port
        return self.start()

    def role(self):
        with self.client() as client:
            return client.execute_command("ROLE")[0]

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def devices(self):
        """The connections that have said a name."""
        with self.client() as client:
            return [each["name"] for each in client.client_list() if each["name"]]


class Sentinel:
    def __init__(self, group, number, port):
        self.group, self.number, self.port = group, number, port
        self.folder = group.folder / f"sentinel-{number}"
        self.folder.mkdir()
        self.process = None
        self.listener = None

    @property
    def text(self):
        return f"{self.group.host}:{self.port}"

    @property
    def endpoint(self):
        return f"{self.group.host} {self.port}"

    def configuration(self):
        name = self.group.quoted_name()
        named = self.group.host == "localhost"
        lines = [
            f"bind {' '.join(bound(self.group.host))}", f"dir {self.folder}", "protected-mode no",
            f"port {0 if self.group.tls else self.port}",
            f"sentinel resolve-hostnames {'yes' if named else 'no'}",
            f"sentinel announce-hostnames {'yes' if named else 'no'}",
            f"sentinel announce-ip {self.group.host}", f"sentinel announce-port {self.port}",
            f"sentinel monitor {name} {self.group.host} {self.group.servers[0].port} {self.group.quorum}",
            f"sentinel down-after-milliseconds {name} {self.group.down_after_ms}",
            f"sentinel failover-timeout {name} {self.group.failover_timeout_ms}",
            f"sentinel auth-user {name} {TESTS_USER}", f"sentinel auth-pass {name} any",
            # Sentinels among themselves.
            f"user {TESTS_USER} on nopass ~* &* +@all",
            f"sentinel sentinel-user {TESTS_USER}", "sentinel sentinel-pass any",
            *(self.group.sentinel_users or [f"user default reset on nopass {DEVICE_RULES}"])]
        if self.group.tls:
            words = self.group.tls_options()
            lines += [f"tls-port {self.port}",
                      *(f"{words[i][2:]} {words[i + 1]}" for i in range(0, len(words), 2))]
        return "".join(f"{line}\n" for line in lines)

    def start(self, fresh=True):
        if fresh:
            (self.folder / "sentinel.conf").write_text(self.configuration())
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([PROGRAM, str(self.folder / "sentinel.conf"), "--sentinel"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.answers, READY_SECONDS, f"the sentinel in {self.folder} answers")
        self._listen()
        return self

    def client(self, **options):
        tls = {"ssl": True, "ssl_cert_reqs": "none"} if self.group.tls else {}
        return redis.Redis(self.group.host, self.port, decode_responses=True, username=TESTS_USER, password="any",
                           retry=NO_RETRY, **{"socket_timeout": 5, **tls, **options})

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with self.client() as client:
                return client.ping()
        except redis.RedisError:
            return False

    def ask(self, *words):
        with self.client() as client:
            return client.execute_command(*words)

    def master_port(self):
        found = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.group.name)
        return int(found[1]) if found else None

    def facts(self):
        with self.client() as client:
            reply = client.execute_command("SENTINEL", "MASTER", self.group.name)
        return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))

    def devices(self):
        """The connections that have said a name: {name: subscriptions}."""
        with self.client() as client:
            return {each["name"]: int(each["sub"]) for each in client.client_list()
                    if each["name"] and not each["name"].startswith("sentinel-")}

    def _listen(self):
        client = self.client(socket_timeout=None)
        channel = client.pubsub()
        channel.subscribe("+switch-master")
        assert channel.get_message(timeout=READY_SECONDS)["type"] == "subscribe"

        def listen():
            try:
                for message in channel.listen():
                    if message["type"] == "message" and message["data"].startswith(self.group.name + " "):
                        port = int(message["data"].rsplit(" ", 1)[1])
                        self.group.switches.append(Switch(boot_ms(), self.number, port))
            except (redis.RedisError, ValueError, OSError, AttributeError):
                pass  # it ends, or is ended
            finally:
                client.close()
        self.listener = threading.Thread(target=listen, daemon=True)
        self.listener.start()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.listener:
            self.listener.join(READY_SECONDS)


class Group:
    def __init__(self, replicas=1, sentinels=3, name="mymaster", quorum=2, host=None, server_options=(),
                 sentinel_users=(), down_after_ms=1000, failover_timeout_ms=6000, tls=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-sentinels-"))
        self.name, self.quorum = name, quorum
        self.host = host or own_host()
        self.server_options, self.sentinel_users = list(server_options), list(sentinel_users)
        self.down_after_ms, self.failover_timeout_ms = down_after_ms, failover_timeout_ms
        self.tls = tls
        self.switches = []
        own = self.host.startswith("127.") and self.host != "127.0.0.1"
        ports = [SERVER_PORT + i if own else free_port() for i in range(1 + replicas)]
        self.servers = [Server(self, port, ports[0] if port != ports[0] else None) for port in ports]
        self.sentinels = [Sentinel(self, i, SENTINEL_PORT + i if own else free_port()) for i in range(sentinels)]

    def quoted_name(self):
        return '"' + self.name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def tls_options(self):
        return ["--tls-cert-file", str(self.tls.certificate.file), "--tls-key-file", str(self.tls.certificate.key),
                "--tls-ca-cert-file", str(self.tls.ca), "--tls-auth-clients", "no", "--tls-replication", "yes"]

    def start(self):
        try:
            for server in self.servers:
                server.start()
            wait_for(self._replicas_follow, KNOWN_SECONDS, "the replicas follow their master")
            for sentinel in self.sentinels:
                sentinel.start()
            self.wait_settled()
        except BaseException:
            self.close()
            raise
        return self

    def _replicas_follow(self):
        with self.servers[0].client() as client:
            return client.info("replication")["connected_slaves"] == len(self.servers) - 1

    def _knows_all(self, sentinel):
        facts = sentinel.facts()
        return (int(facts["num-other-sentinels"]) == len(self.sentinels) - 1
                and int(facts["num-slaves"]) >= len(self.servers) - 1
                and set(facts["flags"].split(",")) == {"master"})

    def running(self):
        return [sentinel for sentinel in self.sentinels if sentinel.process]

    def wait_settled(self):
        """All sentinels know each other and all servers, agree, and nothing is under way."""
        def settled():
            ports = {sentinel.master_port() for sentinel in self.running()}
            return len(ports) == 1 and all(self._knows_all(sentinel) for sentinel in self.running())
        wait_for(settled, KNOWN_SECONDS, "the sentinels know each other and the servers", slowest=0.2)
        return self

    def server_at(self, port):
        return next(server for server in self.servers if server.port == port)

    def master(self):
        """Where most of the sentinels say it is."""
        ports = collections.Counter(sentinel.master_port() for sentinel in self.running())
        return self.server_at(ports.most_common(1)[0][0])

    def others(self):
        master = self.master()
        return [server for server in self.servers if server is not master]

    def failover(self, sentinel=0):
        """Planned; it has begun when this returns."""
        return self.sentinels[sentinel].ask("SENTINEL", "FAILOVER", self.name)

    def wait_switch(self, since=0, seconds=FAILOVER_SECONDS):
        """The first publication of a switch from then on."""
        def there():
            news = [switch for switch in self.switches if switch.at >= since]
            return min(news) if news else None
        return wait_for(there, seconds, "a sentinel publishes another master")

    def wait_demoted(self, server, seconds=FAILOVER_SECONDS):
        wait_for(lambda: server.role() == "slave", seconds, f"{server.text} is made a replica")

    def driven(self, **more):
        """Options of the store's driver."""
        return {"sentinel": [sentinel.endpoint for sentinel in self.sentinels], "master": self.name, **more}

    def settings(self, **more):
        """The group `redis` of a device."""
        return {"sentinels": [sentinel.text for sentinel in self.sentinels], "master": self.name, "tls": False,
                "connect_timeout": "2s", "command_timeout": "500ms", "backoff_min": "100ms", "backoff_max": "2s",
                **more}

    def close(self):
        for sentinel in self.sentinels:
            sentinel.kill()
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
