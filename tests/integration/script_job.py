# SPDX-License-Identifier: MIT
"""One job's scripts under a test's hand, with the arguments that the codec gives them. conftest.py has the fixtures."""
import redis

from redis_server import wait_for
from resp import script_body

LEASE = 10_000
PERIOD = 60_000
LATE = 13_000  # `fresh`: lease + splay + 1 s
KEEP = 3_600_000
FOREVER = 2**62
A, B, C = (f"device-{name}:{name * 32}" for name in "abc")


def without_name(client):
    """To the same server as rotad comes, who may do only what it needs (redis_server.py)."""
    pool = client.connection_pool
    return redis.Redis(connection_pool=redis.ConnectionPool(
        pool.connection_class, **{**pool.connection_kwargs, "username": None, "password": None}))


class Job:
    """The scripts with the arguments of one job; a test names those that matter to it."""

    def __init__(self, client, name="backup"):
        self.redis, self.rotad = client, without_name(client)
        for kind in ("lock", "claim", "pause", "history", "seats", "devices", "queue"):
            setattr(self, kind, f"test:{{{name}}}:{kind}")
        self.turn = self.now()

    def now(self):
        seconds, micros = self.redis.time()
        return seconds * 1000 + micros // 1000

    def run(self, script, keys, *arguments):
        return self.rotad.eval(script_body(script), len(keys), *keys, *arguments)

    def acquire(self, token=A, turn=None, following=None, ttl=LEASE, attempts=3, seen=0,
                fresh=LATE, cap=100, first=1, fingerprint="f1", schedule="s1",
                version=0):
        turn = self.turn if turn is None else turn
        following = turn + PERIOD if following is None else following
        return self.run("acquire", [self.lock, self.claim, self.pause, self.history, self.seats],
                        token, turn, following, ttl, attempts, seen, fresh, KEEP, cap, first,
                        fingerprint, schedule, version)

    def by_hand(self, token=A, **more):
        return self.acquire(token, turn=0, following=0, attempts=1, **more)

    def renew(self, token=A, ttl=LEASE, turn=None, attempt=1, fence=1):
        turn = self.turn if turn is None else turn
        return self.run("renew", [self.lock, self.claim], token, ttl, turn, attempt, fence, LEASE,
                        KEEP)

    def finish(self, token=A, outcome="succeeded", turn=None, attempt=1, fence=1, covers=0,
               delay=0, attempts=3, cap=100, detail="", clean=1, version=0):
        turn = self.turn if turn is None else turn
        return self.run("finish", [self.lock, self.claim, self.history], token, turn, attempt,
                        fence, outcome, covers, delay, attempts, KEEP, cap, detail, 5, clean,
                        version, LEASE)

    def paused(self, text="ann: repairs", for_ms=0):
        return self.run("pause", [self.pause], text, for_ms)

    def resume(self, catch_up=0):
        return self.run("resume", [self.pause, self.claim], catch_up)

    def known(self, **fields):
        """A job with a past: settled one period before the present turn, by schedule s1."""
        before = self.turn - PERIOD
        self.redis.hset(self.claim, mapping={
            "v": 1, "turn": before, "attempt": 1, "token": "device-z:old", "state": "succeeded",
            "fence": 7, "done": before, "ended": before + 5, "held": 1, "streak": 0,
            "schedules": "s1", "fingerprint": "f1", **fields})
        return self

    def field(self, name):
        return self.redis.hget(self.claim, name)

    def record(self):
        return self.redis.hgetall(self.claim)

    def state(self):
        """All that is in Redis, to see that nothing was changed."""
        kinds = {"string": self.redis.get, "hash": self.redis.hgetall,
                 "list": lambda key: self.redis.lrange(key, 0, -1),
                 "stream": self.redis.xrange,
                 "zset": lambda key: self.redis.zrange(key, 0, -1, withscores=True)}
        return {key: (kinds[self.redis.type(key)](key), self.redis.pttl(key) > 0)
                for key in self.redis.keys()}

    def entries(self):
        return [fields for _, fields in self.redis.xrange(self.history)]

    def lose_lock(self):
        self.redis.delete(self.lock)


class Seats(Job):
    """A job of device scope. A token names its device; two devices of one name differ in `device`."""

    def acquire(self, token=A, turn=None, following=None, ttl=LEASE, attempts=3, fresh=LATE, cap=100,
                fingerprint="f1", schedule="s1", version=0, capacity=2, device=None, boot="b1", stop=0):
        turn = self.turn if turn is None else turn
        following = turn + PERIOD if following is None else following
        keys = [self.seats, self.claim, self.pause, self.devices, self.history, self.lock, self.queue]
        return self.run("seat_acquire", keys, token, turn, following, ttl, attempts, fresh, KEEP, cap,
                        fingerprint, schedule, version, capacity, device or name_of(token), boot, stop)

    def renew(self, token=A, ttl=LEASE, turn=None, attempt=1, capacity=2, device=None, boot="b1"):
        turn = self.turn if turn is None else turn
        return self.run("seat_renew", [self.seats, self.claim, self.devices], token, ttl, turn, attempt,
                        KEEP, capacity, device or name_of(token), boot)

    def finish(self, token=A, outcome="succeeded", turn=None, attempt=1, covers=0, delay=0, attempts=3,
               cap=100, detail="", clean=1, version=0, device=None, boot="b1", stop=0, lease=LEASE):
        turn = self.turn if turn is None else turn
        keys = [self.seats, self.claim, self.devices, self.history, self.pause]
        return self.run("seat_finish", keys, token, turn, attempt, outcome, covers, delay, attempts, KEEP,
                        cap, detail, 5, clean, version, device or name_of(token), boot, stop, lease)

    def knows(self, *tokens, schedule="s1"):
        """Devices with a past: each has done the turn before the present one."""
        for token in tokens:
            before = self.turn - PERIOD
            self.redis.hset(self.devices, name_of(token), " ".join(map(str, [
                before, 1, before, 0, 0, before, before + 5, 0, 0, 1, "succeeded", "b1", schedule,
                f"{name_of(token)}:old"])))
        return self

    def device(self, name):
        text = self.redis.hget(self.devices, name)
        return text and dict(zip(RECORD, text.split(" ", len(RECORD) - 1)))

    def seated(self):
        return {seat: score for seat, score in self.redis.zrange(self.seats, 0, -1, withscores=True)
                if score > self.now()}

    def lose_seat(self, token=A):
        """As though its lease had come to its end."""
        self.redis.zadd(self.seats, {token: self.now() - 1})


RECORD = ["turn", "attempt", "done", "retry", "delay", "started", "ended", "blank", "ask", "flags", "state",
          "boot", "schedule", "token"]


def name_of(token):
    return token.rpartition(":")[0]


def grant(job, token=A, **more):
    answer = job.acquire(token, **more)
    assert answer[0] == "acquired", answer
    return answer


def fill(job):
    job.redis.config_set("maxmemory", 1)


def spoil(job, key):
    job.redis.delete(key)
    job.redis.rpush(key, "not", "ours")


def after(job, ms):
    """Waits until the server's clock has gone on by ms."""
    until = job.now() + ms
    wait_for(lambda: job.now() > until, 5 + ms / 1000, f"{ms} ms on the server's clock")
