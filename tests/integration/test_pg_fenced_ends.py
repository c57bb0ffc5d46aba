# SPDX-License-Identifier: MIT
"""The plugin pg_fenced where something comes in between: a server that is not there, goes or is slow, a lost answer, a
stop, a pause, other transactions. What was begun ends before the lease, at the server; what is said of it is true."""
import contextlib
import ctypes
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

import guard_harness as h
import pytest
from fenced import FENCED, TABLE, WORK, end_of, fenced, sessions, start, written
from fleet import ONCE, RENEWED, SANITIZED, SLOWNESS, wait_for
from guard_harness import GUARD, Guard
from pg_proxy import PgProxy
from postgres import Postgres
from redis_server import free_port

pytestmark = pytest.mark.skipif(not FENCED.exists(), reason="built without PostgreSQL")
LEASE_MS = 8000 if SANITIZED else 5000
SLEEP = f"{WORK}; SELECT pg_sleep(60)"
PIDFD_GETFD = 438


@pytest.fixture
def base(postgres):
    postgres.query(TABLE + "; CREATE TABLE done (fence bigint)")
    return postgres


def wait_asleep(server):
    wait_for(lambda: sessions(server, "wait_event = 'PgSleep'") == 1, 20, "the work is at it")


def nothing_written(server):
    return written(server) == [] and server.query("SELECT * FROM rota_fence") == []


# --- the server

def test_no_server(base):
    port = free_port()
    result, detail, _ = fenced(base, connection=f"host=127.0.0.1 port={port} user=x dbname=x")
    assert result == h.FAILED
    assert detail.startswith(
        f'cannot connect: connection to server at "127.0.0.1", port {port} failed: Connection refused; Is')
    result, detail, _ = fenced(base, connection="host=/nowhere dbname=x")
    assert result == h.FAILED and "No such file or directory; Is the server running locally" in detail
    assert "\n" not in detail
    result, detail, _ = fenced(base, connection=base.connection.replace("dbname=postgres", "dbname=nothing"))
    assert result == h.FAILED and detail.endswith('FATAL: database "nothing" does not exist')


@contextlib.contextmanager
def silent(backlog):
    """A port that answers nothing; without backlog not even that somebody has come, as a machine that is off."""
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as server, contextlib.ExitStack() as stack:
        for _ in range(0 if backlog else 8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def test_a_silent_server_takes_connect_timeout_at_most(base):
    for backlog in (0, 8):
        with silent(backlog) as port:
            begin = time.monotonic()
            result, detail, _ = fenced(base, connection=f"host=127.0.0.1 port={port} user=x dbname=x",
                                       connect_timeout="300ms")
            assert result == h.FAILED and time.monotonic() - begin < 5 * SLOWNESS
            assert re.match(r"cannot connect: (no login within \d+ms$|.*timeout expired|.*timed out)", detail), detail


def test_a_host_that_is_switched_off_leaves_time_for_the_next(postgres_template):
    server = Postgres(postgres_template, tcp=True)
    try:
        server.start().query(TABLE + "; CREATE TABLE done (fence bigint)")
        with silent(0) as port:
            connection = f"host=127.0.0.1,127.0.0.1 port={port},{server.port} user=tests dbname=postgres"
            assert fenced(server, connection=connection, connect_timeout="6s")[0] == h.SUCCEEDED
    finally:
        server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look at the sockets of others")
def test_a_session_may_be_silent_for_longer_than_connecting(postgres_template):
    """What a host may take to answer at all would end the session at the first packet that is lost twice."""
    def user_timeouts(pid):
        pidfd = os.pidfd_open(pid)
        for entry in os.scandir(f"/proc/{pid}/fd"):
            if os.readlink(entry.path).startswith("socket:"):
                fd = ctypes.CDLL(None).syscall(PIDFD_GETFD, pidfd, int(entry.name), 0)
                if fd < 0:
                    pytest.skip("this container lets nobody look at the sockets of others")
                with socket.socket(fileno=fd) as copy:
                    if copy.family == socket.AF_INET:
                        yield copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        os.close(pidfd)

    server = Postgres(postgres_template, tcp=True)
    try:
        server.start().query(TABLE + "; CREATE TABLE done (fence bigint)")
        for options, expected in ("", range(10000, 40000)), (" tcp_user_timeout=1234", [1234]):
            with Guard() as guard:
                start(guard, server, SLEEP, connection=server.by_tcp + options, connect_timeout="9s",
                      worst_case_ms=40000)
                guard.next(h.STARTED)
                wait_asleep(server)
                [found] = user_timeouts(guard.worker)
                assert found in expected
                guard.send(h.STOP, reason=1)
                assert end_of(guard)[0] == h.DECLINED
    finally:
        server.close()


def test_a_standby_is_no_place_to_write(base):
    base.stop()
    (base.data / "standby.signal").touch()
    base.start()
    result, detail, _ = fenced(base)
    assert result == h.FAILED
    assert detail.startswith("fence_table: cannot execute INSERT in a read-only transaction; the server is a standby")
    assert "target_session_attrs=read-write" in detail
    result, detail, _ = fenced(base, connection=base.connection + " target_session_attrs=read-write")
    assert result == h.FAILED and detail.startswith("cannot connect: ") and "read-only" in detail


def test_the_server_crashes(base):
    with Guard() as guard:
        start(guard, base, SLEEP)
        wait_asleep(base)
        base.kill()
        result, detail, _ = end_of(guard)
        assert result == h.FAILED and detail.startswith("sql: the connection was lost: "), detail
    base.start()
    assert nothing_written(base)


def test_the_session_is_ended_by_hand(base):
    for how, expected in (
            ("pg_terminate_backend", "sql: the connection was lost: terminating connection due to administrator"),
            ("pg_cancel_backend", "sql: canceling statement due to user request")):
        with Guard() as guard:
            start(guard, base, SLEEP)
            wait_asleep(base)
            base.query(f"SELECT {how}(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
            result, detail, _ = end_of(guard)
            assert result == h.FAILED and detail.startswith(expected), detail
    assert nothing_written(base)


def test_a_frozen_server_is_given_up(base):
    with Guard() as guard:
        start(guard, base, SLEEP, deadline_in_ms=LEASE_MS)
        wait_asleep(base)
        pid = int(base.value("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))
        os.kill(pid, signal.SIGSTOP)
        try:
            ended = guard.ended(30 * SLOWNESS)
        finally:
            os.kill(pid, signal.SIGCONT)
        # The stop of the run and that come at one instant.
        assert ended["result"] in (h.FAILED, h.DECLINED)
        assert "the server has not answered for" in ended["detail"] or "was stopped" in ended["detail"]
    assert nothing_written(base)


class CommitCut:
    """Between plugin and server: cuts the connection at COMMIT, before the server has it or once it has answered."""

    def __init__(self, server, answered):
        self.server, self.answered = server, answered
        self.folder = tempfile.TemporaryDirectory(prefix="rota-cut-")
        self.connection = f"host={self.folder.name} port=5432 user=tests dbname=postgres"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder.name}/.s.PGSQL.5432")
        self.listener.listen(1)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.thread.join(10)
        self.listener.close()
        self.folder.cleanup()

    def _serve(self):
        client, server = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
        server.connect(self.server.address)
        with client, server:
            while True:
                readable = select.select([client, server], [], [], 30)[0]
                source = readable[0] if readable else server
                data = source.recv(65536) if readable else b""
                commits = source is client and b"COMMIT\0" in data
                if not data or commits and not self.answered:
                    return
                (server if source is client else client).sendall(data)
                if commits:
                    server.recv(1)
                    return


@pytest.mark.parametrize("answered", [False, True])
def test_the_connection_is_lost_during_commit(base, answered):
    with CommitCut(base, answered) as cut:
        result, detail, _ = fenced(base, connection=cut.connection)
    assert result == h.FAILED
    assert detail.startswith("the connection was lost while COMMIT was under way (")
    assert detail.endswith("); whether it was committed is not known: the next try sees it by the turn in rota_fence")
    wait_for(lambda: sessions(base) == 0, 20, "the session has ended")
    assert written(base) == ([7] if answered else [])
    # The next try: in either case the turn is done once.
    result, detail, _ = fenced(base, fence=8, attempt=2)
    assert result == (h.NOTHING if answered else h.SUCCEEDED)
    assert written(base) == ([7] if answered else [8])


class Rewritten(CommitCut):
    """What stands in between has ideas of its own of what is said: change(data)."""

    def __init__(self, server, change):
        self.change = change
        super().__init__(server, answered=True)

    def _serve(self):
        client, server = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
        server.connect(self.server.address)
        with client, server:
            while True:
                readable = select.select([client, server], [], [], 30)[0]
                data = readable[0].recv(65536) if readable else b""
                if not data:
                    return
                (server if readable[0] is client else client).sendall(self.change(data))


def commit_refused(data):
    """The server's transaction was broken by what stands in between, as a pooler can do: COMMIT is answered so."""
    return data.replace(b"COMMIT\0", b"ABORT \0")


def test_a_commit_that_rolled_back_is_no_success(base):
    with Rewritten(base, commit_refused) as proxy:
        assert fenced(base, connection=proxy.connection)[:2] == (
            h.FAILED, "COMMIT: the server has rolled the transaction back instead; it was broken already")
    assert nothing_written(base)


# --- time

def test_a_statement_ends_with_the_lease(base):
    """By the server, and in time to hear of it."""
    with Guard() as guard:
        start(guard, base, SLEEP, deadline_in_ms=LEASE_MS)
        result, detail, _ = end_of(guard)
        assert h.boot_ms() < guard.deadline
    assert result == h.FAILED
    assert re.fullmatch(r"sql: ended by the server after (\d+ms|\d\.\ds), which is what was left of the lease: give "
                        r"the job a longer lease \(lease = \.\.\.\)", detail), detail
    assert nothing_written(base)
    detail = fenced(base, SLEEP, worst_case_ms=3000)[1]
    assert "which is what was left of the worst case: give the job a longer worst_case (worst_case = ...)" in detail


def test_several_statements_end_with_it_together(base):
    with Guard() as guard:
        start(guard, base, "; ".join([WORK] + ["SELECT pg_sleep(0.5)"] * 90), deadline_in_ms=LEASE_MS)
        result, detail, _ = end_of(guard)
        assert h.boot_ms() < guard.deadline
    assert result == h.FAILED and "which is what was left of the lease" in detail
    assert nothing_written(base)


def test_a_wait_for_a_lock_ends_with_it(base):
    other = base.session()
    other.run("BEGIN; LOCK TABLE done")
    result, detail, _ = fenced(base, deadline_in_ms=LEASE_MS)
    assert result == h.FAILED and "which is what was left of the lease: give the job a longer lease" in detail
    other.run("COMMIT; BEGIN; LOCK TABLE rota_fence")
    result, detail, _ = fenced(base, deadline_in_ms=LEASE_MS)
    assert result == h.FAILED and "rota_fence: ended by the server after " in detail
    other.close()
    assert nothing_written(base)


def test_what_the_operator_limits_stays(base):
    base.query("ALTER ROLE tests SET statement_timeout = '400ms'")
    result, detail, _ = fenced(base, SLEEP)
    assert result == h.FAILED
    assert re.fullmatch(r"sql: ended by the server after \S+, by the limit of 400ms that is set there for this user or "
                        r"database \(statement_timeout, transaction_timeout\)", detail), detail
    base.query("ALTER ROLE tests SET lock_timeout = '300ms'; ALTER ROLE tests RESET statement_timeout")
    other = base.session()
    other.run("BEGIN; LOCK TABLE done")
    result, detail, _ = fenced(base)
    assert (result, detail) == (h.FAILED, "sql, line 1: canceling statement due to lock timeout")
    other.close()


def test_time_outs_at_the_server_are_what_is_left(base):
    base.query("CREATE TABLE seen (name text, value text)")
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
             "client_connection_check_interval")
    fenced(base, f"INSERT INTO seen SELECT name, setting FROM pg_settings WHERE name IN {names}", deadline_in_ms=30500)
    seen = {name: int(value) for name, value in base.query("SELECT * FROM seen")}
    assert seen.pop("client_connection_check_interval") == 1000
    assert len(seen) == 3 and len(set(seen.values())) == 1
    # 30 s are left until the stop, less a margin of 2 %.
    assert 29400 - 10000 * SLOWNESS < seen["lock_timeout"] <= 29400


def test_the_server_looks_whether_the_way_is_still_there(postgres_template):
    """A flight of which only the beginning arrives holds its locks, and no time-out of PostgreSQL 15 counts then. What
    the operator has set lower stays; more than the system can do is not asked for."""
    names = "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"
    look = ", ".join(f"current_setting('{name}')::int" for name in names)
    server = Postgres(postgres_template, tcp=True)
    try:
        server.start().query(TABLE + "; CREATE TABLE seen (idle int, interval int, count int)")
        for turn, (options, ms) in enumerate([("", 40000), (" options='-c tcp_keepalives_idle=2'", 40000),
                                              ("", 31 * 86400 * 1000)], 1):
            result, _, _ = fenced(server, f"INSERT INTO seen SELECT {look}", connection=server.by_tcp + options,
                                  turn_ms=turn, fence=turn, worst_case_ms=ms)
            assert result == h.SUCCEEDED
        [(idle, interval, count), (lower, *_), most] = [[int(value) for value in row] for row in
                                                        server.query("TABLE seen")]
        assert count == 3 and 8 <= idle + count * interval < 40 and lower == 2 and most == [32767, 32767, 3]
        assert "setsockopt" not in server.output()
    finally:
        server.close()


def test_a_month_is_more_than_a_time_out_can_be(base):
    """What transaction_timeout gets besides, from 17 on, has to fit, too."""
    base.query("CREATE TABLE seen (ms bigint)")
    sql = "INSERT INTO seen SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'"
    result, detail, _ = fenced(base, sql, worst_case_ms=31 * 86400 * 1000)
    assert (result, detail) == (h.SUCCEEDED, "")
    assert 24 * 86400 * 1000 < int(base.value("TABLE seen")) < 2**31 - 100


def rests_of_the_keeper(guard):
    """How often the worker's other thread, which takes renewals, has gone to sleep."""
    [thread] = [task for task in pathlib.Path(f"/proc/{guard.worker}/task").iterdir() if task.name != str(guard.worker)]
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (thread / "status").read_text(), re.M).group(1))


def test_time_outs_follow_a_renewal(base):
    """The fence is waited for; in the meantime the lease is renewed, and the work has the time that is left then."""
    other = base.session()
    other.run("BEGIN; LOCK TABLE rota_fence")
    with Guard() as guard:
        start(guard, base, f"{WORK}; SELECT pg_sleep({LEASE_MS / 1000})", deadline_in_ms=LEASE_MS)
        guard.next(h.STARTED)
        wait_for(lambda: sessions(base, "wait_event_type = 'Lock'") == 1, 4, "it waits")
        rests = rests_of_the_keeper(guard)
        guard.send(h.DEADLINE, deadline=h.boot_ms() + 60000)
        wait_for(lambda: rests_of_the_keeper(guard) > rests, 4, "the worker knows of it")
        other.run("COMMIT")
        assert end_of(guard)[0] == h.SUCCEEDED
    other.close()


def test_nothing_is_begun_with_nothing_left(base):
    result, detail, _ = fenced(base, deadline_in_ms=830)
    if result != h.DECLINED:
        assert result == h.FAILED and "less than 100 ms is left of the lease, in which nothing is begun" in detail
    assert nothing_written(base)


def test_three_round_trips(base):
    with PgProxy(base.address) as proxy:
        assert fenced(base, connection=proxy.connection)[0] == h.SUCCEEDED
        assert proxy.flights == 3


# --- the worker

def test_a_stop_declines_and_writes_nothing(base):
    with Guard() as guard:
        start(guard, base, SLEEP, stop_grace_ms=5000)
        wait_asleep(base)
        guard.send(h.STOP, reason=1)
        result, detail, _ = end_of(guard)
        assert (result, detail) == (h.DECLINED, "sql was stopped; nothing was written")
    wait_for(lambda: sessions(base) == 0, 10, "the session has ended")
    # It was told, and not left to find out.
    assert "canceling statement due to user request" in base.output()
    assert nothing_written(base)


def connects(port):
    """Somebody is on the way to it. The sockets of a worker alone do not tell: it has some before it begins."""
    with open("/proc/net/tcp") as links:
        return any(line.split()[2].endswith(f":{port:04X}") for line in links)


def test_a_stop_ends_the_connecting(base):
    with silent(8) as port, Guard() as guard:
        start(guard, base, connection=f"host=127.0.0.1 port={port} user=x dbname=x", connect_timeout="50s",
              stop_grace_ms=5000)
        guard.next(h.STARTED)
        wait_for(lambda: connects(port), 20, "it connects")
        guard.send(h.STOP, reason=1)
        assert end_of(guard)[:2] == (h.DECLINED, "connecting was stopped; nothing was written")


def test_the_server_sees_that_the_worker_was_killed(base):
    with Guard() as guard:
        start(guard, base, SLEEP)
        guard.next(h.STARTED)
        wait_asleep(base)
        os.kill(guard.worker, signal.SIGKILL)
        assert guard.ended(30 * SLOWNESS)["how"] == h.SIGNALLED
    wait_for(lambda: sessions(base) == 0, 10, "the server has ended what it worked at")
    assert nothing_written(base)
    assert fenced(base, fence=8)[0] == h.SUCCEEDED


@pytest.mark.parametrize("held", [0.0, 2.5])
def test_a_paused_worker_loses_its_transaction_in_time(base, held):
    """However much of the lease its statement has taken, the row is free for the next holder before its end."""
    other = base.session()
    other.run("BEGIN; LOCK TABLE done")
    with Guard() as guard:
        # Ended 3 s after it was asked to stop.
        start(guard, base, deadline_in_ms=LEASE_MS + 3000, stop_grace_ms=3000)
        guard.next(h.STARTED)
        wait_for(lambda: sessions(base, "wait_event_type = 'Lock'") == 1, 5, "it is at it")
        os.kill(guard.worker, signal.SIGSTOP)
        base.query(f"SELECT pg_sleep({held})")
        other.run("COMMIT")
        wait_for(lambda: sessions(base, "application_name = 'rota nightly'") == 0, 30, "the server has ended it")
        assert h.boot_ms() < guard.deadline - 2000 and h.is_alive(guard.worker)
        os.kill(guard.worker, signal.SIGCONT)
        result, detail, _ = end_of(guard)
        assert result == h.DECLINED or result == h.FAILED and detail.startswith("COMMIT: "), detail
    other.close()
    assert nothing_written(base)


def test_a_paused_worker_hears_that_all_was_rolled_back(base):
    base.query("ALTER ROLE tests SET idle_in_transaction_session_timeout = '200ms'")
    with Guard() as guard:
        start(guard, base, f"{WORK}; SELECT pg_sleep(1)")
        guard.next(h.STARTED)
        wait_asleep(base)
        os.kill(guard.worker, signal.SIGSTOP)
        wait_for(lambda: sessions(base) == 0, 20, "the server has ended the transaction")
        os.kill(guard.worker, signal.SIGCONT)
        assert end_of(guard)[:2] == (
            h.FAILED, "COMMIT: the server had ended the transaction already, in which this process did nothing for too "
            "long; it was rolled back")
    assert nothing_written(base)


def one_column(data):
    data = data.replace(b"SELECT fence, turn, device FROM", b"SELECT fence FROM".rjust(31))
    return data.replace(b"SELECT name, ms, set_config(name, '0', true), set_config(name, ms::text, true)",
                        b"SELECT name".ljust(78))


def test_answers_with_too_few_columns(base):
    base.query("INSERT INTO rota_fence VALUES ('nightly', 9, 1, 'gate-2')")
    with Rewritten(base, one_column) as proxy:
        assert fenced(base, connection=proxy.connection)[:2] == (
            h.FAILED, "rota_fence: the row of nightly cannot be seen by this user")


# --- other transactions

TRIES = ("DO $$ BEGIN IF nextval('tries') < {0} THEN RAISE EXCEPTION 'mine' USING ERRCODE = '{1}'; END IF; END $$; " +
         WORK)


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_what_was_in_the_way_is_repeated(base, state):
    base.query("CREATE SEQUENCE tries")
    result, detail, log = fenced(base, TRIES.format(3, state))
    assert (result, detail) == (h.SUCCEEDED, "")
    assert log[:2] == [f"in the way of another transaction; repeated ({i} of 5)" for i in (1, 2)] and len(log) == 3
    assert written(base) == [7]
    base.query("SELECT setval('tries', 1)")
    result, detail, log = fenced(base, TRIES.format(100, state), fence=8, turn_ms=1)
    assert (result, detail, len(log)) == (h.FAILED, "sql: mine", 5)
    assert base.value("SELECT last_value FROM tries") == "7"
    assert written(base) == [7]


# --- by hand

def test_tried_by_hand_nothing_is_written(base):
    base.query("INSERT INTO rota_fence VALUES ('try', 100, 1, 'gate-2')")
    done = subprocess.run([GUARD, "--try", FENCED, f"connection={base.connection}", f"sql={WORK}", "fence_name=try"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * SLOWNESS,
                          check=False)
    assert done.returncode == 0, done.stdout
    assert "tried by hand: rolled back, nothing was written; rows of the last statement: 1" in done.stdout
    assert written(base) == [] and base.query("SELECT fence FROM rota_fence") == [("100",)]


# --- whole devices

def job(base, sql=WORK, **more):
    return {**RENEWED, **ONCE, "plugin": "pg_fenced", "attempts": 2,
            "params": {"connection": base.connection, "sql": sql, **more}}


def test_a_device_records_that_it_was_lost(base, fleet):
    fleet.make_due("report")
    base.query("INSERT INTO rota_fence VALUES ('report', 9007199254740993, 1, 'gate-7')")
    device = fleet.device({"report": job(base)}).start()
    entry = fleet.wait_history("report", within=20)[0]
    assert entry["outcome"] == "lost"
    assert re.match(r"fence \d+ is older than 9007199254740993, with which gate-7 has written turn "
                    r"1970-01-01 00:00:00 UTC", entry["detail"])
    device.wait_line(r"^report: lost after .*: fence \d+ is older than ", 20)
    assert written(base) == []


def test_a_success_that_was_not_recorded_is_not_done_again(base, fleet):
    fleet.make_due("report")
    device = fleet.device({"report": job(base)}).start()
    device.wait_line("^report: succeeded", 20)
    device.stop()
    # As if the fleet had never heard of it.
    fleet.client.flushall()
    fleet.make_due("report")
    fleet.client.hset(fleet.key("report", "claim"), "fence", 1 << 50)
    again = fleet.device({"report": job(base)}).start()
    again.wait_line("^report: had nothing to do", 20)
    entry = fleet.wait_history("report", within=20)[0]
    assert entry["outcome"] == "nothing" and "was done already by gate-1 under fence" in entry["detail"]
    assert len(written(base)) == 1


def test_the_password_is_a_credential_of_rotads(base, fleet, folder):
    base.query("CREATE ROLE reports LOGIN PASSWORD 'open sesame'; GRANT ALL ON done, rota_fence TO reports")
    base.allow("local all all scram-sha-256")
    (folder / "pg").write_text("open sesame\n")
    (folder / "pg").chmod(0o400)
    connection = base.connection.replace("user=tests", "user=reports")
    fleet.make_due("report", "away")
    device = fleet.device({"report": job(base, connection=connection, password_file="credential:pg"),
                           "away": job(base, connection=connection, password_file="credential:none")})
    device.start(CREDENTIALS_DIRECTORY=str(folder))
    device.wait_line("^report: succeeded", 20)
    device.wait_line("^away: failed after .*: password_file: .*none", 20)
    assert len(written(base)) == 1 and "sesame" not in device.output()
