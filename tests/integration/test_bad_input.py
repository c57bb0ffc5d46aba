# SPDX-License-Identifier: MIT
"""Bad input: a message says what is wrong and where; nothing else is harmed: a good job goes on."""
import re
import shutil
import subprocess
import time

import pytest

from fleet import ONCE, SHORT, wait_for
from guard_harness import PLUGINS, compile_plugin
from notify import NotifySocket

CONFIG_STATUS = 78
TRIES = 8
GOOD = {**SHORT, "every": "2s", "attempts": 1}


def good(fleet):
    fleet.make_due("good")
    return {"good": {**GOOD, **fleet.body("good")}}


def connections(fleet):
    return fleet.client.info("stats")["total_connections_received"]


def said_once(device, words):
    """What is repeated is for the debugger."""
    return [line for line in device.lines(words) if line.level != "debug"]


def good_goes_on(fleet, within=15):
    fleet.wait_entry("end", "good", count=len(fleet.entries("end", "good")) + 1, within=within)


def test_jobs_with_mistakes_fall_out_alone(fleet):
    """A job for each mistake: all are told, at start and by --check, and the good one runs."""
    body = fleet.body("bad")
    jobs = {
        "misspelt": ({**SHORT, **ONCE, **body, "wrost_case": "5s"},
                     r"unknown key 'wrost_case'; did you mean 'worst_case'\?"),
        "unitless": ({**SHORT, **ONCE, **body, "worst_case": 10},
                     r'worst_case is 10, which has no unit; write "10s" or "10m"'),
        "mistyped": ({**SHORT, **ONCE, **body, "attempts": "3"},
                     r'attempts is "3"; write a whole number from 1 to 100'),
        "missing": ({**SHORT, **ONCE, **body, "plugin": "exce"},
                    r"plugin 'exce' is not in .*; did you mean 'exec'\?"),
        "foreign": ({**SHORT, **ONCE, "plugin": "foreign"},
                    r"foreign\.so is no rota plugin: it does not export 'rota_plugin'"),
        "prose": ({**SHORT, **ONCE, "plugin": "prose"},
                  r"the plugin cannot be loaded: .*prose\.so: file too short"),
        "other": ({**SHORT, **ONCE, "plugin": "other"},
                  r"other\.so was built for plugin ABI 2, this rota has 1"),
        "dies": ({**SHORT, **ONCE, "plugin": "dies"},
                 r"the plugin crashed while it was loaded and checked: killed by signal 6 "
                 r"\(SIGABRT\)"),
        "open": ({**SHORT, **ONCE, "plugin": "open"},
                 r"plugin 'open' is not used: '.*open\.so' can be changed by everybody; chmod it"),
        "paramless": ({**SHORT, **ONCE},
                      r"plugin 'exec' needs the parameter 'command' \(list of strings\)"),
        "unknown": ({**SHORT, **ONCE, "params": {"command": ["/bin/true"], "comand": "x"}},
                    r"plugin 'exec' has no parameter 'comand'; did you mean 'command'\?"),
        "short": ({**SHORT, **ONCE, **body, "worst_case": "1h", "stop_grace": "1s", "lease": "2s"},
                  r'a lease of 2 s is too short.*Write lease = "\d+s" or more'),
    }
    compile_plugin(fleet.plugins, PLUGINS / "broken.c", "foreign", ["NO_SYMBOL"])
    compile_plugin(fleet.plugins, PLUGINS / "broken.c", "other", ["OTHER_ABI"])
    compile_plugin(fleet.plugins, PLUGINS / "broken.c", "dies", ["CRASHES"])
    (fleet.plugins / "prose.so").write_text("This is no plugin.\n")
    shutil.copy(fleet.plugins / "exec.so", fleet.plugins / "open.so")
    (fleet.plugins / "open.so").chmod(0o666)
    fleet.make_due(*jobs)
    device = fleet.device({**good(fleet), **{name: job for name, (job, _) in jobs.items()}})

    checked = device.check()
    assert checked.returncode == CONFIG_STATUS
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        good_goes_on(fleet)
        notify.wait_for(rf"^STATUS={len(jobs) + 1} jobs, {len(jobs)} invalid", 2)
    for name, (_, words) in jobs.items():
        where = rf"{device.conf}:\d+: job '{name}': .*(?:{words})"
        assert re.search(where, checked.stderr), (name, checked.stderr)
        said = rf"^{name} is invalid, the other 1 job runs: .*:\d+: .*(?:{words})"
        assert device.lines(said), (said, device.output())
    assert {entry.job for entry in fleet.entries()} == {"good"}
    good_goes_on(fleet)


def refused(device, words):
    device.start()
    assert device.ended() == CONFIG_STATUS
    assert device.lines(words), device.output()
    device.wait_line("rotad cannot start for the mistakes above; rotad --check shows them again", 1)


def test_file_that_cannot_be_read(fleet):
    device = fleet.device(good(fleet))
    text = device.conf.read_text()
    device.conf.unlink()
    refused(device, rf"{device.conf}.*(no such|No such|cannot be read)")
    device.conf.mkdir()
    refused(device, rf"{device.conf}.*(no regular file|is a folder|directory)")
    device.conf.rmdir()
    device.write_text(text.replace("device =", "device", 1))
    refused(device, rf"^{device.conf}:2: ")
    device.write_text(text.replace("prefix", "prefx", 1))
    refused(device, rf"^{device.conf}:1: unknown key 'prefx'; did you mean 'prefix'\?")
    device.write_text(text.replace("{", "{ x\1", 1))
    refused(device, rf"^{device.conf}:\d+: ")
    device.write_text(text)
    device.start()
    good_goes_on(fleet)


def test_secret_that_others_can_read(fleet, tmp_path):
    password = tmp_path / "password"
    password.write_text("sesame\n")
    password.chmod(0o644)
    redis = {"address": fleet.redis.address, "password_file": password}
    device = fleet.device(good(fleet), redis=redis)
    refused(device, rf"{password}.*"
                    r"it holds a secret, but others than its owner may read it; chmod it 0600")
    assert "sesame" not in device.output()


def test_redis_that_is_not_there(fleet):
    device = fleet.device(good(fleet))
    fleet.redis.kill()
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        notify.wait_for("^READY=1$", 5)
        device.wait_line(rf"^{fleet.redis.address} does not answer \(.+\); jobs wait; "
                         "next try within ")
        notify.wait_for("^STATUS=1 job.*; redis unreachable, 0 turns missed$", 2)
        fleet.redis.start()
        device.wait_line(rf"^{fleet.redis.address} answers again after .*; no turn was missed$")
        good_goes_on(fleet)
        assert len(said_once(device, "does not answer")) == 1


def test_turns_that_an_outage_cost_are_counted(fleet):
    device = fleet.device(good(fleet))
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        # An end that is not told yet is told first, and no turn counts as missed until then.
        device.wait_line("^good: CLOSING -> WAITING")
        fleet.redis.kill()
        # A question that may have been heard is repeated for a lease, in which two turns may fall due.
        notify.wait_for("^STATUS=1 job; redis unreachable since .* UTC, (1 turn|[2-9] turns) missed$", 10)
        notify.wait_for(r"^STATUS=1 job; redis unreachable since .* UTC, ([2-9]|\d\d) turns missed$", 10)
        fleet.redis.start()
        device.wait_line(rf"^{fleet.redis.address} answers again after .*; ([2-9]|\d\d) turns were missed$")


def test_wrong_password(fleet, tmp_path):
    password = tmp_path / "password"
    password.write_text("open sesame\n")
    password.chmod(0o600)
    fleet.client.config_set("requirepass", "sesame")
    redis = {"address": fleet.redis.address, "password_file": password, "connect_timeout": "300ms",
             "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"}
    device = fleet.device(good(fleet), redis=redis).start()
    device.wait_line(rf"^{fleet.redis.address} cannot be used: the password is refused, .*; jobs wait; "
                     "next try within ")
    before, begun = connections(fleet), time.monotonic()
    wait_for(lambda: connections(fleet) >= before + TRIES, 20, "it is tried again")
    # No tight loop: the windows go from 50 ms to 1 s.
    assert time.monotonic() - begun >= 0.2
    assert len(said_once(device, "cannot be used")) == 1
    assert "sesame" not in device.output()
    fleet.client.config_set("requirepass", "open sesame")
    good_goes_on(fleet)


@pytest.mark.parametrize("kind", ["lock", "claim"])
def test_key_of_a_wrong_type(fleet, kind):
    jobs = {**good(fleet), "blocked": {**SHORT, **ONCE, **fleet.body("blocked")}}
    fleet.make_due("blocked")
    key = fleet.key("blocked", kind)
    claim = fleet.claim("blocked")
    fleet.client.delete(key)
    fleet.client.lpush(key, "not rota's")
    device = fleet.device(jobs).start()
    device.wait_line(r"^blocked: Redis \(acquire\): .*WRONGTYPE.*; it is tried again$")
    fleet.wait_entry("end", "good")
    # How often it came is counted for those who debug.
    assert len([line for line in device.lines(r"^blocked: Redis \(acquire\):") if line.level != "debug"]) == 1
    assert fleet.client.lrange(key, 0, -1) == ["not rota's"]
    assert fleet.entries("", "blocked") == []

    fleet.client.delete(key)
    if kind == "claim":
        fleet.client.hset(key, mapping=claim)
    fleet.wait_entry("end", "blocked", within=20)
    device.wait_line("^blocked: Redis answers it again$")


def test_another_rotad_in_the_same_folder(fleet):
    device = fleet.device(good(fleet)).start()
    device.wait_line("good: .* -> WAITING")
    second = subprocess.run(device.command(), capture_output=True, text=True, check=False,
                            timeout=30)
    assert second.returncode == 75
    assert (f"another rotad uses {device.folder / 'run'}; give this one a --runtime-dir of its own"
            in second.stderr)
    good_goes_on(fleet)
