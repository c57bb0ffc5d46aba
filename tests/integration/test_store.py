# SPDX-License-Identifier: MIT
"""The store on Redis: against a real server, and against one that plays tricks.

PREFIX{backup}:... are the keys; store_driver is the store under the test's hand."""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import redis

from fleet import SANITIZED
from redis_server import free_port, wait_for
from resp import SENT_SCRIPTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"))
DRIVER = BUILD / "tests" / "integration" / "store_driver"
SECONDS = 10
PERIOD = 60_000
LOCK, CLAIM = "test:{backup}:lock", "test:{backup}:claim"
A, B = "device-a:" + "a" * 32, "device-b:" + "b" * 32


class Driver:
    def __init__(self, *endpoints, **options):
        arguments = [f"endpoint={endpoint}" for endpoint in endpoints]
        arguments += [f"{key}={value}" for key, value in options.items()]
        self.process = subprocess.Popen([DRIVER, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.buffer = b""
        self.events = []

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def submit(self, name, verb, **keys):
        self.say(" ".join(["submit", name, verb, *(f"{k}={v}" for k, v in keys.items())]))

    def event(self, kind, seconds=SECONDS, **wanted):
        """The next event of the kind and with these values; others are kept for later."""
        deadline = time.monotonic() + seconds
        while True:
            for number, event in enumerate(self.events):
                if event["event"] == kind and all(event[k] == v for k, v in wanted.items()):
                    return self.events.pop(number)
            self._read(deadline, f"{kind} {wanted}")

    def _read(self, deadline, what):
        left = deadline - time.monotonic()
        pipe = self.process.stdout
        ready = left > 0 and select.select([pipe], [], [], left)[0]
        assert ready, f"no {what} in time, but: {self.events}"
        data = os.read(pipe.fileno(), 65536)
        assert data, f"the driver ended ({self.process.wait()}) before {what}: {self.events}"
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            # Nothing is ever called back from within submit() or cancel().
            assert event["inside"] == 0, event
            self.events.append(event)

    def answer(self, name, **more):
        return self.event("answer", id=name, **more)

    def call(self, verb, name="x", **keys):
        self.submit(name, verb, **keys)
        return self.answer(name)

    def pending(self):
        self.say("pending")
        return self.event("pending")["count"]

    def sound(self, slack=5000):
        self.say(f"sound {slack}")
        return self.event("sound")["sound"] == 1

    def close(self):
        """Ends it; whatever the sanitizers say about it shows in its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()


@pytest.fixture
def drive():
    drivers = []

    def start(*endpoints, **options):
        drivers.append(Driver(*endpoints, **options))
        return drivers[-1]
    yield start
    statuses = [driver.close() for driver in drivers]
    assert statuses == [0] * len(drivers)


class FakeServer:
    """A listening socket; the test itself accepts, reads the commands and writes the replies."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rota-fake-")
        self.path = f"{self.folder}/redis.sock"
        self.address = f"unix:{self.path}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(SECONDS)
        self.peers = []

    def accept(self, login=True):
        peer = Peer(self.listener.accept()[0])
        self.peers.append(peer)
        if login:
            assert peer.command()[:2] == ["CLIENT", "SETNAME"]
            peer.send(b"+OK\r\n")
        return peer

    def close(self):
        for peer in self.peers:
            peer.socket.close()
        self.listener.close()
        shutil.rmtree(self.folder)


class Peer:
    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(SECONDS)
        self.file = connection.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def command(self):
        count = self.file.readline()
        assert count[:1] == b"*", count
        words = []
        for _ in range(int(count[1:])):
            length = int(self.file.readline()[1:])
            words.append(self.file.read(length + 2)[:-2].decode())
        return words

    def is_closed(self):
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True


@pytest.fixture
def fake():
    server = FakeServer()
    yield server
    server.close()


def now_ms(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def make_known(client, **fields):
    """The job has a past, so that its next turn is granted."""
    turn = now_ms(client)
    client.hset(CLAIM, mapping={"v": 1, "turn": turn - PERIOD, "attempt": 1, "token": "old:0",
                                "state": "succeeded", "ended": 1, "done": turn - PERIOD,
                                "schedules": "s1", **fields})
    return {"turn": turn, "next": turn + PERIOD}


# A real server.

def a_whole_turn(driver, client, before=lambda: None):
    turn = make_known(client)
    before()
    got = driver.call("acquire", token=A, **turn)
    assert (got["answer"], got["attempt"], got["turn"]) == ("granted", 1, turn["turn"])
    assert abs(got["server"] - now_ms(client)) < 5000 and 0 <= got["took"] < 5000
    before()
    held = driver.call("acquire", token=B, **turn)
    assert (held["answer"], held["holder"], held["watch"]) == ("held", A, 1)
    assert 0 < held["left"] <= 10_000 and held["holder_turn"] == turn["turn"]
    before()
    lease = {"token": A, "turn": turn["turn"], "fence": got["fence"]}
    assert driver.call("renew", ttl=20_000, **lease)["answer"] == "renewed"
    assert client.pttl(LOCK) > 10_000
    before()
    end = driver.call("finish", outcome="succeeded", detail="copied", **lease)
    assert (end["held"], end["gave_up"]) == (1, 0)
    assert client.exists(LOCK) == 0
    before()
    done = driver.call("acquire", token=B, **turn)
    assert (done["answer"], done["turn"], done["holder"]) == ("done", turn["turn"], A)
    claim = client.hgetall(CLAIM)
    assert (claim["detail"], claim["fingerprint"]) == ("copied", "f1")
    assert (claim["v"], claim["schedules"]) == ("1", "s1")


def test_a_turn_over_a_unix_socket(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        a_whole_turn(driver, client)


def test_a_turn_over_tcp(drive, redis_server):
    driver = drive(f"127.0.0.1 {redis_server.open_port()}")
    with redis_server.client() as client:
        a_whole_turn(driver, client)
        listed = [c for c in client.client_list() if c["name"] == "driver"]
        assert len(listed) == 1 and listed[0]["addr"].startswith("127.0.0.1:")


def test_a_turn_while_the_scripts_are_flushed_before_every_command(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        a_whole_turn(driver, client, before=client.script_flush)
        stats = client.info("commandstats")
        assert stats["cmdstat_eval"]["calls"] == 5


def test_scripts_are_sent_once(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        for _ in range(2):
            a_whole_turn(driver, client)
        assert client.info("commandstats")["cmdstat_eval"]["calls"] == 3


def test_the_clock(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        before = now_ms(client)
        assert before <= driver.call("clock")["server"] <= now_ms(client)


def test_nothing_is_sent_before_the_first_call(drive, redis_server):
    driver = drive(redis_server.address)
    assert driver.pending() == 0 and driver.sound()
    with redis_server.client() as client:
        assert "driver" not in [c["name"] for c in client.client_list()]
        driver.call("clock")
        assert "driver" in [c["name"] for c in client.client_list()]
    states = [event["state"] for event in driver.events if event["event"] == "link"]
    assert states == ["connecting", "up"]


def set_password(server):
    with server.client() as client:
        client.config_set("requirepass", "secret")


@pytest.mark.parametrize("login", [{"password": "secret"},
                                   {"username": "default", "password": "secret"}])
def test_login_and_database_go_with_the_first_command(drive, redis_server, login):
    set_password(redis_server)
    driver = drive(redis_server.address, database=3, **login)
    with redis_server.client(password="secret", db=3) as client:
        a_whole_turn(driver, client)


@pytest.mark.parametrize("login,token", [({"password": "wrong"}, "WRONGPASS"),
                                         ({}, "NOAUTH")])
def test_a_refused_login_backs_off(drive, redis_server, login, token):
    set_password(redis_server)
    driver = drive(redis_server.address, min=50, max=400, **login)
    driver.submit("x", "acquire", token=A, turn=1, next=2, again=9)
    # From a quarter of the greatest window on: only a person can help.
    for window in (100, 200, 400, 400):
        link = driver.event("link", state="waiting")
        assert link["fault"] == "operator" and link["reason"].endswith(f"({token})")
        assert link["window"] == window
    assert driver.sound()


def test_after_a_refused_login_no_command_goes_before_it_is_accepted(drive, fake):
    """With a user that everybody may be, a command behind a refused AUTH is still obeyed."""
    driver = drive(fake.address, password="wrong", min=1, max=1)
    driver.submit("x", "acquire", token=A, turn=900, next=1900, again=1)
    peer = fake.accept(login=False)
    assert [peer.command()[0] for _ in range(3)] == ["AUTH", "CLIENT", "EVALSHA"]
    peer.send(b"-WRONGPASS no\r\n+OK\r\n" + ACQUIRED)
    assert driver.answer("x")["status"] == "none"
    peer = fake.accept(login=False)
    assert [peer.command()[0] for _ in range(2)] == ["AUTH", "CLIENT"]
    assert len([e for e in driver.events if e["event"] == "composed"]) == 1
    peer.send(b"+OK\r\n+OK\r\n")
    assert peer.command()[0] == "EVALSHA"
    peer.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"
    peer.socket.shutdown(socket.SHUT_RDWR)
    driver.event("link", state="idle")
    driver.submit("y", "clock")
    peer = fake.accept(login=False)
    assert [peer.command()[0] for _ in range(3)] == ["AUTH", "CLIENT", "TIME"]


def test_a_database_that_is_not_there_closes_the_link(drive, redis_server):
    driver = drive(redis_server.address, database=1000)
    driver.submit("x", "clock")
    assert "no database of that number" in driver.event("link", state="waiting")["reason"]


def test_a_name_that_the_server_does_not_take_hinders_nothing(drive, redis_server):
    driver = drive(redis_server.address, name="two words")
    assert driver.call("clock")["status"] == "answered"


def test_a_login_lost_while_connected_closes_the_link(drive, redis_server):
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "rota", "on", ">pw", "+@all", "~*", "&*")
        driver = drive(redis_server.address, username="rota", password="pw")
        driver.call("clock")
        client.execute_command("ACL", "DELUSER", "rota")
        # The server cuts the connections of such a user; a command before that would meet the cut.
        driver.event("link", state="idle")
        driver.submit("y", "clock")
        assert "WRONGPASS" in driver.event("link", state="waiting")["reason"]


def test_an_error_reply_is_the_calls_alone(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client)
        client.rpush(LOCK, "not ours")
        got = driver.call("acquire", token=A, **turn)
        assert got["status"] == "error" and got["error"].endswith("(WRONGTYPE)")
        client.delete(LOCK)
        assert driver.call("acquire", token=A, **turn)["answer"] == "granted"
        assert len([e for e in driver.events if e["event"] == "link"]) == 2


def test_many_calls_at_once_get_their_own_answers(drive, redis_server):
    driver = drive(redis_server.address)
    names = [f"c{i}" for i in range(60)]  # more than may be in flight
    for name in names:
        driver.submit(name, "clock")
    answers = [driver.answer(name) for name in names]
    assert all(answer["status"] == "answered" for answer in answers)
    assert driver.pending() == 0


def test_the_server_dies_and_comes_back(drive, redis_server):
    driver = drive(redis_server.address, min=20, max=100)
    driver.call("clock")
    redis_server.kill()
    down = driver.event("link", state="idle")  # nobody waits: it harms nobody
    assert down["reason"] == "the server closed the connection"
    driver.submit("x", "clock")
    for _ in range(3):
        assert driver.event("link", state="waiting")["reason"] == "connection refused"
    assert driver.pending() == 1 and driver.sound()
    redis_server.start()
    assert driver.answer("x")["status"] == "answered"
    driver.event("link", state="up")


def test_a_call_is_composed_when_it_can_be_sent(drive, redis_server):
    redis_server.kill()
    driver = drive(redis_server.address)
    driver.submit("x", "clock")
    driver.event("link", state="waiting")
    assert [e for e in driver.events if e["event"] == "composed"] == []
    redis_server.start()
    composed = driver.event("composed", id="x")
    assert driver.answer("x")["sent"] == composed["now"]


def test_no_reply_in_time_is_unknown_and_closes_the_link(drive, redis_server):
    driver = drive(redis_server.address, command=300)
    driver.call("clock")
    with redis_server.client() as client:
        turn = make_known(client)
        client.client_pause(1000)
    got = driver.call("acquire", token=A, **turn)
    assert got["status"] == "none" and got["error"] == "no reply within 300 ms"
    assert 300 <= got["took"] < 2000
    assert driver.event("link", state="waiting")["reason"] == "no reply within 300 ms"


def test_a_server_that_stands_still_is_left_and_found_again(drive, redis_server):
    driver = drive(redis_server.address, command=200, min=20, max=50)
    driver.call("clock")
    os.kill(redis_server.process.pid, signal.SIGSTOP)
    try:
        driver.submit("x", "clock", again=1)
        assert driver.answer("x")["status"] == "none"
        assert driver.answer("x")["status"] == "none"
    finally:
        os.kill(redis_server.process.pid, signal.SIGCONT)
    assert driver.call("clock", "y")["status"] == "answered"


def test_a_replica_is_left(drive, redis_server):
    driver = drive(redis_server.address, min=1000, max=1000)
    with redis_server.client() as client:
        turn = make_known(client)
        driver.call("clock")
        client.execute_command("REPLICAOF", "127.0.0.1", free_port())
        got = driver.call("acquire", token=A, **turn)
        assert (got["status"], got["fault"]) == ("error", "replica")
        assert driver.event("link", state="waiting")["reason"] == got["error"]


def test_a_full_server_is_left_with_its_words(drive, redis_server):
    with redis_server.client() as client:
        client.ping()
        client.config_set("maxclients", 1)
        driver = drive(redis_server.address)
        driver.submit("x", "clock", again=1000)
        assert "maxclients" in driver.event("link", state="waiting")["reason"]
        client.config_set("maxclients", 100)
        assert driver.answer("x", status="answered")


def test_addresses_are_tried_in_turn(drive, redis_server):
    driver = drive("unix:/nonexistent/redis.sock", "127.0.0.1 1", redis_server.address)
    assert driver.call("clock")["status"] == "answered"
    reasons = [e["reason"] for e in driver.events if e["event"] == "link" and e["reason"]]
    assert reasons == ["no such file or directory", "connection refused"]


@pytest.mark.parametrize("address,reason", [
    ("redis.example 6379", "not a numeric address"), ("unix:/" + "x" * 120, "file name too long")])
def test_addresses_that_cannot_be(drive, address, reason):
    driver = drive(address)
    driver.submit("x", "clock")
    assert reason in driver.event("link", state="waiting")["reason"]


def test_ipv6(drive, redis_server):
    with redis_server.client() as client:
        port = redis_server.open_port()
        try:
            client.config_set("bind", "127.0.0.1 ::1")
        except redis.ResponseError:
            pytest.skip("no IPv6 here")
    assert drive(f"::1 {port}").call("clock")["status"] == "answered"


def test_the_connection_is_closed_at_an_exec_and_never_blocks(drive, redis_server):
    driver = drive(redis_server.address)
    driver.call("clock")
    process = pathlib.Path(f"/proc/{driver.process.pid}")
    sockets = [fd.name for fd in (process / "fd").iterdir()
               if os.readlink(fd).startswith("socket:")]
    assert len(sockets) == 1
    info = (process / "fdinfo" / sockets[0]).read_text()
    flags = int(info.split("flags:")[1].split()[0], 8)
    assert flags & os.O_CLOEXEC and flags & os.O_NONBLOCK


def test_soundness_is_that_what_waits_has_a_timer_that_is_not_overdue(drive, fake):
    driver = drive(fake.address, command=60_000)
    assert driver.sound(-100_000)  # nothing waits
    driver.submit("x", "clock")
    fake.accept().command()
    assert driver.sound(0)
    assert not driver.sound(-100_000)  # as if the deadline were long past


# Calls.

def test_a_cancelled_call_gets_no_answer(drive, fake):
    driver = drive(fake.address)
    for name in "xyz":
        driver.submit(name, "clock")
    peer = fake.accept()
    for _ in "xyz":
        assert peer.command() == ["TIME"]
    driver.say("cancel y")
    assert driver.pending() == 2
    for second in b"123":
        peer.send(b"*2\r\n$1\r\n%c\r\n$1\r\n0\r\n" % second)
    assert driver.answer("x")["server"] == 1000
    assert driver.answer("z")["server"] == 3000
    assert [e for e in driver.events if e["event"] == "answer"] == []


def test_a_call_cancelled_before_it_is_sent_is_not_composed(drive, redis_server):
    redis_server.kill()
    driver = drive(redis_server.address)
    for name in "xyz":
        driver.submit(name, "clock")
    for name in "zx":
        driver.say(f"cancel {name}")
    redis_server.start()
    assert driver.answer("y")["status"] == "answered"
    composed = [e["id"] for e in driver.events if e["event"] == "composed"]
    assert composed == ["y"]


def test_a_call_that_is_not_wanted_any_more_is_dropped(drive, redis_server):
    driver = drive(redis_server.address)
    driver.submit("x", "clock", unwanted=1)
    driver.event("composed", id="x")
    assert driver.pending() == 0
    assert driver.call("clock", "y")["status"] == "answered"


def test_an_answer_may_submit_again_and_cancel_others(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "clock", again=2, cancels="y")
    driver.submit("y", "clock")
    peer = fake.accept()
    for _ in "xy":
        peer.command()
    peer.send(element(["1", "0"]) + element(["2", "0"]))  # that of y has no taker any more
    assert driver.answer("x")["server"] == 1000
    for _ in range(2):
        assert peer.command() == ["TIME"]
        peer.send(element(["3", "0"]))
        assert driver.answer("x")["server"] == 3000
    assert driver.pending() == 0
    assert [e for e in driver.events if e["event"] == "answer"] == []


def test_answers_of_a_lost_link_may_submit_again_and_cancel_others(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "clock", again=1, cancels="y")
    driver.submit("y", "clock")
    driver.submit("z", "clock", again=1, cancels="x")
    peer = fake.accept()
    for _ in "xyz":
        peer.command()
    peer.socket.shutdown(socket.SHUT_RDWR)
    assert driver.answer("x")["status"] == "none"
    assert driver.answer("z")["status"] == "none"
    peer = fake.accept()
    assert peer.command() == ["TIME"]
    peer.send(b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n")
    assert driver.answer("z")["server"] == 5000
    assert driver.pending() == 0


def test_a_request_that_is_too_long_is_an_error_of_its_own(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client)
        driver.call("acquire", token=A, **turn)
        driver.call("finish", token=A, turn=turn["turn"], outcome="failed", detail="d" * 590)
        assert client.hget(CLAIM, "detail") == "d" * 512


def test_an_urgent_call_does_not_wait_for_the_window(drive, fake):
    driver = drive(fake.address, min=60_000, max=60_000)
    driver.submit("x", "clock", again=2, urgent=1)
    peer = fake.accept()
    peer.command()
    peer.send(element(["1", "0"]))
    assert driver.answer("x")["status"] == "answered"
    peer.command()
    lost = time.monotonic()
    peer.socket.shutdown(socket.SHUT_RDWR)
    assert driver.answer("x")["status"] == "none"
    peer = fake.accept()
    assert time.monotonic() - lost < 5
    peer.command()
    peer.socket.shutdown(socket.SHUT_RDWR)  # a second time, and it was never up: the window
    assert driver.answer("x")["status"] == "none"
    driver.submit("y", "clock", urgent=1)
    driver.event("link", state="waiting")
    driver.event("link", state="waiting")
    assert driver.pending() == 1
    assert [e for e in driver.events if e.get("state") == "connecting"][2:] == []


def test_urgency_outlasts_a_first_try_that_fails(drive, fake):
    driver = drive("unix:/nonexistent/redis.sock", fake.address, min=60_000, max=60_000)
    driver.submit("x", "clock")
    driver.event("link", state="waiting")
    driver.submit("y", "clock", urgent=1)
    fake.accept()


def test_the_window_grows_to_its_end_and_starts_anew_after_a_reply(drive, redis_server):
    redis_server.kill()
    driver = drive(redis_server.address, min=10, max=80)
    driver.submit("x", "clock")
    windows = [driver.event("link", state="waiting")["window"] for _ in range(6)]
    assert windows == [10, 20, 40, 80, 80, 80]
    redis_server.start()
    driver.answer("x")
    redis_server.kill()
    driver.event("link", state="idle")
    driver.submit("x", "clock")
    driver.event("link", state="up")
    assert driver.event("link", state="waiting", window=10)


def test_no_more_than_32_are_in_flight_and_the_others_are_composed_later(drive, fake):
    driver = drive(fake.address)
    for number in range(40):
        driver.submit(f"c{number}", "clock")
    peer = fake.accept()
    for _ in range(32):
        peer.command()
    assert driver.pending() == 40
    composed = [e for e in driver.events if e["event"] == "composed"]
    assert len(composed) == 32
    peer.send(element(["1", "0"]))
    assert peer.command() == ["TIME"]


def test_bodies_that_the_socket_takes_in_parts_arrive_whole(drive, fake):
    driver = drive(fake.address)
    names = [f"c{number}" for number in range(32)]
    for name in names:
        driver.submit(name, "acquire", token=A, turn=900, next=1900)
    peer = fake.accept(login=False)
    assert peer.command()[:2] == ["CLIENT", "SETNAME"]
    for _ in names:
        assert peer.command()[0] == "EVALSHA"
    peer.send(b"+OK\r\n" + b"-NOSCRIPT\r\n" * len(names))
    assert driver.sound()
    body = (SENT_SCRIPTS / "acquire.lua").read_text()
    for _ in names:
        assert peer.command()[:2] == ["EVAL", body]
        peer.send(ACQUIRED)
    for name in names:
        assert driver.answer(name)["answer"] == "granted"


# A server that plays tricks.

ACQUIRED = b"*5\r\n$8\r\nacquired\r\n:1000\r\n:7\r\n:1\r\n:900\r\n"
NOT_OURS = "a reply that is not rota's"


def test_everything_goes_in_one_write_with_the_first_command(drive, fake):
    driver = drive(fake.address, username="u", password="p", database=2)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept(login=False)
    # Nothing was answered yet, and all commands are there.
    assert peer.command() == ["AUTH", "u", "p"]
    assert peer.command() == ["SELECT", "2"]
    assert peer.command() == ["CLIENT", "SETNAME", "driver"]
    keys = [f"test:{{backup}}:{kind}" for kind in ("lock", "claim", "pause", "history")]
    command = peer.command()
    assert command[0] == "EVALSHA" and command[2:] == [
        "4", *keys, A, "900", "1900", "10000", "3", "1", "13000", "3600000", "10", "1", "f1", "s1"]
    peer.send(b"+OK\r\n+OK\r\n-ERR no names here\r\n" + ACQUIRED)
    got = driver.answer("x")
    assert (got["answer"], got["fence"], got["turn"]) == ("granted", 7, 900)


def test_replies_byte_by_byte(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept(login=False)
    for byte in b"+OK\r\n" + ACQUIRED:
        peer.send(bytes([byte]))
        assert driver.sound()  # it has taken this one, by itself
    assert driver.answer("x")["answer"] == "granted"


def test_a_late_reply_is_never_taken_for_another_commands(drive, fake):
    driver = drive(fake.address, command=200, min=1, max=1)
    driver.submit("x", "clock", again=1)
    first = fake.accept()
    first.command()
    assert driver.answer("x")["status"] == "none"
    second = fake.accept()
    second.command()
    try:
        first.send(b"*2\r\n$1\r\n9\r\n$1\r\n0\r\n")
    except OSError:
        pass  # closed already, which is what is wanted
    second.send(b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n")
    assert driver.answer("x")["server"] == 5000
    assert first.is_closed()


def test_the_deadline_of_a_script_sent_again_is_that_of_its_first_sending(drive, fake):
    driver = drive(fake.address, command=600)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept()
    first = peer.command()
    composed = driver.event("composed", id="x")
    wait_for(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 > composed["now"] + 300, 5,
             "half of the time")
    peer.send(b"-NOSCRIPT No matching script. Please use EVAL.\r\n")
    second = peer.command()
    assert second[0] == "EVAL" and second[2:] == first[2:]
    assert second[1] == (SENT_SCRIPTS / "acquire.lua").read_text()
    got = driver.answer("x")
    assert got["status"] == "none" and got["sent"] == composed["now"]
    assert 600 <= got["took"] < 850


def test_a_server_that_never_has_the_script_gives_an_error(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept()
    for _ in range(2):
        peer.command()
        peer.send(b"-NOSCRIPT\r\n")
    assert driver.answer("x")["error"].endswith("(NOSCRIPT)")


def test_no_connection_in_time(drive, fake):
    driver = drive(fake.address, connect=200, command=60_000)
    driver.submit("x", "clock")
    fake.accept(login=False)  # and never a word
    reason = driver.event("link", state="waiting")["reason"]
    assert reason == "no connection within 200 ms"
    assert driver.answer("x")["status"] == "none"


def element(value):
    if isinstance(value, int):
        return b":%d\r\n" % value
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(element, value))
    return b"$%d\r\n%s\r\n" % (len(value), value.encode())


TRICKS = {
    "no protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "status": b"+OK\r\n",
    "nothing": b"$-1\r\n",
    "no array": b"*-1\r\n",
    "number": b":1\r\n",
    "empty": b"*0\r\n",
    "word alone": element(["acquired"]),
    "too short": element(["acquired", 1000, 7, 1]),
    "another script's": element(["recorded", 1000, 1, 0]),
    "another word": element(["acquire", 1000, 7, 1, 900]),
    "text for a number": element(["acquired", 1000, "7", 1, 900]),
    "number for a text": element(["paused", 1000, 7]),
    "nothing for a number": element(["acquired", None, 7, 1, 900]),
    "array for a number": element(["acquired", 1000, [7], 1, 900]),
    "negative fence": element(["acquired", 1000, -7, 1, 900]),
    "no attempt": element(["acquired", 1000, 7, 0, 900]),
    "too large": element(["acquired", 1000, 2**53, 1, 900]),
    "no time": element(["acquired", 0, 7, 1, 900]),
    "time left": element(["held", 1000, -2, "x", 0, 0, 0]),
    "nested": b"*1\r\n" * 5 + b":1\r\n",
    "deep": b"*1\r\n" * 3000,
    "16 GB of pointers": b"*2147483647\r\n",
    "65 elements": b"*65\r\n",
    "negative array": b"*-7\r\n",
    "huge length": b"$99999999999999999999\r\n",
    "endless line": b"+" + b"x" * 200_000,
    "endless bulk": b"$400000000\r\n" + b"x" * 200_000,
    "many elements, each small": b"*64\r\n" + (b"$2000\r\n" + b"x" * 2000 + b"\r\n") * 63,
    "maps": b"%1\r\n+a\r\n+b\r\n",
    "NULs": b"\0" * 100,
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_reply_that_is_not_ours_closes_the_link(drive, fake, trick):
    driver = drive(fake.address, min=1, max=1)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    driver.submit("y", "acquire", token=B, turn=900, next=1900)
    peer = fake.accept()
    peer.command()
    peer.command()
    try:
        peer.send(TRICKS[trick])
    except OSError:
        pass  # closed before it had all
    for name in "xy":
        got = driver.answer(name)
        assert (got["status"], got["error"]) == ("none", NOT_OURS)
    assert driver.event("link", state="waiting")["reason"] == NOT_OURS
    assert peer.is_closed()
    driver.submit("x", "clock")
    peer = fake.accept()
    assert peer.command() == ["TIME"]
    peer.send(b"*2\r\n$1\r\n5\r\n$1\r\n0\r\n")
    assert driver.answer("x")["server"] == 5000


def rss_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.parametrize("head,block", [
    (b"+", b"x" * 65536), (b"$1000000000\r\n", b"x" * 65536), (b"", b"*1\r\n" * 16384),
    (b"*64\r\n", (b"$60000\r\n" + b"x" * 60000 + b"\r\n"))])
def test_memory_is_bounded_whatever_a_server_sends(drive, fake, head, block):
    driver = drive(fake.address, min=1, max=1, name="")
    driver.submit("x", "acquire", token=A, turn=900, next=1900, again=1000)
    for turn in range(20):
        peer = fake.accept(login=False)
        if turn == 2:
            before = rss_kib(driver.process.pid)  # the allocator has had its fill
        try:
            peer.send(head)
            for _ in range(64):
                peer.send(block)
        except OSError:
            pass  # it has closed, as it should
        else:
            pytest.fail("4 MiB were taken for one reply")
        peer.socket.close()
    if not SANITIZED:
        assert rss_kib(driver.process.pid) < before + 256


@pytest.mark.parametrize("reply", [
    element(["1", "x"]), element(["-1", "0"]), element(["1", "1000000"]), element(["1"]),
    element([1, 0]), element(["9" * 30, "0"]), element(["", "0"]), element([" 1", "0"])])
def test_a_clock_that_is_none_closes_the_link(drive, fake, reply):
    driver = drive(fake.address)
    driver.submit("x", "clock")
    peer = fake.accept()
    peer.command()
    peer.send(reply)
    assert driver.answer("x")["error"] == NOT_OURS


@pytest.mark.parametrize("verb,reply", [
    ("renew", ["renewed", 1000, "5"]), ("renew", ["lost", 1000, 5]), ("renew", ["done", 1000, 5, ""]),
    ("finish", ["recorded", 1000, 1]), ("finish", ["recorded", 1000, "1", 0]),
    ("finish", ["acquired", 1000, 7, 1, 900])])
def test_renew_and_finish_take_only_their_own_answers(drive, fake, verb, reply):
    driver = drive(fake.address)
    driver.submit("x", verb, token=A, turn=900)
    peer = fake.accept()
    peer.command()
    peer.send(element(reply))
    assert driver.answer("x")["error"] == NOT_OURS


@pytest.mark.parametrize("reply", [
    element(["1", "0"]), b":1\r\n", b"$2\r\nOK\r\n", b"+QUEUED\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n"])
def test_a_login_answered_with_something_else_closes_the_link(drive, fake, reply):
    driver = drive(fake.address, password="p", database=1)
    driver.submit("x", "clock")
    peer = fake.accept(login=False)
    for _ in range(4):
        peer.command()
    peer.send(b"+OK\r\n" + reply)
    assert driver.event("link", state="waiting")["reason"] == NOT_OURS
    assert driver.answer("x")["status"] == "none"
    assert peer.is_closed()


def test_a_reply_that_nobody_asked_for_closes_the_link(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "clock")
    peer = fake.accept()
    peer.command()
    peer.send(element(["1", "0"]))
    driver.answer("x")
    peer.send(element(["1", "0"]))
    assert driver.event("link", reason=NOT_OURS)
    assert peer.is_closed()


def test_of_an_errors_text_only_the_first_word_is_told_bounded_and_escaped(drive, fake):
    driver = drive(fake.address, password="open sesame")
    driver.submit("x", "clock", again=1)
    peer = fake.accept(login=False)
    peer.command()
    peer.send(b"-ERR unknown command 'AUTH', with args beginning with: 'open sesame'\r\n")
    reason = driver.event("link", state="waiting")["reason"]
    assert reason == "it lacks a command that rota needs (ERR)"
    peer = fake.accept(login=False)
    peer.send(b"+OK\r\n+OK\r\n")
    peer.send(b"-LO\x1b[31m" + b"x" * 5000 + b" open sesame\r\n")
    error = driver.answer("x", status="error")["error"]
    assert error.startswith("an error that rota does not know (LO\\x1b[31mxx")
    assert error.endswith("...)") and len(error) < 80


def test_texts_of_an_answer_are_bounded(drive, fake):
    driver = drive(fake.address)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept()
    peer.command()
    peer.send(element(["held", 1000, -1, "h" * 5000, 0, 3, 1]))
    got = driver.answer("x")
    assert (got["left"], got["holder"]) == (-1, "h" * 256)


def test_every_answer_of_acquire(drive, fake):
    driver = drive(fake.address)
    peer = None
    for reply, expected in [
            (["held", 1000, 5, "h", 900, 3, 2],
             {"answer": "held", "left": 5, "holder": "h", "holder_turn": 900, "fence": 3,
              "watch": 2}),
            (["done", 1000, 900, "", "t"],
             {"answer": "done", "turn": 900, "holder": "t", "why": ""}),
            (["done", 1000, 900, "assumed"],
             {"answer": "done", "turn": 900, "holder": "", "why": "assumed"}),
            (["spare", 1000, 7, 1, 900],
             {"answer": "spare", "fence": 7, "attempt": 1, "turn": 900}),
            (["passed", 1000, 950], {"answer": "passed", "turn": 950}),
            (["wait", 1000, 50, "failed"], {"answer": "wait", "left": 50, "why": "failed"}),
            (["exhausted", 1000, 3, 1], {"answer": "exhausted", "attempt": 3, "first": 1}),
            (["paused", 1000, "ann"], {"answer": "paused", "why": "ann"}),
            (["early", 1000, 7], {"answer": "early", "left": 7}),
            (["over", 1000, "failed"], {"answer": "over", "why": "failed"})]:
        driver.submit("x", "acquire", token=A, turn=900, next=1900)
        peer = peer or fake.accept()
        peer.command()
        peer.send(element(reply))
        got = driver.answer("x")
        assert got["server"] == 1000
        assert {key: got[key] for key in expected} == expected
