# SPDX-License-Identifier: MIT
"""Which fault when: from the seed alone, so that the same seed plans the same soak. Milliseconds from its begin.

Five minutes are a cycle: first all comes up or recovers, then faults overlap, then there is quiet again."""
import collections
import random

CYCLE_MS = 300_000
WARM_MS = 20_000  # at the very begin
QUIET_MS = 45_000  # at the end of each cycle

Fault = collections.namedtuple("Fault", "at length kind devices more")

# Faults of devices: how many in a cycle at 20 devices, and how long (ms, least and greatest).
OF_DEVICES = {
    "kill supervisor": (4, 500, 4_000),  # until it is started again
    "kill guard": (4, 0, 0),
    "kill worker": (4, 0, 0),
    "lose device": (3, 2_000, 25_000),
    "stop supervisor": (2, 300, 2_000),
    "stop supervisor beyond the lease": (2, 7_000, 12_000),
    "stop guard": (2, 300, 2_000),
    "stop guard beyond the lease": (2, 7_000, 12_000),
    "stop worker": (2, 300, 2_000),
    "stop worker beyond the lease": (2, 7_000, 12_000),
    "stop device": (2, 300, 2_000),
    "stop device beyond the lease": (2, 7_000, 12_000),
    "partition device": (3, 1_000, 15_000),
    "loss": (3, 5_000, 20_000),
    "fill device": (2, 5_000, 15_000),
    "reload": (2, 0, 0),
    "drain": (2, 3_000, 10_000),
    "run by hand": (3, 0, 0),
    "pause": (1, 5_000, 15_000),
    "resume sulky": (1, 0, 0),
}
# Those of many devices, or of a server: one after the other, for two at once would only hide each other.
OF_ALL = {
    "partition group": (3_000, 12_000),
    "partition server": (1_000, 12_000),
    "fill server": (4_000, 10_000),
    "restart server": (0, 1_000),
    "empty server": (0, 0),
    "planned failover": (0, 0),
    "forced failover": (6_000, 12_000),
    "stop server": (300, 1_200),
    "kill sentinel": (5_000, 15_000),
}
AIMED = ("kill guard", "kill worker", "stop guard", "stop worker")  # only where something runs


def plan(seed, length_ms, devices):
    """The faults in the order of their beginnings; none of them lasts into a cycle's quiet end."""
    chance, faults, begin = random.Random(seed), [], 0
    while begin < length_ms:
        end = min(begin + CYCLE_MS, length_ms)
        first, last = begin + (WARM_MS if begin == 0 else 5_000), end - QUIET_MS
        if last - first >= 10_000:
            share = (last - first) / (CYCLE_MS - QUIET_MS - 5_000)
            faults += _of_devices(chance, first, last, share, devices)
            faults += _of_all(chance, first, last, share, devices)
        begin = end
    return sorted(faults)


def _of_devices(chance, first, last, share, devices):
    for kind, (count, least, greatest) in OF_DEVICES.items():
        scaled = count * share * len(devices) / 20
        # A whole cycle has each kind, whatever the fleet's size.
        number = max(1, round(scaled)) if share > 0.9 else int(scaled + chance.random())
        for _ in range(number):
            length = min(chance.randint(least, greatest), last - first)
            at = chance.randint(first, last - length)
            yield Fault(at, length, kind, (chance.choice(devices),), chance.randrange(1_000_000))


def _of_all(chance, first, last, share, devices):
    kinds = list(OF_ALL)
    chance.shuffle(kinds)
    if share <= 0.9:
        kinds = kinds[:max(1, int(len(kinds) * share))]
    slot = (last - first) // len(kinds)
    for number, kind in enumerate(kinds):
        # A server needs time to come back before the next fault of one.
        least, greatest = (min(each, slot - 6_000) if slot > 7_000 else 0 for each in OF_ALL[kind])
        length = chance.randint(least, max(least, greatest))
        at = first + number * slot + chance.randint(0, max(0, slot - length - 8_000))
        group = chance.sample(devices, max(1, len(devices) * 2 // 5)) if kind == "partition group" else []
        yield Fault(at, length, kind, tuple(sorted(group)), chance.randrange(1_000_000))
