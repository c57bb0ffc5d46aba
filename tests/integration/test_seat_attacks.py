# SPDX-License-Identifier: MIT
"""Attacks on seats: late and repeated messages, lost records, devices that never come back, clocks set back."""
import pytest

from script_job import A, B, C, KEEP, LATE, LEASE, RECORD, Job, after, fill, grant, name_of

AGAIN = "device-a:again"


def set_field(seats, field, value, device="device-a"):
    record = seats.device(device)
    record[field] = value
    seats.redis.hset(seats.devices, device, " ".join(str(record[name]) for name in RECORD))


# Rules 4 and 5, where a try was given back: it was one all the same.

def given_back_twice(seats, outcome):
    seats.knows(A)
    for token in (A, AGAIN):
        assert grant(seats, token)[3] == 1
        seats.finish(token, outcome=outcome)


@pytest.mark.parametrize("outcome", ["declined", "unstarted"])
def test_a_late_renewal_of_a_try_given_back_brings_no_seat_back(seats, outcome):
    given_back_twice(seats, outcome)
    before = seats.state()
    assert seats.renew(A)[0::3] == ["lost", AGAIN]
    assert seats.state() == before


def test_an_end_said_again_of_a_try_given_back_changes_no_newer_record(seats):
    given_back_twice(seats, "declined")
    before = seats.device("device-a")
    seats.finish(A, outcome="declined")
    assert seats.device("device-a") == before


def test_a_renewal_of_a_run_that_others_gave_up_is_lost(seats):
    seats.knows(A)
    grant(seats, attempts=1)
    seats.lose_seat()
    assert seats.acquire(AGAIN, attempts=1)[0] == "exhausted"
    assert seats.renew(A)[0::3] == ["lost", "gave_up"]
    assert seats.acquire(A, attempts=1)[0::2] == ["over", "gave_up"]
    assert seats.seated() == {}


# The brake counts a device that never comes back, however late the next one asks.

def test_a_device_that_vanished_is_counted_by_who_asks_long_after(seats):
    seats.knows(A, B)
    grant(seats, A, capacity=1, ttl=200, stop=1)
    assert seats.redis.pttl(seats.seats) > KEEP                 # longer than anybody stays away
    after(seats, 200 + 2 * 200 + 50)
    word, _, why, _ = seats.acquire(B, capacity=1, ttl=200, stop=1)
    assert (word, why) == ("paused", "rota: stopped after 1 failure; last: device-a, vanished")


def test_a_renewed_seat_is_counted_long_after_too(seats):
    seats.knows(A, B)
    grant(seats, A, ttl=200)
    seats.redis.flushall()
    seats.knows(B)
    seats.renew(A, ttl=200)
    assert seats.redis.pttl(seats.seats) > KEEP
    after(seats, 650)
    grant(seats, B)
    assert seats.field("fails") == "1"


# Who outlived the data keeps the time that was confirmed.

@pytest.mark.parametrize("full", [False, True])
def test_a_shorter_lease_cuts_no_seat_that_outlived_the_data(seats, full):
    seats.knows(A, B)
    grant(seats, A, ttl=60_000, capacity=1)
    seats.redis.flushall()
    if full:
        fill(seats)
    assert seats.renew(A, ttl=60_000, capacity=1)[0] == "regained"
    seats.redis.config_set("maxmemory", 0)
    seats.knows(B)
    assert seats.acquire(B, ttl=300, capacity=1)[0] == "full"
    assert seats.redis.zscore(seats.seats, A) > seats.now() + 50_000


def test_no_seat_is_taken_within_a_lease_of_a_first_sight_that_came_late(seats):
    seats.knows(A)
    grant(seats, A, capacity=1, ttl=400)
    seats.redis.flushall()
    assert seats.acquire(B, turn=seats.turn - LATE - 1000, capacity=1, ttl=400)[3] == "assumed"
    turn = seats.now()                                          # a newer one falls due
    assert seats.acquire(B, turn=turn, capacity=1, ttl=400)[0:4:3] == ["wait", "blank"]
    after(seats, 410)
    grant(seats, B, turn=turn, capacity=1, ttl=400)


def test_no_seat_is_taken_within_a_lease_of_an_end_that_was_told_to_lost_data(seats):
    """As after an outage: the end of a run that others followed, which have not renewed yet."""
    seats.redis.flushall()
    seats.finish(B, turn=seats.turn - 1, lease=400)
    word, _, left, why = seats.acquire("device-b:again", ttl=400)
    assert (word, why) == ("wait", "blank") and 0 < left <= 400
    after(seats, 410)
    grant(seats, "device-b:again", ttl=400)


def test_who_outlived_the_data_takes_its_seat_back_after_an_end_that_came_late(seats):
    seats.knows(A)
    grant(seats, A, capacity=1)
    seats.redis.flushall()
    seats.finish(B, turn=seats.turn - 1, lease=400)
    assert seats.acquire("device-b:again", capacity=1)[0] == "wait"
    assert seats.renew(A, capacity=1)[0] == "regained"
    after(seats, 410)
    assert seats.acquire("device-b:again", capacity=1)[0] == "full"


def test_an_end_does_not_end_the_wait_of_a_first_sight(seats):
    assert seats.acquire(B)[0:4:3] == ["wait", "blank"]
    blank = seats.device("device-b")["blank"]
    seats.finish(B, turn=seats.turn - 1, lease=1)
    assert seats.device("device-b")["blank"] == blank


def test_who_has_taken_its_seat_back_waits_for_nobody(seats):
    seats.knows(A)
    grant(seats, A)
    seats.redis.flushall()
    seats.renew(A)
    seats.finish(A)
    after(seats, 2)
    grant(seats, "device-a:again", turn=seats.turn + 1)


# No growth.

def test_damaged_records_of_others_are_forgotten(seats):
    seats.knows(A)
    seats.redis.hset(seats.devices, mapping={f"x{n}": text for n, text in enumerate(["", "rubbish", "1 2 3"])})
    for number in range(200):
        token = f"device-a:{number}"
        grant(seats, token)
        seats.finish(token, outcome="unstarted")
        if seats.redis.hlen(seats.devices) == 1:
            break
    assert seats.redis.hkeys(seats.devices) == ["device-a"]


def test_seats_do_not_pile_up_where_every_device_vanishes(seats):
    tokens = [f"device-{n}:{n}" for n in range(20)]
    seats.knows(*tokens)
    for token in tokens:
        grant(seats, token, capacity=1)
        seats.lose_seat(token)
    assert seats.redis.zcard(seats.seats) <= 2


def test_a_queue_of_devices_that_died_empties_itself(seats):
    tokens = [f"device-{n}:{n}" for n in range(20)]
    seats.knows(A, *tokens)
    grant(seats, A, capacity=1)
    for token in tokens:
        assert seats.acquire(token, capacity=1)[0] == "full"
    for token in tokens:
        set_field(seats, "ask", seats.now() - 10 * KEEP, name_of(token))
    seats.finish(A)
    for number in range(20):
        turn = seats.now()
        if seats.acquire(f"device-a:{number}", turn=turn, capacity=1)[0] == "acquired":
            break
    assert seats.redis.zcard(seats.queue) <= 2


# Clocks set back.

@pytest.mark.parametrize("field", ["started", "ended", "ask", "blank", "retry"])
def test_no_field_from_the_future_silences_a_device(seats, field):
    seats.knows(A)
    grant(seats, ttl=200)
    seats.finish(outcome="unstarted")
    set_field(seats, field, seats.now() + 10 * KEEP)
    if seats.acquire(AGAIN, ttl=200)[0] == "wait":
        after(seats, 210)
        grant(seats, AGAIN, ttl=200)
    assert seats.finish(AGAIN)[0] == "recorded"
    assert seats.field("mean") is None or 0 < int(seats.field("mean")) <= LEASE


def test_a_lock_of_the_servers_future_silences_the_device_scope_for_one_lease(seats):
    """No longer, and no shorter: who holds it may still run, where the server's clock was set back."""
    lock = Job(seats.redis).known()
    grant(lock, B)
    seats.knows(A)
    seats.redis.pexpire(seats.lock, 10 * KEEP)
    assert seats.acquire(A)[0] == "mismatch"
    assert LEASE - 1000 < seats.redis.pttl(seats.lock) <= LEASE


def test_a_lock_is_not_cut_to_less_than_its_owner_may_have_asked_for(seats):
    """As where two masters became one: the claim is of a shorter lease than the lock's."""
    seats.knows(A)
    seats.redis.hset(seats.claim, mapping={"token": C, "state": "running", "ttl": 500, "scope": "fleet"})
    seats.redis.set(seats.lock, B, px=LEASE)
    assert seats.acquire(A)[0] == "mismatch"
    assert seats.redis.pttl(seats.lock) > LEASE - 1000


def test_a_place_in_the_queue_from_the_future_is_behind_and_not_for_ever(seats):
    seats.knows(A, B, C)
    grant(seats, A, capacity=1)
    assert seats.acquire(B, capacity=1)[0] == "full"
    seats.redis.zadd(seats.queue, {"device-b": seats.now() + 10 * KEEP})
    assert seats.acquire(C, capacity=1)[0] == "full"
    assert seats.acquire(C, capacity=1)[4] == 1
    seats.finish(A)
    grant(seats, C, capacity=1)
    seats.finish(C)
    grant(seats, B, capacity=1)
