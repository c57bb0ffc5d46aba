# SPDX-License-Identifier: MIT
"""What the other tests rely on: a PostgreSQL of their own, and the wire to it."""
import os
import pathlib
import pwd
import subprocess

from fleet import wait_for
from guard_harness import ROOT
from postgres import AS_SERVER, SERVER_USER, Postgres, environment
from wire import Wire


def test_it_is_of_its_own_and_no_root_runs_it(postgres, postgres_template):
    assert int(postgres.value("SHOW server_version_num")) >= 150000
    owner = pathlib.Path(f"/proc/{postgres.process.pid}").stat().st_uid
    assert owner == (pwd.getpwnam(SERVER_USER).pw_uid if AS_SERVER else os.getuid())
    postgres.query("CREATE TABLE one (id int)")
    other = Postgres(postgres_template, tcp=True).start()
    try:
        assert other.query("SELECT to_regclass('one'), 'a b', 7", other.by_tcp) == [("\\N", "a b", "7")]
    finally:
        other.close()
    assert not other.folder.exists()


def test_a_crash_keeps_what_was_committed(postgres):
    postgres.query("CREATE TABLE one (id int); INSERT INTO one VALUES (1)")
    open_one = postgres.session()
    open_one.run("BEGIN; INSERT INTO one VALUES (2)")
    postgres.kill()
    postgres.start()
    assert postgres.query("SELECT id FROM one") == [("1",)]
    postgres.stop()
    postgres.start()
    assert postgres.query("SELECT id FROM one") == [("1",)]


def test_who_may_log_in(postgres):
    postgres.query("CREATE ROLE jobs LOGIN PASSWORD 'right'")
    postgres.allow("local all all scram-sha-256")
    as_jobs = postgres.connection.replace("user=tests", "user=jobs")
    assert "password" in postgres.error("SELECT 1", as_jobs)
    assert postgres.value("SELECT current_user", f"{as_jobs} password=right") == "jobs"


def test_the_wire_keeps_what_a_dead_client_sent(postgres):
    postgres.query("CREATE TABLE one (id int)")
    with Wire(postgres) as wire:
        assert postgres.value("SELECT 1", wire.connection) == "1"
        wire.hold(b"INSERT")
        client = subprocess.Popen([*postgres.psql_words(wire.connection), "-c", "INSERT INTO one VALUES (1)"],
                                  env=environment())
        wire.wait_held()
        client.kill()
        client.wait()
        assert postgres.value("SELECT count(*) FROM one") == "0"
        wire.release()
        wait_for(lambda: postgres.value("SELECT count(*) FROM one") == "1", 10, "it comes late")


def test_quickstart_says_where_there_is_none():
    said = subprocess.run(
        ["bash", "-c", ". ./quickstart; may_install=no; has_postgresql() { false; }; fetch_postgresql; echo $failed"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    assert said == ["Debian's package postgresql is not to be had (build/postgresql.log); its tests count as failed", "1"]
