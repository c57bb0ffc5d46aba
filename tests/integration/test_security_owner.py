# SPDX-License-Identifier: MIT
"""What docs/security.md says of whoever runs Redis: any number in an answer, and rotad goes on."""
import itertools

import pytest

from fault_proxy import answered, redis_by
from fleet import ONCE, RENEWED, SHORT, now_ms
from resp import encode

LARGEST = 2**53 - 1  # of the numbers that a reply may hold (redis/codec_read.h)
NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32, LARGEST)
FORMS = {
    "acquired": "nnn", "spare": "nnn", "held": "lsnnn", "full": "nnn", "done": "ns", "passed": "n", "wait": "ns",
    "exhausted": "nn", "paused": "sl", "early": "n", "over": "s", "mismatch": "sss", "outdated": "n", "newer": "n"}


def answers():
    """[word, the server's time, ...] with each number in each place."""
    for (word, types), number in itertools.product(FORMS.items(), NUMBERS):
        yield [word, now_ms(), *(number if kind in "nl" else "x" for kind in types)]
    for word in ("held", "paused"):
        yield [word, now_ms(), *({"n": 0, "l": -1}.get(kind, "x") for kind in FORMS[word])]


def start(proxy, fleet, count):
    """A device on which so many jobs are due at once, and one each second."""
    jobs = {f"job-{number}": {**SHORT, **ONCE, "splay": "0s", "attempts": 1, **fleet.body("any")}
            for number in range(count)}
    fleet.make_due(*jobs)
    jobs["tick"] = {**SHORT, "every": "1s", "splay": "0s", **fleet.body("tick")}
    return fleet.device(jobs, max_running=64, redis=redis_by(proxy)).start()


def test_no_number_in_an_answer_ends_or_hangs_rotad(proxy, fleet):
    """The sanitizers' build says more: arithmetic that overflows ends it."""
    sent = [answered(encode(answer)) for answer in answers()]
    proxy.next("acquire", *sent)
    device = start(proxy, fleet, len(sent))
    proxy.wait_for("acquire", len(sent), within=30)
    device.wait_line("tick: succeeded", within=30, count=2)
    assert device.runs()


@pytest.mark.parametrize("number", NUMBERS)
def test_nor_does_any_number_in_the_answers_to_hello_renewal_and_end(proxy, fleet, number):
    proxy.next("hello", answered(encode(["hello", now_ms(), max(1, number), number, number, 1, 1, [number] * 2, ["d1"]])))
    proxy.next("renew", answered(encode(["renewed", now_ms(), number])), answered(encode(["regained", now_ms(), number])))
    proxy.next("finish", answered(encode(["recorded", now_ms(), number, number])))
    fleet.make_due("long")
    jobs = {"long": {**RENEWED, **ONCE, "splay": "0s", **fleet.body("long", "sleep 3")},
            "tick": {**SHORT, "every": "1s", "splay": "0s", **fleet.body("tick")}}
    device = fleet.device(jobs, turns="all", redis=redis_by(proxy)).start()
    proxy.wait_for("renew", count=2)
    device.wait_line("long: succeeded", within=20)
    proxy.wait_for("finish")
    assert device.runs()


@pytest.mark.parametrize("server", [1, 2**31, 2**32, LARGEST])
def test_nor_does_any_time_that_the_server_tells(proxy, fleet, server):
    for kind, answer in (("hello", ["hello", server, 1, 1, 0, 0, 0, [0], []]), ("TIME", [str(server // 1000), "0"]),
                         ("acquire", ["held", server, 5, "x", 1, 1, 1])):
        proxy.always(kind, answered(encode(answer)))
    device = start(proxy, fleet, 1)
    proxy.wait_for("acquire", count=2)
    proxy.clear()
    device.wait_line("tick: succeeded", within=30)
