#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A fleet of real devices for hours, and all that goes wrong; then the checker's word on it. README.md.

    soak.py --ms MILLISECONDS [--seed N] [--devices N] [--keep DIR]        ROTA_BUILD names the build

The outer process makes namespaces (mounts, processes, network), in which the inner one plays. However the soak
ends, the kernel then ends all of its processes and takes away its mounts and networks."""
import argparse
import collections
import json
import os
import pathlib
import secrets
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
TOOLS = ("ip", "nft", "nsenter", "unshare", "mount", "redis-server")
LEAST_MS = 60_000


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--ms", type=int, required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ms < LEAST_MS:
        sys.exit(f"soak: --for is shorter than {LEAST_MS // 1000} s, in which no fault would have its time")
    if not 2 <= given.devices <= 99:
        sys.exit(f"soak: --devices is {given.devices}; write a number from 2 to 99")
    if given.keep and given.keep.exists():
        sys.exit(f"soak: {given.keep} is there already; name a new folder by --keep")
    return given


def too_small(folder, length_ms):
    """Whether the disk has no place for what is written: about 1 MB a minute of 20 devices, mostly journals."""
    return shutil.disk_usage(folder).free < (200 + length_ms / 60_000 * 3) * 1_000_000


def why_not():
    """Why it cannot be played here; empty: it can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces and mounts: run it with sudo"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"these programs are missing: {' '.join(missing)}"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh", "-c",
                            "mount -t tmpfs none /run && ip link add br0 type bridge && nft add table inet t && "
                            "nft 'add chain inet t c { type filter hook input priority 0 ; }' && "
                            "nft add rule inet t c numgen random mod 100 '<' 1 drop"],
                           capture_output=True, text=True, check=False)
    return tried.stderr.strip().splitlines()[-1] if tried.returncode else ""


# The inner side.

def as_init():
    """Process 1 of the namespace: reaps whom nobody else does, and ends as the soak ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    soak = os.fork()
    if soak == 0:
        return
    while True:
        pid, status = os.wait()
        if pid == soak:
            os._exit(os.waitstatus_to_exitcode(status) & 255)


def write_facts(folder, facts):
    fresh = folder / "soak.fresh"
    fresh.write_text(json.dumps(facts, indent=1) + "\n")
    fresh.rename(folder / "soak.json")


def now_us(clock):
    return time.clock_gettime_ns(clock) // 1000


def play(given):
    import jobs
    import world as worlds
    from faults import Faults
    from guard_harness import BUILD
    from plan import plan
    from watch import Watch
    folder = given.inside
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    work = folder / "work"
    shutil.copy(BUILD / "tests" / "soak" / "soak_work", work)
    world = worlds.World(folder, BUILD, given.devices, work)
    facts = {"seed": given.seed, "prefix": worlds.PREFIX, "devices": world.names, "watchdog_us": worlds.WATCHDOG_US,
             "command_timeout": jobs.COMMAND_MS, "connect_timeout": jobs.CONNECT_MS, "jobs": jobs.resolved(world.names)}
    watch, faults, interrupted = Watch(world), None, False
    try:
        world.start_servers()
        watch.start()
        facts.update(begin_us=now_us(time.CLOCK_BOOTTIME), begin_ms=now_us(time.CLOCK_REALTIME) // 1000)
        write_facts(folder, facts)
        for device in world.devices.values():
            device.start()
        faults = Faults(world, plan(given.seed, given.ms, world.names))
        interrupted = go_on(world, faults, facts["begin_us"] + given.ms * 1000)
    finally:
        if faults:
            faults.close()
            facts["quiet_from_us"] = faults.last_end_us
        facts.update(end_us=now_us(time.CLOCK_BOOTTIME), end_ms=now_us(time.CLOCK_REALTIME) // 1000,
                     interrupted=interrupted)
        world.end()
        for server in world.servers:
            if server.answers():
                with server.client() as client:
                    watch.history(server, client)
        world.end_servers()
        watch.close()
        write_facts(folder, facts)


def go_on(world, faults, end_us):
    """Until the time is up, or the outer side is gone or wants an end: then true."""
    told = now_us(time.CLOCK_BOOTTIME)
    while (now := now_us(time.CLOCK_BOOTTIME)) < end_us:
        for device in world.devices.values():
            device.look()
        if select.select([sys.stdin], [], [], min(0.05, faults.step()))[0]:
            return True
        if now - told >= 60_000_000:
            told = now
            print(f"soak: {sum(faults.counts.values())} faults, {(end_us - now) // 60_000_000} min to go", flush=True)
    return False


# The outer side.

def run_inside(given, folder):
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B",
               str(HERE / "soak.py"), "--ms", str(given.ms), "--seed", str(given.seed), "--devices",
               str(given.devices), "--inside", str(folder)]
    # A session of its own: Ctrl-C is this side's to hear, which then closes the pipe.
    inner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def stop(*_):
        inner.stdin.close()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, stop)
    return inner.wait()


def rows(path):
    if path.exists():
        for line in path.read_text().splitlines():
            yield json.loads(line)


def summary(folder):
    begun, turns = collections.Counter(), set()
    for ledger in sorted(folder.glob("devices/*/ledger")):
        with open(ledger, encoding="utf-8", errors="replace") as file:
            for words in map(str.split, file):
                if len(words) == 10 and words[2] == "begin":
                    begun[words[3]] += 1
                    turns.add((words[3], words[4]))
    done = collections.Counter(each["kind"] for each in rows(folder / "faults.jsonl") if each.get("ok", True))
    print(f"soak: {len(turns)} turns, {sum(begun.values())} runs: " +
          ", ".join(f"{job} {count}" for job, count in sorted(begun.items())))
    print(f"soak: {sum(done.values())} faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(done.items())))
    samples = [each["devices"] for each in rows(folder / "samples.jsonl") if each["devices"]]
    part = max(1, len(samples) // 5)
    for what, title in (("private_kib", "private KiB"), ("fds", "descriptors"), ("zombies", "zombies")):
        first, last = (statistics.median(device[what] for each in some for device in each.values())
                       for some in (samples[:part], samples[-part:])) if samples else (0, 0)
        print(f"soak: {title} of a rotad, median: {first:g} in the first fifth, {last:g} in the last")


def main():
    given = arguments()
    if given.inside:
        as_init()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        play(given)
        return 0
    reason = why_not()
    if reason:
        sys.exit(f"soak: {reason}")
    given.seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    if given.keep:
        given.keep.mkdir(parents=True)
    folder = given.keep.resolve() if given.keep else pathlib.Path(tempfile.mkdtemp(prefix="rota-soak-"))
    folder.chmod(0o755)
    if too_small(folder, given.ms):
        folder.rmdir()
        sys.exit(f"soak: the disk of {folder} has no place for so long a soak; name another folder by --keep")
    print(f"soak: {given.devices} devices for {given.ms // 1000} s, seed {given.seed}, in {folder}", flush=True)
    status = run_inside(given, folder)
    if status:
        print(f"soak: the world ended with {status}; what it left is in {folder}", flush=True)
        return 1
    if json.loads((folder / "soak.json").read_text())["interrupted"]:
        print("soak: interrupted")
    summary(folder)
    from check import examine
    findings = examine(folder)
    violations = findings.broken
    for each in (*findings.lines(), *map(": ".join, violations)):
        print(f"soak: {each}")
    if violations:
        print(f"soak: {len(violations)} violations with --seed {given.seed}; all of it is in {folder}")
        return 1
    print("soak: no violation")
    if not given.keep:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
