# SPDX-License-Identifier: MIT
"""Five redis-servers that know nothing of each other, and devices that hold a lease where a majority of them grants it.

    def test_x(quorum):                       # conftest.py
        quorum.make_due("report")
        device = quorum.device(jobs).start()
        quorum.servers.freeze(4)              # it takes connections, and answers nothing
        quorum.servers.kill(0)
        quorum.servers.restart(0)             # empty
"""
import contextlib
import os
import signal

import redis

from fleet import PREFIX, Fleet, wait_for
from redis_server import RedisServer

# Of the devices' redis group: a dead server is noticed soon, a busy machine is none.
TIMES = {"connect_timeout": "300ms", "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"}


class Servers:
    """Numbered from 0. Each is well, frozen or dead."""

    def __init__(self, count=5, make=RedisServer):
        self.all = [make() for _ in range(count)]
        self.frozen = set()

    def start(self):
        for server in self.all:
            server.start()
        return self

    def close(self):
        for number in list(self.frozen):
            self.thaw(number)
        for server in self.all:
            server.close()

    def __len__(self):
        return len(self.all)

    @property
    def majority(self):
        return len(self.all) // 2 + 1

    def freeze(self, *numbers):
        for number in numbers:
            os.kill(self.all[number].process.pid, signal.SIGSTOP)
            self.frozen.add(number)

    def thaw(self, *numbers):
        for number in numbers:
            if number in self.frozen:
                self.frozen.discard(number)
                os.kill(self.all[number].process.pid, signal.SIGCONT)

    def kill(self, *numbers):
        for number in numbers:
            self.thaw(number)
            self.all[number].kill()

    def restart(self, *numbers):
        """Empty: nothing of theirs is on a disk."""
        for number in numbers:
            self.kill(number)
            self.all[number].start()

    def well(self):
        return [number for number, server in enumerate(self.all)
                if number not in self.frozen and server.process is not None]

    def heal(self):
        """All are well."""
        for number in range(len(self.all)):
            self.thaw(number)
            if self.all[number].process is None:
                self.all[number].start()


class QuorumFleet(Fleet):
    """As a Fleet; what it tells of Redis it has asked of every server that is well."""

    def __init__(self, servers):
        self.servers = servers
        super().__init__(servers.all[0])
        self.clients = [server.client(socket_timeout=5) for server in servers.all]

    def close(self):
        self.servers.heal()
        try:
            super().close()
        finally:
            for client in self.clients:
                client.close()

    def group(self, addresses=None, each=None, **more):
        """The devices' redis group. each(number): keys of that server's own."""
        addresses = addresses or [server.address for server in self.servers.all]
        return {"quorum": [{"address": address, **(each(number) if each else {})}
                           for number, address in enumerate(addresses)], **TIMES, **more}

    def device(self, jobs, name=None, **top):
        return super().device(jobs, name, **{"redis": self.group(), **top})

    def ask(self, command, *words):
        """What each server that is well says: {number: reply}."""
        return {number: getattr(self.clients[number], command)(*words) for number in self.servers.well()}

    def locks(self, job):
        """The tokens that stand there: {server: token}."""
        return {number: token for number, token in self.ask("get", self.key(job, "lock")).items() if token}

    def lock(self, job):
        """Of whom a majority knows; None: nobody."""
        tokens = list(self.locks(job).values())
        return next((token for token in tokens if tokens.count(token) >= self.servers.majority), None)

    def claims(self, job):
        return self.ask("hgetall", self.key(job, "claim"))

    def claim(self, job):
        """The newest that is known anywhere."""
        return max(self.claims(job).values(), key=lambda claim: int(claim.get("ended") or 0), default={})

    def history(self, job):
        """Of the server that has most."""
        return max(([fields for _, fields in entries]
                    for entries in self.ask("xrange", self.key(job, "history")).values()), key=len, default=[])

    def make_done(self, turn, *jobs):
        for job in jobs:
            for client in self.clients:
                client.hset(self.key(job, "claim"), mapping={
                    "v": 1, "turn": turn, "attempt": 1, "token": "earlier:" + "0" * 32, "state": "succeeded",
                    "fence": 1, "done": turn, "retry": 0, "ended": turn, "schedules": ""})

    def wait_free(self, job, within=10):
        """Nothing is left of a lock on any server that is well."""
        wait_for(lambda: not self.locks(job), within, f"no server has a lock of {job}")

    def holder(self, job, within=10):
        """The device whose token a majority has."""
        token = wait_for(lambda: self.lock(job), within, f"a majority knows who has {job}")
        return next(device for device in self.devices if device.name == token.rpartition(":")[0])

    def stretches(self, job):
        """Each run, by its program's own account: (turn, attempt, from, to), in the order of their beginnings."""
        runs = {}
        for entry in self.entries(job=job):
            runs.setdefault((entry.turn, entry.attempt, entry.pid), []).append(entry.at)
        return sorted(((turn, attempt, min(times), max(times)) for (turn, attempt, _), times in runs.items()),
                      key=lambda run: run[2])

    def assert_apart(self, job):
        """No two runs at a time."""
        runs = self.stretches(job)
        for former, later in zip(runs, runs[1:]):
            assert former[3] <= later[2], f"two at a time: {former} and {later} of {runs}"


def keys_left(client):
    """What stands there for good is the record; a lock is not."""
    return sorted(key for key in client.keys(f"{PREFIX}*") if key.endswith((":lock", ":seats")))


def connections(server, name):
    """Of the device of that name; None: it does not answer."""
    with contextlib.suppress(redis.RedisError), server.client(socket_timeout=5) as client:
        return [each for each in client.client_list() if each["name"] == name]
    return None


def beats(seconds, every=0.05):
    """A body that notes a beat again and again for so long."""
    return f"for beat in $(seq {int(seconds / every)}); do note beat; sleep {every}; done\n"



def spread(values):
    values = sorted(values)
    return {"min": values[0], "median": values[len(values) // 2], "p90": values[len(values) * 9 // 10],
            "max": values[-1]}
