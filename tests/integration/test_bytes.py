# SPDX-License-Identifier: MIT
"""What a device-month costs on the wire: one job every 5 minutes in a fleet of 5,000, checkin 1d.

A real device makes each kind of its connections once, by TCP; the packets are counted as the kernel
sends them, headers, handshakes and acknowledgements too. How many of each kind a month has follows
from the protocol (MONTH below). Without TLS.
"""
import collections
import socket
import struct
import threading

import pytest

from fault_proxy import FaultProxy, redis_by
from fleet import SHORT, now_ms, wait_for
from resp import SENT_SCRIPTS

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


class Loopback:
    """For FaultProxy: where it listens."""

    @staticmethod
    def socket():
        return socket.socket()


class Packets:
    """Counts the IP packets from and to a port of the loopback, by the client's port."""

    def __init__(self, port):
        self.port = port
        self.bytes, self.packets = collections.Counter(), collections.Counter()
        self.order = []  # clients' ports, as they came
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
        if client not in self.bytes:
            self.order.append(client)
        self.bytes[client] += struct.unpack_from("!H", data, 2)[0]
        self.packets[client] += 1

    def close(self):
        self.ended.set()
        self.thread.join()
        self.wire.close()


@pytest.fixture
def counted(fleet):
    """A proxy by TCP, which knows each connection's commands, and the count of its packets."""
    for script in SENT_SCRIPTS.glob("*.lua"):
        fleet.client.script_load(script.read_text())
    with FaultProxy(fleet.redis.socket, netns=Loopback) as proxy:
        try:
            packets = Packets(proxy.listener.getsockname()[1])
        except PermissionError:
            pytest.skip("only root sees packets")
        try:
            yield proxy, packets
        finally:
            packets.close()


def kinds_of(proxy):
    """What each connection carried, behind its login."""
    kinds = collections.defaultdict(list)
    for seen in proxy.commands():
        if seen.kind != "CLIENT":
            kinds[seen.connection].append(seen.kind)
    return kinds


def closed(proxy, kind, count=1):
    """The connection that carried the count-th command of the kind, once all have been closed."""
    seen = proxy.wait_for(kind, count, within=30)
    wait_for(lambda: not proxy.open, 30, "the connection is closed")
    return seen.connection


def next_turn():
    return (now_ms() // PERIOD_MS + 1) * PERIOD_MS


def wait_phase():
    """Amid two turns: it is too late for the last one, and the next one is far enough off."""
    wait_for(lambda: 3 / 8 < now_ms() % PERIOD_MS / PERIOD_MS < 5 / 8, PERIOD_MS / 1000 + 5,
             "a good moment")


def measure(fleet, proxy, packets):
    """{kind of connection: (bytes, packets, commands)}."""
    job = {**SHORT, "every": f"{PERIOD_MS // 1000}s", "splay": "0s", "catch_up": "0s",
           **fleet.body("report")}
    device = fleet.device({"report": job}, redis=redis_by(
        proxy, idle_timeout="0s", connect_timeout="5s", command_timeout="2s"))
    fleet.make_done(next_turn() - PERIOD_MS, "report")
    wait_phase()
    device.start()
    closed(proxy, "hello")
    numbers = {"run": closed(proxy, "finish")}
    fleet.make_done(next_turn(), "report")
    numbers["pass"] = closed(proxy, "acquire", proxy.count("acquire") + 1)
    assert device.stop() == 0
    wait_phase()
    earlier = proxy.count("hello")
    device.start()  # its configuration is known by now, as it is to every hello of a month but one
    numbers["hello"] = closed(proxy, "hello", earlier + 1)
    assert device.stop() == 0
    kinds = kinds_of(proxy)
    ports = {kind: packets.order[number - 1] for kind, number in numbers.items()}
    return {kind: (packets.bytes[port], packets.packets[port], kinds[numbers[kind]])
            for kind, port in ports.items()}


def test_a_device_month_is_small(fleet, counted):
    proxy, packets = counted
    pieces = measure(fleet, proxy, packets)
    assert pieces["hello"][2] == ["hello"]
    assert pieces["pass"][2] == ["acquire"]
    assert pieces["run"][2] == ["acquire", "finish", "index"]
    print("connection  commands                  packets  bytes  a month   bytes a month")
    total = 0
    for kind, (size, count, commands) in pieces.items():
        total += size * MONTH[kind]
        print(f"{kind:<10}  {' '.join(commands):<24}  {count:>7}  {size:>5}  {MONTH[kind]:>7.1f}"
              f"  {size * MONTH[kind]:>14.0f}")
    print(f"a device-month: {total:.0f} bytes")
    assert total < BOUND
