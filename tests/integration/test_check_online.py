# SPDX-License-Identifier: MIT
"""rotad --check --online: six lines about each Redis, an exit status for scripts, and nothing written there."""
import contextlib
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import pages
import redis
from fake_server import FakeServer, closing, silence
from fleet import BUILD, ROTAD, children_of, is_alive, wait_for
from redis_server import RedisServer, example_rules, free_port
from resp import encode, error
from tls import Authority, Certificate, TlsServer

OK, USAGE, UNAVAILABLE, NOPERM, CONFIG = 0, 64, 69, 77, 78
ROWS = ["name", "connection", "tls", "login", "scripts", "server"]
NOT_REACHED = (" ", "not reached")
JOB = ('{ plugin = "exec"; every = "1h"; worst_case = "1m"; params = { command = [ "/bin/true" ]; }; %s };')
# What only the questions of people need: devices work without.
PEOPLE = {"+hlen", "+hscan", "+unlink", "+xrevrange"}


class Said:
    """What it printed: for each server its rows, each with its mark and its text."""

    def __init__(self, done):
        self.status, self.stderr, self.text = done.returncode, done.stderr, done.stdout
        blocks = done.stdout.split("\n\n")[1:] if ", all good" in done.stdout else []
        blocks = [block for block in blocks if re.search("^. name ", block, re.M)]
        self.servers = {}
        for block in blocks:
            name, *lines = block.rstrip("\n").split("\n")
            self.servers[name] = self._rows(lines)

    @staticmethod
    def _rows(lines):
        rows = []
        for line in lines:
            assert len(line) <= 80 or " " not in line[14:], line
            if line[:14].strip():
                rows.append([line[0], line[2:14].strip(), line[14:]])
            else:
                rows[-1][2] += " " + line[14:]
        assert [row[1] for row in rows] == ROWS
        return {name: (mark, text) for mark, name, text in rows}

    @property
    def rows(self):
        [rows] = self.servers.values()
        return rows


@pytest.fixture
def command(tmp_path):
    """Writes a configuration, and returns what asks with it."""
    def write(*addresses, jobs="", head="", password=None, **settings):
        settings = {"connect_timeout": "300ms", "command_timeout": "300ms", **settings}
        if password is not None:
            file = tmp_path / "password"
            file.touch(mode=0o600)
            file.write_text(password)
            settings["password_file"] = str(file)
        lines = [f"{key} = {conf_value(value)};" for key, value in settings.items()]
        addresses = ", ".join(map(quoted, addresses))
        path = tmp_path / "rotad.conf"
        path.write_text(f'prefix = "test:";\ndevice = "gate-1";\nplugin_dir = [ "{BUILD}/plugins" ];\n{head}\n'
                        f"redis = {{ address = [ {addresses} ]; {' '.join(lines)} }};\njobs = {{ {jobs} }};\n")
        return [ROTAD, "-c", path, "--check", "--online", "--no-probe"]
    return write


def quoted(text):
    return f'"{text}"'


def conf_value(value):
    return str(value).lower() if isinstance(value, int) else quoted(value)


@pytest.fixture
def online(command):
    def ask(*addresses, **more):
        return Said(subprocess.run(command(*addresses, **more), capture_output=True, text=True, timeout=60, check=False))
    return ask


@contextlib.contextmanager
def server(*options, **more):
    the_server = RedisServer(*options, **more)
    try:
        yield the_server.start()
    finally:
        the_server.close()


def stopped_at(said, row, status):
    """The text of the row that ended the try: those behind it were not reached."""
    assert said.status == status and said.stderr == ""
    at = ROWS.index(row)
    assert [said.rows[name][0] for name in ROWS[:at]] == [" "] * at
    assert [said.rows[name] for name in ROWS[at + 1:]] == [NOT_REACHED] * (5 - at)
    assert said.rows[row][0] == "x"
    return said.rows[row][1]


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


@pytest.mark.parametrize("answer, text", [
    (error("LOADING Redis is loading the dataset in memory"), "it still loads its data (LOADING)"),
    (error("MASTERDOWN Link with MASTER is down"), "it is a replica without its master (MASTERDOWN)"),
    (closing(), "the server closed the connection"),
    (b"*1\r\n$5\r\nhello\r\n", "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", 2, 2, "", "", ""]), "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", "x", 2, "", "", "", ""]), "what answers there is no Redis"),
    (encode(["survey", 1, "redis 7", 0, "noeviction", 5, 2, "", "", "", ""]), "what answers there is no Redis"),
])
def test_it_serves_nobody(online, answer, text):
    with FakeServer() as fake:
        fake.rule("survey", answer)
        said = online(fake.address)
        assert (said.status, said.rows["server"]) == (UNAVAILABLE, ("x", text))


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
    assert set(ours.split("SETUSER default ")[1].split()) == given - {"+select", "+client|setname", "+eval", "+info", *PEOPLE}
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


def test_before_redis_7_rights_cannot_be_looked_up(online):
    with FakeServer() as fake:
        fake.rule("survey", lambda words: encode(["survey", 1, "redis 6.2.7", 0, "noeviction", 2, 2, "", "?", "", ""]))
        said = online(fake.address)
        assert said.status == OK
        assert said.rows["scripts"] == ("!", "cannot be checked before Redis 7")
        assert said.rows["server"] == (" ", "redis 6.2.7; maxmemory-policy noeviction; saved in an append-only file")


@pytest.mark.parametrize("policy", ["volatile-lru", "allkeys-lru", "noeviction", "denied"])
def test_s37_the_policy_is_looked_at(online, redis_server, policy):
    if policy == "denied":
        redis_server.allow("-info", "-config")
    else:
        with redis_server.client() as client:
            client.config_set("maxmemory-policy", policy)
    said = online(redis_server.address)
    mark, text = said.rows["server"]
    assert (said.status, mark) == (OK, " " if policy == "noeviction" else "!")
    if policy == "denied":
        assert text.startswith("all but its clock cannot be checked; write at Redis: ACL SETUSER default +info; its clock is ")
    elif policy == "noeviction":
        assert "; maxmemory-policy noeviction; " in text
    else:
        assert (f"; maxmemory-policy {policy}: where memory is short, locks and claims are lost, and a turn may run twice; "
                "write noeviction there; ") in text


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
def test_its_memory_is_full(online, policy):
    with server("--maxmemory", "64mb", "--maxmemory-policy", policy) as the_server, the_server.client() as client:
        refused = "; maxmemory-policy noeviction: it is out of memory and refuses writes; raise its maxmemory of 1000 bytes; "
        assert online(the_server.address).status == OK
        client.config_set("maxmemory", 1000)
        said = online(the_server.address)
        if policy == "noeviction":
            assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
            assert refused in said.rows["server"][1]
        else:
            assert (said.status, said.rows["server"][0]) == (OK, "!")
        client.config_set("maxmemory", 0)
        assert online(the_server.address).status == OK


def test_saved_to_disk(online, redis_server):
    with redis_server.client() as client:
        wait_for(lambda: int(client.info("server")["uptime_in_seconds"]) > 3, 10, "it has run for a while")
        client.save()
        assert re.search(r"; saved to disk [\d.]+ m?s ago; ", online(redis_server.address).rows["server"][1])
        client.config_set("appendonly", "yes")
        wait_for(lambda: client.info("persistence")["aof_enabled"] == 1, 10, "it appends")
        assert "; saved in an append-only file; " in online(redis_server.address).rows["server"][1]


def test_saving_fails(online, redis_server):
    with redis_server.client() as client:
        (redis_server.folder / "dump.rdb").mkdir()
        with contextlib.suppress(redis.RedisError):
            client.bgsave()
        wait_for(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", 10, "the save has failed")
        said = online(redis_server.address)
        assert (said.status, said.rows["server"][0]) == (OK, "!")
        assert "; its last try to save to disk failed, see its log; " in said.rows["server"][1]


def test_a_replica(online, redis_server):
    with server() as master:
        port = master.open_port()
        with redis_server.client() as client:
            client.config_set("masteruser", "tests")
            client.config_set("masterauth", "any")
            client.replicaof("127.0.0.1", port)
            wait_for(lambda: client.info("replication")["master_link_status"] == "up", 10, "it follows")
            said = online(redis_server.address)
            assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
            assert ", a replica, which takes no writes; write its master in redis.address; " in said.rows["server"][1]
            # Beside its master it may well stand in the list: rotad goes on to that one.
            assert online(redis_server.address, master.address).status == OK


def test_a_node_of_a_cluster(online):
    with server("--cluster-enabled", "yes") as node:
        said = online(node.address)
        assert (said.status, said.rows["server"][0]) == (UNAVAILABLE, "x")
        assert ", a node of a Redis Cluster, which this version does not follow; write a single server in redis.address; " \
            in said.rows["server"][1]


@pytest.mark.parametrize("gone", ["EVAL", "EVALSHA", "TIME", "ZADD"])
def test_a_command_that_was_renamed_away(online, gone):
    """An access rule would not bring it back."""
    with server("--rename-command", gone, "") as the_server:
        said = online(the_server.address)
        assert (said.status, said.rows["scripts"]) == (UNAVAILABLE, NOT_REACHED)
        assert said.rows["server"] == ("x", "it lacks a command that rota needs (ERR)")


def test_info_was_renamed_away(online):
    with server("--rename-command", "INFO", "") as the_server:
        said = online(the_server.address)
        mark, text = said.rows["server"]
        assert (said.status, mark) == (OK, "!")
        assert text.startswith("all but its clock cannot be checked: it lacks the command INFO; its clock is ")


@pytest.mark.parametrize("ahead_ms, mark, text", [
    (500, " ", r"; its clock is (4\d\d|5\d\d) ms ahead of ours"),
    (-3_600_000, "!", r"; its clock is (1 h|59 min \d+ s) behind ours, and turns go by it"),
])
def test_its_clock(online, ahead_ms, mark, text):
    with server(own_clock=True) as the_server:
        the_server.clock.add(ahead_ms)
        said = online(the_server.address)
        assert said.status == OK
        assert said.rows["server"][0] == mark and re.search(text + "$", said.rows["server"][1])


@pytest.fixture(scope="module")
def authority():
    with Authority() as the_authority:
        yield the_authority


@contextlib.contextmanager
def tls_server(certificate, **more):
    the_server = TlsServer(certificate, **more)
    try:
        yield the_server.start()
    finally:
        the_server.close()


def tls_settings(authority, **more):
    return {"tls": True, "tls_ca": str(authority.file), "connect_timeout": "5s", **more}


def test_tls(online, authority):
    with tls_server(authority.issue("redis.test", "127.0.0.1")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority))
        until = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))
        mark, text = said.rows["tls"]
        assert (said.status, mark) == (OK, " ")
        assert re.fullmatch(r"TLSv1\.[23], with the certificate of 127\.0\.0\.1, which is good until (\S+)", text)
        assert text[-10:] in (until, time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86000)))
        assert said.rows["scripts"] == (" ", "all may run")
        said = online(the_server.tls_address, **tls_settings(authority, tls_name="redis.test"))
        assert "certificate of redis.test, " in said.rows["tls"][1]


def test_the_manual_makes_the_certificates(online, tmp_path):
    lines = pages.frame_of("docs/rotad.8.scd", "openssl req")
    subprocess.run(["bash", "-ec", lines], cwd=tmp_path, capture_output=True, timeout=30, check=True)
    with tls_server(Certificate(tmp_path / "redis.pem", tmp_path / "redis.key")) as the_server:
        said = online(the_server.tls_address, tls_ca=str(tmp_path / "redis-ca.pem"), tls=True, tls_name="redis.example",
                      connect_timeout="5s")
    assert said.status == OK and "with the certificate of redis.example, " in said.rows["tls"][1]


def test_tls_and_the_login_is_refused(online, authority):
    with tls_server(authority.issue("127.0.0.1")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority, username="nobody"), password="x")
        assert stopped_at(said, "login", NOPERM).startswith("the password is refused")
        assert said.rows["tls"][1].startswith("TLSv1")


def test_in_the_clear_at_a_port_for_tls(online, authority):
    with tls_server(authority.issue("127.0.0.1")) as the_server:
        assert stopped_at(online(the_server.tls_address, tls=False), "login", UNAVAILABLE).endswith(
            " (is that its port for TLS?)")


def test_tls_with_another_name_or_authority(online, authority):
    with tls_server(authority.issue("other.test")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority, tls_name="redis.test"))
        assert "redis.test" in stopped_at(said, "tls", UNAVAILABLE)
        with Authority("Another CA") as another:
            said = online(the_server.tls_address, **tls_settings(another, tls_name="other.test"))
            assert stopped_at(said, "tls", UNAVAILABLE)


def test_tls_is_spoken_badly(online, authority):
    """What was found is said, not only that it is no Redis."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with server.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(b"\x16\x03\x03\x00\x05hello")
                peer.recv(65536)
        speaking = threading.Thread(target=answer)
        speaking.start()
        said = stopped_at(online(f"127.0.0.1:{server.getsockname()[1]}", **tls_settings(authority)), "tls", UNAVAILABLE)
        speaking.join(10)
        assert re.fullmatch(r"it does not speak TLS as it should \(what OpenSSL found: openssl errstr \w{8}\)", said)


def test_tls_where_there_is_none(online, authority, redis_server):
    said = online(f"127.0.0.1:{redis_server.open_port()}", **tls_settings(authority))
    assert stopped_at(said, "tls", UNAVAILABLE)


def test_in_the_clear_over_a_network(online):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("no network but the loopback")
        own = probe.getsockname()[0]
    the_server = RedisServer("--bind", own, "--protected-mode", "no")
    the_server.port = free_port()
    try:
        the_server.start()
        address, clear = f"{own}:{the_server.port}", "none: who is on the way can read and change all that is sent"
        said = online(address, tls=False)
        assert (said.status, said.rows["tls"]) == (OK, ("!", clear + "; write tls = true"))
        mark, login = said.rows["login"]
        assert mark == "!" and login.endswith(": whoever reaches this Redis may do the same; write redis.username and "
                                              "password_file")
    finally:
        the_server.close()


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
