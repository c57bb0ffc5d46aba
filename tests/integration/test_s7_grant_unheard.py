# SPDX-License-Identifier: MIT
"""S7: the SET reaches Redis, and its reply does not come back."""
import signal

import pytest

from fault_proxy import FaultProxy, lost_reply, lost_request, redis_by
from fleet import ONCE, RENEWED, wait_for

TOKEN = 7  # of EVALSHA, with the four keys of an acquire
# Far more than the test takes: whoever is shut out for a lease is seen.
LEASE = 30


@pytest.fixture
def proxy(redis_server):
    with FaultProxy(redis_server.socket) as the_proxy:
        yield the_proxy


@pytest.fixture
def jobs(fleet):
    fleet.make_due("report")
    return {"report": {**RENEWED, **ONCE, "lease": f"{LEASE}s", "worst_case": "60s", **fleet.body("report")}}


def tokens(proxy):
    return [seen.words[TOKEN] for seen in proxy.commands("acquire")]


def test_s7_the_same_token_is_repeated(fleet, proxy, jobs):
    # The second time not even Redis hears of it.
    proxy.next("acquire", lost_reply(), lost_request())
    device = fleet.device(jobs, name="unsure", redis=redis_by(proxy)).start()
    proxy.wait_for("acquire", 1)
    token = wait_for(lambda: fleet.lock("report"), 1, "Redis has granted it")
    third = proxy.wait_for("acquire", 3)
    fleet.wait_entry("end", within=2)

    assert tokens(proxy) == [token.encode()] * 3
    # Nothing was started on a grant that nobody heard.
    begin, = fleet.entries("begin")
    assert begin.at >= fleet.claim_times("report")[0]
    assert device.lines("report: started")[0].at >= device.lines("report: acquire: ")[-1].at
    assert [seen.connection for seen in proxy.commands("acquire")] == [1, 2, third.connection]
    assert [(entry["outcome"], entry["attempt"]) for entry in fleet.wait_history("report")] == [("succeeded", "1")]


def test_s7_cleaned_up_where_it_is_not_wanted(fleet, proxy, jobs):
    proxy.next("acquire", lost_reply())
    device = fleet.device(jobs, name="unsure", redis=redis_by(proxy)).start()
    wait_for(lambda: fleet.lock("report"), 5, "Redis has granted it")
    device.signal(signal.SIGTERM)
    assert device.ended(5) == 0
    assert len(set(tokens(proxy))) == 1
    assert fleet.lock("report") is None
    assert fleet.entries() == []
    # Nobody is shut out, and no attempt was counted.
    fleet.device(jobs, name="other").start()
    assert fleet.wait_entry("end", within=3).attempt == 1
