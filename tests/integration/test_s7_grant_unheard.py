# SPDX-License-Identifier: MIT
"""S7: the SET reaches Redis, and its reply does not come back."""
from fault_proxy import lost_reply, lost_request, redis_by
from fleet import ONCE, RENEWED, SLOWNESS, now_ms, wait_for

TOKEN = 8  # of EVALSHA, behind the five keys of an acquire
# Far more than the test takes: a device that were shut out for a lease would be seen.
LEASE = {**RENEWED, "lease": "30s", "worst_case": "60s"}


def tokens(proxy):
    return [seen.words[TOKEN].decode() for seen in proxy.commands("acquire")]


def test_s7_the_same_token_is_repeated(proxy, fleet):
    fleet.make_due("report")
    # The second time not even Redis hears of it.
    proxy.next("acquire", lost_reply(), lost_request())
    jobs = {"report": {**LEASE, **ONCE, **fleet.body("report")}}
    device = fleet.device(jobs, name="unsure", redis=redis_by(proxy)).start()
    token = wait_for(lambda: fleet.lock("report"), 5, "Redis has granted it")
    fleet.wait_entry("end", within=3)

    assert tokens(proxy) == [token] * 3
    assert [seen.connection for seen in proxy.commands("acquire")] == [1, 2, 3]
    # Nothing was started on a grant that nobody heard.
    assert len(fleet.entries("begin")) == 1
    started, = device.lines("^report: started")
    assert started.at >= device.lines(r"^report: Redis \(acquire\)")[-1].at
    assert [(entry["outcome"], entry["attempt"]) for entry in fleet.wait_history("report")] == [
        ("succeeded", "1")]


def test_s7_cleaned_up_where_it_is_no_longer_wanted(proxy, fleet):
    """Its turn is over when the reply comes: it is given back, and the newer turn is taken."""
    fleet.make_due("report")
    proxy.next("acquire", lost_reply())
    jobs = {"report": {**LEASE, "every": "2s", "splay": "100ms", **fleet.body("report")}}
    fleet.device(jobs, name="unsure", redis=redis_by(proxy)).start()
    token = wait_for(lambda: fleet.lock("report"), 5, "Redis has granted it")
    proxy.hold()
    claim = fleet.claim("report")
    turn = int(claim["turn"])
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by", 5)  # on a full machine it asks for a turn after that one
    wait_for(lambda: now_ms() > turn + 2300, 4, "the next turn is due")
    assert fleet.entries() == []

    proxy.release()
    first = fleet.wait_entry("end", within=4)
    assert first.turn > turn and first.attempt == 1
    assert first.at - turn < 8000 * SLOWNESS
    assert token in tokens(proxy)
    ends = {entry["token"]: entry["outcome"] for entry in fleet.history("report")}
    assert ends.get(token, "unstarted") == "unstarted"
