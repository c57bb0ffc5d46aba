# SPDX-License-Identifier: MIT
"""What a device-month costs on the wire: one job every 5 minutes in a fleet of 5,000, checkin 1d.

Real devices make each kind of connection and of question once, over TCP and over TLS; the packets
are counted as the kernel sends them, headers, handshakes and acknowledgements too. How many of each
a month has follows from the protocol (MONTH). runtime/core/cost.c has these bytes as constants, for
--check, and docs/guide.md tells them: both are held to what is measured here.
"""
import collections
import concurrent.futures
import contextlib
import re
import socket
import struct
import threading
import time

import pytest

from fleet import ONCE, ROOT, SHORT, Fleet, now_ms, wait_for
from redis_server import Monitor
from resp import KIND_OF_SHA, SENT_SCRIPTS
from tls import Authority, TlsServer

DEVICES = 5000
TURNS = 30 * 24 * 12
# Commands a turn that the whole fleet sends, of PROTOCOL's table: one acquire is granted, and one
# finish follows it; all others are refused.
COMMANDS_A_TURN = 16.3
HELLOS = 30
MONTH = {
    "hello": HELLOS,
    "pass": TURNS * (COMMANDS_A_TURN - 2) / DEVICES,
    "run": TURNS / DEVICES,
}
BOUND = 500_000
PERIOD_MS = 8000
EVERY_PACKET, PACKET_HOST = 0x0003, 0
FIN, RST = 1, 4
RUN = ["acquire", "finish", "index"]
RECORDS = 44  # of TLS, in each exchange
CERTIFICATE_NAMES = 60  # 2 kB of certificate
# Longer than an acknowledgement is held back; shorter than the pause between two renewals.
QUIET_SECONDS = 1


class Packets:
    """Counts the IP packets from and to a port of the loopback, by the client's port."""

    def __init__(self, port):
        self.port = port
        self.bytes, self.packets = collections.Counter(), collections.Counter()
        self.sent = collections.Counter()  # segments of the client that carried something
        self.fins = collections.Counter()
        self.over = set()  # the connections that both sides have closed
        self.newest = {}  # when the last packet came
        self.begun = set()  # (from port, to port), and where in its stream a segment began
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERY_PACKET))
        self.wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.wire.bind(("lo", 0))
        self.wire.settimeout(0.1)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.ended.is_set():
            try:
                data, address = self.wire.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] == PACKET_HOST:  # on the loopback each is seen twice
                self.count(data)

    def count(self, data):
        if data[0] >> 4 != 4 or data[9] != socket.IPPROTO_TCP:
            return
        header = (data[0] & 15) * 4
        ports = struct.unpack_from("!HH", data, header)
        if self.port not in ports:
            return
        client = ports[1] if ports[0] == self.port else ports[0]
        flags, size = data[header + 13], struct.unpack_from("!H", data, 2)[0]
        carried = size > header + (data[header + 12] >> 4) * 4
        self.newest[client] = time.monotonic()
        if carried and self.was_sent(ports, struct.unpack_from("!I", data, header + 4)[0]):
            return
        self.bytes[client] += size
        self.packets[client] += 1
        self.sent[client] += ports[0] == client and carried
        if flags & RST or (self.fins[client] == 2 and not flags & FIN):
            self.over.add(client)
        self.fins[client] += flags & FIN

    def was_sent(self, ports, sequence):
        """Whether this is a repeat: on a busy machine the kernel soon takes a segment for lost."""
        known = (ports, sequence) in self.begun
        self.begun.add((ports, sequence))
        return known

    def settled(self, client):
        """The connection's bytes, once nothing has come for a moment from now on."""
        begun = time.monotonic()
        wait_for(lambda: time.monotonic() - max(begun, self.newest[client]) > QUIET_SECONDS, 10, "a quiet link")
        return self.bytes[client]

    def closed(self, client):
        """The connection's bytes, once it is over."""
        wait_for(lambda: client in self.over, 30, "the connection is closed")
        return self.bytes[client]

    def close(self):
        self.ended.set()
        self.thread.join()
        self.wire.close()


class Commands(Monitor):
    """What the server was sent, by the client's port."""

    LINE = re.compile(r'\+[\d.]+ \[\d+ [^\]]*:(\d+)\] "(\w+)"(?: "(\w+)")?(?: "([^"]*)")?')

    def __init__(self, server):
        self.kinds = collections.defaultdict(list)  # port -> what it carried, behind the login
        self.names = {}  # port -> the device
        super().__init__(server)

    def take(self, line):
        if match := self.LINE.match(line):
            words = [word for word in match.groups()[1:] if word]
            self.count(int(match[1]), [word.lower() for word in words[:2]], words[-1])

    def count(self, port, words, last):
        if words[:2] == ["client", "setname"]:
            self.names[port] = last
        elif words[0] != "auth":
            name = KIND_OF_SHA.get(words[1], words[0]) if words[0] == "evalsha" else words[0]
            self.kinds[port].append(name)

    def ports(self, device, kind):
        """The connections on which that device sent it, in order: one a command."""
        return [port for port, kinds in list(self.kinds.items()) for each in kinds
                if each == kind and self.names.get(port) == device.name]

    def wait(self, device, kind, count=1):
        """The connection that carried the count-th of them."""
        def sent():
            ports = self.ports(device, kind)
            return ports[count - 1] if len(ports) >= count else 0
        return wait_for(sent, 30, f"{device.name} sends {kind}")


class Link:
    """What goes between the fleet's devices and its Redis is counted."""

    def __init__(self, fleet, port, **redis):
        self.fleet = fleet
        self.packets = Packets(port)
        self.commands = Commands(fleet.redis)
        secret = fleet.folder / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef\n")
        secret.chmod(0o600)
        self.redis = {"address": f"127.0.0.1:{port}", "username": "default", "password_file": secret,
                      "connect_timeout": "5s", "command_timeout": "2s", **redis}

    def device(self, job, settings, **redis):
        """Its second hello is neither within the test nor, where a connection is to be kept for it,
        further off than that may be, but for one time in a thousand."""
        return self.fleet.device({job: settings}, checkin="1d", redis={**self.redis, **redis})

    def close(self):
        self.packets.close()
        self.commands.close()


@pytest.fixture(scope="module")
def authority():
    with Authority() as ca:
        yield ca


def usual_server(authority, *options, **more):
    """Its certificate is as long as what a public authority issues, with the one between it and the root."""
    names = [f"redis-{number}.fleet.example" for number in range(CERTIFICATE_NAMES)]
    return TlsServer(authority.issue("127.0.0.1", *names, key="rsa:2048"), *options, **more)


@contextlib.contextmanager
def counted(server, authority, clear=False):
    """A link to that server, which knows the scripts."""
    with contextlib.ExitStack() as stack:
        stack.callback(server.close)
        server.start()
        port = server.open_port() if clear else server.tls_port
        secured = {"tls": False} if clear else {"tls": True, "tls_ca": authority.file}
        fleet = Fleet(server)
        stack.callback(fleet.close)
        for script in SENT_SCRIPTS.glob("*.lua"):
            fleet.client.script_load(script.read_text())
        try:
            link = Link(fleet, port, **secured)
        except PermissionError:
            pytest.skip("only root sees packets")
        stack.callback(link.close)
        yield link


@pytest.fixture
def link(request, authority):
    """By request.param: in the clear; by TLS with each session resumed; by TLS with none resumed,
    as when Redis has forgotten it (tls-session-cache-timeout)."""
    forgetful = ["--tls-session-cache-timeout", "1"] if request.param == "anew" else []
    with counted(usual_server(authority, *forgetful), authority, request.param == "clear") as the_link:
        yield the_link


def next_turn():
    return (now_ms() // PERIOD_MS + 1) * PERIOD_MS


def wait_phase():
    """Amid two turns: it is too late for the last one, and the next one is far enough off."""
    wait_for(lambda: 3 / 8 < now_ms() % PERIOD_MS / PERIOD_MS < 5 / 8, PERIOD_MS / 1000 + 5,
             "a good moment")


def ticking(fleet, name):
    return {**SHORT, "every": f"{PERIOD_MS // 1000}s", "splay": "0s", "catch_up": "0s",
            **fleet.body(name)}


Piece = collections.namedtuple("Piece", "bytes packets sent commands")


def measure_closed(link):
    """{kind of connection: Piece}, each made for that and closed behind it."""
    fleet, commands, packets = link.fleet, link.commands, link.packets
    device = link.device("closed", ticking(fleet, "closed"), idle_timeout="0s")
    fleet.make_done(next_turn() - PERIOD_MS, "closed")
    wait_phase()
    device.start()
    packets.closed(commands.wait(device, "hello"))
    ports = {"run": commands.wait(device, "index")}
    packets.closed(ports["run"])
    fleet.make_done(next_turn(), "closed")
    ports["pass"] = commands.wait(device, "acquire", 2)
    packets.closed(ports["pass"])
    assert device.stop() == 0
    wait_phase()
    device.start()  # its configuration is known by now, as it is to every hello of a month but one
    ports["hello"] = commands.wait(device, "hello", 2)
    packets.closed(ports["hello"])
    assert device.stop() == 0
    return {kind: Piece(packets.bytes[port], packets.packets[port], packets.sent[port], commands.kinds[port])
            for kind, port in ports.items()}


def measure_kept(link):
    """{what: bytes} on a connection that is kept."""
    fleet, commands, packets = link.fleet, link.commands, link.packets
    device = link.device("kept", ticking(fleet, "kept"), idle_timeout="7d")
    fleet.make_done(next_turn() - PERIOD_MS, "kept")
    wait_phase()
    device.start()
    port = commands.wait(device, "hello")
    sums = [packets.settled(port)]
    commands.wait(device, "index")
    sums.append(packets.settled(port))
    fleet.make_done(next_turn(), "kept")
    assert commands.wait(device, "acquire", 2) == port
    sums.append(packets.settled(port))
    assert device.stop() == 0
    assert commands.kinds[port][-4:] == [*RUN, "acquire"]
    return {"run": sums[1] - sums[0], "pass": sums[2] - sums[1]}


def measure_held(link):
    """{what: bytes} of a lease that is renewed, and of a connection on which nothing is said."""
    fleet, commands, packets = link.fleet, link.commands, link.packets
    fleet.make_due("held")
    job = {**SHORT, "worst_case": "30s", "lease": "9s", **ONCE, **fleet.body("held", "sleep 8")}
    # 9 s / 3 + 2 x 1 s + 1 s <= 9 s - 0.3 s - 0.25 s
    device = link.device("held", job, idle_timeout="7d", keepalive="10s", command_timeout="1s",
                         connect_timeout="1s").start()
    port = commands.wait(device, "renew")
    sums = [packets.settled(port)]
    commands.wait(device, "renew", 2)
    sums.append(packets.settled(port))
    commands.wait(device, "index")
    sums.append(packets.settled(port))
    wait_for(lambda: packets.bytes[port] > sums[2], 20, "a keepalive")
    sums.append(packets.settled(port))
    assert device.stop() == 0
    return {"renewal": sums[1] - sums[0], "keepalive": sums[3] - sums[2]}


def month_of(pieces):
    """The bytes of a device-month, which are printed as well."""
    print("connection  commands                  packets  bytes  a month   bytes a month")
    total = 0
    for kind, piece in pieces.items():
        total += piece.bytes * MONTH[kind]
        print(f"{kind:<10}  {' '.join(piece.commands):<24}  {piece.packets:>7}  {piece.bytes:>5}"
              f"  {MONTH[kind]:>7.1f}  {piece.bytes * MONTH[kind]:>14.0f}")
    print(f"a device-month: {total:.0f} bytes")
    return total


def guide_says(words):
    """The number behind these words."""
    text = (ROOT / "docs" / "guide.md").read_text()
    return int(re.search(f"^{re.escape(words)} +([0-9,]+)$", text, re.M)[1].replace(",", ""))


def about(number):
    """Now and then an acknowledgement more is sent, or one less."""
    return pytest.approx(number, rel=0.03, abs=2 * 52)


def check_says(link, pattern):
    """What --check says of that device: the number, in bytes."""
    job = {**SHORT, "every": "5m", **link.fleet.body("often")}
    device = link.fleet.device({"often": job}, checkin="1d", redis=link.redis)
    done = device.check()
    assert done.returncode == 0, done.stderr
    number, unit = re.search(pattern, done.stdout, re.M).groups()
    return int(number) * {"kB": 1000, "MB": 1_000_000}[unit]


RESUMED = pytest.param("resumed", marks=pytest.mark.long)
CONNECTIONS = {
    "clear": "in the clear",
    "resumed": "by TLS 1.3, with a session that Redis still knows",
    "anew": "by TLS 1.3 anew, where the server's certificates have 2 kB",
}


@pytest.mark.parametrize("link", ["clear", "anew", RESUMED], indirect=True)
def test_a_device_month_is_small(request, link):
    kind = request.node.callspec.params["link"]
    pieces = measure_closed(link)
    assert {name: piece.commands for name, piece in pieces.items()} == {
        "hello": ["hello"], "pass": ["acquire"], "run": RUN}
    total = month_of(pieces)
    assert total < BOUND
    # The login and the question are one flight, with the end of the handshake where there is one.
    assert pieces["pass"].sent == (1 if kind == "clear" else 3)  # the greeting, that flight, the farewell
    asked = guide_says("a turn that another device has") + (0 if kind == "clear" else RECORDS)
    assert pieces["pass"].bytes == about(asked + guide_says(CONNECTIONS[kind]))
    if kind != "resumed":  # there the hello is not: that device has just been started
        assert pieces["hello"].bytes == about(
            pieces["pass"].bytes + guide_says("a hello") - guide_says("a turn that another device has"))
        said = check_says(link, r"^All jobs and hello.* alone, (\d+) (kB) among 5,000$")
        assert said == pytest.approx(total, rel=0.1)


@pytest.mark.parametrize("link", ["clear", RESUMED], indirect=True)
def test_what_a_kept_connection_costs(request, link):
    records = 0 if request.node.callspec.params["link"] == "clear" else RECORDS
    with concurrent.futures.ThreadPoolExecutor() as threads:
        held = threads.submit(measure_held, link)
        # Its configuration is known from then on: nobody asks for it while the other's bytes are counted.
        wait_for(lambda: link.fleet.entries("begin", "held"), 10, "the lease is held")
        pieces = {**measure_kept(link), **held.result()}
    print(pieces)
    ping = guide_says("a ping of TCP keepalive")
    assert pieces["keepalive"] == ping
    assert pieces["pass"] == about(guide_says("a turn that another device has") + records)
    assert pieces["renewal"] == about(guide_says("each renewal of its lease") + records)
    assert pieces["run"] == about(
        guide_says("a run: asked for, granted, and told how it ended") + len(RUN) * records)
    said = check_says(link, r"^  cost      15 questions a turn: (\d+) (MB) a month alone, ")
    assert said == pytest.approx(pieces["run"] * TURNS, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("options, resumed", [
    ([], False), (["--tls-session-cache-timeout", "86400"], True)], ids=["by default", "for a day"])
def test_an_hour_later(authority, options, resumed):
    """How long a session is kept: as the guide says, Redis's default is shorter."""
    with counted(usual_server(authority, *options, own_clock=True), authority) as link:
        device = link.device("closed", ticking(link.fleet, "closed"), idle_timeout="0s")
        link.fleet.make_done(next_turn() - PERIOD_MS, "closed")
        wait_phase()
        device.start(clock=link.fleet.redis.clock)
        link.packets.closed(link.commands.wait(device, "index"))
        link.fleet.redis.clock.set(now_ms() + 3_600_000)
        port = link.commands.wait(device, "acquire", 2)
        link.packets.closed(port)
        assert device.stop() == 0
    least = guide_says(CONNECTIONS["anew"]) + guide_says("a turn that another device has")
    assert (link.packets.bytes[port] < least) == resumed
