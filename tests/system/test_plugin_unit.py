# SPDX-License-Identifier: MIT
"""The plugin unit with real systemds: what each end of a service means, and that no end of rota's leaves one running."""
import contextlib
import os
import re
import signal

import pytest

from machine import wait_for

FILES = {
    "good": "[Service]\nType=oneshot\nTimeoutStartSec=9\nExecStart=/bin/sleep 0.2",
    "plain": "[Service]\nExecStart=/bin/sleep 0.2",
    "exits@": '[Service]\nType=oneshot\nExecStart=/bin/sh -c "exit %i"',
    "plain-exits@": '[Service]\nExecStart=/bin/sh -c "sleep 0.2; exit %i"',
    "well@": '[Service]\nType=oneshot\nExecStart=/bin/sh -c "exit %i"\nSuccessExitStatus=%i 9 5',
    "crash": '[Service]\nType=oneshot\nExecStart=/bin/sh -c "kill -SEGV $$$$"',
    "killed": '[Service]\nExecStart=/bin/sh -c "kill -TERM $$$$"',
    "late": '[Service]\nType=oneshot\nExecStart=/bin/sh -c "sleep 1; exit 4"',
    "endless": "[Service]\nExecStart=/bin/sleep 7777",
    "condition": "[Unit]\nConditionPathExists=/nowhere\n[Service]\nType=oneshot\nExecStart=/bin/true",
    "exec-condition": "[Service]\nType=oneshot\nExecCondition=/bin/false\nExecStart=/bin/true",
    "assertion": "[Unit]\nAssertPathExists=/nowhere\n[Service]\nType=oneshot\nExecStart=/bin/true",
    "needs": "[Unit]\nRequires=exits@1.service\nAfter=exits@1.service\n[Service]\nType=oneshot\nExecStart=/bin/true",
    "slow": "[Service]\nType=oneshot\nTimeoutStartSec=1\nExecStart=/bin/sleep 60",
    "long": "[Service]\nRuntimeMaxSec=1\nExecStart=/bin/sleep 60",
    "before": "[Service]\nType=oneshot\nExecStartPre=/bin/false\nExecStart=/bin/true",
    "no-program": "[Service]\nType=oneshot\nExecStart=/bin/there-is-none",
    "protocol": "[Service]\nType=notify\nExecStart=/bin/true",
    "often": "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=1h\n[Service]\nRestart=on-failure\nRestartSec=1ms\n"
             "ExecStart=/bin/false",
    "remains": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true",
    "by-others": "[Unit]\nRefuseManualStart=yes\n[Service]\nType=oneshot\nExecStart=/bin/true",
    "mistake": "[Service]\nType=oneshot",
    "again": '[Service]\nRestart=on-failure\nRestartSec=200ms\nExecStart=/bin/sh -c "test -e /run/again || '
             '{ touch /run/again; exit 1; }"',
    "sleeper": "[Service]\nType=oneshot\nExecStart=/bin/sleep 7777",
    "deaf": '[Service]\nTimeoutStopSec=60\nExecStart=/bin/sh -c "trap : TERM; while :; do sleep 1; done"',
}
ENDS = (
    ("good", "succeeded after"), ("plain", "succeeded after"), ("again", "succeeded after"),
    ("exits@3", "failed after .*: {} ended with exit status 3; journalctl -u {} says more"),
    ("plain-exits@3", "failed after .*: {} ended with exit status 3"),
    ("exits@75", "declined after .*: {} ended with exit status 75"), ("exits@9", "nothing to do after"),
    ("well@5", "succeeded after"), ("well@9", "nothing to do after"),
    ("crash", r"failed after .*: {} was killed by signal 11 \(SIGSEGV\)"),
    ("killed", r"failed after .*: {} was killed by signal 15 \(SIGTERM\)"),
    ("condition", "declined after .*: {} did not run: one of its conditions"),
    ("exec-condition", "declined after .*: {} did not run: one of its conditions"),
    ("assertion", "failed after .*: {} did not start, because one of its Assert lines"),
    ("needs", "failed after .*: {} did not start, because a unit that it needs did not"),
    ("slow", "failed after .*: {} took longer than its own"), ("long", "failed after .*: {} took longer than its own"),
    ("before", "failed after .*: {}: a command beside its main one"),
    ("no-program", r"failed after .*: {}: systemd could not run its program \(status 203\)"),
    ("protocol", "failed after .*: {} did not start in the way that its Type= says"),
    ("often", "failed after .*: {} (was started too often|ended with exit status 1)"),
    ("remains", "refused after .*: {} stays active after its end"),
    ("by-others", "refused after .*: {} may be started by other units only"),
    ("mistake", "refused after .*: {} has a mistake in its file"),
    ("masked", "refused after .*: {} is masked"), ("nowhere", "refused after .*: there is no {}"),
    ("dbus", "declined after .*: {} is running already"),
)
TRY = ("/usr/libexec/rota-guard", "--try", "--worst-case", "30s", "/usr/lib/rota/unit.so", "nothing_exit=9")
TEMPLATE = """jobs = { a = {
  plugin = "unit"; every = "2s"; worst_case = "%s"; lease = "1m"; stop_grace = "3s"; attempts = 1;
  params = { unit = "%s.service"; kill_after = "1s"; };
}; };
"""


@pytest.fixture
def services(device):
    for name, text in FILES.items():
        device.write(f"/etc/systemd/system/{name}.service", text + "\n")
    device.out("ln", "-s", "/dev/null", "/etc/systemd/system/masked.service")
    device.out("ln", "-s", "endless.service", "/etc/systemd/system/alias.service")
    device.out("systemctl", "daemon-reload")
    return device


def begin(device, unit, worst_case="10m"):
    """A job of that unit; it runs."""
    device.write("/etc/rota/rotad.conf", 'store = "local"; job_user = "root";\n')
    device.write("/etc/rota/jobs.d/test.conf", TEMPLATE % (worst_case, unit))
    device.out("systemctl", "restart", "rotad.service")
    wait_for(lambda: active(device, unit) in ("active", "activating"), 30, lambda: device.journal()[-3000:])


def active(device, unit):
    return device.show(f"{unit}.service", "ActiveState")


def wait_down(device, unit, seconds):
    wait_for(lambda: active(device, unit) in ("inactive", "failed"), seconds, lambda: device.journal()[-3000:])


def bounds(device):
    """The transient units that bound services to runs."""
    return device.out("systemctl", "list-units", "--all", "--plain", "--no-legend", "rota-ends-*").split()


def test_each_end_of_a_service(services):
    wrong = []
    for name, pattern in ENDS:
        unit = f"{name}.service"
        said = services.run(*TRY, f"unit={unit}", check=False).stderr
        if not re.search("^" + pattern.format(re.escape(unit), re.escape(unit)), said, re.M):
            wrong.append((name, said))
    assert wrong == []
    assert bounds(services) == []
    # As long as all goes well the journal has nothing of what bounds them.
    assert "with the run of rota's job" not in services.journal()


def test_stopped_by_someone_else(services):
    """Half the work, and no oneshot, so a success to systemd; known to the job by another name."""
    said = services.run("sh", "-c", '"$@" unit=alias.service & until systemctl is-active endless; do sleep 0.1; done;'
                        " systemctl stop endless; wait", "sh", *TRY).stderr
    assert re.search("^declined after .*: alias.service was stopped by someone else", said, re.M), said


def test_two_jobs_have_one_service(services):
    """By two names, and at one instant: its run is that of one of them."""
    for _ in range(5):
        said = services.run("bash", "-c", '"$@" unit=endless.service & "$@" unit=alias.service & wait -n; '
                            "until systemctl is-active endless; do sleep 0.1; done; systemctl stop endless; wait",
                            "bash", *TRY).stderr
        ends = sorted(re.findall("^declined after .*service (.*)", said, re.M))
        assert len(ends) == 2 and ends[1] == "was stopped by someone else", said
        assert ends[0] in ("is being run by another job", "is running already"), said


def test_systemd_executes_itself_anew(services):
    """Again and again from the first question on."""
    said = services.run("sh", "-c", '"$@" unit=late.service & for i in 1 2 3 4 5 6; do systemctl daemon-reexec; done;'
                        " wait", "sh", *TRY).stderr
    assert re.search("^failed after .*: late.service ended with exit status 4", said, re.M), said
    wait_for(lambda: bounds(services) == [], 10, lambda: str(bounds(services)))


def test_who_may_not_start_it(services):
    said = services.run("setpriv", "--reuid=rota-job", "--regid=rota-job", "--clear-groups", *TRY, "unit=good.service",
                        check=False).stderr
    assert "refused after " in said and 'may not start good.service; write user = "root" in the job' in said


def test_a_hardened_rotad_starts_and_stops_it_too(services):
    """It is what hardened.conf recommends to jobs that need what is forbidden there."""
    services.harden()
    begin(services, "sleeper")
    assert services.show("sleeper.service", "NoNewPrivileges") == "no"
    services.out("systemctl", "stop", "rotad.service")
    assert active(services, "sleeper") in ("inactive", "failed")


def kill(device, pattern, number):
    """All that are still there: with one, others end."""
    for pid in device.processes(pattern):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def test_it_never_outlives_its_run(services):
    """Stopped at its worst case, and with rotad; then rotad is killed; then guard and worker are, before the worker
    could say a word to systemd; then all are frozen. Its own TimeoutStopSec is a minute each time, and systemd has
    read all units anew since their start."""
    services.drop_in("Restart=no\nWatchdogSec=0")
    begin(services, "sleeper", worst_case="1s")
    services.wait_journal("sleeper.service was stopped", 20)

    begin(services, "deaf")
    services.out("systemctl", "stop", "rotad.service")
    assert active(services, "deaf") in ("inactive", "failed")

    for victims in ("^/usr/sbin/rotad ", "rota-guard"):
        begin(services, "deaf")
        services.out("systemctl", "daemon-reload")
        kill(services, victims, signal.SIGKILL)
        services.run("systemctl", "kill", "--signal=KILL", "rotad.service", check=False)
        wait_down(services, "deaf", 8)

    begin(services, "deaf", worst_case="3s")
    services.out("systemctl", "daemon-reload")
    frozen = "rota-guard|^/usr/sbin/rotad "
    kill(services, frozen, signal.SIGSTOP)
    wait_down(services, "deaf", 12)
    kill(services, frozen, signal.SIGKILL)
    wait_for(lambda: bounds(services) == [], 10, lambda: str(bounds(services)))
