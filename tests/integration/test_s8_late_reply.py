# SPDX-License-Identifier: MIT
"""S8: command time-out 300 ms, and a renewal's reply comes after 1 s: to a closed connection."""
import contextlib
import pathlib
import signal

from fault_proxy import late, redis_by
from fleet import ONCE, RENEWED, SHORT, now_ms, wait_for

JOB = {**RENEWED, **ONCE, "lease": "5s"}


def test_s8_redis_sleeps_during_a_renewal(proxy, fleet):
    fleet.make_due("report")
    jobs = {"report": {**JOB, **fleet.body("report", "sleep 4")}}
    device = fleet.device(jobs, redis=redis_by(proxy)).start()
    fleet.wait_entry("begin")
    fleet.redis.process.send_signal(signal.SIGSTOP)
    try:
        first = proxy.wait_for("renew")
        awake = now_ms() + 1000
        wait_for(lambda: now_ms() >= awake, 2, "Redis has slept for 1 s")
    finally:
        fleet.redis.process.send_signal(signal.SIGCONT)
    device.wait_line(r"does not answer \(no reply within 300 ms\)", 1)
    fleet.wait_entry("end")

    assert proxy.commands("renew")[1].connection > first.connection
    assert [(entry["outcome"], entry["attempt"]) for entry in fleet.wait_history("report")] == [
        ("succeeded", "1")]
    assert fleet.lock("report") is None


def test_s8_no_reply_is_taken_for_another_commands(proxy, fleet):
    """Two jobs share the connection: one's late renewal would be the other's grant."""
    jobs = {"report": {**JOB, **fleet.body("report", "sleep 4")},
            "tick": {**SHORT, "every": "1s", "splay": "0s", **fleet.body("tick")}}
    fleet.make_due(*jobs)
    proxy.next("renew", late(1.0))
    device = fleet.device(jobs, redis=redis_by(proxy)).start()
    renewal = proxy.wait_for("renew")
    fleet.wait_entry("end", "report")

    after = {seen.connection for seen in proxy.commands() if seen.at > renewal.at + 0.35}
    assert after and renewal.connection not in after
    ticks = [entry.turn for entry in fleet.entries("begin", "tick")]
    assert len(ticks) == len(set(ticks)) >= 4
    assert [entry["outcome"] for entry in fleet.wait_history("report")] == ["succeeded"]
    assert {entry["outcome"] for entry in fleet.history("tick")} == {"succeeded"}
    assert device.lines("not rota's") == []


def sockets(pid):
    found = []
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it is closed meanwhile
            if str(descriptor.readlink()).startswith("socket:"):
                found.append(descriptor)
    return found


def test_s8_the_connection_is_closed_not_forgotten(proxy, fleet):
    proxy.always("hello", late(1.0))
    jobs = {"report": {**SHORT, **ONCE, **fleet.body("report")}}
    device = fleet.device(jobs, redis=redis_by(proxy)).start()
    proxy.wait_for("hello", 4)
    # The one of the moment, and the control socket; never one for each try.
    assert len(sockets(device.pid)) <= 2
