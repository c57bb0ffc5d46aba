# SPDX-License-Identifier: MIT
"""The store on Redis: against a real server, and how its calls are kept."""
import os
import pathlib
import signal
import socket
import time

import pytest
import redis

from redis_server import free_port
from resp import script_body
from store_harness import A, ACQUIRED, B, CLAIM, LOCK, element, make_known, now_ms


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
    body = script_body("acquire")
    for _ in names:
        assert peer.command()[:2] == ["EVAL", body]
        peer.send(ACQUIRED)
    for name in names:
        assert driver.answer(name)["answer"] == "granted"
