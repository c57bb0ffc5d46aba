# SPDX-License-Identifier: MIT
"""Instants of fleet time, as people write them and as rota has them."""
import datetime
import zoneinfo


def instant(text, zone="UTC"):
    """Unix milliseconds of "2026-03-29 02:30" or "2026-03-29 02:30:05" in a zone."""
    local = datetime.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return int(local.timestamp()) * 1000


def begin_at(fleet, text):
    """Fleet time shows this from now on, and goes on. Only while no device runs: to those that do,
    it would be a jump."""
    assert not any(device.runs() for device in fleet.devices)
    fleet.redis.clock.set(instant(text))
