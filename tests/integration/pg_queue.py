# SPDX-License-Identifier: MIT
"""Runs of the plugin pg_queue, by a guard, over a queue in a PostgreSQL that the tests of a file share."""
import contextlib

import guard_harness as h
import pytest
from fleet import SLOWNESS
from guard_harness import Guard
from postgres import Postgres

QUEUE = h.BUILD / "plugins" / "pg_queue.so"
BUILT = pytest.mark.skipif(not QUEUE.exists(), reason="built without PostgreSQL")

SELECT = "SELECT id, what FROM queue ORDER BY id FOR UPDATE SKIP LOCKED"
# What is taken out of the queue and what is noted of it cannot come apart.
MOVE = "WITH gone AS (DELETE FROM queue WHERE id = $1) INSERT INTO done (id, what) VALUES ($1, $2)"
ASIDE = "WITH gone AS (DELETE FROM queue WHERE id = $1) INSERT INTO aside VALUES ($1, $2, $3)"
TRY = 3


def prepare(server):
    server.query("SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
                 "CREATE TABLE queue (id bigint PRIMARY KEY, what text); CREATE TABLE done (LIKE queue);"
                 "CREATE TABLE aside (LIKE queue, why text)")
    return server


@pytest.fixture(scope="module")
def shared(postgres_template):
    server = Postgres(postgres_template)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def queue(shared):
    """A server with nothing but an empty queue."""
    yield prepare(shared)
    for session in shared.sessions:
        session.close()
    shared.sessions.clear()


@pytest.fixture
def mortal(postgres):
    """The same as a server of the test's own, which may be killed."""
    return prepare(postgres)


def fill(server, count, what="'row ' || i", first=1):
    server.query(f"INSERT INTO queue SELECT i, {what} FROM generate_series({first}, {first + count - 1}) AS i")


def of(server, **params):
    return {"connection": server.connection, "select": SELECT, "handle": MOVE, **params}


def logs(guard):
    return [frame["text"] for frame in guard.frames if frame["type"] == h.LOG]


def progress(guard):
    return [frame["text"] for frame in guard.frames if frame["type"] == h.PROGRESS]


def drain(server, seconds=60, worst_case_ms=60000, purpose=1, **params):
    """Result, reason, and what was logged, of one run; a parameter that is None is left out."""
    params = {name: value for name, value in of(server, **params).items() if value is not None}
    ended, guard = h.run(QUEUE, params, seconds * SLOWNESS, worst_case_ms=worst_case_ms, purpose=purpose)
    assert ended["how"] == h.RETURNED, ended
    return ended["result"], ended["detail"], logs(guard)


@contextlib.contextmanager
def draining(server, worst_case_ms=60000, **params):
    with Guard() as guard:
        guard.start(QUEUE, of(server, **params), worst_case_ms=worst_case_ms, stop_grace_ms=20000)
        guard.next(h.STARTED)
        yield guard


def counts(server):
    return tuple(int(server.value(f"SELECT count(*) FROM {table}")) for table in ("queue", "done", "aside"))


def unlocked(server):
    return len(server.query("SELECT id FROM queue FOR UPDATE SKIP LOCKED"))


def ids(server, table):
    return [int(one) for one, in server.query(f"SELECT id FROM {table} ORDER BY id")]
