# SPDX-License-Identifier: MIT
"""The scripts of a lock against a real Redis: rules 9 to 17 of PROTOCOL.md, and what lives how long."""
import pytest
import redis

from script_job import A, B, C, KEEP, PERIOD, after, grant


# Rule 9: the retry delay, and which ends free the lock.

@pytest.mark.parametrize("outcome,freed", [
    ("succeeded", True), ("nothing", True), ("stopped", True), ("failed", True), ("refused", True),
    ("declined", True), ("unstarted", True), ("crashed", False), ("overrun", False),
    ("lost", False)])
def test_rule_9_only_an_orderly_end_frees_the_lock(job, outcome, freed):
    job.known()
    grant(job)
    assert job.finish(outcome=outcome)[2] == 1
    assert bool(job.redis.exists(job.lock)) is not freed


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "declined"])
def test_rule_9_a_tree_that_could_not_be_emptied_keeps_the_lock(job, outcome):
    job.known()
    grant(job)
    job.finish(outcome=outcome, clean=0)
    assert job.redis.get(job.lock) == A and job.redis.pttl(job.lock) > 0


@pytest.mark.parametrize("outcome", ["failed", "crashed", "overrun", "lost"])
def test_rule_9_the_same_turn_waits_for_the_retry_delay(job, outcome):
    job.known()
    grant(job)
    job.finish(outcome=outcome, delay=300)
    job.lose_lock()
    word, _, left, why = job.acquire(B)
    assert (word, why) == ("wait", outcome) and 0 < left <= 300
    after(job, 300)
    assert grant(job, B)[3] == 2


def test_rule_9_a_newer_turn_does_not_wait_for_it(job):
    job.known()
    grant(job)
    job.finish(outcome="failed", delay=KEEP)
    after(job, 5)
    assert grant(job, B, turn=job.turn + 1)[3] == 1


# Rule 10: attempts.

def test_rule_10_attempts_count_at_the_grant(job):
    job.known()
    for token, attempt in ((A, 1), (B, 2), (C, 3)):
        assert grant(job, token)[3] == attempt
        job.lose_lock()  # the device died
    word, _, made, first = job.acquire("device-d:d")
    assert (word, made, first) == ("exhausted", 3, 1)
    assert job.acquire("device-e:e")[0:4:3] == ["exhausted", 0]
    assert [entry["outcome"] for entry in job.entries()] == ["vanished"] * 3


def test_rule_10_one_attempt_is_at_most_once(job):
    job.known()
    grant(job, attempts=1)
    job.finish(outcome="declined", attempts=1)
    assert job.acquire(B, attempts=1)[0] == "exhausted"


@pytest.mark.parametrize("outcome", ["declined", "unstarted"])
def test_rule_10_declined_and_unstarted_give_the_attempt_back(job, outcome):
    job.known()
    grant(job)
    job.finish(outcome=outcome)
    assert grant(job, B)[3] == 1


def test_rule_10_unstarted_gives_back_the_only_attempt(job):
    job.known()
    grant(job, attempts=1)
    job.finish(outcome="unstarted", attempts=1)
    assert grant(job, B, attempts=1)[3] == 1


def test_rule_10_after_a_turn_given_up_each_gets_one_try_until_one_succeeds(job):
    turn = job.turn - 10
    job.known()
    grant(job, turn=turn)
    assert job.finish(turn=turn, outcome="refused")[3] == 1
    grant(job, B, turn=turn + 1)
    assert job.finish(B, turn=turn + 1, outcome="failed")[3] == 1
    assert job.acquire(C, turn=turn + 1)[0] == "exhausted"
    assert job.field("streak") == "2"
    grant(job, C, turn=turn + 2)
    job.finish(C, turn=turn + 2)
    assert job.field("streak") == "0"
    grant(job, "device-d:d", turn=turn + 3)
    assert job.finish("device-d:d", turn=turn + 3, outcome="failed")[3] == 0


def test_rule_10_a_last_try_that_vanished_counts_as_given_up(job):
    job.known()
    grant(job, attempts=1, turn=job.turn - 1)
    job.lose_lock()
    grant(job, B, attempts=3)
    assert job.field("streak") == "0"
    job.lose_lock()
    grant(job, C, attempts=3)
    job.lose_lock()
    grant(job, "device-d:d", attempts=3)
    job.lose_lock()
    after(job, 5)
    grant(job, "device-e:e", attempts=3, turn=job.turn + 1)
    assert job.field("streak") == "1"


@pytest.mark.parametrize("end", [None, "failed"])
def test_rule_10_a_turn_with_a_late_success_was_not_given_up(job, end):
    """Its last try vanishes, or fails, after an earlier one has told its success."""
    job.known()
    grant(job, attempts=2)
    job.lose_lock()
    grant(job, B, attempts=2)
    job.finish(A, attempts=2)
    if end:
        job.finish(B, attempt=2, attempts=2, outcome=end)
    job.lose_lock()
    after(job, 5)
    grant(job, C, attempts=2, turn=job.turn + 1)
    assert job.field("streak") == "0"


# Rule 11: a success covers what fell due meanwhile.

def test_rule_11_a_success_settles_up_to_covers(job):
    job.known()
    grant(job, turn=job.turn - 500)
    job.finish(turn=job.turn - 500, covers=job.turn - 100)
    assert int(job.field("done")) == job.turn - 100
    assert job.acquire(B, turn=job.turn - 100)[0] == "done"


def test_rule_11_covers_from_the_future_is_not_believed(job):
    job.known()
    grant(job)
    job.finish(covers=job.now() + KEEP)
    assert int(job.field("done")) == job.turn


def test_rule_11_a_failure_covers_nothing(job):
    before = job.known().field("done")
    grant(job, turn=job.turn - 500)
    job.finish(turn=job.turn - 500, outcome="failed", covers=job.turn)
    assert job.field("done") == before


# Rule 12: the fence.

def test_rule_12_the_fence_is_above_the_servers_time_the_last_and_the_largest_seen(job):
    job.known()
    _, now, fence, _, _ = grant(job)
    assert fence == now
    job.lose_lock()
    far = now + KEEP
    job.redis.hset(job.claim, "fence", far)
    assert grant(job, B)[2] == far + 1
    job.lose_lock()
    assert grant(job, C, seen=far + 1000)[2] == far + 1001


# Rule 13: a foreign holder.

def test_rule_13_a_foreign_holder_without_expiry(job):
    job.known()
    job.redis.set(job.lock, "x" * 100_000)
    word, _, left, holder, turn, _, place = job.acquire()
    assert (word, left, turn, place) == ("held", -1, 0, 1)
    assert holder == "x" * 128
    assert job.redis.ttl(job.lock) == -1


def test_rule_13_a_foreign_lock_leaves_no_record_for_ever(job):
    job.redis.set(job.lock, "somebody")
    job.acquire()
    assert job.redis.pttl(job.claim) > 0


def test_rule_13_a_common_lock_client_excludes_rota_and_is_excluded(job):
    job.known()
    with job.redis.lock(job.lock, timeout=5, blocking=False):
        assert job.acquire()[0] == "held"
    grant(job)
    assert not job.redis.lock(job.lock, timeout=5, blocking=False).acquire()


# Watchers ("Turns without a crowd" 3).

def test_those_that_are_refused_learn_their_place(job):
    job.known()
    grant(job)
    assert [job.acquire(token, first=1)[6] for token in (B, C)] == [1, 2]
    assert job.acquire(B, first=0)[6] == 0
    assert job.acquire("device-d:d", first=1)[6] == 3


def test_each_turn_has_watchers_of_its_own(job):
    job.known()
    job.redis.set(job.lock, "another program", px=60000)
    assert [job.acquire(token, first=1)[6] for token in (A, B, C)] == [1, 2, 3]
    assert [job.acquire(token, turn=job.turn + 1, first=1)[6] for token in (B, C)] == [1, 2]


# Rule 14: an unknown acquire ends as unstarted.

def test_rule_14_unstarted_of_a_grant_frees_the_lock(job):
    job.known()
    grant(job)
    job.finish(outcome="unstarted")
    assert job.redis.exists(job.lock) == 0 and job.field("attempt") == "0"


def test_rule_14_unstarted_of_what_was_never_granted_changes_nothing(job):
    job.known()
    grant(job, B)
    before = job.state()
    assert job.finish(A, outcome="unstarted")[0::2] == ["recorded", 0]
    assert job.state() == before


# Rule 15: a run by hand.

def test_rule_15_by_hand_is_a_turn_of_its_own_at_the_servers_now(job):
    _, now, _, attempt, turn = job.by_hand()
    assert (attempt, turn) == (1, now)


def test_rule_15_by_hand_never_changes_streak(job):
    for streak in (0, 2):
        job.known(streak=streak)
        turn = job.by_hand(A)[4]
        assert job.finish(A, turn=turn, outcome="failed")[3] == 1
        assert int(job.field("streak")) == streak
        after(job, 1)                                   # a turn of its own: another millisecond
        turn = job.by_hand(B)[4]
        job.finish(B, turn=turn)
        assert int(job.field("streak")) == streak
        job.redis.flushall()


def test_rule_15_by_hand_that_vanished_is_no_turn_given_up(job):
    job.known()
    turn = job.by_hand(A)[4]
    job.lose_lock()
    after(job, 5)
    grant(job, B, turn=turn + 1, attempts=1)
    assert job.field("streak") == "0"


def test_rule_15_by_hand_is_refused_while_paused(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    assert job.by_hand()[0::2] == ["paused", "ann: repairs"]
    assert job.field("paused") is None


def test_rule_15_by_hand_by_force_is_not(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    word, now, _, attempt, turn = job.acquire(turn=0, following=-1)
    assert (word, attempt, turn) == ("acquired", 1, now)
    assert job.field("manual") == "1" and job.redis.get(job.pause) == "ann: repairs"


# Rule 17: paused.

def test_rule_17_a_turn_answered_paused_has_passed(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    assert job.acquire()[0::2] == ["paused", "ann: repairs"]
    assert int(job.field("paused")) == job.turn
    job.redis.delete(job.pause)
    word, _, turn, why, _ = job.acquire(B)
    assert (word, turn, why) == ("done", job.turn, "paused")
    after(job, 5)
    grant(job, B, turn=job.turn + 1)


def test_rule_17_catch_up_takes_it_after_all(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    job.acquire()
    job.redis.delete(job.pause)
    job.redis.hdel(job.claim, "paused")
    grant(job, B)


def test_rule_17_paused_does_not_go_back_and_is_no_record_of_a_turn(job):
    job.redis.set(job.pause, "ann: repairs")
    job.acquire()
    assert job.acquire(B, turn=job.turn - PERIOD)[0] == "paused"   # who asks hears of the pause, as long as it stands
    assert int(job.field("paused")) == job.turn
    assert job.redis.pttl(job.claim) > 0
    job.redis.delete(job.pause)
    after(job, 5)
    assert job.acquire(turn=job.turn + 1)[0] == "wait"  # rule 7 still holds


# What lives how long.

def test_everything_expires(job):
    job.known()
    grant(job)
    job.finish(outcome="crashed")
    for key in (job.lock, job.claim, job.history):
        assert job.redis.pttl(key) > 0


def test_no_history_where_none_is_kept(job):
    job.known(state="running")
    grant(job, cap=0)
    job.finish(cap=0)
    assert job.redis.exists(job.history) == 0


def test_unknown_fields_of_the_claim_are_kept(job):
    job.known(newer="kept")
    grant(job)
    job.renew()
    job.finish()
    assert job.field("newer") == "kept"


def test_early_is_told_to_the_millisecond(job):
    job.known()
    word, now, left = job.acquire(turn=job.turn + 30_000)
    assert word == "early" and now + left == job.turn + 30_000


def test_passed_where_a_newer_turn_was_taken(job):
    job.known()
    grant(job)
    job.lose_lock()
    assert job.acquire(B, turn=job.turn - 1000)[0:3:2] == ["passed", job.turn]


def test_an_unknown_outcome_changes_nothing(job):
    job.known()
    grant(job)
    before = job.state()
    with pytest.raises(redis.ResponseError, match="unknown outcome"):
        job.finish(outcome="vanished")
    assert job.state() == before
