# SPDX-License-Identifier: MIT
"""The store on a real Redis: what the fleet tells its devices, seats, pauses, keys of other names."""
import pytest

from redis_server import wait_for
from store_harness import A, B, CLAIM, LOCK, PERIOD, make_known, now_ms

C = "device-c:" + "c" * 32
SEATS = {"scope": "device", "attempts": 3}


def test_hello_and_what_it_tells(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        done = now_ms(client) - 1000
        driver.call("index", turn=done)
        first = driver.call("hello", device="gw/1", boot="b1", digest="d1", names="report,backup")
        assert (first["fleet"], first["boots"], first["wanted"], first["others"]) == (1, 1, 1, 0)
        assert first["done"] == [0, done] and abs(first["server"] - now_ms(client)) < 5000
        assert driver.call("config_put", digest="d1", text="backup,f1")["status"] == "answered"
        other = driver.call("hello", device="gw/2", boot="b9", digest="d2", weight=600_000)
        assert (other["wanted"], other["others"], other["other"]) == (1, 1, "d1")
        assert driver.call("config_get", digest="d1")["text"] == "backup f1"
        assert driver.call("config_get", digest="d9")["text"] == ""
        assert sorted(client.hkeys("test:{_fleet}:devices")) == ["gw/1", "gw/2"]


@pytest.mark.parametrize("damaged,read", [
    ("a f1 fleet own\n" * 20_000, "a f1 fleet own\n" * (32768 // 15)), ("x" * 100_000, ""),
    ("a f1 fleet own\n\0", ""), ("a f1 fleet key \0\n", "")],
    ids=["too many jobs", "too long a word", "a zero behind", "a zero within"])
def test_a_damaged_configuration_costs_no_connection(drive, redis_server, damaged, read):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        client.hset("test:{_fleet}:confs", "d1", damaged)
        client.zadd("test:{_fleet}:seen", {"d1": now_ms(client), "d\0": now_ms(client)})
        assert driver.call("config_get", digest="d1")["text"] == read
        hello = driver.call("hello", device="gw/1", boot="b1", digest="d3")
        assert (hello["status"], hello["others"]) == ("answered", 2)
        assert driver.event("link", state="up") and driver.sound()
        assert [each["state"] for each in driver.events if each["event"] == "link"] == ["connecting"]


def test_a_text_that_was_let_go_is_sent_again_with_the_script(drive, redis_server):
    """NOSCRIPT makes the command go a second time; by then its owner may have composed something else."""
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        driver.call("clock")
        client.script_flush()
        driver.submit("a", "config_put", digest="d1", text="one")
        driver.submit("b", "config_put", digest="d2", text="two")
        assert {driver.answer(name)["status"] for name in "ab"} == {"answered"}
        assert client.hgetall("test:{_fleet}:confs") == {"d1": "one", "d2": "two"}


def test_a_stable_hello_is_small(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        driver.call("hello", digest="0123abcd", device="gateway-0017-a1b2", boot="deadbeef")
        driver.call("config_put", digest="0123abcd", text="x" * 1000)
        hello = {"digest": "0123abcd", "device": "gateway-0017-a1b2", "boot": "deadbeef", "weight": 600_000,
                 "names": "nightly_report,upload"}
        driver.call("hello", **hello)
        before = client.info("stats")
        driver.call("hello", **hello)
        after = client.info("stats")
        took = [after[key] - before[key] for key in ("total_net_input_bytes", "total_net_output_bytes")]
        print(f"one hello: {took[0]} bytes there, back with INFO's own reply {took[1]}")
        assert took[0] <= 450


def test_seats(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = {"turn": now_ms(client), "next": now_ms(client) + PERIOD, **SEATS}
        for device in ("dev-a", "dev-b"):
            wait = driver.call("acquire", token=f"{device}:1", device=device, ttl=200, **turn)
            assert (wait["answer"], wait["why"]) == ("wait", "blank")

        def seen(token):
            got = driver.call("acquire", token=token, device=token[:5], ttl=5000, **turn)
            return got["answer"] != "wait" and got
        assert wait_for(lambda: seen("dev-a:1"), 10, "the first sight is over")["answer"] == "granted"
        full = wait_for(lambda: seen("dev-b:1"), 10, "that of the other, too")
        assert (full["answer"], full["seats"], full["watch"]) == ("full", 1, 1) and full["left"] > 0
        assert driver.call("renew", token="dev-a:1", device="dev-a", ttl=5000, **turn)["answer"] == "renewed"
        end = driver.call("finish", token="dev-a:1", device="dev-a", outcome="failed", stop=1,
                          detail="no_space", **turn)
        assert (end["held"], end["gave_up"], end["stopped"]) == (1, 0, 1)
        paused = driver.call("acquire", token="dev-b:1", device="dev-b", **turn)
        assert paused["answer"] == "paused" and paused["why"].endswith("last: dev-a, failed: no_space")
        assert driver.call("resume")["before"] == paused["why"]


def test_a_pause_and_its_end(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client)
        assert driver.call("pause", text="ann:,repairs", **{"for": 60_000})["before"] == ""
        got = driver.call("acquire", token=A, **turn)
        assert (got["answer"], got["why"]) == ("paused", "ann: repairs") and 0 < got["left"] <= 60_000
        assert driver.call("resume", catch_up=1)["before"] == "ann: repairs"
        assert driver.call("acquire", token=A, **turn)["answer"] == "granted"


@pytest.mark.parametrize("lock_key,tag", [("shared", "shared"), ("our:{db}:lock", "db")])
def test_a_lock_of_another_name(drive, redis_server, lock_key, tag):
    redis_server.allow(f"~{lock_key}")
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client)
        client.rename(CLAIM, f"test:{{{tag}}}:backup:claim")
        assert driver.call("acquire", token=A, lock_key=lock_key, **turn)["answer"] == "granted"
        assert client.get(lock_key) == A and not client.exists(LOCK, CLAIM)


def test_two_versions_of_a_job(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client, fingerprint="f0", scope="fleet", token="old:0")
        got = driver.call("acquire", token=A, version=3, **turn)
        assert (got["answer"], got["print"], got["printer"]) == ("granted", "f0", "old:0")
        held = driver.call("acquire", token=B, fingerprint="f2", version=3, **turn)
        assert (held["answer"], held["print"], held["printer"]) == ("held", "f1", A)
        driver.call("finish", token=A, turn=turn["turn"], fence=got["fence"], version=3, outcome="succeeded")
        old = driver.call("acquire", token=B, version=2, **turn)
        assert (old["answer"], old["version"]) == ("outdated", 3)
        client.hset(CLAIM, "v", 2)
        newer = driver.call("acquire", token=B, version=3, **turn)
        assert (newer["answer"], newer["version"]) == ("newer", 2)


def test_a_mismatch_names_the_other_scope(drive, redis_server):
    driver = drive(redis_server.address)
    with redis_server.client() as client:
        turn = make_known(client)
        client.zadd("test:{backup}:seats", {C: now_ms(client) + 5_000})
        got = driver.call("acquire", token=A, **turn)
        assert (got["answer"], got["why"], got["holder"]) == ("mismatch", "device", C)
