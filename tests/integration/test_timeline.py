# SPDX-License-Identifier: MIT
"""rotactl timeline: what ran when, drawn in characters and as an SVG."""
import json
import os
import pty
import random
import re
import select
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from fleet import SLOWNESS
from guard_harness import ROOT
from rotactl import ROTACTL

HOUR = 3600000
BEGIN = 1795996800000   # 2026-11-30 00:00 UTC
SVG = "{http://www.w3.org/2000/svg}"
OUTCOMES = ("succeeded", "nothing", "failed", "refused", "declined", "stopped", "crashed", "overrun", "lost",
            "unstarted", "vanished")


def a_run(device="gate-1", hour=0, job="report", outcome="succeeded", attempt=1, detail=""):
    turn = BEGIN + hour * HOUR
    return {"job": job, "device": device, "turn": turn, "attempt": attempt, "fence": turn + attempt, "outcome": outcome,
            "started": turn + 1000, "ended": turn + HOUR // 2, "detail": detail}


def lines(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def timeline(*words, text=None, **environment):
    """What it did, with `text` on standard input."""
    return subprocess.run([ROTACTL, "timeline", *words], input=text, capture_output=True, text=True, check=False,
                          timeout=60 * SLOWNESS, env={**os.environ, "LC_ALL": "C", **environment})


def draw(text, *words):
    """The root of the drawing of what is in `text`."""
    done = timeline("--from", "-", "--svg", "-", *words, text=text)
    assert (done.returncode, done.stderr) == (0, ""), done
    return ElementTree.fromstring(done.stdout)


def titles(root):
    return [title.text or "" for title in root.iter(f"{SVG}title")]


def test_a_name_of_many_bytes_is_drawn_whole():
    name = "ab" + 128 * "\u0301"
    drawn = timeline("--from", "-", "--svg", "-", text=lines(a_run(name)), LC_ALL="C.UTF-8").stdout
    assert f"</title>{name}</text>" in drawn and ElementTree.fromstring(drawn).tag == f"{SVG}svg"


# --- characters ---

def test_in_characters(tmp_path):
    file = tmp_path / "runs.json"
    file.write_text(lines(*({"job": "report", "due": BEGIN + hour * HOUR} for hour in range(4)),
                          a_run(), a_run(hour=1, outcome="crashed"), a_run("gate-2", 1, attempt=2), a_run(hour=3)))
    done = timeline("--from", file, "--width", "60")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 60 and line.isascii() for line in done.stdout.splitlines()), done.stdout
    shown = done.stdout.splitlines()
    job, first, second = (next(line for line in shown if line.startswith(name))
                          for name in ("report", "gate-1", "gate-2"))
    assert job.count("o") == 2 and job.count("^") == 1     # the o of "report", and the gap
    assert "#" in first and "!" in first and "#" in second and "!" not in second
    assert "# 3 succeeded  ! 1 crashed" in done.stdout


def test_in_utf8_where_the_locale_is():
    text = lines(a_run("grüße"), a_run("gate-2", 1, outcome="nothing"))
    assert "█" in timeline("--from", "-", text=text, LC_ALL="C.UTF-8").stdout
    shown = timeline("--from", "-", text=text).stdout
    assert "gr??e" in shown and shown.isascii()


def on_terminal(*words, **environment):
    """What a terminal of 100 columns gets."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run(["stty", "cols", "100"], stdin=theirs, check=True)
        process = subprocess.Popen([ROTACTL, "timeline", *words], stdout=theirs, stderr=theirs,
                                   env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
        got = b""
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                got += os.read(ours, 65536)
        return got.decode()
    finally:
        os.close(theirs)
        os.close(ours)


def test_colour_and_width_of_a_terminal(tmp_path):
    file = tmp_path / "runs.json"
    file.write_text(lines(a_run(), a_run("gate-\x1b[31mred", 5)))
    shown = on_terminal("--from", file, LC_ALL="C")
    assert "\x1b[32m#" in shown and "gate-\\x1b[31mred" in shown
    assert max(len(line.split("\x1b")[0]) for line in shown.splitlines()) <= 100
    assert "|2026-11-30" in shown
    assert "\x1b" not in on_terminal("--from", file, LC_ALL="C", NO_COLOR="1")
    assert "\x1b" not in on_terminal("--from", file, LC_ALL="C", TERM="dumb")
    assert "\x1b" not in timeline("--from", file).stdout


# --- the drawing ---

def test_a_drawing_says_what_it_is():
    root = draw(lines(*({"job": "report", "due": BEGIN + hour * HOUR} for hour in range(5)),
                      a_run(outcome="vanished"), a_run("gate-2", attempt=2),
                      a_run(hour=2, outcome="failed", detail="no <route>")))
    assert root.get("role") == "img"
    named = {element.get("id"): element.text for element in root if element.get("id")}
    said = " ".join(named[name] for name in root.get("aria-labelledby").split())
    assert "report, 2026-11-2" in said
    assert "3 runs, 1 succeeded, 1 failed, 1 vanished; 1 turn went on to another device" in said
    assert "3 due instants that nobody ran" in said
    shown = "\n".join(titles(root))
    assert "turn of 2026-11-30 02:00:00 UTC, attempt 1, fence 1796004000001" in shown
    assert "no <route>" in shown and "before it, attempt 1 on gate-1: vanished" in shown
    assert "from gate-1 (vanished) to gate-2" in shown
    assert "due 2026-11-30 01:00:00 UTC: nobody ran it" in shown


def test_a_drawing_needs_nothing_else():
    text = lines(*(a_run(hour=i, outcome=o) for i, o in enumerate(OUTCOMES)))
    done = timeline("--from", "-", "--svg", "-", text=text)
    root = ElementTree.fromstring(done.stdout)
    tags = {element.tag[len(SVG):] for element in root.iter()}
    assert not tags & {"script", "image", "foreignObject", "a"}
    ids = {element.get("id") for element in root.iter()}
    for element in root.iter():
        for key, value in element.attrib.items():
            assert not key.startswith("on"), key
            if key.endswith("href"):
                assert value[0] == "#" and value[1:] in ids, value
            if "url(" in value:
                assert value[5:-1] in ids, value
    style = root.find(f"{SVG}style").text
    assert "prefers-color-scheme:dark" in style and "@import" not in style
    assert all(used[1:].split(")")[0] in ids for used in style.split("url(")[1:])
    assert done.stdout.count("http") == 1    # the name of the language
    for outcome in OUTCOMES:
        assert f"1 {outcome}" in done.stdout


def hostile(random_text):
    pieces = ("&", "<", ">", "\"", "'", "]]>", "<!--", "<![CDATA[", "</title>", "\\", "\x00", "\x01", "\x1b[2J",
              "\x7f", "\x85", "\x9b31m", "\u2028", "\u202e", "\u2066", "\u200f", "\ufeff", "\ufffe", "\uffff", "\ud800",
              "\udfff", "\U0001f600", "\U0010ffff", "ä", "e\u0301", "日本", " ", "\t\r\n", "a" * 400, "%s%n", "{{",
              "&#0;")
    return "".join(random_text.choice(pieces) for _ in range(random_text.randint(1, 8)))


@pytest.mark.parametrize("seed", range(4))
def test_any_text_is_only_text(seed):
    chance = random.Random(seed)
    entries = [a_run(hostile(chance), chance.randint(-10, 30), hostile(chance),
                     chance.choice((*OUTCOMES, hostile(chance))), chance.randint(1, 3), hostile(chance))
               for _ in range(60)]
    text = lines(*entries)
    root = draw(text)
    drawn = {element.tag[len(SVG):] for element in root.iter()}
    assert drawn <= {"svg", "title", "desc", "style", "defs", "pattern", "path", "marker", "clipPath", "text", "g",
                     "rect", "use"}
    everything = "".join(root.itertext())
    assert not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) <= 0x9f or c in "\u2028\u202e\u2066\u200f\ufeff"
                   for c in everything)
    for locale in ("C", "C.UTF-8"):
        shown = timeline("--from", "-", text=text, LC_ALL=locale).stdout
        assert shown and not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) <= 0x9f or c in "\u2028\u202e\u2066"
                                 for c in shown)


def test_any_times(tmp_path):
    """The ends of the range, and clocks that are off: a drawing, whose parts lie in it."""
    ends = (0, 1, BEGIN, BEGIN + 1, 2 ** 53, 2 ** 63 - 1)
    entries = [{**a_run(f"gate-{i % 7}"), "turn": turn, "started": started, "ended": ended}
               for i, (turn, started, ended) in enumerate((a, b, c) for a in ends for b in ends for c in ends)]
    root = draw(lines(*entries, {"job": "report", "due": 0}, {"job": "report", "due": 2 ** 63 - 1}))
    width = float(root.get("width"))
    for element in root.iter(f"{SVG}rect"):
        assert 0 <= float(element.get("x")) and 0 < float(element.get("width"))
        assert float(element.get("x")) + float(element.get("width")) <= width
    assert timeline("--from", "-", text=lines(*entries)).returncode == 0


def test_to_a_file(tmp_path):
    file = tmp_path / "fleet.svg"
    done = timeline("--from", "-", "--svg", file, "--width", "700", text=lines(a_run()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert ElementTree.parse(file).getroot().get("width") == "700"
    done = timeline("--from", "-", "--svg", tmp_path / "no" / "fleet.svg", text=lines(a_run()))
    assert done.returncode == 73 and "cannot be written: No such file or directory" in done.stderr


def test_a_file_is_replaced_as_a_whole(tmp_path):
    """A disk that is full, or a file that may not be so large, leaves the old one."""
    file, link = tmp_path / "fleet.svg", tmp_path / "link.svg"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file.name)
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "-", ROTACTL]
    done = subprocess.run([*limited, "timeline", "--from", "-", "--svg", file], input=lines(a_run()),
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 73 and "cannot be written: File too large" in done.stderr
    assert file.read_text() == "old" and sorted(tmp_path.iterdir()) == [file, link]
    done = timeline("--from", "-", "--svg", link, text=lines(a_run()))
    assert done.returncode == 0 and link.is_symlink() and ElementTree.parse(file).getroot().tag == f"{SVG}svg"
    assert file.stat().st_mode & 0o777 == 0o640 and sorted(tmp_path.iterdir()) == [file, link]


def test_a_pipe_gets_the_drawing(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert timeline("--from", "-", "--svg", pipe, text=lines(a_run())).returncode == 0
        assert reader.communicate(timeout=20)[0].endswith("</svg>\n")
    assert pipe.is_fifo()


# --- lines, to be drawn later ---

def test_lines_are_what_the_picture_shows():
    text = lines({"now": BEGIN + 9 * HOUR}, *({"job": "report", "due": BEGIN + hour * HOUR} for hour in range(9)),
                 a_run(), a_run(), a_run(hour=5, outcome="failed"), a_run("gate-9", 5, "other"))
    saved = timeline("report", "--from", "-", "--since", "2026-11-30 03:00", "--json", text=text)
    entries = [json.loads(line) for line in saved.stdout.splitlines()]
    assert entries[0] == {"now": BEGIN + 9 * HOUR} and saved.returncode == 0
    assert [entry["due"] for entry in entries if "due" in entry] == [BEGIN + hour * HOUR for hour in range(3, 9)]
    assert [entry["outcome"] for entry in entries if "turn" in entry] == ["failed"]
    again = timeline("--from", "-", "--json", text=saved.stdout)
    assert again.stdout == saved.stdout
    span = ("report", "--from", "-", "--since", "2026-11-30 03:00", "--svg", "-")
    assert timeline(*span, text=saved.stdout).stdout == timeline(*span, text=text).stdout != ""


def test_drawn_as_it_was_when_it_was_asked():
    run = {**a_run(outcome="running"), "ended": None}
    drawn = timeline("--from", "-", "--svg", "-", text=lines({"now": run["started"] + 5000}, run)).stdout
    assert "running for 5 s so far" in drawn


def test_a_large_fleet_shows_where_the_trouble_is():
    text = lines(*(a_run(f"gate-{i}", i % 20, outcome="failed" if i == 437 else "succeeded") for i in range(450)))
    left_out = "50 more devices with 50 runs are not shown"
    root = draw(text)
    shown = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert left_out in shown and any("gate-437: failed" in title for title in titles(root))
    shown = timeline("--from", "-", text=text).stdout
    assert left_out in shown and "gate-437 " in shown


def test_the_picture_of_readme_is_what_its_command_draws():
    command, = re.findall(r"`rotactl (timeline [^`]+docs/timeline\.svg)`", (ROOT / "README.md").read_text())
    done = subprocess.run([ROTACTL, *command.replace("--svg docs/timeline.svg", "--svg -").split()], cwd=ROOT,
                          capture_output=True, text=True, check=True, timeout=60)
    committed = (ROOT / "docs" / "timeline.svg").read_text()
    assert done.stdout == committed, f"it is stale: type rotactl {command}"
    assert len(committed) < 60_000 and "(docs/timeline.svg)" in (ROOT / "README.md").read_text()


def test_a_title_has_room_for_long_names():
    text = lines(*(a_run(job=name * 63) for name in "abc"))
    root = draw(text, "--width", "480")
    shown = next(element.text for element in root.iter(f"{SVG}text"))
    assert len(shown) <= 48 and shown.count("..") == 3
    assert "a" * 63 in root.find(f"{SVG}title").text


# --- what is chosen ---

def test_jobs_and_times():
    text = lines(a_run(hour=0), a_run(hour=10), a_run("gate-9", 10, "other"))
    assert "gate-9" not in timeline("report", "--from", "-", text=text).stdout
    assert "3 succeeded" in timeline("report", "other", "--from", "-", text=text).stdout
    late = timeline("--from", "-", "--since", "2026-11-30 05:00", "--until", "2026-11-30T12:00:00Z", text=text)
    assert late.stdout.startswith("2026-11-30 05:00:00 to 2026-11-30 12:00:00 UTC\n") and "2 succeeded" in late.stdout
    none = timeline("--from", "-", "--until", "2026-11-29", text=text)
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr == "rotactl: nothing ran in that time\n"
    none = timeline("x\x1b", "--from", "-", text=text)
    assert (none.returncode, none.stderr) == (1, "rotactl: nothing ran of x\\x1b, as far as is known\n")
    assert timeline("--from", "-", text="").returncode == 1


# --- mistakes ---

@pytest.mark.parametrize(("words", "line"), [
    (("--from", "-", "--svg", "-", "--json"), "--json and --svg do not go together; leave one out"),
    (("--from", "-", "--since", "soon"),
     "--since is 'soon', which is no time; write \"2d\", \"yesterday\" or \"2026-11-30 02:30\", in UTC"),
    (("--from", "-", "--until", "\x1b"),
     "--until is '\\x1b', which is no time; write \"2d\", \"yesterday\" or \"2026-11-30 02:30\", in UTC"),
    (("--from", "-", "--since", "2026-11-30", "--until", "2026-11-29"),
     "--until is not after --since; nothing lies between them"),
    (("--from", "-", "--width", "20"), "--width is '20'; write a number of columns from 40 to 1000"),
    (("--from", "-", "--width", "99999999999999999999"),
     "--width is '99999999999999999999'; write a number of columns from 40 to 1000"),
    (("--from", "-", "--svg", "-", "--width", "90x"), "--width is '90x'; write a number of pixels from 480 to 2000"),
    (("--from",), "--from needs a file: --from runs.json, or --from -"),
    (("--svg", ""), "--svg needs a file: --svg fleet.svg, or --svg -"),
    (("--since",), "--since needs a time: --since 2d"),
    (("--timeout", "1s", "--from", "-"), "timeline takes no --timeout"),
])
def test_wrong_words(words, line):
    done = timeline(*words, text="")
    assert (done.returncode, done.stdout, done.stderr) == (64, "", f"rotactl: {line}\n")


def test_options_of_timeline_are_no_other_command_s():
    done = subprocess.run([ROTACTL, "status", "--svg", "-"], capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (64, "rotactl: status takes no --svg\n")


def test_wrong_files(tmp_path):
    file = tmp_path / "runs.json"
    file.write_text(lines(a_run()) + "{}\n")
    done = timeline("--from", file)
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == f"rotactl: {file}:2: job is missing; rotactl(1) says what a line has\n"
    done = timeline("--from", tmp_path / "none")
    assert done.returncode == 66 and done.stderr.endswith("/none cannot be read: No such file or directory\n")
    done = timeline("--from", tmp_path)
    assert done.returncode == 66 and done.stderr.endswith(" cannot be read: Is a directory\n")
    done = timeline("--from", "/dev/zero")
    assert done.returncode == 65 and "/dev/zero:1: " in done.stderr
