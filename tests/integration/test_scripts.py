# SPDX-License-Identifier: MIT
"""The scripts of a lock against a real Redis: rules 1 to 8 of PROTOCOL.md, one test at least for each."""
import pytest
import redis

from script_job import A, B, FOREVER, KEEP, LATE, LEASE, PERIOD, Job, after, fill, grant, spoil


# The whole path.

def test_a_turn_from_grant_to_done(job):
    job.known()
    word, now, fence, attempt, turn = grant(job)
    assert (attempt, turn) == (1, job.turn) and fence >= now
    assert job.redis.get(job.lock) == A
    assert 0 < job.redis.pttl(job.lock) <= LEASE
    record = job.record()
    assert record["state"] == "running" and record["token"] == A
    assert (record["v"], record["fingerprint"], record["schedules"]) == ("1", "f1", "s1")
    assert job.renew(fence=fence)[0] == "renewed"
    word, _, held, gave_up = job.finish(fence=fence)
    assert (word, held, gave_up) == ("recorded", 1, 0)
    assert job.redis.exists(job.lock) == 0
    assert int(job.field("done")) == job.turn
    assert job.acquire(B)[0:3:2] == ["done", job.turn]


def test_fingerprint_of_the_newest_attempt_is_kept(job):
    job.known()
    grant(job, fingerprint="f1")
    job.finish(outcome="failed")
    grant(job, B, fingerprint="f2")
    assert job.field("fingerprint") == "f2"


# Rule 1: everything is read before anything is written.

@pytest.mark.parametrize("key", ["lock", "claim", "pause"])
def test_rule_1_acquire_changes_nothing_where_a_key_has_a_wrong_type(job, key):
    job.known()
    spoil(job, getattr(job, key))
    before = job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        job.acquire()
    assert job.state() == before


@pytest.mark.parametrize("key", ["lock", "claim"])
@pytest.mark.parametrize("act", ["renew", "finish"])
def test_rule_1_renew_and_finish_change_nothing_where_a_key_has_a_wrong_type(job, key, act):
    job.known()
    grant(job)
    spoil(job, getattr(job, key))
    before = job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        getattr(job, act)()
    assert job.state() == before


def test_rule_1_a_history_of_a_wrong_type_is_left_alone_and_hinders_nothing(job):
    job.known(state="running")
    spoil(job, job.history)
    grant(job)  # writes `vanished` for the one before
    assert job.finish()[0] == "recorded"
    assert job.redis.lrange(job.history, 0, -1) == ["not", "ours"]
    assert job.redis.ttl(job.history) == -1
    assert int(job.field("done")) == job.turn


def test_rule_1_a_full_redis_refuses_a_grant_whole(job):
    job.known()
    before = job.state()
    fill(job)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        job.acquire()
    assert job.state() == before


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "crashed"])
def test_rule_1_finish_works_where_redis_is_full(job, outcome):
    job.known()
    grant(job)
    fill(job)
    assert job.finish(outcome=outcome)[0] == "recorded"
    assert job.field("state") == outcome
    assert job.entries()[-1]["outcome"] == outcome


def test_rule_1_finish_of_a_lost_record_works_where_redis_is_full(job):
    job.known()
    grant(job)
    job.redis.delete(job.claim, job.lock)
    fill(job)
    assert job.finish()[0] == "recorded"
    assert int(job.field("done")) == job.turn


def test_rule_1_the_lease_is_taken_back_where_redis_is_full(job):
    job.known()
    grant(job)
    job.redis.delete(job.claim, job.lock)
    fill(job)
    assert job.renew()[0] == "regained"
    assert job.redis.get(job.lock) == A and job.field("state") == "running"


def test_rule_1_a_pause_is_told_where_redis_is_full(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    fill(job)
    assert job.acquire()[0::2] == ["paused", "ann: repairs"]


# Rule 2: the claim belongs to the job.

def test_rule_2_two_jobs_that_share_a_lock_have_claims_of_their_own(job):
    job.known()
    other = Job(job.redis, "restore").known()
    other.turn, other.lock = job.turn, job.lock
    grant(job)
    word, _, _, holder, holder_turn, _, _ = other.acquire(B)
    assert (word, holder, holder_turn) == ("held", A, 0)
    job.finish()
    assert grant(other, B)[4] == job.turn


# Rule 3: done only grows, and only a run's own token changes its record.

def test_rule_3_a_late_success_settles_its_turn_whoever_holds_the_lock(job):
    job.known()
    grant(job, attempts=2)
    job.lose_lock()
    grant(job, B, attempts=2)
    before = job.record()
    assert job.finish(A)[0::2] == ["recorded", 0]
    after = job.record()
    assert int(after.pop("done")) == job.turn and before.pop("done")
    assert after == before and job.redis.get(job.lock) == B


def test_rule_3_a_late_failure_changes_nothing_that_is_no_longer_its_own(job):
    job.known()
    grant(job)
    job.lose_lock()
    grant(job, B)
    before = job.record()
    job.finish(A, outcome="failed", delay=60_000)
    assert job.record() == before and job.redis.get(job.lock) == B


def test_rule_3_done_never_goes_back(job):
    job.known()
    grant(job)
    job.finish(covers=job.turn + 0)
    job.finish(B, turn=job.turn - 2 * PERIOD)
    assert int(job.field("done")) == job.turn


def test_rule_3_a_late_success_counts_after_others_gave_the_turn_up(job):
    job.known()
    grant(job, attempts=1)
    job.lose_lock()
    assert job.acquire(B, attempts=1)[0] == "exhausted"
    assert job.field("streak") == "1"
    assert job.finish(attempts=1)[0] == "recorded"
    assert int(job.field("done")) == job.turn
    assert (job.field("state"), job.field("streak")) == ("succeeded", "0")


def test_rule_3_a_late_failure_of_a_turn_given_up_is_counted_once(job):
    job.known()
    grant(job, attempts=1)
    job.lose_lock()
    job.acquire(B, attempts=1)
    assert job.finish(outcome="failed", attempts=1)[3] == 1
    assert job.field("streak") == "1"


# Rule 4: a repeat gives the same answer.

def test_rule_4_acquire_again_is_the_same_attempt_with_its_time_anew(job):
    job.known()
    first = grant(job)
    job.redis.pexpire(job.lock, 500)
    assert grant(job, first=0)[2:] == first[2:]
    assert job.redis.pttl(job.lock) > 500
    assert job.field("attempt") == "1"


def test_rule_4_acquire_again_takes_back_a_lock_that_expired(job):
    job.known()
    first = grant(job)
    job.lose_lock()
    assert grant(job, first=0)[2:] == first[2:]
    assert job.redis.get(job.lock) == A


def test_rule_4_acquire_again_of_a_turn_settled_since_is_spare_and_ends_as_unstarted(job):
    job.known()
    grant(job, attempts=2)
    job.lose_lock()
    second = grant(job, B, attempts=2)
    job.finish(A)  # the late success of the first attempt
    assert job.acquire(B, first=0, attempts=2)[0::2] == ["spare", second[2], job.turn]
    job.finish(B, attempt=2, fence=second[2], outcome="unstarted")
    assert job.redis.exists(job.lock) == 0 and int(job.field("done")) == job.turn


def test_rule_4_acquire_after_the_end_of_its_run_is_over(job):
    job.known()
    grant(job)
    job.finish(outcome="failed")
    assert job.acquire(first=0)[0::2] == ["over", "failed"]
    assert job.redis.exists(job.lock) == 0


def test_rule_4_finish_again_gives_the_stored_answer_and_nothing_twice(job):
    job.known()
    grant(job, attempts=1)
    first = job.finish(outcome="failed", attempts=1)
    before = job.state()
    assert job.finish(outcome="failed", attempts=1)[2:] == first[2:] == [1, 1]
    assert job.state() == before and len(job.entries()) == 1


# Rule 5: no late message brings a lock back.

def test_rule_5_a_renewal_after_the_end_is_lost(job):
    job.known()
    grant(job)
    job.finish()
    assert job.renew()[0::3] == ["lost", "succeeded"]
    assert job.redis.exists(job.lock) == 0


def test_rule_5_a_renewal_of_a_released_run_is_lost(job):
    job.known()
    grant(job)
    job.redis.hset(job.claim, "state", "released")
    job.lose_lock()
    assert job.renew()[0::3] == ["lost", "released"]
    assert job.redis.exists(job.lock) == 0


def test_rule_5_the_lock_of_another_is_neither_renewed_nor_freed(job):
    job.known()
    grant(job)
    job.redis.set(job.lock, "somebody", px=4000)
    word, _, left, holder = job.renew(ttl=60_000)
    assert (word, holder) == ("lost", "somebody") and left <= 4000
    assert job.finish()[0::2] == ["recorded", 0]
    assert job.redis.get(job.lock) == "somebody" and job.redis.pttl(job.lock) <= 4000


# Rule 6: taken back, if nobody has had a turn since.

def test_rule_6_a_lost_key_is_taken_back(job):
    job.known()
    grant(job)
    job.lose_lock()
    assert job.renew()[0::2] == ["regained", 0]
    assert job.redis.get(job.lock) == A


def test_rule_6_a_lost_redis_is_written_again(job):
    job.known()
    fence = grant(job)[2]
    job.redis.flushall()
    assert job.renew(fence=fence)[0] == "regained"
    record = job.record()
    assert (record["v"], record["token"], record["state"]) == ("1", A, "running")
    assert int(record["turn"]) == job.turn and int(record["fence"]) == fence


def test_rule_6_the_end_of_an_older_attempt_is_not_taken_for_that_of_the_one_taken_back(job):
    job.known()
    grant(job, attempts=1)
    record = {"turn": job.turn - PERIOD, "token": "device-z:old", "state": "failed", "ended": 1}
    job.redis.hset(job.claim, mapping=record)  # what an older copy of the data says
    job.lose_lock()
    assert job.renew()[0] == "regained"
    job.lose_lock()
    assert job.acquire(B, attempts=1)[0] == "exhausted"
    job.finish(attempts=1)
    assert job.field("state") == "succeeded" and int(job.field("done")) == job.turn


@pytest.mark.parametrize("state", ["blank", "assumed"])
def test_rule_6_a_first_sight_by_another_is_no_turn(job, state):
    job.known()
    grant(job)
    job.redis.flushall()
    job.redis.hset(job.claim, mapping={"turn": job.turn + 1, "state": state, "token": ""})
    assert job.renew()[0] == "regained"
    assert job.field("state") == "running"


def test_rule_6_not_taken_back_after_another_attempt(job):
    job.known()
    grant(job)
    job.lose_lock()
    grant(job, B)
    job.finish(B, attempt=2, outcome="failed")
    assert job.renew(A)[0::3] == ["lost", B]
    assert job.redis.exists(job.lock) == 0


# Rule 7: a job without any record, or a schedule that was not seen before, is never granted at once.

def test_rule_7_a_new_job_that_asks_late_assumes_its_turn_done(job):
    turn = job.turn - LATE - 1000
    word, _, done, why, _ = job.acquire(turn=turn)
    assert (word, done, why) == ("done", turn, "assumed")
    assert job.acquire(B, turn=turn)[0:3:2] == ["done", turn]
    assert int(job.field("done")) == turn and job.redis.exists(job.lock) == 0


def test_rule_7_a_new_job_that_asks_in_time_waits_one_lease(job):
    word, _, left, why = job.acquire(ttl=300)
    assert (word, left, why) == ("wait", 300, "blank")
    word, _, left, why = job.acquire(B, ttl=300)
    assert (word, why) == ("wait", "blank") and 0 < left <= 300
    assert job.redis.exists(job.lock) == 0
    assert (job.field("v"), job.field("schedules")) == ("1", "s1")
    after(job, 300)
    assert grant(job, B, ttl=300)[3] == 1


def test_rule_7_first_now_takes_a_turn_of_long_ago_after_one_lease(job):
    turn = job.turn - 40_000
    assert job.acquire(turn=turn, ttl=200, fresh=FOREVER)[0] == "wait"
    after(job, 200)
    grant(job, turn=turn, ttl=200, fresh=FOREVER)


def test_rule_7_an_edited_schedule_that_asks_late_assumes_its_turn_done(job):
    turn = job.turn - LATE - 1000
    before = job.known().record()
    word, _, done, why, _ = job.acquire(turn=turn, schedule="s2")
    assert (word, done, why) == ("done", turn, "assumed")
    record = job.record()
    assert int(record["done"]) == turn and record["schedules"] == "s2 s1"
    for field in set(before) - {"done", "schedules"}:
        assert record[field] == before[field]
    assert job.acquire(B, turn=turn, schedule="s2")[0] == "done"
    grant(job, B, schedule="s2")  # its next turn


def test_rule_7_an_edited_schedule_that_asks_in_time_waits_one_lease(job):
    before = job.known().record()
    word, _, left, why = job.acquire(schedule="s2", ttl=400)
    assert (word, left, why) == ("wait", 400, "blank")
    record = job.record()
    assert record["schedules"] == "s2 s1"
    for field in set(before) - {"schedules"}:
        assert record[field] == before[field]
    after(job, 400)
    grant(job, schedule="s2", ttl=400)


def test_rule_7_a_second_device_of_the_edited_schedule_waits_as_well(job):
    job.known()
    job.acquire(A, schedule="s2", ttl=400)
    word, _, left, why = job.acquire(B, schedule="s2", ttl=400)
    assert (word, why) == ("wait", "blank") and 0 < left <= 400
    after(job, 400)
    grant(job, B, schedule="s2", ttl=400)
    assert job.acquire(A, schedule="s2", ttl=400)[0] == "held"


def test_rule_7_devices_that_are_not_edited_yet_do_not_wait_with_the_others(job):
    job.known()
    assert job.acquire(A, schedule="s2")[0] == "wait"
    grant(job, B, schedule="s1")


def test_rule_7_an_edited_schedule_passes_no_run_that_goes_on(job):
    job.known()
    grant(job, schedule="s1")
    before = job.record()
    after(job, 5)
    assert job.acquire(B, turn=job.turn + 1, schedule="s2", first=0)[0] == "held"
    assert job.record() == before


@pytest.mark.parametrize("fresh", [FOREVER, -1])
def test_rule_7_the_late_finish_of_the_old_schedule_finds_its_record(job, fresh):
    job.known()
    fence = grant(job, schedule="s1", ttl=LEASE)[2]
    job.lose_lock()
    after(job, 5)
    newer = job.turn + 1
    assert job.acquire(B, turn=newer, schedule="s2", fresh=fresh)[0] in ("wait", "done")
    assert job.finish(A, outcome="failed", fence=fence, delay=777)[0] == "recorded"
    record = job.record()
    assert (record["token"], record["state"], record["delay"]) == (A, "failed", "777")
    assert int(record["turn"]) == job.turn
    assert len(job.entries()) == 1


def test_rule_7_the_old_run_takes_its_lost_key_back_while_the_edited_one_waits(job):
    job.known()
    grant(job, schedule="s1")
    job.lose_lock()
    after(job, 5)
    assert job.acquire(B, turn=job.turn + 1, schedule="s2")[0] == "wait"
    assert job.renew(A)[0] == "regained"
    assert job.acquire(B, turn=job.turn + 1, schedule="s2")[0] == "held"


def test_rule_7_first_now_takes_an_edited_schedule_after_one_lease(job):
    turn = job.turn - 40_000
    job.known()
    assert job.acquire(turn=turn, schedule="s2", ttl=200, fresh=FOREVER)[0] == "wait"
    after(job, 200)
    grant(job, turn=turn, schedule="s2", ttl=200, fresh=FOREVER)


def test_rule_7_the_newest_four_schedules_are_known(job):
    job.known(schedules="s4 s3 s2 s1", done=0, turn=1)
    for schedule in ("s1", "s4"):  # in use, they stay known
        grant(job, schedule=schedule)
        job.finish(outcome="unstarted")
        job.redis.hset(job.claim, "token", "")
    assert job.field("schedules") == "s4 s1 s3 s2"
    assert job.acquire(schedule="s5")[0] == "wait"
    assert job.field("schedules") == "s5 s4 s1 s3"
    assert job.acquire(B, schedule="s2")[0] == "wait"


def test_rule_7_the_record_of_a_run_that_outlived_redis_knows_every_schedule(job):
    job.known()
    grant(job)
    job.redis.flushall()
    job.renew()
    job.finish(outcome="failed")
    assert job.field("schedules") is None
    grant(job, B, schedule="s2")
    assert job.field("schedules") == "s2"


def test_rule_7_a_wait_does_not_outlast_a_clock_that_was_set_back(job):
    far = job.now() + 10 * KEEP
    job.known(schedules="s2 s1", sights=f"s2:{far}:150")
    word, _, left, _ = job.acquire(schedule="s2")
    assert (word, left) == ("wait", 150)
    after(job, 160)
    grant(job, schedule="s2")


# A damaged field counts as nothing: it must not make a reply that the device cannot read.

@pytest.mark.parametrize("field", ["turn", "attempt", "fence", "done", "retry", "delay", "ttl", "streak",
                                   "watch", "paused"])
@pytest.mark.parametrize("rubbish", ["inf", "-inf", "nan", "1e308", "-5", "text", "9" * 40])
def test_a_damaged_field_counts_as_nothing(job, field, rubbish):
    job.known(**{field: rubbish})
    answer = job.acquire()
    if answer[0] == "wait":                             # without a turn there is no record
        assert (field, answer[3]) == ("turn", "blank")
        return
    word, _, fence, attempt, turn = answer
    assert (word, attempt, turn) == ("acquired", 1, job.turn) and 0 < fence < 2**53
    assert job.finish(fence=fence)[0] == "recorded"


# Rule 8: a record from the future is void.

@pytest.mark.parametrize("field", ["turn", "done", "paused"])
def test_rule_8_a_record_more_than_a_turn_ahead_becomes_the_asked_turn_done(job, field):
    job.known(**{field: job.turn + 1000 * PERIOD})
    word, _, done, why, _ = job.acquire()
    assert (word, done, why) == ("done", job.turn, "clock")
    assert int(job.field("turn")) == int(job.field("done")) == job.turn
    after(job, 5)
    grant(job, B, turn=job.turn + 1)


@pytest.mark.parametrize("ahead", [1, 1000])
def test_rule_8_who_is_early_voids_it_so_that_the_next_turn_is_not_spent_on_that(job, ahead):
    job.known(done=job.turn + ahead * PERIOD - 5000)
    word, _, _ = job.acquire(turn=job.turn + 30 * PERIOD)
    assert word == "early"
    if ahead == 1:
        assert job.acquire()[0] == "done"
        return
    assert job.field("state") == "assumed" and int(job.field("done")) <= job.now()
    turn = job.now() + 20
    after(job, 25)
    grant(job, B, turn=turn)


def test_rule_8_a_record_less_than_a_turn_ahead_stands(job):
    job.known(done=job.turn + PERIOD // 2)
    assert job.acquire()[0:4:3] == ["done", ""]


def test_rule_8_a_lease_with_more_left_than_it_asked_for_is_cut(job):
    job.known()
    grant(job, ttl=2000)
    job.redis.pexpire(job.lock, 10 * KEEP)
    word, _, left = job.acquire(B)[:3]
    assert (word, left) == ("held", 2000)
    assert job.redis.pttl(job.lock) <= 2000


def test_rule_8_a_retry_never_waits_longer_than_its_delay(job):
    job.known()
    grant(job)
    job.finish(outcome="failed", delay=5000)
    job.redis.hset(job.claim, "retry", job.now() + 10 * KEEP)
    assert job.acquire(B)[0:3:2] == ["wait", 5000]
    job.redis.hset(job.claim, mapping={"retry": job.now() + 10 * KEEP, "delay": 100})
    assert job.acquire(B)[0:3:2] == ["wait", 100]
    after(job, 110)
    grant(job, B)                                       # and it comes to its end
