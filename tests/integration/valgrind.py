# SPDX-License-Identifier: MIT
"""Whole processes under valgrind: where ROTA_VALGRIND names a folder, devices, guards and rotactl are started by it, and
each process, one that was only forked too, leaves its findings there. As a program (valgrind.py FOLDER) it reads them."""
import collections
import os
import pathlib
import re
import sys

FOLDER = os.environ.get("ROTA_VALGRIND")
# A job may have this many descriptors open; valgrind keeps 12 for itself, and lets nobody change the hard limit.
DESCRIPTORS = 1024 + 12
# Leaks: what is lost for sure. What the C library gives back for valgrind's sake is taken from it too early, the
# environment above all.
PREFIX = [] if not FOLDER else [
    "prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}", "valgrind", "-q", "--vgdb=no", "--trace-children=yes",
    "--trace-children-skip=/bin/*,/usr/bin/*", "--leak-check=full", "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite", "--run-libc-freeres=no", "--num-callers=20", "--xml=yes",
    f"--xml-file={FOLDER}/%p.%n.xml", f"--suppressions={pathlib.Path(__file__).with_suffix('.supp')}"]
# Without each of them the run has shown too little.
PROGRAMS = ("rotad", "rota-guard", "rotactl")


def findings(text):
    """Each as its words, and where it was."""
    for error in re.findall(r"<error>(.*?)</error>", text, re.S):
        what = re.search(r"<(?:what|text)>(.*?)</", error, re.S)
        frames = re.findall(r"<frame>(.*?)</frame>", error, re.S)
        places = [re.search(r"<fn>(.*?)</fn>", frame) for frame in frames]
        yield what[1] if what else "?", " < ".join(place[1] for place in places if place)


def read(folder):
    """Findings, with how often each was, and how many processes of each program there were. Of one that was forked no
    program is known."""
    found, programs = collections.Counter(), collections.Counter()
    for path in sorted(folder.glob("*.xml")):
        text = path.read_text(errors="replace")
        program = re.search(r"<argv>\s*<exe>(.*?)</exe>", text)
        programs[pathlib.Path(program[1]).name if program else "forked"] += 1
        found.update(findings(text))
    return found, programs


def main(folder):
    found, programs = read(folder)
    for (what, where), count in found.most_common():
        print(f"{count} times: {what}\n    {where}")
    unseen = [program for program in PROGRAMS if not programs[program]]
    print(f"{sum(programs.values())} processes under valgrind: {dict(programs)}, {sum(found.values())} findings")
    if unseen:
        print(f"there was no {', '.join(unseen)} among them")
    return 1 if found or unseen else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
