# SPDX-License-Identifier: MIT
"""pg_queue runs out of time, is stopped, killed, frozen, or loses its server: no row is lost, none is handled twice."""
import os
import re
import signal

import guard_harness as h
import pytest
from fleet import SLOWNESS, now_ms, wait_for
from guard_harness import Guard
from pg_proxy import PgProxy
from pg_queue import (  # noqa: F401 (fixtures)
    ASIDE, BUILT, MOVE, QUEUE, counts, drain, draining, fill, ids, mortal, of, progress, queue, shared, unlocked)

pytestmark = BUILT


SLOW = ("WITH gone AS (DELETE FROM queue WHERE id = $1), n AS (SELECT pg_sleep(0.05)) "
        "INSERT INTO done SELECT $1, $2 FROM n")


def wait_gone(server):
    wait_for(lambda: server.value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'rota%'") == "0",
             20, "the run's session is gone")


def some_are_done(server, least=10):
    wait_for(lambda: counts(server)[1] >= least, 30, "some batches are committed")


def stopped_half_way(queue, before, **values):
    """The stop comes while the 15th row is waited for, which takes a while; `before` is what there is by then."""
    queue.query("CREATE FUNCTION gated(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN IF $1 = 15 THEN "
                "PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN $1; END$$")
    gate = queue.session()
    gate.run("SELECT pg_advisory_lock(7)")
    with draining(queue, handle=MOVE.replace("id = $1", "id = gated($1)"), **values) as guard:
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "it is half-way")
        guard.send(h.STOP, reason=0)
        assert counts(queue) == before
        gate.run("SELECT pg_advisory_unlock(7)")
        ended = guard.ended(30 * SLOWNESS)
    return ended["result"], ended["detail"]


def test_a_stop_lets_its_batch_be_finished(queue):
    """And no further one is begun."""
    fill(queue, 50)
    assert stopped_half_way(queue, (40, 10, 0), batch=10) == (h.DECLINED, "stopped; handled 20 rows")
    assert counts(queue) == (30, 20, 0)


def test_a_stop_lets_its_batch_be_finished_row_by_row(queue):
    """Also between the flights of which only the last one ends with COMMIT."""
    fill(queue, 100)
    queue.query("ALTER TABLE done ADD CHECK (id NOT IN (1, 70))")
    assert stopped_half_way(queue, (100, 0, 0), batch=100, on_failure=ASIDE) == (
        h.DECLINED, "stopped; handled 98 rows and set 2 aside")
    assert counts(queue) == (0, 98, 2)


def test_a_stop_before_the_first_row(queue):
    fill(queue, 10)
    blocker = queue.session()
    blocker.run("BEGIN")
    blocker.run("LOCK TABLE queue")
    with draining(queue) as guard:
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "the run waits")
        guard.send(h.STOP, reason=0)
        ended = guard.ended(10 * SLOWNESS)
    assert (ended["result"], ended["detail"]) == (h.DECLINED, "stopped; handled 0 rows")
    wait_gone(queue)


def test_a_killed_worker_leaves_its_batch(queue):
    fill(queue, 200)
    with draining(queue, batch=20, handle=SLOW) as guard:
        some_are_done(queue, 20)
        os.kill(guard.worker, signal.SIGKILL)
        assert guard.ended(30)["how"] == h.SIGNALLED
    wait_gone(queue)
    left, done, _ = counts(queue)
    assert left + done == 200 and done % 20 == 0 and left > 0
    assert drain(queue)[0] == h.SUCCEEDED
    assert ids(queue, "done") == list(range(1, 201))


def test_a_frozen_device_does_not_keep_its_rows(queue):
    """The server ends its transaction by time; it hears of that when it goes on, and has handled nothing."""
    fill(queue, 20)
    blocker = queue.session()
    blocker.run("BEGIN")
    blocker.run("LOCK TABLE queue")
    with Guard() as guard:
        guard.start(QUEUE, of(queue), worst_case_ms=60000, stop_grace_ms=500, deadline_in_ms=4500).next(h.STARTED)
        wait_for(lambda: queue.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1", 20, "the run waits")
        for pid in (guard.process.pid, guard.worker):
            os.kill(pid, signal.SIGSTOP)
        try:
            blocker.run("ROLLBACK")
            wait_for(lambda: unlocked(queue) == 0, 20, "its rows are locked")
            wait_for(lambda: unlocked(queue) == 20, 20, "its rows are free")
        finally:
            for pid in (guard.worker, guard.process.pid):
                os.kill(pid, signal.SIGCONT)
        guard.ended(30)
    assert counts(queue) == (20, 0, 0)


@pytest.mark.parametrize("hard", [True, False], ids=["crash", "restart"])
def test_the_server_goes_away(mortal, hard):
    fill(mortal, 200)
    with draining(mortal, batch=20, handle=SLOW) as guard:
        some_are_done(mortal, 20)
        (mortal.kill if hard else mortal.stop)()
        ended = guard.ended(30)
    assert ended["result"] == h.FAILED
    assert re.match(r"handled \d+ rows; the next batch: ", ended["detail"]), ended["detail"]
    mortal.start()
    left, done, _ = counts(mortal)
    assert left + done == 200 and done % 20 == 0 and left > 0
    assert drain(mortal)[0] == h.SUCCEEDED
    assert ids(mortal, "done") == list(range(1, 201))


def test_the_way_to_the_server_is_cut(queue):
    fill(queue, 200)
    with PgProxy(queue.address) as proxy, draining(queue, batch=20, handle=SLOW, connection=proxy.connection) as guard:
        some_are_done(queue, 20)
        proxy.cut()
        ended = guard.ended(30)
    assert ended["result"] == h.FAILED and "; the next batch: the connection was lost: " in ended["detail"]
    wait_gone(queue)
    assert drain(queue)[0] == h.SUCCEEDED
    assert ids(queue, "done") == list(range(1, 201))


def test_no_server(mortal):
    mortal.stop()
    result, detail, _ = drain(mortal)
    assert result == h.FAILED and detail.startswith("cannot connect: ")


def test_the_worst_case_ends_it_between_two_batches(queue):
    """Before it would be an overrun: the next turn goes on."""
    fill(queue, 1000)
    result, detail, said = drain(queue, batch=4, handle=SLOW, worst_case_ms=3000)
    left, done, _ = counts(queue)
    assert (result, detail) == (h.SUCCEEDED, "") and left > 0 and left + done == 1000
    assert said == [f"handled {done} rows; there may be more, but worst_case leaves no time for another batch"]


def test_the_worst_case_ends_it_between_two_short_batches(queue):
    """Also where many more would fit into what is kept for hearing of an end."""
    fill(queue, 1)
    began = now_ms()
    result, detail, said = drain(queue, batch=1, handle="UPDATE queue SET what = random() WHERE id = $1",
                                 worst_case_ms=6000)
    # Not so near to it that rotad would say that it is soon too little: after 4.5 s, and what it takes to begin.
    assert now_ms() - began < 5300 + (SLOWNESS - 1) * 300
    assert (result, detail) == (h.SUCCEEDED, "") and "worst_case leaves no time for another batch" in said[-1]


def test_a_statement_ends_in_time(queue):
    fill(queue, 3)
    result, detail, _ = drain(queue, handle="DELETE FROM queue WHERE id = $1 AND pg_sleep(60) IS NOT NULL",
                              on_failure=ASIDE, worst_case_ms=2000)
    assert result == h.FAILED and detail.startswith("handle of a row (1st column 1): ended by the server after ")
    assert "worst_case" in detail
    assert counts(queue) == (3, 0, 0)


def test_a_batch_ends_in_time(queue):
    """Of statements that are short each."""
    fill(queue, 200)
    result, detail, _ = drain(queue, batch=200, handle=SLOW, worst_case_ms=2000)
    # By the server where it comes to look in time, else by the run.
    assert result == h.FAILED and re.search(
        r"^(the first batch|handle of a row.*): (no end of it in|ended by the server after) \S+, which is what was "
        "left of the worst case: .* longer worst_case", detail), detail
    wait_gone(queue)
    assert counts(queue) == (200, 0, 0)


def test_progress_is_told_batch_by_batch(queue):
    fill(queue, 25)
    ended, guard = h.run(QUEUE, of(queue, batch=10))
    assert ended["result"] == h.SUCCEEDED
    assert progress(guard)[-1] == "handled 25 rows"


def test_a_wide_value_is_not_told_whole(queue):
    queue.query("CREATE TABLE names (name text); INSERT INTO names VALUES ('x' || repeat('ä', 500))")
    _, detail, _ = drain(queue, select="SELECT name FROM names FOR UPDATE SKIP LOCKED",
                         handle="DELETE FROM names WHERE name = $1 AND 1 / (length(name) - 501) = 1")
    assert detail == f"a row (1st column x{'ä' * 29}...): division by zero; on_failure can set such rows aside"
