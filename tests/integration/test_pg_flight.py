# SPDX-License-Identifier: MIT
"""Many statements that were sent at once, of which each is short: together they end with the lease, too."""
import os
import signal

import guard_harness as h
import pytest
from fenced import sessions
from fleet import SANITIZED, wait_for
from guard_harness import Guard

QUEUE = h.BUILD / "plugins" / "pg_queue.so"
pytestmark = pytest.mark.skipif(not QUEUE.exists(), reason="built without PostgreSQL")


def test_many_statements_end_with_the_lease_together(postgres):
    """The server has them all, and nobody is there to take them back: 100 rows that take 300 ms each."""
    postgres.query("CREATE TABLE queue (id int); INSERT INTO queue SELECT generate_series(1, 100)")
    params = {"connection": postgres.connection, "select": "SELECT id FROM queue FOR UPDATE SKIP LOCKED",
              "handle": "WITH gone AS (DELETE FROM queue WHERE id = $1::int) SELECT pg_sleep(0.3)"}
    with Guard() as guard:
        guard.start(QUEUE, params, worst_case_ms=60000, deadline_in_ms=11000 if SANITIZED else 8000, stop_grace_ms=3000)
        guard.next(h.STARTED)
        wait_for(lambda: sessions(postgres, "wait_event = 'PgSleep'") == 1, 5, "it is at it")
        # The guard too, which would wake the worker to have it stop.
        for pid in (guard.process.pid, guard.worker):
            os.kill(pid, signal.SIGSTOP)
        try:
            wait_for(lambda: sessions(postgres, "state = 'active'") == 0, 30, "the server has ended it")
            assert h.boot_ms() < guard.deadline - 1500
        finally:
            os.kill(guard.process.pid, signal.SIGCONT)
        guard.ended(20)
    assert postgres.value("SELECT count(*) FROM queue") == "100"
