# SPDX-License-Identifier: MIT
"""Promise 9: rotad goes on, and all are well again after the last fault; and nothing grows."""
import collections
import statistics

from check_read import RECOVERY_US, rows

PING_SLACK_US = 500_000
# So much more may be in use at the end than at the begin, by medians: of one device, which may have just been started
# then, and of the middle one of all.
GROWTH = (("private_kib", 256, 64), ("fds", 4, 1))
REDIS_BYTES = 2_000_000
ENDS = ("killed by us", "the end")


def lives(soak, findings):
    promise, ping = "9 rotad goes on", "9 the watchdog"
    for name in soak.devices:
        folder = soak.folder / "devices" / name
        found = list(rows(folder / "lives.jsonl"))
        for life in found:
            findings.case(promise, life["how"] in ENDS, f"{name}: rotad, pid {life['pid']}, ends at {life['end_us']}: "
                          f"{life['how']}")
        findings.case("9 all are well at the end", bool(found) and found[-1]["how"] == "the end",
                      f"{name}: no rotad lives at the soak's end")
        pings = collections.defaultdict(list)
        for note in rows(folder / "notify.jsonl"):
            if "WATCHDOG=1" in note["text"].split():
                pings[note["pid"]].append(note["us"])
        for life in found:
            # A pid comes back in a long soak. From the start on: one that never tells anything is silent, too.
            begin, end = life["begin_us"], life["end_us"]
            told = [begin, *(at for at in pings[life["pid"]] if begin <= at <= end), end]
            for last, now in zip(told, told[1:]):
                gap(soak, findings, ping, name, last, now)


def gap(soak, findings, promise, name, last, now):
    frozen = [each for each in soak.faults_of(name, last, now)
              if each.kind.startswith(("stop supervisor", "stop device"))]
    findings.case(promise, now - last <= soak.facts["watchdog_us"] + PING_SLACK_US,
                  f"{name}: no WATCHDOG=1 from {last} to {now}", "frozen by us" if frozen else "")


def well_again(soak, findings):
    """Each device runs its turns of the jobs that all devices run, once the last fault is over."""
    promise = "9 all are well at the end"
    for job, facts in soak.jobs.items():
        if facts["scope"] != "device" or facts["mode"] == "fails" or facts["concurrency"] < len(facts["devices"]):
            continue
        every, last = facts["every"] * 1000, soak.end - (facts["splay"] + facts["worst_case"]) * 1000 - 5_000_000
        due = -(-(soak.quiet + RECOVERY_US + soak.offset) // every) * every - soak.offset
        while due <= last:
            for name in facts["devices"]:
                findings.case(promise, any(run.device == name and due <= run.begin < due + every and
                                           "end" in run.whats for run in soak.by_job[job]),
                              f"{name} does not run {job}'s turn due {due}, {(due - soak.quiet) // 1_000_000} s after "
                              "the last fault")
            due += every


def flat(soak, findings):
    promise = "9 nothing grows"
    samples = [each for each in rows(soak.folder / "samples.jsonl") if each["devices"]]
    if len(samples) < 10:
        return
    part = max(2, len(samples) // 5)
    early, late = samples[part:2 * part], samples[-part:]
    for what, most, most_of_all in GROWTH:
        grown = []
        for name in soak.devices:
            first, last = (statistics.median(found) if (found := [each["devices"][name][what] for each in some
                                                                  if name in each["devices"]]) else None
                           for some in (early, late))
            if first is not None and last is not None:
                grown.append(last - first)
                findings.case(promise, last - first <= most, f"{name}: {what} grows from {first:g} to {last:g}")
        if grown:
            findings.case(promise, statistics.median(grown) <= most_of_all,
                          f"{what} of the middle device grows by {statistics.median(grown):g}")
    for server in ("a", "b"):
        sizes = [[each["redis"][server]["memory"] for each in some if each["redis"].get(server)]
                 for some in (early, late)]
        if all(sizes):
            first, last = map(statistics.median, sizes)
            findings.case(promise, last - first <= REDIS_BYTES,
                          f"server {server}: memory grows from {first:g} to {last:g}")
        keys = [each["redis"][server]["keys"] for each in late if each["redis"].get(server)]
        findings.case(promise, not keys or max(keys) <= 8 * len(soak.jobs) + 8,
                      f"server {server}: {max(keys, default=0)} keys")
    settled = [each for each in samples if each["us"] > soak.quiet + RECOVERY_US]
    for name in soak.devices:
        row = [each["devices"].get(name, {}).get("zombies", 0) > 0 for each in settled]
        findings.case(promise, not any(first and second for first, second in zip(row, row[1:])),
                      f"{name}: a zombie stays after {soak.quiet}")


def check(soak, findings):
    for each in (lives, well_again, flat):
        each(soak, findings)
