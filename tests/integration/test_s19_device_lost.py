# SPDX-License-Identifier: MIT
"""S19: a job of up to 24 h loses its device: another runs it within the lease, not within a day."""
import contextlib
import os
import signal

from fleet import ONCE, RENEWED, SLOWNESS, now_ms

LEASE, SPLAY = 3.0, 1.0


def test_s19_another_runs_it_within_the_lease(fleet):
    fleet.make_due("report")
    body = fleet.body("report", '[ "$ROTA_ATTEMPT" -gt 1 ] || exec sleep 600')
    job = {**RENEWED, **ONCE, "worst_case": "24h", "splay": f"{SPLAY:.0f}s", **body}
    first = fleet.device({"report": job}, name="first").start()
    begin = fleet.wait_entry("begin")
    second = fleet.device({"report": job}, name="second").start()
    second.wait_line("is held by first")

    # All of it goes at once, as when the power does.
    guard, = first.guards()
    lost_at = now_ms()
    for pid in (first.pid, guard, begin.pid):
        with contextlib.suppress(ProcessLookupError):  # each dies with the one before it, too
            os.kill(pid, signal.SIGKILL)
    first.process.wait()

    again = fleet.wait_entry("begin", count=2, within=LEASE + SPLAY + 1)
    assert again.attempt == 2
    assert again.at - lost_at <= (LEASE + SPLAY + 1) * 1000 * SLOWNESS
    second.wait_line("^report: taken over from first", 1)
    assert [entry["outcome"] for entry in fleet.wait_history("report", 2)] == [
        "vanished", "succeeded"]
