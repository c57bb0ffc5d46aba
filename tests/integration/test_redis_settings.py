# SPDX-License-Identifier: MIT
"""What docs/redis.md says of a server's settings: that they do what the page gives as the reason."""
import contextlib
import re
import signal
import socket
import threading

import pytest

import pages
import redis
from fleet import ONCE, RENEWED, SHORT, wait_for
from online import server
from redis_server import RedisServer, follow, free_port

LOCK, CLAIM = "test:{report}:lock", "test:{report}:claim"


def test_the_servers_of_these_lines_suit(online):
    lines = [line.split() for line in pages.frame_of("docs/redis.md", "maxmemory ").splitlines()]
    with server(*(word for name, *values in lines for word in (f"--{name}", *values))) as the_server:
        with the_server.client() as client:
            told = {name: client.config_get(name)[name] for name, *_ in lines}
            given = {name: str(268_435_456) if value == "256mb" else value for name, value in lines}
            assert len(given) > 7 and told == given
        said = online(the_server.address)
        assert (said.status, said.rows["server"][0]) == (0, " ")


def test_the_page_names_tests_that_are_there():
    text = pages.text_of("docs/redis.md")
    rows = re.findall(r"^\| .* \| (`test_.*) \|$", text.partition("\n## Which test shows what\n")[2], re.M)
    assert len(rows) > 9
    for cell in rows:
        for name, test in re.findall(r"`([^:`]+)::([^`]+)`", cell):
            assert re.search(rf"^def {test}\(", pages.text_of(f"tests/integration/{name}"), re.M), f"{name}::{test}"


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "noeviction"])
def test_only_noeviction_keeps_locks_where_memory_is_short(redis_server, policy):
    with redis_server.client() as client:
        client.set(LOCK, "gate-1:0", px=600_000)
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 2_000_000)
        refused = 0
        for number in range(200):
            try:
                client.set(f"shop:{number}", "x" * 50_000, px=3_600_000)
            except redis.ResponseError as error:
                assert "'maxmemory'" in str(error)  # redis-py 6 takes "OOM" off
                refused += 1
        assert (client.get(LOCK), refused > 0) == (("gate-1:0", True) if policy == "noeviction" else (None, False))
        assert client.info("stats")["evicted_keys"] > 0 or policy == "noeviction"


@pytest.mark.parametrize("appendonly, appendfsync", [("yes", "everysec"), ("yes", "always"), ("no", "everysec")])
def test_appendonly_keeps_locks_and_claims_over_a_crash(appendonly, appendfsync):
    with server("--appendonly", appendonly, "--appendfsync", appendfsync) as the_server:
        with the_server.client() as client:
            client.hset(CLAIM, "done", 7)
            client.set(LOCK, "gate-1:0", px=600_000)
            # While the disk is busy with what was before, what has been answered may still be with the server alone.
            if (appendonly, appendfsync) == ("yes", "everysec"):
                wait_for(lambda: client.info("persistence")["aof_buffer_length"] == 0, 20, "the kernel has it")
        the_server.kill()
        the_server.start()
        with the_server.client() as client:
            kept = (client.get(LOCK), client.hget(CLAIM, "done"))
            assert kept == (("gate-1:0", "7") if appendonly == "yes" else (None, None))
            # Its time went on meanwhile.
            assert client.pttl(LOCK) < 600_000


def test_min_replicas_to_write_refuses_what_no_replica_would_get(fleet):
    fleet.client.config_set("min-replicas-to-write", 1)
    fleet.client.config_set("min-replicas-max-lag", 1)
    tick = {**SHORT, "every": "1s", **fleet.body("tick")}
    with server() as replica:
        device = fleet.device({"tick": tick}).start()
        device.wait_line("too few of its replicas are connected to write")
        assert fleet.runs("tick") == []
        follow(replica, fleet.redis)
        fleet.wait_entry("end", "tick", within=20)
        with replica.client() as client:
            wait_for(lambda: client.exists("test:{tick}:claim"), 10, "what was written is there")
        # One that says nothing for min-replicas-max-lag is none.
        with stopped(replica.process):
            wait_for(lambda: fleet.client.info("replication")["min_slaves_good_slaves"] == 0, 20, "it has none")
            with pytest.raises(redis.ResponseError, match="Not enough good replicas|NOREPLICAS"):
                fleet.client.set("test:{other}:lock", "x")
        fleet.wait_entry("end", "tick", count=len(fleet.entries("end")) + 2, within=20)


@contextlib.contextmanager
def stopped(process):
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_a_device_needs_one_place_of_maxclients(fleet):
    """Whatever runs there."""
    jobs = {name: {**RENEWED, **ONCE, **fleet.body(name, "sleep 30")} for name in ("first", "second", "third")}
    fleet.make_due(*jobs)
    devices = [fleet.device(jobs).start() for _ in range(2)]
    for device, name in zip(devices, jobs):
        fleet.wait_entry("begin", name)
        device.wait_line("is held by|: started, ")

    def places():
        return [each["name"] for each in fleet.client.client_list() if each["user"] == "default"]
    wait_for(lambda: len(places()) >= 2, 10, "both are connected")
    assert len(places()) == len(set(places())) == 2


@pytest.mark.parametrize("timeout", [0, 1])
def test_timeout_closes_what_is_kept_on_purpose(fleet, timeout):
    """Each turn then connects and logs in anew: it costs bytes, and no turn."""
    fleet.client.config_set("timeout", timeout)
    device = fleet.device({"tick": {**SHORT, "every": "4s", **fleet.body("tick")}}, turns="all").start()
    fleet.wait_entry("end", "tick", within=20)
    before = fleet.client.info("stats")["total_connections_received"]
    wait_for(lambda: fleet.client.ping() and len(fleet.entries("end", "tick")) >= 4, 30, "three more turns")
    opened = fleet.client.info("stats")["total_connections_received"] - before
    assert opened == 0 if timeout == 0 else opened >= 2
    assert not [line for line in device.complaints() if "missed" in line.text]


def test_a_long_script_is_told_by_its_threshold(fleet):
    """Until busy-reply-threshold has passed the server answers nobody; then it says so, and goes on with the script."""
    fleet.client.config_set("busy-reply-threshold", 100)
    device = fleet.device({"tick": {**SHORT, "every": "1s", **fleet.body("tick")}}).start()
    fleet.wait_entry("end", "tick")
    long = threading.Thread(target=run_for_ever, args=[fleet])
    long.start()
    try:
        device.wait_line("a long script keeps it busy", 20)
    finally:
        wait_for(lambda: killed(fleet.client), 10, "a script to kill")
        long.join(20)
    fleet.wait_entry("end", "tick", count=len(fleet.entries("end")) + 1, within=20)


def run_for_ever(fleet):
    with fleet.redis.client() as client, pytest.raises(redis.ResponseError, match="killed"):
        client.eval("while true do end", 0)


def killed(client):
    try:
        return client.script_kill()
    except redis.ResponseError:
        return False


def test_protected_mode_shuts_devices_out(online):
    """Where there is no password: whoever reaches that port may do all."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("no network but the loopback")
        own = probe.getsockname()[0]
    the_server = RedisServer("--bind", own, "--protected-mode", "yes")
    the_server.port = free_port()
    try:
        the_server.start()
        said = online(f"{own}:{the_server.port}", tls=False)
        assert said.rows["login"][0] == "x" and "protected mode" in said.rows["login"][1]
        with the_server.client() as client:
            client.config_set("protected-mode", "no")
        assert online(f"{own}:{the_server.port}", tls=False).status == 0
    finally:
        the_server.close()
