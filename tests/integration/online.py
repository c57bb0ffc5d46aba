# SPDX-License-Identifier: MIT
"""Asks with rotad --check --online, and reads what it printed; with its fixtures."""
import contextlib
import re
import subprocess

import pytest

from fleet import BUILD, ROTAD
from redis_server import RedisServer

OK, USAGE, UNAVAILABLE, NOPERM, CONFIG = 0, 64, 69, 77, 78
ROWS = ["name", "connection", "tls", "login", "scripts", "server"]
NOT_REACHED = (" ", "not reached")
JOB = ('{ plugin = "exec"; every = "1h"; worst_case = "1m"; params = { command = [ "/bin/true" ]; }; %s };')
# What only the questions of people need: devices work without.
PEOPLE = {"+hlen", "+hscan", "+unlink", "+xrevrange"}


class Said:
    """What it printed: for each server its rows, each with its mark and its text."""

    def __init__(self, done):
        self.status, self.stderr, self.text = done.returncode, done.stderr, done.stdout
        blocks = done.stdout.split("\n\n")[1:] if ", all good" in done.stdout else []
        blocks = [block for block in blocks if re.search("^. name ", block, re.M)]
        self.servers = {}
        for block in blocks:
            name, *lines = block.rstrip("\n").split("\n")
            self.servers[name] = self._rows(lines)

    @staticmethod
    def _rows(lines):
        rows = []
        for line in lines:
            assert len(line) <= 80 or " " not in line[14:], line
            if line[:14].strip():
                rows.append([line[0], line[2:14].strip(), line[14:]])
            else:
                rows[-1][2] += " " + line[14:]
        assert [row[1] for row in rows] == ROWS
        return {name: (mark, text) for mark, name, text in rows}

    @property
    def rows(self):
        [rows] = self.servers.values()
        return rows


@pytest.fixture
def command(tmp_path):
    """Writes a configuration, and returns what asks with it."""
    def write(*addresses, jobs="", head="", password=None, **settings):
        settings = {"connect_timeout": "300ms", "command_timeout": "300ms", **settings}
        if password is not None:
            file = tmp_path / "password"
            file.touch(mode=0o600)
            file.write_text(password)
            settings["password_file"] = str(file)
        lines = [f"{key} = {conf_value(value)};" for key, value in settings.items()]
        addresses = ", ".join(map(quoted, addresses))
        path = tmp_path / "rotad.conf"
        path.write_text(f'prefix = "test:";\ndevice = "gate-1";\nplugin_dir = [ "{BUILD}/plugins" ];\n{head}\n'
                        f"redis = {{ address = [ {addresses} ]; {' '.join(lines)} }};\njobs = {{ {jobs} }};\n")
        return [ROTAD, "-c", path, "--check", "--online", "--no-probe"]
    return write


def quoted(text):
    return f'"{text}"'


def conf_value(value):
    return str(value).lower() if isinstance(value, int) else quoted(value)


@pytest.fixture
def online(command):
    def ask(*addresses, **more):
        return Said(subprocess.run(command(*addresses, **more), capture_output=True, text=True, timeout=60, check=False))
    return ask


@contextlib.contextmanager
def server(*options, **more):
    the_server = RedisServer(*options, **more)
    try:
        yield the_server.start()
    finally:
        the_server.close()


def stopped_at(said, row, status):
    """The text of the row that ended the try: those behind it were not reached."""
    assert said.status == status and said.stderr == ""
    at = ROWS.index(row)
    assert [said.rows[name][0] for name in ROWS[:at]] == [" "] * at
    assert [said.rows[name] for name in ROWS[at + 1:]] == [NOT_REACHED] * (5 - at)
    assert said.rows[row][0] == "x"
    return said.rows[row][1]
