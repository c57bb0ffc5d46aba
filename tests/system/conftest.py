# SPDX-License-Identifier: MIT
"""Booted machines with the package of this tree on them. Where none can be booted, all here are skipped with the
reason: ./quickstart test --all then does not pass, unless it is told --allow-skip."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import packages
from machine import Layer, Machine

RELEASES = ("bookworm", "trixie")
TOOLS = ("systemd-nspawn", "nsenter", "debootstrap", "mount", "unshare", "setpriv")

# A run that ends by itself, and one that goes on until it is stopped; both on one device alone.
SHORT = 'plugin = "exec"; every = "1s"; worst_case = "500ms"; lease = "1m"; stop_grace = "100ms"; attempts = 1;'
LONG = ('plugin = "exec"; every = "2s"; worst_case = "10m"; lease = "3s"; stop_grace = "300ms"; attempts = 3;'
        ' retry_delay = "0s";')


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes")


def pytest_collection_modifyitems(items):
    """The longest begin first: who runs them side by side then waits for nobody at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def missing():
    """Why no machine can be booted here; None where one can."""
    if os.geteuid() != 0:
        return "only root can boot a machine"
    tools = [tool for tool in TOOLS if not shutil.which(tool)]
    if tools:
        return f"not installed: {' '.join(tools)}"
    with tempfile.TemporaryDirectory(prefix="rota-system.") as folder:
        try:
            layer = Layer(folder)
        except OSError as error:
            # Without the folder's name, which is another one each time: the same reason is said once.
            reason = str(error).split("\n")[0].rpartition(": ")[2]
            return f"no layer can be mounted over a root: {reason}"
        layer.close()
    return None


class Device(Machine):
    """A machine with rota on it."""

    def __init__(self, release, name, shared=None, deb=None):
        super().__init__(release, name, shared)
        try:
            self.install(deb or packages.debs(release)["rota"])
        except BaseException:
            self.close()
            raise

    def install(self, deb):
        return self.out("dpkg", "--force-confold", "-i", self.put(deb))

    def status(self):
        return self.show("rotad.service", "StatusText")

    def configure(self, jobs, top='store = "local";'):
        """Writes the configuration; `jobs`: {name: (settings, shell command)}. rotad is not told."""
        self.write("/etc/rota/rotad.conf", top + "\n")
        groups = "".join(f'  {name} = {{ {text} params = {{ command = [ "/bin/sh", "-c", "{command}" ]; }}; }};\n'
                         for name, (text, command) in jobs.items())
        self.write("/etc/rota/jobs.d/test.conf", "jobs = {\n" + groups + "};\n")

    def start(self, *arguments, **settings):
        self.configure(*arguments, **settings)
        self.out("systemctl", "restart", "rotad.service")

    def drop_in(self, text):
        """More settings of the unit, from its next start on."""
        self.write("/etc/systemd/system/rotad.service.d/test.conf", f"[Service]\n{text}\n")
        self.out("systemctl", "daemon-reload")

    def harden(self):
        """hardened.conf, as its first lines say, from the unit's next start on."""
        self.out("install", "-D", "-m", "644", "-t", "/etc/systemd/system/rotad.service.d",
                 "/usr/share/doc/rota/examples/hardened.conf")
        self.out("systemctl", "daemon-reload")

    def processes(self, pattern):
        """Pids, as this machine counts, of processes there whose command lines match."""
        space, found = os.readlink(f"/proc/{self.leader}/ns/pid"), []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "ns/pid") == space and \
                        re.search(pattern, (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def rotad(self):
        [pid] = self.processes("^/usr/sbin/rotad ")
        return pid

    @staticmethod
    def inner(pid):
        """The number of a process there, as it is counted there."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return int(next(line for line in file if line.startswith("NSpid:")).split()[-1])

    @staticmethod
    def in_mounts_of(pid, *words):
        """A command that sees the files as that process does."""
        subprocess.run(["nsenter", "-t", str(pid), "-m", "--root", "--wdns=/", *words], check=True, timeout=30,
                       stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"})

    def lines(self, path):
        done = self.run("cat", path, check=False)
        return done.stdout.splitlines() if done.returncode == 0 else []


@pytest.fixture(scope="session")
def ground():
    reason = missing()
    if reason:
        pytest.skip(reason)
    # Makes the roots and the packages, once; several pytests at a time wait for one another.
    for release in RELEASES:
        packages.debs(release)


@pytest.fixture(params=RELEASES)
def release(request, ground):
    return request.param


@pytest.fixture
def boot(ground, shared):
    """Boots devices, and ends them: each, whatever becomes of the others, and before the folder that they may share."""
    with contextlib.ExitStack() as started:
        def start(release, name="gate-1", **options):
            return started.enter_context(contextlib.closing(Device(release, name, **options)))

        yield start


@pytest.fixture
def device(boot, release):
    return boot(release)


@pytest.fixture
def shared():
    """A folder that machines can share."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-system."))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)
