# SPDX-License-Identifier: MIT
"""Does what the plan says, and undoes it. A fault is a generator: it yields how long (ms) it waits until it goes on,
and what it has to undo stands behind `finally`, so that closing it undoes it, too."""
import contextlib
import heapq
import os
import pathlib
import random
import signal
import time

import redis

import fleet
from world import MASTER, append, boot_us, fill

LOOK_MS = 50
ANSWER_US = 15_000_000
AIM_US = 25_000_000  # so long something is waited for that runs


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def is_long(pid):
    """Whether it is the work of a job that runs for seconds (jobs.py)."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return len(words) > 4 and words[2] in (b"plain", b"tree") and words[3].isdigit() and int(words[3]) >= 4_000


class Faults:
    def __init__(self, world, planned):
        self.world, self.begun_us, self.last_end_us, self.counts = world, boot_us(), 0, {}
        self.stopping = False
        self.waiting = [(self.begun_us + each.at * 1000, number, self._whole(each))
                        for number, each in enumerate(planned)]
        heapq.heapify(self.waiting)

    def step(self):
        """What is due, and how long until the next is (s)."""
        while self.waiting and self.waiting[0][0] <= boot_us():
            _, number, fault = heapq.heappop(self.waiting)
            pause_ms = next(fault, None)
            if pause_ms is not None:
                heapq.heappush(self.waiting, (boot_us() + int(pause_ms * 1000), number, fault))
        return max(0.001, (self.waiting[0][0] - boot_us()) / 1e6) if self.waiting else 1.0

    def close(self):
        """Undoes what is under way."""
        self.stopping = True
        for _, _, fault in self.waiting:
            fault.close()
        self.waiting = []

    def _whole(self, fault):
        facts = {"begin_us": boot_us(), "kind": fault.kind, "devices": list(fault.devices), "ok": False}
        name = fault.kind.replace(" ", "_")
        for stem in ("stop_supervisor", "stop_guard", "stop_worker", "stop_device"):
            name = stem if name.startswith(stem) else name
        try:
            facts["begin_us"] = boot_us()
            yield from getattr(self, name)(fault, facts)
        except (redis.RedisError, AssertionError, RuntimeError, OSError) as error:
            facts["ok"], facts["why"] = False, str(error)
        finally:
            facts["end_us"] = self.last_end_us = boot_us()
            append(self.world.folder / "faults.jsonl", **facts)
            if facts["ok"]:
                self.counts[fault.kind] = self.counts.get(fault.kind, 0) + 1

    def _device(self, fault, facts):
        """One that lives: that of the plan, else another one that the seed chooses."""
        device = self.world.devices[fault.devices[0]]
        if not device.lives():
            living = [each for each in self.world.devices.values() if each.lives()]
            if not living:
                raise RuntimeError("no device lives")
            device = living[fault.more % len(living)]
        facts["devices"] = [device.name]
        return device

    def _runs_long(self, fault, facts):
        """Often one that is amid a long run, so that there is something to take over; else any."""
        busy = [each for each in self.world.devices.values()
                if each.lives() and any(map(is_long, each.node.processes()))]
        if not busy or fault.more % 3 == 0:
            return self._device(fault, facts)
        device = busy[fault.more % len(busy)]
        facts["devices"] = [device.name]
        return device

    def _aim(self, fault, facts):
        """A guard and its worker, on whichever device runs something; waits for it."""
        chance, until = random.Random(fault.more), boot_us() + AIM_US
        while boot_us() < until:
            found = [(device, guard, worker) for device in self.world.devices.values() if device.lives()
                     for guard in device.guards() for worker in fleet.children_of(guard)[:1]]
            if found:
                device, guard, worker = chance.choice(found)
                facts.update(devices=[device.name], guard=guard, worker=worker, begin_us=boot_us())
                return guard, worker
            yield LOOK_MS
        return None

    # Processes.

    def kill_supervisor(self, fault, facts):
        device = self._runs_long(fault, facts)
        facts.update(pid=device.pid, ok=True)
        device.kill_supervisor(boot_us() + fault.length * 1000)
        yield fault.length

    def kill_guard(self, fault, facts):
        found = yield from self._aim(fault, facts)
        if found:
            facts.update(pid=found[0], ok=True)
            send(found[:1], signal.SIGKILL)

    def kill_worker(self, fault, facts):
        found = yield from self._aim(fault, facts)
        if found:
            facts.update(pid=found[1], ok=True)
            send(found[1:], signal.SIGKILL)

    def lose_device(self, fault, facts):
        device = self._runs_long(fault, facts)
        facts.update(pid=device.pid, ok=True)
        device.away += 1
        device.kill_supervisor(0)
        try:
            until = boot_us() + 10_000_000
            while pids := device.node.processes():
                send(pids, signal.SIGKILL)
                if boot_us() > until:
                    raise RuntimeError(f"these cannot be killed: {pids}")
                yield 1
            facts["gone_us"] = boot_us()
            device.forget()
            yield fault.length
        finally:
            device.away -= 1

    def _stop(self, pids, fault, facts):
        facts.update(pids=pids, ok=True)
        send(pids, signal.SIGSTOP)
        try:
            yield fault.length
        finally:
            send(pids, signal.SIGCONT)

    def stop_supervisor(self, fault, facts):
        yield from self._stop([self._device(fault, facts).pid], fault, facts)

    def stop_guard(self, fault, facts):
        found = yield from self._aim(fault, facts)
        if found:
            yield from self._stop([found[0]], fault, facts)

    def stop_worker(self, fault, facts):
        found = yield from self._aim(fault, facts)
        if found:
            yield from self._stop([found[1]], fault, facts)

    def stop_device(self, fault, facts):
        device = self._device(fault, facts)
        pids = []
        try:
            # The supervisor first: nothing new begins. What the others begin meanwhile the next look finds.
            for _ in range(5):
                fresh = [pid for pid in {device.pid, *device.node.processes()} if pid not in pids]
                fresh.sort(key=lambda pid: pid != device.pid)
                send(fresh, signal.SIGSTOP)
                pids += fresh
            facts.update(pids=pids, ok=True)
            yield fault.length
        finally:
            send(pids, signal.SIGCONT)

    # The network.

    def _cut(self, nodes, fault, facts):
        """By the link, or by packets that go nowhere."""
        table, by_link = f"cut{fault.at}", fault.more % 2 == 0
        facts.update(ok=True, by="link" if by_link else "drop")
        undo = []
        try:
            for node in nodes:
                if by_link:
                    undo.append(node.take_link_up)
                    node.take_link_down()
                else:
                    node.drop(table, 100)
                    undo.append(lambda node=node: node.drop_no_more(table))
            yield fault.length
        finally:
            for each in undo:
                each()

    def partition_device(self, fault, facts):
        yield from self._cut([self._device(fault, facts).node], fault, facts)

    def partition_group(self, fault, facts):
        yield from self._cut([self.world.devices[name].node for name in fault.devices], fault, facts)

    def partition_server(self, fault, facts):
        server = self.world.master()
        facts["server"] = server.name
        yield from self._cut([server.node], fault, facts)

    def loss(self, fault, facts):
        device, table = self._device(fault, facts), f"loss{fault.at}"
        facts["percent"] = 10 + fault.more % 31
        device.node.drop(table, facts["percent"])
        try:
            facts["ok"] = True
            yield fault.length
        finally:
            device.node.drop_no_more(table)

    # Disks.

    def fill_device(self, fault, facts):
        device = self._device(fault, facts)
        try:
            fill(device.run)
            facts["ok"] = True
            yield fault.length
        finally:
            (device.run / "fill").unlink(missing_ok=True)

    def fill_server(self, fault, facts):
        server = self.world.master()
        facts["server"] = server.name
        try:
            fill(server.disk)
            server.ask("BGSAVE")
            until = boot_us() + 5_000_000
            while not facts["ok"] and boot_us() < until:
                yield LOOK_MS
                facts["ok"] = server.ask("INFO", "persistence")["rdb_last_bgsave_status"] == "err"
            yield fault.length
        finally:
            (server.disk / "fill").unlink(missing_ok=True)
            until = boot_us() + 5_000_000
            while boot_us() < until and not self._saves(server):
                time.sleep(LOOK_MS / 1000)

    @staticmethod
    def _saves(server):
        """Whether its last save is well; else a new one is asked for."""
        try:
            info = server.ask("INFO", "persistence")
            if not info["rdb_bgsave_in_progress"] and info["rdb_last_bgsave_status"] != "ok":
                server.ask("BGSAVE")
            return info["rdb_last_bgsave_status"] == "ok"
        except redis.RedisError:
            return False

    # Servers.

    def restart_server(self, fault, facts):
        server = self.world.master()
        facts.update(server=server.name, lost_data=False)
        try:
            with contextlib.suppress(redis.ConnectionError):
                server.ask("SHUTDOWN", "SAVE")
            until = boot_us() + 5_000_000
            while server.process.poll() is None and boot_us() < until:
                yield LOOK_MS
            facts["ok"] = server.process.poll() is not None
            yield fault.length
        finally:
            server.kill()
            server.start()
        yield from self._ready(server)

    def empty_server(self, fault, facts):
        server = self.world.master()
        facts.update(server=server.name, lost_data=True, ok=True)
        server.kill()
        server.forget()
        server.start()
        yield from self._ready(server)

    def forced_failover(self, fault, facts):
        server = self.world.master()
        facts["server"] = server.name
        server.kill()
        server.forget()
        try:
            facts["ok"] = True
            yield fault.length
        finally:
            facts["master"] = self.world.master().name
            facts["lost_data"] = facts["master"] == server.name  # nobody took over: it is the master, and empty
            server.start()
        yield from self._ready(server)

    @staticmethod
    def _ready(server):
        until = boot_us() + 20_000_000
        while not server.answers():
            if boot_us() > until:
                raise RuntimeError(f"{server.name} does not come back")
            yield LOOK_MS

    def planned_failover(self, fault, facts):
        server = self.world.master()
        facts["server"] = server.name
        self.world.sentinels[fault.more % 3].ask("SENTINEL", "FAILOVER", MASTER)
        until = boot_us() + 20_000_000
        while boot_us() < until and not facts["ok"]:
            yield 200
            facts["ok"] = self.world.master() is not server
        facts["master"] = self.world.master().name

    def stop_server(self, fault, facts):
        server = self.world.master()
        facts["server"] = server.name
        yield from self._stop([server.process.pid], fault, facts)

    def kill_sentinel(self, fault, facts):
        sentinel = self.world.sentinels[fault.more % 3]
        facts.update(server=sentinel.name, ok=True)
        sentinel.kill()
        try:
            yield fault.length
        finally:
            sentinel.start()

    # An operator.

    def _told(self, device, *words):
        """rotactl's exit status, or None where it did not answer."""
        process, until = device.tell(*words), boot_us() + ANSWER_US
        try:
            while process.poll() is None and boot_us() < until:
                yield LOOK_MS
            return process.poll()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _told_by_any(self, fault, *words):
        """By one device after the other until one has done it: what was paused does not stay so."""
        devices = list(self.world.devices.values())
        for number in range(60):
            status = yield from self._told(devices[(fault.more + number) % len(devices)], *words)
            if status == 0:
                return True
            yield 500
        return False

    def reload(self, fault, facts):
        device = self._device(fault, facts)
        device.top["max_running"] = 4 + fault.more % 3
        device.write(device.jobs)
        facts["ok"] = (yield from self._told(device, "reload")) == 0

    def drain(self, fault, facts):
        device = self._device(fault, facts)
        pid = device.pid
        facts["ok"] = (yield from self._told(device, "drain", "--timeout", "3s")) == 0
        yield fault.length
        # Another rotad knows nothing of it.
        while device.process and device.process.pid == pid and (yield from self._told(device, "undrain")) != 0:
            yield 500

    def run_by_hand(self, fault, facts):
        device = self._device(fault, facts)
        facts.update(job=("quick", "fenced", "long")[fault.more % 3], by_hand=True)
        # Refused while it runs somewhere.
        for _ in range(20):
            facts["begin_us"] = boot_us()
            facts["ok"] = (yield from self._told(device, "run", facts["job"])) == 0
            if facts["ok"]:
                break
            yield 400

    def pause(self, fault, facts):
        facts["job"] = ("quick", "tree", "flaky")[fault.more % 3]
        device = self._device(fault, facts)
        facts["ok"] = (yield from self._told(device, "pause", facts["job"], "--fleet", "--reason", "soak")) == 0
        yield fault.length
        facts["resumed"] = yield from self._told_by_any(fault, "resume", facts["job"], "--fleet")

    def resume_sulky(self, fault, facts):
        facts["job"] = "sulky"
        facts["devices"] = []
        facts["ok"] = yield from self._told_by_any(fault, "resume", "sulky", "--fleet")
