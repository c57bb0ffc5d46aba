# SPDX-License-Identifier: MIT
"""The others that do the same job, measured as rota is. What cannot be had is named in world.missing."""
import collections

from . import at_rest, measure, spawned


def tables(world):
    found = collections.defaultdict(list)
    for part in (measure, spawned, at_rest):
        for key, rows in part.tables(world).items():
            found[key] += rows
    return dict(found)
