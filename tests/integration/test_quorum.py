# SPDX-License-Identifier: MIT
"""Whole devices on a quorum of five servers: what single servers do, and what that does to a lease."""
import pytest

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, now_ms, wait_for
from quorum import beats
from rotactl import rotactl, wait_started

SPLAY = 1.0
LEASE = 3.0
SLACK = 0.7 * SLOWNESS
JOB = {**RENEWED, **ONCE, "splay": "1s", "worst_case": "2m"}


def test_a_turn_is_run_once_and_nothing_is_left(quorum):
    quorum.make_due("report")
    jobs = {"report": {**SHORT, **ONCE, **quorum.body("report")}}
    devices = [quorum.device(jobs).start() for _ in range(3)]
    quorum.wait_entry("end")
    quorum.wait_free("report")
    # On a busy machine a server may have been connected to too late to be asked.
    wait_for(lambda: [(claim["state"], claim["done"]) for claim in quorum.claims("report").values()].count(
        ("succeeded", str(quorum.runs("report")[0]))) >= 3, 5, "most of the five know of it")
    assert "running" not in {claim["state"] for claim in quorum.claims("report").values()}
    for device in devices:
        assert device.stop() == 0
        assert device.complaints() == []
    assert len(quorum.runs("report")) == 1


def start(quorum, seconds, devices=3, **more):
    """A run that is held, and renewed at least once. Its device."""
    quorum.make_due("report")
    jobs = {"report": {**JOB, **more, **quorum.body("report", beats(seconds))}}
    for _ in range(devices):
        quorum.device(jobs).start()
    holder = quorum.holder("report")
    for device in quorum.devices:
        if device is not holder:
            device.wait_line(f"is held by {holder.name}")
    renewed(quorum)
    return holder


def renewed(quorum, *numbers):
    """Since then a renewal has come to these servers, or to all that are well."""
    key = quorum.key("report", "lock")
    left = {number: quorum.clients[number].pttl(key) for number in numbers or quorum.servers.well()}

    def all_told():
        for number, before in list(left.items()):
            now = quorum.clients[number].pttl(key)
            if now > before:  # what has run out is less than what is there
                del left[number]
            else:
                left[number] = now
        return not left
    wait_for(all_told, 2 * LEASE, f"these are told of a renewal: {list(left)}")


def two_killed(quorum):
    quorum.servers.kill(0, 3)


def one_frozen(quorum):
    quorum.servers.freeze(1)


def two_frozen(quorum):
    quorum.servers.freeze(1, 4)


def one_emptied(quorum):
    quorum.servers.restart(2)
    renewed(quorum, 2)


def one_killed_and_one_frozen(quorum):
    quorum.servers.kill(0)
    quorum.servers.freeze(1)


def frozen_and_thawed_in_turn(quorum):
    for number in range(0, 5, 2):
        quorum.servers.freeze(number)
        renewed(quorum, *quorum.servers.well())
        quorum.servers.thaw(number)
        renewed(quorum, number)


def each_emptied_in_turn(quorum):
    """At the end none of them is as it was when the lease was granted."""
    for number in range(5):
        quorum.servers.restart(number)
        renewed(quorum, number)


def all_sorts_after_each_other(quorum):
    quorum.servers.kill(0, 1)
    renewed(quorum, 2, 3, 4)
    quorum.servers.restart(0)
    renewed(quorum, 0)
    quorum.servers.freeze(2)
    renewed(quorum, 0, 3, 4)
    quorum.servers.restart(1)
    renewed(quorum, 1)
    quorum.servers.thaw(2)
    renewed(quorum, 2)
    quorum.servers.kill(3, 4)
    renewed(quorum, 0, 1, 2)


LONG = pytest.mark.long
HELD = [(two_killed, 6), (one_frozen, 6), pytest.param(two_frozen, 6, marks=LONG), (one_emptied, 8),
        pytest.param(one_killed_and_one_frozen, 6, marks=LONG), pytest.param(frozen_and_thawed_in_turn, 20, marks=LONG),
        pytest.param(each_emptied_in_turn, 20, marks=LONG), pytest.param(all_sorts_after_each_other, 26, marks=LONG)]


@pytest.mark.parametrize("mishap, seconds", HELD, ids=lambda value: getattr(value, "__name__", ""))
def test_a_held_lease_stands_on_the_majority(quorum, mishap, seconds):
    holder = start(quorum, seconds)
    mishap(quorum)
    quorum.wait_entry("end", within=2 * seconds + 10)  # it counts its steps, which a busy machine draws out
    quorum.wait_history("report")
    # Others have looked for it at least once since.
    until = now_ms() + int((LEASE + 1) * 1000)
    quorum.servers.heal()
    wait_for(lambda: now_ms() > until, LEASE + 5, "a lease has passed")
    assert len(quorum.runs("report")) == 1
    quorum.assert_apart("report")
    assert holder.lines("report: (lost|overrun|crashed)") == []
    quorum.wait_free("report")


NONE = lambda quorum: None  # noqa: E731
NONE.__name__ = "all_well"


@pytest.mark.parametrize("mishap", [NONE, two_killed, two_frozen, pytest.param(one_emptied, marks=LONG),
                                    pytest.param(one_killed_and_one_frozen, marks=LONG)],
                         ids=lambda value: value.__name__)
def test_a_device_that_dies_is_taken_over_in_time(quorum, mishap):
    """The mishap comes with the lease held, the death after it."""
    quorum.make_due("report")
    body = """
[ "$ROTA_ATTEMPT" = 1 ] || exit 0
while :; do note beat; sleep 0.05; done
"""
    jobs = {"report": {**JOB, **quorum.body("report", body)}}
    for _ in range(3):
        quorum.device(jobs).start()
    holder = quorum.holder("report")
    others = [device for device in quorum.devices if device is not holder]
    for device in others:
        device.wait_line(f"is held by {holder.name}")
    mishap(quorum)
    renewed(quorum)
    dead_at = now_ms()
    holder.kill()
    again = quorum.wait_entry("begin", count=2, within=LEASE + SPLAY + 1 + SLACK)
    print(f"taken over {again.at - dead_at} ms after the death")
    assert again.attempt == 2
    assert again.at - dead_at <= (LEASE + SPLAY + 1 + SLACK) * 1000
    assert max(beat.at for beat in quorum.entries("beat")) < again.at
    said = wait_for(lambda: [line for device in others for line in device.lines("taken over from")], 3, "it is said")
    assert len(said) == 1 and f"taken over from {holder.name}" in said[0].text
    quorum.wait_history("report", 2)
    assert len(quorum.runs("report")) == 2


def test_without_a_majority_a_run_is_stopped_in_time_and_made_again_afterwards(quorum):
    holder = start(quorum, 8)
    quorum.servers.freeze(0, 1, 2)
    frozen_at = now_ms()
    holder.wait_line("report: (lost|stopped) .*could not be renewed", within=LEASE + 2)
    last = max(entry.at for entry in quorum.entries())
    assert last <= frozen_at + (LEASE + SLACK) * 1000
    for device in quorum.devices:
        device.wait_line("the quorum does not answer .*3 of its 5 servers are away", within=15)
    quorum.servers.thaw(0, 1, 2)
    quorum.wait_entry("end", within=8 + 15)
    for device in quorum.devices:
        device.wait_line("the quorum answers again after", within=15)
    runs = quorum.stretches("report")
    assert [run[1] for run in runs] == [1, 2]
    quorum.assert_apart("report")


def test_jobs_wait_for_a_majority_and_go_on(quorum):
    quorum.servers.kill(0, 2, 4)
    jobs = {"tick": {**SHORT, "every": "2s", "attempts": 1, "first": "now", **quorum.body("tick")}}
    devices = [quorum.device(jobs).start() for _ in range(2)]
    for device in devices:
        device.wait_line("the quorum does not answer")
    until = now_ms() + 3000
    wait_for(lambda: now_ms() > until, 10, "turns have passed")
    assert quorum.entries() == []
    quorum.servers.restart(2)
    quorum.wait_entry("end", count=2, within=15)
    for device in devices:
        device.wait_line("the quorum answers again after")
    runs = quorum.runs("tick")
    assert len(runs) == len(set(runs))
    assert [device.runs() for device in devices] == [True, True]


def test_one_line_when_a_server_is_away_and_one_when_it_is_back(quorum):
    quorum.make_due("report")
    device = quorum.device({"report": {**JOB, **quorum.body("report", beats(6))}}).start()
    quorum.wait_entry("beat")
    address = quorum.servers.all[3].address
    quorum.servers.kill(3)
    away = device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, ")
    assert away.level == "warning" and "; 4 of them serve; next try within" in away.text
    quorum.servers.restart(3)
    back = device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, answers again after .*; 5 of them "
                            "serve$")
    assert back.level == "notice"
    quorum.wait_entry("end", within=15)
    assert device.stop() == 0
    assert len(device.lines("servers of redis.quorum")) == 2
    assert device.lines("the quorum (does not|answers)") == []
    assert [line.text for line in device.complaints()] == [away.text]


def test_a_server_that_refuses_is_told_of_too(quorum):
    """It is connected, and no vote: what is left of the majority must not be found out when it is gone."""
    quorum.make_due("tick")
    quorum.clients[3].config_set("maxmemory", 1)
    device = wait_started(quorum.device({"tick": {**SHORT, "every": "1s", **quorum.body("tick")}}).start())
    address = quorum.servers.all[3].address
    away = device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, cannot be used: it is out of memory "
                            r"and refuses writes \(OOM\); 4 of them serve$", within=15)
    assert away.level == "warning"
    status = rotactl(device, "status").stdout
    assert "redis 4 of 5 ok" in status and "1 of the quorum's 5 servers" in status
    assert "\nrota_redis_servers_up 4\n" in rotactl(device, "metrics").stdout
    # A new connection is no proof.
    quorum.clients[3].client_kill_filter(_type="normal", skipme=True)
    quorum.wait_entry("end", count=len(quorum.runs()) + 2, within=15)
    assert device.lines("one of the 5 servers of redis.quorum, answers again") == []
    quorum.clients[3].config_set("maxmemory", 0)
    device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, answers again after .*; 5 of them serve$",
                     within=15)
    assert len(device.lines("servers of redis.quorum")) == 2


def test_one_jobs_fault_at_one_server_is_told_once(quorum):
    """Though other jobs are answered there, turn after turn."""
    for name in ("good", "bad"):
        quorum.make_due(name)
    claim = quorum.key("bad", "claim")
    quorum.clients[3].delete(claim)
    quorum.clients[3].set(claim, "no hash")
    device = quorum.device({name: {**SHORT, "every": "1s", **quorum.body(name)} for name in ("good", "bad")}).start()
    device.wait_line(r"servers of redis.quorum, cannot be used: a key of the job holds something that is not rota's", within=15)
    wait_for(lambda: len(quorum.runs("good")) > 4 and len(quorum.runs("bad")) > 4, 20, "both run on")
    assert len(device.lines("servers of redis.quorum")) == 1


def test_a_replica_is_told_of_once(quorum):
    """It lets in whoever may log in, at each try."""
    quorum.make_due("tick")
    quorum.clients[3].execute_command("REPLICAOF", "127.0.0.1", "1")
    device = wait_started(quorum.device({"tick": {**SHORT, "every": "1s", **quorum.body("tick")}}).start())
    address = quorum.servers.all[3].address
    device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, cannot be used: it is a replica "
                     r"\(READONLY\); 4 of them serve", within=15)
    quorum.wait_entry("end", count=6, within=15)
    assert len(device.lines("servers of redis.quorum")) == 1
    assert "redis 4 of 5 ok" in rotactl(device, "status").stdout
    quorum.clients[3].execute_command("REPLICAOF", "NO", "ONE")
    device.wait_line(f"^{address}, one of the 5 servers of redis.quorum, answers again after .*; 5 of them serve$",
                     within=15)
    assert len(device.lines("servers of redis.quorum")) == 2


def test_servers_that_were_not_reached_yet_are_not_counted_out(quorum):
    quorum.servers.kill(0)
    device = quorum.device({"report": {**JOB, **quorum.body("report")}}).start()
    first = device.wait_line("one of the 5 servers of redis.quorum")
    assert "; 4 of them serve; " in first.text


def test_a_server_that_comes_and_goes_hides_no_other(quorum):
    quorum.make_due("report")
    device = wait_started(quorum.device({"report": {**JOB, **quorum.body("report", beats(20))}}).start())
    quorum.wait_entry("beat")
    first, second = (quorum.servers.all[number].address for number in (3, 4))
    for _ in range(13):  # more than are said one by one
        quorum.servers.kill(3)
        wait_for(lambda: "4 of 5" in rotactl(device, "status").stdout, 10, "it is missed")
        quorum.servers.restart(3)
        wait_for(lambda: "5 of 5" in rotactl(device, "status").stdout, 10, "it is back")
    quorum.servers.kill(4)
    device.wait_line(f"^{second}, one of the 5 servers of redis.quorum, does not answer", within=10)
    assert device.lines(f"^{first}, one of the 5 servers of redis.quorum, does not answer")
