# SPDX-License-Identifier: MIT
"""S14: NOAUTH, WRONGPASS, NOPERM at the start: said clearly, no tight loop, the watchdog fed."""
import pytest

from fault_proxy import redis_by
from fleet import ONCE, SHORT, wait_for
from notify import NotifySocket

WATCHDOG_SECONDS = 1.0
# Tries with back-off from 50 ms to 1 s while the test looks, full jitter: about a dozen.
TRIES_MAX = 30


def demand_password(client):
    client.config_set("requirepass", "sesame")
    return lambda: client.config_set("requirepass", "")


def set_user(client, *rules):
    client.execute_command("ACL", "SETUSER", "rota", *rules)


def demand_other_password(client):
    set_user(client, "on", ">other", "~*", "+@all")
    return lambda: set_user(client, ">sesame")


def deny_scripts(client):
    set_user(client, "on", ">sesame", "~*", "+@all", "-eval", "-evalsha")
    return lambda: set_user(client, "+@all")


CASES = {"NOAUTH": demand_password, "WRONGPASS": demand_other_password, "NOPERM": deny_scripts}


def login(fleet, word):
    if word == "NOAUTH":
        return {}
    password = fleet.folder / "password"
    password.touch(mode=0o600)
    password.write_text("sesame\n")
    return {"username": "rota", "password_file": password}


@pytest.mark.parametrize("word", CASES)
def test_s14_refused_then_let_in(proxy, fleet, word):
    fleet.make_due("report")
    let_in = CASES[word](fleet.client)
    jobs = {"report": {**SHORT, **ONCE, **fleet.body("report")}}
    device = fleet.device(jobs, redis=redis_by(proxy, **login(fleet, word)))
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path,
                     WATCHDOG_USEC=str(int(WATCHDOG_SECONDS * 1_000_000)))
        notify.wait_for("^READY=1$", 2)
        wait_for(lambda: len(notify.pings()) > 8, 10, "time passes")
        pings = notify.pings()
        assert max(later - earlier for earlier, later in zip(pings, pings[1:])) < WATCHDOG_SECONDS

        # Redis's own word is there to be read, at most once a try.
        tried = max(proxy.connections, proxy.count("acquire"))
        assert 1 <= tried <= TRIES_MAX
        assert 1 <= len([line for line in device.complaints() if word in line.text]) <= tried + 1
        statuses = notify.texts("^STATUS=")
        assert len(statuses) <= tried + 3 and fleet.entries() == []

        let_in()
        fleet.wait_entry("end", within=30)
        notify.wait_for("^STATUS=.*redis ok$", 2)
        assert device.lines("sesame") == []
    assert device.runs()
