# SPDX-License-Identifier: MIT
"""rotactl history, release and forget: what Redis knows of a job in the whole fleet."""
import json
import os
import signal
import subprocess

import pytest

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, now_ms, wait_for
from rotactl import command, rotactl, wait_started

UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
NAMELESS = "rotactl: {0} needs the name of one job: rotactl {0} nightly_report\n"


def release(device, job, answer):
    return subprocess.run(command(device, "release", job), input=answer, capture_output=True, text=True, check=False,
                          timeout=60 * SLOWNESS, env=device.fleet.environment)


def idle(fleet):
    device = wait_started(fleet.device({"report": {**SHORT, "every": "1h", **fleet.body("report")}}).start())
    wait_for(lambda: fleet.claim("report"), 10, "the job is known")
    return device


def test_history_has_the_newest_first(fleet):
    device = idle(fleet)
    assert rotactl(device, "history", "report").stdout == (
        "Redis knows of no run of report; rotactl fleet has all jobs\n")
    for turn, outcome, detail in ((1_000_000, "failed", "vault: \x1b[31m refused"), (1_060_000, "succeeded", "")):
        fleet.client.xadd(fleet.key("report", "history"), {
            "turn": turn, "attempt": 1, "token": "gate-7:" + "0" * 32, "outcome": outcome, "fence": 5, "ran": 4000,
            "detail": detail})
    done = rotactl(device, "history", "report")
    assert (done.returncode, done.stderr) == (0, "")
    rows = done.stdout.splitlines()
    assert rows[0].split() == ["TURN", "TRY", "RESULT", "TOOK", "DEVICE", "WHY"]
    assert rows[1].split()[:7] == ["1970-01-01", "00:17:40", "1", "succeeded", "4", "s", "gate-7"]
    assert "\x1b" not in done.stdout and "failed" in rows[2] and "\\x1b[31m refused" in rows[2]
    runs = json.loads(rotactl(device, "history", "report", "--json").stdout)
    assert [run["outcome"] for run in runs["runs"]] == ["succeeded", "failed"]
    assert runs["runs"][0] | {"written": 0} == {
        "written": 0, "turn": 1_060_000, "attempt": 1, "fence": 5, "ran_ms": 4000, "outcome": "succeeded",
        "token": "gate-7:" + "0" * 32, "detail": ""}


def test_release_shows_asks_and_frees_what_it_showed(fleet):
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin", "long")
    token = fleet.lock("long")
    for answer in ("", "no\n", "y\n"):
        left = release(device, "long", answer)
        assert (left.returncode, left.stderr) == (1, "")
        assert f"long: the lock is held by {token}.\nIt ends by itself in " in left.stdout and left.stdout.endswith("left as it is\n")
        assert fleet.lock("long") == token
    done = release(device, "long", "yes\n")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("released\n")
    assert fleet.lock("long") != token
    (fleet.folder / "free").touch()
    wait_for(lambda: not fleet.lock("long"), 10, "nobody has the lock")
    nobody = release(device, "long", "")
    assert (nobody.returncode, nobody.stdout) == (0, "nobody holds the job's lock\n")


def test_release_leaves_another_one_that_came_meanwhile(fleet):
    device = idle(fleet)
    fleet.client.set(fleet.key("report", "lock"), "gate-8:1")
    asked = subprocess.Popen(command(device, "release", "report"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, env=fleet.environment)
    try:
        shown = ""
        while "Write yes: " not in shown:
            shown += asked.stdout.read(1)
        assert "It never ends by itself.\n" in shown
        fleet.client.set(fleet.key("report", "lock"), "gate-9:2")
        out, _ = asked.communicate("yes\n", timeout=10 * SLOWNESS)
    finally:
        asked.kill()
        asked.wait()
    assert out == "left as it is: it is held by gate-9:2 now\n" and asked.returncode == 1
    assert fleet.lock("report") == "gate-9:2"


def test_forget_says_what_stands_in_the_way(fleet):
    device = idle(fleet)
    fleet.client.hset(fleet.key("old", "claim"), "v", 1)
    fleet.client.set(fleet.key("old", "lock"), "gate-1:0")
    held = rotactl(device, "forget", "old")
    assert (held.returncode, held.stdout) == (1, "left as it is: it is held by gate-1:0\n")
    fleet.client.delete(fleet.key("old", "lock"))
    fleet.client.hset("test:{_fleet}:confs", "digest", "old 1 fleet own\n")
    fleet.client.zadd("test:{_fleet}:seen", {"digest": now_ms()})
    used = rotactl(device, "forget", "old")
    assert used.returncode == 1 and "has the job in its configuration" in used.stdout
    fleet.client.zrem("test:{_fleet}:seen", "digest")
    done = rotactl(device, "forget", "old")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "forgotten: Redis knows nothing of old any more\n", "")
    assert not fleet.client.keys("test:{old}:*")
    here = rotactl(device, "forget", "report")
    assert here.returncode == 64 and "in this device's configuration" in here.stderr


def test_one_name_is_needed_and_a_dead_redis_is_said(fleet):
    device = idle(fleet)
    for name in ("history", "release", "forget"):
        for words in ((), ("one", "two")):
            done = rotactl(device, name, *words)
            assert (done.returncode, done.stderr) == (64, NAMELESS.format(name))
        done = rotactl(device, name, "no name")
        assert done.returncode == 64 and "cannot be a job's name" in done.stderr
    fleet.redis.kill()
    for name in ("history", "release", "forget"):
        done = rotactl(device, name, "old")
        assert done.returncode == 1 and done.stderr.startswith("rotactl: Redis cannot be asked: ")
    fleet.redis.start()


@pytest.mark.parametrize("words, changes", [
    (("pause", "report", "--fleet", "--reason", "NAS full"), True), (("forget", "report2"), True),
    (("history", "report"), False)])
def test_a_change_whose_reply_is_lost_may_have_been_done(fleet, words, changes):
    device = idle(fleet)
    fleet.client.hset(fleet.key("report2", "claim"), "v", 1)
    assert rotactl(device, "history", "report").returncode == 0
    os.kill(fleet.redis.process.pid, signal.SIGSTOP)
    try:
        done = rotactl(device, *words)
    finally:
        os.kill(fleet.redis.process.pid, signal.SIGCONT)
    assert done.returncode == 1 and done.stderr.startswith("rotactl: Redis cannot be asked: no ")
    assert (f"; rotactl fleet {words[1]} says whether it was done all the same\n" in done.stderr) == changes


def test_pause_and_resume_in_the_whole_fleet(fleet):
    device = idle(fleet)
    paused = rotactl(device, "pause", "report", "--fleet", "--reason", "NAS full", "--for", "2h")
    assert (paused.returncode, paused.stderr) == (0, "")
    assert paused.stdout == "paused: no device starts it; what runs goes on to its end\n"
    text = fleet.client.get(fleet.key("report", "pause"))
    assert text.endswith(": NAS full") and 7_000_000 < fleet.client.pttl(fleet.key("report", "pause")) <= 7_200_000
    again = rotactl(device, "pause", "report", "--fleet", "--reason", "longer")
    assert again.stdout.endswith(f"this took the place of a pause by {text}\n")
    assert fleet.client.pttl(fleet.key("report", "pause")) == -1
    fleet.client.hset(fleet.key("report", "claim"), "paused", 5)
    resumed = rotactl(device, "resume", "report", "--fleet")
    assert resumed.returncode == 0 and resumed.stdout.endswith(": longer\n")
    assert fleet.claim("report")["paused"] == "5"
    later = rotactl(device, "resume", "report", "--fleet", "--catch-up")
    assert (later.returncode, later.stdout) == (0, "it was not paused\n")
    assert "paused" not in fleet.claim("report")


def test_a_name_that_no_device_knows_is_not_paused_released_or_forgotten(fleet):
    """A slip in an emergency would go unseen."""
    device = idle(fleet)
    for words in (["pause", "reprot", "--fleet", "--reason", "NAS full"], ["resume", "reprot", "--fleet"],
                  ["release", "reprot"]):
        done = rotactl(device, *words)
        assert (done.returncode, done.stdout, done.stderr) == (
            64, "", "rotactl: the fleet knows no job 'reprot'; rotactl fleet has all\n"), words
    done = rotactl(device, "forget", "reprot")
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "Redis knew nothing of reprot; rotactl fleet has all jobs\n", "")
    assert not fleet.client.keys("test:{reprot}:*")


def test_a_job_of_other_devices_is_known_before_its_first_run(fleet):
    """It is in nobody's record, and not in this device's configuration."""
    device = idle(fleet)
    wait_started(fleet.device({"elsewhere": {**SHORT, "every": "1h", **fleet.body("elsewhere")}}).start())
    wait_for(lambda: fleet.client.hlen("test:{_fleet}:confs") == 2, 10, "both have said what they have")
    fleet.client.delete(fleet.key("elsewhere", "claim"))
    done = rotactl(device, "pause", "elsewhere", "--fleet", "--reason", "NAS full")
    assert (done.returncode, done.stderr) == (0, "") and fleet.client.exists(fleet.key("elsewhere", "pause"))
    # What is paused is somebody's, and what is listed is to be forgotten.
    assert rotactl(device, "resume", "elsewhere", "--fleet").returncode == 0
    fleet.client.hset("test:{_fleet}:jobs", "old", 1)
    assert rotactl(device, "forget", "old").returncode == 0
    assert not fleet.client.hexists("test:{_fleet}:jobs", "old")


def test_a_damaged_job_is_known(fleet):
    device = idle(fleet)
    fleet.client.set(fleet.key("odd", "claim"), "no hash")
    assert rotactl(device, "pause", "odd", "--fleet", "--reason", "odd").returncode == 0
    done = rotactl(device, "forget", "odd")
    assert (done.returncode, done.stderr) == (0, "") and not fleet.client.keys("test:{odd}:*")


def test_pause_and_resume_say_what_is_missing(fleet):
    device = idle(fleet)
    for words, said in (
            (["pause", "--fleet", "--reason", "why"], "needs the name of one job"),
            (["pause", "report", "--fleet"], "say why"), (["pause", "report"], "say why"),
            (["pause", "report", "--fleet", "--reason", "why", "--for", "0s"], "--for is '0s', which is no time"),
            (["pause", "report", "--fleet", "--reason", "why", "--catch-up"], "pause takes no --catch-up"),
            (["pause", "report", "--fleet", "--reason", "two\nlines"], "a reason is one line"),
            (["resume", "report", "--fleet", "--reason", "why"], "resume takes no --reason"),
            (["drain", "--reason", "why"], "drain takes no --reason"), (["pause", "report", "--reason"], "needs words")):
        done = rotactl(device, *words)
        assert done.returncode == 64 and said in done.stderr, words
    assert not fleet.client.exists(fleet.key("report", "pause"))
