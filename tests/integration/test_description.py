# SPDX-License-Identifier: MIT
"""Descriptions of plugins: a probe of X.description says of parameters what a probe of X.so says."""
import ctypes
import os
import re
import subprocess
from pathlib import Path

import guard_harness as h
import pytest
from fleet import SANITIZED
from guard_harness import GUARD

SHIPPED = sorted((h.BUILD / "plugins").glob("*.so"))

# plugin.h: `needs` and one of its bits.
NEEDS_OFFSET, NEEDS_CREDENTIAL = 16, 2

# Names of typed.c's parameters and of the shipped plugins'; what a plugin does not have is a mistake too.
NAMES = ["text", "mode", "where", "count", "ratio", "really", "wait", "room", "names", "password", "hidden",
         "command", "decline_exit", "stdin_file", "path", "older_than", "keep", "max_size", "match", "recursive",
         "unit", "kill_after", "connection", "service", "password_file", "connect_timeout", "sql", "sql_file", "fence_table",
         "fence_name", "select", "handle", "batch", "on_failure"]
VALUES = ["", "x", "fast", "hunter22", "/a", "a/b", "12", "1h", "2h", "1MiB", "3GiB", 0, 3, 11, -1, 0.25, 1.5,
          True, False, [], ["a"], ["a", "b", "c", "d"], ["/a", "b"]]
BASES = {"typed": {"count": 1}, "exec": {"command": ["true"]},
         "prune": {"path": "/nowhere/at/all", "older_than": "1d"}, "unit": {"unit": "backup.service"},
         "pg_fenced": {"connection": "dbname=x", "sql": "SELECT 1"},
         "pg_queue": {"connection": "dbname=x", "select": "SELECT 1 FOR UPDATE SKIP LOCKED", "handle": "SELECT 1"}}


def guard_command(*arguments):
    return subprocess.run([str(GUARD), *map(str, arguments)], capture_output=True, text=True, timeout=20,
                          check=False)


def describe(plugin, folder):
    out = guard_command("--describe", plugin)
    assert out.returncode == 0, out.stderr
    path = Path(folder) / f"{Path(plugin).stem}.description"
    path.write_text(out.stdout)
    return path


def cases(base, own):
    """Each value for each parameter of its own, and each name of the others' once: of what a plugin does not
    have, the value is not looked at."""
    yield {}
    yield base
    for i, name in enumerate(NAMES):
        for value in VALUES if name in own else VALUES[i:i + 1]:
            yield {**base, name: value}


def of_parameters(answer):
    """Without what check() says, which is code: it is asked only where the parameters are right."""
    return {key: value for key, value in answer.items() if key != "errors"}, answer["errors"]


@pytest.mark.skipif(SANITIZED, reason="a guard for each of hundreds of questions; the unit test reads descriptions sanitized")
@pytest.mark.parametrize("name", ["typed", *[path.stem for path in SHIPPED]])
def test_same_answers_as_the_plugin(name, folder, typed, prober):
    plugin = typed if name == "typed" else h.BUILD / "plugins" / f"{name}.so"
    description = describe(plugin, folder)
    own = re.findall(r"^parameter: (\w+)$", description.read_text(), re.M)
    compared = 0
    for params in cases(BASES[name], own):
        of_code, said = of_parameters(prober.probe(plugin, params))
        of_text, read = of_parameters(prober.probe(description, params))
        assert of_code == of_text
        if not read and said:  # check()'s one sentence about the whole
            assert len(said) == 1 and said[0][0] == -1, (params, said)
            continue
        assert said == read, params
        compared += 1
    assert compared > len(own) * len(VALUES) / 2


def test_a_full_disk_is_no_success():
    with open("/dev/full", "w") as full:
        out = subprocess.run([GUARD, "--describe", h.EXEC], stdout=full, stderr=subprocess.PIPE, text=True,
                             timeout=20, check=False)
    assert out.returncode == 71
    assert out.stderr == "rota-guard: standard output cannot be written: No space left on device\n"


def test_a_name_instead_of_a_file_says_what_to_write():
    for mode in "--describe", "--try":
        out = guard_command(mode, "prune")
        assert out.returncode == 1
        assert out.stderr == "rota-guard: prune: No such file or directory; write the path of the plugin's .so\n"


def test_every_shipped_plugin_has_its_description():
    assert [path.stem for path in SHIPPED]
    for plugin in SHIPPED:
        out = guard_command("--describe", plugin)
        assert plugin.with_suffix(".description").read_text() == out.stdout


@pytest.mark.skipif(SANITIZED, reason="Python cannot load what is sanitized")
def test_who_reads_a_credential_needs_a_host_that_has_it():
    """A host that does not know of credentials has no such member, and has to refuse the plugin."""
    for plugin in SHIPPED:
        if b"credential:" in plugin.read_bytes():
            symbol = ctypes.c_char.in_dll(ctypes.CDLL(str(plugin)), "rota_plugin")
            needs = ctypes.c_uint64.from_address(ctypes.addressof(symbol) + NEEDS_OFFSET)
            assert needs.value & NEEDS_CREDENTIAL, plugin


def test_the_manual_has_every_parameter():
    manual = (h.ROOT / "docs" / "rota-plugins.7.scd").read_text()
    for plugin in SHIPPED:
        section = re.search(rf"^# {plugin.stem.upper()}\n(.*?)^# ", manual, re.M | re.S)[1]
        text = plugin.with_suffix(".description").read_text()
        documented = re.findall(r"\w+", " ".join(re.findall(r"^(\*.*)\n\t", section, re.M)))
        assert sorted(re.findall(r"^parameter: (\w+)$", text, re.M)) == sorted(documented)


def test_no_code_is_run(folder, prober):
    """The plugin behind it would end the process that loads it."""
    path = Path(folder) / "exits.description"
    path.write_text("plugin: exits\nversion: 7\ncontract: 1\nsummary: s\n\nparameters: 0\n")
    h.compile_plugin(folder, h.PLUGINS / "broken.c", "exits", ["EXITS"])
    answer = prober.probe(path)
    assert (answer["loaded"], answer["name"], answer["version"], answer["errors"]) == (1, "exits", "7", [])


def test_a_link_to_a_plugin_is_no_code_either(folder, typed, prober):
    path = Path(folder) / "linked.description"
    path.symlink_to(typed)
    answer = prober.probe(path)
    assert answer["loaded"] == 0 and answer["errors"][0][1].startswith(f"{typed}:1: ")


def test_mistakes_have_their_line(folder, prober):
    path = Path(folder) / "bad.description"
    path.write_text("plugin: bad\nversion: 7\ncontract: 2\nsummary: s\nsize: 3\n\nparameters: 1\n")
    answer = prober.probe(path)
    assert answer["loaded"] == 0
    assert [index for index, _ in answer["errors"]] == [-1, -1, -1]
    for line, (_, text) in zip((3, 5, 7), answer["errors"]):
        assert text.startswith(f"{path}:{line}: ")


def test_files_that_are_none(folder, prober):
    fifo, link = Path(folder) / "fifo.description", Path(folder) / "link.description"
    os.mkfifo(fifo)
    link.symlink_to("/no/such/file")
    for path, words in [(fifo, "is no regular file"), (Path(folder) / "no.description", "No such file"),
                        (link, "No such file"), ("x.description", "is not absolute")]:
        answer = prober.probe(path)
        assert answer["loaded"] == 0 and words in answer["errors"][0][1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_others_must_not_be_able_to_change_it(folder, typed, prober):
    path = describe(typed, folder)
    os.chmod(path, 0o666)
    assert "others could replace the plugin" in prober.probe(path)["errors"][0][1]
    os.chmod(path, 0o644)
    os.chown(path, 65534, 65534)
    assert "others could replace the plugin" in prober.probe(path)["errors"][0][1]


def test_a_description_is_never_run(tmp_path, typed):
    path = describe(typed, tmp_path)
    for command in ("--try", "--describe"):
        out = guard_command(command, path)
        assert out.returncode == 1
        assert "is a plugin's description, which cannot be run; name the plugin's .so" in out.stderr
    ended, _ = h.run(path)
    assert ended["how"] == h.UNLOADABLE and "which cannot be run" in ended["detail"]


@pytest.mark.parametrize("command", ["--describe", "--try"])
def test_a_fifo_holds_up_nobody(folder, command):
    fifo = Path(folder) / f"fifo{command}.so"
    os.mkfifo(fifo)
    out = guard_command(command, fifo)
    assert out.returncode == 1 and f"{fifo} is no regular file" in out.stderr


def test_texts_that_are_too_long(folder):
    plugin = h.compile_plugin(folder, h.PLUGINS / "broken.c", "talker", ["TALKER"])
    out = guard_command("--describe", plugin)
    assert out.returncode == 1 and out.stdout == ""
    assert "its description:2: the line has 200008 bytes; the most is 16384" in out.stderr
