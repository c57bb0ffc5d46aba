# SPDX-License-Identifier: MIT
"""Devices at rest, with 1 to 1,000 jobs of which none is due: start, memory, wake-ups, processor time, bytes."""
import collections
import contextlib
import shutil
import time

from figures import Row
from fleet import ROTAD, Fleet, children_of, conf_text, wait_for
from guard_harness import dirty_kib, written_back
from notify import NotifySocket
from processes import cpu_ticks, on_cpu_ms, pss_kib, switches, written
from redis_server import RedisServer
from tls import Authority, TlsServer, redis_by_tls

FILES = 20
FEW, MANY = 10, 1000
COUNTS = (1, FEW, 100, MANY)
# As rotad.service has it.
WATCHDOG_SECONDS = 180
TLS, WATCHED = "with TLS", "with its unit's watchdog"

Started = collections.namedtuple("Started", "fleet device ready_s status_at_ready guards")
Reading = collections.namedtuple("Reading", "switches cpu_ms written")


def jobs_of(count):
    """Half by cron in a zone; none of them is due within two hours, all were within a day."""
    jobs = {}
    for i in range(count):
        due = time.gmtime(time.time() + 4 * 3600 + i % 960 * 60)
        if i % 2:
            schedule = {"cron": f"{due.tm_min} {due.tm_hour} * * *", "timezone": "Europe/Berlin"}
        else:
            schedule = {"every": "1d", "offset": f"{due.tm_hour * 60 + due.tm_min}m"}
        jobs[f"job_{i:04}"] = {
            # Two files of the same plugin, to be told apart by their names.
            "plugin": "second" if i % 10 == 9 else "exec", **schedule, "worst_case": "1m",
            "params": {"command": ["/bin/echo", "--number", str(i)]}}
    return jobs


def write_jobs(device, count):
    folder = device.folder / "jobs.d"
    folder.mkdir()
    jobs = list(jobs_of(count).items())
    for n in range(FILES):
        (folder / f"part-{n:02}.conf").write_text(conf_text({"jobs": dict(jobs[n::FILES])}))


@contextlib.contextmanager
def a_fleet(server):
    try:
        fleet = Fleet(server.start())
        shutil.copy(fleet.plugins / "exec.so", fleet.plugins / "second.so")
        try:
            yield fleet
        finally:
            fleet.close()
    finally:
        server.close()


def settled(fleet, notify, guards, device, count):
    """The jobs have asked for their newest turn; the guards that were seen until then are noted."""
    guards.update(children_of(device.pid))
    return notify.texts("^STATUS=.*redis ok") and fleet.client.dbsize() >= count


def passed(seconds):
    """The one wait here that is for nothing: what is measured is that nothing happens."""
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= end, seconds + 5, "the measurement is over", slowest=0.5)


def idle_ticks(pid, seconds):
    before = cpu_ticks(pid)
    passed(seconds)
    return cpu_ticks(pid) - before


@contextlib.contextmanager
def started(count, server=None, watchdog_s=0, **top):
    """A device with so many jobs, once it has nothing left to do."""
    with a_fleet(server or RedisServer()) as fleet, NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(None, log_level="info", **top)
        write_jobs(device, count)
        written_back(ROTAD)
        watchdog = {"WATCHDOG_USEC": str(watchdog_s * 1_000_000)} if watchdog_s else {}
        begin, guards = time.monotonic(), set()
        device.start(NOTIFY_SOCKET=notify.path, **watchdog)
        notify.wait_for("^READY=1$", 10)
        told = list(notify.messages)
        index = next(i for i, (_, text) in enumerate(told) if "READY=1" in text)
        wait_for(lambda: settled(fleet, notify, guards, device, count), 60,
                 f"{count} jobs wait for their next turn")
        wait_for(lambda: not children_of(device.pid), 10, "the guards are gone")
        yield Started(fleet, device, told[index][0] - begin, "\n".join(text for _, text in told[:index + 1]), guards)
        assert device.complaints() == []


def start_times(count, rounds):
    """ms from before the spawn until READY, of so many starts: the later ones find their configuration in Redis."""
    took = []
    with a_fleet(RedisServer()) as fleet:
        device = fleet.device(None, log_level="info")
        write_jobs(device, count)
        written_back(ROTAD)
        for number in range(rounds):
            with NotifySocket(fleet.folder / f"notify-{number}") as notify:
                begin = time.monotonic()
                device.start(NOTIFY_SOCKET=notify.path)
                notify.wait_for("^READY=1$", 10)
                took.append(next(at for at, text in list(notify.messages) if "READY=1" in text) - begin)
                device.cut_power()
    return [seconds * 1000 for seconds in took]


def reading(device):
    """What is written goes to the journal by standard error: here a file, whose growth is left out."""
    return Reading(switches(device.pid), on_cpu_ms(device.pid), written(device.pid) - device.log.stat().st_size)


def minutes_of(devices, seconds):
    """{name: Reading} of so long, made one of a minute."""
    before = {name: reading(device) for name, device in devices.items()}
    passed(seconds)
    return {name: Reading(*((new - old) * 60 / seconds for new, old in zip(reading(device), before[name])))
            for name, device in devices.items()}


def idle_rows(name, device, minute):
    """The rows of one device at rest, by table."""
    return {"memory": [Row(name, dirty_kib(device.pid))], "idle_cpu": [Row(name, minute.cpu_ms)],
            "wakes": [Row(name, minute.switches)]}


def tables(world):
    """All devices rest side by side: they are asleep, and share nothing but the minute."""
    found = collections.defaultdict(list)
    seconds, rounds = max(5, round(60 * world.scale)), max(3, round(20 * world.scale))
    world.log(f"start: {rounds} times each, and {seconds} s of idleness")
    for count in (FEW, MANY):
        found["start"].append(Row(f"rota, {count:,} jobs", start_times(count, rounds)))
    with contextlib.ExitStack() as stack:
        names = {f"rota, {count:,} {'job' if count == 1 else 'jobs'}": count for count in COUNTS}
        all_of = {name: stack.enter_context(started(count)) for name, count in names.items()}
        ca = stack.enter_context(Authority())
        server = TlsServer(ca.issue("127.0.0.1"))
        by_tls, watched = f"rota, {FEW} jobs, {TLS}", f"rota, {FEW} jobs, {WATCHED}"
        all_of[by_tls] = stack.enter_context(started(FEW, server, redis=redis_by_tls(server, ca)))
        all_of[watched] = stack.enter_context(started(FEW, watchdog_s=WATCHDOG_SECONDS))
        devices = {name: one.device for name, one in all_of.items()}
        minutes = minutes_of(devices, seconds)
        for name, device in devices.items():
            for key, rows in idle_rows(name, device, minutes[name]).items():
                found[key] += rows
        usual = f"rota, {FEW} jobs"
        pid = devices[usual].pid
        found["idle"].append(Row("rota", dirty_kib(pid)))
        found["pss"].append(Row("rota", pss_kib(pid)))
        found["switches"].append(Row("rota", minutes[usual].switches))
        found["disk"].append(Row("rota, idle, a day", minutes[usual].written * 1440, "beside the journal"))
        found["start_by_jobs"] += [Row(name, one.ready_s * 1000) for name, one in all_of.items() if name in names]
    return dict(found)
