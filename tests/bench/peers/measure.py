# SPDX-License-Identifier: MIT
"""A locked run of each peer; takeover after kill -9; how often a fast job runs a turn."""
import collections
import contextlib
import os
import signal
import subprocess
import time

from figures import Row
from fleet import wait_for
from guard_harness import dirty_kib, is_alive
from processes import cpu_ms, pss_kib, switches
from stamps import Wire

from . import lockers

TTL_MS, SHORT_TTL_MS = 60_000, 10_000
SLOW_S = 0.2
PERIOD_MS = 250
ASK_S = 1


def ended(process):
    """Its status and what the kernel counted of it and of all below it that were waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def commands(server):
    """How many of each Redis was sent; what asks, and what a script calls, is left out as far as it can be told."""
    with server.client() as client:
        stats = client.info("commandstats")
    return {name: of["calls"] for name, of in stats.items()}


def sent(before, after):
    """The difference, without what a script calls: GET and DEL or PEXPIRE are called by scripts alone here."""
    inner = {"cmdstat_get", "cmdstat_del", "cmdstat_pexpire", "cmdstat_info", "cmdstat_auth", "cmdstat_exists",
             "cmdstat_pttl"}
    return sum(count - before.get(name, 0) for name, count in after.items() if name not in inner)


def evals(wire):
    return [one.at for one in list(wire.sent) if one.words[0].upper() in ("EVAL", "EVALSHA")]


def releases(ends, at):
    """ms from each job's end to the first script after it: that is who releases."""
    return [(next(instant for instant in at if instant >= end) - end) / 1000 for end in ends
            if any(instant >= end for instant in at)]


def one_shots(peer, rounds):
    """Rows of so many runs, one after the other, each as cron would start it."""
    host, whole, cpu = peer.name.replace(" ", "_"), [], []
    is_redis, redis = not peer.waits, peer.place.redis
    server = cpu_ms(peer.server())
    wire = Wire(redis) if is_redis else None
    before = commands(redis)
    try:
        for number in range(rounds):
            begun = time.monotonic()
            status, usage = ended(peer.start(f"{host}:{number}", TTL_MS, host))
            if status:
                raise RuntimeError(f"{peer.name} ended with {status}")
            whole.append((time.monotonic() - begun) * 1000)
            cpu.append((usage.ru_utime + usage.ru_stime) * 1000)
            if number >= 99 and sum(whole) / len(whole) > SLOW_S * 1000:
                break
        after = commands(redis)
    finally:
        if wire:
            wire.close()
    share = (cpu_ms(peer.server()) - server) / len(whole)
    stamps = peer.place.stamps(host)
    found = {
        "begin": Row(peer.name, [(begin - due) / 1000 for due, _, begin, _ in stamps], "from its start"),
        "whole": Row(peer.name, whole, "until its process is gone"),
        "cpu": Row(peer.name, [each + share for each in cpu], f"{share:.2f} ms of it the server"),
        "peak": Row(peer.name, peer.place.peak(
            peer.command(f"{host}:peak", TTL_MS) + peer.place.command_of(f"{host}_peak", 0), peer.environment())),
    }
    if is_redis:
        found["commands"] = Row(peer.name, sent(before, after) / len(whole))
        found["release"] = Row(peer.name, releases([end for *_, end in stamps], evals(wire)), peer.note)
    return found


def resident(peer, name, rounds):
    """A loop that is due every PERIOD_MS, as long as it takes."""
    host, redis = name.replace(" ", "_"), peer.place.redis
    wire, server = Wire(redis), cpu_ms(peer.server())
    process = subprocess.Popen(peer.command(host, TTL_MS, rounds, PERIOD_MS) + peer.place.command_of(host, "DUE"),
                               env=peer.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: peer.place.stamps(host), 30, f"{name} runs")
        known, at, before = len(peer.place.stamps(host)), cpu_ms(process.pid), commands(redis)
        goal = rounds - 1
        wait_for(lambda: len(peer.place.stamps(host)) >= goal, 30 + rounds, f"{name} ran", slowest=0.1)
        own, after = cpu_ms(process.pid), commands(redis)
        share = (cpu_ms(peer.server()) - server) / goal
        count = len(peer.place.stamps(host)) - known
        ended(process)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
        wire.close()
    stamps, instants = peer.place.stamps(host), evals(wire)
    release = releases([end for *_, end in stamps], instants)
    return {
        "begin": Row(name, [(begin - due) / 1000 for due, _, begin, _ in stamps]),
        "release": Row(name, release),
        "whole": Row(name, [(end - due) / 1000 + late for (due, _, _, end), late in zip(stamps, release)]),
        "cpu": Row(name, (own - at) / count + share, f"{share:.2f} ms of it the server"),
        "commands": Row(name, sent(before, after) / count),
        "peak": Row(name, peer.place.peak(peer.command(f"{host}:peak", TTL_MS, 3, PERIOD_MS)
                                          + peer.place.command_of(f"{host}_peak", "DUE"), peer.environment())),
    }


def takeover(peer):
    """(seconds from the holder's end to the next begin, whether the job lived on beside it)."""
    host, key = f"takeover_{peer.name.replace(' ', '_')}", f"takeover:{peer.name}"
    started, jobs, known, asked = [], [], len(peer.place.stamps(host)), 0

    def taken_over():
        nonlocal asked
        if time.time() - asked >= ASK_S and (not peer.waits or not asked):
            asked = time.time()
            started.append(peer.start(key, SHORT_TTL_MS, host, hold=False))
        return len(peer.place.stamps(host)) >= known + 2

    try:
        started.append(peer.start(key, SHORT_TTL_MS, host, hold=True))
        wait_for(lambda: len(peer.place.stamps(host)) > known, 30, f"{peer.name} runs")
        jobs.append(peer.place.stamps(host)[known][1])
        killed = time.time()
        started[0].kill()
        started[0].wait()
        wait_for(taken_over, 60, f"somebody takes the lock of {peer.name} over", slowest=0.02)
        lived = is_alive(jobs[0])
        return peer.place.stamps(host)[known + 1][2] / 1e6 - killed, lived
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
        for pid in jobs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def once_a_turn(peer, hosts=3):
    """Runs of one turn: so many hosts start the same fast job, a second apart."""
    host, key = f"turn_{peer.name.replace(' ', '_')}", f"turn:{peer.name}"
    begun, started = time.monotonic(), []
    for number in range(hosts):
        wait_for(lambda: time.monotonic() >= begun + number, 5, "a second is over")
        started.append(peer.start(key, TTL_MS, host))
    for process in started:
        ended(process)
    return len(peer.place.stamps(host))


def idle(peer, name, seconds):
    """A loop whose next run is an hour away, or (of those that wait) one that waits for a lock that another holds."""
    started = []
    host = f"idle_{name.replace(' ', '_')}"
    try:
        if peer.waits:
            started.append(peer.start(host, TTL_MS, host, hold=True))
            wait_for(lambda: peer.place.stamps(host), 30, f"{name} runs")
            started.append(peer.start(host, TTL_MS, host))
        else:
            started.append(subprocess.Popen(
                peer.command(host, TTL_MS, 1, 3_600_000) + peer.place.command_of(host, "DUE"), env=peer.environment()))
        pid = started[-1].pid
        end = time.monotonic() + 2
        wait_for(lambda: time.monotonic() > end, 9, "it has started")
        before, end = switches(pid), time.monotonic() + seconds
        wait_for(lambda: time.monotonic() > end, seconds + 5, "the rest is over", slowest=0.5)
        return {"idle": Row(name, dirty_kib(pid)), "pss": Row(name, pss_kib(pid)),
                "switches": Row(name, (switches(pid) - before) * 60 / seconds)}
    finally:
        for process in started:
            process.kill()
            process.wait()
        for _, pid, *_ in peer.place.stamps(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def tables(world):
    found = collections.defaultdict(list)
    seconds, few = max(5, round(20 * world.scale)), max(1, round(3 * world.scale))
    with lockers.place_in(world.folder / "peers") as place:
        for kind in lockers.ONCE:
            peer = kind(place)
            if why := peer.why():
                world.missing[peer.name] = why
                continue
            world.versions[peer.name.partition(",")[0]] = peer.version()
            world.log(f"{peer.name}: {world.rounds} runs, takeover, once a turn")
            parts = [one_shots(peer, world.rounds)]
            loop = lockers.LOOPS.get(kind)
            if loop:
                parts.append(resident(peer, loop, max(5, world.rounds // 5)))
            if loop or peer.waits:
                parts.append(idle(peer, loop or f"{peer.name}, a waiter", seconds))
            for key, row in [pair for part in parts for pair in part.items()]:
                found[key].append(row)
            took = [takeover(peer) for _ in range(few)]
            orphans = sum(lived for _, lived in took)
            asks = "" if peer.waits else f"; a lock of {SHORT_TTL_MS // 1000} s, asked for every {ASK_S} s"
            found["takeover"].append(Row(peer.name, [each for each, _ in took],
                                         f"{orphans} of {len(took)} lived on beside the next" + asks))
            found["turn"].append(Row(peer.name, once_a_turn(peer), peer.note if kind is lockers.Bash else ""))
    return dict(found)
