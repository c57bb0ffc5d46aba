# SPDX-License-Identifier: MIT
"""S23: the plugin crashes, calls exit, loops for ever, blocks SIGTERM, closes every descriptor."""
import time

import fire
from fire import LockWatch, alive, behaving
from fleet import wait_for
from notify import NotifySocket

INTERVAL = 1.0
# Way, number, outcome, and what is kept of how it ended.
WAYS = {
    "crashes": ("crash", 0, "crashed", "last words"),
    "exits": ("exit", 3, "crashed", ""),
    "exits_well": ("exit", 0, "crashed", ""),
    "closes": ("closer", 0, "crashed", ""),
    "loops": ("loop", 0, "overrun", ""),
    "blocks": ("defiant", 0, "overrun", ""),
    "reuses": ("reuser", 0, "crashed", ""),
    "forks": ("tree", 0, "overrun", ""),
}


def test_s23_only_that_job_fails(fleet):
    fire.behave(fleet)
    jobs = {name: behaving(fleet, name, way, number, attempts=1, worst_case="1s")
            for name, (way, number, _, _) in WAYS.items()}
    jobs["pulse"] = {**fire.PULSE, **fleet.body("pulse")}
    fleet.make_due("pulse", *WAYS)
    device = fleet.device(jobs, max_running=16)
    watch = LockWatch(fleet, WAYS)
    with NotifySocket(fleet.folder / "notify") as notify:
        began = time.monotonic()
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL * 1_000_000)))
        watch.until(lambda: all(fleet.history(name) for name in WAYS), 15, "each end is recorded")
        wait_for(lambda: len(fleet.entries("end", "pulse")) >= 3, 8, "the other goes on")
        pings = [at for at in notify.pings() if at >= began]
        assert max(later - at for at, later in zip(pings, pings[1:])) < INTERVAL
    ends = {name: fleet.history(name) for name in WAYS}
    assert {name: end[0]["outcome"] for name, end in ends.items()} == {
        name: outcome for name, (_, _, outcome, _) in WAYS.items()}
    assert all(len(end) == 1 for end in ends.values())
    assert ends["crashes"][0]["detail"].startswith("killed by signal ")
    assert ends["crashes"][0]["detail"].endswith(": last words")
    assert ends["exits"][0]["detail"] == "exit status 3 and no result"
    assert not any(alive(fleet, name) for name in WAYS)
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    fire.check_pulse(fleet)
