# SPDX-License-Identifier: MIT
"""The store on Redis, against a server that plays tricks."""
import pathlib
import time

import pytest

from fleet import SANITIZED
from redis_server import wait_for
from resp import script_body
from store_harness import A, ACQUIRED, B, NOT_OURS, element


# A server that plays tricks.



def test_everything_goes_in_one_write_with_the_first_command(drive, fake):
    driver = drive(fake.address, username="u", password="p", database=2)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept(login=False)
    # Nothing was answered yet, and all commands are there.
    assert peer.command() == ["AUTH", "u", "p"]
    assert peer.command() == ["SELECT", "2"]
    assert peer.command() == ["CLIENT", "SETNAME", "driver"]
    keys = [f"test:{{backup}}:{kind}" for kind in ("lock", "claim", "pause", "history", "seats")]
    command = peer.command()
    assert command[0] == "EVALSHA" and command[2:] == [
        "5", *keys, A, "900", "1900", "10000", "3", "1", "13000", "3600000", "10", "1", "f1", "s1",
        "0"]
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
    driver = drive(fake.address, command=2000)
    driver.submit("x", "acquire", token=A, turn=900, next=1900)
    peer = fake.accept()
    first = peer.command()
    composed = driver.event("composed", id="x")
    wait_for(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 > composed["now"] + 1000, 5,
             "half of the time")
    peer.send(b"-NOSCRIPT No matching script. Please use EVAL.\r\n")
    second = peer.command()
    assert second[0] == "EVAL" and second[2:] == first[2:]
    assert second[1] == script_body("acquire")
    got = driver.answer("x")
    assert got["status"] == "none" and got["sent"] == composed["now"]
    assert 2000 <= got["took"] < 3000


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
    (b"*64\r\n", b"*1000\r\n:1\r\n" * 1000), (b"*64\r\n", (b"$60000\r\n" + b"x" * 60000 + b"\r\n"))])
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
            (["paused", 1000, "ann", -1], {"answer": "paused", "why": "ann", "left": -1}),
            (["early", 1000, 7], {"answer": "early", "left": 7}),
            (["over", 1000, "failed"], {"answer": "over", "why": "failed"})]:
        driver.submit("x", "acquire", token=A, turn=900, next=1900)
        peer = peer or fake.accept()
        peer.command()
        peer.send(element(reply))
        got = driver.answer("x")
        assert got["server"] == 1000
        assert {key: got[key] for key in expected} == expected
