# SPDX-License-Identifier: MIT
"""The plugin pg_queue on a real PostgreSQL: rows are handled once, as they are, and what is said of those that fail.
test_pg_queue_time.py has time and faults, test_pg_queue_devices.py whole devices."""
import re
import subprocess

import guard_harness as h
import pytest
from fleet import SLOWNESS, wait_for
from pg_proxy import PgProxy
from pg_queue import (  # noqa: F401 (fixtures)
    ASIDE, BUILT, MOVE, QUEUE, SELECT, TRY, counts, drain, draining, fill, ids, logs, of, queue, shared)

pytestmark = BUILT


# --- rows ---

def test_all_rows_are_handled_once(queue):
    fill(queue, 1234)
    assert drain(queue) == (h.SUCCEEDED, "", ["handled 1,234 rows"])
    assert counts(queue) == (0, 1234, 0)
    assert queue.value("SELECT count(DISTINCT id) FROM done WHERE what = 'row ' || id") == "1234"


def test_one_row_is_one_row(queue):
    fill(queue, 1)
    assert drain(queue)[2] == ["handled 1 row"]


def test_an_empty_queue_is_nothing(queue):
    assert drain(queue) == (h.NOTHING, "", [])


@pytest.mark.parametrize("batch, batches", [(1, 7), (3, 3), (7, 1), (10000, 1)])
def test_a_batch_is_a_transaction(queue, batch, batches):
    fill(queue, 7)
    assert drain(queue, batch=batch)[0] == h.SUCCEEDED
    assert queue.value("SELECT count(DISTINCT xmin::text) FROM done") == str(batches)


def test_only_the_rows_of_the_batch_are_locked(queue):
    """Another device finds all others meanwhile."""
    fill(queue, 10)
    queue.query("CREATE FUNCTION wait(bigint) RETURNS bigint LANGUAGE sql AS "
                "'SELECT $1 FROM pg_advisory_xact_lock(7)'")
    blocker = queue.session()
    blocker.run("SELECT pg_advisory_lock(7)")
    with draining(queue, batch=3, handle="DELETE FROM queue WHERE id = wait($1)") as guard:
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "the run waits")
        free = queue.query("SELECT id FROM queue ORDER BY id FOR UPDATE SKIP LOCKED")
        assert free == [(str(i),) for i in range(4, 11)]
        blocker.run("SELECT pg_advisory_unlock(7)")
        assert guard.ended(30 * SLOWNESS)["result"] == h.SUCCEEDED
    assert counts(queue)[0] == 0


def test_rows_that_another_has_are_passed_over(queue):
    fill(queue, 5)
    other = queue.session()
    other.run("BEGIN")
    other.run("SELECT id FROM queue WHERE id IN (2, 4) FOR UPDATE")
    assert drain(queue)[2] == ["handled 3 rows"]
    assert ids(queue, "done") == [1, 3, 5]
    other.run("ROLLBACK")
    assert ids(queue, "queue") == [2, 4]


@pytest.mark.parametrize("handle, where, times", [
    (MOVE, "true", 1),
    ("WITH gone AS (UPDATE queue SET what = 'handled' WHERE id = $1) INSERT INTO done VALUES ($1, $2)",
     "what <> 'handled'", 1),
    ("INSERT INTO done VALUES ($1, $2)", "NOT EXISTS (SELECT FROM done WHERE done.id = queue.id)", 2),
], ids=["deleted", "changed", "noted elsewhere"])
def test_a_row_that_another_has_handled_meanwhile(queue, handle, where, times):
    """Since the select began, and before it came to the row. So handle has to delete or to change that row."""
    fill(queue, 1)
    queue.query("CREATE FUNCTION gated(bigint) RETURNS bigint LANGUAGE plpgsql AS "
                "$$BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN $1; END$$")
    gate = queue.session()
    gate.run("SELECT pg_advisory_lock(7)")
    select = f"SELECT id, what FROM queue WHERE {where} %sFOR UPDATE SKIP LOCKED"
    with draining(queue, select=select % "AND id = gated(id) ", handle=handle) as guard:
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "it is half-way")
        assert drain(queue, select=select % "", handle=handle)[2] == ["handled 1 row"]
        gate.run("SELECT pg_advisory_unlock(7)")
        assert guard.ended(30 * SLOWNESS)["result"] == (h.SUCCEEDED if times == 2 else h.NOTHING)
    assert ids(queue, "done") == [1] * times


VALUES = {
    "null": ("text", "NULL"),
    "empty": ("text", "''"),
    "words": ("text", "E'tab\\there, \"quoted\" \\'once\\', back\\\\slash'"),
    "several lines": ("text", "E'one\\ntwo'"),
    "letters": ("text", "'Grüße, 你好, 🚦'"),
    "wide": ("text", "repeat('0123456789', 300000)"),
    "bytes": ("bytea", "'\\x00ff27005c'::bytea"),
    "no bytes": ("bytea", "''::bytea"),
    "array": ("text[]", "ARRAY['a,b', NULL, '\"', '{}']"),
    "numbers": ("integer[]", "'{{1,2},{3,4}}'::integer[]"),
    "json": ("jsonb", "'{\"a\": [1, null, \"x\"]}'::jsonb"),
    "double": ("double precision", "0.1::double precision + 0.2"),
    "numeric": ("numeric", "'123456789012345678901234567890.00010'::numeric"),
    "instant": ("timestamptz", "'2026-11-30 22:10:00.123456+05:30'::timestamptz"),
    "interval": ("interval", "'-1 mon +2 days -00:00:03.5'::interval"),
    "truth": ("boolean", "true"),
    "uuid": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid"),
    "address": ("inet", "'2001:db8::1/64'::inet"),
    "range": ("int4range", "'[3,9)'::int4range"),
    "own kind": ("mood", "'so so'::mood"),
    "own range of numbers": ("percent", "17::percent"),
    "row": ("pair", "ROW(1, 'a,b')::pair"),
}


@pytest.mark.parametrize("kind, text", VALUES.values(), ids=VALUES)
def test_columns_arrive_as_they_are(queue, kind, text):
    queue.query("CREATE TYPE mood AS ENUM ('so so'); CREATE DOMAIN percent AS integer CHECK (VALUE <= 100);"
                "CREATE TYPE pair AS (a integer, b text);"
                f"CREATE TABLE things (id integer, thing {kind}); CREATE TABLE came (LIKE things);"
                f"INSERT INTO things VALUES (1, {text})")
    before = queue.value("SELECT md5(thing::text) FROM things")
    move = "WITH gone AS (DELETE FROM things WHERE id = $1) INSERT INTO came VALUES ($1, $2)"
    assert drain(queue, select="SELECT id, thing FROM things FOR UPDATE SKIP LOCKED", handle=move)[0] == h.SUCCEEDED
    assert queue.query("SELECT id, md5(thing::text) FROM came") == [("1", before)]


@pytest.mark.parametrize("style", ["ISO", "SQL", "Postgres", "German"])
def test_columns_arrive_as_they_are_whatever_the_style(queue, style):
    """IST is India's time, and Israel's when it is read; 0.1 + 0.2 is not 0.3."""
    queue.query("CREATE TABLE things (id integer, at timestamptz, number double precision, long interval);"
                "CREATE TABLE came (LIKE things); INSERT INTO things VALUES (1, '2026-11-30 22:10:00.123456+05:30', "
                "0.1::double precision + 0.2, '-1 mon +2 days -00:00:03.5')")
    before = queue.query("SELECT * FROM things")
    options = f"datestyle={style} -c timezone=Asia/Kolkata -c extra_float_digits=0 -c intervalstyle=sql_standard"
    assert drain(queue, connection=f"{queue.connection} options='-c {options}'",
                 select="SELECT * FROM things FOR UPDATE SKIP LOCKED",
                 handle="WITH gone AS (DELETE FROM things WHERE id = $1) INSERT INTO came VALUES ($1, $2, $3, $4)"
                 )[0] == h.SUCCEEDED
    assert queue.query("SELECT * FROM came") == before


def test_a_type_is_that_of_the_column(queue):
    """Also where handle alone would not tell: a number stays one."""
    queue.query("CREATE TABLE came (what jsonb)")
    fill(queue, 1)
    assert drain(queue, handle="WITH gone AS (DELETE FROM queue WHERE id = $1) "
                 "INSERT INTO came VALUES (jsonb_build_object('id', $1))")[0] == h.SUCCEEDED
    assert queue.value("SELECT what FROM came") == '{"id": 1}'


def test_columns_need_not_be_used(queue):
    fill(queue, 3)
    assert drain(queue, handle="DELETE FROM queue WHERE what = $2")[2] == ["handled 3 rows"]


def test_hundreds_of_columns(queue):
    names = [f"c{i}" for i in range(1000)]
    queue.query(f"CREATE TABLE wide ({', '.join(f'{name} integer' for name in names)})")
    queue.query("CREATE TABLE came (total integer)")
    queue.query(f"INSERT INTO wide SELECT {', '.join(map(str, range(1000)))}")
    every = ", ".join(f"${i + 1}" for i in range(1000))
    assert drain(queue, select="SELECT * FROM wide FOR UPDATE SKIP LOCKED",
                 handle="WITH gone AS (DELETE FROM wide) INSERT INTO came "
                        f"SELECT sum(i) FROM unnest(ARRAY[{every}]) AS i")[0] == h.SUCCEEDED
    assert queue.value("SELECT total FROM came") == str(sum(range(1000)))


def test_ten_thousand_rows_in_one_batch(queue):
    fill(queue, 10000, "repeat('x', 500)")
    assert drain(queue, batch=10000)[2] == ["handled 10,000 rows"]
    assert counts(queue) == (0, 10000, 0)
    assert queue.value("SELECT count(DISTINCT xmin::text) FROM done") == "1"


def test_answers_that_pile_up_are_read_while_rows_are_sent(queue):
    """Neither side waits for the other to read first."""
    fill(queue, 2000, "repeat('y', 10000)")
    talkative = "DELETE FROM queue WHERE id = $1 RETURNING what, what || 'z'"
    assert drain(queue, batch=2000, handle=talkative)[2] == ["handled 2,000 rows"]


def test_no_other_run_has_the_names_of_its_statements(queue):
    """Behind a pooler that knows nothing of them, what another job has prepared under the same name would be run."""
    names = []
    for first in 1, 2:
        fill(queue, 1, first=first)
        drain(queue, on_failure=ASIDE, handle="WITH gone AS (DELETE FROM queue WHERE id = $1) INSERT INTO done "
                                              "SELECT $1, string_agg(name, ' ') FROM pg_prepared_statements")
        names += queue.value(f"SELECT what FROM done WHERE id = {first}").split()
    assert len(names) == len(set(names)) == 4


def test_a_comment_or_a_semicolon_at_the_end_is_fine(queue):
    fill(queue, 2)
    assert drain(queue, select=f"{SELECT}; -- oldest first", handle=f"{MOVE} ; /* moved */ ")[0] == h.SUCCEEDED


# --- round trips ---

def flights(queue, rows, batch, **params):
    queue.query("TRUNCATE queue, done, aside")
    fill(queue, rows)
    with PgProxy(queue.address) as proxy:
        result, _, _ = drain(queue, batch=batch, connection=proxy.connection, **params)
        assert result == h.SUCCEEDED
        return proxy.flights


def test_a_batch_takes_two_round_trips(queue):
    """However many rows it has. The last one finds nothing: one."""
    assert flights(queue, 10, 10) == 3
    assert flights(queue, 1000, 1000) == 3
    assert flights(queue, 1000, 100) == 21
    assert flights(queue, 100, 100, on_failure=ASIDE) == 3


def test_a_row_that_is_set_aside_takes_one_more(queue):
    """And taking the batch again, two: one that undoes it, and one that brings it."""
    fill_and_fail = {"handle": MOVE.replace("$2", "(100 / ($1 % 10))::text"), "on_failure": ASIDE}
    assert flights(queue, 9, 100, **fill_and_fail) == 3
    assert flights(queue, 10, 100, **fill_and_fail) == 3 + 3 + 1
    assert flights(queue, 50, 100, **fill_and_fail) == 3 + 3 + 5
    assert counts(queue) == (0, 45, 5)


# --- rows that fail ---

def test_a_failing_row_ends_the_run_and_undoes_its_batch(queue):
    fill(queue, 300)
    queue.query("INSERT INTO done VALUES (250, 'was here'); ALTER TABLE done ADD PRIMARY KEY (id)")
    result, detail, _ = drain(queue)
    assert (result, detail) == (
        h.FAILED, "handled 200 rows; a row (1st column 250): duplicate key value violates unique constraint "
        "\"done_pkey\"; Key (id)=(250) already exists.; on_failure can set such rows aside")
    assert counts(queue) == (100, 201, 0)


def test_the_first_batch_fails(queue):
    fill(queue, 5)
    queue.query("ALTER TABLE done ADD CHECK (id <> 3)")
    result, detail, _ = drain(queue)
    assert result == h.FAILED and detail.startswith("a row (1st column 3): new row for relation \"done\" violates")
    assert counts(queue) == (5, 0, 0)


def test_failing_rows_are_set_aside(queue):
    fill(queue, 250)
    queue.query("ALTER TABLE done ADD CONSTRAINT no_sevens CHECK (id % 100 <> 7), ADD CHECK (id <> 1),"
                "ADD CHECK (id <> 250)")
    assert drain(queue, on_failure=ASIDE) == (h.SUCCEEDED, "", ["handled 245 rows and set 5 aside"])
    assert counts(queue) == (0, 245, 5)
    assert ids(queue, "aside") == [1, 7, 107, 207, 250]
    assert "no_sevens" in queue.value("SELECT why FROM aside WHERE id = 7 AND what = 'row 7'")


def test_one_of_ten_thousand_is_set_aside(queue):
    """30,000 statements in a flight."""
    fill(queue, 10000)
    queue.query("ALTER TABLE done ADD CHECK (id <> 9000)")
    assert drain(queue, batch=10000, on_failure=ASIDE)[2] == ["handled 9,999 rows and set 1 aside"]
    assert counts(queue) == (0, 9999, 1)


def test_a_row_without_a_name(queue):
    queue.query("CREATE TABLE names (name text); INSERT INTO names VALUES (NULL)")
    _, detail, _ = drain(queue, select="SELECT name FROM names FOR UPDATE SKIP LOCKED",
                         handle="DELETE FROM names WHERE 1 / length(coalesce($1, '')) = 1")
    assert detail.startswith("a row (1st column null): division by zero")


def test_all_rows_are_set_aside(queue):
    fill(queue, 20)
    queue.query("ALTER TABLE done ADD CHECK (false)")
    assert drain(queue, batch=6, on_failure=ASIDE)[2] == ["handled 0 rows and set 20 aside"]
    assert counts(queue) == (0, 0, 20)


def test_a_batch_of_failing_rows_is_not_sent_again_and_again(queue):
    """But a part of it for each row, not all that are left."""
    fill(queue, 600)
    queue.query("ALTER TABLE done ADD CHECK (id > 500 AND id <> 550)")
    with PgProxy(queue.address) as proxy:
        assert drain(queue, connection=proxy.connection, batch=600, on_failure=ASIDE)[2] == [
            "handled 99 rows and set 501 aside"]
        assert proxy.flights <= 3 + 3 + 501 + 4
        # Bind is sent for each statement.
        assert proxy.seen["B"] < 600 * 200
    assert counts(queue) == (0, 99, 501)


def test_what_a_failing_row_did_before_is_undone(queue):
    """Alone: rows before and after it are not."""
    fill(queue, 3)
    queue.query("""CREATE FUNCTION twice(bigint) RETURNS void LANGUAGE plpgsql AS
        $$BEGIN INSERT INTO done VALUES ($1, 'begun');
        IF $1 = 2 THEN RAISE 'no % today', $1 USING HINT = 'tomorrow'; END IF;
        DELETE FROM queue WHERE id = $1; END$$""")
    assert drain(queue, handle="SELECT twice($1)", on_failure=ASIDE)[0] == h.SUCCEEDED
    assert ids(queue, "done") == [1, 3]
    assert queue.query("SELECT * FROM aside") == [("2", "row 2", "no 2 today (tomorrow)")]


def test_a_deferred_constraint_is_of_its_row(queue):
    fill(queue, 10)
    queue.query("CREATE TABLE parent (id bigint PRIMARY KEY);"
                "INSERT INTO parent SELECT i FROM generate_series(1, 10) AS i WHERE i <> 4;"
                "ALTER TABLE done ADD FOREIGN KEY (id) REFERENCES parent DEFERRABLE INITIALLY DEFERRED")
    result, detail, _ = drain(queue)
    assert result == h.FAILED
    assert detail.startswith("the batch could not be committed: insert or update on table \"done\" violates foreign")
    assert drain(queue, on_failure=ASIDE)[2] == ["handled 9 rows and set 1 aside"]
    assert ids(queue, "aside") == [4]


def test_a_row_may_defer_its_constraints_until_it_is_done(queue):
    """Also where another row has failed."""
    fill(queue, 10)
    queue.query("""CREATE TABLE parent (id bigint PRIMARY KEY);
        ALTER TABLE done ADD FOREIGN KEY (id) REFERENCES parent DEFERRABLE INITIALLY DEFERRED;
        CREATE FUNCTION child_first(bigint, text) RETURNS void LANGUAGE plpgsql AS
        $$BEGIN INSERT INTO done VALUES ($1, $2); DELETE FROM queue WHERE id = $1;
        IF $1 <> 4 THEN INSERT INTO parent VALUES ($1 + 0 / ($1 - 7)); END IF; END$$""")
    assert drain(queue, handle="SELECT child_first($1, $2)", on_failure=ASIDE)[2] == ["handled 8 rows and set 2 aside"]
    assert ids(queue, "aside") == [4, 7] and ids(queue, "parent") == ids(queue, "done") == [1, 2, 3, 5, 6, 8, 9, 10]


def test_on_failure_fails(queue):
    fill(queue, 5)
    queue.query("ALTER TABLE done ADD CHECK (id <> 3); ALTER TABLE aside ADD CONSTRAINT short CHECK (length(why) < 5)")
    result, detail, _ = drain(queue, on_failure=ASIDE)
    assert result == h.FAILED and detail.startswith("on_failure of a row (1st column 3): new row for relation")
    assert counts(queue) == (5, 0, 0)


def test_on_failure_fails_by_a_deferred_constraint(queue):
    fill(queue, 5)
    queue.query("ALTER TABLE done ADD CHECK (id <> 3); CREATE TABLE parent (id bigint PRIMARY KEY);"
                "ALTER TABLE aside ADD FOREIGN KEY (id) REFERENCES parent DEFERRABLE INITIALLY DEFERRED")
    result, detail, _ = drain(queue, on_failure=ASIDE)
    assert result == h.FAILED and detail.startswith("on_failure of a row (1st column 3): insert or update on table")
    assert counts(queue) == (5, 0, 0)


@pytest.mark.parametrize("handle, words", [
    ("DELETE FROM queue WHERE id = lost($1)", "relation \"nowhere\" does not exist"),
    ("DELETE FROM queue WHERE id = denied($1)", "permission denied"),
])
def test_what_is_wrong_for_every_row_sets_none_aside(queue, handle, words):
    """A slip in a function would else empty the queue."""
    fill(queue, 5)
    queue.query("CREATE FUNCTION lost(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN PERFORM * FROM nowhere; END$$;"
                "CREATE FUNCTION denied(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN "
                "RAISE insufficient_privilege USING MESSAGE = 'permission denied'; END$$")
    result, detail, _ = drain(queue, handle=handle, on_failure=ASIDE)
    assert result == h.REFUSED and detail.startswith("handle of a row (1st column 1): ") and words in detail
    assert counts(queue) == (5, 0, 0)


def test_a_schema_that_is_not_there_sets_none_aside(queue):
    fill(queue, 5)
    queue.query("CREATE FUNCTION lost(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RETURN nowhere.f($1); END$$")
    result, detail, _ = drain(queue, handle="DELETE FROM queue WHERE id = lost($1)", on_failure=ASIDE)
    assert result == h.FAILED and "schema \"nowhere\" does not exist" in detail
    assert counts(queue) == (5, 0, 0)


def test_a_table_that_was_altered_meanwhile_sets_none_aside(queue):
    """What was prepared cannot be run any more; the next run prepares it anew."""
    fill(queue, 4)
    gate = queue.session()
    gate.run("SELECT pg_advisory_lock(7)")
    queue.query("CREATE FUNCTION gated(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN IF $1 = 1 THEN "
                "PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN $1; END$$;"
                "CREATE TABLE bin (id bigint); INSERT INTO bin SELECT id FROM queue")
    moved = "WITH gone AS (DELETE FROM queue WHERE id = gated($1)) DELETE FROM bin WHERE id = $1 RETURNING *"
    with draining(queue, batch=1, handle=moved, on_failure=ASIDE) as guard:
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "it is at it")
        other = queue.session()
        other.begin("ALTER TABLE bin ADD COLUMN more integer")
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "2", 20, "the other waits")
        gate.run("SELECT pg_advisory_unlock(7)")
        ended = guard.ended(30 * SLOWNESS)
    assert other.answer() == []
    assert ended["result"] == h.REFUSED and "cached plan must not change" in ended["detail"], ended
    left, _, aside = counts(queue)
    assert left > 0 and aside == 0
    assert drain(queue, handle=moved, on_failure=ASIDE)[2] == [f"handled {left} rows"]


def test_a_deadlock_is_tried_again(queue):
    """Each holds what the other wants, and the run is the last to ask: PostgreSQL ends its transaction."""
    fill(queue, 2)
    queue.query("CREATE TABLE account (id bigint PRIMARY KEY, sum int); INSERT INTO account VALUES (1, 0), (2, 0);"
                "CREATE FUNCTION gated(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN IF $1 = 2 THEN "
                "PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN $1; END$$")
    gate, other = queue.session(), queue.session()
    gate.run("SELECT pg_advisory_lock(7)")
    other.run("SET deadlock_timeout = '60s'")
    other.run("BEGIN")
    other.run("UPDATE account SET sum = sum + 10 WHERE id = 2")
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with draining(queue, connection=f"{queue.connection} options='-c deadlock_timeout=100ms'",
                  handle="WITH gone AS (DELETE FROM queue WHERE id = $1) "
                         "UPDATE account SET sum = sum + 1 WHERE id = gated($1)") as guard:
        wait_for(lambda: queue.value(waiting) == "1", 20, "the run has the first account, and waits at the gate")
        other.begin("UPDATE account SET sum = sum + 10 WHERE id = 1")
        wait_for(lambda: queue.value(waiting) == "2", 20, "the other waits for it")
        gate.run("SELECT pg_advisory_unlock(7)")
        assert other.answer() == []
        other.run("COMMIT")
        ended = guard.ended(30 * SLOWNESS)
    assert (ended["result"], logs(guard)) == (h.SUCCEEDED, ["handled 2 rows"]), ended
    assert queue.query("SELECT sum FROM account ORDER BY id") == [("11",), ("11",)]
    assert "deadlock detected" in queue.output()


def test_a_conflict_that_never_passes(queue):
    fill(queue, 2)
    queue.query("CREATE SEQUENCE tries; CREATE FUNCTION again(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN "
                "PERFORM nextval('tries'); RAISE serialization_failure USING MESSAGE = 'once more'; END$$")
    result, detail, _ = drain(queue, handle="DELETE FROM queue WHERE id = again($1)", on_failure=ASIDE)
    assert (result, detail) == (h.FAILED, "the first batch, 6 times in a row: once more")
    assert queue.value("SELECT last_value FROM tries") == "6"
    assert counts(queue) == (2, 0, 0)


# --- rows that stay ---

@pytest.mark.parametrize("rows, batch", [(1, 100), (250, 100), (3, 1), (10, 3)])
def test_rows_that_stay_end_the_run(queue, rows, batch):
    fill(queue, rows)
    result, detail, _ = drain(queue, batch=batch, handle="UPDATE done SET what = 'done' WHERE id = $1")
    assert result == h.FAILED
    assert re.fullmatch(
        r"handled [\d,]+ rows?; a row \(1st column \d+\) came again as it was before it was handled: let handle take a "
        r"row out of what select selects, and select show what tells rows apart", detail)
    assert counts(queue) == (rows, 0, 0)


def test_some_rows_that_stay_among_others(queue):
    """All others are handled before, or their turn comes with the next run."""
    fill(queue, 500)
    result, detail, _ = drain(
        queue, select="SELECT id, what FROM queue ORDER BY what DESC FOR UPDATE SKIP LOCKED", batch=50,
        handle=MOVE.replace("id = $1", "id = $1 AND id % 100 <> 0"))
    assert result == h.FAILED and "came again" in detail


def test_a_circle_in_which_rows_change_places(queue):
    """Each is written anew, behind the others."""
    fill(queue, 40)
    result, detail, _ = drain(queue, select="SELECT id FROM queue FOR UPDATE SKIP LOCKED", batch=7,
                              handle="UPDATE queue SET what = 'seen' WHERE id = $1")
    assert result == h.FAILED and "came again" in detail


def test_rows_that_change_may_come_again(queue):
    """As the steps of one thing do."""
    queue.query("CREATE TABLE steps (id integer, step integer); INSERT INTO steps VALUES (1, 0), (2, 0), (3, 2)")
    assert drain(queue, select="SELECT id, step FROM steps WHERE step < 3 FOR UPDATE SKIP LOCKED", batch=2,
                 handle="UPDATE steps SET step = step + 1 WHERE id = $1")[2] == ["handled 7 rows"]


# --- statements that are wrong ---

@pytest.mark.parametrize("params, words", [
    ({"select": "SELECT id, what FROM queue ORDER BY nowhere FOR UPDATE SKIP LOCKED"},
     "select: column \"nowhere\" does not exist"),
    ({"select": "SELECT count(*) FROM queue FOR UPDATE SKIP LOCKED"}, "select: FOR UPDATE is not allowed with"),
    ({"handle": "DELETE FROM quue WHERE id = $1"}, "handle: relation \"quue\" does not exist"),
    ({"handle": "DELETE FORM queue WHERE id = $1"}, "handle: syntax error at or near \"FORM\""),
    ({"on_failure": "DELETE FROM quue WHERE id = $1"}, "on_failure: relation \"quue\" does not exist"),
    ({"handle": "DELETE FROM queue WHERE id = $2"},
     "handle: operator does not exist: bigint = text (No operator matches the given name and argument types. You might "
     "need to add explicit type casts.); $1, $2, ... have the types of select's columns: where another is wanted write "
     "a cast, as in $1::bigint"),
    ({"handle": "INSERT INTO done VALUES ($2, $1)"}, "where another is wanted write a cast, as in $1::bigint"),
    ({"handle": "DELETE FROM queue WHERE id = $3"}, "handle has $3, but there are only 2: select's columns"),
    ({"on_failure": "INSERT INTO aside VALUES ($1, $2, $4)"},
     "on_failure has $4, but there are only 3: select's columns, and the error's text"),
    ({"handle": "COPY queue TO STDOUT WHERE $1"}, "handle: WHERE clause not allowed with COPY TO"),
    ({"handle": "COMMIT $1"}, "handle: syntax error"),
])
@pytest.mark.parametrize("rows, purpose", [(3, 1), (0, TRY)], ids=["run", "try of an empty queue"])
def test_a_wrong_statement_is_refused(queue, rows, purpose, params, words):
    fill(queue, rows)
    result, detail, _ = drain(queue, purpose=purpose, **params)
    assert result == h.REFUSED and detail.startswith(words.split(" (")[0].split("where")[0]) and words in detail
    assert counts(queue) == (rows, 0, 0)


def test_a_cast_is_what_the_message_says(queue):
    queue.query("INSERT INTO queue VALUES (1, '1'), (2, '2')")
    assert drain(queue, handle="DELETE FROM queue WHERE id = $2::bigint")[0] == h.SUCCEEDED


def test_a_procedure_cannot_commit(queue):
    fill(queue, 3)
    queue.query("CREATE PROCEDURE early(bigint) LANGUAGE plpgsql AS "
                "$$BEGIN DELETE FROM queue WHERE id = $1; COMMIT; END$$")
    result, detail, _ = drain(queue, handle="CALL early($1)", on_failure=ASIDE)
    assert (result, detail) == (h.REFUSED, "handle of a row (1st column 1): invalid transaction termination")
    assert counts(queue) == (3, 0, 0)


@pytest.mark.parametrize("params, words", [
    ({"select": "SELECT id FROM queue"}, "select: without FOR UPDATE SKIP LOCKED two devices take the same rows"),
    ({"select": "SELECT id FROM queue FOR UPDATE"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue FOR UPDATE NOWAIT"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue FOR SHARE SKIP LOCKED"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue FOR KEY SHARE SKIP LOCKED"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue -- FOR UPDATE SKIP LOCKED"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue /* /* FOR */ UPDATE SKIP LOCKED */"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id FROM queue /* /* x */ FOR UPDATE SKIP LOCKED */"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "WITH x AS (SELECT id FROM a FOR SHARE SKIP LOCKED) SELECT id FROM queue FOR UPDATE"},
     "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT substring(what FOR (update)) FROM queue FOR SHARE SKIP LOCKED"},
     "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id, 'FOR UPDATE SKIP LOCKED' FROM queue"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id, E'\\' FOR UPDATE SKIP LOCKED' FROM queue"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id, $x$FOR UPDATE SKIP LOCKED$x$ FROM queue"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": "SELECT id AS \"FOR UPDATE SKIP LOCKED\" FROM queue"}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"select": f"{SELECT}; DELETE FROM queue"}, "select: several statements; write one"),
    ({"select": f"{SELECT} LIMIT $1"}, "select: $1 has no value here"),
    ({"select": ""}, "select: without FOR UPDATE SKIP LOCKED"),
    ({"handle": "DELETE FROM queue"}, "handle: nothing in it says which row; write $1 for the first column of select"),
    ({"handle": "DELETE FROM queue -- $1"}, "handle: nothing in it says which row"),
    ({"handle": "DELETE FROM queue WHERE what = '$1'"}, "handle: nothing in it says which row"),
    ({"handle": f"{MOVE}; COMMIT"}, "handle: several statements; write one, as by WITH ... AS (...), or a function"),
    ({"on_failure": f"{MOVE}; COMMIT"}, "on_failure: several statements"),
    ({"on_failure": "DELETE FROM queue"}, "on_failure: nothing in it says which row"),
    ({"connection": None}, "neither connection nor service is given"),
    ({"service": "shop"}, "both connection and service are given"),
    ({"connection": "host=/tmp password=secret"}, "connection holds a password"),
    ({"handle": None}, "handle"),
    ({"select": None}, "select"),
    ({"batch": 0}, "batch"),
    ({"batch": 10001}, "batch"),
    ({"batch": "many"}, "batch"),
    ({"rows": 5}, "rows"),
])
def test_parameters_are_refused_by_check(prober, params, words):
    """Without a server."""
    given = {"connection": "host=/nowhere", "select": SELECT, "handle": MOVE, **params}
    probed = prober.probe(QUEUE, {name: value for name, value in given.items() if value is not None})
    assert probed["loaded"] and len(probed["errors"]) == 1 and words in probed["errors"][0][1], probed


@pytest.mark.parametrize("select", [
    SELECT, "select id from queue\nfor\nupdate\tof queue skip   locked",
    "SELECT id FROM queue FOR NO KEY UPDATE SKIP LOCKED LIMIT 10",
    "WITH x AS (SELECT id FROM queue FOR/* rows */UPDATE SKIP -- those\nLOCKED) SELECT id FROM x",
    "SELECT id, 'it''s', $$;$$, $a$ $b$ ; $a$, E'\\';' FROM queue FOR UPDATE SKIP LOCKED ; -- end",
])
def test_parameters_are_good(prober, select):
    probed = prober.probe(QUEUE, {"connection": "host=/nowhere", "select": select, "handle": MOVE, "on_failure": ASIDE})
    assert probed["errors"] == []


# --- by hand ---

def test_by_hand_nothing_is_left_behind(queue):
    fill(queue, 30)
    result, _, said = drain(queue, purpose=TRY, batch=20)
    assert (result, said) == (h.SUCCEEDED, ["handled 20 rows, and rolled it all back, as this was a try by hand"])
    assert counts(queue) == (30, 0, 0)


def test_by_hand_on_failure_is_tried_too(queue):
    fill(queue, 5)
    queue.query("ALTER TABLE done ADD CHECK (id <> 3)")
    assert drain(queue, purpose=TRY, on_failure=ASIDE)[2] == [
        "handled 4 rows and set 1 aside, and rolled it all back, as this was a try by hand"]
    assert counts(queue) == (5, 0, 0)


def test_by_hand_deferred_constraints_are_tried_too(queue):
    fill(queue, 3)
    queue.query("CREATE TABLE parent (id bigint PRIMARY KEY); INSERT INTO parent VALUES (1), (3);"
                "ALTER TABLE done ADD FOREIGN KEY (id) REFERENCES parent DEFERRABLE INITIALLY DEFERRED")
    result, detail, _ = drain(queue, purpose=TRY)
    assert result == h.FAILED and detail.startswith("the batch could not be committed: insert or update on table")
    assert drain(queue, purpose=TRY, on_failure=ASIDE)[2] == [
        "handled 2 rows and set 1 aside, and rolled it all back, as this was a try by hand"]
    assert counts(queue) == (3, 0, 0)


def test_from_a_shell(queue):
    fill(queue, 3)
    done = subprocess.run([h.GUARD, "--try", QUEUE, *(f"{name}={value}" for name, value in of(queue).items())],
                          capture_output=True, text=True, check=False, timeout=60 * SLOWNESS)
    assert done.returncode == 0, done.stderr
    assert "handled 3 rows, and rolled it all back" in done.stdout + done.stderr
    assert counts(queue) == (3, 0, 0)
