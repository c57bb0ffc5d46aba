# SPDX-License-Identifier: MIT
"""What the devices of a fleet tell one another through Redis: hello, the index of jobs, configurations."""
import pytest
import redis

from script_job import fill, spoil

HOUR, DAY = 3_600_000, 86_400_000
KEEP = 30 * DAY
MINUTES = 600_000


class Fleet:
    def __init__(self, job):
        self.job, self.redis = job, job.redis
        for kind in ("size", "jobs", "devices", "confs", "seen"):
            setattr(self, kind, f"test:{{_fleet}}:{kind}")

    def hello(self, device="device-a", weight=0, boot="b1", digest="", jobs="", keep=KEEP, used=DAY):
        keys = [self.size, self.jobs, self.devices, self.confs, self.seen]
        word, now, size, hellos, boots, twin, wanted, done, others = self.job.run(
            "hello", keys, weight, keep, device, boot, "0.1.0", digest, jobs, used)
        assert word == "hello" and now > 0
        return {"size": size, "hellos": hellos, "boots": boots, "twin": twin, "wanted": wanted, "done": done,
                "others": others}

    def put(self, digest, text):
        return self.job.run("config_put", [self.confs, self.seen], digest, text, KEEP)

    def get(self, digest):
        return self.job.run("config_get", [self.confs], digest)[2]

    def index(self, name, done, keep=KEEP):
        return self.job.run("index", [self.jobs], name, done, keep)

    def hour_ago(self):
        """An hour and its hellos have passed."""
        numbers = self.redis.hgetall(self.size)
        self.redis.hset(self.size, "hour", int(numbers["hour"]) - 1)

    def middle(self):
        """How much of the hour before still counts."""
        return 1 - self.job.now() % HOUR / HOUR


@pytest.fixture
def fleet(job):
    return Fleet(job)


# The fleet's size.

def test_a_first_hello_weighs_nothing(fleet):
    assert [fleet.hello(f"device-{n}")["size"] for n in range(3)] == [1, 1, 1]
    assert fleet.hello("device-3")["boots"] == 4


def test_a_device_that_starts_over_and_over_is_one(fleet):
    assert [fleet.hello(boot=f"b{n}")["boots"] for n in range(3)] == [1, 1, 1]
    heard = fleet.redis.hget(fleet.devices, "device-a").split(" ", 1)
    fleet.redis.hset(fleet.devices, "device-a", f"{int(heard[0]) - 2 * HOUR} {heard[1]}")
    assert fleet.hello()["boots"] == 2                  # it was not heard of for so long that no other number has it


def test_each_hello_weighs_its_time_until_the_next(fleet):
    for device in range(60):
        answer = fleet.hello(f"device-{device}", weight=MINUTES)
    assert answer["size"] == 10                         # 60 hellos, each for a sixth of an hour
    assert (answer["hellos"], answer["boots"]) == (60, 0)


def test_the_hour_before_counts_for_what_is_left_of_it(fleet):
    for _ in range(60):
        fleet.hello(weight=10 * HOUR)
    fleet.hour_ago()
    wanted = 600 * fleet.middle()
    answer = fleet.hello("device-b")
    assert abs(answer["size"] - wanted) <= 2 and (answer["hellos"], answer["boots"]) == (60, 1)
    fleet.redis.hincrby(fleet.size, "hour", -1)         # and the one before that no more
    assert fleet.hello()["size"] == 1


def test_a_weight_is_bounded(fleet):
    assert fleet.hello(weight=10**15)["size"] == 720


def test_a_slice_counts_for_nothing(fleet):
    fleet.index("backup", fleet.job.now())
    answer = fleet.hello(weight=-1, jobs="backup")
    assert (answer["hellos"], answer["boots"]) == (0, 0) and answer["done"] != [0]


def test_the_size_lives_for_two_hours(fleet):
    fleet.hello()
    assert HOUR < fleet.redis.pttl(fleet.size) <= 2 * HOUR


@pytest.mark.parametrize("rubbish", ["inf", "nan", "-1", "text", "9" * 40])
def test_damaged_numbers_count_as_nothing(fleet, rubbish):
    fleet.hello()
    fleet.redis.hset(fleet.size, mapping={field: rubbish for field in ("hour", "now", "before", "boots")})
    fleet.redis.hset(fleet.jobs, "backup", rubbish)
    assert fleet.hello(jobs="backup")["size"] == 1


# Which devices there are.

def test_a_device_is_known_by_time_boots_version_and_configuration(fleet):
    fleet.hello(digest="d1")
    fleet.hello(boot="b2", digest="d1")
    time, boot, before, version, digest = fleet.redis.hget(fleet.devices, "device-a").split()
    assert abs(int(time) - fleet.job.now()) < 5000
    assert (boot, before, version, digest) == ("b2", "b1", "0.1.0", "d1")


def test_two_machines_of_one_name_are_found(fleet):
    answers = [fleet.hello(boot=boot)["twin"] for boot in ("b1", "b1", "b2", "b2", "b1", "b2")]
    assert answers == [0, 0, 0, 0, 1, 1]


def test_one_machine_that_starts_anew_is_no_two(fleet):
    assert [fleet.hello(boot=f"b{n}")["twin"] for n in range(5)] == [0] * 5


def test_where_no_boot_is_known_nothing_is_a_twin(fleet):
    assert [fleet.hello(boot=boot)["twin"] for boot in ("-", "-", "b1", "-")] == [0] * 4


def test_devices_that_are_no_more_are_forgotten_a_few_at_a_time(fleet):
    old = fleet.job.now() - KEEP - 1
    gone = {f"gone-{n}": f"{old} b1 - 0.1.0 -" for n in range(20)}
    fleet.redis.hset(fleet.devices, mapping=gone)
    before = fleet.redis.hlen(fleet.devices)
    fleet.hello()
    assert fleet.redis.hlen(fleet.devices) >= before + 1 - 2
    for _ in range(1000):
        fleet.hello()
        if fleet.redis.hlen(fleet.devices) == 1:
            break
    assert fleet.redis.hkeys(fleet.devices) == ["device-a"]


def test_a_shorter_retention_does_not_shorten_what_another_device_asked_for(fleet):
    fleet.hello(keep=KEEP)
    fleet.hello("device-b", keep=KEEP // 10)
    assert fleet.redis.pttl(fleet.devices) > KEEP // 2


# The index of jobs.

def test_what_was_done_is_told_in_the_order_of_the_question(fleet):
    now = fleet.job.now()
    fleet.index("backup", now - 2000)
    fleet.index("report", now - 1000)
    assert fleet.hello(jobs="report nothing backup")["done"] == [now - 1000, 0, now - 2000]
    assert fleet.hello(jobs="")["done"] == []


def test_a_thousand_jobs_are_told_at_once(fleet):
    names = [f"job{n}" for n in range(1000)]
    now = fleet.job.now()
    fleet.redis.hset(fleet.jobs, mapping={name: now + n for n, name in enumerate(names)})
    done = fleet.hello(jobs=" ".join(names))["done"]
    assert len(done) == 1000 and done[999] - done[0] == 999


def test_jobs_that_are_no_more_are_forgotten(fleet):
    fleet.index("backup", fleet.job.now() - KEEP - 1000)
    fleet.hello()
    assert fleet.redis.hlen(fleet.jobs) == 0


def test_the_index_only_grows(fleet):
    fleet.index("backup", 2000)
    fleet.index("backup", 1000)
    assert fleet.redis.hget(fleet.jobs, "backup") == "2000"
    assert 0 < fleet.redis.pttl(fleet.jobs) <= KEEP


def test_a_turn_from_the_servers_future_does_not_stand_in_the_index(fleet):
    fleet.index("backup", fleet.job.now() + DAY)
    fleet.index("backup", 2000)
    assert fleet.redis.hget(fleet.jobs, "backup") == "2000"


# Configurations in use.

def test_a_configuration_is_wanted_once(fleet):
    assert fleet.hello(digest="d1")["wanted"] == 1
    assert fleet.put("d1", "backup f1")[0] == "stored"
    assert fleet.hello(digest="d1")["wanted"] == 0
    assert fleet.get("d1") == "backup f1"
    assert fleet.get("d2") == ""


def test_who_has_no_configuration_is_not_asked_for_one(fleet):
    assert fleet.hello(digest="")["wanted"] == 0


def test_others_are_told_the_newest_first_and_oneself_never(fleet):
    now = fleet.job.now()
    for number in range(12):
        fleet.put(f"d{number}", "text")
        fleet.redis.zadd(fleet.seen, {f"d{number}": now - 1000 * number})
    assert fleet.hello(digest="d0")["others"] == [f"d{n}" for n in range(1, 9)]
    assert fleet.hello("device-b", digest="d1")["others"][0] == "d0"


def test_a_configuration_that_nobody_has_had_for_a_day_is_not_told(fleet):
    fleet.put("d1", "text")
    fleet.redis.zadd(fleet.seen, {"d1": fleet.job.now() - DAY - 1000})
    assert fleet.hello("device-c", digest="d3", used=4 * DAY)["others"] == ["d1"]
    assert fleet.hello(digest="d2")["others"] == []
    fleet.hello("device-b", digest="d1")                # it is in use again
    assert fleet.hello(digest="d2")["others"] == ["d1"]


def test_a_configuration_older_than_the_retention_goes(fleet):
    fleet.put("d1", "text")
    fleet.redis.zadd(fleet.seen, {"d1": fleet.job.now() - KEEP - 1000})
    fleet.hello()
    assert fleet.redis.zcard(fleet.seen) == 0 and fleet.get("d1") == ""


def test_configurations_are_bounded(fleet):
    for number in range(80):
        fleet.put(f"d{number}", "text")
        fleet.redis.zadd(fleet.seen, {f"d{number}": fleet.job.now() - 80 + number})
    assert fleet.redis.zcard(fleet.seen) == fleet.redis.hlen(fleet.confs) == 64
    assert fleet.get("d15") == "" and fleet.get("d16") == "text"
    assert fleet.hello(digest="another")["wanted"] == 0         # all in use: no room
    fleet.redis.zadd(fleet.seen, {"d16": fleet.job.now() - DAY - 1000})
    assert fleet.hello(digest="another")["wanted"] == 1


def test_what_a_device_had_before_is_no_other_configuration(fleet):
    fleet.hello(digest="d1")
    fleet.put("d1", "text")
    assert fleet.hello(digest="d2")["others"] == []
    assert (fleet.get("d1"), fleet.redis.zcard(fleet.seen)) == ("", 0)
    assert fleet.hello("device-b", digest="d1")["wanted"] == 1          # who still has it says so
    fleet.put("d1", "text")
    assert fleet.hello(digest="d2")["others"] == ["d1"]


def test_what_others_were_heard_of_with_since_is_in_use(fleet):
    for device in ("device-a", "device-b"):
        fleet.hello(device, digest="d1")
    fleet.put("d1", "text")
    time, rest = fleet.redis.hget(fleet.devices, "device-a").split(" ", 1)
    fleet.redis.hset(fleet.devices, "device-a", f"{int(time) - MINUTES} {rest}")
    assert [fleet.hello(digest="d2")["others"] for _ in range(2)] == [["d1"]] * 2
    assert fleet.get("d1") == "text"


# What a hello may not do.

@pytest.mark.parametrize("key", ["size", "jobs", "devices", "confs", "seen"])
def test_a_key_of_a_wrong_type_changes_nothing(fleet, key):
    fleet.hello(digest="d1")
    fleet.put("d1", "text")
    spoil(fleet.job, getattr(fleet, key))
    before = fleet.job.state()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        fleet.hello(digest="d1", jobs="backup")
    assert fleet.job.state() == before


def test_a_full_redis_answers_all_the_same(fleet):
    fleet.index("backup", 1000)
    fill(fleet.job)
    assert fleet.hello(digest="d1", jobs="backup", weight=MINUTES)["done"] == [1000]


def test_a_hello_costs_the_same_in_any_fleet(fleet):
    """Commands are counted, each O(1) or O(log N) by what it is asked for."""
    counts = []
    for size in (20, 5000):
        fleet.redis.flushall()
        now = fleet.job.now()
        fleet.redis.hset(fleet.devices, mapping={f"d{n}": f"{now} b1 - 0.1.0 d1" for n in range(size)})
        fleet.put("d1", "text")
        fleet.hello(digest="d1", jobs="backup")
        fleet.redis.config_resetstat()
        fleet.hello("d1", digest="d1", jobs="backup", weight=MINUTES)
        stats = fleet.redis.info("commandstats")
        counts.append(sum(stat["calls"] for stat in stats.values()))
    assert abs(counts[0] - counts[1]) <= 5 and max(counts) < 35  # by which records it looked at


def test_every_key_of_the_fleet_expires(fleet):
    fleet.hello(digest="d1")
    fleet.put("d1", "text")
    fleet.index("backup", fleet.job.now())
    fleet.hello(digest="d1")
    keys = fleet.redis.keys()
    assert len(keys) == 5 and all(fleet.redis.pttl(key) > 0 for key in keys)
