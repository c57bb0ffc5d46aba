# SPDX-License-Identifier: MIT
"""A finish that cannot be sent for longer than the lease still closes its turn, or harms nobody."""
from fault_proxy import lost_reply, lost_request, redis_by
from fleet import ONCE, RENEWED, SHORT, wait_for

# The first is cut off from Redis before it ends; whoever takes over has a longer run.
SUCCEEDS = '[ "$ROTA_ATTEMPT" = 1 ] || sleep 3'
FAILS = '[ "$ROTA_ATTEMPT" = 1 ] && exit 1; sleep 3'


def ends(fleet):
    """What is known of each attempt: entries of one token are one run, said more than once."""
    return sorted({(entry["attempt"], entry["outcome"]) for entry in fleet.history("report")})


def start(fleet, proxy, text, **more):
    """A device that is cut off from the beginning of its run on."""
    go = fleet.folder / "go"
    jobs = {"report": {**RENEWED, **ONCE, **more, **fleet.body(
        "report", f"until [ -e '{go}' ]; do sleep 0.01; done; {text}")}}
    fleet.make_due("report")
    fleet.device(jobs, name="cut-off", redis=redis_by(proxy)).start()
    fleet.wait_entry("begin")
    return jobs, go


def cut_off(proxy, go):
    proxy.hold()
    go.touch()


def test_s54_closed_late_where_nobody_else_ran_it(proxy, fleet):
    """attempts = 1: the turn stays open until the late success closes it."""
    jobs, go = start(fleet, proxy, SUCCEEDS, attempts=1)
    turn = fleet.claim("report")["turn"]
    cut_off(proxy, go)
    fleet.wait_entry("end")
    wait_for(lambda: fleet.lock("report") is None, 5, "the lease has ended")
    assert fleet.claim("report")["done"] != turn
    proxy.release()
    wait_for(lambda: fleet.claim("report")["done"] == turn, 3, "the turn is closed")
    assert ends(fleet) == [("1", "succeeded")]
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is settled", 3)
    assert len(fleet.entries("begin")) == 1


def test_s54_success_closes_the_turn_that_another_runs(proxy, fleet):
    jobs, go = start(fleet, proxy, SUCCEEDS)
    turn = fleet.claim("report")["turn"]
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by cut-off")
    cut_off(proxy, go)
    assert fleet.wait_entry("begin", count=2).attempt == 2
    assert fleet.claim("report")["done"] != turn
    token = fleet.lock("report")
    assert token.startswith("other:")

    proxy.release()
    wait_for(lambda: fleet.claim("report")["done"] == turn, 3, "the turn is closed")
    # The other's lease is its own, and what its run comes to is recorded too.
    assert fleet.lock("report") == token and fleet.claim("report")["token"] == token
    fleet.wait_entry("end", count=2)
    both = [("1", "succeeded"), ("2", "succeeded")]
    wait_for(lambda: [end for end in ends(fleet) if end[1] != "vanished"] == both, 2,
             "both are recorded")
    third = fleet.device(jobs, name="third").start()
    third.wait_line("is settled", 3)
    assert len(fleet.entries("begin")) == 2


def test_s54_failure_changes_nothing_that_is_anothers(proxy, fleet):
    jobs, go = start(fleet, proxy, FAILS)
    turn = fleet.claim("report")["turn"]
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by cut-off")
    cut_off(proxy, go)
    fleet.wait_entry("begin", count=2)
    proxy.release()
    wait_for(lambda: ("1", "failed") in ends(fleet), 3, "the failure is recorded")
    claim = fleet.claim("report")
    assert (claim["state"], claim["attempt"]) == ("running", "2")
    assert claim["token"] == fleet.lock("report")
    wait_for(lambda: ("2", "succeeded") in ends(fleet), 5, "the other's run is recorded")
    assert fleet.claim("report")["done"] == turn
    assert len(fleet.entries("begin")) == 2


def test_s54_repeated_while_the_link_comes_and_goes(proxy, fleet):
    """Sent many times, recorded once."""
    jobs = {"report": {**SHORT, **ONCE, **fleet.body("report")}}
    fleet.make_due("report")
    proxy.next("finish", lost_reply(), lost_request(), lost_reply(), lost_reply())
    fleet.device(jobs, redis=redis_by(proxy)).start()
    proxy.wait_for("finish", 5, within=20)
    fleet.wait_entry("end")
    assert len({tuple(seen.words) for seen in proxy.commands("finish")}) == 1
    assert ends(fleet) == [("1", "succeeded")]
    assert fleet.lock("report") is None
