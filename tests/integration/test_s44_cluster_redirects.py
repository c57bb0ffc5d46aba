# SPDX-License-Identifier: MIT
"""S44: a node of a Redis Cluster answers MOVED or ASK. Any command is followed once, with the deadline and the instant
of its first sending; nodes that send to each other make no loop. The nodes are played by the test."""
import os
import threading
import time

import pytest

from played_cluster import ACQUIRE, RECORDED, TIME, FakeNode, asked, nodes, serve
from redis_server import wait_for
from store_harness import ACQUIRED, SECONDS, element


# Followed once.

@pytest.mark.parametrize("verb, reply", [
    ("acquire", ACQUIRED), ("renew", element(["renewed", 1000, 500])), ("finish", RECORDED),
    ("pause", element(["paused", 1000, ""])), ("index", element(["indexed", 1000])),
    ("config_put", element(["stored", 1000]))])
def test_moved_is_followed(drive, nodes, verb, reply):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    keys = {"digest": "d1", "text": "t"} if verb == "config_put" else {"text": "t"}
    driver.submit("x", verb, **{**ACQUIRE, "outcome": "succeeded", **keys})
    first = a.accept()
    sent = first.command()
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    assert second.command() == sent
    second.send(reply)
    got = driver.answer("x")
    assert got["status"] == "answered", got
    assert got["sent"] == driver.event("composed", id="x")["now"]


def test_whom_a_node_names_hears_the_password(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, password="sesame")
    driver.submit("x", "clock")
    first = a.accept(login=False)
    assert [first.command()[0] for _ in range(3)] == ["AUTH", "CLIENT", "TIME"]
    first.send(b"+OK\r\n" * 2)
    a.sends(first, "MOVED", b.place)
    assert b.accept(login=False).command() == ["AUTH", "sesame"]


def test_where_a_slot_is_is_learned(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    second.command()
    second.send(ACQUIRED)
    driver.answer("x")
    for _ in range(3):  # at once to the right one
        driver.submit("x", "acquire", **ACQUIRE)
        second.command()
        second.send(ACQUIRED)
        assert driver.answer("x")["answer"] == "granted"


def test_ask_is_followed_and_nothing_is_learned(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    sent = None
    for _ in range(3):
        a.sends(first, "ASK", b.place)
        if sent is None:
            second = b.accept()
        assert second.command() == ["ASKING"]
        sent = second.command()
        assert sent[0] == "EVALSHA"
        second.send(b"+OK\r\n" + ACQUIRED)
        assert driver.answer("x")["answer"] == "granted"
        driver.submit("x", "acquire", **ACQUIRE)
        assert first.command() == sent  # asked first again
    first.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_a_script_that_the_other_does_not_have(drive, nodes):
    """Each node has its own scripts: the body goes to the one that lacks it, once, and ASKING before it again."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "ASK", b.place)
    second = b.accept()
    assert second.command() == ["ASKING"]
    assert second.command()[0] == "EVALSHA"
    second.send(b"+OK\r\n-NOSCRIPT No matching script.\r\n")
    assert second.command() == ["ASKING"]
    assert second.command()[0] == "EVAL"
    second.send(b"+OK\r\n" + ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_moved_and_then_ask(drive, nodes):
    """A slot that moved, and is on its way again: one of each."""
    a, b, c = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    second.command()
    b.sends(second, "ASK", c.place)
    third = c.accept()
    assert third.command() == ["ASKING"]
    third.command()
    third.send(b"+OK\r\n" + ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


# No loop.

def test_two_nodes_that_send_to_each_other(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    second.command()
    b.sends(second, "MOVED", a.place)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", "busy")
    assert got["error"] == "its nodes do not agree which of them has the job's keys"
    # The last word counts; and it ends as before.
    driver.submit("x", "acquire", **ACQUIRE)
    first.command()
    a.sends(first, "MOVED", b.place)
    second.command()
    b.sends(second, "MOVED", a.place)
    assert driver.answer("x")["fault"] == "busy"
    assert driver.pending() == 0 and driver.sound()


def test_two_nodes_that_say_ask(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "ASK", b.place)
    second = b.accept()
    assert second.command() == ["ASKING"]
    second.command()
    second.send(b"+OK\r\n")
    b.sends(second, "ASK", a.place)
    assert driver.answer("x")["fault"] == "busy"
    assert driver.pending() == 0


def test_a_node_that_sends_to_itself(drive, nodes):
    a = nodes[0]
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", a.place)
    first.command()
    a.sends(first, "MOVED", a.place)
    assert driver.answer("x")["fault"] == "busy"


def test_every_job_is_sent_round_in_circles(drive, nodes):
    """Many at once, and neither node ever serves: each is answered, and the commands are two for each."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    names = [f"x{number}" for number in range(20)]
    for name in names:
        driver.submit(name, "clock")
    first, second = a.accept(), None
    for _ in names:
        first.command()
    for _ in names:
        a.sends(first, "MOVED", b.place)
    second = b.accept()
    for _ in names:
        second.command()
    for _ in names:
        b.sends(second, "MOVED", a.place)
    assert {driver.answer(name)["fault"] for name in names} == {"busy"}
    assert driver.pending() == 0


# The time of the first sending.

def test_the_deadline_is_that_of_the_first_sending(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, command=1000)
    first = asked(driver, a)
    composed = driver.event("composed", id="x")["now"]
    time.sleep(0.3)  # what the first node takes for its answer
    a.sends(first, "MOVED", b.place)
    b.accept().command()
    got = driver.answer("x")
    assert (got["status"], got["sent"]) == ("none", composed)
    assert 1000 <= got["took"] < 1500


def test_what_has_little_time_left_is_not_sent_on(drive, nodes):
    """Else it would end the new connection by its time-out, and all of its repeats would, too."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, command=1000)
    first = asked(driver, a)
    time.sleep(0.6)  # what the first node takes for its answer
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", "busy")
    assert got["error"] == f"too little time was left to ask its node {b.place}, which has the job's keys"
    driver.submit("x", "acquire", **ACQUIRE)
    assert second.command()[0] == "EVALSHA"
    second.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_the_other_cannot_be_reached(drive, nodes):
    """Nothing was changed, and that is known."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    b.listener.close()
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", "busy")
    assert got["error"] == f"its node {b.place}, which has the job's keys, cannot be reached"
    driver.submit("x", "acquire", **ACQUIRE)  # who is there is asked again
    assert first.command()[0] == "EVALSHA"
    first.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_the_other_is_silent(drive, nodes):
    """It takes the connection, and says nothing: the command was sent there, so what became of it is unknown."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, command=500)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    b.accept(login=False)
    got = driver.answer("x")
    assert got["status"] == "none" and got["took"] < 1500
    assert driver.pending() == 0


# What other nodes are called.

def test_the_same_host(drive, nodes):
    """cluster-preferred-endpoint-type unknown-endpoint: an empty host is that of the node which says so."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", f":{b.port}")
    second = b.accept()
    second.command()
    second.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_an_ipv6_address_without_brackets(drive, nodes):
    a = nodes[0]
    b = FakeNode("::1")
    try:
        driver = drive(a.address, cluster=1)
        first = asked(driver, a)
        a.sends(first, "MOVED", b.place)
        second = b.accept()
        second.command()
        second.send(ACQUIRED)
        assert driver.answer("x")["answer"] == "granted"
        assert driver.event("link", state="up", endpoint=f"[::1]:{b.port}")
    finally:
        b.close()


@pytest.mark.parametrize("place, fault, words", [
    ("?:7001", "operator", "cluster-announce-hostname"),
    ("nonsense", "unknown", "not to which node"),
    ("a b:7001", "unknown", "not to which node"),
    ("127.0.0.1:0", "unknown", "not to which node"),
    ("127.0.0.1:99999", "unknown", "not to which node"),
    ("x" * 300 + ":7001", "unknown", "not to which node"),
])
def test_what_is_no_place(drive, nodes, place, fault, words):
    a = nodes[0]
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", place)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", fault) and words in got["error"]
    driver.submit("x", "acquire", **ACQUIRE)  # on the same connection
    first.command()
    first.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_a_node_that_names_nodes_without_end(drive, nodes):
    """Whoever answers cannot make a device open connections for ever: nodes that have no slot are given up."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, connect=200, max=20)
    first = asked(driver, a)
    for number in range(400):
        a.sends(first, "MOVED", f"127.9.{number // 250}.{number % 250 + 1}:1")
        assert driver.answer("x")["status"] == "error"
        driver.submit("x", "acquire", **ACQUIRE)
        first.command()
    assert len(os.listdir(f"/proc/{driver.process.pid}/fd")) < 20

    def is_followed():
        """Room is there again, a moment later."""
        a.sends(first, "MOVED", b.place)
        if driver.answer("x")["status"] == "answered":
            return True
        driver.submit("x", "acquire", **ACQUIRE)
        return first.command() is None
    threading.Thread(target=lambda: serve(b), daemon=True).start()
    wait_for(is_followed, SECONDS, "a node that is there is connected to")
    assert driver.sound() and driver.pending() == 0


# Calls that nobody wants any more, and calls that wait.

def test_a_cancelled_call_is_not_followed(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    driver.say("cancel x")
    assert driver.pending() == 0
    a.sends(first, "MOVED", b.place)
    assert b.is_left_alone()


def test_a_call_is_cancelled_on_its_way(drive, nodes):
    """While the connection to the other node is made."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    second = b.accept(login=False)
    driver.say("cancel x")
    assert driver.pending() == 0
    driver.submit("y", "acquire", **ACQUIRE)
    while second.command()[0] != "EVALSHA":
        pass
    driver.say("cancel y")
    assert driver.pending() == 0 and driver.sound()


def test_what_waits_goes_where_its_slot_went(drive, nodes):
    """The connection takes 32 at a time; what is queued behind them does not ask the wrong node any more."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    names = [f"x{number}" for number in range(40)]
    for name in names:
        driver.submit(name, "clock")
    first = a.accept()
    for _ in range(32):
        first.command()
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    for _ in range(9):  # the one that was sent on, and the eight that waited
        assert second.command() == ["TIME"]
        second.send(TIME)
    for _ in range(31):
        first.send(TIME)
    assert {driver.answer(name)["status"] for name in names} == {"answered"}


# Other answers of a cluster.

def test_tryagain_is_an_answer(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    first.send(b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n")
    got = driver.answer("x")
    assert (got["status"], got["fault"], got["error"]) == ("error", "busy", "it is moving the job's keys (TRYAGAIN)")
    assert b.is_left_alone(0.1)


def test_clusterdown_asks_another_node_the_next_time(drive, nodes):
    """It may be cut off from the others, who go on without it."""
    a, b, _ = nodes
    driver = drive(a.address, b.address, cluster=1)
    driver.submit("x", "acquire", **ACQUIRE)
    first = next(node for node in (a, b) if not node.is_left_alone(0.5))
    other = b if first is a else a
    peer = first.peers[0]
    while peer.command()[0] != "EVALSHA":
        pass
    peer.send(b"+OK\r\n-CLUSTERDOWN The cluster is down\r\n")
    assert driver.answer("x")["fault"] == "busy"
    driver.submit("x", "acquire", **ACQUIRE)
    second = other.accept()
    second.command()
    second.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"
