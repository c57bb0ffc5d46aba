# SPDX-License-Identifier: MIT
"""S43: A reads, is paused for longer than its lease, B reads and writes, A's write comes. Each test has the job twice,
and does the same to both at the same time: written naively, a program that reads and then writes, and with pg_fenced.

A job's table has one row: who has written, each after those whom they have read. So an update that was lost is a name
that is missing.

What keeps a late write away is the fence where the transaction of the former holder begins after the other's has ended
(Redis has lost the lock), and the server's time-outs where it began before."""
import contextlib
import os
import signal
from pathlib import Path

import pytest

from fault_proxy import redis_by
from fleet import ONCE, RENEWED, is_alive, marked_processes, now_ms, wait_for
from guard_harness import ROOT
from wire import Wire

FENCE_TABLE = (ROOT / "plugins" / "pg_fenced" / "rota_fence.sql").read_text()
TABLES = f"""{FENCE_TABLE};
CREATE TABLE naive (writers text NOT NULL);
CREATE TABLE fenced (writers text NOT NULL);
INSERT INTO naive VALUES ('');
INSERT INTO fenced VALUES ('');
CREATE TABLE gate (is_open boolean NOT NULL);
INSERT INTO gate VALUES (false);
"""
# Reads, waits in the server until the gate is open, and writes what it has read and its own name.
IN_SERVER = """DO $$ DECLARE known text; BEGIN
    SELECT writers INTO known FROM %(table)s;
    WHILE NOT (SELECT is_open FROM gate) LOOP PERFORM pg_sleep(0.02); END LOOP;
    UPDATE %(table)s SET writers = known || ' %(name)s';
END $$"""
PERIOD_MS = 3000
AT_ONCE = "UPDATE %(table)s SET writers = writers || ' %(name)s'"


class Scene:
    """Two devices and a database; first reaches it by a wire a job, so that the one does not hold the other up."""

    def __init__(self, fleet, postgres, **job):
        self.fleet, self.postgres = fleet, postgres
        self.job = {**RENEWED, **ONCE, **job}
        self.wires = {"naive": Wire(postgres), "fenced": Wire(postgres)}
        postgres.query(TABLES)
        fleet.make_due("naive", "fenced")

    def close(self):
        for wire in self.wires.values():
            wire.close()

    def writers(self, table):
        return self.postgres.value(f"SELECT writers FROM {table}").split()

    def naive(self, name, connection, between="", sql=""):
        """Reads and writes by psql, or has the server do both by one statement."""
        psql = self.postgres.psql_in_sh(connection)
        text = f"""{psql} -c "$(cat <<'END'
{sql}
END
)" """ if sql else f"""known=$({psql} -A -t -c 'SELECT writers FROM naive')
{between}
{psql} -c "UPDATE naive SET writers = '$known {name}'" """
        return {**self.job, **self.fleet.body(f"naive-{name}", text)}

    def fenced(self, connection, sql):
        return {**self.job, "plugin": "pg_fenced", "params": {"connection": connection, "sql": sql}}

    def jobs(self, name, sql=AT_ONCE, in_server=False, **naive):
        def connection(table):
            return self.wires[table].connection if name == "first" else self.postgres.connection
        if in_server:
            naive["sql"] = sql % {"table": "naive", "name": name}
        return {"naive": self.naive(name, connection("naive"), **naive),
                "fenced": self.fenced(connection("fenced"), sql % {"table": "fenced", "name": name})}

    def hold(self, **marks):
        for table, mark in marks.items():
            self.wires[table].hold(*filter(None, [mark]))

    def wait_held(self):
        for wire in self.wires.values():
            wire.wait_held()

    def release(self):
        for wire in self.wires.values():
            wire.release()

    def fence(self, job="fenced"):
        return int(self.fleet.claim(job)["fence"])

    def start_second(self, within, turns=1):
        """It takes both jobs over, and does them."""
        second = self.fleet.device(self.jobs("second"), name="second").start()
        for job in ("naive", "fenced"):
            second.wait_line(f"^{job}: succeeded", within, turns)
        return second

    def wait_over(self, within=15):
        """Nothing of first's is at work in the database any more."""
        sessions = ("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                    " AND pid <> pg_backend_pid()")
        wait_for(lambda: self.postgres.value(sessions) == "0", within, "all sessions have ended")

    def check_fences(self, before):
        """They grow, and second's is the one in the database."""
        assert self.fence() > before
        assert self.postgres.query("SELECT fence, device FROM rota_fence") == [(str(self.fence()), "second")]


@pytest.fixture
def scene(fleet, postgres):
    the_scene = Scene(fleet, postgres)
    try:
        yield the_scene
    finally:
        the_scene.close()


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # one that was over soon
            os.kill(pid, number)


def test_s43_the_network_keeps_the_write_beyond_the_lease(scene, fleet):
    """First's worker ends with its lease, as rota sees to; what it has sent is on its way, and nobody on the device can
    end that."""
    scene.hold(naive=b"UPDATE naive", fenced=b"COMMIT\0")
    first = fleet.device(scene.jobs("first"), name="first").start()
    scene.wait_held()
    fence = scene.fence()
    first.signal(signal.SIGSTOP)
    scene.start_second(within=30)
    assert not is_alive(fleet.entries("begin")[0].pid)
    assert (scene.writers("naive"), scene.writers("fenced")) == (["second"], ["second"])

    scene.release()
    wait_for(lambda: scene.writers("naive") == ["first"], 10, "second's update of the naive job is lost")
    scene.wait_over()
    assert scene.writers("fenced") == ["second"]
    scene.check_fences(fence)
    first.signal(signal.SIGCONT)
    for job in ("naive", "fenced"):
        first.wait_line(f"^{job}: (stopped|failed) after ")


def test_s43_the_server_goes_on_after_the_device_is_gone(scene, fleet, postgres):
    """First has read and waits in the server when its power is cut; the server is not told."""
    first = fleet.device(scene.jobs("first", IN_SERVER, in_server=True), name="first").start()
    wait_for(lambda: postgres.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                                    " AND query LIKE '%DO%'") == "2", 20, "both wait in the server")
    scene.hold(naive=None, fenced=None)
    fence = scene.fence()
    first.cut_power()
    scene.start_second(within=30)
    assert (scene.writers("naive"), scene.writers("fenced")) == (["second"], ["second"])

    postgres.query("UPDATE gate SET is_open = true")
    wait_for(lambda: scene.writers("naive") == ["first"], 10, "second's update of the naive job is lost")
    scene.release()
    scene.wait_over()
    assert scene.writers("fenced") == ["second"]
    scene.check_fences(fence)


def test_s43_the_lock_is_lost_with_redis_s_data(fleet, proxy, postgres):
    """First is alive and in its lease, by what it knows, when Redis loses its data and is given what it had before the
    lock (where it is only empty, rota waits for as long as a lease). So second gets the lock, and later turns. It is
    the fence alone that refuses first, and it has grown although nothing in Redis knew of the last one."""
    scene = Scene(fleet, postgres, lease="25s", every=f"{PERIOD_MS}ms", catch_up=f"{PERIOD_MS}ms")
    try:
        scene.hold(naive=b"UPDATE naive", fenced=b"rota_fence")
        first = fleet.device(scene.jobs("first"), name="first", redis=redis_by(proxy)).start()
        scene.wait_held()
        fence = scene.fence()
        proxy.hold()
        fleet.client.flushall()
        fleet.make_done(now_ms() // PERIOD_MS * PERIOD_MS - PERIOD_MS, "naive", "fenced")
        second = scene.start_second(within=15, turns=2)
        assert second.stop() == 0
        written = scene.writers("fenced")
        assert set(written) == set(scene.writers("naive")) == {"second"}

        scene.release()
        wait_for(lambda: scene.writers("naive") == ["first"], 10, "second's update of the naive job is lost")
        scene.wait_over()
        assert scene.writers("fenced") == written
        scene.check_fences(fence)
        proxy.release()
        line = first.wait_line("^fenced: lost", 20)
        assert f"fence {fence} is older than {scene.fence()}" in line.text
    finally:
        scene.close()


def test_s43_all_of_the_device_is_frozen(scene, fleet, postgres):
    """The plain pause, as of a machine that is short of memory: rotad, the guards, the workers and the program all
    stand still. The worker's timer is the kernel's, which ends it all the same, and the program with it: here rota
    saves the naive job too."""
    wait = f"touch '{fleet.folder}/read'; until [ -e '{fleet.folder}/go' ]; do sleep 0.02; done"
    first = fleet.device(scene.jobs("first", IN_SERVER, between=wait), name="first").start()
    wait_for(lambda: Path(fleet.folder, "read").exists(), 20, "the naive job has read")
    wait_for(lambda: postgres.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1", 20,
             "the fenced job has read")
    fence = scene.fence()
    frozen = marked_processes(first.folder)
    assert first.pid in frozen
    signal_all(frozen, signal.SIGSTOP)
    scene.start_second(within=30)
    assert not is_alive(fleet.entries("begin")[0].pid)

    postgres.query("UPDATE gate SET is_open = true")
    Path(fleet.folder, "go").touch()
    signal_all(frozen, signal.SIGCONT)
    for job in ("naive", "fenced"):
        first.wait_line(f"^{job}: (stopped|failed|crashed) after ")
    scene.wait_over()
    assert (scene.writers("naive"), scene.writers("fenced")) == (["second"], ["second"])
    scene.check_fences(fence)


def test_the_server_crashes_in_the_middle(scene, fleet, postgres):
    """Nothing of the first try is there, and the next one does it once."""
    sql = "UPDATE fenced SET writers = writers || ' early'; " + IN_SERVER
    job = {**scene.jobs("second", sql)["fenced"], "attempts": 20, "retry_delay": "300ms"}
    device = fleet.device({"fenced": job}, name="second").start()
    wait_for(lambda: postgres.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1", 20,
             "it waits in the server")
    fence = scene.fence()
    postgres.kill()
    device.wait_line("^fenced: failed after .*the connection was lost")
    postgres.start()
    assert scene.writers("fenced") == []
    postgres.query("UPDATE gate SET is_open = true")
    device.wait_line("^fenced: succeeded", 20)
    assert scene.writers("fenced") == ["early", "second"]
    scene.check_fences(fence)
