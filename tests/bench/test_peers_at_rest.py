# SPDX-License-Identifier: MIT
"""Each keeper has its 10 jobs, rests, and is gone afterwards; cron and s6 leave the machine's own files alone."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import types

import pytest
from fleet import wait_for
from guard_harness import is_alive

import peers.at_rest as at_rest

MACHINES = ("/run/crond.pid", "/var/run/crond.pid", "/var/spool/cron/crontabs/root", "/usr/bin/s6-supervise")


@pytest.fixture(name="world")
def _world():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-rest-"))
    yield types.SimpleNamespace(folder=folder, scale=0.01, missing={}, versions={}, notes=[], log=print)
    shutil.rmtree(folder)


@pytest.fixture(name="name", params=at_rest.KEEPERS)
def _name(request):
    if why := at_rest.why_not(request.param):
        pytest.skip(why)
    return request.param


def test_it_rests_and_is_gone_afterwards(world, name):
    before = [pathlib.Path(path).exists() for path in MACHINES]
    with at_rest.resting(world, name) as process:
        some = at_rest.tree(process.pid)
        assert at_rest.pss_of(some) >= at_rest.dirty_of(some) > 0
        # Not what started it: the shell that made its namespace has become it.
        assert at_rest.KEEPERS[name][0] in pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
        assert os.readlink(f"/proc/{process.pid}/exe").rpartition("/")[2] not in ("sh", "dash", "unshare")
        assert [pathlib.Path(path).exists() for path in MACHINES] == before
    assert not any(map(is_alive, some))
    assert [pathlib.Path(path).exists() for path in MACHINES] == before


def read_of(process, name):
    """What the program itself says of its jobs."""
    folder = pathlib.Path(os.readlink(f"/proc/{process.pid}/cwd"))
    if name == "monit":
        asked = [at_rest.program("monit"), "-t", "-v", "-c", str(folder / "conf")]
        return subprocess.run(asked, env=at_rest.environment(), check=True, capture_output=True, text=True).stdout
    if name == "cron":
        return pathlib.Path(f"/proc/{process.pid}/root/var/spool/cron/crontabs/root").read_text()
    return "\n".join(map(str, folder.rglob("*")))  # s6-svscan's own folder is that of its services


@pytest.mark.parametrize("name, word", [("cron", "* * * * /bin/true"), ("monit", "Program Name"),
                                        ("s6", "/supervise/status")])
def test_it_knows_its_jobs(world, name, word):
    if why := at_rest.why_not(name):
        pytest.skip(why)
    with at_rest.resting(world, name) as process:
        wait_for(lambda: read_of(process, name).count(word) == at_rest.JOBS, 10, f"{name} has {at_rest.JOBS} jobs")


def test_who_is_not_there_is_named(world, monkeypatch):
    monkeypatch.setattr(at_rest, "program", lambda name: None)
    assert at_rest.tables(world) == {} and set(world.missing) == set(at_rest.KEEPERS)
