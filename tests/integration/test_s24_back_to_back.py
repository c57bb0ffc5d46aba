# SPDX-License-Identifier: MIT
"""S24: a thousand short runs, one behind the other: descriptors, zombies and memory stay as they were."""
import pathlib

import pytest

from fleet import SANITIZED, children_of, is_alive, wait_for
from guard_harness import dirty_kib

JOBS = 50
WARM_RUNS, RUNS = 200, 1000
PAGE_KB = 4
# Success is common, and a failure takes other ways; both are among them.
GOOD = {"plugin": "exec", "every": "1s", "worst_case": "5s", "stop_grace": "300ms", "splay": "0s",
        "attempts": 1, "params": {"command": ["/bin/true"]}}
BAD = {**GOOD, "params": {"command": ["/bin/false"]}}


def zombies(pid):
    return [child for child in children_of(pid) if not is_alive(child)]


def descriptors(pid):
    fds = pathlib.Path(f"/proc/{pid}/fd")
    return sorted(str(fd.readlink()).split(":")[0] for fd in fds.iterdir())


class Runs:
    """What the runs have come to, by their record in Redis."""

    def __init__(self, fleet):
        self.fleet = fleet

    def count(self):
        with self.fleet.client.pipeline(transaction=False) as pipe:
            for number in range(JOBS):
                pipe.xlen(self.fleet.key(f"job{number}", "history"))
            return sum(pipe.execute())


def at_rest(pid):
    """Descriptors and memory between two rounds: no child before and none after."""
    def look():
        if children_of(pid):
            return None
        seen = descriptors(pid), dirty_kib(pid)
        return None if children_of(pid) else seen
    return wait_for(look, 30, "a moment without a run")


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory grows")
def test_s24_nothing_grows(fleet):
    jobs = {f"job{number}": {**(BAD if number % 5 == 0 else GOOD), "history": 10_000}
            for number in range(JOBS)}
    device = fleet.device(jobs, max_running=8, log_level="warning").start()
    runs = Runs(fleet)
    wait_for(lambda: runs.count() >= WARM_RUNS, 60, "it is warm")
    fds_before, kb_before = at_rest(device.pid)
    first = runs.count()
    wait_for(lambda: runs.count() >= first + RUNS, 200, f"{RUNS} runs")
    fds_after, kb_after = at_rest(device.pid)
    print(f"{runs.count() - first} runs: {len(fds_before)} and {len(fds_after)} descriptors, "
          f"{kb_before} and {kb_after} KiB")
    # One may be between its end and its burial.
    wait_for(lambda: not zombies(device.pid), 5, "no zombie is left")
    assert fds_after == fds_before
    assert kb_after - kb_before < RUNS / 100 * PAGE_KB
