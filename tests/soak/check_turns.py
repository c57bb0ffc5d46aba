# SPDX-License-Identifier: MIT
"""Promises 1, 2, 6 and 7, and that no turn is missed that could have been done."""
import bisect
import collections
import datetime
import itertools
import re

from check_read import OF_SERVERS, RECOVERY_US, Near

START_US = 1_000_000  # PROTOCOL.md's A: spawn, exec and loading
CLOCK_US = 50_000  # the fleet's clock is estimated from replies
NOISE_US = 500_000  # of a machine that all devices share
CHANGE = re.compile(r"(\S+)Z debug: (\S+): (\w+) -> (\w+) ")
BEGINS_US = 2_000_000  # to ask, to be told, and to begin
OWN_US = 10_000_000  # a device's own recovery, as RECOVERY_US of the servers
LONGEST_US = 60_000_000  # a run, and what is left of its lease
GOOD = ("succeeded", "nothing")
GIVEN_BACK = ("declined", "unstarted")


def once_a_turn(soak, findings):
    promise = "1 once a turn"
    for job, facts in soak.jobs.items():
        by_device = facts["scope"] == "device"
        done = collections.defaultdict(list)
        for each in soak.history:
            if each["job"] == job and each["outcome"] in GOOD:
                done[each["device"] if by_device else ""].append(each)
        instants = {key: [each["at"] for each in some] for key, some in done.items()}
        newest = {key: list(itertools.accumulate((each["turn"] for each in some), max)) for key, some in done.items()}
        for run in soak.by_job[job]:
            granted, key = run.grant.at if run.grant else run.begin, run.device if by_device else ""
            count = bisect.bisect_left(instants.get(key, ()), granted - 2_000)
            before = []
            if count and newest[key][count - 1] >= run.turn:
                before = [each for each in done[key][:count] if each["turn"] >= run.turn]
            excuse = ""
            if before and all(soak.lost_between(each["at"], granted) for each in before):
                excuse = "by servers that lost the record (promise 8)"
            findings.case(promise, not before, f"{run} begins after turn {before[0]['turn'] if before else 0} was "
                          f"recorded as done at {before[0]['at'] if before else 0}", excuse)
        recorded = {(each["turn"], each["token"]) for some in done.values() for each in some}
        unrecorded_twice(soak, findings, job, by_device, recorded)


def unrecorded_twice(soak, findings, job, by_device, recorded):
    """Work that was done, and is done again, though nobody has a record of it: only where none could be made."""
    promise = "1 once a turn"
    again = collections.defaultdict(list)
    for run in soak.by_job[job]:
        again[run.turn, run.device if by_device else None].append(run)
    for runs in again.values():
        for run, after in zip(runs, runs[1:]):
            if "end" not in run.whats or (run.grant and (run.turn, run.grant.token) in recorded):
                continue
            end = run.grant.expires if run.grant else run.last + 1_000_000
            of_it = soak.faults_of(run.device, run.whats["end"] - NOISE_US, end, 2_000_000)
            excuse = ("whose end could not be told, or who died first" if of_it or
                      soak.servers_ill(run.whats["end"], end) else "")
            findings.case(promise, False, f"{after} begins though {run} has done it, and nothing kept it from "
                          "telling so", excuse)


def tries(soak, findings):
    promise, poison = "1 at most so many attempts", "6 a poison job is contained"
    for job, facts in soak.jobs.items():
        by_device = facts["scope"] == "device"
        of_turn = collections.defaultdict(list)
        for run in soak.by_job[job]:
            given_back = run.grant and run.grant.outcome in GIVEN_BACK
            if not soak.by_hand(run) and not given_back:
                of_turn[run.turn, run.device if by_device else ""].append(run)
        streak = None  # the end of the newest turn that was given up, until one succeeds
        for (turn, _), runs in sorted(of_turn.items()):
            first, last = runs[0], runs[-1]
            # What a declined try gave back is counted anew; a lost record, too.
            excuse = ("by servers that lost the count (promise 8)"
                      if soak.lost_between((first.grant.at if first.grant else first.begin), last.begin) else "")
            findings.case(promise, len(runs) <= facts["attempts"] and max(each.attempt for each in runs) <=
                          facts["attempts"], f"{job}, turn {turn}: {len(runs)} tries: " +
                          "; ".join(map(str, runs)), excuse)
            if by_device or facts["mode"] != "poison":
                continue
            if streak is not None:
                findings.case(poison, len(runs) == 1, f"{job}, turn {turn}: {len(runs)} tries after a turn that was "
                              f"given up at {streak}", "by servers that lost the count (promise 8)"
                              if soak.lost_between(streak, last.begin) else "")
            if len(runs) >= facts["attempts"] or (streak is not None and not soak.lost_between(streak, last.begin)):
                streak = last.last
            else:
                streak = None


def stops_after_failures(soak, findings):
    promise = "6 a job that fails everywhere is paused"
    for job, facts in soak.jobs.items():
        limit = facts["stop_after_failures"]
        if facts["scope"] != "device" or not limit or facts["mode"] != "fails":
            continue
        resumed = [(each.begin, each.end + 1_000_000) for each in soak.faults
                   if each.kind == "resume sulky" and each.job == job] + soak.losses
        # In a row, each device for itself: one that has begun when another one's pauses the job goes on.
        count, since = 0, soak.begin
        for run in soak.by_job[job]:
            if any(since <= end and begin <= run.begin for begin, end in resumed):
                count = 0
            count, since = count + 1, run.begin
            most = limit * len(facts["devices"])
            findings.case(promise, count <= most, f"{run} is the {count}th failure in a row; "
                          f"{limit} of a device pause the job")


def takeovers(soak, findings):
    promise = "2 takeover"
    watched, near = Watched(soak), Near(soak.runs, lambda each: each.begin, lambda each: each.begin + LONGEST_US)
    for death in soak.faults:
        if death.kind not in ("lose device", "kill supervisor") or not death.row.get("ok"):
            continue
        gone = death.row.get("gone_us", death.begin)
        for run in near.find(gone, gone):
            facts, grant = soak.jobs[run.job], run.grant
            if facts["scope"] == "device" or run.device not in death.devices or not grant or \
                    not run.begin <= gone < grant.end() or grant.outcome not in (None, "vanished"):
                continue
            bound = gone + (facts["lease"] + facts["splay"]) * 1000 + 1_000_000
            after = [each for each in soak.by_job[run.job] if each.begin > gone and each.turn == run.turn]
            findings.case(promise, bool(after) and after[0].begin <= bound + NOISE_US,
                          f"{run} dies with its device at {gone}; the next try is "
                          f"{after[0] if after else 'none'}, not by {bound}",
                          why_no_takeover(soak, run, gone, bound, watched))


def why_no_takeover(soak, run, gone, bound, watched):
    facts = soak.jobs[run.job]
    for true, reason in ((run.attempt >= facts["attempts"], "no try left"),
                         (soak.by_hand(run), "run by hand"),
                         (soak.boot(run.turn + facts["every"]) <= bound, "a newer turn was due"),
                         (soak.paused(run.job, run.begin, bound), "paused"),
                         (bound > soak.end, "the soak's end"),
                         (soak.servers_ill(run.begin, bound), "servers ill"),
                         (facts["mode"] == "poison", "one try each after a turn that was given up")):
        if true:
            return reason
    watchers = watched.by(run, gone)
    if not watchers:
        return "nobody watched"
    ill = [name for name in watchers if soak.faults_of(name, run.begin, bound, 5_000_000)]
    if len(ill) == len(watchers):
        return "all watchers were ill"
    # One that was ill may have the lock, and does not know it or cannot begin.
    taken = any(gone < grant.at <= bound for name in ill for grant in soak.granted[run.job, name])
    return "an ill watcher took it" if taken else ""


class Watched:
    """Who was told that somebody holds the lock, and comes back for it: from the devices' journals."""

    def __init__(self, soak):
        self.soak, self.changes = soak, collections.defaultdict(list)
        for name in soak.devices:
            path = soak.folder / "devices" / name / "journal"
            for line in open(path, encoding="utf-8", errors="replace") if path.exists() else ():
                found = "WATCHING" in line and CHANGE.match(line)
                if found:
                    at = datetime.datetime.fromisoformat(found[1] + "+00:00").timestamp()
                    self.changes[name, found[2]].append((round(at * 1000) * 1000 - soak.offset, found[4] == "WATCHING"))

    def by(self, run, at):
        return [name for name in self.soak.devices if name != run.device and
                next((is_so for when, is_so in reversed(self.changes[name, run.job]) if when < at), False)]


def by_surprise(soak, findings):
    promise, hand = "7 nothing runs by surprise", "7 by hand only where asked"
    for run in soak.runs:
        facts = soak.jobs[run.job]
        every, due = facts["every"] * 1000, soak.boot(run.turn)
        if (run.turn - facts["offset"]) % facts["every"] or soak.by_hand(run):
            findings.case(hand, soak.by_hand(run), f"{run}: its turn is none of its schedule, and nobody asked for it")
            continue
        at = run.grant.at if run.grant else run.begin
        findings.case(promise, run.begin >= due - CLOCK_US,
                      f"{run} begins {(due - run.begin) // 1000} ms before it is due")
        # The latest due turn alone is asked for; a request may be repeated once, and a grant starts within A.
        bound = due + every + soak.facts["command_timeout"] * 1000 + CLOCK_US
        stopped = [each for each in soak.faults_of(run.device, due, at, 1_000_000) if each.kind.startswith("stop ")]
        slow = soak.faults_of(run.device, due, at, 1_000_000) or soak.servers_ill(due, at)
        findings.case(promise, at <= bound, f"{run} is granted at {at}, {(at - bound) // 1000} ms after its window",
                      "a frozen device" if stopped else "a slow answer" if slow and at <= bound + 2_000_000 else "")
        findings.case(promise, run.begin - at <= START_US + NOISE_US,
                      f"{run} begins {(run.begin - at) // 1000} ms after its grant", "a frozen device" if stopped or
                      [each for each in soak.faults_of(run.device, at, run.begin) if each.kind.startswith("stop ")]
                      else "")
        late = (facts["lease"] + facts["splay"]) * 1000 + 1_000_000
        if at <= soak.begin + every:
            findings.case("7 nothing before first sight", due >= soak.begin - late,
                          f"{run}: its turn was due before anybody knew the job")
    after_lost_data(soak, findings)


def after_lost_data(soak, findings):
    """A turn that was due before Redis lost its data waits a lease, or is not run at all."""
    promise = "7 nothing at once after lost data"
    for fault in soak.faults:
        if not fault.row.get("lost_data"):
            continue
        # What a failover brings back, or takes away, at the same time is another matter.
        switched = any(each.kind == "switch" and each.meets(fault.begin - 10_000_000, fault.end + 20_000_000)
                       for each in soak.faults)
        for run in soak.runs:
            facts, due = soak.jobs[run.job], soak.boot(run.turn)
            if run.grant is None or run.grant.at < fault.end or due >= fault.begin or soak.by_hand(run) or \
                    run.grant.at > fault.end + facts["every"] * 1000:
                continue
            lease = facts["lease"] * 1000
            in_time = due >= fault.begin - lease - facts["splay"] * 1000 - 1_000_000
            findings.case(promise, run.grant.at >= fault.begin + lease and in_time,
                          f"{run}, due before Redis lost its data at {fault.begin}, is granted at {run.grant.at}",
                          "a failover beside it" if switched else "")


def complete(soak, findings):
    promise = "all turns are done"
    for job, facts in soak.jobs.items():
        every = facts["every"]
        if facts["mode"] in ("poison", "fails"):
            continue
        by_device = facts["scope"] == "device"
        for device in facts["devices"] if by_device else [None]:
            runs = [each for each in soak.by_job[job] if device in (None, each.device)]
            # A success covers what fell due until its end.
            covers = collections.defaultdict(list)
            begun = {each.turn for each in runs}
            for each in runs:
                covers[(each.last + soak.offset) // 1000 // every].append(each)
            turn = -(-((soak.begin + soak.offset) // 1000 + every) // every) * every
            while soak.boot(turn + every) < soak.end - 2_000_000:
                due, end = soak.boot(turn), soak.boot(turn + every)
                covered = turn in begun or any(each.begin < due <= each.last for each in runs
                                               if due - 60_000_000 < each.begin < due)
                findings.case(promise, covered, f"{job}, turn {turn}{' of ' + device if device else ''} "
                              f"(due {due}) is never begun", "" if covered else why_missed(soak, job, device, due, end))
                turn += every


def well_stretch(ill, begin, end):
    """The longest stretch from begin to end that none of the (begin, end) of ill meets."""
    longest, at = (begin, begin), begin
    for first, last in [*sorted(ill), (end, end)]:
        first = min(first, end)
        if first - at > longest[1] - longest[0]:
            longest = (at, first)
        at = max(at, last)
    return longest


def why_missed(soak, job, device, due, end):
    """A fault excuses a turn where it left no time in the turn's window that was enough to begin it."""
    facts = soak.jobs[job]
    need = facts["splay"] * 1000 + BEGINS_US
    if device and facts["concurrency"] < len(facts["devices"]):
        # Each waits for a seat, and a seat of one that has died is free after its lease alone.
        need += (facts["lease"] + facts["worst_case"]) * 1000 * -(-len(facts["devices"]) // facts["concurrency"])
    near = list(soak.near.find(due - RECOVERY_US, end))
    need = min(need, end - due)
    ill = [(each.begin, each.end + RECOVERY_US) for each in near if each.kind in OF_SERVERS]
    begin, last = well_stretch(ill, due, end)
    if last - begin < need:
        return "servers ill"
    if any(each.row.get("lost_data") and due <= each.end and each.begin <= end for each in near):
        return "its turn was lost with the data"
    if soak.paused(job, due, end):
        return "paused"
    if due < soak.begin + 10_000_000 + facts["every"] * 1000:
        return "first sight"
    if device:
        own = [(each.begin, each.end + OWN_US) for each in near if device in each.devices]
        begin, last = well_stretch(ill + own, due, end)
        return "its device ill" if last - begin < need else ""
    if any(each.at <= last and each.end() >= last - need for each in soak.near_grants[job].find(last - need, last)):
        return "the lock was held"
    # A failure or a crash waits for its delay, and its lease.
    sick = [name for name in soak.devices if soak.faults_of(name, begin, last)]
    if len(sick) > len(soak.devices) // 2:
        return "most devices ill"
    return ""


def check(soak, findings):
    for each in (once_a_turn, tries, stops_after_failures, takeovers, by_surprise, complete):
        each(soak, findings)
