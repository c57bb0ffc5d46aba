# SPDX-License-Identifier: MIT
"""Whole devices whose master Sentinel names: failovers while leases are held, what people are told, host names, TLS."""
import collections
import contextlib
import socket

import pytest

from fleet import ONCE, SHORT, Fleet, now_ms, wait_for
from sentinel import DEVICE_RULES, Group, boot_ms
from redis_server import free_port
from tls import Authority

# L = 6 s, renewed every 2 s.
HELD = {"plugin": "exec", "worst_case": "60s", "stop_grace": "300ms", "lease": "6s", "retry_delay": "0s"}
LEASE_MS, MOVED_MS = 6000, 2000


@pytest.fixture
def group():
    with contextlib.closing(Group()) as group:
        yield group.start()


@pytest.fixture
def fleet(group):
    with contextlib.closing(Fleet(group.master())) as fleet:
        yield fleet


def settings(group, **more):
    return group.settings(connect_timeout="1s", **more)


def holders(fleet, group, text, count=2):
    """Devices, one of which runs the job: it is the first of them."""
    fleet.make_due("report")
    with group.master().client() as client:
        client.execute_command("WAIT", len(group.servers) - 1, 5000)
    job = {**HELD, **ONCE, **fleet.body("report", text)}
    for _ in range(count):
        fleet.device({"report": job}, redis=settings(group)).start()
    fleet.wait_entry("begin")
    return sorted(fleet.devices, key=lambda device: not device.lines("report: started"))


def is_connected(device, server):
    return device.name in server.devices()


def assert_never_two(fleet):
    """Beats of two runs of one job never interleave: the one had ended before the other began."""
    spans = collections.defaultdict(list)
    for entry in fleet.entries("beat"):
        spans[entry.pid].append(entry.at)
    ordered = sorted((min(times), max(times)) for times in spans.values())
    assert all(first[1] < second[0] for first, second in zip(ordered, ordered[1:])), ordered


BEATS = "for i in $(seq 1 {}); do note beat; sleep 0.05; done"


def outcomes(fleet, server):
    with server.client() as client:
        return [fields["outcome"] for _, fields in client.xrange(fleet.key("report", "history"))]


def test_a_run_goes_on_over_a_planned_failover(group, fleet):
    device, other = holders(fleet, group, BEATS.format(140))
    old = group.master()
    began = boot_ms()
    group.failover()
    switch = group.wait_switch(began)
    new = group.server_at(switch.port)
    wait_for(lambda: is_connected(device, new), 10, "it is at the new master")
    assert boot_ms() - switch.at < MOVED_MS
    fleet.wait_entry("end", within=30)
    wait_for(lambda: outcomes(fleet, new) == ["succeeded"], 10, "the end is recorded")
    assert len(fleet.entries("begin")) == 1
    device.wait_line(f"{old.text} cannot be used: by its sentinels the master is {new.text} now; jobs wait")
    device.wait_line(f"{new.text} answers again after .*; no turn was missed")
    assert not other.lines("report: started")


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_the_master_fails_and_the_lease_outlives_it(group, fleet, how):
    device, _ = holders(fleet, group, BEATS.format(60))
    old, [new] = group.master(), group.others()
    began = boot_ms()
    if how == "killed":
        old.kill()
    else:
        old.freeze()
    try:
        switch = group.wait_switch(began)
        assert switch.port == new.port
        # Whoever needs it is there at once; that is whoever holds the lease.
        wait_for(lambda: is_connected(device, new), 10, "it is at the new master")
        assert boot_ms() - switch.at < MOVED_MS
        wait_for(lambda: "succeeded" in outcomes(fleet, new), 40, "a run has succeeded")
    finally:
        if how == "frozen":
            old.thaw()
    assert_never_two(fleet)
    assert [what for what in outcomes(fleet, new) if what not in ("succeeded", "lost", "vanished")] == []


@pytest.mark.long
def test_the_failover_takes_longer_than_the_lease_has():
    """Who held it stops in time, though by its sentinels the master is the old one still; then it is run anew, alone."""
    with contextlib.closing(Group(down_after_ms=9000)) as group, contextlib.closing(Fleet(group.start().master())) as fleet:
        device, _ = holders(fleet, group, BEATS.format(400))
        old, [new] = group.master(), group.others()
        began = boot_ms()
        old.kill()
        end = now_ms() + LEASE_MS
        device.wait_line("the lock could not be renewed", within=15)
        switch = group.wait_switch(began)
        assert max(entry.at for entry in fleet.entries("beat")) < end
        wait_for(lambda: is_connected(device, new), 10, "it is at the new master")
        assert boot_ms() - switch.at < MOVED_MS
        wait_for(lambda: "succeeded" in outcomes(fleet, new), 90, "a run has succeeded")
        assert_never_two(fleet)
        assert set(outcomes(fleet, new)) <= {"succeeded", "lost", "vanished"} and len(fleet.entries("begin")) == 2


def test_a_lost_key_is_never_silently_kept(group, fleet):
    """The replica has not heard of the lease. The renewal says so: the run is taken back, or stopped; never both."""
    fleet.make_due("report")
    [replica] = group.others()
    with group.master().client() as client:
        client.execute_command("WAIT", 1, 5000)
    # Sentinels take 5 s without a word for a replica that is down; so long it does not hear of the lease.
    replica.freeze()
    try:
        job = {**HELD, **ONCE, **fleet.body("report", BEATS.format(200))}
        device = fleet.device({"report": job}, redis=settings(group)).start()
        fleet.wait_entry("begin")
        old = group.master()
        token = fleet.lock("report")
        assert token
        began = boot_ms()
        old.kill()
    finally:
        replica.thaw()
    switch = group.wait_switch(began)
    new = group.server_at(switch.port)
    other = fleet.device({"report": job}, redis=settings(group)).start()
    wait_for(lambda: is_connected(device, new), 15, "it is at the new master")
    wait_for(lambda: any(outcome in ("succeeded",) for outcome in outcomes(fleet, new)), 60, "a run has succeeded")
    assert_never_two(fleet)
    assert other.runs()


# What people are told.

def test_no_sentinel_answers(group, fleet):
    ports = [free_port(), free_port()]
    device = fleet.device({}, redis={**settings(group), "sentinels": [f"127.0.0.1:{port}" for port in ports]})
    device.write({"report": {**SHORT, **ONCE, **fleet.body("report")}})
    device.start()
    device.wait_line(rf"the master 'mymaster' does not answer \(no sentinel answers; 127.0.0.1:{ports[1]}: connection refused\); jobs wait")


def test_the_name_is_not_known(group, fleet):
    device = fleet.device({"report": {**SHORT, **ONCE, **fleet.body("report")}}, redis=settings(group, master="mymaster2"))
    device.start()
    device.wait_line("the master 'mymaster2' cannot be used: no sentinel that answers knows a master 'mymaster2'; write into "
                     "redis.master the name that \"sentinel monitor\" gives it in their sentinel.conf; jobs wait")


# Host names, and TLS.

def test_sentinels_that_announce_names():
    if "127.0.0.1" not in {info[4][0] for info in socket.getaddrinfo("localhost", None)}:
        pytest.skip("localhost has no IPv4 address here")
    with contextlib.closing(Group(host="localhost")) as group, \
            contextlib.closing(Fleet(group.start().master())) as fleet:
        assert group.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", group.name)[0] == "localhost"
        device, _ = holders(fleet, group, BEATS.format(120))
        assert is_connected(device, group.master())
        began = boot_ms()
        group.failover()
        switch = group.wait_switch(began)
        new = group.server_at(switch.port)
        wait_for(lambda: is_connected(device, new), 10, "it is at the new master")
        assert boot_ms() - switch.at < MOVED_MS
        wait_for(lambda: outcomes(fleet, new) == ["succeeded"], 30, "the end is recorded")
        device.wait_line(f"by its sentinels the master is localhost:{new.port} now")


Tls = collections.namedtuple("Tls", "certificate ca")


def test_sentinels_and_servers_by_tls_with_a_login_of_their_own(tmp_path):
    password = tmp_path / "password"
    password.write_text("sesame\n")
    password.chmod(0o600)
    with Authority() as ca:
        group = Group(tls=Tls(ca.issue("127.0.0.1", "redis.test"), ca.file), sentinel_users=[
            "user default off", f"user watcher on >sesame {DEVICE_RULES}"])
        with contextlib.closing(group), contextlib.closing(Fleet(group.start().master())) as fleet:
            fleet.make_due("report")
            redis = {**settings(group), "tls": True, "tls_ca": ca.file, "tls_name": "redis.test",
                     "sentinel_username": "watcher", "sentinel_password_file": password}
            job = {**HELD, **ONCE, **fleet.body("report", BEATS.format(100))}
            device = fleet.device({"report": job}, redis=redis).start()
            fleet.wait_entry("begin")
            assert is_connected(device, group.master())
            began = boot_ms()
            group.failover()
            switch = group.wait_switch(began)
            new = group.server_at(switch.port)
            wait_for(lambda: is_connected(device, new), 10, "it is at the new master")
            assert boot_ms() - switch.at < MOVED_MS
            wait_for(lambda: outcomes(fleet, new) == ["succeeded"], 30, "the end is recorded")


def test_the_password_at_the_sentinels_changes_while_one_of_them_is_away(tmp_path):
    password = tmp_path / "password"
    password.write_text("sesame\n")
    password.chmod(0o600)
    group = Group(replicas=1, sentinel_users=["user default off", f"user watcher on >sesame {DEVICE_RULES}"])
    with contextlib.closing(group), contextlib.closing(Fleet(group.start().master())) as fleet:
        fleet.make_due("report")
        password.write_text("open\n")
        redis = {**settings(group), "sentinel_username": "watcher", "sentinel_password_file": password}
        group.sentinels[2].kill()
        device = fleet.device({"report": {**HELD, **ONCE, **fleet.body("report")}}, redis=redis).start()
        device.wait_line("no sentinel answers; .* it refuses rota; see redis.sentinel_username and sentinel_password_file")
        password.write_text("sesame\n")
        device.wait_line(rf"^redis.sentinel_password_file '{password}' has another password now; it is tried$")
        fleet.wait_entry("begin")
