# SPDX-License-Identifier: MIT
"""Attacks on the scripts of a lock, a pause and the fleet: clocks set back, damaged fields, a full Redis."""
import pytest
import redis

from script_job import A, B, KEEP, LATE, LEASE, Seats, after, fill, grant
from test_hello_script import DAY, HOUR, MINUTES, Fleet

YEAR = 366 * DAY


# A clock set back.

def test_a_seat_of_the_servers_future_silences_the_fleet_scope_for_one_lease(job):
    """No longer, and no shorter: who sits there may still run, where the server's clock was set back."""
    seats = Seats(job.redis).knows(A)
    grant(seats, ttl=2 * LEASE)
    job.known()
    job.redis.zadd(seats.seats, {A: job.now() + YEAR})
    assert job.acquire(B)[0:5:4] == ["mismatch", A]
    left = job.redis.zscore(seats.seats, A) - job.now()
    assert LEASE < left <= 2 * LEASE                            # by the longest lease, not by the asking one's
    job.redis.zadd(seats.seats, {A: job.now() - 1})
    grant(job, B)


@pytest.mark.parametrize("field", ["done", "paused"])
def test_what_is_no_record_is_void_and_still_seen_for_the_first_time(job, field):
    """The claim has had no turn of this scope, only those of its seats, or of a pause; and they lie ahead."""
    job.redis.hset(job.claim, mapping={"v": 1, field: job.now() + YEAR})
    assert job.acquire(turn=job.now() + 50)[0] == "early"
    assert job.acquire()[0] == "wait"
    assert job.field(field) == "0"


def test_a_seat_is_a_mismatch_where_the_claim_is_gone(job):
    seats = Seats(job.redis).knows(A)
    grant(seats)
    job.redis.delete(job.claim)
    assert job.acquire(B)[0] == "mismatch"


def test_configurations_seen_in_the_servers_future_give_way(job):
    fleet = Fleet(job)
    for number in range(64):
        fleet.put(f"old{number}", "text")
        job.redis.zadd(fleet.seen, {f"old{number}": job.now() + YEAR + number})
    fleet.hello(digest="new")
    assert max(score for _, score in job.redis.zrange(fleet.seen, 0, -1, withscores=True)) <= job.now()
    for number in range(64):                                    # the next day
        job.redis.zadd(fleet.seen, {f"old{number}": job.now() - DAY - 1000})
    answer = fleet.hello(digest="new")
    assert (answer["wanted"], answer["others"]) == (1, [])


def test_a_hello_in_the_servers_future_counts_no_boot_and_keeps_the_size(job):
    fleet = Fleet(job)
    fleet.hello()
    text = job.redis.hget(fleet.devices, "device-a").split(" ", 1)[1]
    job.redis.hset(fleet.devices, "device-a", f"{job.now() + YEAR} {text}")
    job.redis.hset(fleet.size, "hour", 10**9)
    assert (fleet.hello()["size"], fleet.hello()["boots"]) == (1, 0)
    assert int(job.redis.hget(fleet.devices, "device-a").split()[0]) <= job.now()


@pytest.mark.parametrize("act", ["acquire", "renew", "finish"])
def test_a_repeat_on_a_clock_set_back_is_the_same_run(job, act):
    """All that the claim says lies in the server's future, the lock as well."""
    job.known()
    grant(job)
    far = job.now() + YEAR
    job.redis.hset(job.claim, mapping={"turn": far, "started": far, "fence": far})
    job.redis.pexpire(job.lock, YEAR)
    if act == "acquire":
        assert grant(job)[2:] == [far, 1, far]
    elif act == "renew":
        assert job.renew(turn=far)[0] == "renewed"
    else:
        assert job.finish(turn=far, fence=far)[0:3:2] == ["recorded", 1]
        assert job.redis.exists(job.lock) == 0
        assert job.acquire(B)[0:4:3] == ["done", "clock"]
        return
    assert job.redis.pttl(job.lock) <= LEASE


def orphan(job, holder):
    """A failover lost the newest writes: the lock has a run that the claim does not know. Then the clock went back."""
    job.known(ttl=300)
    job.redis.set(job.lock, holder, px=YEAR)


def test_a_lease_that_only_the_lock_knows_is_cut_too(job):
    orphan(job, A)
    assert job.acquire(B, ttl=200)[0:3:2] == ["held", 300]
    after(job, 310)
    grant(job, B, ttl=200)


def test_a_longer_lease_of_this_configuration_is_not_cut_shorter_than_it_asks_for(job):
    orphan(job, A)
    assert job.acquire(B, ttl=5000)[0:3:2] == ["held", 5000]


@pytest.mark.parametrize("holder", ["somebody", "web:1", "a" * 32, ":" + "a" * 32, A + "g", A[:-1]], ids=range(6))
def test_a_lock_of_another_program_is_not_cut(job, holder):
    orphan(job, holder)
    assert job.acquire(B)[2] > YEAR - 5000


def test_a_lock_that_is_shared_is_not_cut_for_another_jobs_token(job):
    job.lock = "test:{shared}:lock"
    orphan(job, A)
    assert job.acquire(B)[2] > YEAR - 5000


# A lease of ours without an end, by whatever hand.

def test_a_lease_without_an_end_gets_its_own_back(job):
    job.known()
    grant(job, ttl=300)
    job.redis.persist(job.lock)
    assert job.acquire(B)[0:3:2] == ["held", 300]
    after(job, 310)
    assert grant(job, B)[3] == 2


def test_a_foreign_lock_without_an_end_is_left_alone(job):
    job.known()
    job.redis.set(job.lock, "somebody")
    assert job.acquire(B)[0:3:2] == ["held", -1]
    assert job.redis.pttl(job.lock) == -1


# Lost data: whoever outlived them may still be running when a newer turn falls due.

def test_no_turn_is_granted_within_a_lease_of_a_first_sight_that_came_late(job):
    job.known()
    grant(job, ttl=400)
    job.redis.flushall()
    assert job.acquire(B, turn=job.turn - LATE - 1000, ttl=400)[3] == "assumed"
    after(job, 2)
    job.turn = job.now()                                        # it falls due now
    word, _, left, why = job.acquire(B, ttl=400)
    assert (word, why) == ("wait", "assumed") and 0 < left <= 400
    after(job, 410)
    grant(job, B, ttl=400)


def test_who_outlived_the_data_takes_its_lease_back_after_a_first_sight_that_came_late(job):
    job.known()
    fence = grant(job)[2]
    job.redis.flushall()
    job.acquire(B, turn=job.turn - LATE - 1000)
    assert job.renew(fence=fence)[0] == "regained"
    assert job.acquire(B, turn=job.now())[0] == "held"


# Damage.

LONG = "9" * 40


@pytest.mark.parametrize("till,most", [(LONG, LONG), (LONG, "150"), ("1", LONG), ("0", "0")], ids=str.__len__)
def test_a_damaged_wait_counts_as_nothing(job, till, most):
    job.known(schedules="s2 s1", sights=f"s2:{till}:{most}")
    grant(job, schedule="s2")


@pytest.mark.parametrize("sights", ["", ":", "::", "s1", "s1:", "s1:x:y", "s1:-5:10", "x" * 5000, "* * *:1:2 *"], ids=str.__len__)
def test_damaged_waits_are_no_error(job, sights):
    job.known(sights=sights)
    grant(job)


@pytest.mark.parametrize("fence", [2**53 - 2, 2**53 - 1, 2**53, 2**63, 2**64])
def test_a_fence_at_its_end_does_not_stop_the_job(job, fence):
    job.known(fence=fence)
    assert grant(job)[2] < 2**53
    job.finish(outcome="failed")
    assert grant(job, B)[2] < 2**53


# A full Redis.

def test_a_job_can_be_paused_and_resumed_where_redis_is_full(job):
    job.known()
    fill(job)
    assert job.paused("ann: it is full")[2] == ""
    assert job.acquire()[0:3:2] == ["paused", "ann: it is full"]
    assert job.resume()[2] == "ann: it is full"
    assert job.redis.exists(job.pause) == 0


@pytest.mark.parametrize("act", ["index", "put"])
def test_what_can_wait_changes_nothing_where_redis_is_full(job, act):
    fleet = Fleet(job)
    fleet.hello(digest="d1")
    fill(job)
    before = job.state()
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        getattr(fleet, act)("d1", "1000")
    assert job.state() == before


def test_the_fleet_knows_its_size_where_redis_is_full(job):
    fleet = Fleet(job)
    fill(job)
    for device in range(60):
        answer = fleet.hello(f"device-{device}", weight=MINUTES)
    assert (answer["size"], answer["hellos"]) == (10, 60)
    assert 0 < job.redis.pttl(fleet.size) <= 2 * HOUR


# Said again.

def test_the_operators_words_said_again_change_nothing(job):
    job.known(paused=5)
    job.paused("ann: repairs", KEEP)
    job.paused("ann: repairs", KEEP)
    assert job.redis.get(job.pause) == "ann: repairs" and job.redis.pttl(job.pause) > KEEP - 5000
    job.resume(catch_up=1)
    before = job.state()
    job.resume(catch_up=1)
    assert job.state() == before and job.field("paused") is None


def test_the_fleets_words_said_again_change_nothing(job):
    fleet = Fleet(job)
    for _ in range(2):
        fleet.put("d1", "text")
        fleet.index("backup", job.turn)
    assert job.redis.zcard(fleet.seen) == job.redis.hlen(fleet.confs) == job.redis.hlen(fleet.jobs) == 1


def test_an_end_said_again_after_the_next_run_began_changes_only_the_history(job):
    job.known()
    fence = grant(job)[2]
    job.finish(outcome="declined", fence=fence)
    second = grant(job, B)
    job.finish(B, outcome="declined", fence=second[2])
    before = job.record()
    job.finish(outcome="declined", fence=fence)
    assert job.record() == before
