# SPDX-License-Identifier: MIT
"""Promises 3, 4 and 5 and the fences, from the ledgers and from what the servers did to the locks."""
from check_read import CRASHED, Near

LOOK_US = 20_000  # two processes read one clock, and a line is written a little after it was read
BEAT_US = 300_000  # between two lines of a process that works
FREED_US = 500_000  # "milliseconds until the guard is scheduled", on a machine that all share


def lease_outlives_work(soak, findings):
    promise = "3 the lease outlives the work"
    for run in soak.runs:
        if run.grant is None:
            findings.unseen[promise] += 1
            continue
        # The lock is deleted once nothing is alive; without that, its time is the bound.
        end = run.grant.end()
        frozen = [each for each in soak.faults_of(run.device, end, end) if each.kind.startswith("stop device")]
        excuse = "children after a freeze of all" if any(run.last <= each.end + FREED_US for each in frozen) else ""
        if not excuse and run.grant.expires == end and soak.lost_between(run.begin, run.last):
            excuse = "a renewal that a lost server took"
        findings.case(promise, run.last <= end + LOOK_US,
                      f"{run}: its {run.last_role} lives {(run.last - end) // 1000} ms after its lock ended at {end} "
                      f"(token {run.grant.token})", excuse)


def overlaps(soak, findings):
    promise = "3 no two runs of a lock"
    for job, runs in soak.by_job.items():
        at_most = soak.jobs[job]["concurrency"]
        alive = []
        for run in runs:
            alive = [each for each in alive if each.last > run.begin]
            same = [each for each in alive if each.device == run.device]
            excuse = ""
            if alive and any(soak.lost_between(each.grant.at if each.grant else each.begin, run.begin)
                             for each in alive):
                excuse = "by servers that lost a lock (promise 8)"
            elif alive and all(frozen_past(soak, each) for each in alive):
                excuse = "children after a freeze of all"
            findings.case(promise, len(alive) < at_most and not same,
                          f"{run} begins while {len(alive)} of at most {at_most} run: "
                          + "; ".join(map(str, alive[:3])), excuse)
            alive.append(run)


def frozen_past(soak, run):
    return any(each.kind.startswith("stop device") and run.last <= each.end + FREED_US
               for each in soak.faults_of(run.device, run.begin, run.last, FREED_US))


def own_lock_only(soak, findings):
    """A lock's life at each server: what its replica repeats counts, so that a new master is known, too."""
    promise, crash = "4 nobody's lock but one's own", "5 a crash lets the lock expire"
    held = {}
    for row in soak.commands:
        if row.get("open"):
            held = {key: value for key, value in held.items() if key[0] != row["server"]}
            continue
        words, server = row["words"], row["server"]
        if not words[1].endswith(":lock"):
            if words[0].upper() == "ZREM" and row.get("script"):
                of_seats(soak, findings, row, promise)
            continue
        at, job, verb = soak.instant(row), soak.job_of(words[1]), words[0].upper()
        token, expires, since = held.get((server, job), (None, 0, 0))
        own = bool(row.get("script"))
        device = soak.device_of(row["client"])
        if verb == "SET":
            if own and token is not None and token != words[2]:
                findings.case(crash if crashed(soak, job, token) else promise, at >= expires - 2_000,
                              f"{job}: {words[2]} has the lock at {at}, {(expires - at) // 1000} ms before that of "
                              f"{token} ends (server {server})", lost(soak, since, at))
            if "PX" in words:
                expires = at + int(words[words.index("PX") + 1]) * 1000
            elif "PXAT" in words:
                expires = soak.boot(words[words.index("PXAT") + 1])
            held[server, job] = (words[2], expires, at)
        elif verb in ("PEXPIRE", "PEXPIREAT") and token:
            if own:
                findings.case(promise, token.split(":")[0] == device or at >= expires - 2_000,
                              f"{job}: {device} renews the lock of {token} at {at} (server {server})",
                              lost(soak, since, at))
            until = at + int(words[2]) * 1000 if verb == "PEXPIRE" else soak.boot(words[2])
            held[server, job] = (token, until, since)
        elif verb in ("DEL", "UNLINK"):
            if own and token and device and at < expires:
                findings.case(promise, token.split(":")[0] == device,
                              f"{job}: {device} releases the lock of {token} at {at} (server {server})",
                              lost(soak, since, at))
                # The taking back of one's own lock deletes and sets it in one step.
                findings.case(crash, not crashed(soak, job, token) or row["script"] in soak.renews,
                              f"{job}: the lock of {token} is deleted at {at}, though its run is "
                              f"{outcome(soak, job, token)}")
            held.pop((server, job), None)


def of_seats(soak, findings, row, promise):
    device, job, at = soak.device_of(row["client"]), soak.job_of(row["words"][1]), soak.instant(row)
    for token in row["words"][2:]:
        grant = soak.grants.get((job, token.lstrip("~")))
        # Any device sweeps what has expired.
        findings.case(promise, token.lstrip("~").split(":")[0] == device or not grant or at >= grant.expires - 2_000,
                      f"{job}: {device} releases the seat of {token} at {at}", lost(soak, grant.at if grant else 0, at))


def seats(soak, findings):
    """A seat counts until it is given up, or has expired: also that of a run that has crashed."""
    crash, full = "5 a crash lets the lock expire", "3 no two runs of a lock"
    for job, facts in soak.jobs.items():
        if facts["scope"] != "device":
            continue
        taken = []
        for grant in sorted((each for each in soak.grants.values() if each.job == job), key=lambda each: each.at):
            taken = [each for each in taken if each.end() > grant.at + 2_000]
            findings.case(full, len(taken) < facts["concurrency"],
                          f"{job}: {grant.token} has a seat at {grant.at}, while these have all of them: " +
                          " ".join(each.token for each in taken),
                          lost(soak, min(each.at for each in taken), grant.at) if taken else "")
            taken.append(grant)
            if crashed(soak, job, grant.token):
                findings.case(crash, grant.released is None or grant.released >= grant.expires - 2_000,
                              f"{job}: the seat of {grant.token} is given up at {grant.released}, though its run is "
                              f"{grant.outcome}", lost(soak, grant.at, grant.expires))


def outcome(soak, job, token):
    grant = soak.grants.get((job, token))
    return grant.outcome if grant else None


def crashed(soak, job, token):
    return outcome(soak, job, token) in CRASHED


def lost(soak, begin, end):
    return "by servers that lost a lock (promise 8)" if soak.lost_between(begin, end) else ""


def killed_amid(soak):
    """(run, instant) where the worker, guard, supervisor or device was killed before the work had said its end: by
    the ledger and by who killed it, not by what rotad has recorded."""
    for run in soak.runs:
        if "crash" in run.whats:
            yield run, run.whats["crash"]
    near = Near(soak.runs, lambda run: run.begin, lambda run: run.last + BEAT_US)
    for fault in soak.faults:
        if fault.kind not in ("kill worker", "kill guard", "kill supervisor", "lose device") or not fault.row.get("ok"):
            continue
        hit = [run for run in near.find(fault.begin, fault.begin)
               if run.device in fault.devices and not {"end", "fail", "crash"} & set(run.whats) and
               run.begin <= fault.begin <= run.last + BEAT_US]
        if fault.kind in ("kill worker", "kill guard"):
            # They are those of one run, which ends then.
            hit = [run for run in hit if run.last <= fault.begin + FREED_US]
            hit = hit if len(hit) == 1 else []
        for run in hit:
            yield run, fault.begin


def nobody_frees_it(soak, findings):
    promise = "5 a crash lets the lock expire"
    for run, at in killed_amid(soak):
        grant = run.grant
        if grant and at < grant.end():
            findings.case(promise, grant.released is None or grant.released >= grant.expires - 2_000,
                          f"{run} is killed at {at}, and its lock is given up at {grant.released}, before "
                          f"{grant.expires}", lost(soak, grant.at, grant.expires))


def after_a_crash(soak, findings):
    """The next try's grant, and not only its lock's key, comes after the lease; and after the retry's delay."""
    promise = "5 a crash lets the lock expire"
    for job, runs in soak.by_job.items():
        if soak.jobs[job]["scope"] == "device":
            continue
        for run, after in zip(runs, runs[1:]):
            grant = run.grant
            if not grant or grant.released is not None or not (after.grant and after.grant is not grant):
                continue
            findings.case(promise, after.grant.at >= grant.expires - 2_000,
                          f"{after} is granted {(grant.expires - after.grant.at) // 1000} ms before the lease of {run} "
                          f"has passed", lost(soak, grant.at, after.grant.at))


def fences_grow(soak, findings):
    promise = "7 fences grow"
    for job, runs in soak.by_job.items():
        newest = None
        for run in sorted((each for each in runs if each.fence and each.grant), key=lambda each: each.grant.at):
            if newest:
                findings.case(promise, run.fence > newest.fence, f"{run} has no larger fence than {newest} before it")
            newest = run
        for run in runs:
            if "refused" in run.whats:
                findings.case(promise, False, f"{run}: the storage refused its fence",
                              "by servers that lost a lock (promise 8)"
                              if soak.lost_between(run.begin - 10_000_000, run.last) else "")


def check(soak, findings):
    # The renewal's script is the one that prolongs a lock.
    soak.renews = {row["script"] for row in soak.commands
                   if row.get("script") and row["words"][0].upper() == "PEXPIRE" and row["words"][1].endswith(":lock")}
    lease_outlives_work(soak, findings)
    overlaps(soak, findings)
    own_lock_only(soak, findings)
    seats(soak, findings)
    nobody_frees_it(soak, findings)
    after_a_crash(soak, findings)
    fences_grow(soak, findings)
