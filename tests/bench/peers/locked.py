# SPDX-License-Identifier: MIT
"""SOCKET KEY TTL-MS COUNT PERIOD-MS COMMAND...: redis-py's Lock around a command. COUNT 0: once, at once; else a
resident loop, so often, each time the wall clock is at a multiple of the period. "DUE" in the command becomes the due
instant in us. 75: another holds the lock."""
import subprocess
import sys
import time

import redis

socket, key, ttl, count, period = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
client = redis.Redis(unix_socket_path=socket)


def once(due):
    lock = client.lock(key, timeout=ttl / 1000, blocking=False)
    if not lock.acquire():
        return 75
    try:
        return subprocess.call([due if word == "DUE" else word for word in sys.argv[6:]])
    finally:
        lock.release()


if not count:
    sys.exit(once("DUE"))
for _ in range(count):
    at = (time.time_ns() // (period * 1_000_000) + 1) * period
    while (left := at / 1000 - time.time()) > 0:
        time.sleep(left)
    once(str(at * 1000))
