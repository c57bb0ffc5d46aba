# SPDX-License-Identifier: MIT
"""A master that Sentinel names: three real sentinels, real failovers; and what else sentinels may say, by a fake one."""
import socket


import contextlib
import time

import pytest

from redis_server import free_port, wait_for
from sentinel import DEVICE_RULES, Group, boot_ms
from store_harness import A, B, CLAIM, LOCK, SECONDS, FakeServer, element, make_known

# How soon after a sentinel's word the link is on the new master. Part of it is meant: so that no fleet storms it.
MOVED_MS = 2000
SPREAD_MS = 1000
WAITED = 60


@pytest.fixture
def group():
    group = Group()
    yield group.start()
    group.close()


@pytest.fixture(scope="module")
def calm():
    """Whose master stays: who stops a sentinel lets it go on."""
    group = Group(replicas=1)
    yield group.start()
    group.close()


def asks_until_answered(driver, seconds=WAITED):
    """As a job that is due does."""
    deadline = time.monotonic() + seconds
    while driver.call("clock", urgent=1)["status"] != "answered":
        assert time.monotonic() < deadline, driver.events


def comes_up_at(driver, server, seconds=WAITED):
    return driver.event("link", seconds, state="up", endpoint=server.text)["at"]


# Finding it.

def test_the_master_is_found_and_one_sentinel_is_listened_to(drive, calm):
    driver = drive(**calm.driven())
    with calm.master().client() as client:
        turn = make_known(client)
        assert driver.call("acquire", token=A, **turn)["answer"] == "granted"
        assert client.get(LOCK) == A
        client.delete(LOCK, CLAIM)
    comes_up_at(driver, calm.master())
    assert [sentinel.devices() for sentinel in calm.sentinels] == [{"driver": 1}, {}, {}]
    assert driver.sound()


def test_nothing_is_asked_before_it_is_needed_and_nothing_is_kept_after(drive, calm):
    driver = drive(**calm.driven())
    assert driver.pending() == 0 and calm.sentinels[0].devices() == {}
    driver.say("expect never never")
    driver.call("clock")
    driver.event("link", state="idle")
    wait_for(lambda: calm.sentinels[0].devices() == {}, SECONDS, "nobody listens to it")
    driver.call("clock")
    assert driver.event("link", state="up", endpoint=calm.master().text)


# Failovers.

def test_a_planned_failover(drive, group):
    driver, old = drive(**group.driven()), group.master()
    driver.call("clock")
    comes_up_at(driver, old)
    began = boot_ms()
    group.failover()
    switch = group.wait_switch(began)
    new = group.server_at(switch.port)
    at = comes_up_at(driver, new)
    assert at - switch.at < MOVED_MS
    # For seconds the old one is writable still, and holds on to whoever stays.
    assert old.role() == "master" and "driver" not in old.devices()
    assert driver.call("clock")["status"] == "answered"


def test_the_master_is_killed(drive, group):
    driver, old = drive(**group.driven()), group.master()
    driver.call("clock")
    comes_up_at(driver, old)
    began = boot_ms()
    old.kill()
    driver.submit("t", "clock", urgent=1)
    switch = group.wait_switch(began)
    at = comes_up_at(driver, group.server_at(switch.port))
    assert at - switch.at < MOVED_MS
    assert driver.answer("t")["status"] == "answered"


def test_the_master_is_frozen(drive, group):
    driver, old = drive(**group.driven(command=300)), group.master()
    driver.call("clock")
    comes_up_at(driver, old)
    began = boot_ms()
    old.freeze()
    try:
        assert driver.call("clock", urgent=1)["status"] == "none"
        asks_until_answered(driver)
        switch = group.wait_switch(began)
        assert comes_up_at(driver, group.server_at(switch.port)) - switch.at < MOVED_MS
    finally:
        old.thaw()


def test_back_off_has_grown_long_and_ends_with_the_switch(drive, group):
    """No window of the back-off is waited for once a sentinel has said where the master is."""
    driver, old = drive(**group.driven(min=60_000, max=600_000)), group.master()
    driver.call("clock")
    comes_up_at(driver, old)
    began = boot_ms()
    old.kill()
    driver.submit("t", "clock")
    driver.event("link", state="waiting")
    switch = group.wait_switch(began)
    assert comes_up_at(driver, group.server_at(switch.port)) - switch.at < MOVED_MS
    assert driver.answer("t")["status"] == "answered"


def test_a_fleet_does_not_come_all_at_once(drive, group):
    drivers, old = [drive(**group.driven()) for _ in range(12)], group.master()
    for driver in drivers:
        driver.call("clock")
        comes_up_at(driver, old)
    began = boot_ms()
    group.failover()
    new = group.server_at(group.wait_switch(began).port)
    times = sorted(comes_up_at(driver, new) for driver in drivers)
    assert times[-1] - times[0] > SPREAD_MS // 4
    assert times[-1] - began < MOVED_MS + 10_000


# Nothing counts as held that is not confirmed.

def test_a_lease_whose_key_was_lost_is_taken_back_or_lost(drive, group):
    driver, old = drive(**group.driven()), group.master()
    [replica] = group.others()
    with old.client() as client:
        turn = make_known(client)
        client.execute_command("WAIT", 1, 5000)
    # The replica hears no more: what is granted from here on goes with the old master.
    replica.freeze()
    lease = driver.call("acquire", token=A, **turn)
    assert lease["answer"] == "granted"
    began = boot_ms()
    old.kill()
    replica.thaw()
    driver.submit("r", "renew", token=A, turn=turn["turn"], fence=lease["fence"], urgent=1)
    new = group.server_at(group.wait_switch(began).port)
    comes_up_at(driver, new)
    with new.client() as client:
        # Whether its end or the replica's sleep came first, it has one of the two.
        kept = client.get(LOCK) == A
    answer = driver.answer("r")
    if answer["status"] != "answered":  # it was in flight as the connection ended
        answer = driver.call("renew", token=A, turn=turn["turn"], fence=lease["fence"])
    assert answer["answer"] in (("renewed",) if kept else ("regained", "lost")), answer


def test_a_lease_that_another_took_meanwhile_is_lost(drive, group):
    driver, old = drive(**group.driven()), group.master()
    with old.client() as client:
        turn = make_known(client)
    lease = driver.call("acquire", token=A, **turn)
    assert lease["answer"] == "granted"
    began = boot_ms()
    group.failover()
    new = group.server_at(group.wait_switch(began).port)
    with new.client() as client:
        client.delete(LOCK)
    other = drive(**group.driven())
    later = {"turn": turn["next"], "next": turn["next"] + 60_000}
    comes_up_at(driver, new)
    with new.client() as client:
        client.hset(CLAIM, mapping={"turn": later["turn"], "token": B, "state": "running", "attempt": 1})
        client.set(LOCK, B, px=60_000)
    assert other.call("clock")["status"] == "answered"
    comes_up_at(other, new)
    assert driver.call("renew", token=A, turn=turn["turn"], fence=lease["fence"])["answer"] == "lost"


# Sentinels that are of no use.

def test_a_sentinel_is_frozen(drive, calm):
    master = calm.master()
    calm.sentinels[0].freeze()
    try:
        driver = drive(**calm.driven())
        assert driver.call("clock")["status"] == "answered"
        up, begin = comes_up_at(driver, master), driver.event("link", state="connecting")["at"]
        assert 400 <= up - begin < 2500
        # From now on the one that answered is asked first.
        with master.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
        driver.event("link", state="idle")
        began = boot_ms()
        driver.call("clock")
        assert comes_up_at(driver, master) - began < 400
    finally:
        calm.sentinels[0].thaw()


def test_the_sentinel_that_is_listened_to_dies_and_another_is(drive, group):
    driver = drive(**group.driven())
    driver.call("clock")
    assert group.sentinels[0].devices() == {"driver": 1}
    group.sentinels[0].kill()
    wait_for(lambda: group.sentinels[1].devices() == {"driver": 1}, 10, "the next sentinel is listened to")
    comes_up_at(driver, group.master())
    began = boot_ms()
    group.failover(sentinel=1)
    switch = group.wait_switch(began)
    assert comes_up_at(driver, group.server_at(switch.port)) - switch.at < MOVED_MS


def test_a_switch_while_nobody_was_listened_to(drive, group):
    """The sentinel comes back after the failover: it is asked, not only listened to."""
    alone = group.sentinels[2]
    driver, old = drive(sentinel=[alone.endpoint], master=group.name), group.master()
    driver.call("clock")
    comes_up_at(driver, old)
    alone.kill()
    began = boot_ms()
    group.failover()
    new = group.server_at(group.wait_switch(began).port)
    alone.start(fresh=False)
    comes_up_at(driver, new)


def test_no_sentinel_answers(drive, calm):
    ports = [free_port(), free_port()]
    driver = drive(sentinel=[f"127.0.0.1 {port}" for port in ports], master="mymaster")
    driver.submit("t", "clock")
    told = driver.event("link", state="waiting")
    assert told["endpoint"] == "the master 'mymaster'" and told["fault"] == "link"
    assert told["reason"] == "no sentinel answers; 127.0.0.1: connection refused"
    assert driver.pending() == 1


def test_the_name_is_not_known(drive, calm):
    driver = drive(**calm.driven(master="my\x1b[31mmaster"))
    driver.submit("t", "clock")
    told = driver.event("link", state="waiting")
    assert told["endpoint"] == r"the master 'my\x1b[31mmaster'" and told["fault"] == "operator"
    assert told["reason"] == (
        r"no sentinel that answers knows a master 'my\x1b[31mmaster'; write into redis.master the name that "
        '"sentinel monitor" gives it in their sentinel.conf')
    assert [sentinel.devices() for sentinel in calm.sentinels] == [{}, {}, {}]


def test_the_name_is_known_to_one_of_them(drive, calm):
    """A sentinel of another group, and one that is away, are passed over."""
    other = Group(replicas=0, sentinels=1, quorum=1, name="another")
    with_other = other.start()
    try:
        driver = drive(sentinel=[f"127.0.0.1 {free_port()}", with_other.sentinels[0].endpoint, calm.sentinels[1].endpoint],
                       master=calm.name)
        assert driver.call("clock")["status"] == "answered"
        comes_up_at(driver, calm.master())
    finally:
        other.close()


# Logins at the sentinels.

@pytest.fixture(scope="module")
def guarded():
    group = Group(replicas=0, sentinels=1, quorum=1, name='odd"na\\me [x]', sentinel_users=[
        "user default off", f"user watcher on >sesame {DEVICE_RULES}"])
    yield group.start()
    group.close()


def test_a_login_of_their_own(drive, guarded):
    driver = drive(**guarded.driven(sentinel_username="watcher", sentinel_password="sesame"))
    assert driver.call("clock")["status"] == "answered"
    comes_up_at(driver, guarded.master())


@pytest.mark.parametrize("login, words", [
    ({}, "it wants a password; write redis.sentinel_password_file (NOAUTH)"),
    ({"sentinel_username": "watcher", "sentinel_password": "wrong"},
     "it refuses rota; see redis.sentinel_username and sentinel_password_file (WRONGPASS)")])
def test_a_login_that_is_refused(drive, guarded, login, words):
    driver = drive(**guarded.driven(**login))
    driver.submit("t", "clock")
    told = driver.event("link", state="waiting")
    assert told["fault"] == "operator"
    assert told["reason"] == f"no sentinel answers; {guarded.host}: {words}"


def test_one_refuses_the_login_and_another_takes_it(drive, guarded, calm):
    second = Group(replicas=0, sentinels=1, quorum=1, name=guarded.name)
    try:
        second.start()
        driver = drive(sentinel=[guarded.sentinels[0].endpoint, second.sentinels[0].endpoint], master=guarded.name)
        assert driver.call("clock")["status"] == "answered"
        comes_up_at(driver, second.master())
    finally:
        second.close()


# What sentinels may say besides; the test is the sentinel.

class Saying:
    """A sentinel whose answers the test writes. As many connections as come."""

    def __init__(self):
        self.server = FakeServer()
        self.text = self.server.address

    def endpoint(self):
        return self.server.address

    def asked(self):
        peer = self.server.accept()
        assert peer.command() == ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"]
        assert peer.command() == ["SUBSCRIBE", "+switch-master"]
        return peer

    @staticmethod
    def subscribed():
        return element(["subscribe", "+switch-master", 1])

    def says(self, host, port):
        peer = self.asked()
        peer.send(element([host, str(port)]) + self.subscribed())
        return peer

    def close(self):
        self.server.close()


@pytest.fixture
def saying():
    made = []

    def make():
        made.append(Saying())
        return made[-1]
    yield make
    for each in made:
        each.close()


def fake_driver(drive, *sentinels, **more):
    return drive(sentinel=[each.endpoint() for each in sentinels], master="mymaster", **more)


@pytest.mark.parametrize("answer", [
    b"+OK\r\n", b":1\r\n", b"*1\r\n$1\r\na\r\n", b"*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n",
    element(["10.0.0.1", "0"]), element(["10.0.0.1", "65536"]), element(["10.0.0.1", "-1"]), element(["10.0.0.1", "6379x"]),
    element(["10.0.0.1", 6379]), element(["", "6379"]), element(["-x", "6379"]), element(["a b", "6379"]),
    element(["a\n", "6379"]), element(["h" * 254, "6379"]), element(["10.0.0.1", None]), element([None, None])])
def test_an_answer_that_is_none_is_not_used(drive, saying, calm, answer):
    first = saying()
    driver = drive(sentinel=[first.endpoint(), calm.sentinels[0].endpoint], master=calm.name)
    driver.submit("t", "clock")
    first.asked().send(answer)
    assert driver.answer("t")["status"] == "answered"
    comes_up_at(driver, calm.master())


def test_an_address_that_is_down_leads_to_another_sentinel(drive, saying, calm):
    first = saying()
    driver = drive(sentinel=[first.endpoint(), calm.sentinels[0].endpoint], master=calm.name)
    driver.submit("t", "clock")
    port = free_port()
    peer = first.says("127.0.0.1", port)
    told = driver.event("link", state="waiting")
    assert (told["endpoint"], told["reason"]) == (f"127.0.0.1:{port}", "connection refused")
    assert driver.answer("t")["status"] == "answered"
    assert peer.file.read() == b""  # it was not asked again


def test_sentinels_that_disagree(drive, saying, calm):
    """One names a replica, which says so by ROLE: not a word is believed of it."""
    stale = saying()
    [replica] = calm.others()
    driver = drive(sentinel=[stale.endpoint(), calm.sentinels[0].endpoint], master=calm.name)
    with calm.master().client() as client:
        turn = make_known(client)
        client.execute_command("WAIT", 1, 5000)
    driver.submit("t", "acquire", token=A, **turn)
    peer = stale.says(calm.host, replica.port)
    told = driver.event("link", state="waiting")
    assert (told["endpoint"], told["fault"]) == (replica.text, "replica")
    # It was sent to the replica, in one flight with ROLE: what became of it there counts as unknown.
    assert driver.answer("t")["status"] == "none"
    assert driver.call("acquire", token=A, **turn)["answer"] == "granted"
    comes_up_at(driver, calm.master())
    assert peer.file.read() == b""  # it was not asked again
    with calm.master().client() as client:
        client.delete(LOCK, CLAIM)


def test_whom_a_sentinel_names_hears_the_password(drive, saying):
    stranger, first = FakeServer(), saying()
    try:
        stranger.listener.close()
        stranger.listener = socket.create_server(("127.0.0.1", 0))
        stranger.listener.settimeout(SECONDS)
        driver = fake_driver(drive, first, password="sesame")
        driver.submit("t", "clock")
        first.says(*stranger.listener.getsockname())
        assert stranger.accept(login=False).command() == ["AUTH", "sesame"]
    finally:
        stranger.close()


def test_news_are_a_hint_and_the_answer_counts(drive, saying, calm):
    only = saying()
    driver = fake_driver(drive, only)
    driver.submit("t", "clock")
    peer = only.says(calm.host, calm.master().port)
    assert driver.answer("t")["status"] == "answered"
    comes_up_at(driver, calm.master())

    def asked_again():
        assert [peer.command()[0] for _ in range(3)] == ["UNSUBSCRIBE", "SENTINEL", "SUBSCRIBE"]
    message = f"mymaster {calm.host} 1 {calm.host} 2"
    # News of another master, on another channel, or of no form: nothing.
    for channel, text in (("+switch-master", "mymaster2 a 1 b 2"), ("+switch-master", ""), ("other", message)):
        peer.send(element(["message", channel, text]))
    peer.send(element(["message", "+switch-master", message]))
    asked_again()
    # The master is the same, whatever the news: the link stays.
    peer.send(element(["unsubscribe", "+switch-master", 0]) + element([calm.host, str(calm.master().port)])
              + element(["subscribe", "+switch-master", 1]))
    assert driver.call("clock")["status"] == "answered"
    # Two at once, also before the replies: asked twice, never three times.
    peer.send(element(["message", "+switch-master", message]) * 2)
    asked_again()
    peer.send(element(["message", "+switch-master", message]) + element(["unsubscribe", "+switch-master", 0]))
    peer.send(element([calm.host, str(calm.master().port)]))
    peer.send(element(["subscribe", "+switch-master", 1]))
    asked_again()
    peer.send(element(["unsubscribe", "+switch-master", 0]) + element([calm.host, "9"]) + element(["subscribe", "x", 1]))
    told = driver.event("link", state="waiting")
    assert told["reason"] == f"by its sentinels the master is {calm.host}:9 now"


def test_every_connection_asks_again(drive, saying, calm):
    only, master = saying(), calm.master()
    driver = fake_driver(drive, only)
    for number in range(3):
        driver.submit(f"t{number}", "clock")
        only.says(calm.host, master.port)
        assert driver.answer(f"t{number}")["status"] == "answered"
        comes_up_at(driver, master)
        with master.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
        # Nothing waits for it.
        driver.event("link", state="idle")


def test_the_sentinel_is_asked_again_on_the_same_connection(drive, saying, calm):
    """Which first stops listening: RESP2 takes no question meanwhile."""
    only, master, nobody = saying(), calm.master(), free_port()
    driver = fake_driver(drive, only)
    driver.submit("t", "clock")
    peer = only.says("127.0.0.1", nobody)
    for port in (nobody, nobody, master.port):
        assert [peer.command()[0] for _ in range(3)] == ["UNSUBSCRIBE", "SENTINEL", "SUBSCRIBE"]
        assert driver.pending() == 1
        peer.send(element(["unsubscribe", "+switch-master", 0]) + element([calm.host, str(port)]) + only.subscribed())
    assert driver.answer("t")["status"] == "answered"


def test_a_sentinel_that_forbids_to_listen_is_asked_all_the_same(drive, saying, calm):
    only, master, nobody = saying(), calm.master(), free_port()
    driver = fake_driver(drive, only)
    driver.submit("t", "clock")
    peer = only.asked()
    peer.send(element(["127.0.0.1", str(nobody)]) + b"-NOPERM no\r\n")
    assert [peer.command()[0] for _ in range(2)] == ["SENTINEL", "SUBSCRIBE"]
    peer.send(element([calm.host, str(master.port)]) + b"-NOPERM no\r\n")
    assert driver.answer("t")["status"] == "answered"


def test_a_sentinel_that_the_round_has_not_come_to_forgets_the_name(drive, saying, calm):
    """After news it is asked by itself, and answers so while another one is asked for the link."""
    first, second = saying(), saying()
    driver = fake_driver(drive, first, second)
    driver.submit("t", "clock")
    peer = first.says("127.0.0.1", free_port())
    other = second.asked()
    peer.send(element(["message", "+switch-master", "mymaster a 1 b 2"]))
    assert [peer.command()[0] for _ in range(3)] == ["UNSUBSCRIBE", "SENTINEL", "SUBSCRIBE"]
    peer.send(element(["unsubscribe", "+switch-master", 0]) + b"*-1\r\n" + first.subscribed())
    assert peer.file.read() == b""  # it is closed, and not asked before its turn
    other.send(element([calm.host, str(calm.master().port)]) + second.subscribed())
    assert driver.answer("t")["status"] == "answered"


def test_the_last_of_many_gets_its_turn_though_all_are_silent(drive, saying):
    sentinels = [saying() for _ in range(16)]
    driver = fake_driver(drive, *sentinels, connect=1000)
    driver.submit("t", "clock")
    for each in sentinels:
        each.asked()
    driver.event("link", state="waiting")


def test_a_sentinel_that_publishes_without_end_is_left(drive, saying, calm):
    """Nothing else would get its turn; and after each answer another hint, at once, is another question without end."""
    only, master = saying(), calm.master()
    driver = fake_driver(drive, only)
    driver.submit("t", "clock")
    peer = only.says(calm.host, master.port)
    assert driver.answer("t")["status"] == "answered"
    hint = element(["message", "+switch-master", f"mymaster {calm.host} 1 {calm.host} 2"])
    reply = element(["unsubscribe", "+switch-master", 0]) + element([calm.host, str(master.port)]) + only.subscribed()
    asked = 0
    with contextlib.suppress(OSError, AssertionError):  # the connection ends
        while asked < 1000:
            peer.send(hint)
            assert [peer.command()[0] for _ in range(3)] == ["UNSUBSCRIBE", "SENTINEL", "SUBSCRIBE"]
            asked += 1
            peer.send(reply)
    assert 100 < asked < 1000
    assert driver.call("clock")["status"] == "answered"
    # It is asked again, by a new connection, and not at once.
    only.says(calm.host, master.port)


def test_silence_of_all_ends_with_the_time_for_it(drive, saying):
    first, second = saying(), saying()
    driver = fake_driver(drive, first, second, connect=1000)
    driver.submit("t", "clock")
    begin = driver.event("link", state="connecting")["at"]
    first.asked(), second.asked()
    told = driver.event("link", state="waiting")
    assert told["reason"].startswith("no sentinel answers; unix:") and told["reason"].endswith(": no answer within 750 ms")
    assert 700 <= told["at"] - begin < 3000
