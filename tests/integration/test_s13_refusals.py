# SPDX-License-Identifier: MIT
"""S13: Redis refuses, by one word or another, and then is fine: asked again, and no contention."""
import pytest

from fault_proxy import answered, redis_by
from fleet import ONCE, RENEWED, is_alive, wait_for
from resp import error

REFUSALS = {
    "LOADING": "LOADING Redis is loading the dataset in memory",
    "BUSY": "BUSY Redis is busy running a script. You can only call SCRIPT KILL.",
    "MISCONF": "MISCONF Redis is configured to save RDB snapshots, but is unable to persist.",
    "OOM": "OOM command not allowed when used memory > 'maxmemory'.",
    "CLUSTERDOWN": "CLUSTERDOWN The cluster is down",
    "TRYAGAIN": "TRYAGAIN Multiple keys request during rehashing of slot",
    "MASTERDOWN": "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is 'no'.",
    "NOREPLICAS": "NOREPLICAS Not enough good replicas to write.",
}
# Asked again slowly.
WAITS_FOR_A_PERSON = ("MISCONF", "OOM")


def refusal(word):
    return answered(error(REFUSALS[word]))


def jobs(fleet, text, **more):
    fleet.make_due("report")
    return {"report": {**RENEWED, **ONCE, **more, **fleet.body("report", text)}}


@pytest.mark.parametrize("word", REFUSALS)
def test_s13_refused_then_fine(proxy, fleet, word):
    times = 1 if word in WAITS_FOR_A_PERSON else 2
    proxy.next("acquire", *[refusal(word)] * times)
    proxy.next("renew", refusal(word))
    device = fleet.device(jobs(fleet, "sleep 2.2"), redis=redis_by(proxy)).start()
    fleet.wait_entry("end", within=20)

    assert [(entry["outcome"], entry["attempt"]) for entry in fleet.wait_history("report")] == [
        ("succeeded", "1")]
    # Told with the server's word, and never as if somebody had the lock.
    assert [line for line in device.complaints() if word in line.text]
    assert device.lines("is held|is settled") == []
    assert proxy.count("acquire") == times + 1 and proxy.count("renew") >= 2


@pytest.mark.parametrize("word", ["OOM", "LOADING"])
def test_s13_refused_until_the_deadline(proxy, fleet, word):
    """The second closes the connection each time, the first does not."""
    proxy.always("renew", refusal(word))
    device = fleet.device(jobs(fleet, "sleep 60", attempts=1), redis=redis_by(proxy)).start()
    begin = fleet.wait_entry("begin")
    token = fleet.lock("report")
    wait_for(lambda: not is_alive(begin.pid), 4, "the worker is stopped")
    assert fleet.lock("report") == token
    assert fleet.entries("end") == []
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["lost"]
    # A renewal falls due at 1 s, and the worker is stopped at 2.45 s: no tight loop meanwhile.
    assert 2 <= proxy.count("renew") <= 40
    device.wait_line("^report: stopped after .*, because the lock could not be renewed", 1)


def test_s13_contention_stays_contention(proxy, fleet):
    fleet.client.set(fleet.key("report", "lock"), "operator", px=2000)
    proxy.next("acquire", refusal("BUSY"))
    device = fleet.device(jobs(fleet, ""), redis=redis_by(proxy)).start()
    device.wait_line("is held by another holder", 3)
    fleet.wait_entry("begin", within=5)
