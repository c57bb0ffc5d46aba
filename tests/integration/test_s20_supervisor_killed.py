# SPDX-License-Identifier: MIT
"""S20: the supervisor dies above a job with grandchildren, one of them daemonised."""
from fleet import ONCE, RENEWED, is_alive, wait_for

STOP_GRACE_MS = 500
# A child, a grandchild, and one that left the session, lost its parent and ignores SIGTERM.
BODY = """
( sleep 61 & echo $! >"$0.grandchild"; wait ) &
setsid sh -c 'trap "" TERM; sleep 62 & echo $! >"$0.daemon"; sleep 63' "$0" \\
    </dev/null >/dev/null 2>&1 &
until [ -s "$0.daemon" ] && [ -s "$0.grandchild" ]; do sleep 0.01; done
note ready
sleep 60
"""


def test_s20_nothing_outlives_the_supervisor(fleet):
    jobs = {"report": {**RENEWED, **ONCE, "stop_grace": f"{STOP_GRACE_MS}ms",
                       **fleet.body("report", BODY)}}
    fleet.make_due("report")
    device = fleet.device(jobs).start()
    ready = fleet.wait_entry("ready")
    strangers = [int((fleet.folder / f"report.sh.{name}").read_text())
                 for name in ("grandchild", "daemon")]
    assert all(is_alive(pid) for pid in [ready.pid, *strangers])
    before = set(fleet.left())
    assert len(before) >= 7  # rotad, guard, worker, its program, and what that started
    token = fleet.lock("report")

    device.kill()
    wait_for(lambda: not fleet.left(), 1, "all of the job is gone")
    key = fleet.key("report", "lock")
    holder, left = fleet.client.pipeline(transaction=True).get(key).pttl(key).execute()
    assert holder == token and left > 0

    device.start()
    device.wait_line("turn of .* is held by gate-1", 3)
    assert set(fleet.left()) == {device.pid}
    wait_for(lambda: fleet.lock("report") != token, 4, "the lock expires by itself")
    again = fleet.wait_entry("begin", count=2)
    assert again.attempt == 2
    assert [entry["outcome"] for entry in fleet.history("report")] == ["vanished"]
