# SPDX-License-Identifier: MIT
"""The table of faults, row by row: what a server says, or does, at each command; and what rota makes of it.

ROWS is written from PROTOCOL.md and the servers' sources, not from the code: a row that is missing there
shows here."""
import collections
import re
import time

import pytest

from fake_server import FakeServer, closing, drip, endless, granted, recorded, renewed, resetting, silence
from fleet import ONCE, RENEWED, SANITIZED, SHORT, SLOWNESS, Fleet, wait_for
from notify import NotifySocket
from redis_server import free_port
from resp import encode, error
from store_harness import A, Driver

Row = collections.namedtuple("Row", "text fault closes words")
READONLY = "READONLY You can't write against a read only replica."
IN_SCRIPT = " script: 0123456789abcdef0123456789abcdef01234567, on @user_script:1."
OLD = "ERR Error running script (call to f_0123): @user_script:1: @user_script: 1: -"
UNKNOWN = "an error that rota does not know"

ROWS = [
    Row("LOADING Redis is loading the dataset in memory", "busy", True, "loads its data"),
    Row("BUSY Redis is busy running a script.", "busy", False, "a long script keeps it busy"),
    Row("BUSY Valkey is busy running a script.", "busy", False, "a long script keeps it busy"),
    Row("TRYAGAIN Multiple keys request during rehashing of slot", "busy", False, "moving"),
    Row("CLUSTERDOWN Hash slot not served", "busy", False, "its cluster is down"),
    Row("NOREPLICAS Not enough good replicas to write.", "busy", False, "too few of its replicas"),
    Row("NOREPLICAS Not enough good replicas to write." + IN_SCRIPT, "busy", False, "too few of its replicas"),
    Row(OLD + "NOREPLICAS Not enough good replicas to write.", "busy", False, "too few of its replicas"),
    Row("ERR max number of clients reached", "busy", True, "maxclients"),
    Row("OOM command not allowed when used memory > 'maxmemory'.", "storage", False, "out of memory"),
    Row("OOM command not allowed when used memory > 'maxmemory'." + IN_SCRIPT, "storage", False, "out of memory"),
    Row(OLD + "OOM command not allowed when used memory > 'maxmemory'.", "storage", False, "out of memory"),
    Row("MISCONF Redis is configured to save RDB snapshots", "storage", False, "cannot save to disk"),
    Row(OLD + "MISCONF Redis is configured to save RDB snapshots", "storage", False, "cannot save to disk"),
    Row(READONLY, "replica", True, "it is a replica"),
    Row(READONLY + IN_SCRIPT, "replica", True, "it is a replica"),
    Row(OLD + READONLY, "replica", True, "it is a replica"),
    Row("MASTERDOWN Link with MASTER is down", "replica", True, "it is a replica without its master"),
    Row("NOAUTH Authentication required.", "operator", True, "write redis.password_file"),
    Row("WRONGPASS invalid username-password pair or user is disabled.", "operator", True, "is refused"),
    Row("ERR invalid password", "operator", True, "the password is refused"),
    Row("ERR AUTH <password> called without any password configured for the default user.", "operator", True,
        "write redis.username"),
    Row("ERR Client sent AUTH, but no password is set", "operator", True, "leave redis.password_file out"),
    Row("ERR DB index is out of range", "operator", True, "redis.database"),
    Row("NOPERM this user has no permissions to run the 'evalsha' command", "operator", False, "ACL"),
    Row("ERR The user executing the script can't run this command or subcommand" + IN_SCRIPT, "operator", False, "ACL"),
    Row("ERR ACL failure in script: User rota has no permissions", "operator", False, "ACL"),
    Row(OLD + "NOPERM this user has no permissions", "operator", False, "ACL"),
    Row("NOPROTO unsupported protocol version", "operator", True, "RESP2"),
    Row("DENIED Redis is running in protected mode", "operator", True, "protected mode"),
    Row("WRONGTYPE Operation against a key holding the wrong kind of value" + IN_SCRIPT, "operator", False,
        "not rota's"),
    Row("CROSSSLOT Keys in request don't hash to the same slot", "operator", False, "one slot"),
    Row("MOVED 3999 127.0.0.1:6381", "operator", False, "it is a Redis Cluster; write redis.cluster = true"),
    Row("ASK 3999 127.0.0.1:6381", "operator", False, "it is a Redis Cluster; write redis.cluster = true"),
    Row("ERR unknown command 'EVALSHA', with args beginning with: 'sesame'", "operator", False, "lacks a command"),
    Row("ERR Unknown Redis command called from script script: 4f199a85, on @user_script:1.", "operator", False,
        "lacks a command"),
    Row("ERR Error compiling script (new function): user_script:1: '=' expected", "unknown", False, UNKNOWN),
    Row("ERR something else about sesame", "unknown", False, UNKNOWN),
    Row("SHRUG sesame", "unknown", False, UNKNOWN),
    Row("READONLYISH sesame", "unknown", False, UNKNOWN),
    Row("ERR a text with -READONLY in it", "unknown", False, UNKNOWN),
    Row("", "unknown", False, UNKNOWN),
]
# What a script says that the server does not keep, twice: to its name, and to its body.
NOSCRIPT = Row("NOSCRIPT No matching script.", "busy", False, "scripts")
COMMANDS = {"clock": "TIME", "acquire": "acquire", "renew": "renew", "finish": "finish"}
GOOD = {"acquire": granted, "renew": renewed, "finish": recorded}


@pytest.fixture
def server():
    with FakeServer() as the_server:
        yield the_server


@pytest.fixture
def drive():
    drivers = []

    def start(*endpoints, **options):
        drivers.append(Driver(*endpoints, **options))
        return drivers[-1]
    yield start
    assert [driver.close() for driver in drivers] == [0] * len(drivers)


def submit(driver, verb, **more):
    driver.submit("x", verb, token=A, turn=900, next=1900, **more)


def rows_by(name, places):
    """Each row at each place. The texts are read by the same code wherever they come from: a sanitizer sees
    each of them once, and each place many times."""
    places = list(places)
    pairs = [pytest.param(row, place, id=f"{row.text[:40]}-{place}") for i, row in enumerate(ROWS)
             for place in (places[i % len(places):][:1] if SANITIZED else places)]
    return pytest.mark.parametrize(f"row, {name}", pairs)


@rows_by("verb", COMMANDS)
def test_an_error_reply(drive, server, row, verb):
    server.rule(COMMANDS[verb], error(row.text), times=1)
    server.rule(COMMANDS[verb], GOOD.get(verb, b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n"))
    driver = drive(server.address, min=1, max=20)
    submit(driver, verb, again=1)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", row.fault)
    assert row.words in got["error"] and got["error"].endswith(")") and "sesame" not in got["error"]
    if row.closes:
        link = driver.event("link", state="waiting")
        assert (link["fault"], link["reason"]) == (row.fault, got["error"])
    assert driver.answer("x")["status"] == "answered"
    first, second = server.commands(COMMANDS[verb])
    assert (second.connection != first.connection) == row.closes
    # No word of it is ever taken for the turn of another device, or for an unknown outcome.
    assert [e for e in driver.events if e["event"] == "answer"] == []


@pytest.mark.parametrize("verb", ["acquire", "renew", "finish"])
def test_a_script_that_is_not_kept(drive, server, verb):
    server.rule(verb, error(NOSCRIPT.text), times=2)
    server.rule(verb, GOOD[verb])
    driver = drive(server.address)
    submit(driver, verb, again=1)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", NOSCRIPT.fault) and NOSCRIPT.words in got["error"]
    assert driver.answer("x")["status"] == "answered"
    assert [seen.words[0] for seen in server.commands(verb)] == [b"EVALSHA", b"EVAL", b"EVALSHA"]


@rows_by("step", ["AUTH", "SELECT"])
def test_an_error_at_the_login(drive, server, row, step):
    server.rule(step, error(row.text), times=1)
    server.rule("acquire", granted)
    driver = drive(server.address, password="sesame", database=1, min=1, max=20)
    submit(driver, "acquire", again=1)
    link = driver.event("link", state="waiting")
    assert link["fault"] == row.fault and row.words in link["reason"] and "sesame" not in link["reason"]
    got = driver.answer("x")
    # Sent behind the login: whether it was obeyed is not known.
    assert (got["status"], got["fault"]) == ("none", row.fault)
    assert driver.answer("x")["answer"] == "granted"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text[:40])
def test_an_error_at_the_name_of_the_connection(drive, server, row):
    """The name is for people: only what concerns the connection ends it."""
    server.rule("CLIENT", error(row.text), times=1)
    server.rule("acquire", granted)
    driver = drive(server.address, min=1, max=20)
    submit(driver, "acquire", again=1)
    assert driver.answer("x", status="answered")["answer"] == "granted"
    assert len(server.connections) == (2 if row.closes else 1)


# The transport.

def silent_port():
    """A port that nothing listens on."""
    return f"127.0.0.1 {free_port()}"


LOST = {
    "closed": (closing(), "the server closed the connection"),
    "closed in the middle": (closing(b"*5\r\n$8\r\nacqui"), "the server closed the connection"),
    "reset": (resetting(), "connection reset by peer"),
    "silent": (silence(), "no reply within 200 ms"),
    "too slow": (drip(b"*2\r\n$1\r\n5\r\n" + b"$1\r\n0\r\n", 0.05), "no reply within 200 ms"),
}


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("how", LOST)
def test_a_lost_reply_is_unknown(drive, verb, how):
    act, words = LOST[how]
    with FakeServer(tcp=True) as server:
        server.rule(COMMANDS[verb], act, times=1)
        server.rule(COMMANDS[verb], GOOD.get(verb, b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n"))
        driver = drive(server.address.replace(":", " "), command=200, min=1, max=20)
        submit(driver, verb, again=1)
        got = driver.answer("x")
        assert (got["status"], got["fault"], got["error"]) == ("none", "link", words)
        assert driver.event("link", state="waiting")["reason"] == words
        assert driver.answer("x")["status"] == "answered"
        first, second = server.commands(COMMANDS[verb])
        assert second.connection != first.connection


ALIEN = {
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "another type": b"+OK\r\n",
    "an endless line": endless(b"x", head=b"+"),
    "a gigabyte": endless(b"x", head=b"$1000000000\r\n"),
    "2^31 elements": b"*2147483647\r\n",
    "deep nesting": endless(b"*1\r\n"),
    "two replies": encode(["recorded", 1000, 1, 0]) * 2,
}


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("how", ALIEN)
def test_a_reply_that_is_not_rotas_is_unknown(drive, server, verb, how):
    server.rule(COMMANDS[verb], ALIEN[how], times=1)
    server.rule(COMMANDS[verb], GOOD.get(verb, b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n"))
    driver = drive(server.address, min=1, max=20)
    submit(driver, verb, again=1)
    got = driver.answer("x")
    if not (how == "two replies" and verb == "finish"):  # of which the first is one
        assert (got["status"], got["fault"]) == ("none", "alien")
    link = driver.event("link", state="waiting")
    assert (link["fault"], link["reason"]) == ("alien", "a reply that is not rota's")
    assert driver.answer("x")["status"] == "answered" or how == "two replies"


def test_nobody_listens(drive):
    driver = drive(silent_port(), min=1, max=20)
    submit(driver, "acquire")
    link = driver.event("link", state="waiting")
    assert (link["fault"], link["reason"]) == ("link", "connection refused")
    assert driver.pending() == 1


# Which server is asked next, and how soon.

def test_a_replica_is_left_for_the_next_server_and_a_busy_one_is_not(drive, server):
    with FakeServer() as other:
        server.rule("acquire", error("LOADING"), times=2)
        server.rule("acquire", error(READONLY), times=1)
        other.rule("acquire", granted)
        driver = drive(server.address, other.address, min=1, max=20)
        submit(driver, "acquire", again=3)
        assert [driver.answer("x")["fault"] for _ in range(4)] == ["busy", "busy", "replica", "none"]
        assert (server.count("acquire"), other.count("acquire")) == (3, 1)


def test_a_connection_that_served_is_sought_at_the_same_server(drive, server):
    with FakeServer() as other:
        server.rule("acquire", granted, times=1)
        server.rule("acquire", closing(), times=1)
        server.rule("acquire", granted)
        driver = drive(server.address, other.address, min=1, max=20)
        submit(driver, "acquire", again=2)
        assert [driver.answer("x")["status"] for _ in range(3)] == ["answered", "none", "answered"]
        assert len(other.connections) == 0


def test_a_server_that_answers_and_then_refuses_is_asked_ever_more_rarely(drive, server):
    """A replica tells the time: that alone must not begin the windows anew."""
    server.rule("acquire", error(READONLY))
    driver = drive(server.address, min=10, max=640)
    windows = []
    for _ in range(6):
        driver.submit("t", "clock")
        assert driver.answer("t")["status"] == "answered"
        driver.call("acquire", token=A, turn=900, next=1900)
        windows.append(driver.event("link", state="waiting")["window"])
    assert windows == [10, 20, 40, 80, 160, 320]


# Whole devices: what a job does about each class, in each of its states.

REDIS = {"connect_timeout": "300ms", "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"}
CLASSES = {
    "busy": "BUSY Redis is busy running a script.",
    "storage": "OOM command not allowed",
    "replica": READONLY,
    "operator": "NOPERM this user has no permissions",
    "unknown": "SHRUG sesame",
}
SLOW = ("storage", "operator", "unknown")
LOUD = {"busy": "warning", "storage": "error", "replica": "warning", "operator": "error", "unknown": "warning"}


@pytest.fixture
def device(redis_server):
    """device(server, job): one that is not started yet, whose Redis is the fake server."""
    fleets = []

    def make(server, job, text=""):
        fleet = Fleet(redis_server)
        fleets.append(fleet)
        jobs = {"report": {**job, **ONCE, "first": "now", **fleet.body("report", text)}}
        return fleet.device(jobs, redis={"address": server.address, **REDIS})
    yield make
    for fleet in fleets:
        fleet.close()


def never_contention(device):
    assert device.lines("is held by|passed|is settled") == []
    assert device.lines("a bug in rotad") == []


def said_once(device, fault, verb):
    """One line for people, and the counter's at debug for the repeats."""
    line, = device.lines(rf"^report: Redis \({verb}\): .*\((BUSY|OOM|READONLY|NOPERM|SHRUG)\); it is tried again$")
    assert line.level == LOUD[fault]
    assert "sesame" not in device.output()


@pytest.mark.parametrize("fault", CLASSES)
def test_acquire_is_refused(device, server, fault):
    server.rule("acquire", error(CLASSES[fault]), times=2)
    server.rule("acquire", granted)
    server.rule("finish", recorded)
    one = device(server, SHORT).start()
    server.wait_for("acquire", 2, within=12)
    assert one.fleet.entries() == []
    one.fleet.wait_entry("end", within=25)
    said_once(one, fault, "acquire")
    one.wait_line(rf"faults of this kind \({fault}\) so far: 2$")
    one.wait_line(r"^(report: Redis answers it again|Redis answers again; it was: .*)$")
    never_contention(one)
    # Asked by a token that the server refused to know: as if for the first time.
    assert {seen.words[-4] for seen in server.commands("acquire")} == {b"1"}


def test_a_replica_is_said_once_though_it_lets_one_in(device, server):
    server.rule("acquire", error(READONLY), times=4)
    server.rule("acquire", granted)
    server.rule("finish", recorded)
    one = device(server, SHORT).start()
    one.fleet.wait_entry("end", within=25)
    one.wait_line(r"^Redis answers again; it was: it is a replica \(READONLY\)$")
    assert [line.level for line in one.lines("cannot be used: it is a replica")] == ["error"]
    assert one.lines("answers again after") == []


def test_a_replica_is_said_again_once_it_was_none(device, server):
    server.rule("acquire", error(READONLY), times=2)
    server.rule("acquire", granted)
    server.rule("finish", error(READONLY), times=2)
    server.rule("finish", recorded)
    one = device(server, SHORT).start()
    wait_for(lambda: len(one.lines(r"^Redis answers again; it was: it is a replica \(READONLY\)$")) == 2, 25, "both are over")
    assert [line.level for line in one.lines("cannot be used: it is a replica")] == ["error", "error"]


@pytest.mark.parametrize("fault", CLASSES)
def test_renew_is_refused(device, server, fault):
    server.rule("acquire", granted)
    server.rule("renew", error(CLASSES[fault]), times=2)
    server.rule("renew", renewed)
    server.rule("finish", recorded)
    one = device(server, RENEWED, "sleep 4").start()
    one.fleet.wait_entry("end", within=12)
    assert one.fleet.entries("begin") and len(one.fleet.entries("begin")) == 1
    said_once(one, fault, "renew")
    # However long the class's windows are: in time for the lease of 3 s.
    third = server.commands("renew")[2].at - server.commands("renew")[0].at
    assert third < 0.75 * SLOWNESS  # two windows of L / 12
    never_contention(one)


@pytest.mark.parametrize("fault", CLASSES)
def test_finish_is_refused(device, server, fault):
    server.rule("acquire", granted)
    server.rule("finish", error(CLASSES[fault]), times=1)
    server.rule("finish", recorded)
    one = device(server, SHORT).start()
    server.wait_for("finish", 2, within=12)
    said_once(one, fault, "finish")
    tokens = {seen.words[6] for seen in server.commands("finish")}
    assert len(tokens) == 1 and len(one.fleet.entries("begin")) == 1
    one.wait_line("CLOSING -> WAITING")
    never_contention(one)


@pytest.mark.parametrize("fault", CLASSES)
def test_no_tight_loop(device, server, fault):
    server.rule("acquire", error(CLASSES[fault]))
    one = device(server, SHORT).start()
    server.wait_for("acquire")
    begun = time.monotonic()
    wait_for(lambda: time.monotonic() > begun + 3, 4, "3 s pass")
    # Windows of 0.5, 1, 2 s, or 5 s: full jitter makes a few more of them possible, and no more.
    assert server.count("acquire") <= (6 if fault in SLOW else 10)
    said_once(one, fault, "acquire")


@pytest.mark.parametrize("text,status", [
    ("NOAUTH Authentication required.", "redis: it wants a password; write redis.password_file (NOAUTH)"),
    ("LOADING Redis is loading", "redis: it still loads its data (LOADING)"),
])
def test_refused_at_the_login_all_the_time(device, server, text, status):
    server.rule("CLIENT", error(text))
    one = device(server, SHORT)
    fleet = one.fleet
    with NotifySocket(fleet.folder / "notify") as notify:
        one.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC="200000")
        notify.wait_for("^STATUS=.*" + re.escape(status) + ", 0 turns missed$", 10)
        server.wait_for("CLIENT", server.count("CLIENT") + 3)
        wait_for(lambda: len(notify.pings()) >= 3, 5, "pings of the watchdog")
        pings = notify.pings()
        assert max(later - sooner for sooner, later in zip(pings, pings[1:])) < 0.2 * SLOWNESS
        # One line for people; each further step of the back-off changes the status alone.
        assert [line.level for line in one.lines("cannot be used: ")] == ["error"]
        assert {line.level for line in one.lines("still the same")} == {"debug"}
        server.clear()
        server.rule("acquire", granted)
        server.rule("finish", recorded)
        fleet.wait_entry("end", within=10)
        one.wait_line("answers again after")
        notify.wait_for("^STATUS=.*redis ok$", 5)
    never_contention(one)
