# SPDX-License-Identifier: MIT
"""Five devices that all want every turn of one job, on a quorum and on one server: how often, how late, what stays."""
import pytest

from fault_proxy import FaultProxy
from fleet import SHORT, Fleet, wait_for
from quorum import TIMES, keys_left, spread

TURNS = 20
JOB = {**SHORT, "every": "1s", "attempts": 3, "splay": "0s", "worst_case": "1s"}


def lateness(fleet, turns, **top):
    """Milliseconds from the instant that a turn falls due to its program's first word, of so many turns that all
    devices ask for at the same instant. A machine that stands still may leave one out, but never runs one twice."""
    jobs = {"tick": {**JOB, **fleet.body("tick")}}
    devices = [fleet.device(jobs, turns="all", **top).start() for _ in range(5)]
    fleet.wait_entry("begin", count=3, within=20)
    skipped = len(fleet.entries("begin"))
    fleet.wait_entry("end", count=skipped + turns, within=turns + 20)
    for device in devices:
        assert device.stop() == 0
    runs = [entry for entry in fleet.entries("begin")]
    assert len({run.turn for run in runs}) == len(runs), "a turn was run twice"
    later = [run for run in runs[skipped:] if run.attempt == 1]
    return [run.at - run.turn for run in later]


def total_bytes(proxy):
    return sum(proxy.request_bytes.values()) + sum(proxy.reply_bytes.values())


@pytest.mark.long
@pytest.mark.parametrize("way", [{}, {"round_trip": 0.06, "loss": 0.02}], ids=["near", "far"])
def test_five_devices_take_turns_as_on_one_server(quorum, redis_server, way):
    proxies = [FaultProxy(server.socket, **way) for server in (redis_server, *quorum.servers.all)]
    times = {**TIMES, "connect_timeout": "3s", "command_timeout": "1s"}
    try:
        alone = Fleet(redis_server)
        try:
            one = lateness(alone, TURNS, redis={**times, "address": proxies[0].address})
        finally:
            alone.close()
        asked = [sum(proxy.count() for proxy in proxies), sum(map(total_bytes, proxies))]
        five = lateness(quorum, TURNS, redis={**quorum.group([proxy.address for proxy in proxies[1:]]), **times})
        both = [sum(proxy.count() for proxy in proxies), sum(map(total_bytes, proxies))]
    finally:
        for proxy in proxies:
            proxy.close()
    print(f"late in ms, of {TURNS} turns: one server {spread(one)}, quorum of five {spread(five)}")
    print(f"commands, bytes: one server {asked}, quorum {[b - a for a, b in zip(asked, both)]}")
    # Two that split the votes ask again within 50 to 550 ms.
    assert spread(five)["median"] <= spread(one)["median"] + 600
    quorum.wait_free("tick")
    for client in quorum.clients:
        wait_for(lambda c=client: keys_left(c) == [], 10, "no lock is left")
