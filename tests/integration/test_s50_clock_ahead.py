# SPDX-License-Identifier: MIT
"""S50: Redis's clock is one day ahead for a while, then right: no job is silent for longer than a
period. Two days of it are the simulator's."""
from fleet import RENEWED, SHORT, wait_for

DAY_MS = 86_400_000
PERIOD_MS = 3000
DEVICES = 3
# From a due instant to the worker's first line, on a busy machine.
START_MS = 2500


def starts(fleet, job):
    """By the machine's clock, which goes on as ever."""
    return [entry.at for entry in fleet.entries("begin", job)]


def wait_rounds(fleet, jobs, rounds):
    seen = {job: len(starts(fleet, job)) for job in jobs}
    wait_for(lambda: all(len(starts(fleet, job)) >= seen[job] + rounds for job in jobs),
             6 * rounds * PERIOD_MS / 1000, f"{rounds} more rounds")


def test_s50_no_job_is_silent(timed_fleet):
    fleet = timed_fleet
    kinds = {"quick": {**SHORT, "body": ""}, "slow": {**RENEWED, "body": "sleep 1.2"}}
    jobs = {job: {"every": f"{PERIOD_MS}ms", "splay": "100ms", "catch_up": "2s",
                  **{key: value for key, value in kind.items() if key != "body"},
                  **fleet.body(job, kind["body"])} for job, kind in kinds.items()}
    devices = [fleet.device(jobs).start() for _ in range(DEVICES)]
    wait_rounds(fleet, jobs, 1)
    fleet.redis.clock.add(DAY_MS)
    wait_rounds(fleet, jobs, 2)
    fleet.redis.clock.add(-DAY_MS)
    wait_rounds(fleet, jobs, 3)
    for job in jobs:
        at = starts(fleet, job)
        silences = [later - earlier for earlier, later in zip(at, at[1:])]
        print(f"{job}: {silences}")
        # One turn at most is left out for a jump, so that nothing runs by surprise.
        assert max(silences) <= 2 * PERIOD_MS + START_MS, f"{job}: {silences}"
    assert any(device.lines("clock") for device in devices)
