# SPDX-License-Identifier: MIT
"""A fault is undone when its time is over, and when the soak is broken off; what it did is on record. By a device and
a server that only count."""
import json
import pathlib
import sys
import types

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "integration")]
import faults  # noqa: E402
from plan import OF_ALL, OF_DEVICES, Fault  # noqa: E402
from redis_server import wait_for  # noqa: E402


class Node:
    def __init__(self):
        self.cuts = 0

    def take_link_down(self):
        self.cuts += 1

    def take_link_up(self):
        self.cuts -= 1

    def drop(self, _table, _percent):
        self.cuts += 1

    def drop_no_more(self, _table):
        self.cuts -= 1


@pytest.fixture
def world(tmp_path):
    device = types.SimpleNamespace(name="d01", node=Node(), lives=lambda: True, run=tmp_path)
    return types.SimpleNamespace(folder=tmp_path, devices={"d01": device}, device=device)


def record(world):
    return [json.loads(line) for line in (world.folder / "faults.jsonl").read_text().splitlines()]


def test_each_kind_of_the_plan_can_be_done():
    for kind in {*OF_DEVICES, *OF_ALL}:
        stems = [" ".join(kind.split()[:2])] if "beyond" in kind else []
        assert hasattr(faults.Faults, (stems or [kind])[0].replace(" ", "_")), kind


@pytest.mark.parametrize("kind", ["partition device", "partition group", "loss"])
@pytest.mark.parametrize("more", [0, 1])
def test_undone_in_time(world, kind, more):
    playing = faults.Faults(world, [Fault(0, 100, kind, ("d01",), more)])
    playing.step()
    assert world.device.node.cuts == 1
    wait_for(lambda: playing.step() and world.device.node.cuts == 0, 10, "the network is whole again")
    done, = record(world)
    assert done["kind"] == kind and done["devices"] == ["d01"] and done["ok"]
    assert 100_000 <= done["end_us"] - done["begin_us"] < 5_000_000
    assert playing.last_end_us == done["end_us"] and playing.counts == {kind: 1}


@pytest.mark.parametrize("more", [0, 1])
def test_undone_where_the_soak_is_broken_off(world, more):
    playing = faults.Faults(world, [Fault(0, 100_000, "partition device", ("d01",), more),
                                    Fault(100_000, 5, "partition device", ("d01",), more)])
    playing.step()
    assert world.device.node.cuts == 1
    playing.close()
    assert world.device.node.cuts == 0
    assert len(record(world)) == 1  # the other one never began
    assert playing.step() == 1.0


def test_what_could_not_be_done_is_on_record_as_such(world):
    world.device.lives = lambda: False
    playing = faults.Faults(world, [Fault(0, 100, "loss", ("d01",), 0)])
    playing.step()
    done, = record(world)
    assert not done["ok"] and done["why"] == "no device lives" and playing.counts == {}
