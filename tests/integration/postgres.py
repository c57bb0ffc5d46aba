# SPDX-License-Identifier: MIT
"""A private PostgreSQL: a cluster in a folder of its own, reached by a unix socket there, ended by its pid.

    server = Postgres(template).start()       # or the fixture `postgres`
    server.query("SELECT 1, 'x'")            # [("1", "x")], by psql: no module for Python is needed
    server.connection                        # what a job's `connection` says
    server.kill(); server.start()            # a crash, and the same cluster again

Everybody may log in by the socket without a password, unless allow() says otherwise. The programs are those of
$ROTA_POSTGRES_BIN, else of build/postgresql (unpacked there by quickstart), else the machine's newest."""
import contextlib
import csv
import fcntl
import functools
import io
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from guard_harness import ROOT, is_alive
from redis_server import free_port, wait_for

UNPACKED = ROOT / "build" / "postgresql"
READY_SECONDS = 60
QUERY_SECONDS = 60
# postgres does not run as root. The folder of the tree may be closed to this user, hence the capability, and the bit
# by which access() too knows of it.
SERVER_USER = "nobody"
AS_SERVER = [
    "setpriv", "--reuid", SERVER_USER, "--regid", str(pwd.getpwnam(SERVER_USER).pw_gid), "--clear-groups",
    "--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override",
    "--securebits=+no_setuid_fixup"] if os.geteuid() == 0 else []
# For tests: nothing outlives the machine, and each cluster is small.
SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "shared_buffers": "16MB",
    "max_connections": 60, "jit": "off", "autovacuum": "off", "dynamic_shared_memory_type": "mmap",
    "log_line_prefix": "%m [%p] %a ", "log_min_messages": "warning", "max_wal_size": "64MB", "min_wal_size": "5MB",
}


def version_of(folder):
    return [int(digits) for digits in re.findall(r"\d+", str(folder))[-1:]]


@functools.cache
def programs():
    """The folder of initdb, postgres and psql; None where there is none."""
    if named := os.environ.get("ROTA_POSTGRES_BIN"):
        return pathlib.Path(named)
    for root in (UNPACKED, pathlib.Path("/")):
        found = sorted((root / "usr/lib/postgresql").glob("*/bin"), key=version_of)
        found = [folder for folder in found if (folder / "postgres").exists() and (folder / "psql").exists()]
        if found:
            return found[-1]
    found = shutil.which("postgres")
    return pathlib.Path(found).resolve().parent if found else None


def library_path():
    """Where the libraries are that were unpacked with the programs."""
    patterns = ("usr/lib/*-linux-gnu", "lib/*-linux-gnu")
    return ":".join(str(folder) for pattern in patterns for folder in UNPACKED.glob(pattern))


def environment():
    """Nothing of what the caller has set for libpq, and the unpacked libraries."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    path = [part for part in (library_path(), kept.get("LD_LIBRARY_PATH")) if part]
    return {**kept, "LC_ALL": "C", **({"LD_LIBRARY_PATH": ":".join(path)} if path else {})}


def give(folder):
    """To the server's user."""
    if AS_SERVER:
        subprocess.run(["chown", "-R", f"{SERVER_USER}:", str(folder)], check=True)


def run_as_server(*command):
    done = subprocess.run([*AS_SERVER, *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, cwd="/", env=environment(), timeout=2 * READY_SECONDS,
                          check=False)
    assert done.returncode == 0, done.stdout


class Template:
    """A fresh cluster that each server begins as a copy of: initdb takes seconds. All tests that run
    side by side share it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def copy_to(self, data):
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            whole = self.folder / "whole"
            if not whole.is_dir():
                self._make(whole)
        subprocess.run(["cp", "-a", "--reflink=auto", str(whole), str(data)], check=True)

    def _make(self, whole):
        with tempfile.TemporaryDirectory(prefix="rota-initdb-") as partial:
            os.chmod(partial, 0o755)
            data = pathlib.Path(partial) / "data"
            data.mkdir(mode=0o700)
            give(data)
            run_as_server(programs() / "initdb", "-D", data, "-U", "tests", "-E", "UTF8", "--no-locale", "-A", "trust",
                          "--no-sync", "--no-instructions", "--wal-segsize=1")
            # Of another file system, maybe: whole only once all of it is there.
            copy = whole.with_name("partial")
            shutil.rmtree(copy, ignore_errors=True)
            subprocess.run(["cp", "-a", str(data), str(copy)], check=True)
            copy.rename(whole)


class Postgres:
    """Settings: of postgresql.conf, over those above. tcp: listens on a port of the loopback as well."""
    user = "tests"
    database = "postgres"

    def __init__(self, template, tcp=False, **settings):
        # Not pytest's folder: its path may be longer than a socket's may be, and closed to the server's user.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-pg-"))
        self.folder.chmod(0o755)
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.tcp, self.port = tcp, 5432
        self.process = None
        self.sessions = []
        self.sockets = self.folder / "s"
        self.sockets.mkdir(mode=0o755)
        give(self.sockets)
        try:
            template.copy_to(self.data)
            self.configure(**{**SETTINGS, **settings})
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def configure(self, **settings):
        """Counts from the next start or reload() on."""
        with open(self.data / "postgresql.auto.conf", "a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def allow(self, *lines):
        """pg_hba.conf, whole. The tests' own user is let in by the socket before all that."""
        (self.data / "pg_hba.conf").write_text("\n".join([f"local all {self.user} trust", *lines, ""]))
        if self.process:
            self.reload()

    def reload(self):
        before = self.value("SELECT pg_conf_load_time()")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.value("SELECT pg_conf_load_time()") != before, READY_SECONDS, "the files are read")

    @property
    def address(self):
        """The path of the socket, for a proxy."""
        return str(self.sockets / f".s.PGSQL.{self.port}")

    @property
    def connection(self):
        return f"host={self.sockets} port={self.port} user={self.user} dbname={self.database}"

    @property
    def by_tcp(self):
        return f"host=127.0.0.1 port={self.port} user={self.user} dbname={self.database}"

    def start(self):
        for _ in range(10):
            if self.tcp:
                self.port = free_port()
            self._launch()
            if wait_for(self._state, READY_SECONDS, f"PostgreSQL in {self.folder} answers") == "up":
                return self
            # Somebody was faster with that port.
            assert self.tcp and "could not bind" in self.output(), self.output()
        raise AssertionError(self.output())

    def _launch(self):
        command = [*AS_SERVER, str(programs() / "postgres"), "-D", str(self.data), "-p", str(self.port),
                   "-c", f"unix_socket_directories={self.sockets}", "-c", "unix_socket_permissions=0777",
                   "-c", f"listen_addresses={'127.0.0.1' if self.tcp else ''}"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                            env=environment())

    def _state(self):
        if self.process.poll() is not None:
            return "down"
        return "up" if self._psql(["-c", "SELECT 1"]).returncode == 0 else None

    def output(self):
        return self.log.read_text(errors="replace")

    def psql_words(self, connection=None):
        return [str(programs() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", connection or self.connection]

    def psql_in_sh(self, connection=None):
        """psql for a shell program, before its other options."""
        words = [f"LD_LIBRARY_PATH={library_path()}"] if library_path() else []
        return " ".join([*words, *(f"'{word}'" for word in self.psql_words(connection))])

    def _psql(self, options, connection=None, text=None):
        return subprocess.run([*self.psql_words(connection), *options], input=text or "", capture_output=True,
                              text=True, env=environment(), timeout=QUERY_SECONDS, check=False)

    def query(self, sql, connection=None):
        """Statements, and the rows of those that have some: tuples of texts, where NULL is "\\N"."""
        done = self._psql(["--csv", "-t", "-P", "null=\\N", "-f", "-"], connection, sql)
        assert done.returncode == 0, f"{sql}\n{done.stderr}"
        # An empty line is a row of one empty text.
        return [tuple(row) or ("",) for row in csv.reader(io.StringIO(done.stdout))]

    def value(self, sql, connection=None):
        [(one,)] = self.query(sql, connection)
        return one

    def error(self, sql, connection=None):
        """What psql says of a statement that has to fail."""
        done = self._psql(["-f", "-"], connection, sql)
        assert done.returncode != 0, f"{sql} was done"
        return done.stderr

    def session(self, connection=None):
        """A psql that stays, so that a transaction may stay open."""
        self.sessions.append(Session([*self.psql_words(connection), "-A", "-t"]))
        return self.sessions[-1]

    def children(self):
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            return [int(word) for word in text.split()]
        return []

    def stop(self):
        """As an operator does: sessions are ended, what they have committed is kept."""
        self.process.send_signal(signal.SIGINT)
        wait_for(lambda: self.process.poll() is not None, READY_SECONDS, "the server ends")
        self.process = None

    def kill(self):
        """As a crash of the machine does, all at once: nothing is said goodbye to."""
        if not self.process:
            return
        # It starts no other while it is stopped.
        self.process.send_signal(signal.SIGSTOP)
        children = self.children()
        for pid in (*children, self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        wait_for(lambda: not any(map(is_alive, children)), READY_SECONDS, "the server's processes are gone")

    def close(self):
        for session in self.sessions:
            session.close()
        if self.process:
            # At once, but by itself: it sees its processes off.
            with contextlib.suppress(AssertionError):
                self.process.send_signal(signal.SIGQUIT)
                wait_for(lambda: self.process.poll() is not None, 10, "the server ends")
        self.kill()
        self._drop_memory()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _drop_memory(self):
        """The segment that a killed server leaves: its key and its id are in the file of its pid."""
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            if len(lines) > 6 and lines[6].split():
                subprocess.run(["ipcrm", "-m", lines[6].split()[1]], stderr=subprocess.DEVNULL, check=False)


class Session:
    """A psql of its own; run() waits for the answer, begin() does not."""
    END = "-- end of the answer"

    def __init__(self, command):
        self.process = subprocess.Popen([*command, "-v", "ON_ERROR_STOP=0"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())

    def begin(self, sql):
        self.process.stdin.write(f"{sql};\n\\echo '{self.END}'\n")
        self.process.stdin.flush()
        return self

    def answer(self):
        """The lines of what begin() asked; errors are among them."""
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == self.END:
                return lines
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"psql has ended: {lines}")

    def run(self, sql):
        return self.begin(sql).answer()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
