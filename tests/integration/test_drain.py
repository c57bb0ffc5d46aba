# SPDX-License-Identifier: MIT
"""rotactl drain: nothing new starts, what runs goes on to its end or is handed over, then rotactl ends."""
import signal
import subprocess

import pytest

from fire import GUARD, use_guard
from fleet import ONCE, RENEWED, SANITIZED, SHORT, SLOWNESS, now_ms, wait_for
from notify import NotifySocket
from rotactl import begin, rotactl, wait_started

SPLAY = 1
UNTIL_FREED = 'trap "exit 0" TERM\nwhile [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
DRAINED = "drained: nothing runs, and nothing starts until rotactl undrain or a restart of rotad\n"


def status_of(device):
    return rotactl(device, "status", "--check").stdout


def wait_status(device, words, within=5):
    return wait_for(lambda: words in status_of(device), within, f"{device.name}'s status says {words}")


def test_waits_for_what_runs_and_starts_nothing(fleet):
    fleet.make_due("long", "tick")
    jobs = {"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)},
            "tick": {**SHORT, "every": "1s", "attempts": 1, **fleet.body("tick")}}
    with NotifySocket(fleet.folder / "notify") as notify:
        device = wait_started(fleet.device(jobs).start(NOTIFY_SOCKET=notify.path))
        fleet.wait_entry("begin", "long")
        fleet.wait_entry("end", "tick", count=2)
        drain = begin(device, "drain")
        wait_status(device, "2 jobs, draining, 1 running (long)")
        # The job is gone from here, and does not come back with the fleet's time.
        device.wait_line("tick: .* -> OFF")
        runs = len(fleet.runs("tick"))
        later = now_ms() + 3000
        wait_for(lambda: now_ms() > later, 5, "three turns of tick have passed")
        assert len(fleet.runs("tick")) == runs
        assert drain.poll() is None

        (fleet.folder / "free").touch()
        out, err = drain.communicate(timeout=10 * SLOWNESS)
        assert (drain.returncode, err) == (0, "")
        waiting, last = out.splitlines(keepends=True)
        assert waiting.startswith("waiting: 2 jobs, draining, 1 running (long); ") and last == DRAINED
        assert fleet.entries("end", "long")
        assert [entry["outcome"] for entry in fleet.history("long")] == ["succeeded"]
        wait_status(device, "2 jobs, drained; ")
        notify.wait_for("^STATUS=2 jobs, draining, 1 running", 1)
        notify.wait_for("^STATUS=2 jobs, drained; ", 1)
    assert len(fleet.runs("tick")) == runs
    # Again, it is at once.
    again = rotactl(device, "drain")
    assert (again.returncode, again.stdout) == (0, DRAINED)


def test_undrain_takes_turns_again(fleet):
    fleet.make_due("tick")
    device = wait_started(
        fleet.device({"tick": {**SHORT, "every": "1s", "attempts": 1, **fleet.body("tick")}}).start())
    fleet.wait_entry("end", "tick")
    assert rotactl(device, "drain").returncode == 0
    # A reload is no reason to.
    assert "reloaded: 1 job" in rotactl(device, "reload").stdout
    assert "1 job, drained" in status_of(device)
    assert rotactl(device, "status", "--noheadings", "-o", "job,state").stdout == "tick  off\n"
    runs = fleet.runs("tick")
    assert rotactl(device, "undrain").returncode == 0
    fleet.wait_entry("end", "tick", count=len(runs) + 2)
    assert fleet.runs("tick") == sorted(set(fleet.runs("tick")))
    assert "drain" not in status_of(device)


def test_undrain_ends_a_drain_that_waits(fleet):
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    wait_status(device, "draining, 1 running")
    assert rotactl(device, "undrain").returncode == 0
    _, err = drain.communicate(timeout=10 * SLOWNESS)
    assert drain.returncode == 1
    assert err == "rotactl: somebody has written rotactl undrain meanwhile; jobs take turns again\n"
    # The run was not disturbed; the job is back when it has ended.
    (fleet.folder / "free").touch()
    fleet.wait_entry("end")
    assert [entry["outcome"] for entry in fleet.wait_history("long")] == ["succeeded"]
    wait_status(device, "next long")
    assert len(fleet.runs("long")) == 1


def test_who_drained_may_go_and_it_stays_drained(fleet):
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    wait_status(device, "draining, 1 running")
    drain.send_signal(signal.SIGINT)
    drain.communicate(timeout=5 * SLOWNESS)
    (fleet.folder / "free").touch()
    wait_status(device, "1 job, drained")


def test_s55_handed_over_to_the_watcher(fleet):
    """The job of a minute is declined, and taken over within lease + splay + 1 s; no attempt is counted."""
    fleet.make_due("report")
    kind = {**RENEWED, **ONCE, "worst_case": "2m", "splay": f"{SPLAY}s"}
    leave = "[ -e \"$ROTA_TEST/taken\" ] && exit 0\ntouch \"$ROTA_TEST/taken\"\nsleep 60 & wait"
    devices = [wait_started(fleet.device({"report": {**kind, **fleet.body("report", leave)}}).start())
               for _ in range(3)]
    fleet.wait_entry("begin")
    wait_for(lambda: (fleet.folder / "taken").exists(), 5, "the run is on its way")
    holder = next(device for device in devices if "1 running" in status_of(device))
    for device in devices:
        if device is not holder:
            device.wait_line(f"is held by {holder.name}")

    drain = begin(holder, "drain", "--timeout", "1s")
    again = fleet.wait_entry("begin", count=2, within=3 + SPLAY + 1 + 5)
    out, err = drain.communicate(timeout=10 * SLOWNESS)
    assert (drain.returncode, err) == (0, "")
    asked, last = out.splitlines(keepends=True)
    assert asked.startswith("what still runs is asked to stop, and another device may take it: 1 job, draining, "
                            "1 running (report); ")
    assert last == DRAINED
    declined, other = fleet.wait_history("report", 2)
    assert (declined["outcome"], declined["attempt"], other["outcome"]) == ("declined", "1", "succeeded")
    ended = int(fleet.claim("report")["ended"])
    assert again.attempt == 1 and again.at - ended <= 0
    assert holder.lines("report: .* -> OFF")
    said = holder.lines("report: declined")
    assert again.at - said[0].at <= (3 + SPLAY + 1) * 1000 + 500 * SLOWNESS
    assert len(fleet.runs("report")) == 2
    assert not [line for line in holder.lines("report: .* -> ASKING") if line.at > said[0].at]


def test_a_timeout_of_0s_asks_at_once(fleet):
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin")
    done = rotactl(device, "drain", "--timeout", "0s")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith(DRAINED)
    declined, = device.lines("long: declined after .*: rotad stops, or is drained")
    assert declined.at - device.lines("^draining: ")[0].at < 10000
    # Where nothing runs, there is nobody to ask.
    assert rotactl(device, "drain", "--timeout", "0s").stdout == DRAINED


@pytest.mark.parametrize("outage", ["killed", "frozen"])
def test_without_redis_it_ends_with_what_runs(fleet, outage):
    """What Redis could not be told is not waited for, by whoever wants to upgrade; it is tried on."""
    fleet.make_due("long")
    kind = {**RENEWED, **ONCE, "lease": "30s"}
    device = wait_started(fleet.device({"long": {**kind, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    wait_status(device, "draining, 1 running")
    frozen = fleet.redis.process
    frozen.send_signal(signal.SIGKILL if outage == "killed" else signal.SIGSTOP)
    (fleet.folder / "free").touch()
    out, err = drain.communicate(timeout=20 * SLOWNESS)
    assert (drain.returncode, err) == (0, "") and out.endswith(DRAINED)
    assert fleet.entries("end") and device.lines("long: .* -> CLOSING")
    wait_status(device, "1 job, drained; redis unreachable")
    assert not device.lines("-> OFF")
    if outage == "killed":
        return
    again = rotactl(device, "drain")
    assert (again.returncode, again.stdout) == (0, DRAINED)
    frozen.send_signal(signal.SIGCONT)
    device.wait_line("CLOSING -> OFF", 20)
    assert [entry["outcome"] for entry in fleet.wait_history("long")] == ["succeeded"]


@pytest.mark.skipif(SANITIZED, reason="a sanitizer wants no library before its own")
def test_waits_for_the_guard_too(fleet):
    """Which is gone only when Redis has long been told how the run ended."""
    fleet.make_due("long")
    device = fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}})
    stays = fleet.folder / "stays.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", stays], check=True, text=True, input="""
        #include <sys/syscall.h>
        #include <unistd.h>
        void _exit(int status) { sleep(1); for (;;) syscall(SYS_exit_group, status); }
    """)
    use_guard(device, f'[ "$1" != --run ] || export LD_PRELOAD={stays}; exec {GUARD} "$@"')
    wait_started(device.start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    wait_status(device, "draining, 1 running")
    (fleet.folder / "free").touch()
    device.wait_line("long: .* -> OFF", 10)
    out, err = drain.communicate(timeout=10 * SLOWNESS)
    assert (drain.returncode, err) == (0, "") and out.endswith(DRAINED)
    wait_status(device, "1 job, drained; ")


def test_upgrade_ends_a_drained_rotad_at_once(fleet):
    """What the package's scripts do: drain, stop, start. Drained is not kept."""
    fleet.make_due("report")
    device = wait_started(fleet.device({"report": {**RENEWED, **ONCE, **fleet.body("report")}}).start())
    fleet.wait_entry("end")
    assert rotactl(device, "drain").returncode == 0
    assert device.stop(2) == 0
    device.start()
    device.wait_line("ready as", count=2)
    wait_status(device, "next report")


def test_stop_while_it_drains(fleet):
    """Who waits hears that rotad is gone."""
    fleet.make_due("long")
    device = wait_started(fleet.device({"long": {**RENEWED, **ONCE, **fleet.body("long", UNTIL_FREED)}}).start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    wait_status(device, "draining, 1 running")
    assert device.stop() == 0
    _, err = drain.communicate(timeout=5 * SLOWNESS)
    assert drain.returncode == 2 and "it has ended" in err
    assert [entry["outcome"] for entry in fleet.history("long")] == ["declined"]
