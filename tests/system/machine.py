# SPDX-License-Identifier: MIT
"""A Debian that systemd has booted, in a container: a root of roots.py with a layer of its own over it. It has a
network of its own with nothing but loopback; what machines share, they share in a folder. Nothing of it is left."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import roots

BOOT_SECONDS = 120
COMMAND_SECONDS = 120
END_SECONDS = 30
# What systemd-nspawn --keep-unit ends with when the machine reboots: whoever has started it is to start it again.
REBOOTS = 133


def wait_for(condition, seconds, what):
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.1)


class Layer:
    """A folder's files with a writable layer over them, mounted at .path."""

    def __init__(self, folder):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="rota-system."))
        self.path = self.base / "root"
        for name in ("upper", "work", "root"):
            (self.base / name).mkdir()
        # PID 1 of a Debian lets others look into its root.
        (self.base / "upper").chmod(0o755)
        mounted = subprocess.run(
            ["mount", "-t", "overlay", "overlay", "-o",
             f"lowerdir={folder},upperdir={self.base}/upper,workdir={self.base}/work", str(self.path)],
            capture_output=True, text=True)
        if mounted.returncode != 0:
            shutil.rmtree(self.base)
            raise OSError(mounted.stderr.strip())

    def close(self):
        subprocess.run(["umount", str(self.path)], check=True)
        shutil.rmtree(self.base)


class ControlGroup:
    """A control group of its own for each machine, in systemd's hierarchies: two systemds in one would end each
    other's services."""

    def __init__(self, name):
        own = dict(line.rstrip("\n").split(":", 2)[1:] for line in open("/proc/self/cgroup", encoding="utf-8"))
        places = (("name=systemd", "/sys/fs/cgroup/systemd"), ("", "/sys/fs/cgroup/unified"), ("", "/sys/fs/cgroup"))
        self.folders = [pathlib.Path(path + own[hierarchy]) / name for hierarchy, path in places
                        if hierarchy in own and os.path.exists(f"{path}/cgroup.procs")]
        for folder in self.folders:
            folder.mkdir()

    def enter(self):
        for folder in self.folders:
            (folder / "cgroup.procs").write_text("0")

    def _remove(self):
        for folder in self.folders:
            for path, _, _ in os.walk(folder, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    return False
        return True

    def close(self):
        wait_for(self._remove, END_SECONDS, lambda: f"nothing is left in {self.folders}")


def pid_1_below(parent):
    """The process that is number 1 in a namespace of its own, among those that `parent` has started."""
    waiting = [parent]
    while waiting:
        pid = waiting.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                waiting += [int(word) for word in file.read().split()]
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                numbers = next(line for line in file if line.startswith("NSpid:")).split()[1:]
        except OSError:
            continue
        if len(numbers) > 1 and numbers[-1] == "1":
            return pid
    return None


class Machine:
    """`shared`: a folder that is /shared there."""

    def __init__(self, release, name, shared=None):
        if not re.fullmatch("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name):
            raise ValueError(f'a machine cannot be called "{name}"; write letters a to z, digits and - within')
        self.release, self.name, self.shared = release, name, shared
        self.process = self.leader = self.group = self.container = None
        self.layer = Layer(roots.root(f"{release}-boot"))
        try:
            self._prepare()
            self._boot()
        except BaseException:
            self.close()
            raise

    def _prepare(self):
        etc = self.layer.path / "etc"
        (etc / "hostname").write_text(self.name + "\n")
        number = uuid.uuid4().hex
        (etc / "machine-id").write_text(number + "\n")
        # The container's name is this machine's affair.
        self.container = f"rota-system-{number[:12]}"
        # The journal in memory, and with no bound on its rate: tests read it.
        (etc / "systemd/journald.conf.d").mkdir(exist_ok=True)
        (etc / "systemd/journald.conf.d/test.conf").write_text("[Journal]\nStorage=volatile\nRateLimitBurst=0\n")
        self.group = ControlGroup(self.layer.base.name)
        self.console = self.layer.base / "console"

    def _boot(self):
        with open(self.console, "ab") as console:
            self.process = subprocess.Popen(
                # When we are killed it is shut down.
                ["setpriv", "--pdeathsig", "TERM", "systemd-nspawn", "--quiet", "-D", str(self.layer.path), "--boot",
                 "--register=no", "--keep-unit", "--private-network", "--resolv-conf=off", "--timezone=off",
                 "-M", self.container, f"--hostname={self.name}",
                 *([f"--bind={self.shared}:/shared"] if self.shared else [])],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=self.group.enter,
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        self.leader = wait_for(self._find_leader, BOOT_SECONDS, self._said)
        wait_for(self._is_up, BOOT_SECONDS, self._said)

    def wait_reboot(self, seconds):
        """Until it has rebooted of its own accord, and is up again. What was in memory is gone, the journal too."""
        wait_for(lambda: self.process.poll() is not None, seconds,
                 lambda: f"{self.name} reboots: {self.journal()[-3000:]}")
        assert self.process.returncode == REBOOTS, self._said()
        self.leader = None
        self._boot()

    def cut_power(self):
        """Nothing there is told; then it is up again."""
        self._end()
        self.leader = None
        self._boot()

    def _said(self):
        return f"{self.name} boots; it said:\n" + self.console.read_text(errors="replace")[-3000:]

    def _find_leader(self):
        if self.process.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended with {self.process.returncode}: {self._said()}")
        return pid_1_below(self.process.pid)

    def _is_up(self):
        done = self.run("systemctl", "is-system-running", check=False)
        return done.stdout.strip() in ("running", "degraded")

    def run(self, *words, check=True, seconds=COMMAND_SECONDS, stdin=None):
        """A command there, as root; its output is text."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "--root", "--wdns=/", "--", *words],
            input=stdin, text=True, errors="replace", timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                 "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"})
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def out(self, *words):
        return self.run(*words).stdout

    def write(self, path, text, mode=0o644):
        """A file there, of root."""
        self.run("install", "-D", "-m", f"{mode:o}", "/dev/stdin", path, stdin=text)

    def put(self, file):
        """Copies a file of this machine into /root there; its path there."""
        path = f"/root/{pathlib.Path(file).name}"
        shutil.copy(file, f"/proc/{self.leader}/root{path}")
        return path

    def show(self, unit, name):
        """A property of a unit, as systemctl show says it."""
        return self.out("systemctl", "show", "--value", "-p", name, unit).strip()

    def journal(self, *words):
        return self.out("journalctl", "--no-pager", "-o", "cat", *words)

    def wait_journal(self, text, seconds, *words):
        wait_for(lambda: text in self.journal(*words), seconds,
                 lambda: f"'{text}' in the journal:\n{self.journal(*words)[-3000:]}")

    def _end(self):
        if not self.process or self.process.poll() is not None:
            return
        # With its PID 1 the kernel ends all in it.
        leader = self.leader or pid_1_below(self.process.pid)
        if leader:
            with contextlib.suppress(ProcessLookupError):
                os.kill(leader, signal.SIGKILL)
        try:
            self.process.wait(END_SECONDS if leader else 1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_SECONDS)

    def _remove_traces(self):
        """Those of nspawn."""
        if self.container:
            shutil.rmtree(f"/run/systemd/nspawn/propagate/{self.container}", ignore_errors=True)
        root = os.stat(self.layer.path)
        pathlib.Path(f"/run/systemd/nspawn/locks/inode-{root.st_dev}:{root.st_ino}").unlink(missing_ok=True)

    def close(self):
        """The last first; each, whatever becomes of the others."""
        with contextlib.ExitStack() as steps:
            steps.callback(self.layer.close)
            steps.callback(self._remove_traces)
            if self.group:
                steps.callback(self.group.close)
            steps.callback(self._end)
