# SPDX-License-Identifier: MIT
"""S22: the plugin daemonises a grandchild that holds stdout open, and the run is overrun."""
import fire
from fire import LockWatch, alive, behaving, wait_tree
from fleet import wait_for


def test_s22_whole_tree_dies(fleet):
    """Nobody waits on the pipe, no zombie, no descriptor; and that 8 times over."""
    fire.behave(fleet)
    jobs = {f"report{i}": behaving(fleet, f"report{i}", "tree", attempts=1, worst_case="1s")
            for i in range(8)}
    fleet.make_due(*jobs)
    device = fleet.device(jobs, max_running=8)
    watch = LockWatch(fleet, jobs)
    device.start()
    device.wait_line("ready as|fleet's clock|READY|^report0", 10)
    for job in jobs:
        assert len(wait_tree(fleet, job)) == 4
    watch.until(lambda: all(fleet.history(job) for job in jobs), 10, "each end is recorded")
    assert not any(alive(fleet, job) for job in jobs)
    assert {fleet.history(job)[0]["outcome"] for job in jobs} == {"overrun"}
    wait_for(lambda: not device.guards(), 3, "no guard and no zombie is left")
    took = [float(line.text.split(" after ")[1].split(" s,")[0])
            for line in device.lines("^report.: overrun: stopped after")]
    # Worst case, grace, and a moment for the kill.
    assert len(took) == 8 and max(took) < 1 + 0.3 + 1 * fire.SLOWNESS
