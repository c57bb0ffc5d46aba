# SPDX-License-Identifier: MIT
"""Whole devices: rotad processes, each with a folder, a conf file and a log, which share a Redis.

The jobs' programs write what they do into the fleet's ledger: an account that rotad has no part in.
Every process of a fleet carries the fleet's folder in its command line or its environment, so that
what is left of it is found, whoever started it.
"""
import calendar
import collections
import contextlib
import getpass
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import redis_server
import valgrind
from guard_harness import BUILD, ROOT, is_alive  # noqa: F401 (ROOT is for others)

ROTAD = BUILD / "runtime" / "supervisor" / "rotad"
PLUGINS = BUILD / "plugins"

SANITIZED = bool(valgrind.FOLDER) or os.environ.get("ROTA_SANITIZED") == "1" or (
    ROTAD.exists() and b"__asan_init" in ROTAD.read_bytes())
SLOWNESS = 4 if SANITIZED else 1

PREFIX = "test:"
# One turn that is due, and no next one in the life of a test.
ONCE = {"every": "366d", "catch_up": "366d"}
ONCE_MS = 366 * 86_400_000
# L = 3.85 s, never renewed: time enough on a busy machine.
SHORT = {"plugin": "exec", "worst_case": "2s", "stop_grace": "300ms", "retry_delay": "0s"}
# A device alone.
LOCAL = {"store": "local", "redis": None}
# L = 3 s, renewed every second; the worker is asked to stop 550 ms before its end.
RENEWED = {"plugin": "exec", "worst_case": "30s", "stop_grace": "300ms", "lease": "3s",
           "retry_delay": "0s"}

# libconfig leaks a buffer where a file has a syntax error.
LSAN_OPTIONS = f"suppressions={pathlib.Path(__file__).with_name('lsan.supp')}:print_suppressions=0"

Line = collections.namedtuple("Line", "at level text")
Entry = collections.namedtuple("Entry", "what job turn attempt pid at")

LINE = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z (\w+): (.*)$")


def wait_for(condition, within, what, **pace):
    return redis_server.wait_for(condition, within * SLOWNESS, what, **pace)


def now_ms():
    return time.time_ns() // 1_000_000


def conf_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{\n" + conf_text(value) + "}"
    if isinstance(value, (list, tuple)):
        begin, end = "()" if any(isinstance(each, dict) for each in value) else "[]"
        return f"{begin} " + ", ".join(conf_value(each) for each in value) + f" {end}"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def conf_text(settings):
    return "".join(f"{key} = {conf_value(value)};\n" for key, value in settings.items())


def children_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def marked_processes(folder):
    """Those that carry the folder's name, zombies left out: {pid: command line}."""
    def read(pid, name):
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.readall()

    found, mark = {}, os.fsencode(folder)
    # Every fleet's end looks through all processes, hence nothing of pathlib.
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            command = read(pid, "cmdline")
            if mark in command or mark in read(pid, "environ"):
                found[int(pid)] = command.replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if is_alive(pid)}


def under(clock, environment):
    return clock.environment(environment) if clock else environment


class Device:
    """One rotad. Nothing runs before start()."""

    def __init__(self, fleet, name, jobs, top):
        self.fleet, self.name, self.top = fleet, name, top
        self.folder = fleet.folder / name
        self.conf, self.log = self.folder / "rotad.conf", self.folder / "log"
        self.folder.mkdir()
        self.process = None
        self.write(jobs)

    def write(self, jobs, **top):
        """The configuration, whole, put in place by a rename. What is None is left out."""
        settings = {
            "prefix": PREFIX, "device": self.name, "job_user": getpass.getuser(),
            "plugin_dir": [self.fleet.plugins], "log_level": "debug", "stop_timeout": "10s",
            "redis": {"address": self.fleet.redis.address, "connect_timeout": "300ms",
                      "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"},
        }
        settings = {**settings, **self.top, **top}
        text = conf_text({key: value for key, value in settings.items() if value is not None})
        if jobs is not None:
            text += conf_text({"jobs": jobs})
        self.write_text(text)

    def write_text(self, text):
        fresh = self.folder / "fresh"
        fresh.write_text(text)
        fresh.rename(self.conf)

    def command(self, *options):
        return [*valgrind.PREFIX, str(ROTAD), "-c", str(self.conf), "--runtime-dir", str(self.folder / "run"),
                *options]

    def start(self, clock=None, **environment):
        """With a wall clock of its own, if there is one; its workers have the machine's."""
        # By its PATH a guard is known too, which gets no more of the environment.
        mark = {"PATH": f"{self.folder}:/usr/sbin:/usr/bin:/sbin:/bin"}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.fleet.enter, *self.command()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env={**under(clock, self.fleet.environment), **mark, **environment})
        return self

    @property
    def pid(self):
        return self.process.pid

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def cut_power(self):
        """Nothing of it is left, and nothing was said goodbye to."""
        self.kill()

        def gone():
            left = marked_processes(self.folder)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left
        wait_for(gone, 10, f"nothing is left of {self.name}")

    def stop(self, within=10):
        """Asks it to end, and returns its exit status."""
        self.signal(signal.SIGTERM)
        return self.ended(within)

    def ended(self, within=10):
        wait_for(lambda: self.process.poll() is not None, within, f"{self.name} ends")
        return self.process.returncode

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def check(self):
        """rotad --check of its files."""
        return subprocess.run(self.command("--check"), capture_output=True, text=True, check=False,
                              timeout=30 * SLOWNESS, env=self.fleet.environment)

    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def lines(self, pattern=""):
        """What it logged: the lines whose sentence has the pattern."""
        found = []
        for raw in self.output().splitlines():
            match = LINE.match(raw)
            if match and re.search(pattern, match[4]):
                stamp = calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S"))
                found.append(Line(stamp * 1000 + int(match[2]), match[3], match[4]))
        return found

    def complaints(self):
        """What it logged as a warning or an error, but for what it says of its files."""
        return [line for line in self.lines()
                if line.level in ("error", "warning") and str(self.conf) not in line.text]

    def wait_line(self, pattern, within=10, count=1):
        """The count-th line that has the pattern."""
        def there():
            lines = self.lines(pattern)
            return lines[count - 1] if len(lines) >= count else None
        return wait_for(there, within, f"{self.name} says /{pattern}/ {count} times")

    def guards(self):
        """The pids of its children: guards, each above one worker."""
        return children_of(self.pid)


class Fleet:
    def __init__(self, redis):
        self.redis = redis
        self.client = redis.client()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-fleet-"))
        self.devices = []
        self.enter = []  # what a device's command begins with: a network namespace's
        self.ledger = self.folder / "ledger"
        self.ledger.touch()
        self.environment = {**os.environ, "LSAN_OPTIONS": LSAN_OPTIONS}
        # rotad takes plugins only from folders that nobody else can write: these are copies.
        self.plugins = self.folder / "plugins"
        self.plugins.mkdir(mode=0o755)
        for plugin in PLUGINS.glob("*.so"):
            shutil.copy(plugin, self.plugins)

    def device(self, jobs, name=None, **top):
        """A device that is not started yet. Jobs: {name: settings}, or None."""
        device = Device(self, name or f"gate-{len(self.devices) + 1}", jobs, top)
        self.devices.append(device)
        return device

    def body(self, name, text="", **params):
        """Params of exec: a shell program that notes its begin and, if it gets there, its end."""
        path = self.folder / f"{name}.sh"
        path.write_text(f"""export ROTA_TEST='{self.folder}'
note() {{ echo "$1 $ROTA_JOB $ROTA_TURN $ROTA_ATTEMPT $$ $(date +%s%3N)" >>'{self.ledger}'; }}
note begin
{text}
note end
""")
        return {"params": {"command": ["/bin/sh", path], **params}}

    def entries(self, what="", job=""):
        """The ledger, whole lines only; what and job choose. A beat that a signal cut short has no instant."""
        whole = self.ledger.read_text().rpartition("\n")[0]
        rows = [line.split() for line in whole.splitlines()]
        rows = [row for row in rows if row[0] != "beat" or len(row) == len(Entry._fields)]
        entries = [Entry(*row[:2], *map(int, row[2:])) for row in rows]
        return [e for e in entries if what in ("", e.what) and job in ("", e.job)]

    def wait_entry(self, what, job="", within=10, count=1):
        def there():
            entries = self.entries(what, job)
            return entries[count - 1] if len(entries) >= count else None
        return wait_for(there, within, f"the ledger has {what} of {job or 'a job'} {count} times")

    @staticmethod
    def key(job, kind):
        return f"{PREFIX}{{{job}}}:{kind}"

    def lock(self, job):
        return self.client.get(self.key(job, "lock"))

    def claim(self, job):
        return self.client.hgetall(self.key(job, "claim"))

    def history(self, job):
        return [fields for _, fields in self.client.xrange(self.key(job, "history"))]

    def wait_history(self, job, count=1, within=10):
        def there():
            entries = self.history(job)
            return entries if len(entries) >= count else None
        return wait_for(there, within, f"the history of {job} has {count} entries")

    def make_due(self, *jobs):
        """Writes what is left of an earlier turn, so that the latest one is due."""
        self.make_done(now_ms() // ONCE_MS * ONCE_MS - ONCE_MS, *jobs)

    def make_done(self, turn, *jobs):
        """Writes what is left of a run of that turn."""
        for job in jobs:
            self.client.hset(self.key(job, "claim"), mapping={
                "v": 1, "turn": turn, "attempt": 1, "token": "earlier:" + "0" * 32,
                "state": "succeeded", "fence": 1, "done": turn, "retry": 0, "ended": turn})

    @staticmethod
    def machine(device):
        """What a device's record is called (supervisor/machine.h), on a machine with an id."""
        id_file = pathlib.Path("/etc/machine-id")
        digits = id_file.read_text().strip() if id_file.exists() else ""
        if len(digits) < 32:
            return device.name
        value = 0xcbf29ce484222325
        for byte in f"rota machine\0{digits}\0".encode():
            value = (value ^ byte) * 0x100000001b3 % 2**64
        return f"{device.name}:{(value >> 32 ^ value) % 2**32:08x}"

    def make_due_here(self, job, *devices, **fields):
        """Device scope: what is left of an earlier turn of each, so that the latest one is due."""
        turn = now_ms() // ONCE_MS * ONCE_MS - ONCE_MS
        known = {"turn": turn, "attempt": 1, "done": turn, "retry": 0, "delay": 0, "started": turn,
                 "ended": turn + 5, "blank": 0, "ask": 0, "flags": 0, "state": "succeeded",
                 "boot": "b0", "print": "-", "token": "earlier:" + "0" * 32, **fields}
        for device in devices:
            self.client.hset(self.key(job, "devices"), self.machine(device),
                             " ".join(map(str, known.values())))

    def record(self, job, device):
        """Device scope: what the device did last."""
        names = ("turn", "attempt", "done", "retry", "delay", "started", "ended", "blank", "ask",
                 "flags", "state", "boot", "print", "token")
        text = self.client.hget(self.key(job, "devices"), self.machine(device))
        return dict(zip(names, text.split(" ", len(names) - 1))) if text else {}

    def seats(self, job):
        """The tokens in seats that have not run out."""
        return self.client.zrangebyscore(self.key(job, "seats"), f"({now_ms()}", "+inf")

    def runs(self, job=""):
        """The turns that were run, in the order of their beginnings."""
        return [entry.turn for entry in self.entries("begin", job)]

    def left(self):
        return marked_processes(self.folder)

    def close(self):
        try:
            self._stop_devices()
            wait_for(lambda: not self.left(), 3, "nothing is left of the fleet")
        except BaseException:
            for pid, command in self.left().items():
                print(f"--- left over: {command}")
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            for device in self.devices:
                print(f"--- log of {device.name}\n{device.output()}")
            print(f"--- ledger\n{self.ledger.read_text()}")
            self.client.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _stop_devices(self):
        """Each that runs has to end well when it is asked; sanitizers speak by the exit status."""
        running = [device for device in self.devices if device.runs()]
        for device in running:
            device.signal(signal.SIGCONT)
            device.signal(signal.SIGTERM)
        try:
            statuses = [device.ended(15) for device in running]
        finally:
            for device in running:
                device.kill()
        assert statuses == [0] * len(running), statuses
