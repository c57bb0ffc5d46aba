# SPDX-License-Identifier: MIT
"""What docs/security.md says of logins: a user for each device, a stolen one shut out, and what no access rule stops."""
import time

import pytest
import redis
from redis.exceptions import NoPermissionError

from fleet import ONCE, RENEWED, is_alive, wait_for
from redis_server import example_rules
from test_acl_example import AclFileServer
from tls import Authority, TlsServer, redis_by_tls

# L = 3 s, renewed every second; RENEWED's worker is asked to stop before its end.
LEASE_SECONDS = 3


def give_user(fleet, name):
    """A user of its own, with the example's rights for this fleet."""
    fleet.client.execute_command("ACL", "SETUSER", name, *example_rules(), f">{name} opens")


def device_of(fleet, name, **redis):
    """Logs in as the user of its name."""
    secret = fleet.folder / f"{name}.password"
    secret.touch(mode=0o600)
    secret.write_text(f"{name} opens\n")
    job = {**RENEWED, **ONCE, "splay": "0s", **fleet.body("report", "sleep 60")}
    return fleet.device({"report": job}, name=name, redis={
        "address": fleet.redis.address, "username": name, "password_file": secret, "connect_timeout": "300ms",
        "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s", **redis})


@pytest.fixture
def two(fleet):
    """The first runs the turn, and the second is told that it is held."""
    fleet.make_due("report")
    devices = []
    for name in ("gate-1", "gate-2"):
        give_user(fleet, name)
        devices.append(device_of(fleet, name).start())
        if not devices[1:]:
            fleet.wait_entry("begin")
    devices[1].wait_line("is held by gate-1")
    return devices


def logged_in(fleet, name):
    return [client for client in fleet.client.client_list() if client["user"] == name]


def test_a_deleted_user_is_out_and_its_run_goes_to_another(fleet, two):
    stolen, other = two
    begin = fleet.entries("begin")[0]
    out_at = time.monotonic()
    fleet.client.execute_command("ACL", "DELUSER", "gate-1")
    assert logged_in(fleet, "gate-1") == [], "its connections are closed"
    stolen.wait_line("WRONGPASS", LEASE_SECONDS)
    stolen.wait_line("stopped after .*, because the lock could not be renewed", LEASE_SECONDS + 3)
    wait_for(lambda: not is_alive(begin.pid), 2, "its run is over")
    taken = fleet.wait_entry("begin", count=2, within=LEASE_SECONDS + 5)
    assert other.lines("taken over from gate-1") and taken.attempt == 2
    assert time.monotonic() - out_at < 60, "a lease and not a day"
    assert logged_in(fleet, "gate-1") == [] and logged_in(fleet, "gate-2") != []


@pytest.mark.parametrize("rules", [["off"], ["resetpass", ">another"]], ids=["off", "password"])
def test_who_is_shut_out_otherwise_keeps_its_connections(fleet, two, rules):
    fleet.client.execute_command("ACL", "SETUSER", "gate-1", *rules)
    claim = fleet.claim("report")
    ttl = fleet.client.pttl(fleet.key("report", "lock"))
    wait_for(lambda: fleet.client.pttl(fleet.key("report", "lock")) > ttl, 5, "it renews its lease all the same")
    assert fleet.claim("report")["token"] == claim["token"]
    fleet.client.execute_command("CLIENT", "KILL", "USER", "gate-1")
    two[0].wait_line("WRONGPASS", 5)
    assert logged_in(fleet, "gate-1") == []


class KeptUsers(AclFileServer):
    """Its aclfile is written at the first start."""

    def _write_users(self):
        if not (self.folder / "users.acl").exists():
            super()._write_users()


def test_a_deleted_user_comes_back_unless_it_is_saved():
    server = KeptUsers()
    try:
        for more in ([], ["SAVE"]):
            with server.start().client() as client:
                assert "rota" in client.acl_users()
                client.acl_deluser("rota")
                for word in more:
                    client.execute_command("ACL", word)
            server.kill()
        with server.start().client() as client:
            assert "rota" not in client.acl_users()
    finally:
        server.close()


def test_no_device_can_read_or_change_anothers_login(fleet, two):
    client = fleet.redis.client("gate-1", "gate-1 opens")
    for words in (["ACL", "GETUSER", "gate-2"], ["ACL", "LIST"], ["ACL", "SETUSER", "gate-2", "nopass"],
                  ["CONFIG", "GET", "requirepass"], ["CLIENT", "KILL", "USER", "gate-2"], ["MONITOR"]):
        with pytest.raises(NoPermissionError):
            client.execute_command(*words)
    client.close()


def test_a_client_certificate_is_no_login(fleet):
    """Redis demands one, and asks for the password all the same: whose user is deleted is out."""
    with Authority() as ca:
        own = ca.issue("gate-1")
        server = TlsServer(ca.issue("127.0.0.1"), clients=ca)
        try:
            server.start()
            device = device_of(fleet, "gate-1", **redis_by_tls(server, ca, tls_cert=own.file, tls_key=own.key,
                                                               connect_timeout="500ms", command_timeout="300ms"))
            device.start()
            device.wait_line("WRONGPASS")
            with server.client() as client:
                client.execute_command("ACL", "SETUSER", "gate-1", *example_rules(), ">gate-1 opens")
            device.wait_line("NO_CLOCK -> WAITING")
        finally:
            server.close()


# What no access rule stops.

def test_whoever_may_run_scripts_can_hold_up_all_of_redis(fleet):
    give_user(fleet, "gate-1")
    stolen = fleet.redis.client("gate-1", "gate-1 opens", single_connection_client=True)
    stolen.connection.send_command("EVAL", "for i = 1, 3e7 do end", 0)
    began = time.monotonic()
    fleet.client.set("another fleet's", 1)
    held_up = time.monotonic() - began
    print(f"held up for {held_up:.3f} s")
    stolen.connection.read_response()
    stolen.close()
    assert held_up > 0.05


def test_whoever_may_run_scripts_can_write_into_the_log_of_redis(fleet):
    give_user(fleet, "gate-1")
    with fleet.redis.client("gate-1", "gate-1 opens") as stolen:
        stolen.eval("redis.log(redis.LOG_WARNING, 'all is well\\nand a line of its own')", 0)
    assert "\nand a line of its own\n" in (fleet.redis.folder / "log").read_text()


def test_whoever_may_write_can_fill_redis_for_all(fleet):
    fleet.client.config_set("maxmemory", fleet.client.info("memory")["used_memory"] + 4_000_000)
    give_user(fleet, "gate-1")
    with fleet.redis.client("gate-1", "gate-1 opens") as stolen:
        with pytest.raises(redis.ResponseError, match="maxmemory"):
            for number in range(100):
                stolen.set(f"test:{{x}}:{number}", "x" * 100_000)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        fleet.client.set("another fleet's", "x" * 200_000)

