# SPDX-License-Identifier: MIT
"""The in-memory store answers as the scripts do in a real Redis: the same random commands to both.

ROTA_SEED plays one again. What differs is printed in the fewest steps that show it; `differ` replays
the lines (redis/differ/differ.c)."""
import pathlib
import subprocess

import pytest

from fleet import BUILD, SLOWNESS
from redis_server import RedisServer

DIFFER = BUILD / "tests" / "integration" / "differ"
RARE = sorted((pathlib.Path(__file__).parent / "redis" / "differ").glob("*.steps"))
COMMANDS = 100_000 // SLOWNESS
# Random plays are shrunk to 2 to 9 steps; more means that the shrinking does not work.
FEW = 15

# One line of a script in another way, by rule or field: each must be found.
DEFECTS = [
    pytest.param("acquire", "turn <= c_done then", "turn < c_done then", id="done only grows"),
    pytest.param("acquire", "num(c[16]) == turn and num(c[11]) or 0", "num(c[11])",
                 id="watchers are a turn's own"),
    pytest.param("acquire", "left > c_ttl then", "left > c_ttl + 5000 then", id="a lease is cut"),
    pytest.param("acquire", "c_retry = now + c_delay\n", "c_retry = now\n", id="a wait is cut"),
    pytest.param("acquire", "streak = streak + 1 end", "streak = streak end",
                 id="the last try vanished"),
    pytest.param("acquire", "seen + 1, now)", "now)", id="the fence that was seen"),
    pytest.param("acquire", "if due and turn <= c_paused", "if turn <= c_paused",
                 id="by hand after a pause"),
    pytest.param("acquire", "GETRANGE', lock, 0, 127", "GETRANGE', lock, 0, 126",
                 id="long foreign value"),
    pytest.param("renew", "c_att >= att", "c_att > att", id="regained by attempt"),
    pytest.param("renew", "'ttl', lease", "'ttl', ttl", id="the largest ttl"),
    pytest.param("finish", "covers <= now and", "", id="covers of the future"),
    pytest.param("finish", "outcome == 'declined' and attempts == 1", "false", id="at most once"),
    pytest.param("finish", "and clean then", "then", id="a tree that is not empty"),
    pytest.param("finish", "math.max(fence, c_fence)", "fence", id="the fence grows"),
]


@pytest.fixture(scope="module")
def server():
    instance = RedisServer("--enable-debug-command", "yes", own_clock=True)
    try:
        yield instance.start()
    finally:
        instance.close()


def differ(server, *words):
    ended = subprocess.run([DIFFER, server.socket, server.clock.path, *map(str, words)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=1800, check=False)
    print(ended.stdout)
    assert ended.returncode in (0, 1), ended.stdout
    return ended


def test_both_answer_the_same(server):
    played = differ(server, "play", COMMANDS)
    assert played.returncode == 0, played.stdout


@pytest.mark.parametrize("steps", RARE, ids=lambda path: path.stem)
def test_both_answer_the_same_to_what_is_rare(server, steps):
    played = differ(server, "replay", steps)
    assert played.returncode == 0, played.stdout


@pytest.mark.long
def test_both_answer_the_same_for_long(server):
    played = differ(server, "play", 10 * COMMANDS)
    assert played.returncode == 0, played.stdout


@pytest.mark.parametrize("script, old, new", DEFECTS)
def test_a_difference_is_found_and_shown_in_few_steps(server, tmp_path, script, old, new):
    found = differ(server, "play", COMMANDS, script, old, new)
    assert found.returncode == 1
    steps = [line for line in found.stdout.splitlines() if not line.startswith("#")]
    assert 1 <= len(steps) <= FEW
    lines = tmp_path / "steps"
    lines.write_text("\n".join(steps) + "\n")
    assert differ(server, "replay", lines, script, old, new).returncode == 1
    assert differ(server, "replay", lines).returncode == 0


def test_a_wait_that_was_noted_twice_ends_with_the_newer(server):
    """That the rare steps reach what they are there for."""
    steps = next(path for path in RARE if path.stem == "schedule_comes_back")
    newest, oldest = "blank = blank or tonumber(till) - now", "blank = tonumber(till) - now"
    assert differ(server, "replay", steps, "acquire", newest, oldest).returncode == 1
