# SPDX-License-Identifier: MIT
"""The password while rotad runs: changed in Redis, in its file, or in both; from a credential; and where it is not."""
import os
import re
import shutil
import signal

import pytest

import guard_harness
from fleet import ONCE, RENEWED, SANITIZED, SHORT, wait_for

# Long enough that memory which was given back still has their ends.
OLD, NEW = "sesame-" + "3141592653" * 8, "poppy-" + "2718281828" * 8
# A login that was refused is not repeated within the life of a test, unless something makes it: the window is 15 min.
PATIENT = {"connect_timeout": "300ms", "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1h"}


class Secret:
    """The file with the password that rotad has."""

    def __init__(self, folder):
        self.path = folder / "redis.password"
        self.write(OLD)

    def write(self, password):
        fresh = self.path.with_suffix(".fresh")
        fresh.touch(mode=0o600)
        fresh.write_text(f"{password}\n")
        fresh.rename(self.path)


only_root = pytest.mark.skipif(os.getuid() != 0 or SANITIZED, reason="who has a password lets only root look into it, "
                               "and a sanitizer keeps what was freed")


@pytest.fixture
def secret(fleet):
    demand(fleet, OLD)
    return Secret(fleet.folder)


def demand(fleet, password):
    """Redis has another password from now on."""
    fleet.client.config_set("requirepass", password)


def cut(fleet):
    """All connections but ours end; those whose password is refused do not come back."""
    fleet.client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def connected(fleet, device):
    return [each["id"] for each in fleet.client.client_list() if each["name"] == device.name]


def begin(fleet, source, environment=None, jobs=None, **redis):
    """A device that needs its connection all the time."""
    jobs = jobs or {"tick": {**RENEWED, "every": "1s", **fleet.body("tick")}}
    redis = {"address": fleet.redis.address, "password_file": source, **PATIENT, **redis}
    return fleet.device(jobs, redis=redis).start(**environment or {})


def reload(device, count=1):
    device.signal(signal.SIGHUP)
    device.wait_line("^reload", count=count)


def no_secret_was_said(fleet):
    for device in fleet.devices:
        assert OLD not in device.output() and NEW not in device.output()


def test_a_new_password_is_read_when_the_old_is_refused(fleet, secret):
    device = begin(fleet, secret.path)
    wait_for(lambda: connected(fleet, device), 5, "it is connected")
    secret.write(NEW)
    demand(fleet, NEW)
    cut(fleet)
    device.wait_line(rf"^redis.password_file '{secret.path}' has another password now; it is tried$")
    wait_for(lambda: connected(fleet, device), 5, "it is connected again, at once")
    device.wait_line("answers again")
    no_secret_was_said(fleet)


def test_a_password_that_comes_later_is_found_by_the_next_try(fleet, secret):
    demand(fleet, NEW)
    device = begin(fleet, secret.path, {}, backoff_max="1s")
    device.wait_line("the password is refused")
    assert device.lines("another password") == []
    secret.write(NEW)
    wait_for(lambda: connected(fleet, device), 5, "it is connected")


def test_a_reload_reads_it_and_keeps_the_connection(fleet, secret):
    device = begin(fleet, secret.path)
    was = wait_for(lambda: connected(fleet, device), 5, "it is connected")
    secret.write(NEW)
    reload(device)
    device.wait_line("^reloaded: 1 job$")
    assert connected(fleet, device) == was
    demand(fleet, NEW)
    cut(fleet)
    wait_for(lambda: connected(fleet, device) not in ([], was), 5, "it is connected again, at once")
    assert device.lines("is refused|another password") == []
    no_secret_was_said(fleet)


def test_a_reload_tries_at_once_what_was_refused(fleet, secret):
    """Also where a held lease has had its try out of turn already."""
    jobs = {"long": {**RENEWED, **ONCE, **fleet.body("long", "sleep 20")}}
    fleet.make_due("long")
    device = begin(fleet, secret.path, jobs=jobs)
    fleet.wait_entry("begin")
    demand(fleet, NEW)
    cut(fleet)
    device.wait_line("the password is refused")
    secret.write(NEW)
    reload(device)
    wait_for(lambda: connected(fleet, device), 5, "it is connected")
    assert device.lines("another password") == []


def test_a_file_that_has_vanished_is_named(fleet, secret):
    device = begin(fleet, secret.path)
    wait_for(lambda: connected(fleet, device), 5, "it is connected")
    secret.path.unlink()
    why = rf"redis.password_file '{secret.path}' is not used: it cannot be read: No such file or directory"
    reload(device)
    device.wait_line(why + "$")
    device.wait_line("^reload: refused for the mistakes above; the old configuration stays$")
    fleet.wait_entry("end", count=len(fleet.entries("end")) + 1)
    demand(fleet, NEW)
    cut(fleet)
    device.wait_line("^" + why + "; the password that rotad has is tried on$")


def test_what_cannot_be_read_is_said_once_an_outage(fleet, secret):
    device = begin(fleet, secret.path, backoff_max="1s")
    wait_for(lambda: connected(fleet, device), 5, "it is connected")
    for outage in (1, 2):
        secret.path.unlink()
        demand(fleet, NEW)
        cut(fleet)
        tries = len(device.lines("still the same"))
        device.wait_line("still the same", count=tries + 4)
        assert len(device.lines("is tried on")) == outage
        demand(fleet, OLD)
        secret.write(OLD)
        device.wait_line("answers again", count=outage)


def in_unit(fleet, password=OLD):
    """As systemd has it for a unit: a folder of files that nobody writes."""
    folder = fleet.folder / "credentials"
    folder.mkdir(mode=0o700)
    (folder / "redis").write_text(f"{password}\n")
    (folder / "redis").chmod(0o440)
    return {"CREDENTIALS_DIRECTORY": str(folder)}


def test_a_credential_is_rotads_alone(fleet, secret):
    environment = in_unit(fleet)
    seen = fleet.folder / "seen"
    jobs = {"tick": {**SHORT, **ONCE, **fleet.body("tick", f"env >{seen}; tr '\\0' '\\n' </proc/$PPID/environ >>{seen}; "
                                                           f"sleep 1; read -r stop <{fleet.folder}/go")}}
    os.mkfifo(fleet.folder / "go")
    fleet.make_due("tick")
    device = begin(fleet, "credential:redis", environment, jobs)
    fleet.wait_entry("begin")
    wait_for(lambda: seen.exists() and "ROTA_JOB" in seen.read_text(), 5, "the job has written its environment")
    [guard] = device.guards()
    with open(f"/proc/{guard}/environ", "rb") as file:
        assert b"CREDENTIALS" not in file.read()
    assert "CREDENTIALS" not in seen.read_text() and str(fleet.folder / "credentials") not in seen.read_text()
    reload(device)
    device.wait_line("^reloaded: 1 job$")
    assert device.lines("credential:redis") == []  # the child that looks first has found it too
    (fleet.folder / "go").write_text("\n")
    fleet.wait_entry("end")
    no_secret_was_said(fleet)


def test_a_credential_that_a_job_names_is_read_for_it(fleet, secret):
    """By the guard, which alone is told where they are: the job's processes get the line."""
    environment = in_unit(fleet)
    (fleet.folder / "credentials" / "shop").write_text("for the shop\nand more\n")
    (fleet.folder / "credentials" / "long").write_text("x" * 5000)
    shutil.copy(guard_harness.compile_plugin(fleet.folder, guard_harness.PLUGINS / "fenced.c"), fleet.plugins)
    job = {**SHORT, **ONCE, "plugin": "fenced"}
    jobs = {"named": {**job, "params": {"secret": "credential:shop"}}, "text": {**job, "params": {"secret": "a credential:shop"}},
            "missing": {**job, "params": {"secret": "credential:shoe"}},
            "long": {**job, "params": {"secret": "credential:long"}},
            "outside": {**job, "params": {"secret": "credential:../credentials/shop"}}}
    for name in jobs:
        fleet.make_due(name)
    device = begin(fleet, "credential:redis", environment, jobs)
    device.wait_line(r"^named\| secret=for the shop folder=\(null\)$")
    device.wait_line("^named: succeeded")
    device.wait_line(r"^text\| secret=none folder=\(null\)$")
    device.wait_line("^text: refused after")
    device.wait_line(r"^missing: refused .*: secret: systemd gave rotad no credential 'shoe' \(No such file or directory\); its "
                     "unit needs LoadCredential=NAME:FILE")
    device.wait_line(r"^long: refused .*: secret: systemd gave rotad no credential 'long' \(File too large\)")
    device.wait_line(r"^outside: refused .*: secret: systemd gave rotad no credential '../credentials/shop' \(Invalid argument\)")


def test_without_its_credential_rotad_does_not_start(fleet, secret):
    device = begin(fleet, "credential:redis")
    assert device.ended() == 78
    device.wait_line("redis.password_file 'credential:redis' is not used: systemd gives it with LoadCredential=")
    done = device.check()
    assert done.returncode == 0
    assert 'redis.password_file is "credential:redis", and only a rotad that systemd starts can read it' in done.stderr


def copies(pid, secrets, regions="rw"):
    """How often the end of each stands in what the process can write."""
    found = [0] * len(secrets)
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for first, last in re.findall(rf"^(\w+)-(\w+) {regions}", maps.read(), re.M):
            memory.seek(int(first, 16))
            try:
                data = memory.read(int(last, 16) - int(first, 16))
            except OSError:  # given back meanwhile: malloc_trim()
                return copies(pid, secrets, regions)
            found = [count + data.count(secret[16:].encode()) for count, secret in zip(found, secrets)]
    return found


@only_root
def test_one_copy_is_kept_and_no_old_one(fleet, secret):
    device = begin(fleet, secret.path)
    wait_for(lambda: connected(fleet, device), 5, "it is connected")
    fleet.wait_entry("end")
    assert copies(device.pid, [OLD, NEW]) == [1, 0]
    secret.write(NEW)
    demand(fleet, NEW)
    cut(fleet)
    device.wait_line("answers again")
    wait_for(lambda: copies(device.pid, [OLD, NEW]) == [0, 1], 3, "the old one is gone")
    secret.write(OLD)
    reload(device)
    device.wait_line("^reloaded: 1 job$")
    assert copies(device.pid, [OLD, NEW]) == [1, 0]


@only_root
def test_what_was_sent_is_wiped(drive, redis_server):
    """The driver's arguments, which have it too, are no heap."""
    with redis_server.client() as client:
        client.config_set("requirepass", OLD)
    driver = drive(redis_server.address, password=OLD)
    assert driver.call("clock")["status"] == "answered"
    assert copies(driver.process.pid, [OLD], "rw.*\\[heap\\]") == [1]
