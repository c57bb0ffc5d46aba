# SPDX-License-Identifier: MIT
"""What a plugin does with the host's own socket: it is believed no more than a worker is, and holds nobody up."""
import signal

import guard_harness as h
import pytest
from guard_harness import Guard, run


@pytest.fixture(scope="module")
def intruder(folder):
    return h.compile_plugin(folder, h.PLUGINS / "intruder.c")


def ended_frame(how):
    return h.pack(h.ENDED, {"how": how, "stop": h.STOP_OVERRUN, "reason": 3, "result": h.SUCCEEDED, "code": 0, "clean": 0,
                            "killed": 1, "leftovers": 99, "ran_ms": 1 << 60, "detail": "forged"}).hex()


def test_whether_a_signal_ended_it_the_kernel_tells(intruder):
    ended, _ = run(intruder, {"as": "says", "frames": [ended_frame(h.SIGNALLED)]})
    assert (ended["how"], ended["code"], ended["detail"]) == (h.SIGNALLED, signal.SIGABRT, "")


def test_how_it_was_stopped_the_guard_tells(intruder):
    ended, _ = run(intruder, {"as": "says", "frames": [ended_frame(h.RETURNED), ended_frame(h.UNSTARTED)]})
    assert (ended["how"], ended["result"], ended["detail"]) == (h.RETURNED, h.SUCCEEDED, "forged")
    assert (ended["stop"], ended["reason"], ended["clean"], ended["killed"], ended["leftovers"]) == (h.STOP_NONE, 0, 1, 0, 0)
    assert ended["ran_ms"] < 1 << 40


def test_sockets_that_linger_do_not_hold_the_guard_up(intruder):
    """Given the last descriptor of one, whoever closes it waits."""
    ended, guard = run(intruder, {"as": "lingers"}, worst_case_ms=500, stop_grace_ms=300, deadline_in_ms=10000)
    assert (ended["how"], ended["code"], ended["stop"]) == (h.SIGNALLED, signal.SIGKILL, h.STOP_OVERRUN)
    assert guard.lines() == ["given away"] and ended["ran_ms"] < 5000 and ended["clean"] == 1


def test_nor_those_that_probe(folder):
    plugin = h.compile_plugin(folder, h.PLUGINS / "intruder.c", "at_once", ['AT_ONCE=""'])
    with Guard("--probe") as guard:
        assert guard.probe(plugin, {"as": "says"})["errors"] == [
            (-1, "the plugin could not be probed: Operation not permitted")]
        assert guard.probe(h.EXEC, {"command": ["true"]})["errors"] == []
        guard.close()
        assert guard.process.wait(5) == 0


def test_nor_where_nobody_listens_any_more(folder):
    """After an answer that says that it is not loaded, or two, and then there are others to probe."""
    for loaded, count in ((0, 1), (1, 2)):
        said = h.pack(h.PROBED, {"index": 0, "loaded": loaded, "name": "forged", "version": "", "summary": ""}).hex()
        plugin = h.compile_plugin(folder, h.PLUGINS / "intruder.c", f"early_{count}", [f'AT_ONCE="{said}"', f"TIMES={count}"])
        with Guard("--probe") as guard:
            assert guard.probe(plugin, {"as": "says"})["loaded"] == loaded
            assert guard.probe(h.EXEC, {"command": ["true"]})["errors"] == []
            guard.close()
            assert guard.process.wait(5) == 0
