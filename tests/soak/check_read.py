# SPDX-License-Identifier: MIT
"""Reads what a soak left (README.md) into runs, grants and faults. Times are us of CLOCK_BOOTTIME."""
import bisect
import collections
import json
import pathlib

# What follows a fault of the servers until every device is well again: Sentinel sees it in 2 s, elects and
# promotes, an election that fails is repeated after 6 s, and a device's back-off ends in 2 s.
RECOVERY_US = 15_000_000
# A new master may lack what the old one has answered, from when it was cut off until it has heard of its end.
SWITCH_US = 10_000_000
OF_SERVERS = ("partition server", "fill server", "restart server", "empty server", "planned failover",
              "forced failover", "stop server", "switch")
CRASHED = ("crashed", "overrun", "lost")


class Run:
    """One begin of a ledger, and all lines of its processes."""

    def __init__(self, device, words):
        self.device, self.job, self.turn = device, words[3], int(words[4])
        self.fence, self.attempt, self.begin, self.wall = int(words[5]), int(words[6]), int(words[0]), int(words[1])
        self.last, self.last_role, self.whats = self.begin, words[8], collections.OrderedDict()
        self.grant = None

    def add(self, words):
        at = int(words[0])
        self.whats.setdefault(words[2], at)
        if at >= self.last:
            self.last, self.last_role = at, words[8]

    def __str__(self):
        return (f"{self.job}, turn {self.turn}, attempt {self.attempt}, fence {self.fence} on {self.device} "
                f"(ledger {self.begin} to {self.last})")


class Grant:
    """A token's life at the servers: granted, renewed, released."""

    def __init__(self, job, token, at):
        self.job, self.token, self.device, self.at = job, token, token.split(":")[0], at
        self.expires, self.released, self.outcome, self.recorded = at, None, None, None

    def end(self):
        return self.expires if self.released is None else min(self.released, self.expires)


class Fault:
    def __init__(self, row):
        self.row, self.kind, self.begin, self.end = row, row["kind"], row["begin_us"], row["end_us"]
        self.devices, self.job = row.get("devices", []), row.get("job")

    def meets(self, begin, end, after=0):
        return self.begin <= end and begin <= self.end + after


class Near:
    """What lies in a stretch of time, found without a look at all of it: a soak of 8 h has thousands of faults."""

    BUCKET_US = 30_000_000

    def __init__(self, items, begin, end):
        self.buckets = collections.defaultdict(list)
        for number, item in enumerate(items):
            for bucket in range(begin(item) // self.BUCKET_US, end(item) // self.BUCKET_US + 1):
                self.buckets[bucket].append((number, item))

    def find(self, begin, end):
        found = {}
        for bucket in range(begin // self.BUCKET_US, end // self.BUCKET_US + 1):
            found.update(self.buckets.get(bucket, ()))
        return found.values()


def rows(path):
    """The last line may be cut short where the soak was killed."""
    if path.exists():
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def ledger(path, device):
    runs = []
    if not path.exists():
        return runs
    newest = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for words in map(str.split, file):
            if len(words) != 10 or not all(words[i].isdigit() for i in (0, 1, 4, 5, 6)):
                continue  # cut short by a kill
            key = tuple(words[3:7])
            if words[2] == "begin" and words[8] == "main":
                newest[key] = Run(device, words)
                runs.append(newest[key])
            elif key in newest:
                newest[key].add(words)
    return runs


class Soak:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.folder = folder
        self.facts = json.loads((folder / "soak.json").read_text())
        self.jobs, self.devices = self.facts["jobs"], self.facts["devices"]
        self.begin, self.end = self.facts["begin_us"], self.facts["end_us"]
        self.offset = self.facts["begin_ms"] * 1000 - self.begin
        self.faults = sorted(map(Fault, rows(folder / "faults.jsonl")), key=lambda each: each.begin)
        self.quiet = max([self.facts.get("quiet_from_us") or self.begin, *(each.end for each in self.faults)])
        self.runs = sorted((run for name in self.devices
                            for run in ledger(folder / "devices" / name / "ledger", name)), key=lambda run: run.begin)
        self.by_job = collections.defaultdict(list)
        for run in self.runs:
            self.by_job[run.job].append(run)
        self.commands = sorted(rows(folder / "redis" / "commands.jsonl"), key=self.instant)
        self.grants = self._grants()
        self.history = self._history()
        self._join()
        self.losses = self._losses()
        self.near = Near(self.faults, lambda each: each.begin, lambda each: each.end)
        self.near_losses = Near(self.losses, lambda each: each[0], lambda each: each[1])
        self.hands = [each for each in self.faults if each.row.get("by_hand")]
        self.near_grants = {job: Near([each for each in self.grants.values() if each.job == job],
                                      lambda each: each.at, lambda each: each.end()) for job in self.jobs}

    def instant(self, row):
        return row["server_us"] - self.offset if "server_us" in row else row["us"]

    def boot(self, wall_ms):
        return int(wall_ms) * 1000 - self.offset

    def job_of(self, key):
        return key.split("{", 1)[1].split("}", 1)[0]

    def _grants(self):
        found = {}
        for row in self.commands:
            words = row.get("words")
            if not words or not row.get("script"):
                continue  # a replica's, which repeats its master's
            at, verb, job = self.instant(row), words[0].upper(), self.job_of(words[1])
            if verb == "SET" and "PX" in words:
                grant = found.setdefault((job, words[2]), Grant(job, words[2], at))
                grant.expires = max(grant.expires, at + int(words[words.index("PX") + 1]) * 1000)
            elif verb == "ZADD":
                for until, token in zip(words[2::2], words[3::2]):
                    token = token.lstrip("~")  # so named, it waits for its end; what was deleted in that step is back
                    if until.isdigit():
                        grant = found.setdefault((job, token), Grant(job, token, at))
                        grant.expires, grant.released = max(grant.expires, self.boot(until)), None
            elif verb == "ZREM":
                for token in words[2:]:
                    if (job, token) in found and found[job, token].released is None:
                        found[job, token].released = at
            row["job"], row["at"] = job, at
        self.granted = collections.defaultdict(list)
        for grant in found.values():
            self.granted[grant.job, grant.device].append(grant)
        holders = {}
        for row in self.commands:
            words = row.get("words")
            if not words or not row.get("script"):
                continue
            key, verb = (row["server"], row["job"]), words[0].upper()
            if verb == "SET":
                holders[key] = words[2]
                if (row["job"], words[2]) in found:
                    found[row["job"], words[2]].released = None  # taken back in the step that deleted it
            elif verb == "PEXPIRE" and words[1].endswith(":lock") and key in holders:
                grant = found.get((row["job"], holders[key]))
                # A lock that a restart or a failover has brought to this server is told from its client's device.
                if grant and grant.device == self.device_of(row["client"]):
                    grant.expires = max(grant.expires, row["at"] + int(words[2]) * 1000)
                else:
                    self._renew(found, row)
            elif verb == "PEXPIRE" and words[1].endswith(":lock"):
                self._renew(found, row)
            elif verb in ("DEL", "UNLINK") and words[1].endswith(":lock"):
                holder = holders.pop(key, None)
                grant = found.get((row["job"], holder))
                if grant and grant.device == self.device_of(row["client"]) and grant.released is None:
                    grant.released = row["at"]
        return found

    def _renew(self, found, row):
        device = self.device_of(row["client"])
        own = [each for each in self.granted[row["job"], device] if each.at <= row["at"]]
        if own:
            newest = max(own, key=lambda each: each.at)
            newest.expires = max(newest.expires, row["at"] + int(row["words"][2]) * 1000)

    def device_of(self, client):
        """10.77.1.N:port is device N."""
        address = (client or "").rsplit(":", 1)[0]
        return f"d{int(address.rsplit('.', 1)[1]):02}" if address.startswith("10.77.1.") else None

    def _history(self):
        found = {}
        for row in rows(self.folder / "redis" / "history.jsonl"):
            fields = row["fields"]
            key = (row["job"], fields.get("token"), fields.get("outcome"))
            entry = {"job": row["job"], "turn": int(fields["turn"]), "token": fields.get("token", ""),
                     "device": fields.get("token", "").split(":")[0], "outcome": fields.get("outcome"),
                     "attempt": int(fields.get("attempt") or 0), "at": self.boot(row["id"].split("-")[0])}
            if key not in found or entry["at"] < found[key]["at"]:
                found[key] = entry
        return sorted(found.values(), key=lambda each: each["at"])

    def _join(self):
        for entry in self.history:
            grant = self.grants.get((entry["job"], entry["token"]))
            if grant and entry["outcome"] != "vanished":
                grant.outcome, grant.recorded = entry["outcome"], entry["at"]
        held, begins = {}, {}
        for key, some in self.granted.items():
            held[key] = sorted(some, key=lambda each: each.at)
            begins[key] = [each.at for each in held[key]]
        # A device starts one run of a job at a time, so its newest grant before the begin is the run's.
        before = {}
        for run in self.runs:
            key = run.job, run.device
            place = bisect.bisect_right(begins.get(key, ()), run.begin) - 1
            grant = held[key][place] if place >= 0 else None
            if grant and before.get(key) is not grant:
                run.grant = before[key] = grant

    def _losses(self):
        """When the servers may have lost what they had answered: (begin, end)."""
        found = []
        for fault in self.faults:
            if fault.row.get("lost_data"):
                found.append((fault.begin, fault.end + SWITCH_US))
            elif fault.kind == "switch":
                causes = [each.begin for each in self.faults if each.kind in OF_SERVERS and
                          each.kind != "switch" and each.meets(fault.begin, fault.begin, RECOVERY_US)]
                found.append((min([fault.begin - SWITCH_US, *causes]), fault.begin + SWITCH_US))
        return found

    def lost_between(self, begin, end):
        return any(first <= end and begin <= last for first, last in self.near_losses.find(begin, end))

    def servers_ill(self, begin, end):
        return any(each.kind in OF_SERVERS and each.meets(begin, end, RECOVERY_US)
                   for each in self.near.find(begin - RECOVERY_US, end))

    def faults_of(self, device, begin, end, after=0):
        return [each for each in self.near.find(begin - after, end)
                if device in each.devices and each.meets(begin, end, after)]

    def by_hand(self, run):
        """Whether an operator asked for it. Its turn is the server's now, up to an answer's time later."""
        return any(each.job == run.job and run.device in each.devices and
                   each.begin - 1_000_000 <= self.boot(run.turn) <= each.end + 1_000_000 for each in self.hands)

    def paused(self, job, begin, end):
        return any(each.kind == "pause" and each.job == job and each.meets(begin, end, 1_000_000)
                   for each in self.faults)


class Findings:
    """Of each promise: how many cases were looked at, which were excused, and what broke it."""

    def __init__(self):
        self.examined, self.excused, self.broken = collections.Counter(), collections.Counter(), []
        self.unseen = collections.Counter()

    def case(self, promise, good, sentence="", excuse=""):
        self.examined[promise] += 1
        if not good and excuse:
            self.excused[promise, excuse] += 1
        elif not good:
            self.broken.append((promise, sentence))

    def lines(self):
        for promise in sorted(self.examined):
            excuses = ", ".join(f"{count} {why}" for (which, why), count in sorted(self.excused.items())
                                if which == promise)
            broken = sum(which == promise for which, _ in self.broken)
            yield (f"{promise}: {self.examined[promise]} cases, {broken} violated" +
                   (f"; excused: {excuses}" if excuses else "") +
                   (f"; {self.unseen[promise]} not seen by the monitor" if self.unseen[promise] else ""))
