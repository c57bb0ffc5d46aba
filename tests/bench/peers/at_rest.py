# SPDX-License-Identifier: MIT
"""Who starts or keeps jobs and has no lock: cron, collectd, monit, supervisor, s6, at rest, with 10 hourly jobs each.

Each is one process tree of its own, in a folder of its own; none is installed, none touches a file of the machine."""
import collections
import contextlib
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import time

from figures import Row
from guard_harness import descendants
from processes import dirty_of, pss_of, switches
from redis_server import wait_for

FETCHED = pathlib.Path(os.environ.get("ROTA_PEERS", pathlib.Path(__file__).resolve().parents[3] / "build" / "peers"))
JOBS, HOUR_S, SETTLE_S, READY_S, GRACE_S = 10, 3600, 3, 20, 5
# cron reads fixed paths: it sees folders of its own there, in a mount namespace. /run is where it writes its pid.
CRON_SEES = """
mount -t tmpfs none /run && mount -t tmpfs none /var/spool && mkdir -p /var/spool/cron/crontabs || exit
[ ! -d /etc/cron.d ] || mount -t tmpfs none /etc/cron.d || exit
[ ! -e /etc/crontab ] || mount --bind "$1/empty" /etc/crontab || exit
cp "$1/crontab" /var/spool/cron/crontabs/root && chmod 600 /var/spool/cron/crontabs/root || exit
exec "$2" -f
"""
# s6-svscan starts /usr/bin/s6-supervise and nothing else: there, it sees what was fetched.
S6_SEES = 'mount --bind "$1" /usr/bin && shift && exec "$@"'
COLLECTD = """
BaseDir "{folder}"
PIDFile "{folder}/pid"
PluginDir "{root}/usr/lib/collectd"
TypesDB "{root}/usr/share/collectd/types.db"
Interval {hour}
LoadPlugin exec
<Plugin exec>
{jobs}
</Plugin>
"""
MONIT = """
set daemon 60
set pidfile {folder}/pid
set idfile {folder}/id
set statefile {folder}/state
{jobs}
"""
SUPERVISOR = """
[supervisord]
logfile={folder}/log
pidfile={folder}/pid
childlogdir={folder}
{jobs}
"""


def program(name):
    """Its path: fetched, or the machine's. None where it is not to be had."""
    places = [str(FETCHED / place) for place in ("usr/sbin", "usr/bin", "bin", "sbin")]
    return shutil.which(name, path=os.pathsep.join([*places, os.environ["PATH"], "/usr/sbin"]))


def environment():
    """Their libraries, python modules and helpers are where they were unpacked."""
    libraries = [str(path) for path in (*FETCHED.glob("usr/lib/*-linux-gnu"), *FETCHED.glob("lib/*-linux-gnu"))]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "PYTHONPATH": str(FETCHED / "usr" / "lib" / "python3" / "dist-packages"),
            "PATH": os.pathsep.join([str(FETCHED / "usr" / "bin"), os.environ["PATH"]])}


def far_minute():
    """Half an hour away: none is due while it is measured."""
    return (time.localtime().tm_min + 30) % 60


def configure(folder, text, line):
    """The file of a program, with a line for each job; only its owner may read it, as monit wants it."""
    path = folder / "conf"
    jobs = "\n".join(line.format(number=number, minute=far_minute()) for number in range(JOBS))
    # Whether it was fetched or is the machine's, its modules are where it is.
    root = FETCHED if (FETCHED / "usr/lib/collectd").exists() else ""
    path.write_text(text.format(folder=folder, root=root, hour=HOUR_S, jobs=jobs))
    path.chmod(0o600)
    return path


def cron(folder):
    (folder / "empty").touch()
    (folder / "crontab").write_text(f"{far_minute()} * * * * /bin/true\n" * JOBS)
    return ["unshare", "--mount", "/bin/sh", "-c", CRON_SEES, "sh", str(folder), program("cron")]


def collectd(folder):
    line = '  Exec "nobody" "/bin/true" "{number}"'
    return [program("collectd"), "-f", "-C", str(configure(folder, COLLECTD, line))]


def monit(folder):
    line = 'check program job_{number} with path "/bin/true"\n  every "{minute} * * * *"\n  if status != 0 then alert'
    return [program("monit"), "-I", "-c", str(configure(folder, MONIT, line))]


def supervisor(folder):
    line = "[program:job_{number}]\ncommand=/bin/true\nautostart=false\n"
    return ["/usr/bin/python3", program("supervisord"), "-n", "-c", str(configure(folder, SUPERVISOR, line))]


def s6(folder):
    """A service a job, down: whoever has a schedule would start it once."""
    for number in range(JOBS):
        service = folder / "services" / f"job_{number}"
        service.mkdir(parents=True)
        (service / "run").write_text("#!/bin/sh\nexec /bin/true\n")
        (service / "run").chmod(0o755)
        (service / "down").touch()
    command = [program("s6-svscan"), str(folder / "services")]
    if pathlib.Path("/usr/bin/s6-supervise").exists():
        return command
    return ["unshare", "--mount", "/bin/sh", "-c", S6_SEES, "sh", str(FETCHED / "usr" / "bin"), *command]


# Name: (its program, how it is started, how many processes it has, what goes beside its figures).
KEEPERS = {
    "cron": ("cron", cron, 1, ""),
    "collectd, exec plugin": ("collectd", collectd, 1, ""),
    "monit": ("monit", monit, 1, "looks once a minute"),
    "supervisor": ("supervisord", supervisor, 1, "10 services that are down; no scheduler"),
    "s6": ("s6-svscan", s6, 1 + JOBS, "10 services that are down; no scheduler"),
}
PACKAGES = {"collectd, exec plugin": "collectd-core"}


def why_not(name):
    """Why it cannot be measured here; empty where it can."""
    if not program(KEEPERS[name][0]):
        return f"{KEEPERS[name][0]} is not to be had"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "it needs a mount namespace, which only root may make" if tried.returncode and name in ("cron", "s6") else ""


def version(name):
    """Debian's, of what was unpacked or of what is installed: cron and s6 do not say theirs."""
    package = PACKAGES.get(name, name)
    for root in (FETCHED, pathlib.Path("/")):
        with contextlib.suppress(OSError):
            with gzip.open(root / "usr/share/doc" / package / "changelog.Debian.gz", "rt", encoding="utf-8") as text:
                return text.readline().partition("(")[2].partition(")")[0]
    return "unknown"


def tree(pid):
    return sorted({pid, *descendants(pid)})


def end(process):
    """All of it: asked first, so that it waits for what it started; who does not listen is killed, with all below."""
    some = tree(process.pid)
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
        return
    for number in (signal.SIGSTOP, signal.SIGKILL):  # s6-svscan starts again what has ended
        for pid in some:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    process.wait()


@contextlib.contextmanager
def resting(world, name):
    """A keeper that has started all that it starts."""
    _, command, count, _ = KEEPERS[name]
    folder = world.folder / f"rest-{name.partition(',')[0]}"
    folder.mkdir()
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(command(folder), env=environment(), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, start_new_session=True, cwd=folder)
    try:
        began = time.monotonic()

        def settled():
            assert process.poll() is None, f"{name} has ended: {(folder / 'output').read_text()[-2000:]}"
            return time.monotonic() - began > SETTLE_S and len(tree(process.pid)) == count
        wait_for(settled, READY_S, f"{name} is at rest", slowest=0.2)
        yield process
    finally:
        end(process)


def tables(world):
    """All rest side by side: they are asleep, and share nothing but the minute."""
    found, seconds, trees = collections.defaultdict(list), max(5, round(60 * world.scale)), {}
    with contextlib.ExitStack() as stack:
        for name in KEEPERS:
            if why := why_not(name):
                world.missing[name] = why
                continue
            world.versions[name.partition(",")[0]] = version(name)
            trees[name] = tree(stack.enter_context(resting(world, name)).pid)
        if not trees:
            return {}
        world.log(f"{', '.join(trees)}: {seconds} s of idleness")
        before, until = {name: sum(map(switches, pids)) for name, pids in trees.items()}, time.monotonic() + seconds
        wait_for(lambda: time.monotonic() >= until, seconds + 5, "the measurement is over", slowest=0.5)
        for name, pids in trees.items():
            note = ", ".join(filter(None, [f"{len(pids)} processes" if len(pids) > 1 else "", KEEPERS[name][3]]))
            found["idle"].append(Row(name, dirty_of(pids), note))
            found["pss"].append(Row(name, pss_of(pids), note))
            found["switches"].append(Row(name, (sum(map(switches, pids)) - before[name]) * 60 / seconds, note))
    return dict(found)
