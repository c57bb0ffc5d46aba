# SPDX-License-Identifier: MIT
"""What rotad --check says of fifty kinds of mistake in a conf file, word for word (messages.txt)."""
import os
import pwd
import re
from pathlib import Path

import pytest
from check_place import CONFIG, OK, rotad
from guard_harness import BUILD

GOOD = """\
prefix = "acme:";
device = "gate-1";
plugin_dir = [ "{plugins}" ];
redis = {
  address = "127.0.0.1:6379";
};
jobs = {
  report = {
    plugin = "exec";
    every = "1h";
    worst_case = "10m";
    attempts = 3;
    params = { command = [ "/bin/true", "--all" ]; };
  };
};
"""
KINDS = 50
WARNING = " (a warning)"


class Mistake:
    """One record of messages.txt."""

    def __init__(self, record):
        self.name, *lines = record.splitlines()
        self.good, self.wrong, self.says, self.right = (
            [line[2:] for line in lines if line[0] == mark] for mark in "-+!=")
        self.files = {}
        for line in lines:
            if line[0] == "@":
                _, name, mode = line.split()
                self.files[name] = (int(mode, 8), [])
            elif line[0] == ">":
                self.files[name][1].append(line[2:])

    def conf(self, lines):
        """GOOD with these lines instead of its own, indented as that is."""
        [good] = self.good
        [indent] = re.findall(rf"^( *){re.escape(good)}$", GOOD, re.M)
        text = "".join(f"{indent}{line}\n" for line in lines)
        return GOOD.replace(f"{indent}{good}\n", text).replace(f"{indent}<BOM>", "\ufeff")


def mistakes():
    records = (Path(__file__).parent / "messages.txt").read_text().strip().split("\n\n")
    return [Mistake(record) for record in records[1:]]


def fill(text, folder):
    names = {"plugins": BUILD / "plugins", "folder": folder, "user": pwd.getpwuid(os.geteuid()).pw_name}
    for name, value in names.items():
        text = text.replace("{" + name + "}", str(value))
    return text


@pytest.fixture
def check(tmp_path):
    """Has rotad --check look at a mistake's file with these lines in it."""
    def look(mistake, lines):
        for name, (mode, text) in mistake.files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in text))
            path.chmod(mode)
        path = tmp_path / "rotad.conf"
        path.write_text(fill(mistake.conf(lines), tmp_path))
        return rotad(path, "--check")
    return look


def test_all_kinds_are_there():
    assert len({mistake.name for mistake in mistakes()}) == KINDS


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda mistake: mistake.name)
def test_a_mistake_and_its_message(check, tmp_path, mistake):
    done = check(mistake, mistake.wrong)
    assert done.stderr.splitlines() == [fill(line, tmp_path) for line in mistake.says]
    warned = all(line.endswith(WARNING) for line in mistake.says)
    assert done.returncode == (OK if warned else CONFIG)
    done = check(mistake, mistake.right)
    assert (done.returncode, done.stderr) == (OK, "")


def test_what_a_plugin_says_of_a_parameter_is_at_its_line(tmp_path):
    path = tmp_path / "rotad.conf"
    params = 'params = {\n      stdin_file = "/dev/null";\n      command = [ "/no/such" ];\n    };'
    path.write_text(fill(GOOD.replace('params = { command = [ "/bin/true", "--all" ]; };', params), tmp_path))
    done = rotad(path, "--check")
    assert done.stderr == ("rotad.conf:15: job 'report': command: /no/such: No such file or directory; "
                           "name a program that is there\n")
