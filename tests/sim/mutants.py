#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Deliberate defects: each of mutants.txt is put into a copy of its file, which takes that file's place
in the simulator, and has to be found by it. One that does not fit the code any more is a failure too.
The objects and libraries of the rest are a build's."""
import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-w", "-fno-lto", "-I", str(ROOT / "runtime"), "-I", str(HERE)]
# So many seeds are played, until one fails.
SEEDS = 250
# CPU time; what does not end by then is not found.
SECONDS = 60


class Mutant:
    def __init__(self, block):
        lines = block.splitlines()
        words = dict(line.split(": ", 1) for line in lines if re.match(r"\w+: ", line))
        self.name, self.file = words["name"], words["file"]
        self.play = words.get("play", f"--seed {words.get('seed', 1)} --seeds {SEEDS}").split()
        self.old = [line[1:].strip() for line in lines if line.startswith("-")]
        self.new = [line[1:].strip() for line in lines if line.startswith("+")]

    @property
    def source(self):
        return ROOT / self.file if "/" in self.file else ROOT / "runtime/core" / self.file

    def apply(self, text):
        """The text with the defect; None where it is not there exactly once."""
        words = " ".join(self.old).split()
        places = list(re.finditer(r"\s+".join(re.escape(word) for word in words), text))
        if len(places) != 1:
            return None
        start, end = places[0].span()
        return text[:start] + "\n".join(self.new) + text[end:]


def read_mutants():
    blocks = re.split(r"\n\s*\n", (HERE / "mutants.txt").read_text())
    return [Mutant(block) for block in blocks if block.startswith("name:")]


class Builder:
    def __init__(self, cc, parts, folder):
        self.cc, self.parts, self.folder = cc, parts, folder

    def build(self, number, mutant, text):
        """A simulator with this text in place of its file. Of a library the linker takes no object whose
        words it has already."""
        source, program = self.folder / f"mutant{number}.c", self.folder / f"sim{number}"
        source.write_text(text)
        rest = [part for part in self.parts if not part.endswith(f"/{mutant.file.rpartition('/')[2]}.o")]
        subprocess.run([self.cc, *FLAGS, source, *rest, "-o", program], check=True)
        return program


def play(program, arguments):
    """(found, what was said)"""
    done = subprocess.run(["prlimit", f"--cpu={SECONDS}", program, *arguments, "--first"], capture_output=True,
                          text=True)
    lines = done.stdout.splitlines() or done.stderr.splitlines() or [""]
    return done.returncode not in (0, -signal.SIGXCPU, -signal.SIGKILL), lines


def try_one(builder, number, mutant):
    began = time.monotonic()
    text = mutant.apply(mutant.source.read_text())
    if text is None:
        return f"NOT APPLIED  {mutant.name}: {mutant.file} does not have these lines once"
    found, said = play(builder.build(number, mutant, text), mutant.play)
    seeds = re.findall(r"^again: sim --seed (\d+)", "\n".join(said), re.MULTILINE)
    mutant.seed = int(seeds[0]) if seeds else None
    took = f"{time.monotonic() - began:.1f} s"
    return f"found in {took}  {mutant.name}: {said[0]}" if found else f"NOT FOUND in {took}  {mutant.name}"


def note_seeds(mutants):
    """Writes down the seeds that found them, so that the next time it takes no longer than it must."""
    path = HERE / "mutants.txt"
    text = path.read_text()
    for mutant in mutants:
        if getattr(mutant, "seed", None):
            head = f"name: {mutant.name}\nfile: {mutant.file}\n"
            text = re.sub(re.escape(head) + r"(seed: \d+\n)?", f"{head}seed: {mutant.seed}\n", text)
    path.write_text(text)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cc", default=os.environ.get("CC", "cc"))
    options.add_argument("--only", help="those whose names have this in them")
    options.add_argument("--note", action="store_true", help="write down the seeds that find them")
    options.add_argument("parts", nargs="+", help="objects and libraries of the simulator")
    chosen = options.parse_args()
    # Who is asked to end leaves no folder behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    mutants = [m for m in read_mutants() if not chosen.only or chosen.only in m.name]
    folder = Path(tempfile.mkdtemp(prefix="rota-mutants-"))
    try:
        builder = Builder(chosen.cc, chosen.parts, folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            said = list(pool.map(lambda nm: try_one(builder, *nm), enumerate(mutants)))
    finally:
        shutil.rmtree(folder)
    if chosen.note:
        note_seeds(mutants)
    print("\n".join(said))
    missed = [line for line in said if line.startswith("NOT")]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(said)} defects, {len(missed)} not found, {used.ru_utime + used.ru_stime:.0f} s of CPU")
    return 1 if missed or not said else 0


if __name__ == "__main__":
    sys.exit(main())
