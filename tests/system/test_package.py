# SPDX-License-Identifier: MIT
"""The packages: what they bring, what they do to a machine, and what is left when they are gone."""
import re
import shutil
import subprocess

import pytest

import packages
from conftest import LONG, RELEASES, SHORT
from machine import wait_for

# Ours, on a machine without rota: only what the tests put there.
LEFT = ("find / /run /dev/shm -xdev -name '*rota*' -not -name '*logrotate*' -not -path '/proc/*' -not -path '/root/*' -not -path '/tmp/*'"
        " -not -path '/etc/passwd*' -printf '%p\\n'")
EXTRACTED = "usr/sbin/rotad", "usr/libexec/rota-guard", "usr/lib/rota/exec.so"


def left(device):
    return device.run("sh", "-c", LEFT, check=False).stdout.split()


@pytest.mark.skipif(not shutil.which("lintian"), reason="not installed: lintian")
def test_lintian_finds_no_error(release):
    done = subprocess.run(["lintian", "--allow-root", *packages.debs(release).values()], text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert [line for line in done.stdout.splitlines() if line.startswith("E:")] == []
    assert done.returncode == 0, done.stdout


def test_no_path_of_the_build_is_inside(release, tmp_path):
    for deb in packages.debs(release).values():
        subprocess.run(["dpkg-deb", "-R", deb, tmp_path / deb.name], check=True)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert str(packages.TREE).encode() not in data and b"/src/runtime" not in data, file
    for name in EXTRACTED:
        assert list(tmp_path.glob(f"rota_*/{name}")), name


def test_a_fresh_install_is_ready_and_has_no_job(device):
    assert device.show("rotad.service", "ActiveState") == "active"
    assert device.out("systemctl", "is-enabled", "rotad.service").strip() == "enabled"
    assert device.status() == "no jobs yet"
    assert device.out("stat", "-c", "%U:%G %a", "/run/rota", "/var/lib/rota", "/etc/rota", "/etc/rota/jobs.d").split("\n")[:4] == [
        "rota:rota 755", "rota:rota 755", "root:root 755", "root:root 755"]
    for user in ("rota", "rota-job"):
        assert device.out("getent", "passwd", user).endswith("/nologin\n")
    device.out("getent", "group", "rota-admin")


def test_the_operator_keeps_his_word(device):
    device.configure({})
    device.out("systemctl", "disable", "--now", "rotad.service")
    device.install(packages.debs(device.release)["rota"])
    assert device.run("systemctl", "is-enabled", "rotad.service", check=False).stdout.strip() == "disabled"
    assert device.out("cat", "/etc/rota/rotad.conf") == 'store = "local";\n'
    device.out("systemctl", "mask", "rotad.service")
    device.install(packages.debs(device.release)["rota"])
    assert device.run("systemctl", "is-enabled", "rotad.service", check=False).stdout.strip() == "masked"


def test_an_upgrade_takes_the_new_programs_into_use(device):
    before = device.rotad()
    device.install(packages.debs(device.release)["rota"])
    assert device.rotad() != before
    assert device.show("rotad.service", "ActiveState") == "active"


def test_where_a_policy_forbids_restarts_the_old_one_takes_turns_again(device):
    """It was drained for the upgrade."""
    device.start({"a": (SHORT, "echo began")})
    device.wait_journal("began", 20, "-t", "a")
    before = device.rotad()
    device.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
    device.install(packages.debs(device.release)["rota"])
    assert device.rotad() == before
    assert "jobs take turns again" in device.journal("-u", "rotad") and "drained" not in device.status()
    # Where systemd knows of no rotad there is nothing to stop, and it can be removed all the same.
    device.out("systemctl", "stop", "rotad.service")
    device.out("rm", "/usr/sbin/policy-rc.d", "/usr/lib/systemd/system/rotad.service")
    device.out("systemctl", "daemon-reload")
    device.out("dpkg", "--remove", "rota")


def test_removal_ends_the_runs_and_purge_leaves_nothing(device):
    device.start({"long": (LONG, "exec sleep 7777")})
    wait_for(lambda: device.processes("^sleep 7777"), 30, lambda: f"the job runs: {device.journal('-u', 'rotad')}")
    device.out("dpkg", "--remove", "rota")
    assert device.processes("^sleep 7777|rotad|rota-guard") == []
    assert device.show("rotad.service", "LoadState") == "not-found"
    # Come back it takes up its work, by the files that it had.
    device.install(packages.debs(device.release)["rota"])
    wait_for(lambda: device.processes("^sleep 7777"), 30, lambda: f"the job runs: {device.journal('-u', 'rotad')}")
    assert device.out("systemctl", "is-enabled", "rotad.service").strip() == "enabled"
    device.out("dpkg", "--purge", "rota")
    assert device.processes("^sleep 7777|rotad|rota-guard") == []
    # What the operator has made is the operator's.
    assert left(device) == ["/etc/rota"]
    assert device.out("find", "/etc/rota", "-type", "f").split() == ["/etc/rota/jobs.d/test.conf"]


def test_purge_without_anything_of_the_operator_leaves_nothing_at_all(device):
    device.out("dpkg", "--purge", "rota")
    assert left(device) == []
    assert device.run("systemctl", "is-enabled", "rotad.service", check=False).returncode != 0


@pytest.mark.parametrize("name", RELEASES)
def test_they_are_for_one_release(name, ground):
    version = {"bookworm": "12", "trixie": "13"}[name]
    for package, path in packages.debs(name).items():
        assert re.fullmatch(rf"{package}_[0-9.]+-\d+\+deb{version}_(amd64|arm64|all)\.deb", path.name)


def test_a_plugin_is_built_with_rota_dev_alone(release, tmp_path):
    """By the compiler of this machine: the header and rota.pc are all that it takes."""
    subprocess.run(["dpkg-deb", "-x", packages.debs(release)["rota-dev"], tmp_path], check=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--define-variable", f"includedir={tmp_path}/usr/include", "rota"],
                           env={"PKG_CONFIG_PATH": str(tmp_path / "usr/share/pkgconfig"), "PATH": "/usr/bin:/bin"},
                           text=True, check=True, stdout=subprocess.PIPE).stdout.split()
    subprocess.run(["gcc", "-shared", "-fPIC", *flags, "-o", tmp_path / "disk_room.so",
                    tmp_path / "usr/share/doc/rota/examples/disk_room.c"], check=True)
