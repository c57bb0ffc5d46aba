# SPDX-License-Identifier: MIT
"""Redis by its name: rotad in a mount namespace whose hosts and name servers are the test's."""
import os
import socket
import statistics
import subprocess
import time

import pytest

from fleet import ONCE, SHORT, SLOWNESS, children_of, wait_for
from notify import NotifySocket

NAME = "redis.rota.test"
# Binds what it is given over the system's files, then becomes the program.
ENTER = 'for f in hosts resolv.conf nsswitch.conf; do mount --bind "$1/$f" "/etc/$f" || exit 1; done; shift; exec "$@"'


class Names:
    """What the devices of a fleet are told about names. Changed in place, so that they see it."""

    def __init__(self, fleet):
        self.folder = fleet.folder / "etc"
        self.folder.mkdir()
        self.hosts()
        self.name_server("127.0.0.1")
        self.sources("files")
        fleet.enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(self.folder)]

    def hosts(self, *addresses):
        text = "127.0.0.1 localhost\n" + "".join(f"{address} {NAME}\n" for address in addresses)
        with open(self.folder / "hosts", "r+" if (self.folder / "hosts").exists() else "w") as file:
            file.write(text)
            file.truncate()

    def name_server(self, address):
        (self.folder / "resolv.conf").write_text(f"nameserver {address}\n")

    def sources(self, sources):
        (self.folder / "nsswitch.conf").write_text(f"hosts: {sources}\npasswd: files\ngroup: files\n")


def may_mount():
    return subprocess.run(["unshare", "--mount", "sh", "-c", "mount --bind /etc/hosts /etc/hosts"],
                          capture_output=True, check=False).returncode == 0


@pytest.fixture
def names(fleet):
    if not may_mount():
        pytest.skip("no mount namespace of our own here")
    return Names(fleet)


@pytest.fixture
def silent_name_server():
    """An address at which questions are taken and never answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        address = f"127.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250}.53"
        try:
            server.bind((address, 53))
        except OSError as why:
            pytest.skip(f"no name server of our own here: {why}")
        yield address


def redis_named(port, *more, connect="1s"):
    addresses = [f"{NAME}:{port}", *more]
    return {"address": addresses if more else addresses[0], "tls": False, "connect_timeout": connect,
            "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"}


def device_by(fleet, redis):
    fleet.make_due("report")
    job = {**SHORT, **ONCE, "worst_case": "5s", **fleet.body("report")}
    return fleet.device({"report": job}, redis=redis)


def test_a_name(fleet, names):
    names.hosts("127.0.0.1")
    device = device_by(fleet, redis_named(fleet.redis.open_port())).start()
    fleet.wait_entry("end")
    # Its child is not there any more, and nobody asks again while the connection holds.
    wait_for(lambda: children_of(device.pid) == [], 5, "its children are reaped")
    assert device.lines("does not answer") == []


def test_each_address_in_one_try_over_ipv6_and_ipv4(fleet, names):
    names.hosts("::1", "127.0.0.77", "127.0.0.1")  # Redis is at the last alone
    device = device_by(fleet, redis_named(fleet.redis.open_port())).start()
    fleet.wait_entry("end")
    assert device.lines("does not answer") == []


def test_an_address_that_swallows_everything_leaves_time_for_the_next(fleet, names):
    port = fleet.redis.open_port()
    with socket.socket() as full:  # no more connections are taken there
        full.bind(("127.0.0.78", port))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.78", port))
        names.hosts("127.0.0.78", "127.0.0.1")
        device = device_by(fleet, redis_named(port, connect="2s")).start()
        fleet.wait_entry("end")
        assert device.lines("does not answer") == []
        for filler in fillers:
            filler.close()


def test_resolved_anew_after_a_failure(fleet, names):
    names.hosts("127.0.0.77")
    device = device_by(fleet, redis_named(fleet.redis.open_port())).start()
    device.wait_line(rf"^{NAME}:\d+ does not answer \(connection refused\); jobs wait; next try within ")
    assert fleet.entries() == []
    names.hosts("127.0.0.1")
    fleet.wait_entry("end")
    device.wait_line(rf"^{NAME}:\d+ answers again after .*$")


@pytest.mark.parametrize("sources,server,words", [
    ("files", "127.0.0.1", "its name is not known"),
    ("dns", "127.0.0.99", "no name server answers")])
def test_a_name_that_cannot_be_resolved(fleet, names, sources, server, words):
    names.sources(sources)
    names.name_server(server)
    device = device_by(fleet, redis_named(fleet.redis.open_port())).start()
    device.wait_line(rf"^{NAME}:\d+ does not answer \({words}\); jobs wait; next try within ")
    names.hosts("127.0.0.1")
    names.sources("files")
    fleet.wait_entry("end")


def test_the_next_server_where_a_name_is_not_known(fleet, names):
    device = device_by(fleet, redis_named(fleet.redis.open_port(), fleet.redis.address)).start()
    fleet.wait_entry("end")
    device.wait_line(rf"^{fleet.redis.address} answers again after ")


def gaps(instants):
    return [later - sooner for sooner, later in zip(instants, instants[1:])]


def test_a_name_server_that_never_answers_holds_up_nothing(fleet, names, silent_name_server):
    names.name_server(silent_name_server)
    names.sources("dns")
    device = device_by(fleet, redis_named(fleet.redis.open_port()))
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC="100000")
        notify.wait_for("^READY=1$", 5)
        begun = time.monotonic()
        device.wait_line(rf"^{NAME}:\d+ does not answer \(no address for its name within 1 s\); ")
        wait_for(lambda: len(device.lines("no address for its name")) >= 3, 15, "it is asked again")
        # Pings come every 50 ms. The C library asks for 10 s and more: in this process nothing would go on.
        measured = gaps([at for at in notify.pings() if at > begun])
        assert statistics.median(measured) < 0.1 * SLOWNESS
        assert max(measured) < 4
        assert len(children_of(device.pid)) <= 1
        names.hosts("127.0.0.1")
        names.sources("files")
        fleet.wait_entry("end")
        wait_for(lambda: children_of(device.pid) == [], 5, "its children are reaped")


def test_an_address_is_never_asked_for(fleet, names, silent_name_server):
    names.name_server(silent_name_server)
    names.sources("dns")
    redis = {**redis_named(0), "address": f"127.0.0.1:{fleet.redis.open_port()}"}
    device = device_by(fleet, redis).start()
    fleet.wait_entry("end")
    assert device.lines("does not answer") == []
