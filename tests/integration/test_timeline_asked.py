# SPDX-License-Identifier: MIT
"""rotactl timeline without a file: a running rotad is asked for the runs, and when the jobs were due."""
import json
import re
import subprocess

import pytest

from control_client import Refused, ask
from fleet import ONCE, PREFIX, RENEWED, SHORT, now_ms, wait_for
from rotactl import ROTACTL, rotactl, wait_started

HOUR = 3_600_000
TOKEN = ":" + "0" * 32
UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'


def hour(ago):
    return (now_ms() // HOUR - ago) * HOUR


def add(fleet, job, turn, device, outcome, attempt=1, ran=4000, detail=""):
    """A run, as Redis keeps it: written when it ended."""
    fleet.client.xadd(fleet.key(job, "history"), {
        "turn": turn, "attempt": attempt, "token": device + TOKEN, "outcome": outcome, "fence": turn + attempt,
        "ran": ran, "detail": detail}, id=f"{turn + attempt * 60_000}-0")


@pytest.fixture
def device(fleet):
    known = wait_started(fleet.device({"report": {**SHORT, "every": "1h", **fleet.body("report")}}).start())
    wait_for(lambda: fleet.claim("report"), 10, "the job is known")
    return known


def lines(device, *words):
    """What is known: (now, runs, due instants by job)."""
    done = rotactl(device, "timeline", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    dues = {}
    for entry in entries:
        if "due" in entry:
            dues.setdefault(entry["job"], []).append(entry["due"])
    return entries[0]["now"], [entry for entry in entries if "turn" in entry], dues


def from_lines(text, *words):
    return subprocess.run([ROTACTL, "timeline", "--from", "-", *words], input=text, capture_output=True, text=True,
                          check=True, timeout=60).stdout


def test_runs_and_due_instants_of_all_jobs(fleet, device):
    first = hour(5)
    add(fleet, "report", first, "gate-1", "vanished")
    add(fleet, "report", first, "gate-2", "succeeded", attempt=2)
    add(fleet, "report", first + 2 * HOUR, "gate:3", "failed", detail="\x1b[2J")
    add(fleet, "elsewhere", first, "gate-9", "succeeded")
    fleet.client.hset(f"{PREFIX}{{_fleet}}:jobs", mapping={"elsewhere": first, "no name": 1})
    now, runs, dues = lines(device)
    assert abs(now - now_ms()) < 60_000
    assert dues["report"] == [first + i * HOUR for i in range((now - first) // HOUR + 1)]
    assert dues["elsewhere"] == [first]                 # this device does not know its schedule: the turns that ran
    by_device = {run["device"]: run for run in runs}
    assert set(by_device) == {"gate-1", "gate-2", "gate:3", "gate-9"}
    gone = by_device["gate-1"]                          # its fence says when it was granted
    assert (gone["outcome"], gone["started"], gone["ended"]) == ("vanished", first + 1, first + 60_000)
    second = by_device["gate-2"]
    assert (second["attempt"], second["fence"]) == (2, first + 2)
    assert (second["started"], second["ended"]) == (first + 116_000, first + 120_000)
    assert by_device["gate:3"]["detail"] == "\\x1b[2J"
    shown = rotactl(device, "timeline", "report")
    assert "gate-9" not in shown.stdout and "1 failed" in shown.stdout
    assert "went on to another device" in shown.stdout and "nobody ran it" in shown.stdout


def test_a_renamed_job_is_drawn_once(fleet):
    """Its runs are under its old key, and the fleet's list has that."""
    device = wait_started(fleet.device({"new": {**SHORT, "every": "1h", "was": "old", **fleet.body("new")}}).start())
    wait_for(lambda: fleet.claim("old"), 10, "the job is known")
    add(fleet, "old", hour(5), "gate-8", "succeeded")
    add(fleet, "elsewhere", hour(5), "gate-9", "succeeded")
    fleet.client.hset(f"{PREFIX}{{_fleet}}:jobs", mapping={"old": hour(5), "elsewhere": hour(5)})
    wait_for(lambda: "  old " not in rotactl(device, "fleet").stdout, 10, "the device has told its configuration")
    assert sorted((run["job"], run["device"]) for run in lines(device)[1] if run["device"] != device.name) == [
        ("elsewhere", "gate-9"), ("new", "gate-8")]


def test_a_damaged_turn_is_no_beginning(fleet, device):
    """It reads as that of 1970, since when the job would have been due too often."""
    add(fleet, "report", hour(5), "gate-1", "succeeded")
    fleet.client.xadd(fleet.key("report", "history"), {
        "turn": "rubbish", "attempt": 1, "token": "gate-2" + TOKEN, "outcome": "succeeded", "fence": 1, "ran": 1})
    assert min(lines(device, "report")[2]["report"]) == hour(5)


@pytest.mark.parametrize("kind", ["history", "claim"])
def test_a_job_whose_keys_hold_something_else_is_named(fleet, device, kind):
    """The others can be drawn then."""
    add(fleet, "report", hour(1), "gate-1", "succeeded")
    fleet.client.hset(f"{PREFIX}{{_fleet}}:jobs", mapping={"damaged": 1})
    fleet.client.set(fleet.key("damaged", kind), "rubbish")
    done = rotactl(device, "timeline")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rotactl: Redis cannot be asked for the runs of damaged: ") and "WRONGTYPE" in done.stderr
    assert "1 succeeded" in rotactl(device, "timeline", "report").stdout


def test_only_what_lies_between(fleet, device):
    for ago in range(29, 1, -1):
        add(fleet, "report", hour(ago), "gate-1", "succeeded")
    since = hour(10)
    now, runs, dues = lines(device, "report", "--since", "11h", "--until", "5h")
    assert {run["turn"] for run in runs} <= {hour(ago) for ago in range(4, 13)} and len(runs) >= 5
    assert min(dues["report"]) in (since, since - HOUR) and max(dues["report"]) <= now - 5 * HOUR


def test_the_run_under_way(fleet):
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin", "long")
    text = rotactl(device, "timeline", "long", "--json").stdout
    run, = (json.loads(line) for line in text.splitlines() if '"running"' in line)
    claim = fleet.claim("long")
    assert (run["device"], run["ended"], run["fence"]) == (device.name, None, int(claim["fence"]))
    (fleet.folder / "free").touch()
    wait_for(lambda: fleet.claim("long")["state"] == "succeeded", 10, "it has ended")
    assert [run["outcome"] for run in lines(device, "long")[1]] == ["succeeded"]
    # What was saved is drawn as it was then.
    assert re.search("running for .* so far", from_lines(text, "--svg", "-"))
    earlier = text.replace(f'"now": {json.loads(text.splitlines()[0])["now"]}', f'"now": {run["started"] + 7000}')
    assert "running for 7 s so far" in from_lines(earlier, "--svg", "-")


def test_what_stands_in_the_way(fleet, device):
    done = rotactl(device, "timeline", "no name")
    assert done.returncode == 64 and "cannot be a job's name" in done.stderr
    done = rotactl(device, "timeline", "report")
    assert (done.returncode, done.stderr) == (1, "rotactl: nothing ran of report, as far as is known\n")
    fleet.client.hset(f"{PREFIX}{{_fleet}}:jobs", mapping={f"job{i}": 1 for i in range(201)})
    done = rotactl(device, "timeline")
    assert done.returncode == 64
    assert done.stderr == "rotactl: there are more than 200 jobs; name those that are to be drawn\n"
    fleet.redis.kill()
    done = rotactl(device, "timeline")
    assert done.returncode == 1 and done.stderr.startswith("rotactl: Redis cannot be asked: ")
    fleet.redis.start()


def test_a_job_that_was_due_very_often(fleet):
    device = wait_started(fleet.device({"often": {**SHORT, "every": "10s", **fleet.body("often")}}).start())
    wait_for(lambda: fleet.claim("often"), 10, "the job is known")
    add(fleet, "often", hour(24 * 7), "gate-1", "succeeded")
    done = rotactl(device, "timeline", "often")
    assert done.returncode == 64
    assert done.stderr == "rotactl: often was due more than 20,000 times; take a later --since\n"
    add(fleet, "often", hour(30), "gate-2", "succeeded")
    done = rotactl(device, "timeline", "often", "--since", "2d")
    assert (done.returncode, done.stderr) == (0, "") and "gate-2" in done.stdout


# --- the method behind it ---

def test_turns_between_two_instants(device):
    assert ask(device, "Turns", "sxx", "report", HOUR, 4 * HOUR) == [[2 * HOUR, 3 * HOUR, 4 * HOUR]]
    assert ask(device, "Turns", "sxx", "report", 4 * HOUR, HOUR) == [[]]
    assert ask(device, "Turns", "sxx", "report", -2 ** 63, 2 * HOUR) == [[HOUR, 2 * HOUR]]
    many, = ask(device, "Turns", "sxx", "report", 0, 2 ** 63 - 1)
    assert many == [i * HOUR for i in range(1, 501)]
    assert ask(device, "Turns", "sxx", "report", 2 ** 63 - 1, 2 ** 63 - 1) == [[]]
    with pytest.raises(Refused):
        ask(device, "Turns", "sxx", "unknown", 0, HOUR)
