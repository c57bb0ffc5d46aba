# SPDX-License-Identifier: MIT
"""Many real devices: what a turn costs them, how late it begins; takeover after kill -9; once a turn."""
import collections
import contextlib
import statistics
import time

from clock.virtual_clock import VirtualClock
from figures import Row
from fleet import Fleet, now_ms, wait_for
from guard_harness import descendants, is_alive
from processes import dirty_of
from stamps import Stamps, Wire

SIZES = (1, 10, 50, 100)
PERIOD_S, JOBS = 4, 4
LEASE_S, SPLAY_S, SLACK_S = 10, 1, 1
GROUPS, DEVICES = 12, 3
TURN_PERIOD_S, TURNS, APART_MS = 4, 4, 1000


@contextlib.contextmanager
def a_fleet(world):
    world.redis.client().flushall()
    fleet = Fleet(world.redis)
    try:
        yield fleet, Stamps(fleet)
    finally:
        fleet.close()


def told(fleet, devices):
    """What an hour of hellos would have left, so that each device knows the fleet's size from its start on."""
    hour = now_ms() // 3_600_000
    fleet.client.hset("test:{_fleet}:size", mapping={
        "hour": hour, "now": devices * 3_600_000, "before": 0, "boots": 0, "boots_before": 0,
        "hellos": devices * 6, "hellos_before": 0})


def turn_of(sent):
    """(job, number of the turn) of a command that is about a job: each has its own second of the period."""
    job = next((f"job_{i}" for i in range(JOBS) for word in sent.words[:6]
                if word == f"job_{i}" or f"{{job_{i}}}:" in word), None)
    return job and (job, (sent.at - int(job[4:]) * 1_000_000) // (PERIOD_S * 1_000_000))


def share(world, size, turns):
    """A fleet of so many: (commands of each turn, ms from due to begin, KiB of all devices)."""
    with a_fleet(world) as (fleet, stamps):
        told(fleet, size)
        jobs = {f"job_{i}": stamps.job(every=f"{PERIOD_S}s", offset=f"{i}s") for i in range(JOBS)}
        for _ in range(size):
            fleet.device(jobs, log_level="info").start()
        wait_for(lambda: fleet.client.hlen("test:{_fleet}:devices") >= min(size, 1) and all(
            device.lines("ready as") for device in fleet.devices), 60, f"{size} devices are ready")
        wait_for(lambda: stamps.count() >= JOBS, 30, "the first turns are over")
        wire, known = Wire(world.redis), stamps.count()
        try:
            wait_for(lambda: stamps.count() >= known + turns + 2 * JOBS, 60 + turns * 2, f"{turns} turns", slowest=0.2)
        finally:
            wire.close()
        counts = collections.Counter(filter(None, map(turn_of, wire.sent)))
        # A job's first and last turn here may have begun before, or may not be over.
        whole = [counts[key] for key in counts
                 if key[1] not in {pick(number for job, number in counts if job == key[0]) for pick in (min, max)}]
        late = [stamp.begin / 1000 - stamp.turn for stamp in stamps.all()[known:]]
        return whole, late, dirty_of(device.pid for device in fleet.devices)


def scale(world):
    found, turns = collections.defaultdict(list), max(JOBS, round(16 * world.scale))
    for size in SIZES if world.scale >= 1 else SIZES[:2]:
        world.log(f"{size} real devices share {JOBS} jobs")
        counts, late, kib = share(world, size, turns)
        name = "rota, 1 device" if size == 1 else f"rota, {size} devices"
        found["fleet_commands"].append(Row(name, counts))
        found["fleet_late"].append(Row(name, late))
        found["fleet_memory"].append(Row(name, kib, f"{kib / size:.0f} KiB each"))
    return found


def takeovers(world):
    """Groups of three devices, each with a job of its own, whose holders are killed one after the other: (seconds from
    the kill to the next begin, how many processes a run has, whether what was killed lived on beside the next run)."""
    groups = max(3, round(GROUPS * world.scale))
    world.log(f"takeover: {groups} holders are killed")
    with a_fleet(world) as (fleet, stamps):
        world.redis.allow("~test:g*")
        for number in range(groups):
            job = stamps.job(hold=True, every="366d", catch_up="366d", first="now", worst_case="1m",
                             lease=f"{LEASE_S}s", splay=f"{SPLAY_S}s", retry_delay="0s", stop_grace="300ms")
            for place in range(DEVICES):
                fleet.device({f"held_{number}": job}, name=f"g{number}-{place}", prefix=f"test:g{number}:").start()
        wait_for(lambda: stamps.count() >= groups, 60, "every group's job runs")
        holders = {stamp.job: stamp for stamp in stamps.all()}
        devices = {device.name: device for device in fleet.devices}
        killed, processes = {}, []
        for job, stamp in holders.items():
            holder = devices[stamp.device]
            for device in fleet.devices:
                if device is not holder and device.name.partition("-")[0] == holder.name.partition("-")[0]:
                    device.wait_line(f"is held by {holder.name}", 30)
            processes.append(len(descendants(holder.pid)))
            killed[job] = time.time()
            holder.kill()
        wait_for(lambda: stamps.count() >= 2 * groups, 60, "another device begins each job again", slowest=0.05)
        again = {stamp.job: stamp for stamp in stamps.all()[groups:]}
        orphans = sum(is_alive(stamp.pid) for stamp in holders.values())
    return [again[job].begin / 1e6 - at for job, at in killed.items()], processes, orphans


def once_a_turn(world):
    """Runs of each turn, of a fast job on three devices whose clocks are a second apart."""
    turns = max(2, round(TURNS * world.scale))
    world.log(f"once a turn: {turns} turns on three devices whose clocks differ")
    with a_fleet(world) as (fleet, stamps):
        jobs = {"fast": stamps.job(every=f"{TURN_PERIOD_S}s")}
        for number in range(DEVICES):
            device = fleet.device(jobs, log_level="info")
            clock = VirtualClock(device.folder)
            clock.add(number * APART_MS)
            device.start(clock=clock)
        wait_for(lambda: len({stamp.turn for stamp in stamps.all()}) >= turns + 1, 30 + turns * TURN_PERIOD_S,
                 "the turns are over", slowest=0.2)
        runs = collections.Counter(stamp.turn for stamp in stamps.all())
    # The last one's other runs, if there were any, are yet to come.
    return [runs[turn] for turn in sorted(runs)[:-1]]


def tables(world):
    found = scale(world)
    took, processes, orphans = takeovers(world)
    found["takeover"].append(Row("rota", took, f"{orphans} of {len(took)} lived on beside the next"))
    found["processes"].append(Row("rota", statistics.median(processes), "guard and worker; rotad is there anyway"))
    found["turn"].append(Row("rota", once_a_turn(world)))
    return dict(found)
