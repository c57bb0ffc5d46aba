# SPDX-License-Identifier: MIT
"""Proves DESIGN section 2 from what a soak left (README.md): a sentence for each case that breaks it.

    check.py FOLDER"""
import sys

import check_life
import check_locks
import check_turns
from check_read import Findings, Soak

# A soak of a whole cycle has cases of each of these; where it has none, its record is not what it seems.
LONG_US = 280_000_000
PROMISES = ("1 once a turn", "1 at most so many attempts", "2 takeover", "3 the lease outlives the work",
            "3 no two runs of a lock", "4 nobody's lock but one's own", "5 a crash lets the lock expire",
            "6 a poison job is contained", "6 a job that fails everywhere is paused", "7 nothing runs by surprise",
            "7 fences grow", "7 nothing at once after lost data", "9 rotad goes on", "9 the watchdog",
            "9 all are well at the end", "9 nothing grows", "all turns are done")
RARE = ("2 takeover", "7 nothing at once after lost data")  # by chance: no run was there to be hit
HOURS_US = 3_600_000_000


def examine(folder):
    soak, findings = Soak(folder), Findings()
    for each in (check_locks, check_turns, check_life):
        each.check(soak, findings)
    length = 0 if soak.facts.get("interrupted") else soak.end - soak.begin
    for promise in PROMISES:
        if not findings.examined[promise] and length >= (HOURS_US if promise in RARE else LONG_US):
            findings.broken.append((promise, "no case of it was seen"))
    return findings


def check(folder):
    return [f"{promise}: {sentence}" for promise, sentence in examine(folder).broken]


if __name__ == "__main__":
    examined = examine(sys.argv[1])
    print(*examined.lines(), *(f"{promise}: {sentence}" for promise, sentence in examined.broken), sep="\n")
    sys.exit(1 if examined.broken else 0)
