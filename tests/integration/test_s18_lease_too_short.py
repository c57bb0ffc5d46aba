# SPDX-License-Identifier: MIT
"""S18: worst case 10 min, lease 45 s, stop grace 30 s, default time-outs: refused."""
import re

EX_CONFIG = 78
JOB = {"plugin": "exec", "every": "1h", "worst_case": "10m", "stop_grace": "30s"}


def check(fleet, lease):
    jobs = {"report": {**JOB, "lease": lease, **fleet.body("report")}}
    result = fleet.device(jobs, redis={"address": fleet.redis.address}).check()
    return result.returncode, re.sub(r"\s+", " ", result.stdout + result.stderr)


def test_s18_refused_with_its_numbers(fleet):
    status, said = check(fleet, "45s")
    assert status == EX_CONFIG
    assert "a lease of 45 s is too short" in said
    # Both sides of the inequality: when the repeat is over, and when the job must be asked to stop.
    assert "31 s (45 s / 3 + 2 x 3 s command_timeout + 10 s connect_timeout)" in said
    assert "14.5 s (45 s - 30 s stop_grace - 0.45 s margin)" in said
    assert 'Write lease = "71s" or more' in said


def test_s18_what_it_says_to_write_passes_and_no_less(fleet):
    assert check(fleet, "70s")[0] == EX_CONFIG
    status, said = check(fleet, "71s")
    assert (status, "too short" in said) == (0, False)
