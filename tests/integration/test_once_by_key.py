# SPDX-License-Identifier: MIT
"""A unique constraint is all that a job needs whose work is to add what may be there once: the turn is the key. Two
devices are made to run the same turn; each inserts its report into a table without a key, then into one with it."""
from pathlib import Path

from fault_proxy import redis_by
from fleet import ONCE, RENEWED

TABLES = """CREATE TABLE plain (turn bigint, device text);
CREATE TABLE keyed (turn bigint PRIMARY KEY, device text);
"""


def report(fleet, postgres, name):
    """It begins, and goes on once there is a file with the device's name."""
    psql = postgres.psql_in_sh()
    text = f"""until [ -e '{fleet.folder}/go-{name}' ]; do sleep 0.02; done
{psql} -c "INSERT INTO plain VALUES ($ROTA_TURN, '{name}')" || exit 1
{psql} -c "INSERT INTO keyed VALUES ($ROTA_TURN, '{name}')" || exit 1"""
    return {"report": {**RENEWED, **ONCE, "lease": "25s", **fleet.body(f"report-{name}", text)}}


def test_the_same_turn_twice_is_in_the_table_once(fleet, proxy, postgres):
    postgres.query(TABLES)
    fleet.make_due("report")
    first = fleet.device(report(fleet, postgres, "first"), name="first", redis=redis_by(proxy)).start()
    begun = fleet.wait_entry("begin")
    # First does not hear of it: to its own knowledge it holds the lock.
    proxy.hold()
    fleet.client.flushall()
    fleet.make_due("report")
    Path(fleet.folder, "go-second").touch()
    second = fleet.device(report(fleet, postgres, "second"), name="second").start()
    second.wait_line("^report: succeeded", 15)
    Path(fleet.folder, "go-first").touch()
    first.wait_line("^report\\| .*duplicate key value violates unique constraint", 15)
    proxy.release()

    assert [entry.turn for entry in fleet.entries("begin")] == [begun.turn] * 2
    turn = str(begun.turn)
    assert postgres.query("SELECT * FROM plain ORDER BY device") == [(turn, "first"), (turn, "second")]
    assert postgres.query("SELECT * FROM keyed") == [(turn, "second")]
    assert len(fleet.entries("end")) == 1
