# SPDX-License-Identifier: MIT
"""What rotad asks Redis for a client of the control socket, and what it changes there: no client has a secret."""
import contextlib
import getpass
import os
import signal

import pytest

from control_client import Client, Refused, ask
from fleet import ONCE, RENEWED, SHORT, now_ms, wait_for
from rotactl import wait_started
from test_control import AS_ROOT, READERS, device as reachable  # noqa: F401 (a fixture)

UNTIL_FREED = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
LOOK = ["word", "now", "turn", "attempt", "token", "state", "fence", "done", "retry", "started", "ended", "detail", "scope",
        "fingerprint", "version", "layout", "paused_turn", "fails", "streak", "holder", "left", "pause", "pause_left",
        "seats", "devices"]


def job_of(device, job):
    return dict(zip(LOOK, ask(device, "FleetJob", "s", job), strict=True))


def known_device(fleet, jobs=None, **top):
    """One that has found Redis."""
    device = wait_started(fleet.device(jobs or {"report": {**RENEWED, **ONCE, **fleet.body("report")}}, **top).start())
    wait_for(lambda: fleet.client.hlen("test:{_fleet}:confs") > 0, 10, "the device has said what it is configured to")
    return device


@pytest.fixture
def device(fleet):
    return known_device(fleet)


@pytest.fixture
def running(fleet):
    """A device whose job runs until it is freed."""
    fleet.make_due("long")
    device = known_device(fleet, {"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}})
    fleet.wait_entry("begin", "long")
    yield device
    (fleet.folder / "free").touch()


# --- what is known ---

def test_the_server_is_told(fleet, device):
    word, now, server, policy, jobs, devices = ask(device, "Server")
    assert word == "server" and abs(now - now_ms()) < 60_000
    assert server.startswith(("redis ", "valkey ")) and policy == "noeviction"
    assert (jobs, devices) == (0, 1)


def test_a_job_that_runs_and_one_that_nobody_knows(running):
    job = job_of(running, "long")
    assert (job["word"], job["state"], job["attempt"], job["scope"]) == ("job", "running", 1, "fleet")
    assert job["holder"] == job["token"] and job["holder"].startswith(f"{running.name}:")
    assert 0 < job["left"] <= 60_000 and job["pause_left"] == -2
    nobody = job_of(running, "nobody")
    assert (nobody["layout"], nobody["state"], nobody["holder"], nobody["left"]) == (0, "", "", -2)


@pytest.mark.parametrize("keys,lock,claim", [
    ({"lock_key": "nas{T}:lock"}, "nas{T}:lock", "test:{T}:report:claim"),
    ({"lock_key": "nas-lock"}, "nas-lock", "test:{nas-lock}:report:claim"),
    ({"was": "former"}, "test:{former}:lock", "test:{former}:claim")])
def test_a_job_is_looked_for_where_its_devices_keep_it(fleet, keys, lock, claim):
    fleet.redis.allow("~nas*")
    device = known_device(fleet, {"report": {**RENEWED, "every": "1h", **keys, **fleet.body("report")}})
    wait_for(lambda: fleet.client.exists(claim), 10, "the device has a record of the job")
    fleet.client.set(lock, "other")
    job = job_of(device, "report")
    assert (job["layout"], job["holder"]) == (1, "other")
    assert ask(device, "Release", "ss", "report", "other")[0] == "released" and not fleet.client.exists(lock)


def test_the_history_is_bounded_and_its_texts_are_escaped(fleet, device):
    for i in range(150):
        fleet.client.xadd(fleet.key("report", "history"), {
            "turn": i, "attempt": 1, "token": "t" * 500, "outcome": "failed", "fence": "x", "ran": 7,
            "detail": "\x1b[31m\n" + "\xff" * 5000})
    word, _, runs = ask(device, "History", "su", "report", 3)
    assert (word, [run[1] for run in runs]) == ("history", [149, 148, 147])
    written, turn, attempt, token, outcome, fence, ran, detail = runs[0]
    assert abs(written - now_ms()) < 60_000 and (attempt, outcome, fence, ran) == (1, "failed", 0, 7)
    assert token == "t" * 128 and detail.startswith("\\x1b[31m\\x0a") and len(detail) < 1100
    assert len(ask(device, "History", "su", "report", 4_000_000_000)[2]) == 100
    assert [run[1] for run in ask(device, "History", "su", "report", 0)[2]] == [149]


def test_devices_and_jobs_come_in_pages(fleet, device):
    many = {f"gate-{i:04}": f"{now_ms()} b1 - 1.2.3 {'d' * 32}" for i in range(700)}
    fleet.client.hset("test:{_fleet}:devices", mapping=many)
    fleet.client.hset("test:{_fleet}:jobs", mapping={"old": 12, "report": "damaged"})
    found, pages, at = {}, 0, "0"
    with Client(device) as client:
        while pages == 0 or at != "0":
            _, _, at, rows = client.call("FleetDevices", "s", at)
            found.update({row[0]: row[1:] for row in rows})
            pages += 1
        assert found.keys() == many.keys() | {fleet.machine(device)} and 3 < pages < 100
        assert found["gate-0007"][1:] == ("1.2.3", "d" * 32)
        digest = found[fleet.machine(device)][2]
        lines = client.call("FleetConfig", "s", digest)[2]
        assert [line.split()[0] for line in lines] == ["report", "@report"]
        assert client.call("FleetConfig", "s", "gone")[2] == []
        assert dict(client.call("FleetJobs", "s", "0")[3]) == {"old": 12, "report": 0}


def test_devices_of_a_job(fleet):
    job = {**SHORT, "every": "1h", "scope": "device", **fleet.body("each")}
    device = known_device(fleet, {"each": job})
    fleet.client.hset(fleet.key("each", "devices"), mapping={
        "gate-1": "50 2 40 0 0 45 49 0 0 1 failed b1 s1 gate-1:0", "gate-2": "damaged"})
    _, _, at, rows = ask(device, "JobDevices", "ss", "each", "0")
    rows = {row[0]: row[1:] for row in rows}
    assert rows.pop(fleet.machine(device), ("",))[-1] in ("", "assumed", "blank")
    assert at == "0" and rows == {"gate-1": (50, 2, 40, 49, "failed"), "gate-2": (0, 0, 0, 0, "")}


def connections(fleet, device):
    return [client["id"] for client in fleet.client.client_list() if client["name"] == device.name]


def test_it_asks_on_the_connection_that_the_jobs_use(fleet, device):
    before = connections(fleet, device)
    assert len(before) == 1
    for _ in range(3):
        ask(device, "Server")
    assert connections(fleet, device) == before


def test_a_reply_that_is_damaged_ends_the_question_and_not_the_connection(fleet, device):
    before = connections(fleet, device)
    fleet.client.set(fleet.key("old", "claim"), "no hash")
    with pytest.raises(Refused, match="WRONGTYPE") as refused:
        ask(device, "FleetJob", "s", "old")
    assert refused.value.name == "Redis" and connections(fleet, device) == before


# --- changes ---

def test_pause_says_who_by_the_kernels_word_and_resume_ends_it(fleet, device):
    assert ask(device, "Pause", "ssx", "report", "NAS full", 3_600_000)[2] == ""
    text = fleet.client.get(fleet.key("report", "pause"))
    assert text == f"{getpass.getuser()}: NAS full"
    assert 0 < fleet.client.pttl(fleet.key("report", "pause")) <= 3_600_000
    job = job_of(device, "report")
    assert job["pause"] == text and 0 < job["pause_left"] <= 3_600_000
    assert ask(device, "Pause", "ssx", "report", "still", 0)[2] == text
    assert job_of(device, "report")["pause_left"] == -1
    fleet.client.hset(fleet.key("report", "claim"), "paused", 5)
    assert ask(device, "Resume", "sb", "report", 0)[2].endswith(": still")
    assert fleet.client.hget(fleet.key("report", "claim"), "paused") == "5"
    assert ask(device, "Resume", "sb", "report", 1)[2] == ""
    assert not fleet.client.exists(fleet.key("report", "pause"))
    assert fleet.client.hget(fleet.key("report", "claim"), "paused") is None


def test_release_frees_only_the_lock_that_was_shown_and_the_run_loses_it(fleet, running):
    token = job_of(running, "long")["holder"]
    assert ask(running, "Release", "ss", "long", "gate-9:0")[0:3:2] == ["other", token]
    assert fleet.lock("long") == token
    assert ask(running, "Release", "ss", "long", token)[0:3:2] == ["released", token]
    assert fleet.claim("long")["state"] == "released"
    running.wait_line("long: .*(lost|stopped)", within=30)
    assert ask(running, "Release", "ss", "long", token)[0] == "other"


def test_release_takes_the_holder_as_it_was_shown(fleet, device):
    fleet.client.set(fleet.key("report", "lock"), b"\x1b]0;batch\x07\n" + b"\xff" * 200)
    holder = job_of(device, "report")["holder"]
    assert holder.startswith("\\x1b]0;batch\\x07\\x0a\\xff") and holder.isascii()
    assert ask(device, "Release", "ss", "report", holder)[0:3:2] == ["released", holder]
    assert not fleet.client.exists(fleet.key("report", "lock"))


def test_forget_leaves_what_a_job_has_by_its_former_name(fleet):
    device = known_device(fleet, {"new": {**RENEWED, **ONCE, "was": "former", **fleet.body("new")}})
    fleet.client.delete("test:{_fleet}:confs", "test:{_fleet}:seen")
    with pytest.raises(Refused, match="in this device's configuration"):
        ask(device, "Forget", "s", "former")


def test_forget_waits_for_devices_that_say_hello_seldom(fleet):
    device = known_device(fleet, checkin="1d")
    fleet.client.hset("test:{_fleet}:confs", "digest", "old 1 fleet own\n")
    fleet.client.zadd("test:{_fleet}:seen", {"digest": now_ms() - 90_000_000})
    assert ask(device, "Forget", "s", "old")[0:3:2] == ["used", "digest"]
    fleet.client.zadd("test:{_fleet}:seen", {"digest": now_ms() - 5 * 86_400_000})
    assert ask(device, "Forget", "s", "old")[0] == "forgotten"


def test_forget_takes_a_retired_job_that_nobody_uses(fleet, device):
    kinds = ("claim", "pause", "history", "seats", "devices", "queue")
    for kind in kinds:
        fleet.client.set(fleet.key("old", kind), "any")
    fleet.client.delete(fleet.key("old", "seats"))
    fleet.client.hset("test:{_fleet}:jobs", mapping={"old": 12, "other": 13})
    fleet.client.set(fleet.key("old", "lock"), "gate-1:0")
    assert ask(device, "Forget", "s", "old")[0:3:2] == ["held", "gate-1:0"]
    fleet.client.delete(fleet.key("old", "lock"))
    fleet.client.hset("test:{_fleet}:confs", "digest", "older 1 fleet own\nold 1 fleet own\n")
    fleet.client.zadd("test:{_fleet}:seen", {"digest": now_ms() - 1000})
    assert ask(device, "Forget", "s", "old")[0:3:2] == ["used", "digest"]
    assert fleet.client.exists(fleet.key("old", "claim"))
    fleet.client.zadd("test:{_fleet}:seen", {"digest": now_ms() - 90_000_000})
    assert ask(device, "Forget", "s", "old")[0] == "forgotten"
    assert not fleet.client.keys("test:{old}:*")
    assert fleet.client.hgetall("test:{_fleet}:jobs") == {"other": "13"}


@pytest.mark.parametrize("words,why", [
    (("FleetJob", "s", "no name"), "cannot be a job's name"), (("History", "su", "", 1), "cannot be a job's name"),
    (("Pause", "ssx", "report", "two\nlines", 0), "one line of 1 to 180"),
    (("Pause", "ssx", "report", "x" * 181, 0), "one line of 1 to 180"),
    (("Pause", "ssx", "report", "why", -1), "0 to 100 years"),
    (("Pause", "ssx", "report", "why", 2**63 - 1), "0 to 100 years"),
    (("Release", "ss", "report", "x" * 517), "1 to 516 bytes"), (("FleetConfig", "s", "x" * 129), "1 to 128 bytes"),
    (("Forget", "s", "report"), "in this device's configuration")])
def test_words_that_cannot_be_asked(fleet, device, words, why):
    with pytest.raises(Refused, match=why) as refused:
        ask(device, *words)
    assert refused.value.name == "Words" and not fleet.client.exists(fleet.key("report", "pause"))


@contextlib.contextmanager
def as_reader():
    """What connects meanwhile is one of the group that may ask."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(READERS)
    os.seteuid(READERS)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@AS_ROOT
def test_a_reader_asks_and_changes_nothing(fleet, reachable):
    with as_reader():
        client = Client(reachable)
    with client:
        assert client.call("FleetJob", "s", "report")[0] == "job"
        for words in (("Pause", "ssx", "report", "why", 0), ("Resume", "sb", "report", 0),
                      ("Release", "ss", "report", "gate-1:0"), ("Forget", "s", "old")):
            with pytest.raises(Refused) as refused:
                client.call(*words)
            assert refused.value.name == "AccessDenied", words
        assert not fleet.client.exists(fleet.key("report", "pause"))


# --- where it cannot be answered ---

def answered(device):
    """What is known of the job; None where Redis cannot be asked."""
    with contextlib.suppress(Refused):
        return job_of(device, "report")


def test_a_dead_redis_is_said_in_time(fleet):
    device = known_device(fleet)
    fleet.redis.kill()
    with Client(device) as client:
        with pytest.raises(Refused, match="Redis cannot be asked: ") as refused:
            client.call("FleetJob", "s", "report")
        assert refused.value.name == "Redis"
        # The client goes on.
        assert client.call("Status")[0] == device.name
        client.begin("FleetJob", "s", "report")
    # That one is gone with its question, which was never sent.
    fleet.redis.start()
    assert wait_for(lambda: answered(device), 10, "Redis is asked again")["word"] == "job"


def test_one_question_at_a_time_and_a_client_that_goes_meanwhile(fleet, device):
    os.kill(fleet.redis.process.pid, signal.SIGSTOP)
    try:
        with Client(device) as client:
            client.begin("FleetJob", "s", "report")
            client.begin("History", "su", "report", 1)
            with pytest.raises(Refused, match="one question at a time") as refused:
                client.end()
            assert refused.value.name == "Busy"
    finally:
        os.kill(fleet.redis.process.pid, signal.SIGCONT)
    assert job_of(device, "report")["word"] == "job"


def test_a_device_without_redis_says_so(fleet):
    device = wait_started(fleet.device({"report": {**SHORT, "every": "1h", **fleet.body("report")}}, store="local").start())
    with pytest.raises(Refused, match="no Redis to ask"):
        ask(device, "FleetJob", "s", "report")
