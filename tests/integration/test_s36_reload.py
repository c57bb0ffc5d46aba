# SPDX-License-Identifier: MIT
"""S36: a reload while two jobs run; what the service manager hears of it; then a file that is broken."""
import signal
import time

from fleet import ONCE, RENEWED, SHORT, SLOWNESS, is_alive, wait_for
from guard_harness import PLUGINS, compile_plugin
from notify import NotifySocket

PERIOD_MS = 2000
STEADY = {**SHORT, "every": f"{PERIOD_MS}ms", "attempts": 1}
RUNS = {**RENEWED, **ONCE, "lease": "15s"}
LIMIT_S = 120
SPARE_S = 5
PLUGIN_LIMIT_S = 5
INTERVAL_S = 0.5 * SLOWNESS


def monotonic_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def reload(device, notify, nth):
    """SIGHUP, and both of its words: RELOADING with all that belongs to it in one datagram, then READY."""
    before = monotonic_us()
    device.signal(signal.SIGHUP)
    said = dict(line.split("=") for line in notify.wait_for("^RELOADING=1$", 10, count=nth).splitlines())
    assert set(said) == {"RELOADING", "MONOTONIC_USEC", "EXTEND_TIMEOUT_USEC"}
    # systemd waits for one that is no older than its signal, and no longer than it is told.
    assert before <= int(said["MONOTONIC_USEC"]) <= monotonic_us()
    assert int(said["EXTEND_TIMEOUT_USEC"]) == (LIMIT_S + SPARE_S) * 1_000_000
    notify.wait_for("^READY=1$", 15, count=nth + 1)
    texts = notify.texts("^(RELOADING|READY)=1$")
    assert [text.split("=")[0] for text in texts] == ["READY"] + ["RELOADING", "READY"] * nth


def steady_turns(fleet):
    return [entry.turn for entry in fleet.entries("begin", "steady")]


def test_s36_good_and_broken(fleet):
    jobs = {name: {**RUNS, **fleet.body(name, f'while ! [ -e "{fleet.folder}/go" ]; do sleep 0.1; done')}
            for name in ("one", "two")}
    jobs["steady"] = {**STEADY, **fleet.body("steady")}
    fleet.make_due(*jobs)
    with NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(jobs, max_running=8).start(NOTIFY_SOCKET=notify.path)
        running = [fleet.wait_entry("begin", name) for name in ("one", "two")]
        fleet.wait_entry("begin", "steady", count=2)
        guards = set(device.guards())

        jobs["two"] = {**RUNS, **fleet.body("two_now")}
        jobs["added"] = {**STEADY, "first": "now", **fleet.body("added")}
        device.write(jobs, max_running=8)
        reload(device, notify, 1)
        notify.wait_for("^STATUS=4 jobs, ", 5)
        fleet.wait_entry("end", "added", count=2)

        device.write_text(device.conf.read_text().replace("worst_case", "wrost_case"))
        reload(device, notify, 2)
        device.wait_line("^reload: refused for the mistakes above; the old configuration stays$")
        assert device.lines(rf"^{device.conf}:\d+: job 'added': unknown key 'wrost_case'; did you mean 'worst_case'")
        added = len(fleet.entries("end", "added"))
        fleet.wait_entry("end", "added", count=added + 2)
        assert notify.texts("^STATUS=")[-1].startswith("STATUS=4 jobs")

        # Neither begun anew nor stopped, by one reload or the other.
        assert device.lines("^(one|steady): .* -> OFF") == []
        assert all(is_alive(entry.pid) for entry in running) and guards & set(device.guards())
        (fleet.folder / "go").touch()
        for entry in running:
            fleet.wait_entry("end", entry.job)
            assert [each["outcome"] for each in fleet.wait_history(entry.job)] == ["succeeded"]
            assert fleet.entries("begin", entry.job) == [entry]
        turns = steady_turns(fleet)[1:]
        assert turns == list(range(turns[0], turns[0] + len(turns) * PERIOD_MS, PERIOD_MS))
        assert device.stop() == 0


def hanging(fleet, job):
    """A job whose plugin does not answer the probe."""
    compile_plugin(fleet.plugins, PLUGINS / "broken.c", "hangs", ["HANGS"])
    return {job: {**RUNS, "plugin": "hangs"}}


def test_s36_the_watchdog_is_fed_while_a_reload_takes_long(fleet):
    jobs = {"steady": {**STEADY, **fleet.body("steady")}}
    fleet.make_due("steady")
    with NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(jobs).start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC=str(int(INTERVAL_S * 1_000_000)))
        fleet.wait_entry("end", "steady")
        device.write({**jobs, **hanging(fleet, "added")})
        begun = time.monotonic()
        reload(device, notify, 1)
        over = time.monotonic()
        assert over - begun >= PLUGIN_LIMIT_S
        instants = [begun] + [at for at in notify.pings() if begun < at < over] + [over]
        assert max(later - earlier for earlier, later in zip(instants, instants[1:])) < INTERVAL_S
        turns = steady_turns(fleet)
        assert len(turns) >= PLUGIN_LIMIT_S * 1000 // PERIOD_MS and turns == sorted(set(turns))
        device.wait_line("^reload: refused for the mistakes above; the old configuration stays$")
        assert device.stop() == 0


def test_s36_a_reload_that_waits_for_the_first_probe_is_told_at_once(fleet):
    """systemd would take one that is not heard of in time for failed."""
    with NotifySocket(fleet.folder / "notify") as notify:
        device = fleet.device(hanging(fleet, "added")).start(NOTIFY_SOCKET=notify.path)
        notify.wait_for("^READY=1$", 10)
        device.signal(signal.SIGHUP)
        notify.wait_for("^RELOADING=1$", 2)
        assert not device.lines("added is invalid")
        device.wait_line("^added is invalid, no other job runs: ", 15)
        notify.wait_for("^READY=1$", 15, count=2)
        wait_for(lambda: device.lines("^reload: refused"), 5, "the reload comes after it")
