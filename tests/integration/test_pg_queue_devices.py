# SPDX-License-Identifier: MIT
"""pg_queue as a job of real devices with lock = "none": all at once, by Redis's clock or by their own.
test_queue_drain.py has many of them that are killed meanwhile."""
import os
import signal

from fleet import LOCAL, SHORT, wait_for
from guard_harness import descendants
from pg_queue import BUILT, MOVE, SELECT, counts, fill, ids, queue, shared  # noqa: F401 (fixtures)

pytestmark = BUILT
SLOW = ("WITH gone AS (DELETE FROM queue WHERE id = $1), n AS (SELECT pg_sleep(0.01)) "
        "INSERT INTO done SELECT $1, $2 FROM n")


def job(server, **params):
    return {**SHORT, "plugin": "pg_queue", "every": "2s", "splay": "0s", "lock": "none", "worst_case": "30s",
            "params": {"connection": server.connection, "select": SELECT, "handle": MOVE, **params}}


def drained(server, within=60):
    wait_for(lambda: counts(server)[0] == 0, within, "the queue is empty")


def test_devices_share_a_queue(fleet, queue):
    """Each with turns of its own, and each row to one of them."""
    fill(queue, 600)
    devices = [fleet.device({"drain": job(queue, handle=SLOW, batch=10)}).start() for _ in range(3)]
    drained(queue)
    assert ids(queue, "done") == list(range(1, 601))
    for device in devices:
        device.wait_line(r"^drain\| handled \d+ rows?$", 20)
        device.wait_line(r"^drain: had nothing to do", 20)
    # Redis gives the time, and is told nothing of the job.
    assert fleet.client.keys("*{drain}*") == []
    assert [device.complaints() for device in devices] == [[], [], []]


def test_a_device_alone_without_redis(fleet, queue):
    fill(queue, 50)
    device = fleet.device({"drain": job(queue)}, **LOCAL).start()
    device.wait_line(r"^drain\| handled 50 rows$", 20)
    device.wait_line(r"^drain: had nothing to do", 20)
    assert ids(queue, "done") == list(range(1, 51))
    assert device.complaints() == []


def test_a_crash_costs_the_worst_case(fleet, queue):
    """Only then does the device take another turn; others go on, as they know nothing of it."""
    fill(queue, 1)
    # The one row is never done: its worker is killed while it waits.
    slow = {**job(queue, handle="DELETE FROM queue WHERE id = $1 AND pg_sleep(60) IS NOT NULL"), "worst_case": "5s"}
    device = fleet.device({"drain": slow}).start()
    first = device.wait_line("^drain: started", 20)
    [guard] = wait_for(device.guards, 10, "its guard is there")
    [worker] = wait_for(lambda: descendants(guard), 10, "its worker is there")
    os.kill(worker, signal.SIGKILL)
    device.wait_line("^drain: crashed")
    assert device.wait_line("^drain: started", 20, count=2).at - first.at >= 5000


def test_a_service_stop_keeps_what_is_committed(fleet, queue):
    fill(queue, 2000)
    device = fleet.device({"drain": {**job(queue, handle=SLOW, batch=10), "stop_grace": "5s"}}).start()
    wait_for(lambda: counts(queue)[1] > 0, 30, "it has begun")
    assert device.stop() == 0
    left, done, _ = counts(queue)
    assert left > 0 and left + done == 2000 and done % 10 == 0
    assert device.lines("^drain: declined after ")


def test_check_names_the_mistake(fleet, queue):
    device = fleet.device({"drain": job(queue, select="SELECT id FROM queue")})
    checked = device.check()
    assert checked.returncode == 78 and "select: without FOR UPDATE SKIP LOCKED" in checked.stdout + checked.stderr
