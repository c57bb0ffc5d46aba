# SPDX-License-Identifier: MIT
"""Device scope: those that find no seat wait in a queue, and are told when to come back."""
import heapq
import os
import random
import statistics

import pytest

from resp import script_body
from script_job import A, B, C, LEASE, PERIOD, after, grant

LONG = 100_000_000  # a turn with nothing behind it for a day


def refuse(seats, token, **more):
    answer = seats.acquire(token, following=seats.turn + LONG, **more)
    assert answer[0] == "full", answer
    return answer


def crowd(seats, count):
    tokens = [f"d{number}:x" for number in range(count)]
    seats.knows(A, B, C, *tokens)
    return tokens


def test_places_are_given_in_the_order_of_asking_and_kept(seats):
    tokens = crowd(seats, 3)
    grant(seats, A, capacity=1)
    for place, token in enumerate(tokens, 1):
        assert refuse(seats, token, capacity=1)[4] == place
        after(seats, 1)
    assert refuse(seats, tokens[1], capacity=1)[4] == 2


def test_the_time_to_come_back_grows_with_the_place_and_shrinks_with_the_seats(seats):
    tokens = crowd(seats, 40)
    seats.redis.hset(seats.claim, mapping={"mean": 1000, "runs": 128})
    for token in (A, B):
        grant(seats, token)
    waits = [refuse(seats, token)[2] for token in tokens]
    # One run, and as many as there are before it at two seats' speed.
    assert waits == [1000 + 500 * place for place in range(1, 41)]


def test_nothing_known_of_runs_counts_as_a_quarter_of_the_lease(seats):
    tokens = crowd(seats, 1)
    grant(seats, A, capacity=1)
    assert refuse(seats, tokens[0], capacity=1)[2] == 2 * LEASE // 4


def test_nobody_asks_all_the_time_however_short_runs_are(seats):
    crowd(seats, 1)
    seats.redis.hset(seats.claim, mapping={"mean": 1, "runs": 128})
    grant(seats, A, capacity=1)
    assert refuse(seats, B, capacity=1)[2] >= LEASE // 20


def test_nobody_is_sent_away_for_longer_than_a_quarter_of_the_period(seats):
    crowd(seats, 1)
    seats.redis.hset(seats.claim, mapping={"mean": 10 * PERIOD, "runs": 128})
    grant(seats, A, capacity=1)
    assert seats.acquire(B, capacity=1)[2] == PERIOD // 4


def test_how_long_runs_take_is_learned(seats):
    seats.knows(A)
    grant(seats)
    record = seats.redis.hget(seats.devices, "device-a").split()
    record[5] = str(int(record[5]) - 3000)                      # it started three seconds ago
    seats.redis.hset(seats.devices, "device-a", " ".join(record))
    seats.finish()
    assert 3000 <= int(seats.field("mean")) < 4000 and seats.field("runs") == "1"


def test_a_run_that_leaves_its_seat_counts_until_that_has_run_out(seats):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome="crashed")
    assert LEASE - 1000 < int(seats.field("mean")) <= LEASE


def test_what_never_ran_tells_nothing_of_runs(seats):
    seats.knows(A)
    grant(seats)
    seats.finish(outcome="unstarted")
    assert seats.field("mean") is None


def test_a_seat_is_for_the_front_of_the_queue(seats):
    tokens = crowd(seats, 30)
    grant(seats, A, capacity=1)
    for token in tokens:
        refuse(seats, token, capacity=1)
        after(seats, 1)
    seats.finish(A)
    assert refuse(seats, B, capacity=1)[4] == 31                   # a newcomer
    assert refuse(seats, tokens[10], capacity=1)[4] == 11
    grant(seats, tokens[2], capacity=1)                            # a little early is near enough
    assert seats.redis.zscore(seats.queue, "d2") is None


def test_who_is_new_passes_nobody(seats):
    first, new = crowd(seats, 2)
    grant(seats, A, capacity=1)
    refuse(seats, first, capacity=1)
    seats.finish(A)
    assert refuse(seats, new, capacity=1)[4] == 2
    grant(seats, first, capacity=1)


def test_nobody_is_passed_by_who_came_a_run_later(seats):
    """Else two who take turns pass a third for ever, whose questions fall always just behind theirs."""
    first, second, late = crowd(seats, 3)
    seats.redis.hset(seats.claim, mapping={"mean": 1, "runs": 128})
    grant(seats, A, capacity=2)
    grant(seats, B, capacity=2)
    refuse(seats, first)
    refuse(seats, second)
    after(seats, LEASE // 20 + 10)
    refuse(seats, late)
    seats.finish(A)
    assert refuse(seats, late)[4] == 3
    grant(seats, second)
    seats.finish(B)
    assert refuse(seats, late)[4] == 2
    grant(seats, first)


def test_a_short_queue_holds_nobody_up(seats):
    tokens = crowd(seats, 2)
    grant(seats, A, capacity=2)
    grant(seats, B, capacity=2)
    for token in tokens:
        refuse(seats, token)
    seats.finish(A)
    grant(seats, tokens[1])                                     # the other comes when it was told


def test_those_that_do_not_come_back_lose_their_places(seats):
    tokens = crowd(seats, 6)
    seats.redis.hset(seats.claim, mapping={"mean": 10, "runs": 128})
    grant(seats, A, capacity=1, ttl=LEASE)
    for token in tokens[:4]:
        refuse(seats, token, capacity=1, ttl=100)
        after(seats, 1)
    seats.redis.persist(seats.queue)                            # as where others wait behind them
    after(seats, 300)
    assert refuse(seats, tokens[4], capacity=1, ttl=100)[4] == 3   # two are looked at each time
    assert refuse(seats, tokens[5], capacity=1, ttl=100)[4] == 2
    assert seats.redis.zrange(seats.queue, 0, -1) == ["d4", "d5"]


def test_the_queue_is_gone_when_nobody_waits(seats):
    seats.knows(A, B)
    grant(seats, A, capacity=1)
    refuse(seats, B, capacity=1)
    assert 0 < seats.redis.pttl(seats.queue) <= 2 * LEASE
    seats.finish(A)
    grant(seats, B, capacity=1)
    assert seats.redis.exists(seats.queue) == 0


def test_a_refusal_costs_the_same_in_any_queue(seats):
    counts = []
    for size in (10, 5000):
        seats.redis.flushall()
        seats.knows(A, B)
        grant(seats, A, capacity=1)
        now = seats.now()
        seats.redis.zadd(seats.queue, {f"q{n}": now - size + n for n in range(size)})
        seats.redis.hset(seats.devices, mapping={
            f"q{n}": f"0 0 0 0 0 0 0 0 {now + PERIOD} 0 blank b1 s1 " for n in range(size)})
        seats.redis.config_resetstat()
        assert refuse(seats, B, capacity=1)[4] == size + 1
        counts.append(sum(stat["calls"] for stat in seats.redis.info("commandstats").values()))
    assert counts[0] == counts[1] < 30


# A whole fleet that comes at once. Virtual time: the script's is moved by taking TIME out of it.

class Round:
    """One turn of `devices` devices; runs take `mean_ms` in the mean, by `draw`."""

    def __init__(self, seats, devices, capacity, draw, seed):
        self.seats, self.capacity, self.draw = seats, capacity, draw
        self.random = random.Random(seed)
        self.now = 1_700_000_000_000
        self.turn = self.now
        self.events, self.asks, self.started, self.first = [], {}, {}, {}
        self.scripts = {name: self.load(name) for name in ("seat_acquire", "seat_finish")}
        keys = seats.seats, seats.claim, seats.pause, seats.devices, seats.history, seats.lock, seats.queue
        self.keys = {"seat_acquire": keys, "seat_finish": [keys[i] for i in (0, 1, 3, 4, 2)]}
        record = f"{self.turn - PERIOD} 1 {self.turn - PERIOD} 0 0 0 1 0 0 1 succeeded b1 s1 old"
        seats.redis.hset(seats.devices, mapping={f"d{n}": record for n in range(devices)})
        for number in range(devices):
            self.at(self.now + self.random.randrange(LEASE), "ask", number)

    def load(self, name):
        body = script_body(name)
        clock = "redis.call('TIME')"
        assert body.count(clock) == 1
        body = body.replace(clock, "{tonumber(ARGV[#ARGV]) / 1000, 0}")
        # Virtual instants are long past for the server: nothing may expire by its own clock.
        body = body.replace("redis.call('PEXPIREAT', ", "type(").replace("redis.call('PEXPIRE', ", "type(")
        body = body.replace("redis.pcall('PEXPIRE', ", "type(").replace("call('PEXPIRE', ", "type(")
        return self.seats.redis.register_script(body)

    def at(self, when, what, number):
        heapq.heappush(self.events, (when, self.random.random(), what, number))

    def run(self, name, *arguments):
        return self.scripts[name](keys=self.keys[name], args=[*arguments, self.now])

    def ask(self, number):
        self.asks[number] = self.asks.get(number, 0) + 1
        self.first.setdefault(number, self.now)
        word, _, left, *_ = self.run("seat_acquire", f"d{number}:x", self.turn, self.turn + LONG, LEASE, 3,
                                     LONG, LONG, 0, "f1", "s1", 0, self.capacity, f"d{number}", "b1", 0)
        if word == "full":
            self.at(self.now + left + self.random.randrange(100), "ask", number)
            return
        assert word == "acquired", word
        self.started[number] = self.now
        self.at(self.now + self.draw(self.random), "end", number)

    def end(self, number):
        self.asks[number] += 1
        self.run("seat_finish", f"d{number}:x", self.turn, 1, "succeeded", 0, 0, 3, LONG, 0, "", 5, 1, 0,
                 f"d{number}", "b1", 0, LEASE)

    def play(self):
        while self.events:
            self.now, _, what, number = heapq.heappop(self.events)
            getattr(self, what)(number)
        return self

    def displaced(self):
        """How far each device started from its place in the order of asking, as a share of all."""
        order = sorted(self.first, key=self.first.get)
        place = {number: index for index, number in enumerate(order)}
        served = sorted(self.started, key=self.started.get)
        return sorted(abs(place[number] - index) / len(served) for index, number in enumerate(served))


@pytest.mark.parametrize("draw", [lambda r: 5000, lambda r: min(9000, 1 + int(r.expovariate(1 / 4000)))],
                         ids=["constant", "random"])
def test_a_fleet_that_comes_at_once_is_served_fairly_and_in_few_commands(seats, draw):
    devices, capacity = 1000, 10
    seed = int(os.environ.get("ROTA_SEED", random.randrange(2**32)))
    print(f"ROTA_SEED={seed}")
    round_ = Round(seats, devices, capacity, draw, seed).play()
    commands = sorted(round_.asks.values())
    displaced = round_.displaced()
    took = max(round_.started.values()) - round_.turn
    print(f"commands a device: {statistics.mean(commands):.2f}, 99 %: {commands[-devices // 100]}, most: "
          f"{commands[-1]}; displaced: mean {statistics.mean(displaced):.1%}, 99 %: "
          f"{displaced[-devices // 100]:.1%}; all started in {took / 1000:.0f} s")
    assert len(round_.started) == devices
    assert statistics.mean(commands) <= 6
    assert displaced[-devices // 100] <= 0.10
