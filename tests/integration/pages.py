# SPDX-License-Identifier: MIT
"""What README.md and docs/ show: their frames, and the commands in their sentences."""
import collections
import re

from guard_harness import ROOT

# of: the page's path in the tree. mark: what stands in the comment before it, in Markdown. first: its first line.
Frame = collections.namedtuple("Frame", "of line language mark text")
MARK = re.compile(r"^<!-- ([^:>]+): (.*?) ?-->$")


def pages():
    """Written by hand; what users see changing has no frames."""
    found = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.scd")]
    return sorted(found)


def text_of(name):
    return (ROOT / name).read_text()


def frames(path):
    found, lines, start = [], path.read_text().splitlines(), None
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare.startswith("```"):
            continue
        if start is None:
            start, indent = number, line[:line.index("`")]
            continue
        text = "".join(each.removeprefix(indent) + "\n" for each in lines[start + 1:number])
        mark = MARK.match(lines[start - 1]) if start else None
        if path.suffix == ".scd":  # where a backslash is two, here as everywhere
            text = text.replace("\\\\", "\\")
        found.append(Frame(str(path.relative_to(ROOT)), start + 1, lines[start].strip()[3:],
                           mark and mark.groups(), text))
        start = None
    assert start is None, f"{path}: a frame has no end"
    return found


def section(name, title):
    """Of a manual page, the text below the heading."""
    return re.search(rf"^# {re.escape(title)}\n(.*?)(?=^# |\Z)", text_of(name), re.M | re.S)[1]


def frame_of(name, begins):
    """The text of the one that begins so."""
    frame, = (each for each in frames(ROOT / name) if each.text.startswith(begins))
    return frame.text


def spans(path):
    """Words in a sentence that are meant to be typed: `...` of Markdown, *...* of scdoc; with their lines."""
    text = re.sub(r"^[ \t]*```.*?^[ \t]*```$", lambda match: "\n" * match[0].count("\n"), path.read_text(),
                  flags=re.M | re.S)
    quote = r"`([^`]+)`" if path.suffix == ".md" else r"(?<!\w)\*([^*]+)\*(?!\w)"
    return [(text.count("\n", 0, match.start()) + 1, " ".join(match[1].replace("\\", "").split()))
            for match in re.finditer(quote, text)]
