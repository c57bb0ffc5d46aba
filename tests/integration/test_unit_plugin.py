# SPDX-License-Identifier: MIT
"""The plugin unit, against a systemd that does as each test says; tests/system has the real ones."""
import contextlib
import signal
import subprocess

import guard_harness as h
import pytest
from guard_harness import Guard, wait_until

UNIT = h.BUILD / "plugins" / "unit.so"
FAKE = h.BUILD / "tests" / "integration" / "fake_systemd"
HERE = h.ROOT / "tests" / "integration" / "unit"
NAME = "backup@db.service"
BUS_TIMEOUT_S = 2
DENIED = "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"


@pytest.fixture(scope="module")
def plugin(folder):
    """The plugin as it was built, with a system bus of the tests' own."""
    return h.compile_plugin(folder, HERE / "own_bus.c", "unit_here",
                            [f'UNIT="{UNIT}"', f'BUS="unix:path={folder}/bus"', f'BUS_TIMEOUT="{BUS_TIMEOUT_S}s"'],
                            ["-ldl"])


class Systemd:
    def __init__(self, folder, settings):
        self.log = folder / "systemd.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [FAKE, folder / "bus", *[f"{name}={value}" for name, value in settings.items()]],
                stdin=subprocess.DEVNULL, stdout=log)
        self.wait("ready")

    def calls(self, word=""):
        return [line for line in self.log.read_text().splitlines() if line.startswith(word)]

    def wait(self, word, seconds=10):
        return wait_until(lambda: self.calls(word), seconds, f"systemd says {word}")[0]

    def signal(self, number):
        self.process.send_signal(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running(folder, plugin, params=None, worst_case_ms=20000, **settings):
    """A run that has begun."""
    with Systemd(folder, settings) as systemd, Guard() as guard:
        guard.start(plugin, {"unit": NAME, **(params or {})}, worst_case_ms=worst_case_ms,
                    stop_grace_ms=2000)
        yield systemd, guard


def run(folder, plugin, params=None, **settings):
    """Its result and reason, and what systemd was asked."""
    with running(folder, plugin, params, **settings) as (systemd, guard):
        ended = guard.ended()
        assert ended["how"] == h.RETURNED, ended
        if systemd.calls("transient"):
            systemd.wait("lifeline")
        return ended["result"], ended["detail"], systemd.calls()


def test_starts_waits_and_succeeds(folder, plugin):
    result, detail, calls = run(folder, plugin)
    assert (result, detail) == (h.SUCCEEDED, "")
    words = [line.split()[0] for line in calls]
    assert words == ["ready", "transient", "start", "lifeline", "lifeline"]
    assert calls[2] == f"start {NAME} replace"


@pytest.mark.parametrize("kind", ["oneshot", "simple"])
@pytest.mark.parametrize("after, result, words", [
    ({"result": "exit-code", "status": 3}, h.FAILED, "ended with exit status 3; journalctl -u {} says more"),
    ({"result": "exit-code", "status": 75}, h.DECLINED, "ended with exit status 75; journalctl"),
    ({"result": "exit-code", "status": 9}, h.NOTHING, ""),
    ({"result": "exit-code", "status": 8}, h.REFUSED, "ended with exit status 8"),
    ({"result": "success", "status": 9}, h.NOTHING, ""),
    ({"result": "success", "status": 5}, h.SUCCEEDED, ""),
    ({"result": "success", "code": 2, "status": 15}, h.FAILED, "was killed by signal 15 (SIGTERM)"),
    ({"result": "exit-code", "status": 203}, h.FAILED, ": systemd could not run its program (status 203)"),
    ({"result": "exit-code", "code": 0}, h.FAILED, ": a command beside its main one ended with an error"),
    ({"result": "signal", "code": 2, "status": 11}, h.FAILED, "was killed by signal 11 (SIGSEGV)"),
    ({"result": "core-dump", "code": 3, "status": 6}, h.FAILED, "was killed by signal 6 (SIGABRT)"),
    ({"result": "timeout"}, h.FAILED, "took longer than its own RuntimeMaxSec= or a TimeoutSec= allows"),
    ({"result": "oom-kill"}, h.FAILED, "was ended, because the memory had run out"),
    ({"result": "watchdog"}, h.FAILED, "did not feed its watchdog"),
    ({"result": "start-limit-hit"}, h.FAILED, "write StartLimitIntervalSec=0 into its [Unit]"),
    ({"result": "resources"}, h.FAILED, "the machine lacked what that takes"),
    ({"result": "protocol"}, h.FAILED, "in the way that its Type= says"),
    ({"result": "one-of-later-years", "code": 0}, h.FAILED, "failed (one-of-later-years)"),
    ({"result": "exec-condition"}, h.DECLINED, "does not hold here"),
])
def test_outcome_is_from_its_result(folder, plugin, kind, after, result, words):
    lists = {"nothing_exit": ["9"], "refuse_exit": ["8"]}
    got, detail, _ = run(folder, plugin, lists, type=kind, **after)
    assert got == result, detail
    assert words.format(NAME) in detail
    assert not words or detail.startswith(NAME)


@pytest.mark.parametrize("end, result, words", [
    ({"condition": 0}, h.DECLINED, "does not hold here"),
    ({"job": "assert"}, h.FAILED, "one of its Assert lines does not hold"),
    ({"job": "dependency"}, h.FAILED, "because a unit that it needs did not"),
    ({"job": "timeout"}, h.FAILED, "than its JobTimeoutSec= allows"),
    ({"job": "canceled"}, h.DECLINED, "was stopped by someone else"),
    ({"job": "once"}, h.REFUSED, "starts only once after a boot"),
    ({"job": "unsupported"}, h.REFUSED, "is of a kind that this machine does not have"),
])
def test_never_ran(folder, plugin, end, result, words):
    got, detail, _ = run(folder, plugin, **end)
    assert got == result and words in detail


@pytest.mark.parametrize("before, result, words", [
    ({"load": "not-found"}, h.REFUSED, f"there is no {NAME}"),
    ({"load": "masked"}, h.REFUSED, f"{NAME} is masked; systemctl unmask frees it"),
    ({"load": "bad-setting"}, h.REFUSED, "has a mistake in its file; systemd-analyze verify names it"),
    ({"remain": 1}, h.REFUSED, "take RemainAfterExit=yes out of it"),
    ({"active": "active"}, h.DECLINED, f"{NAME} is running already"),
    ({"active": "activating"}, h.DECLINED, f"{NAME} is running already"),
    ({"queued": 1}, h.DECLINED, f"{NAME} is running already"),
    ({"taken": 1}, h.DECLINED, f"{NAME} is running already"),
    ({"lifeline": "failed"}, h.FAILED, "systemd cannot run /bin/sh"),
    ({"refuse": "StartUnit:org.freedesktop.systemd1.OnlyByDependency"}, h.REFUSED, "by other units only"),
    ({"refuse": "StartUnit:org.freedesktop.systemd1.UnitMasked"}, h.REFUSED, "is masked"),
    ({"refuse": "StartUnit:org.freedesktop.systemd1.TransactionIsDestructive"}, h.DECLINED, "shuts down"),
    ({"refuse": f"StartUnit:{DENIED}"}, h.REFUSED, f"may not start {NAME}; write user = \"root\""),
    ({"refuse": f"RefUnit:{DENIED}"}, h.REFUSED, f"may not start {NAME}; write user = \"root\""),
    ({"refuse": "LoadUnit:org.freedesktop.DBus.Error.ServiceUnknown"}, h.FAILED, "systemd says: a test says so"),
    ({"refuse": "StartTransientUnit:org.freedesktop.systemd1.UnitExists"}, h.DECLINED,
     f"{NAME} is being run by another job"),
])
def test_does_not_start(folder, plugin, before, result, words):
    got, detail, calls = run(folder, plugin, **before)
    assert got == result, detail
    assert words in detail
    assert not [line for line in calls if line.startswith("start ")]
    # What did not start is not ended: it may be someone else's.
    assert "lifeline cut" not in calls


@pytest.mark.parametrize("what", ["LoadUnit", "Subscribe", "RefUnit", "StartTransientUnit", "StartUnit", "Result"])
def test_an_answer_is_lost(folder, plugin, what):
    """As where systemd executes itself anew, in the midst of a question."""
    result, detail, calls = run(folder, plugin, lost=what)
    assert (result, detail) == (h.SUCCEEDED, "")
    assert len([line for line in calls if line.startswith("start ")]) == 1


def test_signals_are_lost(folder, plugin):
    """It looks, if only every 10 s."""
    result, detail, _ = run(folder, plugin, silent=1, result="exit-code", status=3)
    assert result == h.FAILED and "exit status 3" in detail


def test_waits_for_the_end_of_an_earlier_run(folder, plugin):
    result, _, calls = run(folder, plugin, active="deactivating", run_ms=300)
    assert result == h.SUCCEEDED and f"start {NAME} replace" in calls


def test_what_ends_an_earlier_run_is_not_taken_for_a_stop_of_this_one(folder, plugin):
    """Which ends at once, as it does without a lifeline that takes its time."""
    result, detail, _ = run(folder, plugin, active="deactivating", run_ms=300, job="assert", limit="1000000",
                            refuse=f"StartTransientUnit:{DENIED}")
    assert result == h.FAILED and "Assert" in detail


def test_a_slow_systemd_is_waited_for(folder, plugin):
    """It has taken the call all the same."""
    result, _, calls = run(folder, plugin, answer_ms=(BUS_TIMEOUT_S + 1) * 1000)
    assert result == h.SUCCEEDED and len([line for line in calls if line.startswith("start ")]) == 1


def test_the_lifeline_has_ended_before(folder, plugin):
    with running(folder, plugin, keeps=0) as (_, guard):
        ended = guard.ended()
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.SUCCEEDED)


def test_who_may_not_start_it_is_told_nothing_else(folder, plugin):
    """As of limits that the service would need besides."""
    _, detail, calls = run(folder, plugin, refuse=f"RefUnit:{DENIED}")
    assert "may not start" in detail and [line.split()[0] for line in calls] == ["ready", "refused"]


def test_no_bus(folder, plugin):
    (folder / "bus").unlink(missing_ok=True)
    ended, _ = h.run(plugin, {"unit": NAME})
    assert (ended["how"], ended["result"]) == (h.RETURNED, h.FAILED)
    assert ended["detail"] == "the system bus cannot be reached: No such file or directory"


def test_the_lifeline_bounds_the_unit(folder, plugin):
    _, _, calls = run(folder, plugin, {"kill_after": "2500ms"}, worst_case_ms=20000)
    line, = [line for line in calls if line.startswith("transient")]
    assert line.startswith(f"transient rota-ends-{NAME} fail ")
    for word in ("Type=exec", "CollectMode=inactive-or-failed", "LogLevelMax=5",
                 f"Description=Ends {NAME} with the run of rota's job nightly",
                 "ExecStart=/bin/sh|sh|-c|read -r over ", "ExecStopPost=/bin/sh|sh|-c|env ",
                 " || timeout 3 systemctl "):
        assert word in line
    # Longer than kill_after, whatever the machine's DefaultTimeoutStopSec= is.
    assert int(line.partition("TimeoutStopUSec=")[2].split()[0]) == 62_500_000
    most = int(line.partition("RuntimeMaxUSec=")[2].split()[0])
    assert 20_000_000 < most <= 20_000_000 + 2_500_000 + 1_000_000
    assert calls.index(line) < calls.index(f"start {NAME} replace")


@pytest.mark.parametrize("name, lifeline", [
    ("other@db.service", "rota-ends-other@db.service"),
    ("x" * 10 + "y" * 237 + ".service", "rota-ends-" + "y" * 237 + ".service"),
])
def test_the_lifeline_has_the_name_that_systemd_calls_the_service_by(folder, plugin, name, lifeline):
    """So that two jobs cannot start it at once, also by an alias; of 255 bytes at most."""
    _, _, calls = run(folder, plugin, id=name)
    assert [line.split()[1] for line in calls if line.startswith("transient")] == [lifeline]


def test_the_next_run_has_the_name(folder, plugin):
    """A run is not over before systemd has let go of its lifeline; a systemd that takes long is not waited for."""
    _, _, calls = run(folder, plugin, over_ms=300)
    assert calls[-2:] == ["lifeline over", "lifeline ended"]
    result, _, calls = run(folder, plugin, over_ms=60000)
    assert result == h.SUCCEEDED and calls[-1] == "lifeline over"


@pytest.mark.parametrize("kill_after, seconds", [("0s", 1), ("1s", 1), ("1001ms", 2), ("10m", 600)])
def test_the_lifeline_waits_in_whole_seconds(folder, plugin, kill_after, seconds):
    """0 would be for ever."""
    _, _, calls = run(folder, plugin, {"kill_after": kill_after})
    assert f" || timeout {seconds} systemctl stop " in ending_script(calls)


def ending_script(calls):
    line, = [line for line in calls if line.startswith("transient")]
    return line.partition("ExecStopPost=/bin/sh|sh|-c|")[2]


def test_what_the_lifeline_says_survives_a_reload(folder, plugin):
    """systemd 252 writes a backslash before each of these into the file that it reads again then."""
    _, _, calls = run(folder, plugin)
    assert not set('$;"`') & set(ending_script(calls))


ROUND = [f"stop -- {NAME}", f"kill --signal=KILL -- {NAME}"]


@pytest.mark.parametrize("status, done", [
    ("0", []), ("1", ROUND * 2 + ROUND[:1]), ("TERM", ROUND * 2 + ROUND[:1])])
def test_what_the_lifeline_does(folder, plugin, tmp_path, status, done):
    """Its shell's words, run as systemd would, with a systemctl that takes notes and never stops anything."""
    _, _, calls = run(folder, plugin, {"kill_after": "1s"})
    note = tmp_path / "note"
    note.touch()
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >>{note}\n[ "$1" = kill ] || exec sleep 60\n')
    systemctl.chmod(0o755)
    subprocess.run(["/bin/sh", "-c", ending_script(calls)], check=False, timeout=30,
                   env={"PATH": f"{tmp_path}:/usr/bin:/bin", "EXIT_STATUS": status})
    assert note.read_text().splitlines() == done


def test_the_lifeline_waits_for_a_word(folder, plugin):
    """A line ends it well; an end of file does not."""
    _, _, calls = run(folder, plugin)
    script = [line for line in calls if line.startswith("transient")][0] \
        .partition("ExecStart=/bin/sh|sh|-c|")[2].partition(" ExecStopPost=")[0]
    assert [subprocess.run(["/bin/sh", "-c", script], input=text, text=True, check=False).returncode
            for text in ("\n", "")] == [0, 1]


@pytest.mark.parametrize("kind, limit, words", [
    ("oneshot", "19000000", None), ("simple", "19000000", None),
    ("oneshot", "infinity", "TimeoutStartSec=20 into"), ("simple", "infinity", "RuntimeMaxSec=20 into"),
    ("simple", "30000000", "RuntimeMaxSec=20 into"), ("notify", "9000000", None),
    ("notify", "19000000", "TimeoutStartSec= and RuntimeMaxSec= of together 20 into"),
    ("notify", "infinity", "TimeoutStartSec= and RuntimeMaxSec= of together 20 into"),
])
def test_who_may_start_no_lifeline_needs_a_limit(folder, plugin, kind, limit, words):
    result, detail, calls = run(folder, plugin, type=kind, limit=limit, refuse=f"StartTransientUnit:{DENIED}")
    started = [line for line in calls if line.startswith("start ")]
    if words is None:
        assert result == h.SUCCEEDED and started
    else:
        assert result == h.REFUSED and not started
        assert detail.startswith(f"nothing ends {NAME} where rota is killed") and words in detail


@pytest.mark.parametrize("how", ["ordered", "overrun"])
def test_stopped_with_the_run(folder, plugin, how):
    with running(folder, plugin, run_ms=-1, stop_ms=300, answer_ms=100,
                 worst_case_ms=700 if how == "overrun" else 20000) as (systemd, guard):
        systemd.wait("start")
        if how == "ordered":
            guard.send(h.STOP, reason=1)
        ended = guard.ended()
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.DECLINED)
        assert ended["detail"] == f"{NAME} was stopped"
        assert systemd.calls("stop") == [f"stop {NAME} replace"] and not systemd.calls("kill")
        assert systemd.wait("lifeline") == "lifeline over"


def test_killed_when_it_does_not_stop(folder, plugin):
    with running(folder, plugin, {"kill_after": "300ms"}, run_ms=-1, stop_ms=-1) as (systemd, guard):
        systemd.wait("start")
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.DECLINED)
        assert [line for line in systemd.calls() if line.startswith(("stop", "kill"))] == \
            [f"stop {NAME} replace", f"kill {NAME} all 9"]
        assert systemd.wait("lifeline") == "lifeline over"


def test_killed_again_where_it_starts_more(folder, plugin):
    """Its ExecStopPost=, say."""
    with running(folder, plugin, {"kill_after": "0s"}, run_ms=-1, stop_ms=-1, kills=2) as (systemd, guard):
        systemd.wait("start")
        guard.send(h.STOP, reason=1)
        ended = guard.ended()
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.DECLINED)
        assert len(systemd.calls("kill")) == 2


@pytest.mark.parametrize("victim", ["worker", "guard", "supervisor"])
def test_killed_worker_takes_the_unit_with_it(folder, plugin, victim):
    """Whoever dies: the unit is stopped by the worker, or by the lifeline."""
    with running(folder, plugin, run_ms=-1) as (systemd, guard):
        systemd.wait("start")
        guard.next(h.STARTED)
        if victim == "worker":
            h.os.kill(guard.worker, signal.SIGKILL)
        elif victim == "guard":
            guard.process.kill()
        else:
            guard.close()
        said = systemd.wait("lifeline")
        if victim == "supervisor":
            assert said == "lifeline over"
        # The guard's end is a stop too: the worker may come as far as asking for it.
        assert bool(systemd.calls("stop")) == (victim == "supervisor") or victim == "guard"
        assert said == "lifeline cut" or systemd.calls("stop")


def test_bus_gone(folder, plugin):
    """The unit may run on, so the lifeline has to end it; the run is over when it has, since its lock is free then."""
    with running(folder, plugin, run_ms=-1, cut_ms=300) as (systemd, guard):
        systemd.wait("start")
        systemd.signal(signal.SIGHUP)
        ended = guard.ended()
        assert systemd.calls("lifeline") == ["lifeline cut", "lifeline ended"]
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.FAILED)
        assert ended["detail"].startswith(f"systemd cannot be asked about {NAME} any more: ")


def test_bus_gone_while_it_is_started(folder, plugin):
    """The call may have been taken: what runs then is to be ended."""
    result, _, calls = run(folder, plugin, closes="StartUnit")
    assert result == h.FAILED and "lifeline cut" in calls


def test_bus_gone_and_no_lifeline(folder, plugin):
    """Then its own limit ends it, by the worst case: so long the run goes on."""
    with running(folder, plugin, worst_case_ms=1500, run_ms=-1, limit="1000000",
                 refuse=f"StartTransientUnit:{DENIED}") as (systemd, guard):
        systemd.wait("start")
        systemd.signal(signal.SIGHUP)
        ended = guard.ended()
        assert (ended["how"], ended["result"], ended["stop"]) == (h.RETURNED, h.FAILED, h.STOP_OVERRUN), ended


@pytest.mark.parametrize("kind", ["oneshot", "simple"])
@pytest.mark.parametrize("own_name", [NAME, "database-backup.service"])
def test_stopped_by_someone_else(folder, plugin, kind, own_name):
    """Half the work is no success, whatever systemd calls it; nor where the job has an alias of the unit's."""
    with running(folder, plugin, run_ms=-1, type=kind, id=own_name) as (systemd, guard):
        systemd.wait("start")
        systemd.signal(signal.SIGUSR1)
        ended = guard.ended()
        assert (ended["how"], ended["result"]) == (h.RETURNED, h.DECLINED)
        assert ended["detail"].startswith(f"{NAME} was stopped by someone else")
        assert systemd.wait("lifeline") == "lifeline over"


def test_started_by_someone_else_too(folder, plugin):
    with running(folder, plugin, run_ms=500, type="simple") as (systemd, guard):
        systemd.wait("start")
        systemd.signal(signal.SIGUSR2)
        assert guard.ended()["result"] == h.SUCCEEDED


def test_started_again_by_systemd(folder, plugin):
    with running(folder, plugin, run_ms=-1, type="simple") as (systemd, guard):
        systemd.wait("start")
        systemd.signal(signal.SIGALRM)
        assert guard.ended()["result"] == h.SUCCEEDED


@pytest.mark.parametrize("name, words", [
    ("backup", 'has no type; write "backup.service"'),
    ("backup.timer", "is no service; write the name of a unit that ends in .service"),
    ("/etc/systemd/system/backup.service", 'is a path; write the unit\'s name alone, such as "backup.service"'),
    ("back up.service", "has a character that no unit's name has"),
    ("backup@.service", 'is a template; write an instance of it, such as "backup@daily.service"'),
    (".service", "has no name before its type"),
    ("@x.service", "has no name before its type"),
    ("", 'is no name; write one such as "backup.service"'),
    ("x" * 250 + ".service", "is longer than a unit's name can be, which is 255 bytes"),
])
def test_check_of_the_name(prober, name, words):
    answer = prober.probe(UNIT, {"unit": name})
    assert [text for _, text in answer["errors"] if words in text], answer["errors"]


@pytest.mark.parametrize("name", ["backup.service", "a@b.service", r"x@srv-a\x20b.service", "org.x.y.service"])
def test_check_asks_no_bus(prober, name):
    assert prober.probe(UNIT, {"unit": name})["errors"] == []


def test_check_of_exit_statuses(prober):
    answer = prober.probe(UNIT, {"unit": NAME, "nothing_exit": ["75"]})
    assert "decline_exit has 75 (its default), which is listed before" in answer["errors"][0][1]
