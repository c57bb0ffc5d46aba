# SPDX-License-Identifier: MIT
"""Each way to break a process: it ends the plugin's own worker, and how that ended is told."""
import signal

import guard_harness as h
import pytest
from guard_harness import Guard, run

# Sanitizers turn crashes into exits of their own, and have no room where memory is limited.
pytestmark = pytest.mark.skipif(h.SANITIZED, reason="a sanitizer has its own end for what is broken")


@pytest.fixture(scope="module")
def citizen(folder):
    return h.compile_plugin(folder, h.PLUGINS / "citizen.c")


def end_of(plugin, way, **values):
    params = {"as": way, **values.pop("params", {})}
    ended, guard = run(plugin, params, **values)
    # Nothing of it is left, and the guard has come to its own end well (see Guard.ended).
    assert ended["clean"] == 1
    return ended, guard


@pytest.mark.parametrize("way, signo", [
    ("double_free", "SIGABRT"), ("overflow", "SIGABRT"), ("recursion", "SIGSEGV"),
    ("wild_pointer", "SIGSEGV"), ("divides", "SIGFPE"), ("writes_constants", "SIGSEGV"),
    ("aborts", "SIGABRT"), ("thread_crashes", "SIGSEGV"), ("kills_its_group", "SIGKILL"),
    ("fills_memory", "SIGABRT"), ("reads_too_far", "SIGSEGV"), ("rings", "SIGALRM")])
def test_crash(citizen, way, signo):
    ended, guard = end_of(citizen, way, params={"text": "abc"})
    assert (ended["how"], ended["code"]) == (h.SIGNALLED, getattr(signal, signo))
    assert (ended["stop"], ended["killed"]) == (h.STOP_NONE, 0)
    # What the C library said of it comes last, else the plugin's own word.
    assert guard.lines(2)[0] == "last words" and ended["detail"] == guard.lines(2)[-1]


@pytest.mark.parametrize("way", ["exits", "quick_exits", "thread_exits", "becomes_another", "closes_all"])
def test_end_without_a_result_is_no_success(citizen, way):
    ended, _ = end_of(citizen, way)
    assert (ended["how"], ended["code"], ended["stop"]) == (h.EXITED, 0, h.STOP_NONE)
    assert ended["detail"] == "last words"


def test_end_of_the_only_thread_is_no_success(citizen):
    ended, _ = end_of(citizen, "ends_its_thread")
    assert (ended["how"], ended["code"], ended["stop"]) == (h.EXITED, 0, h.STOP_NONE)


@pytest.mark.parametrize("way, words", [
    ("wrong_type", "plugin 'citizen' asked for its parameter 'text' as type integer, but declares another"),
    ("no_type", "plugin 'citizen' asked for its parameter 'text' as type unknown, but declares another"),
    ("undeclared", "plugin 'citizen' asked for the parameter 'nowhere', which it does not declare"),
    ("no_name", "plugin 'citizen' asked for the parameter '(null)', which it does not declare")])
def test_bug_that_the_host_sees(citizen, way, words):
    ended, _ = end_of(citizen, way)
    assert (ended["how"], ended["code"]) == (h.EXITED, 70) and ended["detail"].startswith(words)


@pytest.mark.parametrize("way", ["leaves_threads", "masks_signals", "closes_output"])
def test_what_does_no_harm(citizen, way):
    ended, _ = end_of(citizen, way)
    assert (ended["how"], ended["result"], ended["leftovers"]) == (h.RETURNED, h.SUCCEEDED, 0)


@pytest.mark.parametrize("way", ["masks_and_hangs", "handles_all_signals", "ends_its_thread"])
def test_what_never_ends_is_killed(citizen, way):
    # A run that may last longer than its lease has a thread of the host's, which stays.
    ended, _ = end_of(citizen, way, worst_case_ms=300, stop_grace_ms=200, max_runtime_ms=10000)
    assert (ended["how"], ended["code"]) == (h.SIGNALLED, signal.SIGKILL)
    assert (ended["stop"], ended["killed"]) == (h.STOP_OVERRUN, 1)


@pytest.mark.parametrize("way", ["jumps", "scribbles_on_host"])
def test_what_nobody_can_foretell(citizen, way):
    """A frame that is gone, the host's own memory: it may end in any way, but it ends, and as no success."""
    ended, _ = end_of(citizen, way, worst_case_ms=1000, stop_grace_ms=200)
    assert ended["how"] in (h.SIGNALLED, h.EXITED)


def test_jump_that_the_c_library_sees(folder):
    checked = h.compile_plugin(folder, h.PLUGINS / "citizen.c", "checked", ["_FORTIFY_SOURCE=2"], ["-O2"])
    ended, _ = end_of(checked, "jumps")
    assert (ended["how"], ended["code"]) == (h.SIGNALLED, signal.SIGABRT)
    assert "longjmp" in ended["detail"]


def test_a_gibibyte_of_parameters(citizen):
    ended, guard = end_of(citizen, "reads_a_gibibyte",
                          params={"text": "x" * 20000, "list": ["y" * 1000] * 20})
    assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED)
    assert int(guard.lines()[0].split()[2]) < 64


def thrower(folder, place):
    return h.compile_plugin(folder, h.PLUGINS / "throws.cc", f"throws_{place.lower()}", [place], ["-std=c++20"],
                            compiler=["g++"])


@pytest.mark.parametrize("place", ["RUN", "THREAD"])
def test_exception_out_of_run(folder, place):
    ended, guard = run(thrower(folder, place))
    assert (ended["how"], ended["code"], ended["clean"]) == (h.SIGNALLED, signal.SIGABRT, 1)
    assert "thrown by the plugin" in "\n".join(guard.lines(2))
    assert "thrown by the plugin" in ended["detail"]


def test_exception_that_the_plugin_catches(folder):
    ended, _ = run(thrower(folder, "CAUGHT"))
    assert (ended["how"], ended["result"], ended["detail"]) == (h.RETURNED, h.REFUSED, "thrown by the plugin")


@pytest.mark.parametrize("place", ["CHECK", "LOAD"])
def test_exception_in_a_probe(folder, prober, place):
    answer = prober.probe(thrower(folder, place))
    assert answer["loaded"] == 0
    assert answer["errors"] == [
        (-1, "the plugin crashed while it was loaded and checked: killed by signal 6 (SIGABRT)")]
    # The same guard answers the next one.
    assert prober.probe(h.EXEC, {"command": ["true"]})["errors"] == []


def broken(folder, kind):
    return h.compile_plugin(folder, h.PLUGINS / "broken.c", f"built_{kind.lower()}", [kind])


# A probe comes first, but what a constructor does may hang on the time of day.
def test_constructor_that_crashes_in_the_worker(folder):
    ended, _ = run(broken(folder, "CRASHES"))
    assert (ended["how"], ended["code"], ended["clean"]) == (h.SIGNALLED, signal.SIGABRT, 1)


def test_constructor_that_exits_in_the_worker(folder):
    ended, _ = run(broken(folder, "EXITS"))
    assert (ended["how"], ended["code"], ended["clean"]) == (h.EXITED, 7, 1)


def test_constructor_that_hangs_in_the_worker(folder):
    """With a child that hangs too."""
    ended, _ = run(broken(folder, "HANGS"), worst_case_ms=500, stop_grace_ms=300)
    assert (ended["how"], ended["stop"], ended["clean"]) == (h.SIGNALLED, h.STOP_OVERRUN, 1)


def test_constructor_that_forks_in_the_worker(folder):
    """Both come back from it; the work is done once."""
    ended, guard = run(broken(folder, "FORKS"))
    assert (ended["how"], ended["result"], ended["clean"]) == (h.RETURNED, h.SUCCEEDED, 1)
    assert guard.lines() == ["run"]


def test_constructor_that_leaves_a_daemon_in_the_worker(folder):
    ended, _ = run(broken(folder, "LEAVES"))
    assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED)
    assert (ended["leftovers"], ended["clean"]) == (1, 1)


@pytest.mark.parametrize("kind, stay", [("FORKS", 1), ("LEAVES", 2)])
def test_constructor_that_forks_in_a_probe(folder, kind, stay):
    """One process reads the questions, so that each has one answer, with its own index."""
    plugin = broken(folder, kind)
    with Guard("--probe") as guard:
        for index, params in enumerate([{}, {"wrong": 1}, {}, {"wrong": 2}]):
            answer = guard.probe(plugin, params, index=index)
            assert answer["index"] == index and len(answer["errors"]) == len(params)
        h.wait_until(lambda: sum(map(h.is_alive, h.descendants(guard.process.pid))) == stay, 5,
                     f"only {stay} stay")
        left = h.descendants(guard.process.pid)
        guard.close()
        assert guard.process.wait(5) == 0
        assert not any(h.is_alive(pid) for pid in left)
