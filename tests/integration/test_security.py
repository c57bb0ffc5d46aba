# SPDX-License-Identifier: MIT
"""What docs/security.md says of a stolen device: it has the password, and writes what it likes under the prefix."""
import re

import pytest

from fleet import ONCE, ONCE_MS, RENEWED, is_alive, now_ms, wait_for
from script_job import A

# Moves a terminal's cursor, ends a line, and begins one that looks like rotad's own.
FORGED = "\x1b[2Jkim\x07\r\n2026-01-01T00:00:00.000Z error: forged"
HEX = ":" + "1" * 32
# A line has at most 2 KiB and its time.
LINE_MAX = 2048 + 64


def turn_now():
    return now_ms() // ONCE_MS * ONCE_MS


def start(fleet, text="", **settings):
    job = {**RENEWED, **ONCE, "splay": "0s", **settings, **fleet.body("report", text)}
    return fleet.device({"report": job}).start()


def pause(fleet):
    fleet.client.set(fleet.key("report", "pause"), FORGED + "x" * 100_000)
    return start(fleet), "paused in the whole fleet, by "


def take_the_lock(fleet):
    device = start(fleet, "sleep 60", attempts=1)
    fleet.wait_entry("begin")
    fleet.client.set(fleet.key("report", "lock"), FORGED + "x" * 100_000, px=60_000)
    return device, r"no longer this device's \(now: "


def hold_for_ever(fleet):
    fleet.client.set(fleet.key("report", "lock"), FORGED + "x" * 100_000)
    return start(fleet), "has no expiry"


def die(fleet):
    token = FORGED + HEX
    fleet.client.hset(fleet.key("report", "claim"), mapping={
        "turn": turn_now(), "token": token, "state": "running", "ttl": 3000, "scope": "fleet"})
    fleet.client.set(fleet.key("report", "lock"), token, px=1500)
    return start(fleet), "taken over from "


def sit_in_the_other_scope(fleet):
    fleet.client.zadd(fleet.key("report", "seats"), {FORGED + HEX: now_ms() + 2000})
    return start(fleet), 'runs it by scope = "device"'


def have_another_configuration(fleet):
    fleet.client.hset(fleet.key("report", "claim"), mapping={
        "scope": "fleet", "fingerprint": FORGED[:30], "token": FORGED + HEX})
    return start(fleet), "it runs by both until"


def tell_of_another_lock(fleet):
    text = "report f1 fleet key " + FORGED.replace("\n", " ") + "\n"
    fleet.client.hset("test:{_fleet}:confs", "d1", text)
    fleet.client.zadd("test:{_fleet}:seen", {"d1": now_ms()})
    return start(fleet), "others have lock_key = "


FORGERIES = (pause, take_the_lock, hold_for_ever, die, sit_in_the_other_scope, have_another_configuration,
             tell_of_another_lock)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forged_text_is_escaped_and_bounded_in_a_journal(fleet, forge):
    fleet.make_due("report")
    device, said = forge(fleet)
    line = device.wait_line(said)
    assert "kim" in line.text
    device.stop()
    raw = device.log.read_bytes()
    assert re.search(rb"[^\n -\x7e]", raw) is None, "no control character, and no byte that is no letter"
    lines = raw.decode().splitlines()
    assert len(lines) == len(device.lines()), "each line is one that rotad has begun"
    assert max(map(len, lines)) <= LINE_MAX


# More than a reply may have (redis/inbox.h): what a script answers whole must not cost a connection.
HUGE = "x" * 1_000_000


def token_of_the_claim(fleet):
    fleet.client.hset(fleet.key("report", "claim"), mapping={"token": HUGE + HEX})


def state_of_the_claim(fleet):
    fleet.client.hset(fleet.key("report", "claim"), mapping={"state": HUGE})


def fingerprint_of_the_claim(fleet):
    fleet.client.hset(fleet.key("report", "claim"), mapping={"scope": "fleet", "fingerprint": HUGE, "token": HUGE})


def a_seat(fleet):
    fleet.client.zadd(fleet.key("report", "seats"), {HUGE: now_ms() + 2000})


@pytest.mark.parametrize("forge", [token_of_the_claim, state_of_the_claim, fingerprint_of_the_claim, a_seat],
                         ids=lambda forge: forge.__name__)
def test_forged_text_that_is_huge_costs_no_connection(fleet, forge):
    fleet.make_due("report")
    forge(fleet)
    device = start(fleet)
    device.wait_line("ASKING -> ")
    assert device.lines("does not answer") == []


def record_of_a_device(seats):
    seats.knows(A)
    record = {**seats.device("device-a"), "turn": str(seats.turn), "done": str(seats.turn), "state": HUGE, "token": HUGE}
    seats.redis.hset(seats.devices, "device-a", " ".join(record.values()))


def claim_of_the_seats(seats):
    seats.knows(A)
    seats.redis.hset(seats.claim, mapping={"scope": "device", "fingerprint": HUGE, "by": HUGE})


def run_that_vanished(seats):
    seats.knows(A)
    seats.redis.zadd(seats.seats, {HUGE: 1})


@pytest.mark.parametrize("forge", [record_of_a_device, claim_of_the_seats, run_that_vanished],
                         ids=lambda forge: forge.__name__)
def test_answers_about_seats_are_bounded_too(seats, forge):
    forge(seats)
    for answer in (seats.acquire(A, stop=1), seats.renew(A)):
        assert sum(len(str(element)) for element in answer) < 2000, "a reply has 64 KiB"


@pytest.mark.parametrize("state", ["running", HUGE], ids=["running", "huge"])
def test_answers_to_a_renewal_are_bounded_too(job, state):
    job.known(turn=job.turn + 1, token=HUGE, state=state)
    assert len(str(job.renew())) < 500


# What it can do.

def test_a_record_says_that_a_turn_is_done(fleet):
    fleet.make_done(turn_now(), "report")
    device = start(fleet)
    device.wait_line("turn of .* is settled")
    assert fleet.entries() == []


def test_a_record_put_back_runs_a_turn_a_second_time(fleet):
    fleet.make_due("report")
    start(fleet)
    fleet.wait_history("report")
    fleet.make_due("report")
    start(fleet)
    fleet.wait_entry("begin", count=2)
    assert len(set(fleet.runs())) == 1


def test_a_record_switches_a_job_off(fleet):
    fleet.make_due("report", "sync")
    fleet.client.hset(fleet.key("report", "claim"), "version", 2**31)
    fleet.client.hset(fleet.key("sync", "claim"), "v", 99)
    job = {**RENEWED, **ONCE, "splay": "0s"}
    device = fleet.device({name: {**job, **fleet.body(name)} for name in ("report", "sync")}).start()
    device.wait_line("report: stands aside: version 2147483648 has succeeded elsewhere")
    device.wait_line("sync: stands aside: a newer rota keeps its record")
    assert fleet.entries() == []


# What it cannot do.

def test_a_lock_that_is_taken_ends_that_run_and_no_other(fleet):
    fleet.make_due("report", "sync")
    job = {**RENEWED, **ONCE, "splay": "0s", "attempts": 1}
    device = fleet.device({name: {**job, **fleet.body(name, "sleep 60")} for name in ("report", "sync")}).start()
    report, sync = (fleet.wait_entry("begin", name) for name in ("report", "sync"))
    fleet.client.set(fleet.key("report", "lock"), "thief" + HEX, px=60_000)
    device.wait_line("report: the lock is no longer this device's")
    wait_for(lambda: not is_alive(report.pid), 5, "that run is over")
    renewed = len(device.lines("sync: lease renewed"))
    device.wait_line("sync: lease renewed", count=renewed + 1)
    assert is_alive(sync.pid) and device.runs()


def test_no_text_of_redis_reaches_a_run_and_none_names_one(fleet):
    """All that a record may say of a run is forged, for this job and for one that is not configured here."""
    told = fleet.folder / "told"
    fleet.make_due("report", "other")
    for job in ("report", "other"):
        claim = fleet.claim(job)
        fleet.client.hset(fleet.key(job, "claim"), mapping={
            **{name: "FORGED;touch /" for name in (
                "token", "state", "detail", "fingerprint", "sights", "held", "by", "plugin", "command",
                "params", "user", "environment")}, "turn": claim["turn"], "done": claim["done"], "scope": "fleet"})
        fleet.client.xadd(fleet.key(job, "history"), {"detail": "FORGED"})
    fleet.client.hset("test:{_fleet}:confs", "d1", "other f1 fleet key FORGED\nreport f1 fleet own FORGED\n")
    fleet.client.hset("test:{_fleet}:jobs", mapping={"other": "1", "report": "FORGED"})
    fleet.client.zadd("test:{_fleet}:seen", {"d1": now_ms()})
    device = start(fleet, f"tr '\\0' '\\n' </proc/$$/environ >'{told}'; tr '\\0' ' ' </proc/$$/cmdline >>'{told}'")
    entry = fleet.wait_entry("end")
    assert "FORGED" not in told.read_text()
    given = dict(line.split("=", 1) for line in told.read_text().splitlines() if line.startswith("ROTA_"))
    assert all(re.fullmatch(r"\d+|report", value) for value in given.values()), given
    assert {e.job for e in fleet.entries()} == {"report"} and entry.turn == turn_now()
    assert device.lines("other: ") == []
