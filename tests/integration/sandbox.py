# SPDX-License-Identifier: MIT
"""What the tests of a worker's surroundings share: plugins that any user can load, and a user that nobody else here is."""
import contextlib
import ctypes
import os
import re
import shutil
import tempfile
from pathlib import Path

import guard_harness as h
import pytest
from guard_harness import Guard

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
SANITIZED = h.SANITIZED
needs_room = pytest.mark.skipif(SANITIZED, reason="a sanitizer takes more address space than any limit leaves")
SCOPE_SINCE = 6  # of Landlock's versions
needs_scope = pytest.mark.skipif(ctypes.CDLL(None).syscall(444, None, 0, 1) < SCOPE_SINCE, reason="the kernel is older than Linux 6.12")
# In no /etc/passwd, and of this test process alone: what the kernel counts by user is its own then.
STRANGER = 20000 + os.getpid() % 20000 * 2
OTHER = STRANGER + 1
AS_STRANGER = {"switch_user": 1, "uid": STRANGER, "gid": STRANGER}
# As a service of systemd has it that may become its jobs' users, and nothing else.
MAY_SWITCH = "-all,+setuid,+setgid,+kill"


def as_user(uid, *rights):
    """What a command begins with that is this user's, with the rights that setpriv is told."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *rights]


AS_OTHER = as_user(OTHER)


def has_right(number):
    """Of linux/capability.h: 23 is CAP_SYS_NICE, 24 CAP_SYS_RESOURCE."""
    [line] = [line for line in open("/proc/self/status", encoding="ascii") if line.startswith("CapEff")]
    return int(line.split()[1], 16) >> number & 1 == 1


def may_switch_as(uid):
    """No root, but able to become others."""
    return as_user(uid, f"--inh-caps={MAY_SWITCH}", f"--ambient-caps={MAY_SWITCH}", f"--bounding-set={MAY_SWITCH}")


class Place:
    """A folder that every user may read, and one in it that every user may write."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.exec = shutil.copy(h.EXEC, self.folder / "exec.so")
        self.guard = shutil.copy(h.GUARD, self.folder / "rota-guard")
        self.behave = h.compile_plugin(folder, h.PLUGINS / "behave.c")
        self.open = self.folder / "open"
        self.open.mkdir()
        self.open.chmod(0o777)
        self.count = 0

    def python(self, script, *arguments, prefix=(), **values):
        """A run of it by the plugin exec: (ENDED, the guard, what it printed)."""
        self.count += 1
        out = self.open / f"out{self.count}"
        with Guard(prefix=prefix, program=self.guard) as guard:
            ended = guard.start(self.exec, self.command(script, out, *arguments), **values).ended()
        return ended, guard, out.read_text().splitlines() if out.exists() else []

    @staticmethod
    def command(script, out, *arguments):
        """What it prints is in `out` once it is whole: a pipe to the guard has its own rules."""
        return {"command": ["/bin/sh", "-c", 'out=$1; shift; exec /usr/bin/python3 -u -c "$@" >"$out"', "sh", str(out),
                            script, *map(str, arguments)]}

    @contextlib.contextmanager
    def sleeper(self, prefix=(), **values):
        """A worker whose program lives until the block's end: (the guard, the program's number)."""
        with Guard(prefix=prefix, program=self.guard) as guard:
            guard.start(self.exec, {"command": ["/bin/sleep", "60"]}, **values).next(h.STARTED)
            yield guard, h.wait_until(lambda: program_of(guard), 5, "the program")
            guard.send(h.STOP, reason=1)
            ended = guard.ended()
            assert (ended["result"], ended["killed"]) == (h.DECLINED, 0)


def program_of(guard):
    """Once it is there: after its exec, as whom it runs."""
    for pid in h.descendants(guard.process.pid) - {guard.worker}:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                return pid
    return None


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Place(folder)


def limits_of(lines):
    """{name: (soft, hard)} of /proc/PID/limits."""
    rows = (re.match(r"(Max .*?)  +(\S+) +(\S+)", line) for line in lines)
    return {row[1]: (row[2], row[3]) for row in rows if row}


HIDE = r"""
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == 444) {
        errno = ENOSYS;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def landlock_hider(folder):
    """To be preloaded: the kernel seems to be one without Landlock."""
    return h.compile_text(folder, "hide", HIDE)
