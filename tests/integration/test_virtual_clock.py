# SPDX-License-Identifier: MIT
"""The clock that tests give to real processes: redis-server lives by it, and a process that waits to
be told of its settings is told."""
import select
import subprocess
import sys
import time

import pytest

from clock.virtual_clock import VirtualClock
from redis_server import RedisServer, wait_for

BEGIN = 1_700_000_000_000
YEAR = 365 * 86_400_000


@pytest.fixture(scope="module")
def server():
    instance = RedisServer("--enable-debug-command", "yes", own_clock=True)
    try:
        instance.clock.freeze(BEGIN)
        yield instance.start()
    finally:
        instance.close()


@pytest.fixture
def client(server):
    server.clock.freeze(BEGIN)
    with server.client() as connected:
        connected.flushall()
        yield connected


def test_redis_tells_the_frozen_time(server, client):
    assert client.time() == (BEGIN // 1000, 0)
    server.clock.add(1234)
    assert client.time() == (BEGIN // 1000 + 1, 234_000)
    server.clock.set(BEGIN - YEAR)
    assert client.time() == ((BEGIN - YEAR) // 1000, 0)
    assert client.eval("return redis.call('TIME')[1]", 0) == str((BEGIN - YEAR) // 1000)


def test_a_key_lives_to_its_last_millisecond_and_no_longer(server, client):
    client.set("key", "value", px=1000)
    assert client.pttl("key") == 1000
    server.clock.add(999)
    assert client.get("key") == "value" and client.pttl("key") == 1
    server.clock.add(1)
    assert client.get("key") == "value" and client.pttl("key") == 0
    server.clock.add(1)
    assert client.get("key") is None


def test_keys_expire_by_themselves_once_the_clock_is_ahead(server, client):
    client.set("key", "value", px=YEAR)
    server.clock.add(YEAR + 1)
    wait_for(lambda: client.dbsize() == 0, 10, "the key is gone though nobody asked for it")


def test_not_frozen_it_is_the_machines_clock_and_an_offset(server, client):
    before = time.monotonic()
    server.clock.go_on()
    wait_for(lambda: client.time()[0] * 1000 > BEGIN, 10, "the clock goes on")
    seconds, micros = client.time()
    gone = seconds * 1000 + micros // 1000 - BEGIN
    assert 1000 <= gone <= (time.monotonic() - before) * 1000


# Prints the wall clock, then a line for each time that it is told of a setting.
TOLD = """
import ctypes, errno, os, time
libc = ctypes.CDLL(None, use_errno=True)
clock = libc.timerfd_create(time.CLOCK_REALTIME, os.O_CLOEXEC)
far = (ctypes.c_long * 4)(0, 0, 2_100_000_000, 0)
assert libc.timerfd_settime(clock, 1 | 2, far, None) == 0
steady = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_CLOEXEC)
assert libc.timerfd_settime(steady, 0, (ctypes.c_long * 4)(0, 0, 0, 1), None) == 0
assert len(os.read(steady, 8)) == 8
print(time.time_ns() // 1_000_000, flush=True)
word = ctypes.create_string_buffer(8)
while True:
    assert libc.read(clock, word, 8) == -1 and ctypes.get_errno() == errno.ECANCELED
    print(time.time_ns() // 1_000_000, flush=True)
"""


def line_of(process):
    """The next one, as a number."""
    assert select.select([process.stdout], [], [], 20)[0], "nothing is told within 20 s"
    return int(process.stdout.readline())


def test_who_waits_for_a_setting_of_the_clock_is_told(tmp_path):
    clock = VirtualClock(tmp_path)
    clock.freeze(BEGIN)
    with subprocess.Popen([sys.executable, "-c", TOLD], env=clock.environment(), text=True,
                          stdout=subprocess.PIPE) as process:
        try:
            assert line_of(process) == BEGIN
            for step in (3_600_000, -YEAR, 0):
                clock.add(step)
                assert line_of(process) == clock.now_ms()
        finally:
            process.kill()


def test_the_steady_clocks_are_the_machines(tmp_path):
    clock = VirtualClock(tmp_path)
    clock.freeze(BEGIN)
    script = "import time; print(time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))"
    before = time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    told = subprocess.run([sys.executable, "-c", script], env=clock.environment(), text=True,
                          stdout=subprocess.PIPE, check=True).stdout.split()
    after = time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for least, steady, most in zip(before, map(int, told), after):
        assert least <= steady <= most


# The greatest error of the clock, in microseconds, as adjtimex() tells it.
ERROR = """
import ctypes
timex = (ctypes.c_long * 32)()
assert ctypes.CDLL(None).adjtimex(timex) >= 0
print(timex[3])
"""


def test_adjtimex_says_what_the_test_says(tmp_path):
    clock = VirtualClock(tmp_path)

    def error():
        return int(subprocess.run([sys.executable, "-c", ERROR], env=clock.environment(), text=True,
                                  stdout=subprocess.PIPE, check=True).stdout)

    clock.say_synchronised(True)
    assert error() < 16_000_000
    clock.say_synchronised(False)
    assert error() >= 16_000_000
