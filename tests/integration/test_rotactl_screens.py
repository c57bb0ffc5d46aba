# SPDX-License-Identifier: MIT
"""rotactl fleet and rotactl explain, on devices that run."""
import json
import re
import statistics
import time

import pytest

from fleet import BUILD, ONCE, RENEWED, SANITIZED, SHORT, SLOWNESS, now_ms, wait_for
from rotactl import rotactl, wait_started

UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
MARKED = re.compile(r"^([ >!~p]) (\S+) +(.*)$")
DAY_MS = 86_400_000
RUBBISH = "\x1b]0;owned\x07\x1b[2J\r\n\x9b31m\u202e"


def fleet_of(fleet, jobs, count, each=None):
    """Devices that have found each other; the turn of the job that runs on each is due."""
    devices = [fleet.device(jobs) for _ in range(count)]
    if each:
        fleet.make_due_here(each, *devices)
    for device in devices:
        wait_started(device.start())
    wait_for(lambda: fleet.client.hlen("test:{_fleet}:devices") == count and fleet.client.hlen("test:{_fleet}:confs") > 0,
             10, "all devices have said hello")
    return devices


def rows_of(text):
    """What is said of each job: its mark and the rest of its line."""
    rows = {}
    for line in text.split("\n\n")[1].splitlines()[1:]:
        mark, name, rest = MARKED.match(line).groups()
        rows[name] = (mark, re.sub(" {2,}", "  ", rest.strip()))
    return rows


def screen(device, *words, status=None):
    done = rotactl(device, "fleet", *words)
    assert done.stderr == "" and done.returncode == (done.returncode if status is None else status), done
    return done.stdout


def as_json(device, *words):
    return json.loads(screen(device, "--json", *words))


def jobs_of(device):
    return {job["job"]: job for job in as_json(device)["jobs"]}


def well_behaved(text):
    """Nothing in it that a terminal would obey."""
    return all(c == "\n" or c.isprintable() for c in text)


# --- the fleet ---

def test_three_devices_and_every_kind_of_job(fleet):
    """Runs, has run, is given up, paused, retired, on each device, and by two configurations."""
    idle = {**SHORT, **ONCE, "attempts": 2}
    jobs = {"busy": {**RENEWED, **ONCE, **fleet.body("busy", UNTIL_FREED)}, "good": {**idle, **fleet.body("good")},
            "bad": {**idle, **fleet.body("bad", 'echo "vault: connection refused"; exit 1')},
            "paused": {**SHORT, "every": "1h", **fleet.body("paused")},
            "each": {**SHORT, "every": "366d", "catch_up": "366d", "scope": "device", "concurrency": 3, "splay": "0s",
                     **fleet.body("each")}}
    fleet.make_due("busy", "good", "bad")
    one, _ = fleet_of(fleet, jobs, 2, "each")
    other = fleet.device({**jobs, "good": {**jobs["good"], "worst_case": "3s"}})
    fleet.make_due_here("each", other)
    wait_started(other.start())
    assert rotactl(one, "pause", "paused", "--fleet", "--reason", "NAS full", "--for", "9d").returncode == 0
    fleet.client.hset("test:{_fleet}:jobs", mapping={"old": now_ms() - 90 * DAY_MS})
    fleet.client.hset("test:{_fleet}:devices", "gone:00000000", f"{now_ms() - 2 * DAY_MS} b1 - 0.0.9 {'d' * 8}")
    fleet.wait_entry("begin", "busy")
    wait_for(lambda: fleet.claim("bad").get("state") == "gave_up", 20, "the bad job is given up")
    wait_for(lambda: fleet.claim("good").get("state") == "succeeded", 10, "the good job has run")
    wait_for(lambda: len(fleet.entries("end", "each")) == 3, 20, "it has run on each device")
    wait_for(lambda: len(jobs_of(one)["good"]["configurations"]) == 2, 10, "both configurations are known")
    wait_for(lambda: jobs_of(one)["each"]["devices_done"] == 3, 10, "all have said so")
    text = screen(one, status=1)
    first, second = text.splitlines()[:2]
    assert re.fullmatch(rf"test on {re.escape(fleet.redis.address)}, (redis|valkey) [\d.]+, noeviction +\d\d:\d\d:\d\d UTC",
                        first)
    assert re.fullmatch(r"3 devices in the last day; 1 silent; rota \d+\.\d+\.\d+", second)
    rows = rows_of(text)
    assert list(rows)[-1] == "old" and list(rows)[:-1] == sorted(list(rows)[:-1])
    assert rows["busy"][0] == ">" and re.fullmatch(rf"\S+ 00:00  running  gate-\d  1/3  {SPAN}  \d s  1", rows["busy"][1])
    assert rows["bad"][0] == "!" and re.match(r"\S+ 00:00  given up  (2 devices|gate-\d)  2/2  ", rows["bad"][1])
    assert rows["paused"][0] == "p" and re.search(r'paused  by \S+: "NAS full", (9|8) days  1$', rows["paused"][1])
    assert rows["old"] == (" ", f"-  retired  last seen {day(now_ms() - 90 * DAY_MS)}; rotactl forget")
    assert rows["each"][0] == " " and re.match(r"\S+ 00:00  3/3  ", rows["each"][1])
    assert rows["good"][0] == "~" and rows["good"][1].endswith("2 !")
    assert '! bad: vault: connection refused (exit status 1). rotactl history bad\n' in text
    assert re.search(r"^~ good: 2 configurations: \w{8} on 2 devices, \w{8} on 1$", text, re.M)
    check = screen(one, "--check", status=1)
    assert check == "test: 6 jobs, 3 devices in the last day; 1 silent; bad given up, good 2 configurations\n"
    assert screen(one, "--noheadings", "-o", "job,state").splitlines()[0].split() == ["bad", "given", "up"]
    # Forgotten, it is gone.
    assert rotactl(one, "forget", "old").returncode == 0
    assert "old" not in jobs_of(one)
    (fleet.folder / "free").touch()


SPAN = r"\d+(?:\.\d)? (?:ms|s|min)(?: \d+ s)?"


def day(ms):
    return time.strftime("%Y-%m-%d", time.gmtime(ms // 1000))


def test_two_schedules_are_told_apart(fleet):
    """Each where it differs: by the schedule, which no device but its own knows."""
    job = {**SHORT, **fleet.body("purge")}
    one, = fleet_of(fleet, {"purge": {**job, "cron": "*/15 * * * *"}}, 1)
    two = wait_started(fleet.device({"purge": {**job, "every": "30m"}}).start())
    wait_for(lambda: fleet.client.hlen("test:{_fleet}:confs") == 2, 10, "both configurations are known")
    for device in (one, two):
        assert "~ purge: 2 configurations: " in screen(device, status=1)
    assert re.search(r"\*/15 \* \* \* \* UTC on 1( device)?", screen(one)) and re.search(r"every 30m on 1", screen(one))


def test_a_renamed_job_goes_by_its_present_name(fleet):
    device, = fleet_of(fleet, {"fresh": {**SHORT, "was": "stale", "every": "1h", **fleet.body("fresh")}}, 1)
    wait_for(lambda: fleet.claim("stale"), 10, "the job is known")
    assert list(jobs_of(device)) == ["fresh"]
    assert as_json(device, "fresh")["jobs"][0]["job"] == "fresh"


def test_a_fleet_that_is_well(fleet):
    fleet.make_done(now_ms() // 3_600_000 * 3_600_000, "report")
    device, = fleet_of(fleet, {"report": {**SHORT, "every": "1h", **fleet.body("report")}}, 1)
    text = screen(device, status=0)
    assert text.count("\n\n") == 1 and rows_of(text)["report"][0] == " "
    assert screen(device, "--check", status=0) == "test: 1 job, 1 device in the last day\n"
    assert as_json(device)["versions"][0]["devices"] == 1


def test_missing_lists_those_to_go_and_those_that_run(fleet):
    device, = fleet_of(fleet, {"firmware": {**SHORT, "every": "1h", "scope": "device", "concurrency": 3,
                                            **fleet.body("firmware")},
                               "report": {**SHORT, "every": "1h", **fleet.body("report")}}, 1)
    wait_for(lambda: fleet.record("firmware", device), 10, "the device has a record")
    digest = fleet.client.hget("test:{_fleet}:devices", fleet.machine(device)).split()[-1]
    turn, now = now_ms() // 3_600_000 * 3_600_000, now_ms()
    states = {"gate-a": (turn, 1, turn, "succeeded"), "gate-b": (turn, 1, 0, "running"),
              "gate-c": (turn, 3, 0, "gave_up"), "gate-d": (turn - 3_600_000, 1, turn - 3_600_000, "succeeded"),
              "gate-e\x1b[1m": (turn, 1, 0, "\x1b[31m"), "gate-old": (turn, 1, 0, "running"),
              "gate-other": (turn, 1, 0, "running")}
    for name, (at, attempt, done, state) in states.items():
        heard = now - 2 * DAY_MS if name == "gate-old" else now
        its = "ffffffff" if name == "gate-other" else digest
        fleet.client.hset("test:{_fleet}:devices", f"{name}:00000001", f"{heard} b1 - 1.0.0 {its}")
        fleet.client.hset(fleet.key("firmware", "devices"), f"{name}:00000001",
                          f"{at} {attempt} {done} 0 0 {at} {at + 5} 0 0 0 {state} b1 p1 {name}:0")
    fleet.client.hset("test:{_fleet}:devices", "gate-new:00000001", f"{now} b1 - 1.0.0 {digest}")
    fleet.client.hset(fleet.key("firmware", "claim"), mapping={"v": 1, "scope": "device", "done": turn})
    fleet.client.zadd(fleet.key("firmware", "seats"), {"gate-b:0": now + 600_000})
    here = fleet.record("firmware", device)
    missing = {"gate-b": "running", "gate-c": "given up", "gate-d": "to go", "gate-e\\x1b[1m": "\\x1b[31m",
               "gate-new": "to go"}
    if int(here["done"]) < turn:
        missing[device.name] = "to go"
    done = rotactl(device, "fleet", "firmware", "--missing")
    assert (done.returncode, done.stderr) == (0, "") and well_behaved(done.stdout)
    head, table = done.stdout.split("\n\n")
    assert head.startswith(f"firmware: {len(missing) - 1} to go, 1 running, of 7 devices; turn of ")
    lines = [re.split(" {2,}", line[2:])[:2] for line in table.splitlines()[1:]]
    assert [name for name, _ in lines] == sorted(missing) and table.splitlines()[1].startswith("> gate-b ")
    assert dict(lines) == missing
    found = json.loads(rotactl(device, "fleet", "firmware", "--missing", "--json").stdout)
    assert found["turn"] == turn and found["all"] == 7 and len(found["devices"]) == len(missing)
    text = screen(device)
    assert f"{7 - len(missing)}/7 1 running" in text
    assert re.search(rf"^  rotactl fleet firmware --missing +lists the {len(missing) - 1} to go and 1 running$", text, re.M)
    once = rotactl(device, "fleet", "report", "--missing")
    assert once.returncode == 64 and "runs once in the fleet" in once.stderr


def test_rubbish_in_redis_breaks_no_screen(fleet):
    jobs = {name: {**SHORT, "every": "1h", **fleet.body(name)} for name in ("plain", "twisted", "wrong")}
    device, = fleet_of(fleet, jobs, 1)
    wait_for(lambda: fleet.claim("twisted") and fleet.claim("wrong"), 10, "the jobs are known")
    now, client = now_ms(), fleet.client
    client.hset(fleet.key("twisted", "claim"), mapping={
        "turn": "9" * 30, "done": "no", "attempt": "-4", "token": RUBBISH * 50, "state": "gave_up", "detail": RUBBISH * 100,
        "started": "1e400", "ended": "nan", "streak": RUBBISH})
    client.set(fleet.key("twisted", "pause"), RUBBISH * 40)
    client.xadd(fleet.key("twisted", "history"), {RUBBISH: RUBBISH, "turn": RUBBISH, "ran": RUBBISH, "token": RUBBISH})
    client.delete(fleet.key("wrong", "claim"))
    client.set(fleet.key("wrong", "claim"), "no hash")
    client.hset("test:{_fleet}:jobs", mapping={RUBBISH: RUBBISH, "x" * 5000: 1, "no name": 1, "plain": "9" * 40})
    client.hset("test:{_fleet}:devices", mapping={
        RUBBISH: RUBBISH, "gate-8": f"{now} b - {RUBBISH} {RUBBISH}", "gate-9": f"{now} b - {'v' * 9000} {'d' * 9000}",
        "gate-10": f"{2**60} b - 1.0 damaged", "gate-11": f"{now} b - 1.0 {chr(1) * 64}", "": ""})
    client.hset("test:{_fleet}:confs", mapping={
        "damaged": f"plain\nplain \nplain ffff{RUBBISH}\n{RUBBISH}\n@plain {RUBBISH}\n@\n \n" + "plain x fleet own\n" * 50,
        RUBBISH: RUBBISH})
    for words in ((), ("--json",), ("--check",), ("-o", "job,state,why"), ("--local",), ("twisted",), ("wrong", "--json")):
        done = rotactl(device, "fleet", *words)
        assert done.returncode in (0, 1) and done.stderr == "" and well_behaved(done.stdout), (words, done)
        if "--json" in words:
            assert json.loads(done.stdout)["jobs"]
    rows = rows_of(screen(device))
    assert set(rows) == set(jobs) and rows["wrong"][0] == "!" and "unknown" in rows["wrong"][1]
    assert "! wrong: a key of the job holds something that is not rota's" in screen(device)


def test_words(fleet):
    device, = fleet_of(fleet, {"report": {**SHORT, "every": "1h", **fleet.body("report")}}, 1)
    for words, said in ((["one", "two"], "one job at most"), (["--missing"], "--missing is about one job"),
                        (["report", "--missing", "--check"], "nothing to check"), (["-o", "jbo"], "did you mean 'job'"),
                        (["nobody"], "the fleet knows no job 'nobody'"), (["no name"], "cannot be a job's name"),
                        (["--watch"], "fleet takes no --watch")):
        done = rotactl(device, "fleet", *words)
        assert done.returncode == 64 and said in done.stderr, (words, done)
    fleet.redis.kill()
    done = rotactl(device, "fleet")
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("rotactl: Redis cannot be asked: ")
    check = rotactl(device, "fleet", "--check")
    assert check.returncode == 1 and check.stderr == "" and check.stdout.startswith("rotactl: Redis cannot be asked: ")
    fleet.redis.start()


def test_without_redis_there_is_no_fleet(fleet):
    device = wait_started(fleet.device({"report": {**SHORT, "every": "1h", **fleet.body("report")}}, store="local").start())
    done = rotactl(device, "fleet")
    assert done.returncode == 1 and "no Redis to ask" in done.stderr


# --- how much it takes ---

MANY = 5000


def private_dirty(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))


@pytest.mark.skipif(SANITIZED, reason="how long it takes, and how much memory, is of the plain build")
def test_a_large_fleet_is_asked_in_pages(fleet):
    """No question holds Redis up, and rotad keeps nothing of it."""
    device, = fleet_of(fleet, {"firmware": {**SHORT, "every": "1h", "scope": "device", **fleet.body("firmware")}}, 1)
    digest = fleet.client.hget("test:{_fleet}:devices", fleet.machine(device)).split()[-1]
    turn, now = now_ms() // 3_600_000 * 3_600_000, now_ms()
    names = [f"gate-{i:04}:{i:08x}" for i in range(MANY - 1)]
    fleet.client.hset("test:{_fleet}:devices", mapping={name: f"{now} b{'0' * 35} - 1.2.3 {digest}" for name in names})
    fleet.client.hset(fleet.key("firmware", "devices"), mapping={
        name: f"{turn} 1 {turn if i % 10 else 0} 0 0 {turn} {turn + 5} 0 0 0 {'succeeded' if i % 10 else 'failed'} b p {name}:0"
        for i, name in enumerate(names)})
    fleet.client.hset(fleet.key("firmware", "claim"), mapping={"v": 1, "scope": "device", "done": turn})
    assert jobs_of(device)["firmware"]["devices"] == MANY  # what a first client takes is taken
    before = private_dirty(device.pid)
    fleet.client.config_set("slowlog-log-slower-than", 0)
    fleet.client.config_set("slowlog-max-len", 2000)
    fleet.client.slowlog_reset()
    begun = time.monotonic()
    text = screen(device)
    took = time.monotonic() - begun
    held = [entry["duration"] for entry in fleet.client.slowlog_get(2000)]
    fleet.client.config_set("slowlog-log-slower-than", -1)
    print(f"{took:.2f} s, {len(held)} commands, the longest {max(held)} us, half of them {statistics.median(held)} us")
    assert f"{MANY:,} devices in the last day" in text and re.search(rf"45\d\d/{MANY}  ", text)
    assert took < 10 * SLOWNESS and len(held) > 2 * MANY / 200
    # The half of them, for the machine may be held up in the midst of one.
    assert statistics.median(held) < 5000
    wait_for(lambda: private_dirty(device.pid) <= before + 64, 10, "rotad's memory comes back")


# --- explain ---

KINDS = {
    "renewed": ({"worst_case": "10m", "lease": "1m", "stop_grace": "5s"},
                ["worst case 10 min, grace 5 s, lease 1 min (margin 0.6 s)", "20 s     renewed, and every 20 s",
                 "29 renewals, ", "the lock expires"]),
    "short": ({"worst_case": "1s", "stop_grace": "5s"}, ["lease 7.6 s (margin 0.25 s)", "no renewal, ",
                                                        "nothing happens: its lease is as long", "  7.5 s    the lock expires"]),
    "seats": ({"worst_case": "10m", "scope": "device", "concurrency": 2},
              ["seat asked for, granted", "No seat is free", "in a row no device runs it"]),
    "unlocked": ({"worst_case": "10m", "lock": "none"}, ["no lock\n", "Every device runs each turn"]),
    "single": ({"worst_case": "10s", "attempts": 1}, ["not run again: attempts = 1", "no second try"]),
    "extended": ({"worst_case": "1m", "overrun": "extend", "max_runtime": "20m"},
                 ["  60 s     SIGTERM, if it tells", "  20 min   SIGTERM, overrun, attempt used"]),
}


def explain(device, *words):
    done = rotactl(device, "explain", *words)
    assert done.stderr == "" and well_behaved(done.stdout), done
    return done


def squeezed(text):
    return re.sub(r"\n {2,}| {2,}", "  ", text)


def test_each_kind_of_job_is_explained(fleet):
    jobs = {name: {"plugin": "exec", "every": "1h", **keys, **fleet.body(name)} for name, (keys, _) in KINDS.items()}
    device, = fleet_of(fleet, jobs, 1)
    for name, (_, phrases) in KINDS.items():
        done = explain(device, name)
        assert done.returncode == 0 and done.stdout.startswith(f"{name}: worst case ")
        assert all(len(line) <= 80 for line in done.stdout.splitlines())
        for phrase in phrases:
            assert squeezed(phrase.strip()) in squeezed(done.stdout), (name, phrase, done.stdout)
        assert "longest seen: none has succeeded here" in done.stdout
    numbers = json.loads(explain(device, "renewed", "--json").stdout)
    assert (numbers["renew_ms"], numbers["renewals"], numbers["takeover_ms"]) == (20_000, 29, 62_000)
    assert numbers["must_stop_ms"] == 54_400 and numbers["repeat_end_ms"] == 20_000 + 300 + 300 + 300


def test_the_longest_run_and_what_would_do(fleet):
    fleet.make_due("report", "tight")
    device, = fleet_of(fleet, {"report": {**SHORT, **ONCE, "worst_case": "30s", **fleet.body("report", "sleep 0.2")},
                               "tight": {**SHORT, **ONCE, "worst_case": "3s", **fleet.body("tight", "sleep 2.5")}}, 1)
    for job in ("report", "tight"):
        fleet.wait_history(job)
        device.wait_line(f"{job}: succeeded")
    assert re.search(r'longest seen: \d+ ms; 30 s is good', squeezed(explain(device, "report").stdout))
    numbers = json.loads(explain(device, "tight", "--json").stdout)
    assert numbers["too_short"] and numbers["write_ms"] >= 3750
    assert re.search(r"longest seen: 2\.\d+ s; 3 s is too", explain(device, "tight").stdout)


def test_explain_without_redis_and_of_no_such_job(fleet):
    device = wait_started(fleet.device({"report": {**SHORT, "every": "1h", **fleet.body("report")},
                                        "odd": {"plugin": "exec", "every": "1h", **fleet.body("odd")}},
                                       store="local").start())
    assert "this device alone" in explain(device, "report").stdout
    odd = explain(device, "odd")
    assert odd.returncode == 1 and odd.stdout.startswith("odd is invalid: ") and "worst_case" in odd.stdout
    assert json.loads(explain(device, "odd", "--json").stdout)["why"]
    for words, said in ((["nobody"], "there is no job 'nobody' here"), ([], "explain needs the name of one job")):
        done = rotactl(device, "explain", *words)
        assert done.returncode == 64 and said in done.stderr


def test_the_page_that_explain_names_is_there():
    page = BUILD / "docs" / "rota-guide.7"
    if not page.exists():
        pytest.skip("no scdoc, no pages")
    assert re.search(r'^\.S[HS] "?When two runs hurt', page.read_text(), re.M | re.I)
