# SPDX-License-Identifier: MIT
"""The three scripts against a real Redis: one test at least for each rule of PROTOCOL.md that they carry."""
import pytest
import redis

from redis_server import RedisServer, wait_for
from resp import SENT_SCRIPTS

LEASE = 10_000
PERIOD = 60_000
LATE = 13_000  # `fresh`: lease + splay + 1 s
KEEP = 3_600_000
FOREVER = 2**62
A, B, C = (f"device-{name}:{name * 32}" for name in "abc")


@pytest.fixture(scope="module")
def server():
    instance = RedisServer()
    try:
        yield instance.start()
    finally:
        instance.close()


class Job:
    """The scripts with the arguments of one job; a test names those that matter to it."""

    def __init__(self, client, name="backup"):
        self.redis = client
        self.lock, self.claim, self.pause, self.history = (
            f"test:{{{name}}}:{kind}" for kind in ("lock", "claim", "pause", "history"))
        self.turn = self.now()

    def now(self):
        seconds, micros = self.redis.time()
        return seconds * 1000 + micros // 1000

    def run(self, script, keys, *arguments):
        body = (SENT_SCRIPTS / f"{script}.lua").read_text()
        return self.redis.eval(body, len(keys), *keys, *arguments)

    def acquire(self, token=A, turn=None, following=None, ttl=LEASE, attempts=3, seen=0,
                fresh=LATE, cap=100, first=1, fingerprint="f1", schedule="s1"):
        turn = self.turn if turn is None else turn
        following = turn + PERIOD if following is None else following
        return self.run("acquire", [self.lock, self.claim, self.pause, self.history], token, turn,
                        following, ttl, attempts, seen, fresh, KEEP, cap, first, fingerprint,
                        schedule)

    def by_hand(self, token=A, **more):
        return self.acquire(token, turn=0, following=0, attempts=1, **more)

    def renew(self, token=A, ttl=LEASE, turn=None, attempt=1, fence=1):
        turn = self.turn if turn is None else turn
        return self.run("renew", [self.lock, self.claim], token, ttl, turn, attempt, fence, LEASE,
                        KEEP)

    def finish(self, token=A, outcome="succeeded", turn=None, attempt=1, fence=1, covers=0,
               delay=0, attempts=3, cap=100, detail="", clean=1):
        turn = self.turn if turn is None else turn
        return self.run("finish", [self.lock, self.claim, self.history], token, turn, attempt,
                        fence, outcome, covers, delay, attempts, KEEP, cap, detail, 5, clean)

    def known(self, **fields):
        """A job with a past: settled one period before the present turn, by schedule s1."""
        before = self.turn - PERIOD
        self.redis.hset(self.claim, mapping={
            "v": 1, "turn": before, "attempt": 1, "token": "device-z:old", "state": "succeeded",
            "fence": 7, "done": before, "ended": before + 5, "held": 1, "streak": 0,
            "schedules": "s1", **fields})
        return self

    def field(self, name):
        return self.redis.hget(self.claim, name)

    def record(self):
        return self.redis.hgetall(self.claim)

    def state(self):
        """All that is in Redis, to see that nothing was changed."""
        kinds = {"string": self.redis.get, "hash": self.redis.hgetall,
                 "list": lambda key: self.redis.lrange(key, 0, -1),
                 "stream": self.redis.xrange}
        return {key: (kinds[self.redis.type(key)](key), self.redis.pttl(key) > 0)
                for key in self.redis.keys()}

    def entries(self):
        return [fields for _, fields in self.redis.xrange(self.history)]

    def lose_lock(self):
        self.redis.delete(self.lock)


@pytest.fixture
def job(server):
    client = server.client()
    client.flushall()
    client.script_flush()
    client.config_set("maxmemory", 0)
    yield Job(client)
    client.close()


def grant(job, token=A, **more):
    answer = job.acquire(token, **more)
    assert answer[0] == "acquired", answer
    return answer


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

def spoil(job, key):
    job.redis.delete(key)
    job.redis.rpush(key, "not", "ours")


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


def fill(job):
    job.redis.config_set("maxmemory", 1)


def test_rule_1_a_full_redis_refuses_a_grant_whole(job):
    job.known()
    before = job.state()
    fill(job)
    with pytest.raises(redis.ResponseError, match="OOM"):
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
    word, _, done, why = job.acquire(turn=turn)
    assert (word, done, why) == ("done", turn, "assumed")
    assert job.acquire(B, turn=turn)[0:3:2] == ["done", turn]
    assert int(job.field("done")) == turn and job.redis.exists(job.lock) == 0


def after(job, ms):
    """Waits until the server's clock has gone on by ms."""
    until = job.now() + ms
    wait_for(lambda: job.now() > until, 5 + ms / 1000, f"{ms} ms on the server's clock")


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
    word, _, done, why = job.acquire(turn=turn, schedule="s2")
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
    word, _, done, why = job.acquire()
    assert (word, done, why) == ("done", job.turn, "clock")
    assert int(job.field("turn")) == int(job.field("done")) == job.turn
    after(job, 5)
    grant(job, B, turn=job.turn + 1)


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


# Rule 17: paused.

def test_rule_17_a_turn_answered_paused_has_passed(job):
    job.known()
    job.redis.set(job.pause, "ann: repairs")
    assert job.acquire()[0::2] == ["paused", "ann: repairs"]
    assert int(job.field("paused")) == job.turn
    job.redis.delete(job.pause)
    word, _, turn, why = job.acquire(B)
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
    assert job.acquire(B, turn=job.turn - PERIOD)[0] == "done"
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
