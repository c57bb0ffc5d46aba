# SPDX-License-Identifier: MIT
"""S16: 200 connected devices, and Redis is killed and restarted: they come back spread over the
back-off's window, and nobody gives up.

Light devices (link_swarm: rotad's own store and link, many in one process) make the crowd; a few
whole ones show that jobs go on.
"""
import json
import os
import select
import subprocess
import time

import pytest

from fleet import BUILD, SHORT, SLOWNESS, wait_for

SWARM = BUILD / "tests" / "integration" / "link_swarm"
DEVICES, WHOLE = 200, 3
MIN_MS, MAX_MS = 100, 4000
# Who draws each delay from the whole window is met by the restart in its first tenth with a chance
# of 19 %: 38 of 200, give or take 6.
GREATEST_SHARE = 0.35


class Swarm:
    def __init__(self, server):
        self.process = subprocess.Popen(
            [SWARM, server.socket, *map(str, (DEVICES, MIN_MS, MAX_MS, 500))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.buffer = b""
        self.serving = {}  # device: since when, in ms of the machine's boot time

    def read(self):
        while select.select([self.process.stdout], [], [], 0)[0]:
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, "the swarm has ended"
            *lines, self.buffer = (self.buffer + data).split(b"\n")
            for event in map(json.loads, lines):
                if event["event"] == "serves":
                    self.serving[event["device"]] = event["at"]
                else:
                    del self.serving[event["device"]]

    def wait(self, count, within):
        def there():
            self.read()
            return len(self.serving) == count
        wait_for(there, within, f"{count} devices are served")

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(10 * SLOWNESS)
        self.process.stdout.close()
        assert status == 0


@pytest.fixture
def swarm(redis_server):
    the_swarm = Swarm(redis_server)
    yield the_swarm
    the_swarm.close()


def greatest_crowd(instants, width):
    instants = sorted(instants)
    return max(sum(start <= at < start + width for at in instants) for start in instants)


def windows_are_full(device):
    return device.lines("next try within 4 s")


def test_s16_reconnects_are_spread(fleet, swarm):
    devices = [fleet.device({"tick": {**SHORT, "every": "1s", **fleet.body("tick")}},
                            redis={"address": fleet.redis.address, "backoff_min": f"{MIN_MS}ms",
                                   "backoff_max": f"{MAX_MS}ms"}).start() for _ in range(WHOLE)]
    swarm.wait(DEVICES, 20)
    fleet.wait_entry("end", within=20)
    fleet.redis.kill()
    swarm.wait(0, 20)
    for device in devices:
        wait_for(lambda: windows_are_full(device), 60, f"{device.name} has its greatest window")
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    fleet.redis.start()
    swarm.wait(DEVICES, 2 * MAX_MS / 1000 + 10)
    back = [at - began for at in swarm.serving.values()]
    crowd = greatest_crowd(back, MAX_MS / 10)
    print(f"back after {min(back)} to {max(back)} ms; most in a tenth of the window: {crowd}")
    assert crowd <= GREATEST_SHARE * DEVICES
    before = len(fleet.entries("end"))
    wait_for(lambda: len(fleet.entries("end")) > before + 2, 20, "jobs go on")
    for device in devices:
        device.wait_line("answers again after")
