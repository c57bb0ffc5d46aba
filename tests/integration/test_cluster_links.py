# SPDX-License-Identifier: MIT
"""Connections to the nodes of a Redis Cluster: which there are, how long, and what is told of them. The nodes are played
by the test."""
import socket
import time

import pytest

from played_cluster import ACQUIRE, TIME, asked, nodes
from store_harness import ACQUIRED, SECONDS


def test_without_the_setting_it_is_said(drive, nodes):
    a, b, _ = nodes
    driver = drive(a.address)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    got = driver.answer("x")
    assert (got["status"], got["fault"]) == ("error", "operator")
    assert got["error"] == "it is a Redis Cluster; write redis.cluster = true (MOVED)"
    assert b.is_left_alone(0.1)


# Connections.

def test_a_node_that_has_no_slot_any_more_is_left(drive, nodes):
    a, b, c = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    second.command()
    assert first.is_closed()  # within the second for which a link lingers
    b.sends(second, "MOVED", c.place)
    assert driver.answer("x")["fault"] == "busy"
    driver.submit("x", "acquire", **ACQUIRE)
    third = c.accept()
    third.command()
    third.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"
    assert second.is_closed()


def test_a_node_goes_and_the_next_knows_more(drive, nodes):
    """Its slots go to another one that is there, which says who has them."""
    a, b, c = nodes
    driver = drive(a.address, cluster=1)
    clock = asked(driver, a, "t", "clock")  # the fleet's slot stays with a
    clock.send(TIME)
    driver.answer("t")
    driver.submit("x", "acquire", **ACQUIRE)
    clock.command()
    a.sends(clock, "MOVED", b.place)
    second = b.accept()
    second.command()
    second.socket.shutdown(socket.SHUT_RDWR)
    b.listener.close()
    assert driver.answer("x")["status"] == "none"
    driver.submit("x", "acquire", **ACQUIRE)
    clock.command()
    a.sends(clock, "MOVED", c.place)
    third = c.accept()
    third.command()
    third.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_a_lost_connection_is_made_anew_at_once(drive, nodes):
    """The node is there still: it is named again, and asked again, before any window of its back-off."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, min=30_000, max=60_000)
    clock = asked(driver, a, "t", "clock")
    clock.send(TIME)
    driver.answer("t")
    driver.submit("x", "acquire", **ACQUIRE)
    clock.command()
    a.sends(clock, "MOVED", b.place)
    second = b.accept()
    second.command()
    second.send(ACQUIRED)
    driver.answer("x")
    driver.submit("x", "acquire", **ACQUIRE)
    second.command()
    second.socket.shutdown(socket.SHUT_RDWR)
    assert driver.answer("x")["status"] == "none"
    driver.submit("x", "acquire", **ACQUIRE)
    clock.command()
    a.sends(clock, "MOVED", b.place)
    again = b.accept()
    again.command()
    again.send(ACQUIRED)
    assert driver.answer("x", seconds=5)["answer"] == "granted"


def learn_two(drive, nodes, **options):
    """The fleet's slot is with a, the job's with b; both connections are there."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1, **options)
    first = asked(driver, a, "t", "clock")
    first.send(TIME)
    driver.answer("t")
    driver.submit("x", "acquire", **ACQUIRE)
    first.command()
    a.sends(first, "MOVED", b.place)
    second = b.accept()
    second.command()
    second.send(ACQUIRED)
    driver.answer("x")
    return driver, first, second


def test_a_node_that_was_not_used_for_long_is_not_kept_for_the_others(drive, nodes):
    """There is always something to ask soon, of a; b closes after idle_timeout."""
    driver, first, second = learn_two(drive, nodes, idle=700)
    began = time.monotonic()
    second.socket.settimeout(0.05)
    while time.monotonic() < began + SECONDS:
        driver.submit("t", "clock")
        assert first.command() == ["TIME"]
        first.send(TIME)
        driver.answer("t")
        driver.say("expect 200 never")
        driver.event("expected")
        try:
            if second.socket.recv(1) == b"":
                break
        except TimeoutError:
            continue
    assert 0.7 < time.monotonic() - began < SECONDS
    driver.submit("x", "acquire", **ACQUIRE)  # and is opened again when it is asked
    again = nodes[1].accept()
    again.command()
    again.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_while_a_lease_is_held_its_node_is_kept(drive, nodes):
    driver, first, second = learn_two(drive, nodes, idle=300)
    second.socket.settimeout(0.5)
    for _ in range(5):  # after each event
        driver.say("expect now never")
        driver.event("expected")
        with pytest.raises(TimeoutError):
            second.socket.recv(1)
    driver.say("expect never never")
    driver.event("expected")
    second.socket.settimeout(SECONDS)
    assert second.is_closed() and first.is_closed()


def test_only_the_node_of_a_takeover_is_opened_ahead(drive, nodes):
    """Nobody asks anything until then."""
    driver, first, second = learn_two(drive, nodes, idle=100, command=500)
    driver.say("expect never never")
    driver.event("expected")
    assert first.is_closed() and second.is_closed()
    driver.say("expect never 1500")
    driver.event("expected")
    nodes[1].accept()
    assert nodes[0].is_left_alone()


def test_several_names_are_asked_for_one_after_the_other(drive, nodes):
    """The driver has no resolver: each is refused, and nothing hangs."""
    a, *_ = nodes
    driver = drive(a.address, cluster=1)
    for name in ("x", "y", "z"):
        driver.submit(name, "clock")
    first = a.accept()
    for number in range(3):
        first.command()
        a.sends(first, "MOVED", f"node-{number}.example:7001")
    assert {driver.answer(name)["fault"] for name in ("x", "y", "z")} == {"busy"}
    assert driver.pending() == 0 and driver.sound()


def test_people_are_told_where_all_nodes_are_away(drive, nodes):
    """Also where they fail at their own paces, so that there is always one whose next try is not waited for."""
    a, b, _ = nodes
    driver = drive(a.address, b.address, cluster=1, connect=300, min=1, max=1)
    a.listener.close()
    driver.submit("x", "clock", again=1000)
    assert driver.event("link", state="waiting", seconds=5)["fault"] == "link"
    assert driver.sound()


def test_a_node_that_waits_for_its_next_try_is_not_waited_for(drive, nodes):
    """Its back-off is its own; who is sent to it meanwhile hears so at once, and asks the other one again, which knows
    when the slot has gone to a third."""
    a, b, c = nodes
    driver = drive(a.address, cluster=1, min=60_000, max=60_000)
    b.listener.close()
    first = asked(driver, a)
    for _ in range(5):
        began = time.monotonic()
        a.sends(first, "MOVED", b.place)
        assert driver.answer("x")["fault"] == "busy"
        assert time.monotonic() - began < 2
        driver.submit("x", "acquire", **ACQUIRE)
        first.command()
    a.sends(first, "MOVED", c.place)
    third = c.accept()
    third.command()
    third.send(ACQUIRED)
    assert driver.answer("x")["answer"] == "granted"


def test_a_call_is_cancelled_where_ask_has_sent_it(drive, nodes):
    """That is not the node that has its slot."""
    a, b, _ = nodes
    driver = drive(a.address, cluster=1)
    first = asked(driver, a)
    a.sends(first, "ASK", b.place)
    second = b.accept()
    assert [second.command()[0], second.command()[0]] == ["ASKING", "EVALSHA"]
    driver.say("cancel x")
    assert driver.pending() == 0
    second.send(b"+OK\r\n" + ACQUIRED)
    driver.submit("y", "acquire", **ACQUIRE)
    first.command()
    first.send(ACQUIRED)
    assert driver.answer("y")["answer"] == "granted"
    assert not [event for event in driver.events if event["event"] == "answer"]
