# SPDX-License-Identifier: MIT
"""The plugin pg_fenced against a real PostgreSQL: what it writes, what it refuses, and that nothing of it outlives the
lease. That a paused holder is refused is in test_s43_fence.py."""
import os

import guard_harness as h
import pages
import pytest
from fenced import FENCED, TABLE, TURN, WORK, check, fenced, sessions, start, written
from fleet import SLOWNESS, wait_for
from guard_harness import ROOT, Guard

REFERENCE = ROOT / "docs" / "rota-plugins.7.scd"
pytestmark = pytest.mark.skipif(not FENCED.exists(), reason="built without PostgreSQL")


@pytest.fixture
def base(postgres):
    postgres.query(TABLE + "; CREATE TABLE done (fence bigint)")
    return postgres


# --- the fence

def test_writes_under_its_fence(base):
    result, detail, logs = fenced(
        base, "INSERT INTO done VALUES (1), (2); UPDATE done SET fence = fence + 10 WHERE fence = 1")
    assert (result, detail, logs) == (h.SUCCEEDED, "", ["committed under fence 7; rows of the last statement: 1"])
    assert written(base) == [2, 11]
    assert base.query("SELECT name, fence, turn, device, now() - at < '1min' FROM rota_fence") == [
        ("nightly", "7", str(TURN), "gate-1", "t")]
    # The next turn, by a newer fence.
    assert fenced(base, fence=8, turn_ms=TURN + 60000, device="gate-2")[0] == h.SUCCEEDED
    assert written(base) == [2, 8, 11]
    assert base.query("SELECT fence, turn, device FROM rota_fence") == [("8", str(TURN + 60000), "gate-2")]


def test_an_older_fence_is_lost(base):
    fenced(base, fence=7, device="gate-2")
    later = TURN + 60000
    result, detail, logs = fenced(base, fence=5, turn_ms=later)
    assert (result, logs) == (h.LOST, [])
    assert detail == ("fence 5 is older than 7, with which gate-2 has written turn 2026-11-29 15:50:00 UTC; "
                      "nothing was done")
    # For another turn the same fence is none either.
    result, detail, _ = fenced(base, fence=7, turn_ms=later)
    assert result == h.LOST and detail.startswith("fence 7 is no newer than 7, with which gate-2 has written turn ")
    # This turn was done by a holder after this one.
    assert fenced(base, fence=6, turn_ms=TURN)[0] == h.LOST
    assert written(base) == [7]
    assert base.query("SELECT fence, turn FROM rota_fence") == [("7", str(TURN))]
    assert fenced(base, fence=8, turn_ms=later)[0] == h.SUCCEEDED


def test_fences_of_a_table_of_ones_own(base):
    """Compared as numbers in columns of text, too; and what a trigger keeps away is not called a newer fence."""
    base.query("CREATE TABLE texts (name text PRIMARY KEY, fence text, turn text, device text, at timestamptz);"
               f"INSERT INTO texts VALUES ('nightly', '10', '{TURN}', 'gate-2', now())")
    later = TURN + 60000
    assert fenced(base, fence_table="texts", fence=9, turn_ms=later)[0] == h.LOST
    assert fenced(base, fence_table="texts", fence=11, turn_ms=later)[0] == h.SUCCEEDED
    base.query("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
               "CREATE TRIGGER away BEFORE UPDATE ON texts FOR EACH ROW EXECUTE FUNCTION nothing()")
    result, detail, _ = fenced(base, fence_table="texts", fence=12, turn_ms=later + 60000)
    assert result == h.FAILED and detail.endswith("is there a trigger or a rule on the table?")
    assert written(base) == [11]


def test_a_turn_that_was_done_is_nothing(base):
    fenced(base, fence=7, device="gate-2")
    for fence in (7, 8):
        result, detail, _ = fenced(base, fence=fence)
        assert (result, detail) == (h.NOTHING, "turn 2026-11-29 15:50:00 UTC was done already by gate-2 under fence 7")
    assert written(base) == [7]


def test_waits_for_a_holder_that_is_at_it(base):
    """It sees what that one writes, also where the row is a new one."""
    for fence, expected in ((6, h.SUCCEEDED), (9, h.LOST)):
        base.query("TRUNCATE rota_fence; TRUNCATE done")
        other = base.session()
        other.run(f"BEGIN; INSERT INTO rota_fence VALUES ('nightly', {fence}, 1, 'gate-2')")
        with Guard() as guard:
            start(guard, base)
            wait_for(lambda: sessions(base, "wait_event_type = 'Lock'") == 1, 20, "it waits")
            other.run("COMMIT")
            assert guard.ended(30 * SLOWNESS)["result"] == expected
        other.close()


def test_a_run_without_fence_is_refused(base):
    result, detail, _ = fenced(base, fence=0)
    assert result == h.REFUSED and detail.startswith("this run has no fence: ") and "require_fence = true" in detail
    assert written(base) == []


def test_table_and_name_of_its_own(base):
    base.query("CREATE SCHEMA ops; ALTER TABLE rota_fence SET SCHEMA ops;"
               'ALTER TABLE ops.rota_fence RENAME TO "order"')
    assert fenced(base, fence_table="ops.order", fence_name="it's \"nightly\"")[0] == h.SUCCEEDED
    assert base.query('SELECT name, fence FROM ops."order"') == [('it\'s "nightly"', "7")]


@pytest.mark.parametrize("name", ["", "a.b.c", "Rota", "a;b", '"a"', "1a", "a.", ".a", "x" * 64, "a b"])
def test_names_of_tables_that_are_refused(name):
    text = check(connection="dbname=x", sql="SELECT 1", fence_table=name)
    assert f'fence_table is "{name}"; write TABLE or SCHEMA.TABLE, of lower-case letters, digits and _' in text


def test_no_table(base):
    base.query("DROP TABLE rota_fence")
    result, detail, _ = fenced(base)
    assert result == h.REFUSED
    assert detail.startswith("there is no table rota_fence in database postgres; its owner makes it: CREATE TABLE ")
    # What it says is what has to be done.
    base.query(detail.split("its owner makes it: ")[1])
    assert fenced(base)[0] == h.SUCCEEDED
    # So do the manual and the file that is shipped.
    columns = """SELECT column_name, data_type, is_nullable, column_default, (SELECT conkey FROM pg_constraint
                 WHERE conrelid = 'rota_fence'::regclass AND contype = 'p') FROM information_schema.columns
                 WHERE table_name = 'rota_fence' ORDER BY ordinal_position"""
    said = base.query(columns)
    for text in (TABLE, pages.frame_of(REFERENCE, "CREATE TABLE rota_fence")):
        base.query("DROP TABLE rota_fence;" + text)
        assert base.query(columns) == said
    result, detail, _ = fenced(base, fence_table="away.rota_fence")
    assert result == h.REFUSED and "there is no table away.rota_fence in database postgres" in detail


def test_no_right_to_the_table(base):
    base.query("CREATE ROLE reports LOGIN; GRANT ALL ON done TO reports; GRANT SELECT ON rota_fence TO reports")
    base.allow("local all all trust")
    connection = base.connection.replace("user=tests", "user=reports")
    result, detail, _ = fenced(base, connection=connection)
    assert result == h.REFUSED
    assert detail == ("fence_table: permission denied for table rota_fence; its owner allows it: "
                      "GRANT SELECT, INSERT, UPDATE ON rota_fence TO reports")
    base.query(detail.split("its owner allows it: ")[1])
    assert fenced(base, connection=connection)[0] == h.SUCCEEDED


def test_another_table(base):
    base.query("CREATE TABLE other (name text, fence bigint); CREATE TABLE no_key (LIKE rota_fence)")
    for table, why in (("other", 'column "turn" of relation "other" does not exist'), 
                       ("no_key", "there is no unique or exclusion constraint")):
        result, detail, _ = fenced(base, fence_table=table)
        assert result == h.REFUSED
        assert detail.startswith(f"{table} is not the table that is needed here: {why}") and "CREATE TABLE" in detail


# --- the operator's SQL

def test_what_the_sql_can_read(base):
    base.query("CREATE TABLE seen (what text, value text)")
    names = ("fence", "turn", "job", "device", "attempt")
    sql = "; ".join(f"INSERT INTO seen VALUES ('{name}', current_setting('rota.{name}'))" for name in names)
    assert fenced(base, sql, attempt=2)[0] == h.SUCCEEDED
    assert base.query("SELECT * FROM seen") == [
        ("fence", "7"), ("turn", str(TURN)), ("job", "nightly"), ("device", "gate-1"), ("attempt", "2")]


def test_sql_from_a_file(base, folder):
    path = folder / "work.sql"
    path.write_text(f"-- ünlike\nCREATE TEMPORARY TABLE t AS SELECT 3 AS n;\n{WORK};\nDELETE FROM t;\n")
    assert fenced(base, sql=None, sql_file=str(path))[2] == ["committed under fence 7; rows of the last statement: 1"]
    assert written(base) == [7]
    for text, result, why in (("", h.REFUSED, "is empty; write"), (" ;\n", h.REFUSED, "is empty; write"),
                              ("a\0b", h.REFUSED, "holds a NUL byte"),
                              ("x" * (1 << 20) + "x", h.REFUSED, "has more than 1 MiB")):
        path.write_text(text)
        got, detail, _ = fenced(base, sql=None, sql_file=str(path), fence=8)
        assert got == result and detail.startswith(f"sql_file: {path} {why}")
    path.unlink()
    assert fenced(base, sql=None, sql_file=str(path), fence=8)[:2] == (
        h.FAILED, f"sql_file: {path}: No such file or directory")
    path.mkdir()
    assert fenced(base, sql=None, sql_file=str(path), fence=8)[:2] == (h.REFUSED, f"sql_file: {path} is no file")
    path.rmdir()


def test_bad_sql_is_told_by_its_line(base, folder):
    text = "-- hinüber\nINSERT INTO done VALUES (1);\nINSERT INTO\n  nowhere VALUES (2)"
    assert fenced(base, text)[:2] == (h.REFUSED, 'sql, line 4: relation "nowhere" does not exist')
    assert fenced(base, "SELECT 1;\nSELEC 1")[:2] == (h.REFUSED, 'sql, line 2: syntax error at or near "SELEC"')
    path = folder / "bad.sql"
    path.write_text(text)
    assert fenced(base, sql=None, sql_file=str(path))[1] == f'{path}, line 4: relation "nowhere" does not exist'
    # With detail and hint; it is no mistake of the text, so another try may do.
    base.query("ALTER TABLE done ADD PRIMARY KEY (fence)")
    result, detail, _ = fenced(base, "INSERT INTO done VALUES (1), (1)")
    assert (result, detail) == (h.FAILED, 'sql: duplicate key value violates unique constraint "done_pkey"; '
                                          "Key (fence)=(1) already exists.")
    result, detail, _ = fenced(base, "DO $$ BEGIN RAISE EXCEPTION E'no\\n\\tstock' USING HINT = 'buy some'; END $$")
    assert (result, detail) == (h.FAILED, "sql: no; stock (buy some)")
    # Of a function's own text, a line would be of another one.
    base.query("CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM\n\n* FROM nowhere; END $$")
    assert fenced(base, "SELECT f()")[1] == 'sql: relation "nowhere" does not exist'
    assert written(base) == [] and base.query("SELECT * FROM rota_fence") == []


def test_nothing_leaves_the_transaction(base):
    for sql in ("COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT s", "PREPARE TRANSACTION 'x'", "END", "ABORT",
                "START TRANSACTION", "COPY done FROM STDIN", "COPY done TO STDOUT", "SELECT 1 AS n INTO other"):
        for text in (f"{WORK}; {sql}", f"{sql}; {WORK}")[:1 if "INTO" in sql else 2]:
            result, detail, _ = fenced(base, text)
            assert result == h.REFUSED, text
            assert "the statements are one transaction with the fence, and can neither end it nor talk to a " in detail
    assert written(base) == [] and base.query("SELECT * FROM rota_fence") == []


def test_nothing_leaves_the_transaction_by_a_detour(base):
    base.query("CREATE PROCEDURE ends() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$")
    for sql, why in (("DO $$ BEGIN COMMIT; END $$", "invalid transaction termination"),
                     ("CALL ends()", "invalid transaction termination"), ("VACUUM done", "VACUUM cannot "),
                     ("CREATE DATABASE x", "CREATE DATABASE cannot ")):
        result, detail, _ = fenced(base, f"{WORK}; {sql}")
        assert result == h.REFUSED and why in detail, detail
    assert written(base) == [] and base.query("SELECT * FROM rota_fence") == []


def test_no_operator_of_others_is_called(base):
    """One that fits the types better than pg_catalog's own, in a schema of the search path, would run with the rights
    of the job's user."""
    base.query("CREATE ROLE other; GRANT CREATE ON SCHEMA public TO other")
    taken = []
    for name in ("+", "-", "*", "<", ">", "=", "<>", "~~"):
        for left in ("numeric", "bigint", "integer", "text"):
            for right in ("numeric", "bigint", "integer", "text"):
                function = f"public.f{len(taken)}"
                taken.append(f"CREATE FUNCTION {function}({left}, {right}) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
                             f"RAISE EXCEPTION '{name}({left}, {right}) was called'; END $$; CREATE OPERATOR "
                             f"public.{name} (FUNCTION = {function}, LEFTARG = {left}, RIGHTARG = {right})")
    base.query("SET ROLE other; " + "; ".join(taken))
    assert fenced(base)[:2] == (h.SUCCEEDED, "")
    assert fenced(base, fence=6, turn_ms=1)[0] == h.LOST
    assert written(base) == [7]


def test_error_at_commit(base):
    base.query("CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    result, detail, _ = fenced(base, "INSERT INTO late VALUES (1), (1)")
    assert result == h.FAILED and detail.startswith("COMMIT: duplicate key value violates unique constraint")
    assert base.query("SELECT * FROM rota_fence") == []


def test_notices_go_to_the_log(base):
    result, _, logs = fenced(base, "DO $$ BEGIN RAISE NOTICE E'one\\ntwo'; RAISE WARNING 'three'; END $$")
    assert result == h.SUCCEEDED and logs[:2] == ["one; two", "three"] and len(logs) == 3
    many = "DO $$ BEGIN FOR i IN 1..500 LOOP RAISE NOTICE 'n%', i; END LOOP; END $$"
    logs = fenced(base, many, fence=8, turn_ms=1)[2]
    assert logs[:100] == [f"n{i}" for i in range(1, 101)]
    assert logs[100] == "further notices of the server are left out" and len(logs) == 102


# --- parameters that are refused

@pytest.mark.parametrize("params,why", [
    ({"sql": "x"}, "neither connection nor service is given; write one of them"),
    ({"connection": "a=b", "service": "s", "sql": "x"}, "both connection and service are given; write one of them"),
    ({"connection": "dbname=x"}, "neither sql nor sql_file is given; write one of them"),
    ({"connection": "dbname=x", "sql": "x", "sql_file": "/x"}, "both sql and sql_file are given; write one of them"),
    ({"connection": "dbname=x", "sql": " ;\n"}, "sql is empty; write the statements that do the work"),
    ({"connection": "dbname=x", "sql_file": "x"}, "absolute path"),
    ({"connection": "hots=x", "sql": "x"}, 'connection: invalid connection option "hots"'),
    ({"connection": "dbname=x", "sql": "x", "password_file": "credential:"},
     'password_file: "credential:" names no credential'),
    ({"connection": "dbname=x", "sql": "x", "password_file": "x"},
     'password_file is "x"; write an absolute path, or credential'),
    ({"connection": "dbname=x", "sql": "x", "connect_timeout": "1h"}, "10m"),
])
def test_parameters_that_are_refused(params, why):
    assert why in check(**params)


@pytest.mark.parametrize("connection", [
    "host=db password=open-sesame dbname=x", "postgresql://reports:open-sesame@db/shop?sslmode=disable",
    "postgresql://db/shop?password=open-sesame", "dbname=x sslpassword=open-sesame"])
def test_a_password_in_the_connection_is_refused(connection):
    text = check(connection=connection, sql="SELECT 1")
    assert "connection holds a password (" in text and "which others can read here" in text
    result, detail, _ = fenced(None, connection=connection)
    assert result == h.REFUSED and detail.startswith("connection holds a password (")
    assert "sesame" not in text + detail


@pytest.mark.parametrize("connection", ["dbname=x password = open sesame", "postgresql://reports:sesame@[db/shop"])
def test_what_cannot_be_read_is_not_quoted(connection):
    text = check(connection=connection, sql="SELECT 1")
    assert "connection is no connection string of libpq's; write it like" in text
    assert "sesame" not in text


def test_good_parameters():
    assert check(connection="postgresql://reports@localhost:5433/shop", sql="SELECT 1") == ""
    assert check(service="shop", sql_file="/nowhere/x.sql", password_file="credential:pg", fence_name="x") == ""
    assert check(connection="service=shop", sql="SELECT 1", password_file="/nowhere/pass") == ""


# --- the way there

def test_an_sslmode_that_is_none():
    assert check(connection="host=db dbname=x sslmode=requre", sql="x") == (
        'sslmode is "requre"; write disable, allow, prefer, require, verify-ca or verify-full')


@pytest.mark.parametrize("connection", [
    "host=192.0.2.1", "host=db.example", "postgresql://db.example/x", "host=/tmp,db.example", "hostaddr=192.0.2.1",
    "host=localhost hostaddr=192.0.2.1", "hostaddr=2001:db8::1", "host=db.example hostaddr=,127.0.0.1",
    "host=127.1.example"])
def test_another_machine_needs_an_sslmode(connection):
    text = check(connection=connection, sql="SELECT 1")
    assert "is another machine, and no sslmode says how the way there is protected; write sslmode=verify-full" in text
    result, detail, _ = fenced(None, connection=connection)
    assert result == h.REFUSED and "write sslmode=verify-full sslrootcert=FILE into the connection" in detail
    mode = "?sslmode=prefer" if "//" in connection else " sslmode=disable"
    assert check(connection=connection + mode, sql="SELECT 1") == ""


@pytest.mark.parametrize("connection", [
    "dbname=x", "host=/run/x", "host=@abstract", "host=localhost", "host=127.0.0.1", "host=127.8.8.8", "host=::1",
    "host=db.example hostaddr=127.0.0.1", "postgresql:///x", "postgresql://[::1]/x", "host=/a,localhost"])
def test_this_machine_needs_none(connection):
    assert check(connection=connection, sql="SELECT 1") == ""


def test_a_service(base, folder):
    path = folder / "services.conf"
    words = dict(word.split("=", 1) for word in base.connection.split())
    path.write_text("[shop]\n" + "".join(f"{name}={value}\n" for name, value in words.items()) +
                    "[far]\nhost=192.0.2.1\n[clear]\nhost=192.0.2.1\nsslmode=disable\n")
    path.chmod(0o644)
    environment = [f"PGSERVICEFILE={path}"]
    assert fenced(base, connection=None, service="shop", environment=environment)[0] == h.SUCCEEDED
    assert fenced(base, connection="service=shop", fence=8, turn_ms=1, environment=environment)[0] == h.SUCCEEDED
    assert written(base) == [7, 8]
    result, detail, _ = fenced(base, connection=None, service="far", environment=environment)
    assert (result, "192.0.2.1 is another machine" in detail, "into the service" in detail) == (h.REFUSED, True, True)
    # By the environment too.
    result, detail, _ = fenced(base, connection=None, service="far", connect_timeout="200ms",
                               environment=[*environment, "PGSSLMODE=disable"])
    assert result == h.FAILED and "cannot connect: " in detail
    result, detail, _ = fenced(base, connection=None, service="clear", connect_timeout="200ms", environment=environment)
    assert result == h.FAILED and "cannot connect: " in detail
    result, detail, _ = fenced(base, connection=None, service="away", environment=environment)
    assert result == h.FAILED and detail.startswith('cannot connect: definition of service "away" not found; ')
    assert 'environment = [ "PGSERVICEFILE=/PATH" ]' in detail


def test_application_name(base):
    sql = "INSERT INTO seen SELECT current_setting('application_name')"
    base.query("CREATE TABLE seen (name text)")
    fenced(base, sql)
    fenced(base, sql, fence=8, turn_ms=1, connection=base.connection + " application_name=mine")
    assert base.query("SELECT * FROM seen") == [("rota nightly",), ("mine",)]


# --- the password

@pytest.fixture
def secret(base):
    """A server that asks for one."""
    base.query("CREATE ROLE reports LOGIN PASSWORD 'open sesame'; GRANT ALL ON done, rota_fence TO reports")
    base.allow("local all all scram-sha-256")
    return base


def test_password_file(secret, folder):
    connection = secret.connection.replace("user=tests", "user=reports")
    path = folder / "password"
    path.write_text("open sesame\nand more\n")
    path.chmod(0o600)
    assert fenced(secret, connection=connection, password_file=str(path))[0] == h.SUCCEEDED
    path.write_text("open barley")
    result, detail, _ = fenced(secret, connection=connection, password_file=str(path))
    assert result == h.FAILED and 'password authentication failed for user "reports"' in detail
    assert "barley" not in detail
    assert detail.startswith("cannot connect: ") and "\n" not in detail
    result, detail, _ = fenced(secret, connection=connection)
    assert result == h.FAILED and detail.endswith("no password supplied; password_file names the file that has it")
    path.unlink()
    assert fenced(secret, connection=connection, password_file=str(path))[:2] == (
        h.FAILED, f"password_file: {path}: No such file or directory")


@pytest.mark.parametrize("content,mode,why", [
    ("", 0o600, "has an empty first line; write the password there"), ("\nx", 0o600, "has an empty first line"),
    ("x\r\n", 0o600, "has a carriage return at the end of its first line"),
    ("x" * 2000, 0o600, "has a first line that is too long for a password"),
    ("x", 0o644, "can be read or changed by others (mode 0644); chmod go="),
    ("x", 0o640, "can be read or changed by others (mode 0640); chmod go="),
    ("x", 0o620, "can be read or changed by others (mode 0620); chmod go="),
])
def test_password_files_that_are_refused(folder, content, mode, why):
    path = folder / "password"
    path.write_text(content)
    path.chmod(mode)
    result, detail, _ = fenced(None, connection="dbname=x", password_file=str(path))
    assert result == h.REFUSED and detail.startswith(f"password_file: {path} {why}")
    if mode != 0o600:
        assert f"password_file: {path} {why}" in check(connection="dbname=x", sql="x", password_file=str(path))


@pytest.mark.parametrize("content,result,why", [
    (b"x\r\n", h.REFUSED, "password_file: credential:pg has a carriage return at the end of its first line"),
    (b"x" * 2000, h.REFUSED, "password_file: credential:pg has a first line that is too long for a password"),
    (b"x" * 5000, h.FAILED, "'pg' (File too large)"), (b"a\0b\n", h.FAILED, "'pg' (Invalid or incomplete multibyte"),
    (b"\nx", h.FAILED, "'pg' (No data available)")])
def test_credentials_that_are_no_password(folder, content, result, why):
    """Never a piece of what is in it."""
    (folder / "pg").write_bytes(content)
    got, detail, _ = fenced(None, connection="host=/nowhere dbname=x", password_file="credential:pg",
                            credentials=str(folder))
    assert got == result and why in detail, detail


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run jobs as others")
def test_password_file_of_root_or_of_the_jobs_user(secret, folder):
    path = folder / "password"
    path.write_text("open sesame\n")
    connection = secret.connection.replace("user=tests", "user=reports")
    cases = [(65534, 65534, 0o600, None), (0, 65534, 0o640, None), (0, 65534, 0o660, "chmod o=,g=r"),
             (0, 0, 0o640, None), (0, 65534, 0o644, "(mode 0644); chmod o=,g=r"),
             (0, 0, 0o644, "chgrp 65534"), (1, 65534, 0o640, "belongs to neither root nor the job's user")]
    plugin = folder / "pg_fenced.so"
    plugin.write_bytes(FENCED.read_bytes())
    for fence, (owner, group, mode, why) in enumerate(cases, 10):
        os.chown(path, owner, group)
        path.chmod(mode)
        with Guard() as guard:
            params = {"connection": connection, "sql": WORK, "password_file": str(path)}
            guard.start(plugin, params, switch_user=1, uid=65534, gid=65534, fence=fence, turn_ms=fence,
                        worst_case_ms=60000)
            ended = guard.ended(60 * SLOWNESS)
        expected = h.REFUSED if why else h.SUCCEEDED if group == 65534 else h.FAILED
        assert ended["result"] == expected, (ended, owner, group, oct(mode))
        assert not why or why in ended["detail"]


def test_by_hand_deferred_constraints_are_tried_too(base):
    base.query("CREATE TABLE parent (id bigint PRIMARY KEY);"
               "ALTER TABLE done ADD FOREIGN KEY (fence) REFERENCES parent DEFERRABLE INITIALLY DEFERRED")
    result, detail, _ = fenced(base, "INSERT INTO done VALUES (1)", purpose=3)
    assert result == h.FAILED and detail.startswith('COMMIT: insert or update on table "done" violates foreign key')
