# SPDX-License-Identifier: MIT
"""The shells' completion: rotactl says what can stand in a command line, and real shells put it there."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from fleet import SHORT, SLOWNESS
from guard_harness import ROOT
from rotactl import ROTACTL, folder_of, wait_started

COMPLETION = ROOT / "completion"
OURS = ["--runtime-dir", "--version", "--help"]


def complete(*words):
    """What may become of the last word; what it does left out."""
    done = subprocess.run([ROTACTL, "complete", "--", *words], capture_output=True, text=True, check=False,
                          timeout=60 * SLOWNESS)
    return [line if line.startswith("\t") else line.partition("\t")[0] for line in done.stdout.splitlines()]


def usages():
    """Of the help: each command, and what stands behind it."""
    shown = subprocess.run([ROTACTL, "help"], capture_output=True, text=True, check=True, timeout=20).stdout
    found, name = {}, None
    for line in shown.partition("\n\n")[2].partition("\n\n")[0].splitlines():
        if re.match(r"  \w", line):
            name = line.split()[0]
        found[name] = found.get(name, "") + " " + line
    return found


# --- what rotactl says ---

def test_all_commands_and_options_of_the_help_are_there():
    known = usages()
    assert len(known) > 10 and complete("") == [*known, "help"]
    for name, usage in known.items():
        options = [{"-o": "--output"}.get(each, each) for each in re.findall(r"\[(--?[a-z-]+)", usage)]
        assert complete(name, "-") == options + OURS, name


@pytest.mark.parametrize(("words", "answer"), [
    (("stat",), ["status"]),
    (("status", "--no"), ["--noheadings"]),
    (("status", "-o"), []),
    (("drain", ""), ["--timeout", *OURS]),
    (("--runtime-dir", "/nowhere", "undr"), ["undrain"]),
    (("--ver",), ["--version"]),
    (("--runtime-dir", ""), ["\tfolder"]),
    (("timeline", "--svg", ""), ["\tfile"]),
    (("timeline", "--svg", "="), ["\tfile"]),
    (("timeline", "--svg", "=", "pict"), ["\tfile"]),
    (("timeline", "--since", "2"), []),
    (("timeline", "--svg", "x.svg", "--fr"), ["--from"]),
    (("show", "--", "--"), []),
    (("nonsense", ""), []),
    (("nonsense", "sta"), []),
    ((), None),
])
def test_what_can_follow(words, answer):
    assert complete(*words) == (complete("") if answer is None else answer)


def test_names_of_jobs_are_those_of_this_rotad(fleet):
    device = wait_started(fleet.device({name: {**SHORT, "every": "1h", **fleet.body(name)}
                                        for name in ("report", "repair", "sync")}).start())
    here = ("--runtime-dir", str(folder_of(device)))
    assert complete(*here, "show", "") == ["repair", "report", "sync"]
    assert complete(*here, "show", "--local", "rep") == ["repair", "report"]
    assert complete("show", "--runtime-dir", "=", here[1], "rep") == ["repair", "report"]
    assert complete("show", f"--runtime-dir={here[1]}", "rep") == ["repair", "report"]
    assert complete(*here, "show", "report", "rep") == []
    assert complete(*here, "timeline", "report", "rep") == ["repair", "report"]
    assert complete(*here, "history", "--", "s") == ["sync"]


# --- what real shells make of it ---

class Typed:
    """A line that is typed in a shell on a terminal; `rotactl` then says its words in angle brackets."""

    def __init__(self, folder, shell, *begin):
        fake = folder / "bin" / "rotactl"
        fake.parent.mkdir()
        fake.write_text(f'#!/bin/sh\n[ "$1" = complete ] && exec {ROTACTL} "$@"\nprintf "<%s>" got "$@"; echo\n')
        fake.chmod(0o755)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(shell[0], shell, {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder),
                                         "TERM": "xterm", "LC_ALL": "C", "PS1": "$ "})
        for line in begin:
            self.type(line + "\r")
        self.type("echo be''gun\r")
        self.wait("begun")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, pattern):
        got, end = "", time.monotonic() + 20 * SLOWNESS
        while not re.search(pattern, got):
            assert time.monotonic() < end, got
            if select.select([self.fd], [], [], 0.1)[0]:
                got += os.read(self.fd, 65536).decode(errors="replace")
        return re.search(pattern, got)

    def completed(self, text):
        """The words of the line after Tab."""
        self.type(text + "\t")
        self.type("\r")
        return self.wait(r"<got>(.*?)\r\n")[1][1:-1].split("><")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


SHELLS = {"bash": (["bash", "--norc", "--noprofile", "-i"], f"source {COMPLETION}/rotactl.bash"),
          "zsh": (["zsh", "-f", "-i"], f"fpath=({COMPLETION} $fpath); autoload -Uz compinit; compinit -D -u")}


@pytest.fixture(params=SHELLS)
def shell(request, tmp_path):
    command, begin = SHELLS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    typed = Typed(tmp_path, command, begin)
    yield typed
    typed.close()


def test_a_shell_completes(fleet, shell, tmp_path):
    device = wait_started(fleet.device({"nightly_report": {**SHORT, "every": "1h", **fleet.body("report")}}).start())
    (tmp_path / "picture of it.svg").touch()
    (tmp_path / "folder").mkdir()
    assert shell.completed("rotactl stat") == ["status"]
    assert shell.completed("rotactl status --noh") == ["status", "--noheadings"]
    assert shell.completed("rotactl timeline --svg pict") == ["timeline", "--svg", "picture of it.svg"]
    assert shell.completed("rotactl timeline --svg=pict") == ["timeline", "--svg=picture of it.svg"]
    # A slash that nothing follows is taken away again.
    assert shell.completed("rotactl --runtime-dir fo")[1].rstrip("/") == "folder"
    run = folder_of(device)
    typed = shell.completed(f"rotactl --runtime-dir {run} show night")
    assert typed == ["--runtime-dir", str(run), "show", "nightly_report"]
    assert shell.completed("rotactl nonsense x") == ["nonsense", "x"]


def test_what_was_not_started_yet_is_not_asked(shell, tmp_path):
    """A program of that name, to which the line has a path."""
    stranger = tmp_path / "rotactl"
    stranger.write_text('#!/bin/sh\n[ "$1" != complete ] || touch asked\nprintf "<%s>" got "$@"; echo\n')
    stranger.chmod(0o755)
    assert shell.completed("./rotactl stat") == ["status"]
    assert not (tmp_path / "asked").exists()
