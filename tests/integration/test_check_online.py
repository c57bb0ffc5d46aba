# SPDX-License-Identifier: MIT
"""rotad --check --online: six lines about each Redis, an exit status for scripts, and nothing written there. What it
says of the server and of TLS is in test_check_online_server.py and test_check_online_tls.py."""
import contextlib
import re
import signal
import socket
import subprocess
import time

import pytest

from fake_server import FakeServer, silence
from fleet import children_of, is_alive, wait_for
from online import CONFIG, JOB, NOPERM, NOT_REACHED, OK, PEOPLE, UNAVAILABLE, USAGE, stopped_at
from redis_server import example_rules, free_port
from resp import encode

def dump(client):
    return {key: client.dump(key) for key in client.keys()}


def test_all_is_well_and_nothing_is_written(online, redis_server):
    with redis_server.client() as client:
        client.hset("test:{report}:claim", "turn", 1)
        before, changes = dump(client), client.info("persistence")["rdb_changes_since_last_save"]
        said = online(redis_server.address, jobs="report = " + JOB % "")
        assert (said.status, said.stderr) == (OK, "")
        assert said.rows == {
            "name": (" ", "none is needed"),
            "connection": (" ", said.rows["connection"][1]),
            "tls": (" ", "none: it does not leave this machine"),
            "login": (" ", "user default without a password, database 0"),
            "scripts": (" ", "all may run"),
            "server": (" ", said.rows["server"][1]),
        }
        assert re.fullmatch(rf"{re.escape(redis_server.socket)} in [\d.]+ m?s", said.rows["connection"][1])
        assert re.fullmatch(
            r"(redis|valkey) \d+\.\d+\.\d+; maxmemory-policy noeviction; not saved to disk since its start .* ago; "
            r"its clock is \d+ ms (ahead of|behind) ours",
            said.rows["server"][1])
        assert dump(client) == before
        assert client.info("persistence")["rdb_changes_since_last_save"] == changes
        assert [entry["reason"] for entry in client.acl_log()] == []


def test_a_user_with_a_password_and_another_database(online, redis_server):
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "rota", "on", ">sesame", "~test:{*", "+@all")
    said = online(redis_server.address, username="rota", password="sesame\n", database=3)
    assert (said.status, said.rows["login"]) == (OK, (" ", "user rota, database 3"))


def test_an_address_and_a_name(online, redis_server):
    port = redis_server.open_port()
    said = online(f"127.0.0.1:{port}", f"localhost:{port}", tls=False, connect_timeout="5s")
    assert said.status == OK
    address, name = said.servers.values()
    assert address["name"] == (" ", "none is needed")
    assert re.fullmatch(r"127\.0\.0\.1 in [\d.]+ m?s", address["connection"][1])
    assert re.fullmatch(r"localhost is 127\.0\.0\.1, of [1-8] in all, found in [\d.]+ m?s", name["name"][1])
    assert re.fullmatch(r"127\.0\.0\.1 in [\d.]+ m?s", name["connection"][1])


def test_no_such_name(online):
    said = online("redis.invalid:6379", tls=False, connect_timeout="5s")
    assert re.fullmatch("its name is not known|no name server answers|its name cannot be resolved",
                        stopped_at(said, "name", UNAVAILABLE))


def test_a_port_where_nobody_listens(online):
    said = online(f"127.0.0.1:{free_port()}", tls=False)
    assert stopped_at(said, "connection", UNAVAILABLE) == "127.0.0.1: connection refused"


def test_no_connection(online):
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())  # no more connections are taken there
        full.bind(("127.0.0.79", 0))
        full.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        began = time.monotonic()
        said = online(f"127.0.0.79:{full.getsockname()[1]}", tls=False)
        assert stopped_at(said, "connection", UNAVAILABLE) == "127.0.0.79: no connection within 300 ms"
        assert time.monotonic() - began < 10


def test_no_answer(online):
    with FakeServer() as fake:
        fake.rule("", silence())
        assert re.fullmatch("no (connection|reply) within 300 ms", stopped_at(online(fake.address), "login", UNAVAILABLE))
    with FakeServer() as fake:
        fake.rule("survey", silence())
        said = online(fake.address)
        assert said.status == UNAVAILABLE
        assert said.rows["scripts"] == NOT_REACHED
        assert said.rows["server"] == ("x", "no reply within 300 ms")


def test_what_a_stranger_says_is_harmless(online):
    with FakeServer() as fake:
        fake.rule("survey", lambda words: encode(["survey", 1, "redis \x1b[31m" + "7" * 5000, 0, "\x07\n", 3, 2**53 - 1,
                                                  "all", "+get\r\n" * 200, "\x1b[2J", "+get\r\n" * 200]))
        said = online(fake.address)
        assert said.status == NOPERM
        assert "\x1b" not in said.text and "\x07" not in said.text and len(said.text) < 6000


def test_no_redis_at_that_port(online):
    with FakeServer() as fake:
        fake.rule("GREETING", b"220 mail.example ESMTP\r\n")
        assert stopped_at(online(fake.address), "login", UNAVAILABLE) == "what answers there is no Redis"


def test_the_password_is_wrong(online, redis_server):
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "rota", "on", ">sesame", "~test:{*", "+@all")
    said = online(redis_server.address, username="rota", password="other")
    assert stopped_at(said, "login", NOPERM).startswith("the password is refused")
    assert "other" not in said.text.replace("on other devices", "")


def test_the_password_is_there_and_the_user_is_not_named(online, redis_server):
    said = online(redis_server.address, password="sesame")
    assert stopped_at(said, "login", NOPERM).startswith("its user default has no password: write redis.username")


def test_the_database_may_not_be_selected(online, redis_server):
    redis_server.allow("-select")
    text = stopped_at(online(redis_server.address, database=3), "login", NOPERM)
    assert text == "SELECT may not be sent; write at Redis: ACL SETUSER default +select"


def test_a_password_is_wanted(online, redis_server):
    with redis_server.client() as client:
        client.config_set("requirepass", "sesame")
    said = online(redis_server.address)
    assert stopped_at(said, "login", NOPERM) == "it wants a password; write redis.password_file (NOAUTH)"


def lacking(online, redis_server, *rules, **more):
    redis_server.allow(*rules)
    said = online(redis_server.address, **more)
    assert said.status == NOPERM and said.rows["scripts"][0] == "x"
    return said.rows["scripts"][1]


@pytest.mark.parametrize("right, scripts", [
    ("zadd", "acquire, hello, config_put, seat_acquire, seat_renew, seat_finish"), ("hrandfield", "hello, seat_acquire"),
    ("zrank", "seat_acquire"), ("pexpireat", "seat_finish"), ("hexists", "hello, config_put, resume"),
])
def test_a_command_is_missing(online, redis_server, right, scripts):
    text = lacking(online, redis_server, f"-{right}")
    assert text == f"{scripts} may not run; write at Redis: ACL SETUSER default +{right}"


def test_two_commands_are_missing_and_what_it_says_helps(online, redis_server):
    text = lacking(online, redis_server, "-time", "-zrank")
    match = re.fullmatch(r"all 12 may not run; write at Redis: ACL SETUSER default (.*)", text)
    assert sorted(match[1].split()) == ["+time", "+zrank"]
    redis_server.allow(*match[1].split())
    assert online(redis_server.address).rows["scripts"] == (" ", "all may run")


def test_all_that_the_example_gives_is_looked_up(online, redis_server):
    text = lacking(online, redis_server, "-@all", "+eval")
    given = {rule for rule in example_rules() if rule.startswith("+")}
    ours, theirs = text.split("; of what rotactl asks of the whole fleet, ")
    assert set(ours.split("SETUSER default ")[1].split()) == given - {
        "+select", "+client|setname", "+eval", "+info", "+asking", "+role", *PEOPLE}  # two: test_check_online_topology.py
    assert set(theirs.split("SETUSER default ")[1].split()) == PEOPLE


@pytest.mark.parametrize("right, scripts", [("hlen", "server, look"), ("hscan", "page"), ("unlink", "forget"),
                                            ("xrevrange", "history")])
def test_what_people_ask_is_looked_up_and_stops_no_device(online, redis_server, right, scripts):
    redis_server.allow(f"-{right}")
    said = online(redis_server.address)
    assert (said.status, said.rows["scripts"]) == (OK, ("!", (
        f"all may run; of what rotactl asks of the whole fleet, {scripts} may not run; write at Redis: ACL SETUSER default "
        f"+{right}")))
    redis_server.allow(f"+{right}")
    assert online(redis_server.address).rows["scripts"] == (" ", "all may run")


def test_the_keys_are_missing(online, redis_server):
    text = lacking(online, redis_server, "resetkeys", "~other:{*")
    assert text == "all 12 may not run with this prefix; write at Redis: ACL SETUSER default ~test:{*"


def test_the_keys_may_only_be_read(online, redis_server):
    text = lacking(online, redis_server, "resetkeys", "%R~test:{*")
    assert re.fullmatch(r"acquire, .* may not run with this prefix; write at Redis: ACL SETUSER default ~test:\{\*", text)
    assert "config_get" not in text


def test_a_lock_key_is_missing(online, redis_server):
    job = "batch = " + JOB % 'lock_key = "batch:lock";'
    text = lacking(online, redis_server, jobs=job)
    assert re.fullmatch(r"acquire, renew, finish(, seat_acquire)? may not run; write at Redis: ACL SETUSER default "
                        r"~batch:lock", text)
    # Not where another device has the job.
    assert online(redis_server.address, jobs="batch = " + JOB % 'lock_key = "batch:lock"; devices = "other-*"').status == OK
    redis_server.allow("~batch:lock")
    assert online(redis_server.address, jobs=job).status == OK


@pytest.mark.parametrize("left", [0, 7])
def test_more_lock_keys_than_are_looked_up(online, redis_server, left):
    keys = [f"plant:{{{i % (64 + left)}}}" for i in range(2 * (64 + left))]  # each of two jobs
    jobs = "\n".join(f"job{i} = " + JOB % f'lock_key = "{key}";' for i, key in enumerate(keys))
    jobs += "\nother = " + JOB % 'lock_key = "elsewhere"; devices = "other-*";'
    redis_server.allow("~plant:*")
    said = online(redis_server.address, jobs=jobs)
    assert (said.status, said.rows["scripts"]) == (OK, (" ", "all may run") if left == 0 else (
        "!", "all may run; the first 64 lock keys may be used, 7 more were not looked up"))


def test_no_script_may_run(online, redis_server):
    redis_server.allow("-eval")
    said = online(redis_server.address)
    assert said.status == NOPERM
    assert said.rows["scripts"] == ("x", "none may run; write at Redis: ACL SETUSER default +eval +evalsha")
    assert said.rows["server"] == NOT_REACHED
    redis_server.allow("+eval", "-evalsha")
    assert online(redis_server.address).rows["scripts"] == (
        "x", "all 12 may not run; write at Redis: ACL SETUSER default +evalsha")


def test_two_servers(online, redis_server):
    gone = f"unix:{redis_server.folder}/nobody"
    said = online(gone, redis_server.address)
    assert said.status == OK
    assert list(said.servers) == [gone, redis_server.address]
    assert said.servers[gone]["connection"][0] == "x"
    assert said.servers[redis_server.address]["scripts"] == (" ", "all may run")
    # None of use: by the first.
    redis_server.allow("-zadd")
    assert online(gone, redis_server.address).status == UNAVAILABLE
    assert online(redis_server.address, gone).status == NOPERM


def test_without_redis(online):
    said = online("unix:/nonexistent", head='store = "local";')
    assert (said.status, said.servers) == (OK, {})
    assert said.text.endswith('There is no Redis to ask.\n')


def test_a_password_that_cannot_be_read_here(online, redis_server):
    said = online(redis_server.address, username="rota", password_file="credential:redis")
    assert (said.status, said.servers) == (CONFIG, {})
    assert "redis.password_file 'credential:redis' is not used: " in said.stderr


def test_a_mistake_comes_first(online, redis_server):
    said = online(redis_server.address, jobs="report = " + JOB % "x = 1;")
    assert (said.status, said.servers) == (CONFIG, {})
    assert said.text.endswith("Redis was not asked: first mend the mistakes\n")


def test_what_does_not_go_together(command):
    for more, without in ([], "--check"), (["--root", "/"], None), (["--print-config"], "--check"):
        words = [word for word in command("unix:/x") if word not in (without, "--no-probe")] + more
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == USAGE and "--online goes with --check" in done.stderr


def test_ctrl_c_leaves_nothing(command):
    with FakeServer() as fake:
        fake.rule("survey", silence())
        with subprocess.Popen(command(fake.address, command_timeout="1m", connect_timeout="1m"), stdout=subprocess.PIPE) as process:
            wait_for(lambda: fake.count("survey") == 1, 10, "it asks")
            children = children_of(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == -signal.SIGINT
            wait_for(lambda: not any(map(is_alive, children)), 10, "its children are gone")
