# SPDX-License-Identifier: MIT
"""What runs is the file that was looked at: nothing that others put in its place, and all of its own."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import guard_harness as h
import pytest
from guard_harness import run
from sandbox import needs_root

NOBODY = 65534

NEEDED = "int private_number(void) { return 42; }"
LATER = "int later_number(void) { return 7; }"
# Should it ever be loaded, its constructor says so.
FOREIGN = """
#include <stdio.h>
__attribute__((constructor)) static void be_loaded(void) { fclose(fopen(MARK, "w")); }
"""


@pytest.fixture
def place():
    """In a folder of its own, since pytest's are closed to other users."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def build_places(folder):
    folder.mkdir(exist_ok=True)
    h.compile_text(folder, "libneeded", NEEDED)
    h.compile_text(folder, "liblater", LATER)
    return h.compile_plugin(folder, h.PLUGINS / "places.c",
                            flags=[f"-L{folder}", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-l:libneeded.so"])


def open_at(lines, when):
    return {int(number): target for key, what, number, target in
            (line.split(" ", 3) for line in lines if line.startswith(f"{when} fd ")) if what == "fd"}


def test_a_plugins_own_libraries_are_found_beside_it(place):
    """Also by a link, while it is loaded and when it runs, and by its true name."""
    plugin = build_places(place / "real")
    link = place / "link.so"
    link.symlink_to("real/places.so")
    for path in (plugin, link):
        ended, guard = run(path)
        assert ended["how"] == h.RETURNED and ended["result"] == h.SUCCEEDED, ended
        lines = guard.lines()
        assert f"run file {plugin}" in lines
        needed, = [line for line in lines if line.startswith("needed ")]
        later, = [line for line in lines if line.startswith("later ")]
        assert os.path.normpath(needed.removeprefix("needed 42 of ")) == str(place / "real" / "libneeded.so")
        # A sanitizer stands before dlopen(), which looks beside who called it.
        assert h.SANITIZED or os.path.normpath(later.removeprefix("later ")) == str(place / "real" / "liblater.so")


def test_what_is_open_while_it_is_loaded_and_when_it_runs(place):
    plugin = build_places(place)
    _, guard = run(plugin)
    lines = guard.lines()
    loaded, running = open_at(lines, "loaded"), open_at(lines, "run")
    assert sorted(running) == [0, 1, 2, 3, 4]
    assert loaded == {**running, 5: str(place), 6: "/"}
    assert f"loaded cwd {place}" in lines and "run cwd /" in lines


def test_the_least_of_limits_open_files_is_enough_to_load(place):
    plugin = build_places(place)
    assert run(plugin, open_files=8)[0]["how"] == h.RETURNED
    assert "Too many open files" in run(plugin, open_files=7)[0]["detail"]


@needs_root
def test_the_jobs_user_needs_no_way_to_the_plugin(place):
    (place / "closed").mkdir(mode=0o700)
    (place / "closed" / "open").mkdir(mode=0o755)
    plugin = h.compile_plugin(place / "closed" / "open", h.PLUGINS / "behave.c")
    ended, guard = run(plugin, {"as": "surroundings"}, switch_user=1, uid=NOBODY, gid=NOBODY)
    assert ended["how"] == h.RETURNED and f"uid {NOBODY}" in guard.lines()
    plugin.parent.chmod(0o700)
    ended, _ = run(plugin, {"as": "surroundings"}, switch_user=1, uid=NOBODY, gid=NOBODY)
    assert ended["how"] == h.UNLOADABLE
    assert ended["detail"] == (f"the plugin cannot be loaded: the way to the folder of {plugin} and back is closed: "
                               "Permission denied")


def test_what_the_loader_says_names_the_true_path(place):
    """And what is missing is found then, not where it is called."""
    plugin = h.compile_text(place, "lacking", "int absent(void); int use(void) { return absent(); }")
    link = place / "link.so"
    link.symlink_to(plugin)
    ended, _ = run(link)
    assert ended["how"] == h.UNLOADABLE
    assert ended["detail"] == f"the plugin cannot be loaded: {plugin}: undefined symbol: absent"


@needs_root
def test_a_link_of_others_is_not_followed(place):
    """Neither one that belongs to another, nor one that stands where others can replace it."""
    plugin = h.compile_plugin(place, h.PLUGINS / "behave.c")
    theirs = place / "theirs"
    theirs.mkdir()
    link = theirs / "link.so"
    link.symlink_to(plugin)
    assert run(link, {"as": "answer"})[0]["how"] == h.RETURNED
    os.lchown(link, NOBODY, NOBODY)
    for wrong in (link, theirs):
        ended, _ = run(link, {"as": "answer"})
        assert ended["how"] == h.UNLOADABLE
        assert ended["detail"].startswith(f"others could replace the plugin: '{wrong}' belongs to user {NOBODY}, ")
        os.lchown(link, 0, 0)
        os.chown(theirs, NOBODY, NOBODY)


# As fast as it can: what a name in a folder of theirs can lead to, so that it always leads to something, and
# tries at one that is sticky.
SWAP = """
import contextlib, ctypes, os, sys
own, sticky = sys.argv[1:]
libc = ctypes.CDLL(None)
def exchange(one, other):
    libc.renameat2(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
def attempt(act, *names):
    with contextlib.suppress(OSError):
        act(*names)
print("begun", flush=True)
while os.getppid() != 1:
    os.chdir(own)
    for name in (b"theirs", b"theirs", b"link", b"theirs", b"theirs", b"link"):
        exchange(b"way", name)
    os.chdir(sticky)
    attempt(os.rename, "ours", "gone"), attempt(os.rename, "gone", "ours")
    attempt(os.symlink, "../own/theirs", "gone"), attempt(os.rename, "gone", "ours"), attempt(os.unlink, "gone")
    attempt(os.unlink, "ours/behave.so")
"""


@pytest.fixture
def swapper(place):
    """Another user that swaps what `own/way` and `sticky/ours` are. The foreign plugin's mark."""
    mark = place / "mark"
    good = h.compile_plugin(place, h.PLUGINS / "behave.c")
    foreign = h.compile_text(place, "foreign", FOREIGN, defines=[f'MARK="{mark}"'])
    for folder, mode in (("good", 0o755), ("own", 0o755), ("own/way", 0o755), ("own/theirs", 0o755),
                         ("sticky", 0o1777), ("sticky/ours", 0o755)):
        (place / folder).mkdir()
        (place / folder).chmod(mode)
        (place / folder / "behave.so").write_bytes((foreign if folder == "own/theirs" else good).read_bytes())
    for name in ("own/theirs/behave.so", "own/theirs", "own"):
        os.chown(place / name, NOBODY, NOBODY)
    (place / "own" / "link").symlink_to("../good")
    process = subprocess.Popen([sys.executable, "-c", SWAP, place / "own", place / "sticky"],
                               user=NOBODY, group=NOBODY, extra_groups=[], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"begun\n"
        yield mark
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


RACES = 100


@needs_root
def test_nothing_is_loaded_that_others_swap_in(place, swapper):
    for _ in range(RACES):
        ended, _ = run(place / "own" / "way" / "behave.so", {"as": "answer"})
        assert not swapper.exists()
        assert ended["how"] == h.UNLOADABLE
        assert ended["detail"].startswith(f"others could replace the plugin: '{place / 'own'}' belongs to user ")
        ended, _ = run(place / "sticky" / "ours" / "behave.so", {"as": "answer"})
        assert not swapper.exists() and ended["how"] == h.RETURNED
