# SPDX-License-Identifier: MIT
"""Of reached.py: what it counts, and what it does not let pass. By a program of its own, compiled as ours are."""
import json
import pathlib
import signal
import subprocess

import pytest

import reached

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = """\
#include <assert.h>
#include <unistd.h>

static int half(int n)
{
    assert(n >= 0 &&
           n < 1000);
    if (n > 100)
        return -1;
    return n / 2;
}

int main(int argc, char **argv)
{
    (void)argv;
    int rc = half(argc * 100);
    if (argc > 5)
        rc = half(7);
    _exit(rc == 0);
}
"""
# As cmake/RotaFlags.cmake has them.
WRAPPED = ("_exit", "poll", "send")
LISTED = """\
never: nobody asks for so much
  guard/a.c main: rc = half(7);
at times: a second argument
    makes it run
  guard/a.c half: return -1;
"""


class Tree:
    def __init__(self, folder):
        self.root, self.build = folder, folder / "build"
        for name in "runtime/guard", "tests/coverage", "build/rota-guard.dir":
            (folder / name).mkdir(parents=True)
        self.source = folder / "runtime" / "guard" / "a.c"
        self.list = folder / "tests" / "coverage" / "unreached.txt"
        self.source.write_text(PROGRAM)
        self.list.write_text("")
        self.make()

    def make(self):
        subprocess.run(["gcc", "-D_GNU_SOURCE", "--coverage", "-c", self.source, "-o", "rota-guard.dir/a.c.o"],
                       check=True, cwd=self.build)
        subprocess.run(["gcc", "-D_GNU_SOURCE", "--coverage", *(f"-Wl,--wrap={name}" for name in WRAPPED),
                        "rota-guard.dir/a.c.o", HERE / "end.c", "-o", "rota-guard"],
                       check=True, cwd=self.build)

    def play(self, *arguments):
        return subprocess.run([self.build / "rota-guard", *arguments], check=False).returncode

    def judge(self, *options, bounds=None):
        return reached.main([str(self.build), *options], self.root, bounds or {})


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_a_line_nobody_reaches_wants_a_reason(tree, capsys):
    assert tree.play() == 0
    assert tree.judge() == 1
    said = capsys.readouterr().out
    assert "runtime/guard/a.c:9: no test reaches it, and no reason is listed: return -1;" in said
    assert "a.c:10:" not in said, "it ran, and _exit() kept the counters"
    tree.list.write_text(LISTED)
    assert tree.judge() == 0


@pytest.mark.parametrize("call, counted", [
    ("poll(NULL, 0, 1)", True),
    ("poll(NULL, 0, 0)", False),
    ("send(-1, NULL, 0, 0)", True),
    ("getppid()", False),
])
def test_who_is_killed_has_written_before_it_waits_or_answers(tree, capsys, call, counted):
    tree.source.write_text("#include <poll.h>\n#include <signal.h>\n#include <sys/socket.h>\n" +
                           PROGRAM.replace("_exit(rc == 0);", f"{call}; raise(SIGKILL);"))
    tree.make()
    assert tree.play() == -signal.SIGKILL
    tree.judge()
    assert ("no reason is listed: return n / 2;" not in capsys.readouterr().out) == counted


def test_what_is_noted_is_a_list(tree, capsys):
    assert tree.play() == 0
    assert tree.judge("--note") == 0
    tree.list.write_text("never: a reason\n" + capsys.readouterr().out)
    assert tree.judge() == 0


def test_edits_above_do_not_matter(tree):
    tree.source.write_text("/* a line more */\n" + PROGRAM)
    tree.make()
    assert tree.play() == 0
    tree.list.write_text(LISTED)
    assert tree.judge() == 0


def test_counters_of_runs_add_up_and_a_listed_line_that_is_reached_is_told(tree, capsys):
    assert tree.play() == 0
    assert tree.play(*"12345") == 0
    tree.list.write_text(LISTED)
    assert tree.judge() == 0
    said = capsys.readouterr().out
    assert "listed as never reached, but it is: guard/a.c main: rc = half(7);" in said
    assert "return -1" not in said, "at times it is"


@pytest.mark.parametrize("kind", ["never", "at times"])
def test_a_listed_line_that_is_gone(tree, capsys, kind):
    assert tree.play() == 0
    tree.list.write_text(LISTED + f"{kind}: it was once\n  guard/a.c half: return -2;\n")
    assert tree.judge() == 1
    assert "not there any more: guard/a.c half: return -2;" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["  guard/a.c half return -1;", "sometimes: it rains", "never:"])
def test_a_list_that_says_nothing(tree, capsys, line):
    assert tree.play() == 0
    tree.list.write_text(LISTED + line + "\n")
    assert tree.judge() == 1
    assert "neither a reason nor a line below one" in capsys.readouterr().out


def test_bounds(tree, capsys):
    assert tree.play() == 0
    tree.list.write_text(LISTED)
    # Of each if one branch; those of the assert are not counted.
    assert tree.judge(bounds={"guard": (80, 50)}) == 0
    assert json.loads((tree.build / "coverage.json").read_text()) == {"guard": [8, 10, 2, 4]}
    assert tree.judge(bounds={"guard": (81, 51)}) == 1
    said = capsys.readouterr().out
    assert "80.0 % of its lines are reached; 81 % have to be" in said
    assert "50.0 % of its branches are reached; 51 % have to be" in said
    assert "2 branches not taken: if (n > 100)" in (tree.build / "coverage.txt").read_text()


def test_a_layer_that_is_not_there_meets_no_bound(tree):
    assert tree.play() == 0
    tree.list.write_text(LISTED)
    assert tree.judge(bounds={"core": (1, 1)}) == 1


def test_no_build_of_it(tmp_path):
    with pytest.raises(SystemExit):
        reached.main([str(tmp_path)])
