# SPDX-License-Identifier: MIT
"""S42: between due times rotad wakes up for the watchdog's pings and for hello, and writes to no disk. Each return of
epoll_wait, as strace sees it, has to be one of these; nobody else's word is taken for it."""
import collections
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from fleet import SANITIZED, now_ms, wait_for
from notify import NotifySocket

pytestmark = [
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is not there"),
    pytest.mark.skipif(SANITIZED, reason="another build has shown it")]

JOBS = 10
HOUR_MS = 3_600_000
# Of several processes each line has a pid first, and a call that another's cuts in two has its result elsewhere.
CALL = re.compile(r"^(?:\d+ +)?\d+\.\d+ (\w+)\((.*)(?:\)\s+= (-?\d+|\?)| <unfinished \.\.\.>$)")
OF_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2")
# sd-event looks once more, without a wait, at what has come meanwhile.
NO_WAIT = re.compile(r", (0|\{tv_sec=0, tv_nsec=0\})(, NULL, 8)?\s*$")
SENDS = ("write", "writev", "pwrite64", "pwritev", "pwritev2", "send", "sendto", "sendmsg", "sendmmsg", "sendfile",
         "splice", "copy_file_range")
# What changes a file or a folder without a descriptor that is written to.
CHANGES = ("rename", "renameat", "renameat2", "truncate", "ftruncate", "fallocate", "creat", "mkdir", "mkdirat",
           "unlink", "unlinkat", "rmdir", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "fsync",
           "fdatasync", "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "utimensat")
OPENS = ("open", "openat", "openat2")
ON_DISK = re.compile(r"^/(?!(dev|proc|sys)/)")
WRITABLE = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
# Its timer, a connection and a login where there is none, the answers, and the end of an idle connection.
WAKES_A_HELLO = 8
HELLOS_MAX = 7  # with a mean of 10 minutes, more than 7 in as many come once in 100,000 times

Trace = collections.namedtuple("Trace", "wakes calls seconds written")


def hourly_jobs(fleet):
    """None of them falls due within half an hour."""
    due_ms = (now_ms() + HOUR_MS // 2) % HOUR_MS
    return {f"job_{i}": {"plugin": "exec", "every": "1h", "offset": f"{due_ms // 1000 + i}s", "worst_case": "1m",
                         **fleet.body(f"job_{i}")} for i in range(JOBS)}


def tracer_of(pid):
    return int(re.search(r"^TracerPid:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def disk_bytes(pid):
    return int(re.search(r"^write_bytes: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M)[1])


def calls_of(text):
    return [(match[1], match[2], match[3] or "?") for match in map(CALL.match, text.splitlines()) if match]


def wakes_of(calls):
    """What was called after each wait that returned, until the next one."""
    wakes = [[]]  # before the first return: what it did when strace came
    for call in calls:
        if call[0] in WAITS and not NO_WAIT.search(call[1]):
            wakes.append([])
        wakes[-1].append(call)
    return wakes[1:]


def trace(device, path, seconds, *options):
    before = disk_bytes(device.pid)
    command = ["strace", *options, "-ttt", "-yy", "-s", "256", "-o", str(path), "-p", str(device.pid)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as tracer:
        try:
            wait_for(lambda: tracer_of(device.pid) == tracer.pid, 10, "strace is there")
            end = time.monotonic() + seconds
            wait_for(lambda: time.monotonic() >= end, seconds + 10, "the measurement is over")
        finally:
            tracer.send_signal(signal.SIGINT)
    calls = calls_of(path.read_text(errors="replace"))
    return Trace(wakes_of(calls), calls, seconds, disk_bytes(device.pid) - before)


def kind_of(wake):
    texts = [f"{name}({arguments}" for name, arguments, _ in wake]
    if any("WATCHDOG=1" in text for text in texts):
        return "ping"
    if any(re.search(r"^\w+\(\d+<TCP", text) for text in texts):
        return "redis"
    # One that was set before what it was for came later: it is set anew, and that is all.
    return "moved" if {name for name, _, _ in wake} <= {*WAITS, "read", "timerfd_settime"} else "unknown"


def target_of(arguments):
    match = OF_DESCRIPTOR.match(arguments)
    return match[1] if match else ""


def changes_of(calls):
    """What changes a disk: files that are written to, the log too, and whatever makes, moves or removes one."""
    found = []
    for name, arguments, result in calls:
        written = name in SENDS and ON_DISK.search(target_of(arguments))
        opened = (name in OPENS and WRITABLE.search(arguments) and not result.startswith("-") and
                  not re.search(r'"/(dev|proc|sys)/', arguments))
        if written or opened or name in CHANGES:
            found.append(f"{name}({arguments}) = {result}")
    return found


def sent_bytes(calls, pattern):
    return sum(int(result) for name, arguments, result in calls
               if name in SENDS and re.search(pattern, target_of(arguments)) and result.isdigit())


@pytest.mark.parametrize("seconds, watchdog_s", [(40, 10), pytest.param(600, 60, marks=pytest.mark.long)])
def test_s42_idle_is_quiet(fleet, tmp_path, seconds, watchdog_s):
    with NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(hourly_jobs(fleet), log_level="info", checkin="10m")
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(watchdog_s * 1_000_000))
        notify.wait_for("^READY=1$", 10)
        wait_for(lambda: fleet.client.dbsize() >= JOBS, 20, "the jobs wait for their next turn")
        wait_for(lambda: not device.guards(), 20, "the probes are over")
        quiet = time.monotonic() + 3
        wait_for(lambda: time.monotonic() > quiet, 10, "what the start took is given back")
        seen = trace(device, tmp_path / "strace", seconds)
        assert device.runs()
    kinds = collections.Counter(map(kind_of, seen.wakes))
    hellos = sum("EVALSHA" in arguments for name, arguments, _ in seen.calls if name in SENDS)
    print(f"{seconds} s: {dict(kinds)}, {len(seen.calls)} calls, {hellos} hellos, {seen.written} bytes on disk, "
          f"{sent_bytes(seen.calls, '^TCP')} to Redis, {sent_bytes(seen.calls, '^UNIX')} to systemd")
    assert [wake for wake in seen.wakes if kind_of(wake) == "unknown"] == []
    assert kinds["moved"] <= 1 + hellos
    # Each comes between 45 and 50 of a hundred of the interval after the one before.
    assert seconds / (0.6 * watchdog_s) - 1 <= kinds["ping"] <= seconds / (0.45 * watchdog_s) + 1
    assert hellos <= HELLOS_MAX and kinds["redis"] <= WAKES_A_HELLO * hellos
    assert changes_of(seen.calls) == [] and seen.written == 0


def test_s42_a_run_writes_its_line_and_nothing_else(fleet, tmp_path):
    """rotad, its guards and the workers: what stands for the journal here is the log."""
    job = {"plugin": "exec", "every": "5s", "worst_case": "2s", "params": {"command": ["/bin/true"]}}
    device = fleet.device({"pulse": job}, log_level="info").start()
    device.wait_line("succeeded", 30)
    told = len(device.lines())
    seen = trace(device, tmp_path / "strace", 17, "-f")
    runs = sum("execve" == name and "/bin/true" in arguments for name, arguments, _ in seen.calls)
    lines = [change for change in changes_of(seen.calls) if f"<{device.log}>" in change]
    print(f"{runs} runs, {len(lines)} lines, {seen.written} bytes on disk, {len(seen.calls)} calls")
    assert [change for change in changes_of(seen.calls) if f"<{device.log}>" not in change] == []
    assert runs >= 2 and len(lines) == len(device.lines()) - told
    assert runs - 1 <= len(lines) <= runs + 1  # one may be under way as strace comes, and as it goes
