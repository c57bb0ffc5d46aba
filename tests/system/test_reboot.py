# SPDX-License-Identifier: MIT
"""conf/jobs.d/reboot.conf, as it stands but for when it is due and how long it waits, reboots a machine once a turn."""
import pathlib
import time

import pytest

from conftest import SHORT
from test_life import REDIS, redis, runs, start_redis

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "conf/jobs.d/reboot.conf"
# From an ordered reboot to the instant at which it happens, and to the next turn: the boot lies between the two.
ORDERED_SECONDS = 60
PERIOD = 150


def example(changes):
    """Its text, with what another place needs: {text: text instead}, each of which stands there once."""
    text = EXAMPLE.read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, f"{EXAMPLE.name} has {old} {text.count(old)} times"
        text = text.replace(old, new)
    return text


def due_in(seconds, wait):
    """The example, due so long from now and every PERIOD. A turn that is the first that Redis hears of waits for a
    lease, hence a short one."""
    offset = int(time.time() + seconds) % PERIOD
    return example({'cron                = "0 3 * * 0"; # on Sundays at 03:00\n':
                    f'every = "{PERIOD}s"; offset = "{offset}s"; splay = "0s"; lease = "15s";\n',
                    '    timezone            = "Europe/Berlin";\n': "",
                    'catch_up            = "6h"': f'catch_up = "{PERIOD}s"',
                    'worst_case          = "7m"': 'worst_case = "1m"', "sleep 300": wait})


def take(device, text):
    device.write("/etc/rota/rotad.conf", REDIS + ' log_level = "debug";\n')
    device.write("/etc/rota/jobs.d/reboot.conf", text)
    device.out("rotad", "--check")
    device.out("systemctl", "restart", "rotad.service")


def boot_id(device):
    return device.out("cat", "/proc/sys/kernel/random/boot_id")


def record(machine):
    """What Redis has of the one device that has the job: its latest turn, the attempt, the latest that is done, and how
    the run ended."""
    words = redis(machine, "hvals", "test:{reboot}:devices").split()
    return int(words[0]), int(words[1]), int(words[2]), words[10]


@pytest.fixture
def pair(boot, release, shared):
    """One that has the Redis, and one that reboots."""
    one = boot(release, shared=shared)
    start_redis(one)
    return one, boot(release, "gate-2", shared=shared)


@pytest.mark.long
def test_it_reboots_once_a_turn(pair):
    """Also under hardened.conf."""
    one, two = pair
    two.harden()
    take(two, due_in(15, "sleep 1"))
    before = boot_id(two)
    two.wait_reboot(ORDERED_SECONDS + 90)
    turn = record(one)[0]
    assert boot_id(two) != before and record(one) == (turn, 1, turn, "succeeded")
    two.wait_journal("reboot: turn of ", 20, "-u", "rotad")
    assert " is settled" in two.journal("-u", "rotad") and time.time() * 1000 < turn + PERIOD * 1000
    two.wait_reboot(PERIOD + ORDERED_SECONDS + 30)
    following = turn + PERIOD * 1000
    assert record(one) == (following, 1, following, "succeeded")


@pytest.mark.parametrize("breaks", ["reboot", "power cut"])
def test_what_was_broken_off_is_not_begun_again(pair, breaks):
    one, two = pair
    # Long enough that the turn may be taken after the boot.
    take(two, due_in(10, "exec sleep 7777" if breaks == "power cut" else "systemctl reboot && exec sleep 7777"))
    before = boot_id(two)
    if breaks == "power cut":
        runs(two, seconds=60)
        assert record(one)[1::2] == (1, "running")
        two.cut_power()
    else:
        two.wait_reboot(90)
    turn = record(one)[0]
    assert boot_id(two) != before
    two.wait_journal("reboot: given up until ", 20, "-u", "rotad")
    assert time.time() * 1000 < turn + PERIOD * 1000 and record(one)[:2] == (turn, 1)
    assert "reboot: started" not in two.journal("-u", "rotad")


def test_it_takes_root(device):
    """As the example says; it is not due there."""
    device.start({"reboot": (SHORT, "shutdown -r +1")})
    device.wait_journal("Access denied", 20, "-t", "reboot")
    assert "reboot: failed" in device.journal("-u", "rotad")
