# SPDX-License-Identifier: MIT
"""What is measured, as rows and tables: rota's own and the peers' alike. All of docs/benchmarks.md is made of these.

A module of measurements has

    tables(world) -> {table key: [Row, ...]}

and the rows of one key, from all modules, are shown in one table. The peers' keys are those of rota's tables:

    "idle"      KiB        private dirty memory with 10 hourly jobs
    "pss"       KiB        the same processes' share of all memory (PSS)
    "switches"  switches a minute    context switches of the same processes
    "begin"     ms         from the due instant (or the start, where cron starts it) to the job's first instruction
    "release"   ms         from the job's exit to the lock's release
    "whole"     ms         from the due instant to the release
    "cpu"       ms         processor time of all processes for a run, the server's included
    "commands"  commands a run       commands that the server was sent
    "processes" a run      processes that were started
    "peak"      KiB        the largest RSS of any process of a run
    "takeover"  s          from kill -9 of the holder until the next run's begin
    "turn"      runs       how often a fast job ran a turn on three hosts with starts a second apart

`world` has: folder (a pathlib.Path that goes away at the end), build (the build's folder), redis (a running private
RedisServer; .address, .client()), rounds (how many runs are measured: 500; few in a test), scale (what else is counted
times this: 1, or less in a test), log(sentence) for the terminal; versions, a dict to which whoever measures a program
adds its name and version; missing, a dict of what could not be measured and why; notes, sentences for the page on what
is not comparable. The peers are the package `peers`, whose __init__.py has tables(world) for all of its parts.
"""
import dataclasses
import json
import statistics


def number(value):
    """Three digits that count, and thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    for limit, digits in ((9.995, 1), (0.9995, 2), (0.09995, 3), (0, 4)):
        if abs(value) >= limit:
            return f"{value:.{digits}f}"
    return f"{value}"


def quantile(values, share):
    """The value that so many of all are not above: one that was measured, none between two."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * share // 1) - 1))]


@dataclasses.dataclass
class Row:
    """What somebody came to: one number, or all that were measured, in the table's unit. `note` goes beside it."""
    who: str
    values: list
    note: str = ""

    def __post_init__(self):
        if isinstance(self.values, (int, float)):
            self.values = [self.values]
        self.values = list(self.values)
        if not self.values:
            raise ValueError(f"{self.who}: nothing was measured")

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def p99(self):
        return quantile(self.values, 0.99)

    @property
    def least(self):
        return min(self.values)

    @property
    def most(self):
        return max(self.values)

    @property
    def ours(self):
        """By its name: those of our programs and modules begin so."""
        return self.who.startswith(("rota", "guard", "librota"))


@dataclasses.dataclass
class Table:
    """Rows of one unit. `text` says how it was measured. The less, the better, unless there is nothing to compare."""
    key: str
    title: str
    unit: str
    rows: list
    text: str = ""
    compared: bool = True  # false: a table of rota's alone, or of what cannot be compared

    def spread(self):
        return any(len(row.values) > 1 for row in self.rows)

    def best(self):
        return min(self.rows, key=lambda row: row.median)

    def peers(self):
        return [row for row in self.rows if not row.ours]

    def verdict(self):
        """Who is best, and where rota is: computed, in plain words. Empty where there is nobody beside rota."""
        ours = [row for row in self.rows if row.ours]
        if not self.compared or not ours or not self.peers():
            return ""
        mine = min(ours, key=lambda row: row.median)
        better = sorted((row for row in self.peers() if row.median < mine.median), key=lambda row: row.median)
        equal = [row for row in self.peers() if row.median == mine.median]
        if not better and equal:
            names = ", ".join(row.who for row in equal)
            return f"Nobody does better than rota ({self.said(mine.median)}); equal: {names}."
        if not better:
            next_one = min(self.peers(), key=lambda row: row.median)
            return (f"**rota is best** with {self.said(mine.median)}; next is {next_one.who} with "
                    f"{self.said(next_one.median)}{self.times(next_one.median, mine.median)}.")
        names = ", ".join(f"{row.who} ({self.said(row.median)})" for row in better)
        verb = "does" if len(better) == 1 else "do"
        place = len(better) + 1
        return (f"**{better[0].who} wins**; rota has place {place} of {len(self.peers()) + 1} with "
                f"{self.said(mine.median)}{self.times(mine.median, better[0].median)}. "
                f"Better than rota {verb}: {names}.")

    def said(self, value):
        return f"{number(value)} {self.unit}"

    @staticmethod
    def times(more, less):
        return f", {number(more / less)} times as much" if less > 0 else ""

    def markdown(self):
        """Median and spread where there are many values; else the value alone."""
        head = ["who", "median", "p99", "least", "most", "of"] if self.spread() else ["who", self.unit]
        notes = any(row.note for row in self.rows)
        lines = ["| " + " | ".join(head + ["note"] * notes) + " |",
                 "|---" + "|---:" * (len(head) - 1) + "|---" * notes + "|"]
        for row in self.rows:
            cells = [row.who, number(row.median)]
            if self.spread():
                cells += [number(row.p99), number(row.least), number(row.most), number(len(row.values))]
            lines.append("| " + " | ".join(cells + [row.note] * notes) + " |")
        return "\n".join(lines)


def dump(tables, **about):
    """All of a run as JSON: a later drawing, or a second look, needs no second run."""
    return json.dumps({**about, "tables": [dataclasses.asdict(table) for table in tables]}, indent=1) + "\n"


def load(text):
    """(tables, all else that was dumped)"""
    about = json.loads(text)
    tables = [Table(**{**table, "rows": [Row(**row) for row in table["rows"]]}) for table in about.pop("tables")]
    return tables, about


def merge(tables, found):
    """Adds the rows of {table key: [Row, ...]} to the tables of these keys."""
    known = {table.key: table for table in tables}
    for key, rows in found.items():
        if key not in known:
            raise KeyError(f"there is no table \"{key}\"; there are {', '.join(known)}")
        known[key].rows.extend(rows)
