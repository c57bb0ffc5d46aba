# SPDX-License-Identifier: MIT
"""Device scope: who gets a seat, and who does not. test_seat_ends.py has how runs end, test_seat_queue.py the queue."""
import pytest
import redis

from script_job import A, B, C, FOREVER, KEEP, LATE, LEASE, PERIOD, Job, after, fill, grant, spoil

# Places in a record's text.
RECORD_TURN, RECORD_DONE, RECORD_RETRY, RECORD_BLANK = 0, 2, 3, 7


def test_every_device_runs_a_turn_once(seats):
    seats.knows(A, B)
    for token in (A, B):
        word, _, fence, attempt, turn = grant(seats, token)
        assert (fence, attempt, turn) == (0, 1, seats.turn)
        assert seats.finish(token)[0] == "recorded"
    assert seats.acquire("device-a:new")[0:5:2] == ["done", seats.turn, A]
    assert seats.acquire("device-b:new")[0] == "done"


def test_the_record_is_there_before_the_run(seats):
    seats.knows(A)
    grant(seats)
    record = seats.device("device-a")
    assert (record["state"], record["token"], record["boot"], record["attempt"]) == ("running", A, "b1", "1")
    assert int(record["turn"]) == seats.turn and int(record["started"]) > 0
    assert (seats.field("scope"), seats.field("fingerprint"), seats.field("v")) == ("device", "f1", "1")


def test_never_more_than_the_seats(seats):
    seats.knows(A, B, C)
    grant(seats, A)
    grant(seats, B)
    word, _, left, taken, place = seats.acquire(C)
    assert (word, taken, place) == ("full", 2, 1) and left > 0
    assert set(seats.seated()) == {A, B}
    seats.finish(A)
    grant(seats, C)


def test_a_seat_frees_itself(seats):
    seats.knows(A, B, C)
    grant(seats, A, ttl=200)
    grant(seats, B)
    assert seats.acquire(C)[0] == "full"
    after(seats, 250)
    grant(seats, C)


# Rule 1.

@pytest.mark.parametrize("key", ["seats", "claim", "pause", "devices", "lock", "queue"])
def test_a_key_of_a_wrong_type_changes_nothing(seats, key):
    seats.knows(A)
    spoil(seats, getattr(seats, key))
    before = seats.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        seats.acquire()
    assert seats.state() == before


@pytest.mark.parametrize("key", ["seats", "claim", "devices"])
@pytest.mark.parametrize("act", ["renew", "finish"])
def test_a_renewal_and_an_end_change_nothing_where_a_key_has_a_wrong_type(seats, key, act):
    seats.knows(A)
    grant(seats)
    spoil(seats, getattr(seats, key))
    before = seats.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        getattr(seats, act)()
    assert seats.state() == before


def test_a_full_redis_refuses_a_grant_whole(seats):
    seats.knows(A)
    before = seats.state()
    fill(seats)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        seats.acquire()
    assert seats.state() == before


# Rule 4: a repeat.

def test_a_repeat_is_the_same_attempt_with_its_time_anew(seats):
    seats.knows(A)
    first = grant(seats, ttl=500)
    assert grant(seats)[2:] == first[2:]
    assert seats.seated()[A] > seats.now() + 5000
    assert seats.device("device-a")["attempt"] == "1"


def test_a_repeat_without_its_seat_takes_a_free_one_and_no_other(seats):
    seats.knows(A, B, C)
    grant(seats, A)
    seats.lose_seat(A)
    assert grant(seats, A)[3] == 1
    seats.lose_seat(A)
    grant(seats, B)
    grant(seats, C)
    assert seats.acquire(A)[0] == "full"
    seats.finish(B)
    assert grant(seats, A)[3] == 1


def test_a_repeat_after_the_end_is_over(seats):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome="failed")
    assert seats.acquire()[0::2] == ["over", "failed"]
    assert seats.seated() == {}


def test_a_repeat_of_a_turn_settled_since_is_spare(seats):
    seats.knows(A)
    grant(seats)
    seats.lose_seat()
    again = "device-a:again"
    grant(seats, again)
    seats.finish(A)                                             # the late success of the first try
    assert seats.acquire(again)[0] == "spare"


# Rule 7: first sight, by each device.

def test_a_device_that_joins_late_does_not_run_the_past(seats):
    seats.knows(A)
    turn = seats.turn - LATE - 1000
    assert seats.acquire(B, turn=turn, ttl=300)[0:4:3] == ["done", "assumed"]
    assert seats.device("device-b")["state"] == "assumed"
    assert seats.acquire("device-b:new", turn=turn)[0:3:2] == ["done", turn]
    assert seats.acquire(B, ttl=300)[0:4:3] == ["wait", "blank"]  # a newer one that had fallen due by then too
    after(seats, 300)
    grant(seats, B, ttl=300)


def test_a_device_that_joins_in_time_waits_one_lease(seats):
    word, _, left, why = seats.acquire(ttl=300)
    assert (word, left, why) == ("wait", 300, "blank")
    assert seats.acquire(ttl=300)[0] == "wait"
    after(seats, 300)
    assert grant(seats, ttl=300)[3] == 1


def test_a_first_sight_is_not_forgotten_over_the_grants_of_others(seats):
    seats.acquire(B, ttl=200)
    seats.knows(A)
    for number in range(10):
        grant(seats, f"device-a:{number}", turn=seats.now())
        seats.finish(f"device-a:{number}", turn=seats.now() - 1)
        after(seats, 2)
    after(seats, 200)
    grant(seats, B)


def test_a_redis_that_lost_its_data_is_written_again_by_who_runs(seats):
    seats.knows(A)
    grant(seats)
    seats.redis.flushall()
    assert seats.acquire("device-a:new")[0] == "wait"           # not within a lease
    assert seats.renew()[0] == "regained"
    assert seats.device("device-a")["token"] == A
    assert seats.acquire("device-a:new")[0] == "held"
    seats.finish()
    assert seats.acquire("device-a:new")[0] == "done"


def test_first_now_takes_an_old_turn_after_one_lease(seats):
    turn = seats.turn - 40_000
    assert seats.acquire(turn=turn, ttl=200, fresh=FOREVER)[0] == "wait"
    after(seats, 200)
    grant(seats, turn=turn, ttl=200, fresh=FOREVER)


@pytest.mark.parametrize("late", [False, True])
def test_an_edited_schedule_is_a_first_sight_of_this_device_alone(seats, late):
    seats.knows(A, B)
    turn = seats.turn - LATE - 1000 if late else seats.turn
    answer = seats.acquire(A, turn=turn, schedule="s2", ttl=300)
    assert answer[0] == ("done" if late else "wait") and answer[3] == ("assumed" if late else "blank")
    grant(seats, B, turn=turn)
    after(seats, 300)
    grant(seats, A, turn=seats.now(), schedule="s2")


def test_a_wait_does_not_outlast_a_clock_that_was_set_back(seats):
    seats.acquire(ttl=150)
    text = seats.redis.hget(seats.devices, "device-a").split()
    text[RECORD_BLANK] = str(seats.now() + 10 * KEEP)
    seats.redis.hset(seats.devices, "device-a", " ".join(text) + " ")
    assert seats.acquire(ttl=150)[0:3:2] == ["wait", 150]
    after(seats, 160)
    grant(seats, ttl=150)


# Rule 8.

@pytest.mark.parametrize("field", [RECORD_TURN, RECORD_DONE])
def test_a_record_more_than_a_turn_ahead_becomes_the_asked_turn_done(seats, field):
    seats.knows(A)
    text = seats.redis.hget(seats.devices, "device-a").split()
    text[field] = str(seats.turn + 1000 * PERIOD)
    seats.redis.hset(seats.devices, "device-a", " ".join(text))
    assert seats.acquire()[0:4:3] == ["done", "clock"]
    after(seats, 5)
    grant(seats, turn=seats.turn + 1)


def test_a_seat_with_more_left_than_was_asked_for_is_cut(seats):
    seats.knows(A, B)
    grant(seats, A, capacity=1, ttl=300)
    seats.redis.zadd(seats.seats, {A: seats.now() + 10 * KEEP})
    assert seats.acquire("device-a:again", capacity=1, ttl=300)[0:4:3] == ["held", A]
    assert seats.redis.zscore(seats.seats, A) <= seats.now() + 300
    after(seats, 300)
    grant(seats, B, capacity=1, ttl=300)


def test_a_seat_of_a_longer_lease_is_not_cut(seats):
    seats.knows(A, B)
    grant(seats, A, capacity=1, ttl=60_000)
    assert seats.acquire(B, capacity=1, ttl=300)[0] == "full"
    assert seats.redis.zscore(seats.seats, A) > seats.now() + 50_000


@pytest.mark.parametrize("field", [RECORD_TURN, RECORD_DONE])
def test_a_record_from_the_future_settles_nothing_while_its_seat_is_there(seats, field):
    seats.knows(A)
    grant(seats, ttl=300)
    text = seats.redis.hget(seats.devices, "device-a").split()
    text[field] = str(seats.turn + 1000 * PERIOD)
    seats.redis.hset(seats.devices, "device-a", " ".join(text))
    assert seats.acquire(token="device-a:22")[0] == "held"
    after(seats, 310)
    assert seats.acquire(token="device-a:22")[0:4:3] == ["done", "clock"]


def test_a_pause_from_the_future_silences_no_device(seats):
    seats.knows(A)
    seats.redis.hset(seats.claim, "paused", seats.turn + 1000 * PERIOD)
    grant(seats)


@pytest.mark.parametrize("text", ["", "rubbish", "1 2 3", "x" * 5000, "-1 1 1 0 0 0 0 0 0 0 running b1 s1 t"])
def test_a_damaged_record_counts_as_none(seats, text):
    seats.redis.hset(seats.devices, "device-a", text)
    assert seats.acquire()[0] == "wait"


@pytest.mark.parametrize("field", ["v", "version", "paused", "done", "fails", "mean"])
@pytest.mark.parametrize("rubbish", ["inf", "nan", "-5", "text", "9" * 40])
def test_a_damaged_field_of_the_claim_counts_as_nothing(seats, field, rubbish):
    seats.knows(A, B, C).redis.hset(seats.claim, field, rubbish)
    grant(seats, A)
    assert seats.finish(A)[0] == "recorded"
    grant(seats, B, capacity=1)
    word, _, left, *_ = seats.acquire(C, capacity=1)
    assert word == "full" and 0 < left <= PERIOD


# Rules 9 and 10: tries of one device.

@pytest.mark.parametrize("outcome", ["failed", "crashed", "overrun", "lost"])
def test_the_same_turn_waits_for_the_retry_delay_here_and_nowhere_else(seats, outcome):
    seats.knows(A, B)
    grant(seats)
    seats.finish(outcome=outcome, delay=300)
    seats.redis.delete(seats.seats)
    word, _, left, why = seats.acquire("device-a:new")
    assert (word, why) == ("wait", outcome) and 0 < left <= 300
    grant(seats, B)
    after(seats, 300)
    assert grant(seats, "device-a:new")[3] == 2


def test_a_retry_never_waits_longer_than_its_delay(seats):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome="failed", delay=200)
    text = seats.redis.hget(seats.devices, "device-a").split()
    text[RECORD_RETRY] = str(seats.now() + 10 * KEEP)
    seats.redis.hset(seats.devices, "device-a", " ".join(text))
    assert seats.acquire("device-a:again")[0:3:2] == ["wait", 200]
    after(seats, 200)
    grant(seats, "device-a:again")


def test_attempts_are_each_devices_own(seats):
    seats.knows(A, B)
    for attempt in (1, 2):
        assert grant(seats, f"device-a:{attempt}", attempts=2)[3] == attempt
        seats.finish(f"device-a:{attempt}", outcome="failed", attempt=attempt, attempts=2)
    assert seats.acquire("device-a:3", attempts=2)[0] == "exhausted"
    grant(seats, B, attempts=2)
    after(seats, 2)
    assert grant(seats, "device-a:4", turn=seats.turn + 1, attempts=2)[3] == 1


def test_a_job_that_reboots_its_device_is_found_after_it(seats):
    seats.knows(A)
    grant(seats, attempts=2)
    again = "device-a:again"
    word, _, left, holder, *_ = seats.acquire(again, boot="b2", attempts=2)
    assert (word, holder) == ("held", A) and 0 < left <= LEASE      # its lease is left to expire
    seats.lose_seat()
    assert grant(seats, again, boot="b2", attempts=2)[3] == 2
    entry = seats.entries()[-1]
    assert (entry["outcome"], entry["token"], entry["detail"]) == ("vanished", A, "rebooted")


def test_a_job_of_one_attempt_never_reboots_its_device_twice(seats):
    seats.knows(A)
    grant(seats, attempts=1)
    seats.lose_seat()
    word, _, made, first = seats.acquire("device-a:again", boot="b2", attempts=1)
    assert (word, made, first) == ("exhausted", 1, 1)
    assert seats.acquire("device-a:again", boot="b2", attempts=1)[3] == 0
    assert [entry["outcome"] for entry in seats.entries()] == ["vanished"]


def test_two_devices_of_one_name_are_two(seats):
    """The name is for people: the field of a record is the name and what tells machines apart."""
    twin = "device-a:" + "f" * 32
    seats.knows(A)
    seats.redis.hset(seats.devices, "device-a/2", seats.redis.hget(seats.devices, "device-a"))
    grant(seats, A)
    grant(seats, twin, device="device-a/2")
    seats.finish(A)
    assert grant(seats, twin, device="device-a/2")[3] == 1
    seats.finish(twin, device="device-a/2")
    assert seats.redis.hlen(seats.devices) == 2


# Rule 15: by hand.

def test_by_hand_is_a_turn_of_its_own_and_one_attempt(seats):
    seats.knows(A)
    word, now, _, attempt, turn = seats.acquire(turn=0, following=0, attempts=1)
    assert (word, attempt, turn) == ("acquired", 1, now)
    assert seats.finish(turn=turn, outcome="failed", stop=1)[2:] == [1, 1, 0]
    assert seats.field("fails") is None                         # and no failure in a row


def test_by_hand_on_a_device_without_a_record_waits_like_all_where_it_is_full(seats):
    seats.knows(A)
    grant(seats, A, capacity=1)
    assert seats.acquire(B, turn=0, following=0, attempts=1, capacity=1)[0] == "full"
    assert seats.acquire("device-b:due", capacity=2)[0] == "wait"  # still a first sight


def test_by_hand_is_refused_while_paused_unless_by_force(seats):
    seats.knows(A)
    seats.paused("ann: repairs")
    assert seats.acquire(turn=0, following=0)[0::2] == ["paused", "ann: repairs"]
    word, now, _, attempt, turn = seats.acquire(turn=0, following=-1)
    assert (word, attempt, turn) == ("acquired", 1, now)


# Rule 17: paused.

def test_what_was_asked_for_while_paused_has_passed_for_all(seats):
    seats.knows(A, B)
    seats.paused("ann: repairs", 60_000)
    word, _, why, left = seats.acquire(A)
    assert (word, why) == ("paused", "ann: repairs") and 0 < left <= 60_000
    seats.resume()
    assert seats.acquire(B)[0:4:3] == ["done", "paused"]        # it has not asked
    after(seats, 5)
    grant(seats, B, turn=seats.turn + 1)


def test_catch_up_takes_it_after_all(seats):
    seats.knows(A, B)
    seats.paused()
    seats.acquire(A)
    seats.resume(catch_up=1)
    grant(seats, A)
    grant(seats, B)


# Two versions in one fleet.

def test_mismatch_while_a_run_of_fleet_scope_holds_the_lock(seats):
    lock = Job(seats.redis).known()
    grant(lock, B)
    seats.knows(A)
    before = seats.state()
    answer = seats.acquire(A)
    assert answer[0:1] + answer[2:] == ["mismatch", "device", "fleet", B]
    assert seats.state() == before
    lock.finish(B)
    grant(seats, A)


def test_a_lock_of_another_program_is_no_mismatch(seats):
    seats.knows(A)
    seats.redis.hset(seats.claim, mapping={"token": B, "state": "running"})     # of long ago
    seats.redis.set(seats.lock, "somebody")
    grant(seats)


def test_outdated_and_newer(seats):
    seats.knows(A, B)
    grant(seats, version=4)
    seats.finish(version=4)
    assert seats.acquire(B, version=3)[0:3:2] == ["outdated", 4]
    seats.redis.hset(seats.claim, "v", 2)
    before = seats.state()
    assert seats.acquire(B, version=4)[0:3:2] == ["newer", 2]
    assert seats.state() == before
    assert seats.acquire(A)[0] == "over"                        # its own is answered


def test_another_configuration_is_named_last(seats):
    seats.knows(A, B)
    assert len(grant(seats, A)) == 5
    assert grant(seats, B, fingerprint="f2")[5:] == ["f1", A]
    assert seats.acquire("device-a:x")[-2:] == ["f2", B]


# What lives how long, and what it costs.

def test_everything_expires(seats):
    seats.knows(A, B)
    grant(seats, capacity=1)
    seats.acquire(B, capacity=1)
    seats.finish(outcome="crashed")
    for key in (seats.seats, seats.claim, seats.devices, seats.queue, seats.history):
        assert seats.redis.pttl(key) > 0, key


def test_devices_that_are_no_more_are_forgotten(seats):
    old = seats.now() - KEEP - 1000
    seats.redis.hset(seats.devices, "gone", f"{old} 1 {old} 0 0 {old} {old} 0 0 1 succeeded b1 s1 gone:x")
    seats.knows(A)
    for number in range(50):
        grant(seats, f"device-a:{number}", turn=seats.now())
        seats.finish(f"device-a:{number}", turn=seats.now() - 1)
        after(seats, 2)
        if seats.redis.hlen(seats.devices) == 1:
            break
    assert seats.redis.hkeys(seats.devices) == ["device-a"]


@pytest.mark.parametrize("act", ["acquire", "renew", "finish"])
def test_a_command_costs_the_same_in_any_fleet(seats, act):
    counts = []
    for size in (10, 5000):
        seats.redis.flushall()
        tokens = [f"d{number}:x" for number in range(size)]
        seats.knows(A, *tokens)
        if act != "acquire":
            grant(seats)
        seats.redis.config_resetstat()
        assert getattr(seats, act)()[0] in ("acquired", "renewed", "recorded")
        counts.append(sum(stat["calls"] for stat in seats.redis.info("commandstats").values()))
    assert abs(counts[0] - counts[1]) <= 2 and max(counts) < 30  # by which records were looked at


@pytest.mark.parametrize("ahead", [1, 1000])
def test_rule_8_who_is_early_voids_its_record_so_that_the_next_turn_is_not_spent_on_that(seats, ahead):
    seats.turn += ahead * PERIOD - 5000
    seats.knows(A)
    seats.turn = seats.now()
    assert seats.acquire(turn=seats.turn + 30 * PERIOD)[0] == "early"
    if ahead == 1:
        return
    turn = seats.now() + 20
    after(seats, 25)
    grant(seats, turn=turn)


def test_rule_7_a_first_sight_knows_its_turn_so_that_none_before_it_runs(seats):
    assert seats.acquire()[0] == "wait"
    seats.redis.hset(seats.devices, "device-a", seats.redis.hget(seats.devices, "device-a").replace(
        str(seats.device("device-a")["blank"]), "0"))
    assert seats.acquire("device-a:22", turn=seats.turn - PERIOD)[0:3:2] == ["passed", seats.turn]
    grant(seats)


def test_what_the_other_scope_wrote_is_no_configuration_of_this_one(seats):
    """Nor is its print told with the token of who has nothing to do with it."""
    seats.knows(A, B)
    grant(seats)
    seats.finish()
    job = Job(seats.redis)
    job.turn = seats.turn + 1
    after(seats, 5)
    answer = job.acquire(B, fingerprint="f2")
    assert answer[0::2] == ["wait", LEASE] and len(answer) == 4, answer


def test_a_run_of_the_other_scope_is_seen_where_the_claim_tells_of_another(seats):
    """As where two masters became one: the lock is the one's, and the claim the other's."""
    seats.knows(A)
    seats.redis.hset(seats.claim, mapping={"token": B, "state": "failed", "ttl": LEASE, "scope": "fleet"})
    seats.redis.set(seats.lock, C, px=LEASE // 2)
    word, _, ours, theirs, holder = seats.acquire()
    assert (word, ours, theirs, holder) == ("mismatch", "device", "fleet", C)
    seats.redis.delete(seats.lock)
    grant(seats)


def test_what_a_run_of_the_other_scope_left_behind_is_a_mismatch_too(seats):
    """Its lock is left to expire: what still runs of it is not known."""
    lock = Job(seats.redis).known()
    grant(lock, B)
    lock.finish(B, outcome="crashed")
    seats.knows(A)
    assert seats.acquire()[0:5:4] == ["mismatch", B]
    lock.lose_lock()
    grant(seats)


def test_a_run_of_the_other_scope_is_seen_where_the_claim_is_gone(seats):
    seats.knows(A)
    seats.redis.set(seats.lock, B, px=LEASE)
    assert seats.acquire()[0:5:4] == ["mismatch", B]


def test_a_lock_without_expiry_silences_the_seats_for_one_lease(seats):
    lock = Job(seats.redis).known()
    grant(lock, B)
    seats.redis.persist(seats.lock)
    seats.knows(A)
    assert seats.acquire()[0:5:4] == ["mismatch", B]
    assert 0 < seats.redis.pttl(seats.lock) <= LEASE
