# SPDX-License-Identifier: MIT
"""docs/benchmarks.md of tables: what is typed here says how something was measured; every number, and who is better,
is computed."""
import collections

import bars
from figures import Table, number

Plan = collections.namedtuple("Plan", "key title unit text")

# The tables, in the page's order, under its headings. Rows come from the modules, by key.
PLANS = {
    "At rest": [
        Plan("idle", "Private dirty memory at rest, 10 jobs", "KiB",
             "All processes together, from smaps_rollup."),
        Plan("pss", "Proportional memory (PSS) at rest, 10 jobs", "KiB",
             "Includes a share of the libraries, which is all of them where nobody else uses them."),
        Plan("switches", "Context switches at rest", "switches a minute",
             "Of all threads, from /proc/PID/task/*/status: no wake-up is without one."),
        Plan("memory", "Memory of rota", "KiB",
             "Private dirty memory. Guard and worker: while a trivial plugin waits, with what both have from "
             "before the fork."),
        Plan("start", "Start", "ms",
             "From before the spawn until READY=1; of the later starts the configuration is known to Redis."),
        Plan("start_by_jobs", "The first start, by jobs", "ms",
             "One start each, of jobs that Redis knows nothing of."),
        Plan("wakes", "Wake-ups at rest, by jobs", "switches a minute",
             "Context switches of a minute in which no job is due."),
        Plan("idle_cpu", "Processor time at rest, by jobs", "ms a minute",
             "From schedstat, of the same minute."),
        Plan("size", "Stripped size", "KiB",
             "As the packages have it; the modules are loaded while they are needed."),
        Plan("disk", "Bytes written", "bytes",
             "At rest: what rotad passes to write(2), beside its journal. Of a run here: its lines for the "
             "journal, as text."),
        Plan("wire", "Bytes on the wire, a device-day", "bytes",
             "One job every 5 minutes in a fleet of 5,000, `checkin = \"1d\"`, each connection closed behind its"
             " question. Each kind of connection is made once and its IP packets are counted, headers, "
             "handshakes and acknowledgements too; how many of each a day has follows from the protocol (16.3 "
             "commands a turn in the fleet, one hello a day)."),
    ],
    "A run under the lock": [
        Plan("begin", "From the due instant to the job's first instruction", "ms",
             "rota: a plugin reads the clock. The due instant is the turn's own."),
        Plan("release", "From the job's exit to the lock's release", "ms",
             "rota: from the plugin's last instant until Redis has the finish, by its own clock (MONITOR)."),
        Plan("whole", "From the due instant to the release", "ms",
             "Both ends as above."),
        Plan("cpu", "Processor time of a run", "ms",
             "User and system time of all processes, the server included, without a monitor; means of windows of"
             " many runs."),
        Plan("commands", "Commands of a run", "commands a run",
             "That the server was sent by clients, not what scripts call."),
        Plan("pass", "Commands where another device has the turn", "commands",
             "Two devices, by the token in each command."),
        Plan("processes", "Processes of a run", "processes",
             "That are started for it."),
        Plan("peak", "The largest process of a run", "KiB",
             "Peak RSS (VmHWM)."),
        Plan("floor", "What a run stands on", "ms",
             "A bare dynamic program that loads a plugin, one SET on a live connection, and rota's run between "
             "the two scripts' coming to Redis: in turns."),
    ],
    "Fleets": [
        Plan("takeover", "Takeover after kill -9 of the holder", "s",
             "From the kill until the next begin; the lock lives 10 s."),
        Plan("turn", "How often a fast job runs a turn on three hosts a second apart", "runs",
             "rota: three devices whose wall clocks differ by a second each."),
        Plan("fleet_commands", "Commands a turn, real devices", "commands a turn",
             "All that the job's turn makes of them; hello is not a turn's."),
        Plan("fleet_late", "From the due instant to the first instruction, real devices", "ms",
             "All devices on this machine. Devices ask at random instants within their splay of 1 s: this is "
             "chosen, not lost."),
        Plan("fleet_memory", "Private dirty memory of all devices", "KiB",
             "With four jobs each, between runs."),
        Plan("sim_commands", "Commands a turn, simulated devices", "commands a turn",
             "Mean of 2,000 turns; docs/turns.md says of what."),
        Plan("sim_late", "From the due instant to the start, simulated devices", "ms",
             "Mean; links of up to 50 ms."),
        Plan("sim_takeover", "Takeover, simulated devices", "s",
             "Mean; a lease of 10 s."),
    ],
}
# Of rota's own parts: nothing to be better than.
ALONE = {"memory", "start", "start_by_jobs", "wakes", "idle_cpu", "size", "disk", "wire", "pass", "floor",
         "fleet_commands", "fleet_late", "fleet_memory", "sim_commands", "sim_late", "sim_takeover"}
PROMISED_TAKEOVER_S = 10 + 1 + 1


def empty_tables():
    return [Table(plan.key, plan.title, plan.unit, [], plan.text, plan.key not in ALONE)
            for plans in PLANS.values() for plan in plans]


def row_of(tables, key, who):
    return next((row for row in tables[key].rows if row.who == who), None) if key in tables else None


def over_floor(tables, which):
    """A run, with the two halves of a round trip that are outside of it, over what has to be there anyway."""
    rows = [row_of(tables, "floor", who) for who in (
        "a bare program that loads the plugin", "a round trip to Redis", "rota, from acquire to finish")]
    if None in rows:
        return None
    bare, trip, served = (getattr(row, which) for row in rows)
    return (served + trip) / (bare + 2 * trip)


def bounds(tables):
    """(figure, bound, measured, unit, floor) of DESIGN's section 12, and the takeover it promises."""
    def median(key, who):
        row = row_of(tables, key, who)
        return row and row.median

    wire = row_of(tables, "wire", "rota, by TLS, each handshake anew")
    fleets = [row for key in ("fleet_commands", "sim_commands") if key in tables for row in tables[key].rows]
    took, runs = row_of(tables, "takeover", "rota"), row_of(tables, "turn", "rota")
    busy = [row.median for row in tables["memory"].rows if row.who.startswith("guard")] if "memory" in tables else []
    return [
        ("supervisor at rest, 10 jobs: private dirty", 400, median("memory", "rota, 10 jobs"), "KiB",
         "268: its libraries alone"),
        ("the same with TLS and a CA's file", 1331, median("memory", "rota, 10 jobs, with TLS"), "KiB", ""),
        ("guard + worker while a trivial plugin runs", 256, max(busy, default=None), "KiB", ""),
        ("rotad + rota-guard, stripped", 300, median("size", "rotad + rota-guard"), "KiB", ""),
        ("bytes written at rest, a day", 0, median("disk", "rota, idle, a day"), "bytes", "0"),
        ("commands of a run without renewal", 3, median("commands", "rota"), "commands", "2: take and give back"),
        ("commands of a pass", 1, median("pass", "rota, a turn that another device has"), "commands", "1: ask"),
        ("commands a turn, whatever the fleet's size: the most of the means", 20,
         max((sum(row.values) / len(row.values) for row in fleets), default=None), "commands", ""),
        ("bytes on the wire, a device-month, each TLS handshake anew", 500_000, wire and wire.median * 30, "bytes", ""),
        ("a run over a bare program and two round trips, by medians", 1.5, over_floor(tables, "median"), "times", "1"),
        ("the same by the least values: what else the machine does only adds", 1.5, over_floor(tables, "least"), "times", "1"),
        ("1,000 jobs: start to READY", 1000, median("start", "rota, 1,000 jobs"), "ms", ""),
        ("takeover after kill -9, lease 10 s, splay 1 s: the worst", PROMISED_TAKEOVER_S, took and took.most, "s",
         "what is left of the lease at the kill"),
        ("runs of a turn, three clocks a second apart: the most", 1, runs and runs.most, "runs", "1"),
    ]


def bounds_text(tables):
    lines = ["| figure | bound | measured | kept | floor |", "|---|---:|---:|---|---|"]
    for figure, bound, measured, unit, floor in bounds(tables):
        if measured is not None:
            lines.append(f"| {figure} | {number(bound)} {unit} | {number(measured)} {unit} | "
                         f"{'yes' if measured <= bound * (1 + 1e-9) else '**no**'} | {floor} |")
    return "\n".join(lines)


def wins_text(tables):
    """What of the comparisons rota does not win comes first."""
    judged = [(table, table.verdict()) for table in tables.values() if table.verdict()]
    if not judged:
        return "Only rota was measured in this run; `./quickstart bench --peers` measures the others beside it."
    judged.sort(key=lambda pair: pair[1].startswith(("**rota", "Nobody")))
    return "\n".join(f"- {table.title}: {verdict}" for table, verdict in judged)


def drawn(table):
    """One bar alone shows nothing."""
    return len(table.rows) > 1


def section(heading, plans, tables):
    parts = [f"## {heading}"]
    for plan in plans:
        table = tables.get(plan.key)
        if table:
            parts += [f"### {table.title}", f"Unit: {table.unit}. {table.text}", table.markdown()]
            parts += [table.verdict()] * bool(table.verdict())
            if drawn(table):
                parts.append(f"![{table.title}: a bar each, for the median](benchmarks/{table.key}.svg)")
    return parts if len(parts) > 1 else []


def render(tables, about):
    """(the page, {name: drawing})"""
    tables = {table.key: table for table in tables if table.rows}
    facts = [f"| {name} | {value} |" for name, value in about["machine"].items()]
    versions = [f"| {name} | {version} |" for name, version in sorted(about["versions"].items())]
    missing = [f"- {name} was left out: {why}" for name, why in sorted(about["missing"].items())]
    parts = [
        "# What rota costs, and what others cost", f"Made by `{about['command']}`, in one run: all numbers, and "
        "who is better, are computed. Where there are many values, the median counts; p99, least and most say how they "
        "spread, and \"of\" how many there are. Compare within a table: other machines have other numbers, and similar ratios.",
        "\n".join(["| machine | |", "|---|---|", *facts, "", "| program | version |", "|---|---|", *versions]),
        "## Who is better at what", wins_text(tables),
        "## What is not compared", "\n".join([f"- {note}" for note in [*NOTES, *about["notes"]]] + missing),
        "## The design's bounds", bounds_text(tables)]
    for heading, plans in PLANS.items():
        parts += section(heading, plans, tables)
    return "\n\n".join(parts) + "\n", {f"{key}.svg": bars.draw(table) for key, table in tables.items() if drawn(table)}


NOTES = [
    "The due instants of rota are to the millisecond, and cron's are whole minutes: with cron it is measured from the "
    "instant at which their command is started.",
    "rota's figures at rest include what schedules, watches, renews and reports; a program that only waits for a lock "
    "does none of it, and one that only starts services has no schedule.",
    "A peer's takeover ends when its lock has run out and somebody asks again. Whether the job that was killed with "
    "its holder lives on beside the next one is told in that table's notes.",
    "Simulated fleets cost no real processor time a device, and are compared with nothing.",
]
