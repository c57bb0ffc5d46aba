# SPDX-License-Identifier: MIT
"""Two versions of a fleet at once, and pauses: what the scripts of a lock answer."""
import pytest
import redis

from script_job import A, B, PERIOD, Seats, after, fill, grant, spoil


# Another configuration.

def test_an_answer_of_the_same_configuration_names_none(job):
    job.known()
    assert len(grant(job)) == 5
    assert len(job.acquire(B)) == 7


@pytest.mark.parametrize("ask,length", [
    (lambda job: job.acquire(B, fingerprint="f2"), 7),                                  # held
    (lambda job: (job.finish(), job.acquire(B, fingerprint="f2"))[1], 5),               # done
    (lambda job: job.acquire(B, turn=job.turn - 1, fingerprint="f2"), 3),               # passed
    (lambda job: (job.lose_lock(), job.acquire(B, fingerprint="f2"))[1], 5),            # acquired
    (lambda job: (job.lose_lock(), job.acquire(B, attempts=1, fingerprint="f2"))[1], 4),  # exhausted
    (lambda job: (job.finish(outcome="failed", delay=5000), job.acquire(B, fingerprint="f2"))[1], 4),  # wait
])
def test_an_answer_names_another_configuration_last(job, ask, length):
    job.known()
    grant(job)
    answer = ask(job)
    assert answer[length:] == ["f1", A], answer


def test_the_granted_one_is_named_from_then_on(job):
    job.known()
    grant(job)
    job.finish(outcome="failed")
    grant(job, B, fingerprint="f2")
    assert job.acquire("device-c:c", fingerprint="f1")[-2:] == ["f2", B]
    assert (job.field("fingerprint"), job.field("scope")) == ("f2", "fleet")


# The other scope.

def test_mismatch_while_seats_are_taken(job):
    job.known()
    job.redis.zadd(job.seats, {A: job.now() + 5000})
    before = job.state()
    assert job.acquire(B)[0::1][0:1] + job.acquire(B)[2:] == ["mismatch", "fleet", "device", A]
    assert job.state() == before


def test_what_a_run_left_behind_is_a_mismatch_too(job):
    job.known()
    job.redis.zadd(job.seats, {"~" + A: job.now() + 5000})
    assert job.acquire(B)[0:5:4] == ["mismatch", A]


def test_no_mismatch_once_the_seats_have_run_out(job):
    job.known()
    job.redis.zadd(job.seats, {A: job.now() - 1})
    grant(job, B)


def test_its_own_repeat_is_answered_whatever_has_come(job):
    job.known()
    first = grant(job)
    job.redis.zadd(job.seats, {B: job.now() + 5000})
    job.redis.hset(job.claim, mapping={"v": 2, "version": 7})
    assert job.acquire(first=0)[2:5] == first[2:5]


def test_turns_that_the_seats_have_had_do_not_run_again_by_lock(job):
    seats = Seats(job.redis).knows(A)
    seats.turn = job.turn
    grant(seats)
    seats.finish()
    assert job.acquire(B)[0] == "done"


def test_seats_of_a_wrong_type_change_nothing(job):
    job.known()
    spoil(job, job.seats)
    before = job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        job.acquire()
    assert job.state() == before


# Versions of the job.

def test_a_lower_version_stands_aside_once_a_higher_has_succeeded(job):
    job.known()
    grant(job, version=3)
    job.finish(version=3)
    after(job, 2)
    before = job.state()
    for version in (0, 2):
        assert job.acquire(B, turn=job.turn + 1, version=version)[0:3:2] == ["outdated", 3]
    assert job.state() == before
    grant(job, B, turn=job.turn + 1, version=3)


@pytest.mark.parametrize("outcome", ["failed", "refused", "crashed", "overrun", "lost", "declined", "stopped", "nothing"])
def test_a_version_that_has_not_succeeded_switches_nobody_off(job, outcome):
    job.known()
    grant(job, version=3)
    job.finish(version=3, outcome=outcome)
    job.lose_lock()
    assert job.acquire(B, version=2)[0] != "outdated"


def test_a_version_never_goes_back(job):
    job.known(version=5)
    grant(job, version=5)
    job.finish(version=4)
    assert job.field("version") == "5"


def test_a_late_success_of_another_attempt_counts_for_its_version(job):
    job.known()
    grant(job, version=4)
    job.lose_lock()
    grant(job, B, version=3)
    job.finish(A, version=4)
    assert job.field("version") == "4"


# Layouts of the claim.

def test_a_newer_layout_is_left_alone(job):
    job.known(v=2)
    before = job.state()
    assert job.acquire()[0:3:2] == ["newer", 2]
    assert job.acquire(turn=job.turn - 50_000)[0] == "newer"     # nor is anything assumed
    assert job.state() == before


def test_a_newer_layout_goes_before_what_would_write(job):
    job.known(v=2, done=job.turn + 1000 * PERIOD)                # void, else
    before = job.state()
    assert job.acquire()[0] == "newer"
    assert job.state() == before


def test_the_end_of_ones_own_run_is_recorded_in_a_newer_layout_too(job):
    job.known()
    grant(job)
    job.redis.hset(job.claim, mapping={"v": 2, "lanes": "kept"})
    assert job.finish()[0] == "recorded"
    assert int(job.field("done")) == job.turn
    assert (job.field("v"), job.field("lanes")) == ("2", "kept")


def test_a_renewal_keeps_a_newer_layout(job):
    job.known()
    grant(job)
    job.redis.hset(job.claim, mapping={"v": 2, "token": "", "turn": 0})
    job.lose_lock()
    assert job.renew()[0] == "regained"
    assert job.field("v") == "2"


# Pauses.

def test_a_pause_says_who_and_why_and_how_long(job):
    job.known()
    assert job.paused("ann: repairs", 5000)[0::2] == ["paused", ""]
    word, _, why, left = job.acquire()
    assert (word, why) == ("paused", "ann: repairs") and 0 < left <= 5000


def test_a_pause_without_an_end(job):
    job.known()
    job.paused("ann: repairs", 5000)
    assert job.paused("bob: more repairs")[2] == "ann: repairs"
    assert job.acquire()[2:] == ["bob: more repairs", -1]


def test_a_resumed_job_goes_on_with_its_next_turn(job):
    job.known()
    job.paused()
    job.acquire()
    assert job.resume()[0::2] == ["resumed", "ann: repairs"]
    assert job.acquire()[0:4:3] == ["done", "paused"]
    after(job, 5)
    grant(job, turn=job.turn + 1)


def test_a_resume_that_catches_up_takes_the_turn_after_all(job):
    job.known()
    job.paused()
    job.acquire()
    job.resume(catch_up=1)
    grant(job)


def test_a_job_is_resumed_where_redis_is_full(job):
    job.known()
    job.paused()
    job.acquire()
    fill(job)
    assert job.resume(catch_up=1)[0] == "resumed"
    assert job.redis.exists(job.pause) == 0 and job.field("paused") is None


@pytest.mark.parametrize("key", ["pause", "claim"])
def test_pause_and_resume_leave_what_is_not_theirs(job, key):
    job.known()
    spoil(job, getattr(job, key))
    before = job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        job.resume()
    if key == "pause":
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            job.paused()
    assert job.state() == before
