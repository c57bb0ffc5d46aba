# SPDX-License-Identifier: MIT
"""The scripts behind people's questions (runtime/supervisor/control_question.c) against a real Redis: what they answer of
records that nobody has damaged is in test_control_fleet.py."""
import pytest
import redis

from script_job import A, B, LEASE, fill, grant, spoil

FLEET = "test:{_fleet}"


def look(job):
    return job.run("look", [job.lock, job.claim, job.pause, job.seats, job.devices])


def release(job, token=A):
    return job.run("release", [job.lock, job.claim], token)[0:3:2]


def forget(job):
    return job.run("forget", [job.lock, job.claim, job.pause, job.history, job.seats, job.devices, job.queue])[0:3:2]


# Rule 5: no late message brings a lock back.

def test_rule_5_a_released_run_stays_so_and_the_turn_goes_on(job):
    job.known()
    fence = grant(job)[2]
    assert release(job) == ["released", A]
    assert job.redis.exists(job.lock) == 0 and job.field("state") == "released"
    assert job.renew(fence=fence)[0:4:3] == ["lost", "released"]
    assert job.redis.exists(job.lock) == 0
    # Another device goes on with the turn; what the first one says at last is told of its run alone.
    assert grant(job, B)[3] == 2
    assert job.finish(outcome="lost", fence=fence)[0] == "recorded"
    assert job.redis.get(job.lock) == B and job.field("state") == "running"


def test_a_released_run_that_ends_well_has_done_the_turn(job):
    job.known()
    fence = grant(job)[2]
    release(job)
    assert job.finish(fence=fence)[0] == "recorded"
    assert int(job.field("done")) == job.turn
    assert job.acquire(B)[0] == "done"


def test_only_the_lock_that_was_shown_is_released(job):
    job.known()
    grant(job, B)
    assert release(job) == ["other", B]
    assert job.redis.get(job.lock) == B and job.field("state") == "running"
    job.redis.delete(job.lock)
    assert release(job) == ["other", ""]
    assert release(job, "") == ["other", ""]
    assert job.field("state") == "running"
    # A foreign holder's has no claim, and of one that is longer than a token its begin is shown.
    job.redis.set(job.lock, "batch")
    assert release(job, "batch") == ["released", "batch"] and job.field("state") == "running"
    job.redis.set(job.lock, "x" * 500)
    assert release(job, "x" * 128) == ["other", "x" * 129]
    assert release(job, "x" * 129) == ["released", "x" * 129]


def test_a_foreign_holder_is_released_by_what_was_shown_of_it(job):
    job.known()
    for holder, shown in ((b"a\x1b[31m\n", "a\\x1b[31m\\x0a"), (b"C:\\x41", "C:\\x41"), (b"\0", "\\x00")):
        job.redis.set(job.lock, holder)
        assert release(job, shown + "0")[0] == "other" and job.redis.exists(job.lock)
        assert release(job, shown)[0] == "released" and not job.redis.exists(job.lock)


def test_a_full_server_releases_and_forgets(job):
    job.known()
    grant(job)
    fill(job)
    assert release(job) == ["released", A]
    assert job.field("state") == "released"
    assert forget(job) == ["forgotten", ""]
    assert job.state() == {}


@pytest.mark.parametrize("key", ["lock", "claim"])
def test_rule_1_release_changes_nothing_where_a_key_has_a_wrong_type(job, key):
    job.known()
    grant(job)
    spoil(job, getattr(job, key))
    before = job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        release(job)
    assert job.state() == before


# Forgetting.

def test_a_job_in_seats_is_not_forgotten(job):
    job.redis.hset(job.claim, "v", 1)
    job.redis.zadd(job.seats, {"gate-1:1": job.now() + LEASE, "gate-2:2": job.now() - 1})
    assert forget(job) == ["held", "gate-1:1"]
    assert job.redis.exists(job.claim)
    job.redis.zadd(job.seats, {"gate-1:1": job.now() - 1})
    assert forget(job) == ["forgotten", ""] and job.state() == {}


# What is damaged.

def test_damaged_records_are_bounded_and_count_as_nothing(job):
    job.redis.hset(job.claim, mapping={name: "x" * 70_000 for name in ("turn", "token", "state", "detail", "scope", "fingerprint")})
    job.redis.hset(job.claim, mapping={"attempt": "-1", "fence": "1e300", "done": "nan", "fails": "3.7"})
    answer = look(job)
    assert answer[2:7] == [0, 0, "x" * 256, "x" * 256, 0]
    assert answer[7] == 0 and answer[17] == 3
    job.redis.set(job.lock, "y" * 70_000)
    job.redis.set(job.pause, "z" * 70_000)
    assert [len(answer) for answer in look(job)[19:22:2]] == [129, 256]


def pages(job, key, what):
    """All rows of a hash, as one asks who knows nothing of pages; and how large the pages were."""
    at, rows, sizes = "0", [], []
    while not sizes or at != "0":
        _, _, at, page = job.run("page", [key], at, what)
        rows += page
        sizes.append(len(page))
        assert len(sizes) < 100, "it goes on for ever"
    return rows, sizes


@pytest.mark.parametrize("kept,count", [(512, 512), (5000, 3000)])
def test_a_page_has_a_thousand_elements_and_nothing_is_left_out(job, kept, count):
    key = f"{FLEET}:jobs"
    before = job.redis.config_get("hash-max-listpack-entries")
    job.redis.config_set("hash-max-listpack-entries", kept)
    try:
        job.redis.hset(key, mapping={f"job{i}": i for i in range(count)})
        assert job.redis.object("encoding", key) == "listpack"
        rows, sizes = pages(job, key, "jobs")
        assert rows == [of for i in range(count) for of in (f"job{i}", i)] and max(sizes) == 1000
    finally:
        job.redis.config_set("hash-max-listpack-entries", before["hash-max-listpack-entries"])


def test_a_page_of_damaged_rows_is_no_longer_than_a_reply_may_be(job):
    key = f"{FLEET}:devices"
    job.redis.hset(key, mapping={f"{i:03}" + "d" * 200: f"1 b b {'v' * 99} {'x' * 99}" for i in range(1500)})
    at, found, more = "0", set(), True
    while more:
        _, _, at, rows = job.run("page", [key], at, "devices")
        assert sum(len(str(value)) + 20 for value in rows) <= 60_000
        found.update(rows[::4])
        more = at != "0"
    assert len(found) == 1500
    assert job.run("page", [key], "0+100000", "devices")[3] == []
