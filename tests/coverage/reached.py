#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds what the tests reached of core, redis and guard to its bounds, and to unreached.txt.

reached.py BUILD [--note]: BUILD is of the preset "coverage", and its tests have run. Each line that none of them
reached has to be listed with a reason, and each line that is listed has to be there; one that is reached all the same
is told. --note writes what is not listed in the list's own form.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("core", "redis", "guard")
# Percent of lines and of branches.
BOUNDS = {"core": (95, 90)}

# A line by what stays when lines above it come and go.
Line = collections.namedtuple("Line", "file function text")


def assertions(lines):
    """The numbers of the lines of each assert(): that it does not fail is no branch that a test could take."""
    found, inside = set(), False
    for number, text in enumerate(lines, 1):
        inside = inside or re.match(r"\s*assert\(", text) is not None
        if inside:
            found.add(number)
            inside = not text.rstrip().endswith(";")
    return found


class Source:
    """What was counted of one file, in all programs that hold it."""

    def __init__(self, root, path):
        self.path = path.relative_to(root / "runtime").as_posix()
        self.layer = self.path.split("/")[0]
        self.lines = path.read_text().splitlines()
        self.assertions = assertions(self.lines)
        self.counts, self.functions, self.branches = collections.Counter(), {}, {}

    def add(self, line):
        number = line["line_number"]
        self.counts[number] += line["count"]
        self.functions[number] = line.get("function_name", "")
        if number not in self.assertions:
            known = self.branches.setdefault(number, collections.Counter())
            for place, branch in enumerate(line["branches"]):
                known[place] += branch["count"]

    def line(self, number):
        return Line(self.path, self.functions[number], self.lines[number - 1].strip())

    def unreached(self):
        return [number for number, count in sorted(self.counts.items()) if not count]

    def sums(self):
        """Reached and all, of lines and of branches."""
        taken = [count for known in self.branches.values() for count in known.values()]
        return (sum(1 for count in self.counts.values() if count), len(self.counts),
                sum(1 for count in taken if count), len(taken))


def read_counts(root, build):
    """The files of the layers, by path. Modules and tests compile them too; the counters lie beside gcov's notes."""
    wanted = re.compile(r"/(?:rota_(?:core|redis)\.dir|rota-guard\.dir|core|redis|guard)/")
    notes = sorted(str(path) for path in build.rglob("*.gcno") if wanted.search(str(path)))
    if not notes:
        sys.exit(f"reached: {build} is no build of the preset coverage")
    said = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes],
                          check=True, capture_output=True, text=True, cwd=build).stdout
    sources = {}
    for document in map(json.loads, said.splitlines()):
        for file in document["files"]:
            path = pathlib.Path(document["current_working_directory"], file["file"]).resolve()
            # What a folder below holds is of the build, not of the programs.
            if path.parent not in [root / "runtime" / layer for layer in LAYERS]:
                continue
            source = sources.setdefault(path, Source(root, path))
            for line in file["lines"]:
                source.add(line)
    return [sources[path] for path in sorted(sources)]


def read_list(text):
    """The lines that are listed: those never reached, those reached in some runs alone. What is wrong with the list."""
    never, at_times, faults = collections.Counter(), collections.Counter(), []
    into = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            into = into if line else None
        elif match := re.match(r"(never|at times): \S", line):
            into = never if match[1] == "never" else at_times
        elif into is not None and (match := re.fullmatch(r"  (\S+) (\w+): (\S.*)", line)):
            into[Line(*match.groups())] += 1
        elif not (into is not None and re.match(r"    \S", line)):
            faults.append(f"line {number} of the list is neither a reason nor a line below one: {line}")
    return never, at_times, faults


def compare(sources, text):
    """What the list does not know, as it would have to say it; all that is wrong; and what is only told: what a run
    reaches by chance, on a faster machine or a slower one, is no fault of whoever changes something else."""
    never, at_times, faults = read_list(text)
    there, unreached = collections.Counter(), collections.Counter()
    where = {}
    for source in sources:
        there.update(source.line(number) for number in source.counts)
        for number in source.unreached():
            line = source.line(number)
            unreached[line] += 1
            where.setdefault(line, f"runtime/{source.path}:{number}")
    unlisted, told = [], []
    for line, count in unreached.items():
        more = count - never[line] - at_times[line]
        if more > 0:
            unlisted += [line] * more
            faults.append(f"{where[line]}: no test reaches it, and no reason is listed: {line.text}")
    for line, count in never.items():
        if there[line] < count:
            faults.append(f"listed, but not there any more: {line.file} {line.function}: {line.text}")
        elif unreached[line] < count:
            told.append(f"listed as never reached, but it is: {line.file} {line.function}: {line.text}")
    for line, count in at_times.items():
        if there[line] < count:
            faults.append(f"listed, but not there any more: {line.file} {line.function}: {line.text}")
    return unlisted, faults, told


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def layer_sums(sources):
    sums = {layer: [0, 0, 0, 0] for layer in LAYERS}
    for source in sources:
        sums[source.layer] = [a + b for a, b in zip(sums[source.layer], source.sums())]
    return {layer: counts for layer, counts in sums.items() if counts[1]}


def table(sources):
    rows = [*((f"all of {layer}", sums) for layer, sums in layer_sums(sources).items()),
            *((source.path, source.sums()) for source in sources if source.sums()[1])]
    return "".join(f"{name:32} lines {percent(a, b):5.1f} % ({a} of {b}), "
                   f"branches {percent(c, d):5.1f} % ({c} of {d})\n"
                   for name, (a, b, c, d) in rows)


def untaken(sources):
    """For who writes the next test: lines that run, of which a branch is never taken."""
    return "".join(f"runtime/{source.path}:{number}: {list(known.values()).count(0)} of {len(known)} "
                   f"branches not taken: {source.lines[number - 1].strip()}\n"
                   for source in sources for number, known in sorted(source.branches.items())
                   if source.counts[number] and 0 in known.values())


def below_bounds(sources, bounds):
    faults = []
    for layer, (lines, branches) in bounds.items():
        a, b, c, d = layer_sums(sources).get(layer, (0, 1, 0, 1))
        for what, share, bound in ("lines", percent(a, b), lines), ("branches", percent(c, d), branches):
            if share < bound:
                faults.append(f"{layer}: {share:.1f} % of its {what} are reached; {bound} % have to be")
    return faults


def main(arguments, root=ROOT, bounds=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--note", action="store_true", help="write what is not listed, as the list has it")
    options = parser.parse_args(arguments)
    sources = read_counts(root, options.build.resolve())
    unlisted, faults, told = compare(sources, (root / "tests" / "coverage" / "unreached.txt").read_text())
    faults += below_bounds(sources, BOUNDS if bounds is None else bounds)
    (options.build / "coverage.txt").write_text(table(sources) + "\n" + untaken(sources))
    (options.build / "coverage.json").write_text(json.dumps(layer_sums(sources)) + "\n")
    if options.note:
        print("".join(f"  {line.file} {line.function}: {line.text}\n" for line in unlisted), end="")
        return 0
    print("\n".join(faults + told + table(sources).splitlines()[:len(layer_sums(sources))]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
