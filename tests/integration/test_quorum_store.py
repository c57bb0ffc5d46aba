# SPDX-License-Identifier: MIT
"""The store on five servers under a test's hand: what a majority says, and what becomes of the rest."""
import pytest

from fault_proxy import FaultProxy, late, lost_reply
from quorum import connections
from redis_server import wait_for
from resp import SENT_SCRIPTS
from store_harness import A, B, CLAIM, LOCK, PERIOD, SECONDS, now_ms


@pytest.fixture
def five(quorum_servers, drive):
    """Starts a driver on the five servers."""
    def start(addresses=None, **options):
        addresses = addresses or [server.address for server in quorum_servers.all]
        return drive(*addresses, quorum=1, **options)
    return start


def all_up(driver):
    """Each is connected to; what was told until then is forgotten."""
    wanted = set(range(5))
    driver.submit("up", "clock")
    while wanted:
        wanted.discard(driver.event("server", state="up")["number"])
    driver.answer("up")
    driver.events.clear()


def make_known(servers, turn=None):
    """On all that are well the job has a past."""
    for number in servers.well():
        with servers.all[number].client() as client:
            turn = turn or now_ms(client)
            client.hset(CLAIM, mapping={"v": 1, "turn": turn - PERIOD, "attempt": 1, "token": "old:0",
                                        "state": "succeeded", "ended": 1, "done": turn - PERIOD, "schedules": "s1"})
    return {"turn": turn, "next": turn + PERIOD}


def values(servers, key=LOCK):
    found = {}
    for number in servers.well():
        with servers.all[number].client() as client:
            found[number] = client.get(key)
    return found


def claims(servers):
    found = {}
    for number in servers.well():
        with servers.all[number].client() as client:
            found[number] = client.hgetall(CLAIM)
    return found


def test_granted_by_all_and_finished_on_all(five, quorum_servers):
    driver = five()
    turn = make_known(quorum_servers)
    all_up(driver)
    granted = driver.call("acquire", token=A, **turn)
    # Composed once, and counted from before the first of them was sent it.
    [composed] = [event for event in driver.events if event["event"] == "composed"]
    assert granted["sent"] == composed["now"]
    assert (granted["status"], granted["answer"], granted["attempt"], granted["fence"]) == ("answered", "granted", 1, 0)
    wait_for(lambda: set(values(quorum_servers).values()) == {A}, SECONDS, "all five have the lock")
    renewed = driver.call("renew", token=A, turn=turn["turn"])
    assert renewed["answer"] == "renewed"
    done = driver.call("finish", token=A, turn=turn["turn"], outcome="succeeded")
    assert done["status"] == "answered" and done["held"] == 1
    wait_for(lambda: set(values(quorum_servers).values()) == {None}, SECONDS, "all five have freed it")
    assert {claim["state"] for claim in claims(quorum_servers).values()} == {"succeeded"}
    again = driver.call("acquire", token=B, **turn)
    assert again["answer"] == "done"
    assert driver.sound() and driver.pending() == 0


def test_a_connection_without_a_login(five, quorum_servers):
    """Nothing is sent ahead of the first command, and still it is known to serve."""
    assert five(name="").call("clock")["status"] == "answered"


def test_three_of_five_are_enough_and_the_least_that_is(five, quorum_servers):
    driver = five()
    turn = make_known(quorum_servers)
    quorum_servers.kill(0, 3)
    granted = driver.call("acquire", token=A, **turn)
    assert (granted["answer"], granted["attempt"]) == ("granted", 1)
    assert set(values(quorum_servers).values()) == {A}
    quorum_servers.kill(1)
    driver.submit("later", "renew", token=A, turn=turn["turn"])
    lost = driver.event("link", state="waiting")
    assert lost["endpoint"] == "the quorum"
    assert lost["reason"].startswith("3 of its 5 servers are away; unix:")
    assert driver.sound() and driver.pending() == 1
    quorum_servers.restart(1)
    assert driver.answer("later")["answer"] == "renewed"
    assert driver.event("link", state="up", endpoint="the quorum")["fault"] == "none"
    # The one that came back without its data has taken the lease up.
    wait_for(lambda: set(values(quorum_servers).values()) == {A}, SECONDS, "three have the lock")
    assert driver.call("finish", token=A, turn=turn["turn"], outcome="succeeded")["held"] == 1
    wait_for(lambda: set(values(quorum_servers).values()) == {None}, SECONDS, "three have freed it")


def test_a_minority_that_hangs_costs_no_time(five, quorum_servers):
    """Both in one run, as a ratio: the machine may be slow, but is so for both."""
    turn = make_known(quorum_servers)
    driver = five(command=4000, connect=4000)

    def fifty(kind):
        took = []
        for number in range(50):
            token = f"{kind}:{number:032d}"
            acquired = driver.call("acquire", token=token, turn=turn["turn"], next=turn["next"], ttl=3000)
            finished = driver.call("finish", token=token, turn=turn["turn"], outcome="declined")
            assert (acquired["answer"], finished["status"]) == ("granted", "answered")
            took.append(acquired["took"] + finished["took"])
        return sum(took)

    driver.call("clock")
    well = fifty("well")
    quorum_servers.freeze(1, 4)
    # They owe more answers than a connection has room for, and then none is waited for.
    frozen = fifty("frozen")
    assert frozen < 3 * well + 200, (well, frozen)
    assert driver.sound()
    quorum_servers.thaw(1, 4)
    wait_for(lambda: set(values(quorum_servers).values()) == {None}, 2 * SECONDS, "what they were sent has ended")
    print(f"fifty runs: {well} ms with all well, {frozen} ms with two frozen")


def test_servers_that_are_being_connected_to_are_waited_for(five, quorum_servers):
    """Three are there first, two a little later: without these every server would have to grant."""
    turn = make_known(quorum_servers)
    far = [FaultProxy(server.socket, round_trip=0.05 if number < 3 else 0.07)
           for number, server in enumerate(quorum_servers.all)]
    try:
        driver = five([proxy.address for proxy in far])
        assert driver.call("acquire", token=A, **turn)["answer"] == "granted"
        wait_for(lambda: set(values(quorum_servers).values()) == {A}, SECONDS, "all five have the lock")
    finally:
        for proxy in far:
            proxy.close()


def test_servers_that_hang_are_waited_for_once(five, quorum_servers):
    """While they are connected to for the first time; and no longer than it took to get the others."""
    turn = make_known(quorum_servers)
    quorum_servers.freeze(0, 4)
    driver = five(connect=3000, command=3000)
    driver.submit("x", "acquire", token=A, **turn)
    composed = driver.event("composed", id="x")
    up = driver.event("link", state="up")
    assert 0 <= composed["now"] - up["at"] < 1000
    assert driver.answer("x")["answer"] == "granted"


def test_a_majority_that_hangs_is_no_answer_and_the_same_token_is_granted_then(five, quorum_servers):
    driver = five(command=400, connect=400)
    turn = make_known(quorum_servers)
    driver.call("clock")
    quorum_servers.freeze(0, 1, 2)
    assert driver.call("acquire", token=A, **turn)["status"] == "none"
    assert values(quorum_servers) == {3: A, 4: A}  # unknown: nothing is given back
    quorum_servers.thaw(0, 1, 2)
    granted = driver.call("acquire", token=A, **turn)
    assert (granted["answer"], granted["attempt"]) == ("granted", 1)
    assert list(values(quorum_servers).values()).count(A) >= 3


def held_by(servers, token, *numbers):
    for number in numbers:
        with servers.all[number].client() as client:
            client.set(LOCK, token, px=60_000)


def test_a_refused_acquire_gives_back_what_a_minority_granted(five, quorum_servers):
    driver = five()
    turn = make_known(quorum_servers)
    held_by(quorum_servers, B, 0, 2, 3)
    held = driver.call("acquire", token=A, **turn)
    assert (held["answer"], held["holder"]) == ("held", B)
    wait_for(lambda: set(values(quorum_servers).values()) == {B, None}, SECONDS, "the two grants are given back")
    given = claims(quorum_servers)
    assert [given[number]["state"] for number in (1, 4)] == ["unstarted", "unstarted"]
    assert [given[number]["attempt"] for number in (1, 4)] == ["0", "0"]
    # It is no run, so that people read nothing of it.
    for number in quorum_servers.well():
        with quorum_servers.all[number].client() as client:
            assert client.exists("test:{backup}:history") == 0
    assert driver.pending() == 0


def test_split_votes_cancel_each_other(five, quorum_servers):
    driver = five()
    turn = make_known(quorum_servers)
    held_by(quorum_servers, B, 0, 1)
    held_by(quorum_servers, "device-c:" + "c" * 32, 2, 3)
    split = driver.call("acquire", token=A, **turn)
    assert split["answer"] == "split" and 50 <= split["left"] <= 550
    wait_for(lambda: A not in values(quorum_servers).values(), SECONDS, "the one grant is given back")


def load_scripts(servers):
    for server in servers.all:
        with server.client() as client:
            for script in SENT_SCRIPTS.glob("*.lua"):
                client.script_load(script.read_text())


def test_what_a_frozen_server_grants_when_it_goes_on_is_given_back(five, quorum_servers):
    """The question is still before it, and its asker has long been refused."""
    load_scripts(quorum_servers)
    driver = five(command=400, connect=400)
    turn = make_known(quorum_servers)
    driver.call("clock")
    all_up(driver)
    held_by(quorum_servers, B, 0, 2, 3)
    quorum_servers.freeze(4)
    assert driver.call("acquire", token=A, ttl=600_000, **turn)["answer"] == "held"
    driver.event("server", number=4, state="waiting")
    quorum_servers.thaw(4)
    wait_for(lambda: claims(quorum_servers)[4].get("token") == A, SECONDS, "it has granted")
    wait_for(lambda: values(quorum_servers)[4] is None, SECONDS, "it is given back")
    assert claims(quorum_servers)[4]["state"] == "unstarted"
    assert driver.pending() == 0 and driver.sound()


@pytest.fixture
def behind(quorum_servers):
    """A proxy before each server, which knows the scripts already."""
    proxies = []
    load_scripts(quorum_servers)
    try:
        for server in quorum_servers.all:
            proxies.append(FaultProxy(server.socket))
        yield proxies
    finally:
        for proxy in proxies:
            proxy.close()


def test_a_late_grant_is_given_back(five, quorum_servers, behind):
    driver = five([proxy.address for proxy in behind])
    turn = make_known(quorum_servers)
    driver.call("clock")
    held_by(quorum_servers, B, 0, 2, 3)
    behind[4].next("acquire", late(0.7))
    held = driver.call("acquire", token=A, **turn)
    assert held["answer"] == "held" and held["took"] < 600
    assert values(quorum_servers)[4] == A
    wait_for(lambda: values(quorum_servers)[4] is None, SECONDS, "the late grant is given back")
    assert claims(quorum_servers)[4]["state"] == "unstarted"


@pytest.mark.parametrize("granted_before", [True, False], ids=["some-had-granted", "none-had"])
def test_a_cancelled_call_leaves_nothing(five, quorum_servers, behind, granted_before):
    driver = five([proxy.address for proxy in behind])
    turn = make_known(quorum_servers)
    driver.call("clock")
    for proxy in behind[2 if granted_before else 0:]:
        proxy.next("acquire", late(0.5))
    driver.submit("gone", "acquire", token=A, **turn)
    driver.event("composed", id="gone")
    wait_for(lambda: all(proxy.count("acquire") for proxy in behind), SECONDS, "all were asked")
    driver.say("cancel gone")
    wait_for(lambda: all(proxy.count("finish") for proxy in behind), SECONDS, "all grants are given back")
    wait_for(lambda: set(values(quorum_servers).values()) == {None}, SECONDS, "nothing is left")
    assert driver.pending() == 0 and driver.sound()
    assert not [event for event in driver.events if event["event"] == "answer"]


def test_a_cancelled_renewal_takes_nothing_away(five, quorum_servers, behind):
    driver = five([proxy.address for proxy in behind])
    turn = make_known(quorum_servers)
    all_up(driver)
    driver.call("acquire", token=A, **turn)
    for proxy in behind:
        proxy.next("renew", late(0.3))
    driver.submit("gone", "renew", token=A, turn=turn["turn"])
    driver.event("composed", id="gone")
    driver.say("cancel gone")
    wait_for(lambda: all(proxy.count("renew") for proxy in behind), SECONDS, "all were asked")
    driver.call("clock")
    assert set(values(quorum_servers).values()) == {A}
    assert [proxy.count("finish") for proxy in behind] == [0] * 5


def test_a_reply_that_is_lost_leaves_it_to_the_others(five, quorum_servers, behind):
    driver = five([proxy.address for proxy in behind], command=600)
    turn = make_known(quorum_servers)
    driver.call("clock")
    for proxy in behind[:2]:
        proxy.next("acquire", lost_reply())
    granted = driver.call("acquire", token=A, **turn)
    assert granted["answer"] == "granted" and granted["took"] < 500
    for proxy in behind[:3]:
        proxy.next("renew", lost_reply())
    assert driver.call("renew", token=A, turn=turn["turn"])["status"] == "none"
    assert driver.call("renew", "y", token=A, turn=turn["turn"])["answer"] == "renewed"


def test_a_server_that_was_emptied_takes_the_lease_up(five, quorum_servers):
    driver = five()
    turn = make_known(quorum_servers)
    driver.call("acquire", token=A, **turn)
    all_up(driver)
    quorum_servers.restart(2)
    driver.event("server", number=2, state="connecting")
    assert driver.call("renew", token=A, turn=turn["turn"])["answer"] == "renewed"
    driver.event("server", number=2, state="up")
    assert driver.call("renew", token=A, turn=turn["turn"])["answer"] == "renewed"
    wait_for(lambda: set(values(quorum_servers).values()) == {A}, SECONDS, "it has the lock again")
    assert driver.call("acquire", "y", token=B, **turn)["answer"] == "held"


def test_an_idle_quorum_has_no_connections(five, quorum_servers):
    driver = five(idle=60_000)
    driver.call("clock")
    driver.say("expect 3600000 never")
    driver.event("link", state="idle")
    for server in quorum_servers.all:
        wait_for(lambda s=server: connections(s, "driver") == [], SECONDS, "it has seen the end")
    assert driver.sound()
    # A server that is away is not tried while nobody needs it.
    quorum_servers.kill(0)
    assert driver.call("clock", "y")["status"] == "answered"
    driver.event("link", state="idle")
    assert driver.sound()
    driver.say("expect now never")
    assert driver.call("clock", "z")["status"] == "answered"
    wait_for(lambda: all(len(connections(server, "driver") or []) == 1 for server in quorum_servers.all[1:]), SECONDS,
             "four are connected to, once each")
    quorum_servers.restart(0)
    wait_for(lambda: connections(quorum_servers.all[0], "driver"), SECONDS,
             "a lease may be held: who is back is connected to at once")


def test_one_event_a_change_of_the_whole_and_one_of_each_server(five, quorum_servers):
    driver = five()
    driver.call("clock")
    assert driver.event("link", state="up")["endpoint"] == "the quorum"
    all_up(driver)
    quorum_servers.kill(3)
    away = driver.event("server", number=3, state="waiting")
    assert away["serving"] == 4 and away["reason"]
    assert driver.call("clock")["status"] == "answered"
    quorum_servers.restart(3)
    assert driver.event("server", number=3, state="up")["serving"] == 5
    assert [event for event in driver.events if event["event"] == "link"] == []


def test_a_burst_has_room(five, quorum_servers):
    """More calls at once than a connection takes: each is answered, and by all."""
    driver = five()
    for number in range(60):
        driver.submit(f"c{number}", "clock", again=4)
    for number in range(60):
        for _ in range(5):
            assert driver.answer(f"c{number}")["status"] == "answered"
    assert driver.pending() == 0 and driver.sound()


@pytest.mark.parametrize("attempt, state, joins", [
    (0, "unstarted", True), (1, "unstarted", False), (0, "declined", False),
    (1, "running", False)])
def test_a_server_that_granted_another_joins_the_lease(five, quorum_servers, attempt, state, joins):
    """Where that one gave it back before it began, by the attempts that the server itself has counted."""
    driver = five()
    turn = make_known(quorum_servers)
    all_up(driver)
    driver.call("acquire", token=A, **turn)
    wait_for(lambda: set(values(quorum_servers).values()) == {A}, SECONDS, "all five have the lock")
    with quorum_servers.all[4].client() as client:
        client.delete(LOCK)
        client.hset(CLAIM, mapping={"token": B, "attempt": attempt, "state": state})
    for _ in range(5):  # of which it has seen the first by the last
        assert driver.call("renew", token=A, turn=turn["turn"])["answer"] == "renewed"
    wait_for(lambda: values(quorum_servers)[4] == (A if joins else None), SECONDS, "it has joined, or not")
    assert claims(quorum_servers)[4]["token"] == (A if joins else B)


def test_what_servers_close_while_nothing_is_out_is_no_absence(five, quorum_servers):
    """They may have a `timeout`, and carriers one of their own: the connections are made anew, and nobody hears of it."""
    driver = five()
    all_up(driver)
    for _ in range(2):
        for server in quorum_servers.all:
            with server.client() as client:
                client.client_kill_filter(_type="normal", skipme=True)
        assert driver.call("clock")["status"] == "answered"
        wait_for(lambda: all(connections(server, "driver") for server in quorum_servers.all), SECONDS,
                 "all are connected to again")
    assert [event for event in driver.events if event.get("state") == "waiting"] == []
    # One that is away indeed is told of by the try that fails.
    quorum_servers.kill(0)
    assert driver.event("server", state="waiting", number=0)["reason"]


@pytest.mark.parametrize("kept, word", [({"version": 9}, "outdated"), ({"v": 2}, "newer")], ids=["version", "layout"])
def test_an_old_claim_of_one_server_silences_nobody(five, quorum_servers, behind, kept, word):
    """It was away while the others forgot the job, and is the first to answer."""
    driver = five([proxy.address for proxy in behind])
    turn = make_known(quorum_servers)
    all_up(driver)
    for number, server in enumerate(quorum_servers.all):
        with server.client() as client:
            client.hset(CLAIM, mapping=kept if number == 4 else {"streak": 0})
    for proxy in behind[:4]:
        proxy.next("acquire", late(0.2))
    assert driver.call("acquire", token=A, version=1, **turn)["answer"] == "granted"
    assert driver.call("finish", token=A, turn=turn["turn"], outcome="declined")["held"] == 1
    for server in quorum_servers.all[:2]:
        with server.client() as client:
            client.hset(CLAIM, mapping=kept)
    assert driver.call("acquire", token=B, version=1, **turn)["answer"] == word


def test_what_is_given_back_is_the_lock_that_was_taken(five, quorum_servers):
    """Of a job whose lock has a key of its own."""
    shared = "test:shared"
    driver = five()
    turn = make_known(quorum_servers)
    all_up(driver)
    for number, server in enumerate(quorum_servers.all):
        server.allow(f"~{shared}")
        with server.client() as client:
            client.hset("test:{test:shared}:backup:claim", mapping=client.hgetall(CLAIM))
            if number in (0, 2, 3):
                client.set(shared, B, px=60_000)
    assert driver.call("acquire", token=A, lock_key=shared, **turn)["answer"] == "held"
    wait_for(lambda: set(values(quorum_servers, shared).values()) == {B, None}, SECONDS, "two grants are given back")
    with quorum_servers.all[1].client() as client:
        wait_for(lambda: client.hget("test:{test:shared}:backup:claim", "state") == "unstarted", SECONDS, "and told of")


def test_a_minority_that_hangs_costs_no_time_where_the_others_wait(five, quorum_servers):
    """For one instant, of which they were told some milliseconds apart."""
    driver = five(command=4000, connect=4000)
    turn = make_known(quorum_servers)
    all_up(driver)
    for number, server in enumerate(quorum_servers.all):
        with server.client() as client:
            client.hset(CLAIM, mapping={"turn": turn["turn"], "token": B, "state": "failed", "delay": 60_000,
                                        "retry": turn["turn"] + 30_000 + 10 * number})
    quorum_servers.freeze(1, 4)
    waits = driver.call("acquire", token=A, attempts=3, **turn)
    assert waits["answer"] == "wait" and waits["took"] < 2000


def test_who_cannot_wait_does_not_where_they_were_closed(five, quorum_servers):
    driver = five(min=600_000, max=600_000)
    all_up(driver)
    for server in quorum_servers.all:
        with server.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
    driver.event("link", state="idle")
    assert driver.call("clock", urgent=1)["status"] == "answered"  # long before the back-off ends
