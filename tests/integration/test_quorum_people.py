# SPDX-License-Identifier: MIT
"""What people ask and change on a quorum; its passwords, TLS and the watchdog."""
import subprocess

import pytest

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, wait_for
from notify import NotifySocket
from quorum import QuorumFleet, Servers, beats, connections
from rotactl import command, rotactl, wait_started
from tls import Authority, TlsServer

OLD, NEW = "open sesame", "close sesame"
UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'


def idle(quorum):
    device = wait_started(quorum.device({"report": {**SHORT, "every": "1h", **quorum.body("report")}}).start())
    wait_for(lambda: all(quorum.claims("report").values()), 10, "the job is known")
    return device


def ran(quorum):
    """A device that has run its job once."""
    quorum.make_due("report")
    device = wait_started(quorum.device({"report": {**SHORT, **ONCE, **quorum.body("report")}}).start())
    quorum.wait_history("report")
    return device


def pauses(quorum):
    return list(quorum.ask("get", quorum.key("report", "pause")).values())


def test_a_pause_holds_for_all_and_ends_for_all(quorum):
    device = idle(quorum)
    quorum.servers.kill(4)
    done = rotactl(device, "pause", "report", "--fleet", "--reason", "NAS full")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "paused: no device starts it; what runs goes on to its end\n"
    wait_for(lambda: all((text or "").endswith(": NAS full") for text in pauses(quorum)), 5, "all four know")
    # One of them has lost it: still somebody says what was there before.
    quorum.clients[0].delete(quorum.key("report", "pause"))
    again = rotactl(device, "pause", "report", "--fleet", "--reason", "longer")
    assert again.stdout.endswith("NAS full\n")
    quorum.servers.freeze(3)
    resumed = rotactl(device, "resume", "report", "--fleet")
    assert resumed.returncode == 0 and resumed.stdout.endswith(": longer\n")
    assert pauses(quorum) == [None] * 3


def release(device, job, answer):
    return subprocess.run(command(device, "release", job), input=answer, capture_output=True, text=True, check=False,
                          timeout=60 * SLOWNESS, env=device.fleet.environment)


def test_release_frees_it_on_all(quorum):
    quorum.make_due("long")
    device = wait_started(quorum.device({"long": {**RENEWED, **ONCE, "attempts": 1,
                                                  **quorum.body("long", UNTIL_FREED)}}).start())
    quorum.wait_entry("begin", "long")
    token = wait_for(lambda: quorum.lock("long"), 5, "it is held")
    quorum.servers.kill(0)
    left = release(device, "long", "no\n")
    assert left.returncode == 1 and f"long: the lock is held by {token}.\n" in left.stdout
    done = release(device, "long", "yes\n")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("released\n")
    wait_for(lambda: token not in quorum.locks("long").values(), 5, "no server has it")
    device.wait_line("the lock is no longer this device's", within=5)
    quorum.wait_free("long")
    nobody = release(device, "long", "")
    assert (nobody.returncode, nobody.stdout) == (0, "nobody holds the job's lock\n")


def test_history_fleet_and_forget(quorum):
    device = ran(quorum)
    for down in ((), (0,), (0, 3)):
        quorum.servers.kill(*down)
        def history():
            lines = rotactl(device, "history", "report").stdout.splitlines()
            return len(lines) == 2 and "succeeded" in lines[1].split()
        wait_for(history, 10, "its run is told of")
        fleet = rotactl(device, "fleet")
        assert fleet.returncode == 0 and "report" in fleet.stdout, fleet.stdout + fleet.stderr
    for number in quorum.servers.well():
        quorum.clients[number].hset(quorum.key("old", "claim"), "v", 1)
    for number in quorum.servers.well()[:2]:
        quorum.clients[number].set(quorum.key("old", "lock"), "gate-1:0")
    # Two of the five hold it, and one not: what most of those say that can be asked.
    held = rotactl(device, "forget", "old")
    assert held.returncode == 1 and "gate-1:0" in held.stdout
    for number in quorum.servers.well():
        quorum.clients[number].delete(quorum.key("old", "lock"))
    gone = rotactl(device, "forget", "old")
    assert (gone.returncode, gone.stdout) == (0, "forgotten: Redis knows nothing of old any more\n")
    assert [client for client in quorum.ask("exists", quorum.key("old", "claim")).values() if client] == []


def test_a_question_is_answered_though_servers_hang(quorum):
    device = ran(quorum)
    # Whichever is asked first hangs in one of these.
    for pair in ((0, 1), (2, 3), (4, 0)):
        quorum.servers.freeze(*pair)
        asked = rotactl(device, "history", "report")
        assert asked.returncode == 0 and "succeeded" in asked.stdout, asked.stderr
        quorum.servers.thaw(*pair)

        def all_serve():  # a connection that is not needed is not kept, and who was away then is not tried again
            rotactl(device, "history", "report")
            return all(connections(server, device.name) for server in quorum.servers.all)
        wait_for(all_serve, 10, "all serve again")
    quorum.servers.freeze(1, 3)
    quorum.servers.freeze(2)
    asked = rotactl(device, "pause", "report", "--fleet", "--reason", "never heard")
    assert asked.returncode == 1 and "Redis cannot be asked" in asked.stderr


def test_status_and_metrics_go_on_with_some(quorum):
    with NotifySocket(quorum.folder / "notify") as notify:
        device = quorum.device({"report": {**RENEWED, **ONCE, "first": "now", **quorum.body("report", beats(8))}})
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC="1000000")
        quorum.wait_entry("beat")
        wait_for(lambda: len(notify.pings()) > 4, 10, "it is fed")
        quorum.servers.freeze(0)
        quorum.servers.kill(1)
        quorum.wait_entry("end", within=20)
        quorum.servers.kill(2)
        device.wait_line("one of the 5 servers of redis.quorum", count=2, within=15)
        pings = notify.pings()
        wait_for(lambda: len(notify.pings()) > len(pings) + 4, 10, "it is fed on")
        pings = notify.pings()
        assert max(later - earlier for earlier, later in zip(pings, pings[1:])) < 1.0 * SLOWNESS
    assert device.runs()


class Secrets:
    """A password file for each server, and one for all."""

    def __init__(self, quorum):
        self.quorum = quorum
        self.files = [quorum.folder / f"password-{number}" for number in range(5)]
        for number in range(5):
            self.write(number, OLD)
            self.demand(number, OLD)

    def write(self, number, password):
        fresh = self.files[number].with_suffix(".fresh")
        fresh.touch(mode=0o600)
        fresh.write_text(f"{password} {number}\n")
        fresh.rename(self.files[number])

    def demand(self, number, password):
        self.quorum.clients[number].config_set("requirepass", f"{password} {number}")

    def cut(self, number):
        self.quorum.clients[number].execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def test_each_server_has_a_password_of_its_own_and_a_new_one_is_read(quorum):
    secrets = Secrets(quorum)
    group = quorum.group(each=lambda number: {"password_file": secrets.files[number]})
    device = quorum.device({"tick": {**RENEWED, "every": "1s", **quorum.body("tick")}}, redis=group).start()
    quorum.wait_entry("end", count=2)
    device_is_there = lambda number: connections(quorum.servers.all[number], device.name)  # noqa: E731
    wait_for(lambda: all(device_is_there(number) for number in range(5)), 10, "five connections")
    secrets.demand(2, NEW)
    secrets.cut(2)
    device.wait_line("one of the 5 servers of redis.quorum, cannot be used: the password is refused")
    assert device.lines("another password") == []
    secrets.write(2, NEW)
    device.wait_line(rf"^redis.*password_file '{secrets.files[2]}' has another password now; it is tried$")
    wait_for(lambda: device_is_there(2), 10, "it is connected again")
    assert len(device.lines("another password")) == 1
    # In the order of a rotation: the file first.
    secrets.write(4, NEW)
    secrets.demand(4, NEW)
    secrets.cut(4)
    device.wait_line(rf"'{secrets.files[4]}' has another password now")
    wait_for(lambda: device_is_there(4), 10, "it is connected again")
    assert all(word not in device.output() for word in (OLD, NEW))
    runs = quorum.runs("tick")
    assert len(runs) == len(set(runs))


@pytest.fixture(scope="module")
def ca():
    with Authority() as authority:
        yield authority


def test_tls_to_all_of_them(ca):
    servers = Servers(make=lambda: TlsServer(ca.issue("127.0.0.1")))
    try:
        fleet = QuorumFleet(servers.start())
        try:
            fleet.make_due("report")
            group = fleet.group([server.tls_address for server in servers.all], tls=True, tls_ca=ca.file,
                                connect_timeout="5s", command_timeout="2s")
            device = fleet.device({"report": {**SHORT, **ONCE, **fleet.body("report")}}, redis=group).start()
            fleet.wait_history("report")
            for server in servers.all:
                [one] = wait_for(lambda s=server: connections(s, device.name), 10, "it is connected to")
                assert one["laddr"] == server.tls_address
            assert device.complaints() == []
        finally:
            fleet.close()
    finally:
        servers.close()


def test_servers_by_name_are_looked_up_one_after_the_other(quorum):
    """One of the names is nobody's: it takes none of the others with it."""
    quorum.make_due("report")
    addresses = [f"localhost:{server.open_port()}" for server in quorum.servers.all[:4]]
    group = quorum.group([*addresses, "nobody.invalid:6379"], connect_timeout="5s")
    device = quorum.device({"report": {**RENEWED, **ONCE, "lease": "20s", **quorum.body("report", beats(3))}},
                           redis=group).start()
    quorum.wait_entry("end", within=20)
    for server in quorum.servers.all[:4]:
        assert len(wait_for(lambda s=server: connections(s, device.name), 10, "it is connected to")) == 1
    device.wait_line("^nobody.invalid:6379, one of the 5 servers of redis.quorum, .*its name", within=15)
    assert connections(quorum.servers.all[4], device.name) == []


def test_a_full_server_that_takes_renewals_is_told_of_once(quorum):
    """It takes them, and the end of a run, and grants nothing."""
    jobs = {"long": {**RENEWED, "every": "4s", "first": "now", "attempts": 1, "splay": "0s", **quorum.body("long", beats(1.6))}}
    device = quorum.device(jobs).start()
    quorum.wait_entry("end")
    quorum.clients[4].config_set("maxmemory", 1)
    refuses = "one of the 5 servers of redis.quorum, cannot be used: it is out of memory"
    device.wait_line(refuses)
    quorum.wait_entry("end", count=len(quorum.runs()) + 2, within=20)
    assert len(device.lines(refuses)) == 1 and device.lines("one of the 5 servers .* again") == []
    quorum.clients[4].config_set("maxmemory", 0)
    device.wait_line("one of the 5 servers of redis.quorum, answers again", within=15)
