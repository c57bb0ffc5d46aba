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
EXTRACTED = ("rota_*/usr/sbin/rotad", "rota_*/usr/libexec/rota-guard", "rota_*/usr/lib/rota/exec.so",
             "rota-plugin-postgresql_*/usr/lib/rota/pg_fenced.so")
POSTGRESQL = {f"./usr/{path}" for path in (
    "lib/rota/pg_fenced.description", "lib/rota/pg_fenced.so", "lib/rota/pg_queue.description", "lib/rota/pg_queue.so",
    "share/rota-plugin-postgresql/rota_fence.sql",
    *(f"share/doc/rota-plugin-postgresql/{name}" for name in ("changelog.Debian.gz", "changelog.gz", "copyright")))}
# Neither waits for a database before its turn.
FENCED = ('  pg = { plugin = "pg_fenced"; every = "1d"; worst_case = "1m";\n'
          '         params = { connection = "dbname=shop"; sql = "DELETE FROM basket"; }; };\n')
OTHER = ('  a = { plugin = "exec"; every = "1d"; worst_case = "1m";'
         ' params = { command = [ "/bin/true" ]; }; };\n')
CONF = "/etc/rota/jobs.d/test.conf"
ABSENT = f"{CONF}:2: job 'pg': plugin 'pg_fenced' is not in /usr/lib/rota"


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
        assert list(tmp_path.glob(name)), name


def files_of(deb):
    """{path: mode and owner}, without folders."""
    lines = subprocess.run(["dpkg-deb", "-c", deb], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    return {words[5]: " ".join(words[:2]) for words in map(str.split, lines) if words[0][0] != "d"}


def depends(deb):
    return subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, text=True, stdout=subprocess.PIPE).stdout


def test_who_has_no_database_has_no_libpq(release):
    debs = packages.debs(release)
    assert sorted(debs) == ["rota", "rota-dev", "rota-plugin-postgresql"]
    files = files_of(debs["rota-plugin-postgresql"])
    assert set(files) == POSTGRESQL
    assert set(files.values()) == {"-rw-r--r-- root/root"}
    assert [path for name in ("rota", "rota-dev") for path in files_of(debs[name]) if "pg_" in path] == []
    assert "libpq" not in depends(debs["rota"])
    assert re.search(r"\brota \(>= [0-9.]+\)", depends(debs["rota-plugin-postgresql"]))
    assert re.search(r"\blibpq5 \(>= [0-9.~]+\)", depends(debs["rota-plugin-postgresql"]))


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


def test_plugins_for_postgresql_come_and_go(device):
    """Without a restart: what else runs goes on."""
    plugin = packages.debs(device.release)["rota-plugin-postgresql"]
    device.write("/etc/rota/rotad.conf", 'store = "local";\n')
    device.write(CONF, f"jobs = {{\n{FENCED}{OTHER}}};\n")
    device.out("systemctl", "restart", "rotad.service")
    device.wait_journal("pg is invalid, the other 1 job runs", 20, "-u", "rotad")
    before = device.rotad()
    device.install(plugin)
    device.wait_journal("reloaded: 2 jobs", 20, "-u", "rotad")
    for name in ("pg_fenced", "pg_queue"):
        described = device.out("/usr/libexec/rota-guard", "--describe", f"/usr/lib/rota/{name}.so")
        assert described == device.out("cat", f"/usr/lib/rota/{name}.description")
    assert device.run("rotad", "--check").stderr == ""
    said = device.out("dpkg", "--remove", "rota-plugin-postgresql")
    assert f"rota: these jobs cannot run on this device any more:\n{ABSENT}\n" in said
    assert device.rotad() == before
    # The advice that it gives.
    device.write(CONF, f"jobs = {{\n{OTHER}}};\n")
    device.out("systemctl", "reload", "rotad.service")
    # With nobody left who needs it, it has nothing to say.
    device.install(plugin)
    assert "rota:" not in device.out("dpkg", "--purge", "rota-plugin-postgresql")
    assert device.rotad() == before
    assert [path for path in left(device) if "postgresql" in path or "/pg_" in path] == []


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
