# SPDX-License-Identifier: MIT
"""What rotad says of a worst_case that its runs do not fit: once, with the value to write, and a configuration that has
it is taken."""
import json
import re
import subprocess

import pytest

from fleet import LOCAL, ONCE, ROTAD, SANITIZED, SHORT, wait_for
from notify import NotifySocket
from rotactl import rotactl

ADVICE = r"^job: its longest run took "
WRITE = r'; write (worst_case|max_runtime) = "(\w+)"(?: and lease = "(\w+)")?$'
EACH_SECOND = {**SHORT, "every": "1s"}


@pytest.fixture
def notify(fleet):
    with NotifySocket(fleet.folder / "notify") as socket:
        yield socket


def test_nearly_too_slow(fleet, notify):
    """A run that has come close to worst_case is told with the values that keep a slower one from being stopped: also
    the lease, where the job would be renewed from then on."""
    patient = {"address": fleet.redis.address, "command_timeout": "1s", "connect_timeout": "10s"}

    def jobs(**timing):
        return {"job": {**SHORT, **ONCE, "first": "now", **timing, **fleet.body("job", "sleep 8.4")}}

    # A run that takes between 8 s and 10 s: what a busy machine adds to it is less than the 1.6 s that are left.
    device = fleet.device(jobs(worst_case="10s", lease="13s"), redis=patient).start(NOTIFY_SOCKET=notify.path)
    line = device.wait_line(ADVICE + ".*" + WRITE, 30)
    assert line.level == "warning"
    key, value, lease = re.search(WRITE, line.text).groups()
    assert line.text.startswith(("job: its longest run took 8.", "job: its longest run took 9.")) and \
        "of the 10 s that worst_case allows" in line.text
    assert key == "worst_case" and int(value.removesuffix("s")) >= 13 and lease
    notify.wait_for(r"^STATUS=1 job, 1 nearly too slow \(job\); ", 5)
    words = f'write {key} = "{value}" and lease = "{lease}"'
    assert words in rotactl(device, "show", "job").stdout
    assert json.loads(rotactl(device, "show", "job", "--json").stdout)["advice"] == {
        "key": key, "value": value, "lease": lease}
    # In its own half of the page, beside what happens when the device dies.
    assert words in " ".join(line[39:].strip() for line in rotactl(device, "explain", "job").stdout.splitlines())
    assert device.stop() == 0

    def check(**timing):
        device.write(jobs(**timing), redis=patient)
        return subprocess.run([ROTAD, "-c", device.conf, "--check"], capture_output=True, text=True)

    assert "is too short" in check(worst_case=value, lease="13s").stderr
    done = check(worst_case=value, lease=lease)
    assert done.returncode == 0, done.stderr


def test_worst_case_far_too_large(fleet, notify):
    """After ten quick runs; said once, and nothing that has to be done at once is no part of the status line."""
    device = fleet.device({"job": {**EACH_SECOND, "worst_case": "10m", **fleet.body("job")}}, **LOCAL)
    device.start(NOTIFY_SOCKET=notify.path)
    line = device.wait_line(ADVICE, 60)
    ended = device.lines("^job: succeeded in")
    assert ended[9].at <= line.at, "not after fewer than ten runs"
    assert line.level == "warning"
    assert re.search(r"took (\d+ ms|\d\.?\d? s) of the 10 min that worst_case allows: far too much" + WRITE,
                     line.text)[3] == "10s"
    wait_for(lambda: len(device.lines("^job: succeeded in")) >= len(ended) + 3, 30, "it goes on")
    if not SANITIZED:  # its runs are slow, and none like the other
        assert len(device.lines(ADVICE)) == 1
    assert not notify.texts("nearly too slow")
    assert device.stop() == 0


def test_nothing_to_say(fleet, notify):
    """Of what is no success, and of runs that fit."""
    device = fleet.device({
        "job": {**SHORT, **ONCE, "first": "now", "attempts": 1, "worst_case": "10s", **fleet.body("job", "sleep 8.5; exit 1")},
        "well": {**EACH_SECOND, "worst_case": "60s", **fleet.body("well")}}, **LOCAL)
    device.start(NOTIFY_SOCKET=notify.path)
    device.wait_line("^job: failed after", 40)
    device.wait_line("^well: succeeded in", 60, count=12)
    assert not device.lines("its longest run took") and not notify.texts("nearly too slow")
