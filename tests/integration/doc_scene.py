# SPDX-License-Identifier: MIT
"""A device on which the frames of the manual are typed: programs by the names that they have there, a Redis and a
folder of its own, and nothing of this machine's."""
import os
import re
import shutil
import subprocess
import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fleet import PLUGINS, PREFIX, ROTAD, SLOWNESS, Fleet, wait_for
from guard_harness import GUARD, ROOT
from redis_server import TESTS_USER
from rotactl import ROTACTL

# What would change this machine: noted, not done.
NOTED = ("apt-get", "reboot", "shutdown", "systemctl", "systemd-run", "systemd-sysusers")
TIME = r"(?:\w+day )?(?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)?"


def as_pattern(line):
    """Instants are any, and where they depend on the day so are sums; all else is as it stands."""
    line = re.sub(r"\d{4}-\d\d-\d\d (?=\d\d:\d\d)", "", line)
    pattern = re.sub(r"\d\d:\d\d(:\d\d)?", "\0", line)
    pattern = re.escape(pattern).replace(re.escape("\0"), TIME)
    if re.match(r" *cost |All jobs and hello", line):
        pattern = re.sub(r"\d[\d,]*", r"[\\d,]+", pattern)
    return pattern


SPAN = r"\d+(?:\.\d)? (?:ms|s|min|h|days?)(?: \d+ (?:s|min|h))?"


def as_screen(line):
    """Of rotactl status: columns are as wide as what is in them, times are any, and a turn may have been due just
    before."""
    fields = []
    for field in re.split(" {2,}", line.strip()):
        if re.fullmatch(rf"(\w+ )?\d\d:\d\d( today|, in {SPAN})?|-", field):
            fields.append(rf"(?:(?:\w+ |[\d-]{{10}} )?\d\d:\d\d(?: today|, in {SPAN})?|-)")
            continue
        if field in ("not run here", "done by gate-3077"):
            fields.append(rf"(?:not run here|done by \w+|done here, {SPAN})")
            continue
        field = re.sub("^fleet acme-gw$", "fleet test", field)  # the prefix that this has
        pattern = re.sub(r"\d\d:\d\d:\d\d", "\0", re.sub(r"[+-]\d+\.\d s|" + SPAN, "\1", field))
        fields.append(re.escape(pattern).replace("\0", r"\d\d:\d\d:\d\d").replace("\1", r"[+-]?" + SPAN))
    return " *" + " +".join(fields)


def golden(shown):
    """Of the lines that are shown; one of ... is any number of lines."""
    as_one = as_screen if "  rotad " in shown else as_pattern
    lines = [r"(?:.*\n)*" if line == "..." else as_one(line) + "\n" for line in shown.splitlines()]
    return re.compile("".join(lines))


def latest_night():
    """When nightly_report was last due: 02:30 in its zone."""
    now = datetime.now(ZoneInfo("Europe/Berlin"))
    turn = now.replace(hour=2, minute=30, second=0, microsecond=0)
    return int((turn if turn <= now else turn - timedelta(days=1)).timestamp()) * 1000


class Scene:
    def __init__(self, redis):
        self.fleet, self.redis = Fleet(redis), redis
        self.folder = self.fleet.folder / "gate-0007"
        self.bin, self.noted = self.folder / "bin", self.folder / "noted"
        self.bin.mkdir(parents=True)
        self.fleet.folder.chmod(0o755)  # jobs have other users
        (self.folder / "uploads").mkdir()
        self.conf = self.folder / "rotad.conf"
        self.device = None
        self._write_programs()

    def close(self):
        self.fleet.close()

    def _program(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _write_programs(self):
        run = f"--runtime-dir {self.folder}/run"
        self._program("rotad", f'case "$*" in *--root*|"-c "*) exec {ROTAD} "$@" ;; esac\n'
                               f'exec {ROTAD} -c rotad.conf {run} "$@"')
        self._program("rotactl", f'exec {ROTACTL} {run} "$@"')
        self._program("redis-cli", f'exec {shutil.which("redis-cli")} -s {self.redis.socket} --user {TESTS_USER} '
                                   '--no-auth-warning "$@"')
        self._program("journalctl", f'exec {shutil.which("journalctl") or "true"} --directory {self.folder} "$@"')
        for name in NOTED:
            self._program(name, f'echo "{name} $*" >>{self.noted}')
        for name in ("report", "prices", "update"):
            self._program(name, f'echo "{name} $*"')

    def there(self, text):
        """With the places of this scene for those of a device."""
        for path, ours in (("/usr/libexec/rota-guard", GUARD), ("/usr/lib/rota/", f"{self.fleet.plugins}/"),
                           ("/usr/lib/shop/", f"{self.bin}/"), ("/usr/lib/gateway/", f"{self.bin}/"),
                           ("/srv/image", self.folder / "image"),
                           ("/srv/uploads", self.folder / "uploads")):
            text = text.replace(path, str(ours))
        return text.replace('user       = "shop"', 'user       = "nobody"')

    def write_conf(self, text, reachable=False):
        """As it stands, so that lines keep their numbers; what is of this scene comes behind."""
        text = self.there(text)
        if reachable:
            text = re.sub(r'address = "[^"]*"', f'address = "{self.redis.address}"', text).replace("acme-gw:", PREFIX)
        if "jobs" not in text:
            text = f'jobs = {{\n{text}}};\nprefix = "{PREFIX}";\nredis = {{ address = "{self.redis.address}"; }};\n'
        self.conf.write_text(f'{text}device = "gate-0007";\nplugin_dir = [ "{self.fleet.plugins}" ];\n'
                             'job_user = "root";\n')

    def write_image(self):
        """A tree as a build host has it."""
        etc, image = self.folder / "image/etc/rota", self.folder / "image"
        etc.mkdir(parents=True)
        shutil.copy(self.conf, etc)
        shutil.copytree(self.fleet.plugins, image / str(self.fleet.plugins).lstrip("/"))
        for description in PLUGINS.glob("*.description"):
            shutil.copy(description, image / str(self.fleet.plugins).lstrip("/"))
        zones = image / "usr/share/zoneinfo/Europe"
        zones.mkdir(parents=True)
        shutil.copy("/usr/share/zoneinfo/Europe/Berlin", zones)
        (image / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        (image / "etc/group").write_text("root:x:0:\n")

    def run(self, command):
        """Typed in the device's folder."""
        return subprocess.run(["bash", "-ec", self.there(command)], cwd=self.folder, text=True, check=False,
                              timeout=60 * SLOWNESS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**self.fleet.environment, "PATH": f"{self.bin}:{os.environ['PATH']}",
                                   "REDISCLI_AUTH": "any", "LC_ALL": "C.UTF-8"})

    def check(self):
        done = self.run("rotad --check")
        assert done.returncode == 0, done.stdout
        return done.stdout

    def start(self):
        """A rotad whose jobs have had their latest turns."""
        for job, turn in (("nightly_report", latest_night()), ("sync_prices", int(time.time()) // 300 * 300_000)):
            self.fleet.client.hset(f"{PREFIX}{{{job}}}:claim", mapping={
                "v": 1, "turn": turn, "attempt": 1, "token": "earlier:" + "0" * 32, "state": "succeeded", "fence": 1,
                "done": turn, "retry": 0, "ended": turn})
        with open(self.folder / "log", "wb") as log:
            self.device = subprocess.Popen([self.bin / "rotad"], cwd=self.folder, stdout=log, stderr=log,
                                           env=self.fleet.environment)
        wait_for(lambda: "redis ok" in self.run("rotactl status").stdout, 20, "it is ready")

    def stop(self):
        if self.device:
            self.device.terminate()
            assert self.device.wait(20) == 0, (self.folder / "log").read_text()

    def type_all(self, shown):
        """Each line with $ is typed, and what comes has to be what is shown below it."""
        for command, _, answer in (part.partition("\n") for part in re.split(r"^\$ ", shown, flags=re.M)[1:]):
            pattern, last = golden(answer), []

            def matches():
                last[:] = [self.run(command).stdout]
                return pattern.fullmatch(last[0])
            try:
                # A state may be a moment late; what is no question is asked once.
                wait_for(matches, 20 if command == "rotactl status" else 0, command)
            except AssertionError:
                raise AssertionError(f"$ {command}\n{last[0]}\nis not\n{answer}") from None


def literals():
    """All texts of the C programs, each joined to those that follow it directly."""
    found = []
    for path in (ROOT / "runtime").rglob("*.c"):
        text = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", re.sub(r'%"\s*PRI\w+', '%s"', path.read_text()))
        found += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return [text.replace('\\"', '"') for text in found]
