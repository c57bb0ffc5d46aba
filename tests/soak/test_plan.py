# SPDX-License-Identifier: MIT
"""The soak's plan is the seed's alone, has every kind in each five minutes, and leaves a quiet end."""
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import plan  # noqa: E402

DEVICES = [f"d{number:02}" for number in range(1, 21)]
HOUR_MS = 3_600_000


@pytest.mark.parametrize("seed", [0, 1, 7, 123456])
def test_same_seed_same_plan(seed):
    assert plan.plan(seed, HOUR_MS, DEVICES) == plan.plan(seed, HOUR_MS, DEVICES)
    assert plan.plan(seed, HOUR_MS, DEVICES) != plan.plan(seed + 1, HOUR_MS, DEVICES)


@pytest.mark.parametrize("seed", range(20))
def test_each_kind_in_each_cycle(seed):
    faults = plan.plan(seed, HOUR_MS, DEVICES)
    for begin in range(0, HOUR_MS, plan.CYCLE_MS):
        here = [each for each in faults if begin <= each.at < begin + plan.CYCLE_MS]
        assert {each.kind for each in here} == {*plan.OF_DEVICES, *plan.OF_ALL}
        assert max(each.at + each.length for each in here) <= begin + plan.CYCLE_MS - plan.QUIET_MS
        servers = sorted((each.at, each.at + each.length) for each in here if each.kind in plan.OF_ALL)
        assert all(earlier[1] <= later[0] for earlier, later in zip(servers, servers[1:]))
    assert min(each.at for each in faults) >= plan.WARM_MS


@pytest.mark.parametrize("length_ms", [60_000, 90_000, 310_000, 450_000])
@pytest.mark.parametrize("devices", [2, 5, 99])
def test_any_length_and_fleet(length_ms, devices):
    names = [f"d{number:02}" for number in range(1, devices + 1)]
    for seed in range(10):
        for fault in plan.plan(seed, length_ms, names):
            assert 0 <= fault.at and fault.at + fault.length <= length_ms - plan.QUIET_MS
            assert set(fault.devices) <= set(names)
