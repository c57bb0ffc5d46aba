# SPDX-License-Identifier: MIT
"""redis.idle_timeout: no connection while none is needed for long, and one in time for who watches."""
import os
import signal
import socket

import pytest

from fault_proxy import redis_by
from fleet import ONCE, SHORT, now_ms, wait_for

FAR = 3_600_000
IDLE = {"idle_timeout": "0s"}
# Its next hello is far off as well: within 5 minutes once in 8,640 times.
RARELY = {"checkin": "30d"}


def expect(driver, next_ms, watch="never"):
    driver.say(f"expect {next_ms} {watch}")
    return driver.event("expected")["at"]


def connected(client, name="driver"):
    return [each for each in client.client_list() if each["name"] == name]


def states(driver):
    return [each["state"] for each in driver.events if each["event"] == "link"]


def test_closed_quietly_when_the_next_need_is_far_off(drive, redis_server):
    driver = drive(redis_server.address, idle=60_000)
    driver.call("clock")
    expect(driver, FAR)
    closed = driver.event("link", state="idle")
    assert (closed["fault"], closed["reason"]) == ("none", "")
    with redis_server.client() as client:
        wait_for(lambda: not connected(client), 10, "Redis has seen the end")
    assert driver.sound()
    assert driver.call("clock", "y")["status"] == "answered"
    driver.event("link", state="idle")  # and again, with nothing new said


def test_kept_while_needed_soon_or_a_token_is_out(drive, redis_server):
    """Each is asked before the one that closes, and is there when that is closed."""
    soon, token = (drive(redis_server.address, idle=60_000, name=name) for name in ("soon", "token"))
    far = drive(redis_server.address, idle=60_000)
    for driver, need in ((soon, 59_000), (token, "now"), (far, FAR)):
        driver.call("clock")
        expect(driver, need)
    far.event("link", state="idle")
    with redis_server.client() as client:
        assert connected(client, "soon") and connected(client, "token")
    expect(token, "never")
    token.event("link", state="idle")
    assert soon.sound() and "idle" not in states(soon)


def test_kept_while_a_reply_is_to_come(drive, redis_server):
    driver, other = (drive(redis_server.address, name=name) for name in ("driver", "other"))
    driver.call("clock")
    other.call("clock")
    os.kill(redis_server.process.pid, signal.SIGSTOP)
    try:
        driver.submit("x", "clock")
        for each in (driver, other):
            expect(each, FAR)
        other.event("link", state="idle")
    finally:
        os.kill(redis_server.process.pid, signal.SIGCONT)
    assert driver.answer("x")["status"] == "answered"
    driver.event("link", state="idle")


def test_a_need_that_comes_meanwhile_keeps_it(drive, redis_server):
    driver, other = (drive(redis_server.address, name=name) for name in ("driver", "other"))
    for each in (driver, other):
        each.call("clock")
        expect(each, FAR)
    expect(driver, "now")
    other.event("link", state="idle")
    assert driver.sound() and "idle" not in states(driver)


def test_opened_ahead_of_a_watch(drive, redis_server):
    """And kept until the question comes, though that is further off than idle_timeout."""
    driver, other = (drive(redis_server.address, command=3000, name=name) for name in ("driver", "other"))
    for each in (driver, other):
        each.call("clock")
        expect(each, FAR)
    driver.event("link", state="idle")
    driver.events.clear()
    at = expect(driver, 5000, 5000)
    opened = driver.event("link", state="up")["at"] - at
    assert 1900 <= opened < 5000
    other.call("clock", "y")  # a moment after the other was opened
    other.event("link", state="idle")
    other.event("link", state="idle")
    assert driver.sound() and states(driver) == ["connecting"]


def test_opened_ahead_once(drive, fake):
    """A server that closes every connection at once is not connected to without end."""
    driver = drive(fake.address, command=60_000)
    fake.listener.settimeout(1)
    for _ in range(2):
        expect(driver, 30_000, 30_000)  # another instant each time
        peer = fake.accept()
        driver.event("link", state="up")
        peer.socket.shutdown(socket.SHUT_RDWR)
        driver.event("link", state="idle")
        with pytest.raises(TimeoutError):
            fake.accept()
    assert driver.sound()


def test_a_device_with_nothing_to_do_has_no_connection(fleet):
    fleet.make_due("nightly")
    device = fleet.device({"nightly": {**SHORT, **ONCE, **fleet.body("nightly")}}, **RARELY,
                          redis={"address": fleet.redis.address, "idle_timeout": "5m"}).start()
    fleet.wait_history("nightly")
    device.wait_line("the connection is closed, since it is not needed for now")
    wait_for(lambda: not connected(fleet.client, device.name), 10, "no connection")
    assert device.complaints() == []


def test_a_device_of_a_large_fleet_has_none_while_others_take_the_turns(fleet, proxy):
    """A turn falls due every second; of a million devices one asks for it in hours."""
    hour, million = 3_600_000, 1_000_000
    fleet.client.hset("test:{_fleet}:size", mapping={
        "hour": now_ms() // hour, "now": million * hour, "before": million * hour,
        "hellos": 100, "hellos_before": 100})
    device = fleet.device({"tick": {**SHORT, "every": "1s", **fleet.body("tick")}}, **RARELY,
                          redis=redis_by(proxy, idle_timeout="5m")).start()
    device.wait_line("the connection is closed")
    until = now_ms() + 4000
    wait_for(lambda: now_ms() > until, 10, "some turns have passed")
    assert proxy.connections == 1 and not proxy.open
    assert device.complaints() == []


def test_it_is_never_closed_during_a_run(fleet, proxy):
    """A short lease, so that nothing is asked from the grant to the finish."""
    fleet.make_due("long")
    job = {"plugin": "exec", "worst_case": "30s", "stop_grace": "300ms", "lease": "60s", **ONCE}
    device = fleet.device({"long": {**job, **fleet.body("long", "sleep 2.5")}},
                          redis=redis_by(proxy, **IDLE)).start()
    fleet.wait_history("long", within=20)
    acquired, finished = proxy.commands("acquire")[-1], proxy.commands("finish")[-1]
    assert acquired.connection == finished.connection
    assert finished.at - acquired.at > 2
    device.wait_line("the connection is closed", count=1)


def test_who_watches_has_a_connection_in_time(fleet, proxy):
    """The lease's end is further off than a connection is kept; C is 2 s."""
    fleet.make_due("taken")
    fleet.client.set(fleet.key("taken", "lock"), "other:" + "0" * 32, px=6000)
    device = fleet.device({"taken": {**SHORT, **ONCE, "worst_case": "10s", **fleet.body("taken")}},
                          redis=redis_by(proxy, command_timeout="2s", **IDLE)).start()
    device.wait_line("the connection is closed")
    fleet.wait_history("taken", within=20)
    refused, granted = proxy.commands("acquire")[:2]
    opened = [seen for seen in proxy.commands("CLIENT") if seen.connection == granted.connection]
    assert refused.connection != granted.connection
    assert granted.at - opened[0].at > 1
