# SPDX-License-Identifier: MIT
"""Rows that any device may handle, by pg_queue on all of them at once: each exactly once, whoever is killed meanwhile.

What was handled is counted in a table that only grows and has no constraint, so that nothing else could keep a row from
being handled twice."""
import os
import random
import signal
import time

from fleet import SHORT, children_of, wait_for

ROWS = 10_000
DEVICES = 8
# Each row's handling takes 2 ms in the server, so that most kills hit a batch.
HANDLE = """WITH note AS (INSERT INTO handled VALUES ($1::bigint, pg_backend_pid()) RETURNING id)
    UPDATE work SET is_open = false FROM note, pg_sleep(0.002) WHERE work.id = note.id"""
SELECT = "SELECT id, payload FROM work WHERE is_open ORDER BY id FOR UPDATE SKIP LOCKED"
# A device takes no other turn for L = 3.85 s after its worker was killed.
DRAIN = {**SHORT, "plugin": "pg_queue", "lock": "none", "every": "1s", "splay": "0s"}
# Between two kills so many rows are handled.
FEWEST, MOST = 200, 600


def fill(postgres, rows):
    postgres.query(f"""CREATE TABLE work (id bigint PRIMARY KEY, payload text, is_open boolean NOT NULL DEFAULT true);
        CREATE INDEX ON work (id) WHERE is_open;
        CREATE TABLE handled (id bigint, session int);
        INSERT INTO work SELECT n, 'row ' || n FROM generate_series(1, {rows}) n""")


def drain(postgres):
    params = {"connection": postgres.connection, "select": SELECT, "handle": HANDLE, "batch": 25}
    return {"drain": {**DRAIN, "params": params}}


def handled(postgres):
    return int(postgres.value("SELECT count(*) FROM handled"))


def left(postgres):
    return int(postgres.value("SELECT count(*) FROM work WHERE is_open"))


def check_once(postgres, rows):
    assert postgres.query("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM handled") \
        == [(str(rows), str(rows), "1", str(rows))]


def workers_of(device):
    return [worker for guard in device.guards() for worker in children_of(guard)]


def kill_a_worker(chance, devices):
    """Of a random device. False: it has none just now."""
    workers = workers_of(chance.choice(devices))
    if not workers:
        return False
    try:
        os.kill(chance.choice(workers), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_eight_devices_drain_it_while_workers_are_killed(fleet, postgres):
    seed = int(os.environ.get("ROTA_SEED") or time.time_ns() % 2**32)
    print(f"ROTA_SEED={seed}")
    chance = random.Random(seed)
    fill(postgres, ROWS)
    devices = [fleet.device(drain(postgres)).start() for _ in range(DEVICES)]
    wait_for(lambda: handled(postgres) > 0, 30, "the first batch is handled")

    killed, victim, next_at = 0, chance.choice(devices), chance.randint(FEWEST, MOST)
    deadline = time.monotonic() + 120
    while left(postgres) > 0:
        assert time.monotonic() < deadline, f"{left(postgres)} rows are left"
        done = handled(postgres)
        if done >= next_at and kill_a_worker(chance, [device for device in devices if device.runs()]):
            killed, next_at = killed + 1, done + chance.randint(FEWEST, MOST)
        if victim.runs() and done > ROWS / 3:
            victim.cut_power()
        time.sleep(0.02)
    check_once(postgres, ROWS)
    assert killed >= 8 and not victim.runs()
    assert sum(len(device.lines("^drain: crashed")) for device in devices) >= 8
    sessions = postgres.query("SELECT count(*) FROM handled GROUP BY session")
    print(f"{killed} workers and {victim.name} were killed; rows by session: {sessions}")
    assert all(device.lines("^drain: started") for device in devices) and len(sessions) >= DEVICES


def test_the_server_crashes_meanwhile(fleet, postgres):
    rows = 2000
    fill(postgres, rows)
    devices = [fleet.device(drain(postgres)).start() for _ in range(2)]
    for crash, share in ((1, rows / 8), (2, rows / 2)):
        wait_for(lambda: handled(postgres) > share, 60, "a part is handled")
        postgres.kill()
        devices[0].wait_line("^drain: failed", 30, count=crash)
        postgres.start()
    wait_for(lambda: left(postgres) == 0, 60, "all is handled")
    check_once(postgres, rows)
