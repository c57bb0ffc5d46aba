# SPDX-License-Identifier: MIT
"""The unit as systemd understands it: who rotad is, what it may do, its drop-ins and its credential."""
import re

import pytest

from conftest import SHORT
from machine import wait_for

# CAP_KILL, CAP_SETGID, CAP_SETUID.
THREE = "00000000000000e0"
RAN = "/tmp/ran"


def status_lines(device, pid):
    text = device.out("cat", f"/proc/{device.inner(pid)}/status")
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.M))


def test_rotad_is_a_user_with_three_rights(device):
    fields = status_lines(device, device.rotad())
    assert fields["Uid"].split()[0] == device.out("id", "-u", "rota").strip()
    assert {fields[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {THREE}
    assert device.show("rotad.service", "LimitCORE") == "0"
    assert device.show("rotad.service", "WatchdogUSec") == "3min"
    assert device.show("rotad.service", "After").count("network.target") == 1
    assert "network-online.target" not in device.show("rotad.service", "After")
    assert device.show("rotad.service", "DelegateControllers").split() == ["cpu", "memory", "pids"]


def test_a_job_is_another_user_without_rights(device):
    device.start({"a": (SHORT, f"id -un >{RAN}; grep Cap /proc/self/status >>{RAN}")})
    wait_for(lambda: len(device.lines(RAN)) == 6, 20, lambda: device.journal("-u", "rotad"))
    user, *caps = device.lines(RAN)
    assert user == "rota-job"
    assert [line.split()[1] for line in caps if "Bnd" not in line] == ["0" * 16] * 4


def test_systemd_says_nothing_against_it(device):
    said = device.journal("-p", "notice")
    assert not re.search(r"rotad\.service|rota\.conf", said), said
    verified = device.run("systemd-analyze", "verify", "--man=no", "rotad.service", check=False)
    assert verified.stdout + verified.stderr == ""


def test_drop_ins_are_in_force_where_systemd_knows_them(device):
    newer = device.release != "bookworm"
    assert device.show("rotad.service", "Type") == ("notify-reload" if newer else "notify")
    assert device.show("rotad.service", "Restart") == "always"
    assert device.show("rotad.service", "RestartUSec") == ("1s" if newer else "30s")
    if newer:
        assert device.show("rotad.service", "RestartSteps") == "8"
    for name in ("notify-reload.conf", "restart-steps.conf"):
        place = "/usr/lib/systemd/system/rotad.service.d" if newer else "/usr/share/doc/rota/examples"
        device.out("test", "-f", f"{place}/{name}")


def test_it_never_gives_up_restarting(device):
    """Twenty ends in a row: without a limit on starts it is tried again."""
    soon = "RestartSec=10ms" + ("\nRestartSteps=0" if device.release != "bookworm" else "")
    device.drop_in(soon + "\nExecStart=\nExecStart=/bin/false")
    device.run("systemctl", "restart", "--no-block", "rotad.service")
    wait_for(lambda: int(device.show("rotad.service", "NRestarts")) >= 20, 30, "20 restarts")
    device.drop_in(soon)
    wait_for(lambda: device.show("rotad.service", "ActiveState") == "active", 30, "it is active again")


def test_the_hardened_unit_is_rated_2_0_and_its_jobs_run(device):
    device.configure({"a": (SHORT + " limits = { open_files = 77; };", "echo hello from $(id -un) with $(ulimit -n) files")})
    device.harden()
    device.out("systemctl", "restart", "rotad.service")
    rated = re.search(r"Overall exposure level for rotad\.service: (\d+\.\d)",
                      device.run("systemd-analyze", "security", "rotad.service").stdout)
    assert float(rated[1]) <= 2.0
    device.wait_journal("hello from rota-job with 77 files", 20)
    device.wait_journal("a: succeeded", 20)
    device.out("systemctl", "reload", "rotad.service")
    # What it forbids is forbidden.
    device.start({"a": (SHORT, "touch /opt/there || echo not there")})
    device.wait_journal("not there", 20)
    # And rota's own control groups are not.
    name = "/sys/fs/cgroup/system.slice/rotad.service/test"
    device.in_mounts_of(device.rotad(), "sh", "-c", f"mkdir {name} && rmdir {name} && ! mkdir /sys/fs/cgroup/test")


def test_where_proc_hides_processes_a_group_lets_rotad_see_them(device):
    """What rotad(8) says to write: without it nothing is started that could not be ended."""
    device.out("groupadd", "--system", "proc")
    device.out("mount", "-o", f"remount,hidepid=2,gid={device.out('getent', 'group', 'proc').split(':')[2]}", "/proc")
    device.start({"a": (SHORT, "true")})
    device.wait_journal("/proc hides from rotad the processes of its jobs", 20, "-u", "rotad")
    assert "a: succeeded" not in device.journal("-u", "rotad")
    device.drop_in("SupplementaryGroups=proc")
    device.out("systemctl", "restart", "rotad.service")
    device.wait_journal("a: succeeded", 20, "-u", "rotad")


@pytest.mark.parametrize("there", [True, False])
def test_a_password_comes_as_a_credential(device, there):
    """From a file that root alone can read, to the redis-server of the machine."""
    device.write("/etc/redis/redis.conf", "port 6379\nbind 127.0.0.1\nrequirepass sesame\nsupervised systemd\ndir /tmp\n")
    device.out("systemctl", "restart", "redis-server.service")
    if there:
        device.write("/etc/credstore/rota.redis", "sesame\n", 0o600)
    device.configure({"a": (SHORT, "true")}, top='prefix = "test:"; device = "one"; redis = { address = "127.0.0.1:6379"; '
                                                 'password_file = "credential:redis"; };')
    assert (device.run("systemctl", "restart", "rotad.service", check=False).returncode == 0) == there
    device.wait_journal("a: succeeded" if there else "credential", 30, "-u", "rotad")
