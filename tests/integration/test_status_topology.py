# SPDX-License-Identifier: MIT
"""What rotactl says of a Redis that is more than one server: the master that sentinels name, servers of a quorum."""
import contextlib
import json
import re

import pytest

from fleet import ONCE, RENEWED, SHORT, Fleet, wait_for
from rotactl import rotactl, wait_started
from sentinel import Group

OFTEN = {**SHORT, "every": "2s", "worst_case": "500ms"}


def told(device, *words):
    done = rotactl(device, *words, "--json")
    assert done.stderr == ""
    return json.loads(done.stdout)


def wait_status(device, wanted, what, within=20):
    """*wanted* of what it says of itself."""
    def is_so():
        status = told(device, "status")
        return status if wanted(status) else None
    return wait_for(is_so, within, what)


def head(device):
    done = rotactl(device, "status")
    return done.returncode, done.stdout


@pytest.fixture
def group():
    with contextlib.closing(Group()) as group:
        yield group.start()


def test_the_master_that_sentinels_name(group):
    with contextlib.closing(Fleet(group.master())) as fleet:
        fleet.make_done(1, "report")
        device = wait_started(fleet.device({"report": {**OFTEN, **fleet.body("report")}}, redis=group.settings()).start())
        before = group.master().text
        status = wait_status(device, lambda status: status["redis"] == "ok", "it has asked the master")
        assert status["master"] == before
        assert "servers" not in status
        assert servers_of(device) == []
        code, screen = head(device)
        assert code == 0 and re.search(rf"redis {re.escape(before)} ok, [\d.]+ m?s$", screen, re.M)
        group.failover()
        [other] = [server.text for server in group.servers if server.text != before]
        wait_status(device, lambda status: (status["redis"], status["master"]) == ("ok", other), "it names the new master")


def servers_of(device):
    return re.findall(r"^(rota_redis_servers\w*) (\d+)$", rotactl(device, "metrics").stdout, re.M)


def test_how_many_of_a_quorum_answer(quorum):
    """And in metrics."""
    device = wait_started(quorum.device({"report": {**OFTEN, **quorum.body("report")}}).start())
    status = wait_status(device, lambda status: (status["redis"], status.get("servers_ok")) == ("ok", 5), "all five answer")
    assert status["servers"] == 5 and "master" not in status
    code, screen = head(device)
    assert code == 0 and re.search(r"redis 5 of 5 ok, [\d.]+ m?s$", screen, re.M)
    quorum.servers.kill(1, 3)
    wait_status(device, lambda status: (status["redis"], status["servers_ok"]) == ("ok", 3), "two are missed")
    code, screen = head(device)
    assert code == 1
    assert re.search(r"redis 3 of 5 ok, [\d.]+ m?s$", screen, re.M)
    assert "! redis: 2 of the quorum's 5 servers do not serve\n" in screen
    assert servers_of(device) == [("rota_redis_servers", "5"), ("rota_redis_servers_up", "3")]
    quorum.servers.restart(1, 3)
    wait_status(device, lambda status: status["servers_ok"] == 5, "they are back")
    assert head(device)[0] == 0


def test_a_fleet_on_a_quorum(quorum):
    device = wait_started(quorum.device({"report": {**OFTEN, **quorum.body("report")}}).start())
    wait_status(device, lambda status: status["redis"] == "ok", "it has asked them")
    done = rotactl(device, "fleet")
    assert done.stderr == "" and re.search(r" on a quorum of 5, (redis|valkey) [\d.]+, noeviction ", done.stdout)


def test_what_a_run_costs_on_a_quorum(quorum, fleet):
    """Each question goes to five."""
    def kilobytes(device):
        [said] = re.findall(r"(\d+) renewals?, (\d+) KB", rotactl(device, "explain", "report").stdout)
        return int(said[1])
    job = {**RENEWED, **ONCE, "worst_case": "10m"}
    one = wait_started(fleet.device({"report": {**job, **fleet.body("report")}}).start())
    five = wait_started(quorum.device({"report": {**job, **quorum.body("report")}}).start())
    assert kilobytes(five) == pytest.approx(5 * kilobytes(one), rel=0.02)
    assert "a quorum gives no fence" in rotactl(five, "explain", "report").stdout
    assert "use the fence: " in rotactl(one, "explain", "report").stdout
