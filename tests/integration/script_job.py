# SPDX-License-Identifier: MIT
"""The scripts of a lock with the arguments of one job, as tests of scripts call them; and its fixtures."""
import pytest

from redis_server import RedisServer, wait_for
from resp import SENT_SCRIPTS

LEASE = 10_000
PERIOD = 60_000
LATE = 13_000  # `fresh`: lease + splay + 1 s
KEEP = 3_600_000
FOREVER = 2**62
A, B, C = (f"device-{name}:{name * 32}" for name in "abc")


@pytest.fixture(scope="module")
def server():
    instance = RedisServer()
    try:
        yield instance.start()
    finally:
        instance.close()


class Job:
    """The scripts with the arguments of one job; a test names those that matter to it."""

    def __init__(self, client, name="backup"):
        self.redis = client
        self.lock, self.claim, self.pause, self.history = (
            f"test:{{{name}}}:{kind}" for kind in ("lock", "claim", "pause", "history"))
        self.turn = self.now()

    def now(self):
        seconds, micros = self.redis.time()
        return seconds * 1000 + micros // 1000

    def run(self, script, keys, *arguments):
        body = (SENT_SCRIPTS / f"{script}.lua").read_text()
        return self.redis.eval(body, len(keys), *keys, *arguments)

    def acquire(self, token=A, turn=None, following=None, ttl=LEASE, attempts=3, seen=0,
                fresh=LATE, cap=100, first=1, fingerprint="f1", schedule="s1"):
        turn = self.turn if turn is None else turn
        following = turn + PERIOD if following is None else following
        return self.run("acquire", [self.lock, self.claim, self.pause, self.history], token, turn,
                        following, ttl, attempts, seen, fresh, KEEP, cap, first, fingerprint,
                        schedule)

    def by_hand(self, token=A, **more):
        return self.acquire(token, turn=0, following=0, attempts=1, **more)

    def renew(self, token=A, ttl=LEASE, turn=None, attempt=1, fence=1):
        turn = self.turn if turn is None else turn
        return self.run("renew", [self.lock, self.claim], token, ttl, turn, attempt, fence, LEASE,
                        KEEP)

    def finish(self, token=A, outcome="succeeded", turn=None, attempt=1, fence=1, covers=0,
               delay=0, attempts=3, cap=100, detail="", clean=1):
        turn = self.turn if turn is None else turn
        return self.run("finish", [self.lock, self.claim, self.history], token, turn, attempt,
                        fence, outcome, covers, delay, attempts, KEEP, cap, detail, 5, clean)

    def known(self, **fields):
        """A job with a past: settled one period before the present turn, by schedule s1."""
        before = self.turn - PERIOD
        self.redis.hset(self.claim, mapping={
            "v": 1, "turn": before, "attempt": 1, "token": "device-z:old", "state": "succeeded",
            "fence": 7, "done": before, "ended": before + 5, "held": 1, "streak": 0,
            "schedules": "s1", **fields})
        return self

    def field(self, name):
        return self.redis.hget(self.claim, name)

    def record(self):
        return self.redis.hgetall(self.claim)

    def state(self):
        """All that is in Redis, to see that nothing was changed."""
        kinds = {"string": self.redis.get, "hash": self.redis.hgetall,
                 "list": lambda key: self.redis.lrange(key, 0, -1),
                 "stream": self.redis.xrange}
        return {key: (kinds[self.redis.type(key)](key), self.redis.pttl(key) > 0)
                for key in self.redis.keys()}

    def entries(self):
        return [fields for _, fields in self.redis.xrange(self.history)]

    def lose_lock(self):
        self.redis.delete(self.lock)


@pytest.fixture
def job(server):
    client = server.client()
    client.flushall()
    client.script_flush()
    client.config_set("maxmemory", 0)
    yield Job(client)
    client.close()


def grant(job, token=A, **more):
    answer = job.acquire(token, **more)
    assert answer[0] == "acquired", answer
    return answer


def spoil(job, key):
    job.redis.delete(key)
    job.redis.rpush(key, "not", "ours")


def fill(job):
    job.redis.config_set("maxmemory", 1)


def after(job, ms):
    """Waits until the server's clock has gone on by ms."""
    until = job.now() + ms
    wait_for(lambda: job.now() > until, 5 + ms / 1000, f"{ms} ms on the server's clock")
