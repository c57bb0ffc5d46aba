# SPDX-License-Identifier: MIT
"""The soak's checker finds what breaks each promise, and lets pass what a fault excuses: by histories built here.
Times are ms from the soak's begin."""
import json
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import check  # noqa: E402
import jobs  # noqa: E402

WALL_MS, BOOT_US = 1_800_000_300_000, 1_000_000_000  # on every grid of the jobs
LENGTH = 120_000
DEVICES = ["d01", "d02", "d03"]
SCRIPTS = {"SET": "aaaaaaaa", "PEXPIRE": "bbbbbbbb", "DEL": "cccccccc", "ZADD": "dddddddd", "ZREM": "eeeeeeee"}


def us(at):
    return BOOT_US + round(at * 1000)


class World:
    """A soak in which all is well; what the tests do to it comes on top."""

    def __init__(self):
        self.resolved = jobs.resolved(DEVICES)
        self.facts = {"seed": 1, "prefix": "soak:", "devices": DEVICES, "watchdog_us": 10_000_000,
                      "command_timeout": 500, "connect_timeout": 1000, "jobs": self.resolved, "begin_us": us(0),
                      "end_us": us(LENGTH), "begin_ms": WALL_MS, "end_ms": WALL_MS + LENGTH, "quiet_from_us": us(0),
                      "interrupted": False}
        self.ledgers = {name: [] for name in DEVICES}
        self.lives = {name: [{"pid": 1, "begin_us": us(0), "end_us": us(LENGTH), "how": "the end"}] for name in DEVICES}
        self.pings = {name: [{"us": us(at), "pid": 1, "text": "WATCHDOG=1"} for at in range(0, LENGTH, 5_000)]
                      for name in DEVICES}
        self.journals = {name: "" for name in DEVICES}
        self.commands, self.history, self.faults, self.samples, self.count = [], [], [], [], 0
        for at in range(0, LENGTH, 5_000):
            used = {name: {"pid": 1, "private_kib": 400, "fds": 13, "children": 0, "zombies": 0} for name in DEVICES}
            self.samples.append({"us": us(at), "devices": used, "redis": {
                "a": {"memory": 2_000_000, "clients": 5, "keys": 40, "role": "master"}, "b": None}})

    def usual(self, *left_out):
        """Every turn of every job that is done, but the (job, turn, device) left out."""
        for job, facts in self.resolved.items():
            if facts["mode"] in ("poison", "fails"):
                continue
            for turn in range(facts["every"], LENGTH, facts["every"]):
                each = facts["scope"] == "device"
                for number, name in enumerate(DEVICES if each else [DEVICES[turn // facts["every"] % 3]]):
                    if (job, turn) not in left_out and (job, turn, name) not in left_out and \
                            turn + facts["work_ms"] + 100 < LENGTH:
                        self.run(name, job, turn, at=turn + 20 + number)
        return self

    def command(self, at, device, job, *words, server="a"):
        key = f"soak:{{{job}}}:{'seats' if words[0].startswith('Z') else 'lock'}"
        self.commands.append({"us": us(at), "server_us": round((WALL_MS + at) * 1000), "server": server,
                              "client": f"10.77.1.{int(device[1:])}:5000", "script": SCRIPTS[words[0]],
                              "words": [words[0], key, *map(str, words[1:])]})

    def note(self, at, device, what, job, turn, fence, attempt, pid, role="main"):
        words = (us(at), round((WALL_MS + at) * 1000), what, job, WALL_MS + turn, fence, attempt, pid, role, "-")
        self.ledgers[device].append((at, " ".join(map(str, words))))

    def run(self, device, job, turn, at=None, attempt=1, outcome="succeeded", release=None, fence=None, last=None,
            lines=(), role="main"):
        """A run with its lock and its record; outcome None: nobody ever heard of its end."""
        facts, at = self.resolved[job], turn + 20 if at is None else at
        end = at + 10 + facts["work_ms"] if last is None else last
        self.count += 1
        token = f"{device}:{self.count:032x}"
        by_seat = facts["scope"] == "device"
        fence = (0 if by_seat else WALL_MS + at) if fence is None else fence
        if by_seat:
            self.command(at, device, job, "ZADD", WALL_MS + at + facts["lease"], token)
        else:
            self.command(at, device, job, "SET", token, "PX", facts["lease"])
            for renewed in range(1, int((end - at) / facts["lease"] * 3) if facts["renewed"] and outcome else 0):
                self.command(at + renewed * facts["lease"] / 3, device, job, "PEXPIRE", facts["lease"])
        self.note(at + 10, device, "begin", job, turn, fence, attempt, self.count)
        self.note(end, device, "beat", job, turn, fence, attempt, self.count, role)
        if outcome in ("succeeded", "failed"):
            self.note(end, device, "end" if outcome == "succeeded" else "fail", job, turn, fence, attempt, self.count)
        for what in lines:
            self.note(end, device, what, job, turn, fence, attempt, self.count)
        freed = outcome in ("succeeded", "failed") if release is None else release
        if freed:
            self.command(end + 10, device, job, *(("ZREM", token) if by_seat else ("DEL",)))
        if outcome:
            self.record(end + 10, job, turn, attempt, token, outcome)
        return token

    def record(self, at, job, turn, attempt, token, outcome):
        self.history.append({"us": us(at), "server": "a", "job": job, "id": f"{WALL_MS + round(at)}-0", "fields": {
            "turn": str(WALL_MS + turn), "attempt": str(attempt), "token": token, "outcome": outcome}})

    def fault(self, kind, begin, end, *devices, **more):
        self.faults.append({"begin_us": us(begin), "end_us": us(end), "kind": kind, "devices": list(devices),
                            "ok": True, **more})

    def findings(self, folder):
        def write(path, rows):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        write(folder / "soak.json", [self.facts])
        write(folder / "faults.jsonl", self.faults)
        write(folder / "samples.jsonl", self.samples)
        write(folder / "redis" / "commands.jsonl", self.commands)
        write(folder / "redis" / "history.jsonl", self.history)
        for name in DEVICES:
            place = folder / "devices" / name
            write(place / "lives.jsonl", self.lives[name])
            write(place / "notify.jsonl", self.pings[name])
            (place / "journal").write_text(self.journals[name])
            (place / "ledger").write_text("".join(f"{line}\n" for _, line in sorted(self.ledgers[name])))
        return check.examine(folder)


def lost(world):
    world.fault("empty server", 40_000, 40_100, server="a", lost_data=True)


def nothing(_world):
    pass


def again(world):
    world.run("d02", "fenced", 50_000, at=52_000)


def done_untold(world):
    """Work that was done, of which nobody has heard: its lease ends, and another device does it again."""
    world.history = [each for each in world.history if each["fields"]["turn"] != str(WALL_MS + 50_000) or
                     each["job"] != "fenced"]
    world.commands = [each for each in world.commands if not (
        each["words"][0] == "DEL" and "fenced" in each["words"][1] and us(50_000) < each["us"] < us(52_000))]
    world.run("d01", "fenced", 50_000, at=56_000, attempt=2)


def four_tries(world):
    for number in range(4):
        world.run("d01", "flaky", 56_000, at=56_000 + number * 1_500, attempt=min(3, number + 1), outcome="failed")


def attempt_four(world):
    world.run("d01", "flaky", 56_000, attempt=4)


def dies(world):
    world.run("d01", "long", 60_000, outcome=None, last=64_000)
    world.fault("lose device", 64_000, 90_000, "d01", gone_us=us(64_000))
    for name in ("d02", "d03"):
        world.journals[name] = "2027-01-15T08:06:00.100Z debug: long: ASKING -> WATCHING (AGAIN)\n"


def crash_said_to_fail(world):
    world.run("d01", "poison", 60_000, outcome="failed", lines=["crash"])
    world.ledgers["d01"] = [each for each in world.ledgers["d01"] if " fail poison " not in each[1]]


def killed_and_freed(world):
    token = world.run("d01", "long", 60_000, outcome=None, last=64_000)
    world.fault("kill worker", 64_050, 64_060, "d01")
    world.command(64_100, "d01", "long", "DEL")
    world.record(64_100, "long", 60_000, 1, token, "failed")


def too_long(world):
    world.run("d01", "tree", 60_000, outcome=None, last=65_500, role="daemon")


def alive_after_release(world):
    world.run("d01", "tree", 60_000)
    world.ledgers["d01"].append((64_500, world.ledgers["d01"][-1][1].replace(str(us(64_030)), str(us(64_500)))))


def two_at_once(world):
    world.run("d01", "fenced", 50_000, at=50_100)
    world.run("d02", "fenced", 50_000, at=50_600, attempt=2)


def four_seats(world):
    for number in range(4):
        world.run(DEVICES[number % 3], "seats", 60_000, at=60_000 + number * 100 if number < 3 else 60_550)
        world.commands = [each for each in world.commands
                          if each["words"][0] != "ZREM" or each["us"] < us(60_000) or "seats}" not in each["words"][1]]


def foreign_renewal(world):
    world.run("d01", "tree", 60_000)
    world.command(61_000, "d02", "tree", "PEXPIRE", 5_000)


def foreign_release(world):
    world.command(50_500, "d01", "fenced", "DEL")


def taken_while_held(world):
    world.run("d01", "fenced", 50_000, outcome=None, last=50_500)
    world.run("d02", "fenced", 50_000, at=52_000, attempt=2)


def crash_frees(world):
    world.run("d01", "fenced", 50_000, outcome="crashed", release=True)


def crash_frees_a_seat(world):
    world.run("d01", "each", 60_000, outcome="crashed", release=True)


def poisoned(world):
    for number in range(3):
        world.run("d01", "poison", 60_000, at=60_000 + number * 5_000, attempt=number + 1, outcome="crashed",
                  lines=["crash"])
    for number in range(2):
        world.run("d02", "poison", 90_000, at=90_000 + number * 5_000, attempt=number + 1, outcome="crashed",
                  lines=["crash"])


def sulks(world):
    for number in range(7):
        world.run(DEVICES[number % 2], "sulky", 30_000 + number // 6 * 30_000, attempt=number // 2 % 3 + 1,
                  at=30_000 + number * 1_300 + number // 6 * 25_000, outcome="failed")


def too_early(world):
    world.run("d01", "fenced", 50_000, at=49_500)


def too_late(world):
    world.run("d01", "fenced", 50_000, at=60_900 - 200)


def off_the_grid(world):
    world.run("d01", "fenced", 51_234, at=51_900)


def at_once_after_loss(world):
    lost(world)
    world.run("d01", "tree", 30_000, at=41_000)


def old_fence(world):
    world.run("d01", "fenced", 50_000, fence=WALL_MS + 30_000)


def refused(world):
    world.run("d01", "fenced", 50_000, outcome="failed", lines=["refused"])


def exits(world):
    world.lives["d02"][:0] = [{"pid": 9, "begin_us": us(0), "end_us": us(50_000), "how": "exit 1"}]


def is_silent(world):
    world.pings["d02"] = [each for each in world.pings["d02"] if not us(40_000) < each["us"] < us(60_000)]


def never_tells(world):
    world.pings["d02"] = []


def hides_at_the_end(world):
    world.ledgers["d03"] = [each for each in world.ledgers["d03"] if " each " not in each[1] or each[0] < 80_000]


def dead_at_the_end(world):
    world.lives["d03"][-1]["how"] = "killed by us"


def grows(what, by):
    def grown(world):
        for number, each in enumerate(world.samples):
            each["devices"]["d01"][what] += number * by
    return grown


def server_grows(world):
    for number, each in enumerate(world.samples):
        each["redis"]["a"]["memory"] += number * 500_000


def zombies(world):
    for each in world.samples[-3:]:
        each["devices"]["d02"]["zombies"] = 1


# What is done, the turns left out for it, the promise that is broken; and what excuses it.
BROKEN = [
    (again, [], "1 once a turn", lambda world: world.fault("empty server", 51_600, 51_700, lost_data=True)),
    (done_untold, [], "1 once a turn", lambda world: world.fault("partition device", 51_000, 56_000, DEVICES[5 % 3])),
    (four_tries, [("flaky", 56_000)], "1 at most so many attempts",
     lambda world: world.fault("switch", 57_000, 57_000)),
    (attempt_four, [("flaky", 56_000)], "1 at most so many attempts", None),
    (dies, [("long", 60_000)], "2 takeover",
     lambda world: [world.fault("loss", 65_000, 70_000, name) for name in ("d02", "d03")]),
    (too_long, [("tree", 60_000)], "3 the lease outlives the work",
     lambda world: world.fault("stop device beyond the lease", 62_000, 65_480, "d01")),
    (alive_after_release, [("tree", 60_000)], "3 the lease outlives the work", None),
    (two_at_once, [("fenced", 50_000)], "3 no two runs of a lock",
     lambda world: world.fault("empty server", 50_300, 50_400, lost_data=True)),
    (four_seats, [("seats", 60_000)], "3 no two runs of a lock",
     lambda world: world.fault("switch", 60_500, 60_500)),
    (foreign_renewal, [("tree", 60_000)], "4 nobody's lock but one's own", None),
    (foreign_release, [], "4 nobody's lock but one's own", None),
    (taken_while_held, [("fenced", 50_000)], "5 a crash lets the lock expire",
     lambda world: world.fault("switch", 51_000, 51_000)),
    (crash_frees, [("fenced", 50_000)], "5 a crash lets the lock expire", None),
    (crash_frees_a_seat, [("each", 60_000, "d01")], "5 a crash lets the lock expire", None),
    (crash_said_to_fail, [], "5 a crash lets the lock expire",
     lambda world: world.fault("switch", 60_300, 60_300)),
    (killed_and_freed, [("long", 60_000)], "5 a crash lets the lock expire", None),
    (poisoned, [], "6 a poison job is contained", lambda world: world.fault("switch", 80_000, 80_000)),
    (sulks, [], "6 a job that fails everywhere is paused",
     lambda world: world.fault("resume sulky", 50_000, 50_100, job="sulky")),
    (too_early, [("fenced", 50_000)], "7 nothing runs by surprise", None),
    (too_late, [("fenced", 50_000), ("fenced", 60_000)], "7 nothing runs by surprise",
     lambda world: world.fault("stop device", 59_000, 60_500, "d01")),
    (off_the_grid, [], "7 by hand only where asked",
     lambda world: world.fault("run by hand", 51_000, 51_800, "d01", job="fenced", by_hand=True)),
    (at_once_after_loss, [("tree", 30_000)], "7 nothing at once after lost data", None),
    (old_fence, [("fenced", 50_000)], "7 fences grow", None),
    (refused, [("fenced", 50_000)], "7 fences grow", lambda world: world.fault("switch", 50_000, 50_000)),
    (exits, [], "9 rotad goes on", None),
    (is_silent, [], "9 the watchdog", lambda world: world.fault("stop supervisor", 41_000, 58_000, "d02")),
    (never_tells, [], "9 the watchdog", None),
    (hides_at_the_end, [], "9 all are well at the end", None),
    (dead_at_the_end, [], "9 all are well at the end", None),
    (grows("private_kib", 40), [], "9 nothing grows", None),
    (grows("fds", 1), [], "9 nothing grows", None),
    (server_grows, [], "9 nothing grows", None),
    (zombies, [], "9 nothing grows", None),
    (nothing, [("fenced", 50_000)], "all turns are done",
     lambda world: world.fault("pause", 49_000, 61_000, "d01", job="fenced")),
    (nothing, [("each", 60_000, "d02")], "all turns are done",
     lambda world: world.fault("partition device", 59_000, 91_000, "d02")),
]
IDS = [f"{case[0].__name__}-{number}" for number, case in enumerate(BROKEN)]


def test_all_is_well(tmp_path):
    findings = World().usual().findings(tmp_path)
    assert not findings.broken and not findings.excused
    assert findings.examined["all turns are done"] > 100 and findings.examined["3 no two runs of a lock"] > 100


@pytest.mark.parametrize("do, left_out, promise, _excuse", BROKEN, ids=IDS)
def test_broken(tmp_path, do, left_out, promise, _excuse):
    world = World().usual(*left_out)
    do(world)
    assert promise in {each for each, _ in world.findings(tmp_path).broken}


@pytest.mark.parametrize("do, left_out, promise, excuse", [case for case in BROKEN if case[3]],
                         ids=[name for name, case in zip(IDS, BROKEN) if case[3]])
def test_excused(tmp_path, do, left_out, promise, excuse):
    world = World().usual(*left_out)
    do(world)
    excuse(world)
    findings = world.findings(tmp_path)
    assert promise not in {each for each, _ in findings.broken}, findings.broken


def test_one_watcher_that_is_well_is_enough(tmp_path):
    world = World().usual(("long", 60_000))
    dies(world)
    world.fault("loss", 65_000, 70_000, "d02")
    assert "2 takeover" in {each for each, _ in world.findings(tmp_path).broken}


@pytest.mark.parametrize("end, missed", [(65_000, True), (85_000, False)])
def test_a_fault_excuses_a_turn_for_which_it_left_no_time(tmp_path, end, missed):
    world = World().usual(("each", 60_000, "d02"))
    world.fault("partition server", 58_000, end, server="a")  # until 15 s later all may be ill; the window is 30 s
    assert ("all turns are done" in {each for each, _ in world.findings(tmp_path).broken}) == missed


def test_a_pid_that_comes_back(tmp_path):
    world = World().usual()
    world.lives["d02"] = [{"pid": 1, "begin_us": us(begin), "end_us": us(end), "how": how}
                          for begin, end, how in ((0, 40_000, "killed by us"), (60_000, LENGTH, "the end"))]
    world.pings["d02"] = [each for each in world.pings["d02"] if not us(40_000) < each["us"] < us(60_000)]
    assert not world.findings(tmp_path).broken


def test_what_was_never_seen_is_no_proof(tmp_path):
    world = World()
    world.facts["end_us"] = us(300_000)
    broken = [promise for promise, sentence in world.findings(tmp_path).broken if sentence == "no case of it was seen"]
    assert {"1 once a turn", "3 the lease outlives the work", "6 a poison job is contained"} <= set(broken)


def test_a_line_cut_short_by_a_kill(tmp_path):
    world = World().usual()
    world.ledgers["d01"].append((LENGTH, "1000 1800 beg"))
    assert not world.findings(tmp_path).broken
