# SPDX-License-Identifier: MIT
"""S23: the plugin crashes, calls exit, loops for ever, blocks SIGTERM, closes every descriptor, fills memory."""
import re
import time

import pytest

import fire
from fire import LockWatch, alive, behaving
from fleet import SANITIZED, wait_for
from guard_harness import PLUGINS, compile_plugin
from notify import NotifySocket

INTERVAL = 1.0
# Way, number, outcome, and what is kept of how it ended.
WAYS = {
    "crashes": ("crash", 0, "crashed", "last words"),
    "exits": ("exit", 3, "crashed", ""),
    "exits_well": ("exit", 0, "crashed", ""),
    "closes": ("closer", 0, "crashed", ""),
    "loops": ("loop", 0, "overrun", ""),
    "blocks": ("defiant", 0, "overrun", ""),
    "reuses": ("reuser", 0, "crashed", ""),
    "forks": ("tree", 0, "overrun", ""),
}


def test_s23_only_that_job_fails(fleet):
    fire.behave(fleet)
    jobs = {name: behaving(fleet, name, way, number, attempts=1, worst_case="1s")
            for name, (way, number, _, _) in WAYS.items()}
    jobs["pulse"] = {**fire.PULSE, **fleet.body("pulse")}
    fleet.make_due("pulse", *WAYS)
    device = fleet.device(jobs, max_running=16)
    watch = LockWatch(fleet, WAYS)
    with NotifySocket(fleet.folder / "notify") as notify:
        began = time.monotonic()
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL * 1_000_000)))
        watch.until(lambda: all(fleet.history(name) for name in WAYS), 15, "each end is recorded")
        wait_for(lambda: len(fleet.entries("end", "pulse")) >= 3, 8, "the other goes on")
        pings = [at for at in notify.pings() if at >= began]
        assert max(later - at for at, later in zip(pings, pings[1:])) < INTERVAL
    ends = {name: fleet.history(name) for name in WAYS}
    assert {name: end[0]["outcome"] for name, end in ends.items()} == {
        name: outcome for name, (_, _, outcome, _) in WAYS.items()}
    assert all(len(end) == 1 for end in ends.values())
    assert ends["crashes"][0]["detail"].startswith("killed by signal ")
    assert ends["crashes"][0]["detail"].endswith(": last words")
    assert ends["exits"][0]["detail"] == "exit status 3 and no result"
    assert not any(alive(fleet, name) for name in WAYS)
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    fire.check_pulse(fleet)


ABORTED = r"killed by signal 6 \(Aborted\)"
FAULT = r"killed by signal 11 \(Segmentation fault\)"
NO_RESULT = "exit status 0 and no result: last words"
# Way of citizen.c, outcome, and what is kept of how it ended.
CITIZENS = {
    "double_free": ("crashed", f"{ABORTED}: .*double free.*"),
    "overflow": ("crashed", f"{ABORTED}: .*"),
    "fills_memory": ("crashed", f"{ABORTED}: last words"),
    "recursion": ("crashed", f"{FAULT}: last words"),
    "thread_crashes": ("crashed", f"{FAULT}: last words"),
    "scribbles_on_host": ("crashed", ".*last words"),
    "becomes_another": ("crashed", NO_RESULT),
    "thread_exits": ("crashed", NO_RESULT),
    "kills_its_group": ("crashed", r"killed by signal 9 \(Killed\): last words"),
    "wrong_type": ("crashed", ".*asked for its parameter 'text' as type integer, but declares another"),
    "undeclared": ("crashed", ".*asked for the parameter 'nowhere', which it does not declare"),
    "ends_its_thread": ("crashed", NO_RESULT),
    "handles_all_signals": ("overrun", ".*"),
    "leaves_threads": ("succeeded", ""),
    "masks_signals": ("succeeded", ""),
}


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has its own end for what is broken")
def test_s23_each_citizen_ends_alone(fleet):
    compile_plugin(fleet.plugins, PLUGINS / "citizen.c")
    compile_plugin(fleet.plugins, PLUGINS / "throws.cc", "throws", ["RUN"], ["-std=c++20"], compiler=["g++"])
    citizen = {**fire.FIRE, "plugin": "citizen", "attempts": 1, "worst_case": "2s"}
    jobs = {way: {**citizen, "params": {"as": way, "text": "abc"}} for way in CITIZENS}
    jobs["throws"] = {**citizen, "plugin": "throws"}
    wanted = {**CITIZENS, "throws": ("crashed", f"{ABORTED}: .*thrown by the plugin")}
    fleet.make_due("pulse", *jobs)
    device = fleet.device({**jobs, "pulse": {**fire.PULSE, **fleet.body("pulse")}}, max_running=4)
    device.start()
    wait_for(lambda: all(fleet.history(name) for name in jobs), 30, "each end is recorded")
    beats = len(fleet.entries("end", "pulse"))
    wait_for(lambda: len(fleet.entries("end", "pulse")) > beats, 8, "the other goes on")
    for name, (outcome, detail) in wanted.items():
        end, = fleet.history(name)
        assert end["outcome"] == outcome and re.fullmatch(detail, end.get("detail", "")), (name, end)
    wait_for(lambda: not fire.zombies_of(device.pid), 5, "no zombie is left")
    turns = fleet.runs("pulse")
    assert turns == sorted(set(turns))


# Of broken.c: what the probe says of each.
CONSTRUCTORS = {
    "crashes": "the plugin crashed while it was loaded and checked: killed by signal 6",
    "exits": "the plugin ended its process with exit status 7 while it was loaded and checked",
    "hangs": "the plugin was not loaded and checked within 5 s",
}


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has its own end for what is broken")
def test_s23_constructors(fleet):
    """Those that never come back make their own job invalid; those that fork are run like any other."""
    for kind in (*CONSTRUCTORS, "forks", "leaves"):
        compile_plugin(fleet.plugins, PLUGINS / "broken.c", kind, [kind.upper()])
    compile_plugin(fleet.plugins, PLUGINS / "throws.cc", "throws", ["LOAD"], ["-std=c++20"], compiler=["g++"])
    invalid = {**CONSTRUCTORS, "throws": CONSTRUCTORS["crashes"]}
    jobs = {kind: {**fire.FIRE, "plugin": kind, "attempts": 1} for kind in (*invalid, "forks", "leaves")}
    fleet.make_due("pulse", *jobs)
    device = fleet.device({**jobs, "pulse": {**fire.PULSE, **fleet.body("pulse")}}, max_running=8)
    device.start()
    device.wait_line("^3 of 7 jobs run here; ready as gate-1$", 20)
    for kind, words in invalid.items():
        assert device.lines(rf"job '{kind}': {words}|^{kind} is invalid, .*{words}"), kind
    for kind in ("forks", "leaves"):
        end, = fleet.wait_history(kind)
        assert end["outcome"] == "succeeded"
    wait_for(lambda: len(fleet.entries("end", "pulse")) >= 2, 8, "the other goes on")
    assert not any(fleet.history(kind) for kind in invalid)
