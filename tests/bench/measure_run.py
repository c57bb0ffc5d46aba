# SPDX-License-Identifier: MIT
"""One run under the lock: from its due instant to its release, its processes, their time and memory, its commands."""
import bisect
import collections
import contextlib
import pathlib
import re
import socket
import statistics
import subprocess
import time

import guard_harness as h
from figures import Row
from fleet import BUILD, Fleet, wait_for
from guard_harness import Guard
from processes import cpu_ms, peak_kib
from redis_server import TESTS_USER
from stamps import Stamps, Wire

HERE = pathlib.Path(__file__).resolve().parent
RUN_COST, BARE = BUILD / "tests" / "bench" / "run_cost", BUILD / "tests" / "bench" / "bare_plugin"
# So many jobs, each once a second, so that 500 runs take a minute and none meets the one before it.
JOBS = 8
WINDOWS = 5
TRIPS = 400
ACQUIRE_KEYS = "5"
TOKEN = re.compile(r"^[\w.-]+:[0-9a-f]{32}$")


def measure(plugin, rounds):
    """A row a round: us of the bare program and of the guard, of their processor time, and of a guard made ready."""
    out = subprocess.run([RUN_COST, str(rounds), h.GUARD, BARE, plugin], stdout=subprocess.PIPE, check=True, text=True)
    return [tuple(map(int, line.split())) for line in out.stdout.splitlines()]


def round_trip_us(redis):
    """Of a SET as a lock is taken by it, on a live connection."""
    took = []
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(redis.address.removeprefix("unix:"))
        client.sendall(f"AUTH {TESTS_USER} any\r\n".encode())
        client.recv(100)
        for _ in range(TRIPS):
            begin = time.perf_counter_ns()
            client.sendall(b"SET bench token NX PX 1\r\n")
            client.recv(100)
            took.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(took)


def guard_and_worker(folder, renewed):
    """KiB dirty of the guard and of the worker, and of what both have from before the fork; and the most that was
    resident of either."""
    plugin = h.compile_plugin(folder, HERE / "trivial.c", "waits", ["WAITS"])
    h.written_back(h.GUARD, plugin)
    with Guard() as guard:
        guard.start(plugin, deadline_in_ms=10000 if renewed else None).ready()
        pids = guard.process.pid, guard.worker
        private = [h.dirty_kib(pid) for pid in pids]
        shared = max(h.dirty_kib(pid, "Shared") for pid in pids)
        peaks = [peak_kib(pid) for pid in pids]
        guard.send(h.STOP, reason=0)
        guard.ended()
    return private, shared, peaks


@contextlib.contextmanager
def running(world, devices=1):
    """A device, or more, with jobs that are due all the time."""
    world.redis.client().flushall()
    fleet = Fleet(world.redis)
    try:
        stamps = Stamps(fleet)
        jobs = {f"job_{i}": stamps.job(every="1s", offset=f"{i * 1000 // JOBS}ms") for i in range(JOBS)}
        for _ in range(devices):
            fleet.device(jobs, log_level="info").start()
        wait_for(lambda: stamps.count() >= 2 * JOBS, 30, "the first runs are over")
        yield fleet, stamps
    finally:
        fleet.close()


def between(stamps, finishes):
    """ms of each run: from due to begin, from end to finish, from due to finish."""
    by_job = collections.defaultdict(list)
    for at, job, _ in finishes:
        by_job[job].append(at)
    found = []
    for stamp in stamps:
        ends = by_job[stamp.job]
        place = bisect.bisect_left(ends, stamp.end)
        if place < len(ends):
            end, due = ends[place], stamp.turn * 1000
            found.append(tuple(us / 1000 for us in (stamp.begin - due, end - stamp.end, end - due)))
    return found


def timed(world):
    with running(world) as (_, stamps):
        wire, known = Wire(world.redis), stamps.count()
        try:
            wait_for(lambda: len(wire.finishes()) > world.rounds, 30 + world.rounds, "the runs are over", slowest=0.5)
        finally:
            wire.close()
        return between(stamps.all()[known:], wire.finishes())[:world.rounds]


def served_us(wire):
    """Of each run, from its acquire's coming to Redis until its finish's."""
    asked, found = {}, []
    for at, job, words in sorted(wire.acquires() + wire.finishes()):
        if words[2] == ACQUIRE_KEYS:
            asked[job] = at
        elif job in asked:
            found.append(at - asked.pop(job))
    return found


def against_bare(world):
    """ms of a bare program that loads a plugin, and of runs from their acquire to their finish, in turns: what lies
    idle between is as slow for both."""
    bare = []
    plugin = h.compile_plugin(world.folder, HERE / "trivial.c")
    with running(world) as (_, _):
        wire = Wire(world.redis)
        try:
            while len(bare) < max(20, world.rounds // 5):
                known = len(wire.finishes())
                wait_for(lambda: len(wire.finishes()) > known, 30, "another run")
                bare.append(measure(plugin, 1)[0][0] / 1000)
        finally:
            wire.close()
    return bare, [us / 1000 for us in served_us(wire)]


def processor_time(world):
    """ms a run of rotad, its guards and workers, and of Redis; and bytes of the journal, and others, a run."""
    ours, servers = [], []
    with running(world) as (fleet, stamps):
        [device] = fleet.devices
        pids = device.pid, world.redis.process.pid
        log, at = device.log.stat().st_size, stamps.count()
        first = at
        before = [cpu_ms(pid) for pid in pids]
        for _ in range(WINDOWS):
            goal = at + max(2 * JOBS, world.rounds // WINDOWS // 2)
            wait_for(lambda: stamps.count() >= goal, 120, "more runs", slowest=0.2)
            now, count = [cpu_ms(pid) for pid in pids], stamps.count()
            one, server = ((new - old) / (count - at) for new, old in zip(now, before))
            ours.append(one)
            servers.append(server)
            before, at = now, count
        return ours, servers, (device.log.stat().st_size - log) / (at - first)


def commands(world):
    """Of two devices that ask for each turn: [commands of a run], [commands of a pass], by the token in each."""
    with running(world, devices=2) as (_, stamps):
        wire, known = Wire(world.redis), stamps.count()
        goal = known + max(2 * JOBS, world.rounds // 10)
        try:
            wait_for(lambda: stamps.count() > goal, 120, "runs of two devices", slowest=0.2)
        finally:
            wire.close()
        finishes = wire.finishes()
        finished = {word for _, _, words in finishes for word in words if TOKEN.match(word)}
        asked = {word for _, _, words in wire.acquires() for word in words if TOKEN.match(word)}
        of_token = collections.Counter(word for sent in wire.sent for word in set(sent.words) if TOKEN.match(word))
        told = len(wire.of_index())
    # Those whose acquire, or whose finish, was before or after what was listened to are left out.
    return ([of_token[token] + told / len(finishes) for token in finished & asked],
            [of_token[token] for token in asked - finished if token_is_old(token, wire)])


def token_is_old(token, wire):
    """Whether its acquire was more than a second before the end: a run of it would be over."""
    return next(sent.at for sent in wire.sent if token in sent.words) < wire.sent[-1].at - 1_000_000


def tables(world):
    world.log(f"a run under the lock: {world.rounds} of them")
    runs = timed(world)
    begin, release, whole = zip(*runs)
    world.log("a run against a bare program")
    bare, served = against_bare(world)
    trip = round_trip_us(world.redis) / 1000
    world.log("a run's processor time, without a monitor")
    ours, servers, journal = processor_time(world)
    world.log("a run's commands, and a pass's")
    of_run, of_pass = commands(world)
    plain, renewed = (guard_and_worker(world.folder, each) for each in (False, True))
    share = statistics.median(servers)
    return {
        "begin": [Row("rota", begin)], "release": [Row("rota", release)], "whole": [Row("rota", whole)],
        "cpu": [Row("rota", [sum(pair) for pair in zip(ours, servers)], f"{share:.2f} ms of it Redis")],
        "commands": [Row("rota", of_run, "acquire, finish, and the fleet's index")],
        "pass": [Row("rota, a turn that another device has", of_pass)],
        "peak": [Row("rota", max(plain[2] + renewed[2]), "of guard and worker")],
        "memory": [Row("guard + worker, a short run", sum(plain[0]) + plain[1]),
                   Row("guard + worker, a run that is renewed", sum(renewed[0]) + renewed[1])],
        "disk": [Row("rota, a run here", journal, "its lines for the journal")],
        "floor": [Row("a bare program that loads the plugin", bare), Row("a round trip to Redis", trip),
                  Row("rota, from acquire to finish", served)],
    }
