# SPDX-License-Identifier: MIT
"""Device scope: renewals, how runs end, and the brake that stops a job in the whole fleet."""
import pytest

from script_job import A, B, C, LEASE, PERIOD, after, fill, grant

RETRIED = ["failed", "crashed", "overrun", "lost"]


# Renewals: rules 5 and 6.

def test_a_renewal_moves_the_seats_end(seats):
    seats.knows(A)
    grant(seats, ttl=500)
    word, _, left = seats.renew(ttl=LEASE)
    assert word == "renewed" and 0 < left <= 500
    assert seats.seated()[A] > seats.now() + LEASE - 2000


def test_a_renewal_after_the_end_is_lost(seats):
    seats.knows(A)
    grant(seats)
    seats.finish()
    assert seats.renew()[0::3] == ["lost", "succeeded"]
    assert seats.seated() == {}


def test_a_seat_that_ran_out_is_taken_back_where_one_is_free(seats):
    seats.knows(A, B, C)
    grant(seats, A, capacity=1)
    seats.lose_seat(A)
    assert seats.renew(A, capacity=1)[0::2] == ["regained", 0]
    seats.lose_seat(A)
    grant(seats, B, capacity=1)
    assert seats.renew(A, capacity=1)[0] == "lost"
    assert set(seats.seated()) == {B}


def test_not_taken_back_after_another_try_of_this_device(seats):
    seats.knows(A)
    grant(seats)
    seats.lose_seat()
    grant(seats, "device-a:again")
    assert seats.renew(A)[0::3] == ["lost", "device-a:again"]


def test_a_seat_is_taken_back_where_redis_is_full_and_empty(seats):
    seats.knows(A)
    grant(seats)
    seats.redis.flushall()
    fill(seats)
    assert seats.renew()[0] == "regained"
    assert set(seats.seated()) == {A}
    assert (seats.device("device-a")["token"], seats.device("device-a")["state"]) == (A, "running")


def test_a_renewal_works_where_redis_is_full(seats):
    seats.knows(A)
    grant(seats)
    fill(seats)
    assert seats.renew()[0] == "renewed"


# Ends: rules 3, 4, 9, 11.

@pytest.mark.parametrize("outcome,freed", [
    ("succeeded", True), ("nothing", True), ("stopped", True), ("failed", True), ("refused", True),
    ("declined", True), ("unstarted", True), ("crashed", False), ("overrun", False), ("lost", False)])
def test_only_an_orderly_end_frees_the_seat(seats, outcome, freed):
    seats.knows(A, B)
    grant(seats, capacity=1, ttl=400)
    assert seats.finish(outcome=outcome)[2] == 1
    assert (seats.seated() == {}) is freed
    if not freed:
        assert seats.acquire(B, capacity=1)[0] == "full"
        after(seats, 400)
    grant(seats, B, capacity=1)


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "declined"])
def test_a_tree_that_could_not_be_emptied_keeps_the_seat(seats, outcome):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome=outcome, clean=0)
    assert len(seats.seated()) == 1 and seats.redis.pttl(seats.seats) > 0
    assert seats.renew()[0] == "lost"                           # it is not the run's any more


def test_what_was_left_behind_is_waited_for_by_this_device(seats):
    seats.knows(A)
    grant(seats, ttl=400)
    seats.finish(outcome="crashed")
    word, _, left, *_ = seats.acquire("device-a:again")
    assert word == "held" and 0 < left <= 400
    after(seats, 400)
    assert grant(seats, "device-a:again")[3] == 2


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "crashed"])
def test_an_end_said_again_gives_the_same_answer_and_nothing_twice(seats, outcome):
    seats.knows(A)
    grant(seats, attempts=1)
    first = seats.finish(outcome=outcome, attempts=1, stop=1)
    before = seats.state()
    assert seats.finish(outcome=outcome, attempts=1, stop=1)[2:] == first[2:]
    assert seats.state() == before and len(seats.entries()) == 1


def test_a_late_success_counts_whoever_has_the_seat(seats):
    seats.knows(A, B, C)
    grant(seats, A, capacity=1)
    seats.lose_seat(A)
    grant(seats, B, capacity=1)
    assert seats.finish(A)[0::2] == ["recorded", 0, 0]
    assert set(seats.seated()) == {B}
    assert seats.acquire("device-a:again", capacity=1)[0] == "done"


def test_a_late_success_of_a_try_before_settles_the_turn_and_nothing_else(seats):
    seats.knows(A)
    grant(seats)
    seats.lose_seat()
    grant(seats, "device-a:again")
    before = seats.device("device-a")
    seats.finish(A)
    record = seats.device("device-a")
    assert int(record.pop("done")) == seats.turn and before.pop("done")
    assert record == before and set(seats.seated()) == {"device-a:again"}


def test_a_late_failure_of_a_try_before_changes_nothing(seats):
    seats.knows(A)
    grant(seats)
    seats.lose_seat()
    grant(seats, "device-a:again")
    before, fails = seats.device("device-a"), seats.field("fails")
    seats.finish(A, outcome="failed", delay=5000)
    assert seats.device("device-a") == before and seats.field("fails") == fails


def test_an_end_of_a_lost_record_is_recorded_where_redis_is_full(seats):
    seats.knows(A)
    grant(seats)
    seats.redis.flushall()
    fill(seats)
    assert seats.finish()[0] == "recorded"
    assert int(seats.device("device-a")["done"]) == seats.turn


def test_a_failure_of_a_lost_record_waits_and_is_counted_as_a_try(seats):
    seats.knows(A)
    grant(seats)
    seats.redis.flushall()
    seats.finish(outcome="failed", delay=5000, lease=200)
    record = seats.device("device-a")
    assert (record["state"], record["attempt"], record["token"]) == ("failed", "1", A)
    after(seats, 200)
    assert seats.acquire("device-a:again")[0:4:3] == ["wait", "failed"]


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "crashed"])
def test_an_end_is_recorded_where_redis_is_full(seats, outcome):
    seats.knows(A)
    grant(seats)
    fill(seats)
    assert seats.finish(outcome=outcome)[0] == "recorded"
    assert seats.device("device-a")["state"] == outcome
    assert seats.entries()[-1]["outcome"] == outcome


@pytest.mark.parametrize("outcome", ["declined", "unstarted"])
def test_declined_and_unstarted_give_the_attempt_back(seats, outcome):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome=outcome)
    assert grant(seats, "device-a:again")[3] == 1


def test_one_attempt_is_at_most_once(seats):
    seats.knows(A)
    grant(seats, attempts=1)
    seats.finish(outcome="declined", attempts=1)
    assert seats.acquire("device-a:again", attempts=1)[0] == "exhausted"


def test_unstarted_of_what_was_never_granted_changes_nothing(seats):
    seats.knows(A)
    grant(seats, "device-a:other")
    before = seats.state()
    assert seats.finish(A, outcome="unstarted")[0::2] == ["recorded", 0, 0]
    assert seats.state() == before


def test_a_success_covers_what_fell_due_meanwhile(seats):
    seats.knows(A)
    grant(seats, turn=seats.turn - 500)
    seats.finish(turn=seats.turn - 500, covers=seats.turn - 100)
    assert seats.acquire("device-a:x", turn=seats.turn - 100)[0] == "done"
    grant(seats, "device-a:x")


def test_covers_from_the_future_is_not_believed(seats):
    seats.knows(A)
    grant(seats)
    seats.finish(covers=seats.now() + PERIOD)
    assert int(seats.device("device-a")["done"]) == seats.turn


def test_an_unknown_outcome_changes_nothing(seats):
    seats.knows(A)
    grant(seats)
    before = seats.state()
    with pytest.raises(Exception, match="unknown outcome"):
        seats.finish(outcome="vanished")
    assert seats.state() == before


def test_no_history_where_none_is_kept(seats):
    seats.knows(A)
    grant(seats, cap=0)
    seats.finish(cap=0)
    assert seats.redis.exists(seats.history) == 0


def test_a_newer_layout_keeps_its_number_and_its_fields(seats):
    seats.knows(A)
    grant(seats)
    seats.redis.hset(seats.claim, mapping={"v": 2, "lanes": "kept"})
    assert seats.finish()[0] == "recorded"
    assert (seats.field("v"), seats.field("lanes")) == ("2", "kept")


# Versions: only a success counts.

def test_only_a_success_raises_the_version(seats):
    seats.knows(A, B)
    grant(seats, A, version=4)
    seats.finish(A, outcome="failed", version=4)
    assert seats.field("version") is None
    grant(seats, B, version=4)
    seats.finish(B, version=4)
    assert seats.field("version") == "4"


# The brake.

def fail(seats, token, outcome="failed", **more):
    grant(seats, token)
    return seats.finish(token, outcome=outcome, stop=3, **more)


@pytest.mark.parametrize("outcome", ["failed", "crashed", "overrun", "refused"])
def test_failures_in_a_row_stop_the_job_for_the_fleet(seats, outcome):
    seats.knows(A, B, C, "device-d:d")
    for token in (A, B):
        assert fail(seats, token)[4] == 0
        seats.redis.delete(seats.seats)
    assert fail(seats, C, outcome, detail="no space left")[4] == 1
    word, _, why, left = seats.acquire("device-d:d", stop=3)
    assert (word, left) == ("paused", -1)
    assert why == f"rota: stopped after 3 failures in a row; last: device-c, {outcome}: no space left"


def test_the_brake_works_where_redis_is_full(seats):
    seats.knows(A)
    grant(seats)
    fill(seats)
    assert seats.finish(outcome="failed", stop=1)[4] == 1
    assert seats.redis.exists(seats.pause)


@pytest.mark.parametrize("outcome", ["succeeded", "nothing"])
def test_a_success_anywhere_begins_the_count_anew(seats, outcome):
    seats.knows(A, B, C)
    fail(seats, A)
    fail(seats, B)
    grant(seats, C)
    seats.finish(C, outcome=outcome, stop=3)
    assert seats.field("fails") == "0"


@pytest.mark.parametrize("outcome", ["declined", "stopped", "unstarted"])
def test_other_ends_are_neither_failures_nor_successes(seats, outcome):
    seats.knows(A, B)
    fail(seats, A)
    grant(seats, B)
    seats.finish(B, outcome=outcome, stop=3)
    assert seats.field("fails") == "1"


def test_a_brake_that_is_off_counts_and_stops_nothing(seats):
    seats.knows(A)
    for attempt in range(1, 6):
        grant(seats, f"device-a:{attempt}", attempts=9)
        assert seats.finish(f"device-a:{attempt}", outcome="failed", attempt=attempt, attempts=9)[4] == 0
    assert seats.redis.exists(seats.pause) == 0


def test_devices_that_vanish_stop_the_job_too(seats):
    """A job that bricks its devices: none of them ever says how it ended."""
    tokens = [f"device-{n}:{n}" for n in range(4)]
    seats.knows(*tokens)
    for token in tokens[:3]:
        grant(seats, token, capacity=1, stop=3)
        seats.lose_seat(token)
    word, _, why, _ = seats.acquire(tokens[3], capacity=1, stop=3)
    assert word == "paused"
    assert why == "rota: stopped after 3 failures in a row; last: device-2, vanished"


def test_who_asks_again_for_its_own_run_has_not_vanished(seats):
    seats.knows(A, B)
    grant(seats, A, capacity=1)
    seats.lose_seat(A)
    seats.redis.zadd(seats.seats, {B: seats.now() + 5000})
    assert seats.acquire(A, capacity=1)[0] == "full"
    assert seats.field("fails") is None


def test_a_failure_that_was_counted_as_vanished_is_counted_once(seats):
    seats.knows(A, B)
    grant(seats, A)
    seats.lose_seat(A)
    grant(seats, B)                                             # finds it
    seats.finish(A, outcome="crashed", stop=3)
    assert seats.field("fails") == "1"


def test_a_lost_lease_is_no_failure_of_the_job(seats):
    """As where Redis was away for longer than the lease."""
    seats.knows(A, B, C, "device-d:d", "device-e:e")
    assert fail(seats, A)[4] == 0
    assert fail(seats, B, "lost")[4] == 0
    assert seats.field("fails") == "1"
    for token in (C, "device-d:d"):
        grant(seats, token, capacity=4)
        seats.lose_seat(token)
    assert seats.acquire("device-e:e", stop=3, capacity=4)[0] == "paused"
    for left, token in ((2, C), (1, "device-d:d")):
        seats.finish(token, outcome="lost", stop=3)
        assert (seats.field("fails"), seats.redis.exists(seats.pause)) == (str(left), 0)


def test_a_crash_is_counted_once_when_its_seat_runs_out(seats):
    seats.knows(A, B, C)
    grant(seats, A, ttl=200)
    grant(seats, C)                                             # keeps the seats from being forgotten
    seats.finish(A, outcome="crashed", stop=3)
    after(seats, 250)
    grant(seats, B)
    assert seats.field("fails") == "1"


def test_a_late_success_after_having_vanished_counts(seats):
    seats.knows(A, B)
    grant(seats, A)
    seats.lose_seat(A)
    grant(seats, B)
    seats.finish(A, stop=3)
    assert seats.field("fails") == "0"


def test_late_successes_lift_the_brake_that_counted_them_as_vanished(seats):
    """As after an outage that was longer than the lease: nothing has failed, so nobody has to resume the job."""
    seats.knows(A, B, C, "device-d:d", "device-e:e")
    for token in (A, B, C, "device-d:d"):
        grant(seats, token)
        seats.lose_seat(token)
    assert seats.acquire("device-e:e", stop=3)[2].startswith("rota: stopped after 4 failures in a row; ")
    seats.finish(A, stop=3)
    assert (seats.field("fails"), seats.redis.exists(seats.pause)) == ("3", 1)  # still as many as stop it
    seats.finish(B, stop=3)
    assert (seats.field("fails"), seats.redis.exists(seats.pause)) == ("2", 0)
    seats.finish(C, stop=3)
    assert seats.field("fails") == "0"


@pytest.mark.parametrize("outcome", ["declined", "stopped", "unstarted"])
def test_what_is_no_failure_is_none_either_where_it_is_told_late(seats, outcome):
    """As where a device is drained while its link is down for longer than the lease."""
    seats.knows(A, B, C)
    grant(seats, A)
    seats.lose_seat(A)
    assert seats.acquire(C, stop=1)[0] == "paused"
    seats.finish(A, outcome=outcome, stop=1)
    assert (seats.field("fails"), seats.redis.exists(seats.pause)) == ("0", 0)


@pytest.mark.parametrize("why", [
    "ann: they have vanished", "rota: stopped after 3 failures in a row; last: b, failed",
    "rota: stopped after 3 failures in a row; last: b, failed: job.service, vanished"])
def test_a_late_success_lifts_no_other_pause(seats, why):
    seats.knows(A, B)
    grant(seats, A)
    seats.lose_seat(A)
    grant(seats, B)
    seats.paused(why)
    seats.finish(A, stop=3)
    assert (seats.field("fails"), seats.redis.get(seats.pause)) == ("0", why)


def test_a_success_that_was_told_in_time_lifts_no_brake(seats):
    seats.knows(A, B)
    grant(seats, A)
    seats.paused("rota: stopped after 1 failure; last: device-b, vanished")
    seats.finish(A, stop=1)
    assert seats.redis.exists(seats.pause)


def test_a_pause_that_stands_keeps_its_words(seats):
    seats.knows(A)
    grant(seats)
    seats.paused("ann: repairs")
    assert seats.finish(outcome="failed", stop=1)[4] == 0
    assert seats.redis.get(seats.pause) == "ann: repairs"


def test_after_a_resume_failures_are_counted_from_nothing(seats):
    seats.knows(A, B)
    grant(seats, A)
    seats.finish(A, outcome="failed", stop=1)
    assert seats.resume()[2].startswith("rota: stopped after 1 failure; last: ")
    after(seats, 5)
    grant(seats, B, turn=seats.turn + 1)
    assert seats.finish(B, turn=seats.turn + 1, outcome="failed", stop=2)[4] == 0
