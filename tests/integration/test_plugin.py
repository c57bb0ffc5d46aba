# SPDX-License-Identifier: MIT
"""The plugin contract: what a probe says of each kind of bad file, parameters, and what authors and exec do."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import guard_harness as h
import pytest
from guard_harness import EXEC, GUARD, Guard, run


def broken(folder, kind):
    # Lazy binding, which is what hides a missing symbol until it is called.
    return h.compile_plugin(folder, h.PLUGINS / "broken.c", kind.lower(), [kind], ["-Wl,-z,lazy"])


@pytest.mark.parametrize("kind, words", [
    ("NO_SYMBOL", "is no rota plugin: it does not export 'rota_plugin'"),
    ("OTHER_ABI", "was built for plugin ABI 2, this rota has 1"),
    ("TINY", "has a contract of 24 bytes"),
    ("BOASTER", "says that its contract has 4000 bytes, but it has"),
    ("NEEDY", "needs features 0x10000000000, which this rota does not have; upgrade rota"),
    ("BAD_NAME", "has the name 'X y'"),
    ("NO_RUN", "plugin 'x' has no run function"),
    ("BAD_TYPE", "parameter 1, 'wait', has a type that this rota does not know"),
    ("ODD_ROW", "with parameters of 57; the least are"),
    ("MISSING", "undefined symbol: nobody_has_this"),
    ("CRASHES", "the plugin crashed while it was loaded and checked: killed by signal 6 (SIGABRT)"),
    ("EXITS", "the plugin ended its process with exit status 7 while it was loaded"),
])
def test_bad_file_is_a_sentence(folder, prober, kind, words):
    answer = prober.probe(broken(folder, kind), index=5)
    assert answer["index"] == 5 and answer["loaded"] == 0
    assert len(answer["errors"]) == 1 and answer["errors"][0][0] == -1
    assert words in answer["errors"][0][1]


@pytest.mark.parametrize("kind, words", [
    ("BAD_DEFAULT", "the default of a parameter of plugin 'x' is wrong: wait is \"10\", which is no"),
    ("CHECK_REFUSES", "nothing listens on port 80"),
    ("CHECK_MUTTERS", "plugin 'x' does not accept these parameters, and does not say why"),
    ("CHECK_ASKS", "plugin 'x' asked for the parameter 'nowhere', which it does not declare"),
])
def test_check_is_heard(folder, prober, kind, words):
    answer = prober.probe(broken(folder, kind))
    assert answer["loaded"] == 1 and answer["name"] == "x"
    assert [index for index, _ in answer["errors"]] == [-1]
    assert words.replace('"10", which is no', '10, which has no unit') in answer["errors"][0][1]


@pytest.mark.parametrize("type_name, limit, words", [
    ("ROTA_DURATION", '.max = "2 hrs"', "a max that is no value of its type"),
    ("ROTA_DURATION", '.min = "5"', "a min that is no value of its type"),
    ("ROTA_SIZE", '.max = "1Mb"', "a max that is no value of its type"),
    ("ROTA_INTEGER", '.max = "1e3"', "a max that is no value of its type"),
    ("ROTA_NUMBER", '.min = "0,5"', "a min that is no value of its type"),
    ("ROTA_NUMBER", '.max = "inf"', "a max that is no value of its type"),
    ("ROTA_STRING", '.max = "8 bytes"', "a max that is no value of its type"),
    ("ROTA_STRINGS", '.min = "x"', "a min that is no value of its type"),
    ("ROTA_BOOLEAN", '.max = "1"', "a limit, which a boolean cannot have"),
    ("ROTA_STRING", '.choices = "a||b"', "an empty text among its choices"),
    ("ROTA_STRING", '.choices = ""', "an empty text among its choices"),
    ("ROTA_INTEGER", '.choices = "1|2"', "choices, which only strings have"),
    ("ROTA_STRING", '.def = "x", .flags = ROTA_REQUIRED', "a default although it is required"),
])
def test_authors_slip_in_a_limit(tmp_path, prober, type_name, limit, words):
    plugin = h.compile_plugin(tmp_path, h.PLUGINS / "broken.c", "limited",
                              [f"LIMITED={limit}", f"TYPE={type_name}"])
    answer = prober.probe(plugin)
    assert answer["loaded"] == 0
    assert answer["errors"] == [(-1, f"plugin 'x': parameter 1, 'wait', has {words}")]


def test_talker_is_cut_short(folder, prober):
    answer = prober.probe(broken(folder, "TALKER"))
    assert (answer["loaded"], answer["errors"]) == (1, [])
    assert answer["version"] == "s" * 63 and answer["summary"] == "s" * 511


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_probe_runs_as_the_jobs_user(folder, prober):
    """Constructors too."""
    plugin = broken(folder, "WHO")
    answer = prober.probe(plugin, switch_user=1, uid=65534, gid=65533, user="kim", home="/home/kim")
    assert answer["errors"][0][1] == "user 65534, then 65534, group 65533, home /home/kim"
    assert prober.probe(plugin)["errors"][0][1].startswith("user 0, then 0, group 0, ")


def test_constructor_that_closes_its_socket_and_waits(folder):
    plugin = broken(folder, "MUTE")
    with Guard("--probe") as guard:
        began = time.monotonic()
        answer = guard.probe(plugin)
        assert 4.5 < time.monotonic() - began < 8
        assert "was not loaded and checked within 5 s" in answer["errors"][0][1]
        assert not h.descendants(guard.process.pid)
        again = shutil.copy(plugin, Path(folder) / "mute_too.so")
        guard.send(h.PROBE, plugin_path=str(again), job="x", index=0)
        left = h.wait_until(lambda: h.descendants(guard.process.pid), 4, "the mute probe")
        guard.close()
        assert guard.process.wait(4) == 0
        assert not any(h.is_alive(pid) for pid in left)


def test_try_of_a_constructor_that_closes_its_socket_and_waits(folder):
    out = guard_command("--try", broken(folder, "MUTE"))
    assert out.returncode == 1 and "was not loaded and checked within 5 s" in out.stderr


def test_hanging_constructor_and_its_child(folder):
    with Guard("--probe") as guard:
        began = time.monotonic()
        answer = guard.probe(broken(folder, "HANGS"))
        assert 4.5 < time.monotonic() - began < 8
        assert "was not loaded and checked within 5 s" in answer["errors"][0][1]
        assert not h.descendants(guard.process.pid)
        # It answers the next one.
        assert guard.probe(EXEC, {"command": ["true"]})["errors"] == []


def test_supervisor_leaves_during_a_probe(folder):
    with Guard("--probe") as guard:
        guard.send(h.PROBE, plugin_path=str(broken(folder, "HANGS")), job="x", index=0)
        h.wait_until(lambda: len(h.descendants(guard.process.pid)) == 2, 4, "the hanging probe")
        left = h.descendants(guard.process.pid)
        guard.close()
        assert guard.process.wait(2) == 0
        assert not any(h.is_alive(pid) for pid in left)


def test_files_that_are_none(prober, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("no plugin")
    for path, words in [(text, "the plugin cannot be loaded"), (tmp_path, "is no regular file"),
                        (tmp_path / "none.so", "No such file"), ("x.so", "is not absolute")]:
        answer = prober.probe(path)
        assert answer["loaded"] == 0 and words in answer["errors"][0][1]


def test_file_for_another_processor(prober, tmp_path):
    """Of which the loader says that it is not there."""
    other = tmp_path / "other.so"
    file = bytearray(h.EXEC.read_bytes())
    file[18] ^= 0x40  # e_machine
    other.write_bytes(file)
    assert prober.probe(other)["errors"] == [
        (-1, f"{other} was built for another processor; build it for this device's")]


def test_older_and_newer_plugins(folder, prober):
    small, large = broken(folder, "SMALL"), broken(folder, "LARGE")
    answer = prober.probe(small, {"mode": "slow"})
    assert (answer["name"], answer["version"], answer["errors"]) == ("old", "0.9", [])
    ended, guard = run(small, {"mode": "slow"})
    assert ended["result"] == h.SUCCEEDED and guard.lines() == ["slow 1000"]
    assert "is \"2m\"; the greatest is" in prober.probe(small, {"wait": "2m"})["errors"][0][1] or \
        "wait is 2m; the greatest is 1m" in prober.probe(small, {"wait": "2m"})["errors"][0][1]
    assert prober.probe(large)["errors"] == []
    assert run(large)[0]["result"] == h.SUCCEEDED


def test_values_and_defaults(typed):
    _, guard = run(typed, {"count": 3})
    assert guard.lines() == ["text=- mode=fast where=- count=3 ratio=0.500 really=1 wait=90000 "
                             "room=65536 set=01 names=a names=b c"]
    _, guard = run(typed, {
        "text": "hello", "mode": "slow", "where": "/x", "count": 10, "ratio": 1, "really": False,
        "wait": "1h", "room": "1.5MiB", "names": ["z"], "password": "abcd"})
    assert guard.lines() == ["text=hello mode=slow where=/x count=10 ratio=1.000 really=0 "
                             "wait=3600000 room=1572864 set=11 names=z"]


@pytest.mark.parametrize("params, words", [
    ({"count": 0}, "count is 0; the least is 1"),
    ({"count": 11}, "count is 11; the greatest is 10"),
    ({"count": "3"}, "count is \"3\"; write a whole number, without quotes"),
    ({"count": 1.5}, "count is 1.5; write a whole number"),
    ({"count": [" "]}, "count is a list; write a whole number"),
    ({"count": 1, "text": "x"}, "text has 1 bytes; the least is 2"),
    ({"count": 1, "text": "x" * 9}, "text has 9 bytes; the most is 8"),
    ({"count": 1, "text": 12}, "text is 12, without quotes; write \"12\""),
    ({"count": 1, "mode": "medium"}, "mode is \"medium\"; write one of fast|slow"),
    ({"count": 1, "mode": "fas"}, "mode is \"fas\"; write one of fast|slow"),
    ({"count": 1, "where": "x/y"}, "where is \"x/y\"; write an absolute path"),
    ({"count": 1, "mode": ["fast"]}, "mode is a list; write one string"),
    ({"count": 1, "ratio": 1.25}, "ratio is 1.25; the greatest is 1"),
    ({"count": 1, "ratio": "half"}, "ratio is half; write a number, without quotes"),
    ({"count": 1, "ratio": ["0.5"]}, "ratio is a list; write a number"),
    ({"count": 1, "really": ["true"]}, "really is a list; write true or false"),
    ({"count": 1, "wait": ["1m"]}, "wait is a list; write a duration such as \"1h30m\""),
    ({"count": 1, "room": True}, "room is a boolean; write a size such as \"64MiB\""),
    ({"count": 1, "really": "true"}, "really is true; write true or false, without quotes"),
    ({"count": 1, "wait": 10}, "wait is 10, which has no unit; write \"10s\" or \"10m\""),
    ({"count": 1, "wait": "10"}, "wait is 10, which has no unit; write \"10s\" or \"10m\""),
    ({"count": 1, "wait": "soon"}, "wait is \"soon\", which is no duration; write one such as"),
    ({"count": 1, "wait": "2h"}, "wait is 2h; the greatest is 1h"),
    ({"count": 1, "room": 64}, "room is 64, which has no unit; write \"64KiB\" or \"64MiB\""),
    ({"count": 1, "names": "z"}, "names is no list; write [ \"z\" ]"),
    ({"count": 1, "names": list("abcd")}, "names has 4 elements; the most is 3"),
    ({"count": 1, "cuont": 1}, "plugin 'typed' has no parameter 'cuont'; did you mean 'count'?"),
    ({"count": 1, "zzzzzz": 1}, "plugin 'typed' has no parameter 'zzzzzz'; rota-guard --describe"),
])
def test_parameter_with_a_mistake(typed, prober, params, words):
    answer = prober.probe(typed, params)
    assert answer["loaded"] == 1 and len(answer["errors"]) == 1
    index, text = answer["errors"][0]
    assert text.startswith(words) and index == len(params) - 1


def test_every_mistake_at_once(typed, prober):
    answer = prober.probe(typed, {"mode": "x", "wait": "x", "wat": 1})
    assert [index for index, _ in answer["errors"]] == [0, 1, 2, -1]
    assert answer["errors"][3][1].startswith("plugin 'typed' needs the parameter 'count' (integer)")


def test_secret_is_not_repeated(typed, prober):
    for name, value in (("password", "hunter22"), ("password", 12345), ("hidden", 12345),
                        ("hidden", "12345"), ("hidden", "12345 moons"), ("hidden", "12345d")):
        text = prober.probe(typed, {"count": 1, name: value})["errors"][0][1]
        assert "(secret)" in text or "bytes" in text
        assert str(value) not in text and "12345" not in text


def test_exec_check(prober, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    for params, words in [
            ({"command": ["/no/such"]}, "command: /no/such: No such file or directory"),
            ({"command": [str(plain)]}, "is no program; make it executable (chmod +x)"),
            ({"command": ["./x"]}, "is relative; write an absolute path, or a name in PATH"),
            ({"command": ["no-such-program"]}, "is not in /usr/local/sbin"),
            ({"command": []}, "command has 0 elements; the least is 1"),
            ({"command": ["true"], "nothing_exit": ["0"]}, "write exit statuses from 1 to 255"),
            ({"command": ["true"], "refuse_exit": ["256"]}, "refuse_exit has \"256\""),
            ({"command": ["true"], "refuse_exit": ["75"]}, "refuse_exit has 75, which is listed"),
            ({"command": ["true"], "stdin_file": "/no/such"}, "stdin_file: /no/such"),
            ({}, "plugin 'exec' needs the parameter 'command'")]:
        errors = prober.probe(EXEC, params)["errors"]
        assert len(errors) == 1 and words in errors[0][1]
    assert prober.probe(EXEC, {"command": ["sh", "-c", "x"], "nothing_exit": ["3"]})["errors"] == []


def shell(script, **values):
    params = values.pop("params", {})
    return run(EXEC, {"command": ["sh", "-c", script], **params}, **values)


@pytest.mark.parametrize("status, result", [
    (0, h.SUCCEEDED), (1, h.FAILED), (3, h.NOTHING), (75, h.DECLINED), (4, h.REFUSED),
    (5, h.REFUSED), (127, h.FAILED)])
def test_exec_statuses(status, result):
    ended, _ = shell(f"echo why >&2; exit {status}",
                     params={"nothing_exit": ["3"], "refuse_exit": ["4", "5"]})
    assert (ended["how"], ended["result"]) == (h.RETURNED, result)
    assert ended["detail"] == ("" if result in (h.SUCCEEDED, h.NOTHING) else f"why (exit status {status})")


def test_exec_that_said_nothing_has_its_status_as_the_reason():
    assert shell("exit 3")[0]["detail"] == "exit status 3"


def test_exec_death_by_signal():
    ended, _ = shell("kill -9 $$")
    assert (ended["result"], ended["detail"]) == (h.FAILED, "sh was killed by signal 9 (SIGKILL)")
    assert shell("kill -TERM $$")[0]["detail"] == "sh was killed by signal 15 (SIGTERM)"


def test_exec_failure_of_the_exec_itself(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    ended, _ = run(EXEC, {"command": [str(program)]})
    assert ended["result"] == h.FAILED
    assert ended["detail"] == f"{program} cannot be started: No such file or directory"


def test_exec_environment_and_descriptors(tmp_path):
    given = tmp_path / "input"
    given.write_text("from the file\n")
    script = "cat; for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done; env"
    ended, guard = shell(script, params={"stdin_file": str(given)}, worst_case_ms=60000)
    lines = guard.lines()
    assert ended["result"] == h.SUCCEEDED and lines[0] == "from the file"
    assert lines[1:4] == ["0", "1", "2"] and not lines[4].isdigit()
    env = dict(line.split("=", 1) for line in lines[4:])
    assert (env["ROTA_JOB"], env["ROTA_TURN"], env["ROTA_ATTEMPT"], env["ROTA_FENCE"]) == \
        ("nightly", "1795967400000", "1", "7")
    assert 50000 < int(env["ROTA_DEADLINE"]) - time.time() * 1000 <= 60000
    assert env["HOME"] == "/" and "USER" not in env


@pytest.mark.parametrize("script", ["exec sleep 60", "trap 'exit 0' TERM; echo trapped; while :; do sleep 0.05; done"])
def test_exec_that_is_stopped_is_declined(script):
    """Exit 0 after the stop too: many programs end so with their work half done."""
    with Guard() as guard:
        guard.start(EXEC, {"command": ["sh", "-c", script]}, stop_grace_ms=3000)
        guard.next(h.STARTED)
        h.wait_until(lambda: len(h.descendants(guard.process.pid)) >= 2, 5, "the program")
        if "trap" in script:
            guard.next(h.OUTPUT)
        guard.send(h.STOP, reason=1)
        ended = guard.ended(5)
    assert (ended["how"], ended["result"], ended["detail"]) == \
        (h.RETURNED, h.DECLINED, "sh was stopped")
    assert (ended["killed"], ended["leftovers"]) == (0, 0)


def test_exec_dies_with_its_worker():
    with Guard() as guard:
        guard.start(EXEC, {"command": ["sh", "-c", "trap '' TERM; echo trapped; exec sleep 60"]})
        guard.next(h.OUTPUT)
        program = (h.descendants(guard.process.pid) - {guard.worker}).pop()
        guard.process.kill()
        h.wait_until(lambda: not h.is_alive(program), 1, "the program's end")


def guard_command(*arguments, **options):
    return subprocess.run([str(GUARD), *map(str, arguments)], capture_output=True, text=True,
                          timeout=20, check=False, **options)


def test_describe(typed):
    out = guard_command("--describe", typed)
    assert out.returncode == 0
    assert out.stdout.startswith("plugin: typed\nversion: 1\ncontract: 1\nsummary: Types.\n")
    assert "\nparameter: count\n  type: integer\n  flags: required\n  min: 1\n  max: 10\n" in out.stdout
    assert "\nparameter: mode\n  type: string\n  default: fast\n  choices: fast|slow\n" in out.stdout
    assert out.stdout.endswith("\nparameters: 11\n")
    out = guard_command("--describe", "/no/such.so")
    assert out.returncode == 1 and "/no/such.so: No such file" in out.stderr


def test_try(typed):
    out = guard_command("--try", typed, "count=3", "really=false", "names=x", "names=y",
                        "wait=2s", "ratio=0.25")
    assert out.returncode == 0
    assert "count=3 ratio=0.250 really=0 wait=2000" in out.stderr
    assert "names=x names=y" in out.stderr
    assert re.search(r"^succeeded after \d+ ms$", out.stderr, re.M)
    out = guard_command("--try", typed, "count=x", "mode=z")
    assert out.returncode == 78
    assert "count is \"x\"" in out.stderr and "mode is \"z\"" in out.stderr
    assert guard_command("--try", typed, "count").returncode == 78
    assert guard_command("--try", EXEC, "command=false").returncode == 1
    assert guard_command("--try", "/no/such.so").returncode == 1


@pytest.mark.parametrize("params, words", [
    (["as=crash"], r"^killed by signal 11 \(SIGSEGV\) after \d+ ms"),
    (["as=exit", "number=5"], r"^ended its process with exit status 5 instead of returning after \d+ ms"),
    (["as=leaver"], r"^\d+ processes outlived the run and were killed$"),
    (["as=flood", "number=5000"], r"^\(\d+ lines dropped: more than \d+ a second\)$"),
    (["as=chatty"], r"^  100 % all$"),
])
def test_try_tells_how_it_went(behave, tmp_path, params, words):
    out = guard_command("--try", behave, *params, f"file={tmp_path}/note")
    assert re.search(words, out.stderr, re.M), out.stderr


def test_try_stops(tmp_path):
    out = guard_command("--try", "--worst-case", "300ms", "--grace", "2s", EXEC, "command=sleep",
                        "command=60")
    assert out.returncode == 1
    assert re.search(r"^declined after \d+ ms, stopped at its worst case: sleep was stopped$",
                     out.stderr, re.M)
    with subprocess.Popen([str(GUARD), "--try", str(EXEC), "command=sh", "command=-c",
                           "command=echo up; exec sleep 60"], stderr=subprocess.PIPE,
                          text=True) as process:
        while "up" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(5) == 1
    assert "stopped by you" in rest


def test_command_line():
    assert guard_command("--version").stdout.startswith("rota-guard ")
    assert "--describe FILE.so" in guard_command("--help").stdout
    for wrong in ([], ["--no-such"], ["--try"], ["--try", "--grace", "5", "x"], ["--try", "--no-such", "1s", "x"],
                  ["--describe"]):
        out = guard_command(*wrong)
        assert out.returncode == 64 and "rota-guard --help" in out.stderr


@pytest.mark.skipif(h.SANITIZED, reason="one build of the installed files is enough")
@pytest.mark.parametrize("compiler", [
    ["cc", "-std=c11", "-pedantic"], ["g++", "-x", "c++", "-std=c++20"]])
def test_example_out_of_the_tree(tmp_path, compiler):
    """As an author has it: the installed header, rota.pc and nothing else of rota."""
    root = tmp_path / "root"
    subprocess.run(["cmake", "--install", str(h.BUILD)], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(root)})
    found = {**os.environ, "PKG_CONFIG_PATH": str(next(root.rglob("rota.pc")).parent),
             "PKG_CONFIG_SYSROOT_DIR": str(root)}
    flags = subprocess.run(["pkg-config", "--cflags", "rota"], check=True, env=found,
                           capture_output=True, text=True).stdout.split()
    assert (Path(flags[0][2:]) / "rota" / "plugin.h").is_file()
    source = tmp_path / "disk_room.c"
    source.write_bytes(next(root.rglob("disk_room.c")).read_bytes())
    out = tmp_path / "disk_room.so"
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
                    "-fvisibility=hidden", "-shared", "-fPIC", *flags, str(source), "-o", str(out)],
                   check=True, cwd=tmp_path)
    tried = guard_command("--try", out, "path=/", "limit=100")
    assert tried.returncode == 0, tried.stderr
    assert guard_command("--try", out, "path=/no/such").returncode == 1
