# SPDX-License-Identifier: MIT
"""A device dies with a job: another starts the next try within lease + splay + 1 s of the death."""
import re

import pytest

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, now_ms, wait_for

SPLAY = 1.0
# For a busy machine: neither the death nor the next try is seen at once.
SLACK = 0.5 * SLOWNESS
DEVICES = 3
BODY = """
[ "$ROTA_ATTEMPT" = 1 ] || exit 0
while :; do note beat; sleep 0.05; done
"""


def holder_of(fleet, job):
    name = wait_for(lambda: fleet.lock(job), 5, "somebody holds the lock").rpartition(":")[0]
    return next(device for device in fleet.devices if device.name == name)


@pytest.mark.parametrize("kind, lease, how", [
    (RENEWED, 3.0, "which stopped renewing .* ago"),
    ({**SHORT, "worst_case": "1500ms"}, 3.35, "whose lease has run out"),
], ids=["renewed", "short"])
def test_killed_device(fleet, kind, lease, how):
    fleet.make_due("report")
    jobs = {"report": {**kind, **ONCE, "splay": f"{SPLAY:.0f}s", **fleet.body("report", BODY)}}
    devices = [fleet.device(jobs).start() for _ in range(DEVICES)]
    holder = holder_of(fleet, "report")
    others = [device for device in devices if device is not holder]
    for device in others:
        device.wait_line(f"is held by {holder.name}")
    fleet.wait_entry("beat", count=3)

    dead_at = now_ms()
    holder.kill()
    again = fleet.wait_entry("begin", count=2, within=lease + SPLAY + 1 + SLACK)
    assert again.attempt == 2
    assert again.at - dead_at <= (lease + SPLAY + 1 + SLACK) * 1000
    assert max(beat.at for beat in fleet.entries("beat")) < again.at
    def takeovers():
        return [line for device in others for line in device.lines("taken over from")]
    said = wait_for(takeovers, 2, "the takeover is said")
    assert len(said) == 1
    assert re.fullmatch(rf"report: taken over from {holder.name}, {how}; attempt 2 of 3", said[0].text)
    assert [(entry["attempt"], entry["outcome"]) for entry in fleet.wait_history("report", 2)] == [
        ("1", "vanished"), ("2", "succeeded")]
    assert len(fleet.entries("begin")) == 2
