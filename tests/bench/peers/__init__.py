# SPDX-License-Identifier: MIT
"""The others that do the same job, measured as rota is. What cannot be had is named in world.missing."""
from . import measure


def tables(world):
    return measure.tables(world)
