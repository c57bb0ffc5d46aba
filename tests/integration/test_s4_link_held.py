# SPDX-License-Identifier: MIT
"""S4: a job runs, and all bytes between its device and Redis are held back."""
from fault_proxy import redis_by
from fleet import ONCE, RENEWED, SLOWNESS, is_alive, now_ms, wait_for

LEASE, SPLAY = 3, 1
# It does not end when it is asked to: only SIGKILL ends the first one.
BODY = """
trap 'note term' TERM
[ "$ROTA_ATTEMPT" = 1 ] || { note beat; sleep 1.5; note beat; exit 0; }
while :; do note beat; sleep 0.02; done
"""


def watch_end(fleet, pid, token):
    """When the process was gone, and when the lock was, in ms."""
    gone_at, free_at = 0, 0

    def both():
        nonlocal gone_at, free_at
        # In this order: a lock that is free, and then a process that is there, would be seen.
        free = fleet.lock("report") != token
        alive = is_alive(pid)
        gone_at = gone_at or (0 if alive else now_ms())
        free_at = free_at or (now_ms() if free else 0)
        return gone_at and free_at
    wait_for(both, LEASE + 2, "process and lock are gone")
    return gone_at, free_at


def test_s4_stopped_before_the_lease_ends(proxy, fleet):
    # Time enough for its last words on a full machine.
    jobs = {"report": {**RENEWED, **ONCE, "stop_grace": "600ms", "splay": f"{SPLAY}s", **fleet.body("report", BODY)}}
    fleet.make_due("report")
    cut_off = fleet.device(jobs, name="cut-off", redis=redis_by(proxy)).start()
    begin = fleet.wait_entry("begin")
    other = fleet.device(jobs, name="other").start()
    other.wait_line("is held by cut-off")
    proxy.wait_for("renew", 1)
    token = fleet.lock("report")

    proxy.hold()
    guard, = cut_off.guards()
    gone_at, free_at = watch_end(fleet, begin.pid, token)
    assert gone_at < free_at
    wait_for(lambda: not is_alive(guard), 1, "the guard has ended")
    again = fleet.wait_entry("begin", count=2, within=SPLAY + 2)

    firsts = [entry for entry in fleet.entries() if entry.attempt == 1]
    assert again.attempt == 2 and again.pid != begin.pid
    # Asked, and then, when that did not help, killed.
    asked, = [entry for entry in firsts if entry.what == "term"]
    last = firsts[-1]
    assert last.what == "beat" and asked.at < last.at
    assert again.at - last.at > 0
    assert again.at - free_at <= (SPLAY + 1) * 1000 * SLOWNESS
    cut_off.wait_line("^report: (stopped|lost) .*", 2)

    # What was held comes at last, late: it is the other's lock now.
    token = fleet.lock("report")
    assert token.startswith("other:")
    proxy.release()
    cut_off.wait_line("answers again", 5)
    history = wait_for(
        lambda: [entry for entry in fleet.history("report") if entry["outcome"] == "succeeded"], 5,
        "the other's run is recorded")
    assert [entry["token"] for entry in history] == [token]
    assert other.complaints() == [] or SLOWNESS > 1
    assert len(fleet.entries("begin")) == 2
