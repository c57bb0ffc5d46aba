# SPDX-License-Identifier: MIT
"""S52: one of six jobs has a mistake, and power is cut after the reload that was refused for it."""
import signal

from fleet import SHORT, wait_for
from notify import NotifySocket

JOBS = 6


def jobs_of(fleet):
    return {name: {**SHORT, "every": "2s", "attempts": 1, **fleet.body(name)}
            for name in (f"job{n}" for n in range(1, JOBS + 1))}


def test_s52_the_other_five_run(fleet):
    jobs = jobs_of(fleet)
    fleet.make_due(*jobs)
    device = fleet.device(jobs).start()
    device.wait_line("^6 jobs; ready as gate-1$")
    for job in jobs:
        fleet.wait_entry("begin", job)
    jobs["job4"] = {**jobs["job4"], "plugin": "exce"}
    device.write(jobs)
    device.signal(signal.SIGHUP)
    device.wait_line("reload: refused for the mistakes above; the old configuration stays")
    mistake = rf"{device.conf}:\d+: job 'job4': plugin 'exce' is not in .*; did you mean 'exec'\?"
    assert device.lines(mistake)
    fleet.wait_entry("begin", "job4", count=len(fleet.entries("begin", "job4")) + 1)

    device.kill()
    # What has just been started may yet note its begin.
    wait_for(lambda: not fleet.left(), 10, "its guards have ended all")
    runs = {job: len(fleet.entries("begin", job)) for job in jobs}
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        notify.wait_for(r"^STATUS=6 jobs, 1 invalid \(job4\)", 10)
        device.wait_line(rf"^job4 is invalid, the other 5 jobs run: {device.conf}:\d+: "
                         r".*did you mean 'exec'\?")
        device.wait_line("^5 of 6 jobs run here; ready as gate-1$")
        for job in set(jobs) - {"job4"}:
            fleet.wait_entry("begin", job, count=runs[job] + 1)
    assert len(fleet.entries("begin", "job4")) == runs["job4"]
