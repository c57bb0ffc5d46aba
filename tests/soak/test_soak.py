# SPDX-License-Identifier: MIT
"""Five minutes of the soak, with each kind of fault: quickstart test --all runs it."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
import plan  # noqa: E402
import soak  # noqa: E402
from redis_server import wait_for  # noqa: E402

SEED = os.environ.get("ROTA_SEED", "1")

if WHY_NOT := soak.why_not():
    pytest.skip(WHY_NOT, allow_module_level=True)


def start(*options, folder):
    """Its temporary folder is made in that one."""
    return subprocess.Popen([sys.executable, "-B", HERE / "soak.py", "--seed", SEED, *options], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(folder)})


def marked(folder):
    found = []
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder) in (proc / "cmdline").read_bytes():
                found.append(proc.name)
        except OSError:
            continue
    return found


@pytest.fixture
def place(tmp_path_factory):
    """Short: sockets have their place in it. It stays where a soak failed."""
    return tmp_path_factory.mktemp("soak")


def test_five_minutes(place):
    process = start("--ms", str(plan.CYCLE_MS), folder=place)
    try:
        output = process.communicate(timeout=plan.CYCLE_MS / 1000 + 180)[0]
    finally:
        process.kill()  # what is inside ends with it
        process.wait()
    print(output)
    assert process.returncode == 0
    told = next(line for line in output.splitlines() if " faults: " in line)
    # Something may stand in the way of one or the other: nothing to aim at, a Sentinel that was just killed.
    seen = [kind for kind in {*plan.OF_DEVICES, *plan.OF_ALL} if f" {kind} " in told]
    assert len(seen) >= len(plan.OF_DEVICES) + len(plan.OF_ALL) - 3, told
    assert not list(place.iterdir()) and not marked(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_soak_that_is_ended(place, number):
    keep = pathlib.Path(place, "kept")
    process = start("--ms", "60000", "--devices", "3", "--keep", str(keep), folder=place)
    try:
        wait_for(lambda: list(keep.glob("devices/*/ledger")), 30, "a job runs")
        assert marked(keep)
        process.send_signal(number)
        if number == signal.SIGINT:
            assert "interrupted" in process.communicate(timeout=90)[0]
        wait_for(lambda: not marked(keep), 90, "all its processes have ended")
    finally:
        process.kill()
        process.communicate()
    assert str(keep) not in pathlib.Path("/proc/mounts").read_text()


def test_a_folder_that_is_there_is_left_alone(place):
    with start("--ms", "60000", "--keep", str(place), folder=place) as process:
        assert "is there already; name a new folder" in process.communicate(timeout=30)[0]
    assert process.returncode == 1 and not list(place.iterdir())
