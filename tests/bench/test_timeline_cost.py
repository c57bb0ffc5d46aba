# SPDX-License-Identifier: MIT
"""20,000 runs are drawn in less than a second, whether one device has all of them or 200 have, and the drawing is no
larger than a browser likes. The second is the processor's: others may be busy on it."""
import json
import random
import resource
import subprocess

import pytest

from fleet import BUILD, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer's time is its own; the release build is measured")

ROTACTL = BUILD / "runtime" / "rotactl" / "rotactl"
RUNS = 20000
SECONDS_MAX = 1
# Joined runs are few; apart, each has its title.
ONE_LANE_BYTES_MAX = 1 << 20
BYTES_A_RUN_MAX = 400
BEGIN, STEP = 1795996800000, 300000


def write_runs(file, devices):
    chance = random.Random(devices)
    with file.open("w") as out:
        for i in range(RUNS):
            turn = BEGIN + i * STEP
            outcome = chance.choices(["succeeded", "nothing", "failed", "lost"], [95, 2, 2, 1])[0]
            out.write(json.dumps({"job": "purge", "device": f"gate-{chance.randrange(devices)}", "turn": turn,
                                  "fence": turn, "outcome": outcome, "started": turn + 100,
                                  "ended": turn + chance.randint(1000, STEP)}) + "\n")


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_to_draw(source, *words):
    before = cpu_seconds()
    subprocess.run([ROTACTL, "timeline", "--from", source, *words], check=True, timeout=120, stdout=subprocess.DEVNULL)
    return cpu_seconds() - before


@pytest.mark.parametrize("devices", [1, 200])
def test_20_000_runs(tmp_path, devices):
    source, drawing = tmp_path / "runs.json", tmp_path / "runs.svg"
    write_runs(source, devices)
    svg_s = min(seconds_to_draw(source, "--svg", drawing) for _ in range(3))
    characters_s = min(seconds_to_draw(source) for _ in range(3))
    size = drawing.stat().st_size
    print(f"{RUNS} runs of {devices} devices: SVG {svg_s:.3f} s, {size} bytes; characters {characters_s:.3f} s")
    assert svg_s < SECONDS_MAX and characters_s < SECONDS_MAX
    assert size < (ONE_LANE_BYTES_MAX if devices == 1 else RUNS * BYTES_A_RUN_MAX)
