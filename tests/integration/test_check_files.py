# SPDX-License-Identifier: MIT
"""rotad --check and the files that it goes by: its guard, its module, descriptions, another device's tree, machine-id."""
import os
import re
import shutil
import subprocess

import pytest
from check_place import CONFIG, HEAD, OK, OSERR, USAGE, conf, job, jobs, plugins, rotad  # noqa: F401 (fixtures)
from fleet import ROTAD
from guard_harness import GUARD


def neighbours(tmp_path, guard):
    """A rotad that finds this script as its guard: a build folder of its own."""
    (tmp_path / "supervisor").mkdir()
    (tmp_path / "guard").mkdir()
    for part in (ROTAD, ROTAD.parent / "librota-check.so"):
        shutil.copy(part, tmp_path / "supervisor")
    if guard is not None:
        script = tmp_path / "guard" / "rota-guard"
        script.write_text(f"#!/bin/sh\n{guard}\n")
        script.chmod(0o755)
    return tmp_path / "supervisor" / "rotad"


@pytest.mark.parametrize("guard, said", [
    (None, "cannot be started: No such file or directory"),
    ("exit 3", "rota-guard ended with exit status 3"),
    ("kill -SEGV $$", r"rota-guard was ended by signal 11 \(Segmentation fault\)"),
    ("exec 3>&-; exec sleep 600", "rota-guard gave no answer within 15 s"),
])
def test_a_guard_that_does_not_do_its_part(conf, tmp_path, guard, said):
    path = conf(jobs(job("alpha"), job("beta")))
    done = rotad(path, "--check", program=neighbours(tmp_path, guard))
    assert done.returncode == CONFIG
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    for line, name, number in zip(lines, ("alpha", "beta"), (6, 7)):
        assert re.fullmatch(rf"rotad\.conf:{number}: job '{name}': plugin 'good' could not be "
                            rf"checked: .*{said}", line), line


@pytest.mark.parametrize("mode", ["--check", "--print-config"])
def test_without_its_module_it_says_so(conf, tmp_path, mode):
    program = neighbours(tmp_path, "exit 3")
    module = program.parent / "librota-check.so"
    module.unlink()
    path = conf(jobs(job("alpha")))
    done = rotad(path, mode, program=program)
    assert (done.returncode, done.stdout) == (OSERR, "")
    assert done.stderr == (f"rotad: nothing can be checked: {module}: No such file or directory; "
                           "restart rotad, or install all of rota again\n")


def test_a_module_of_another_version_is_not_called(conf, tmp_path):
    program = neighbours(tmp_path, "exit 3")
    source = tmp_path / "other.c"
    source.write_text("""
        static int run(const void *o) { (void)o; return 0; }
        const struct { const char *version; int (*run)(const void *); } rota_check = { "0.0.9", run };
    """)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", program.parent / "librota-check.so", source], check=True)
    done = rotad(conf(jobs(job("alpha"))), "--check", program=program)
    assert (done.returncode, done.stdout) == (OSERR, "")
    assert done.stderr == ("rotad: nothing can be checked: the module is of another build; "
                           "restart rotad, or install all of rota again\n")


@pytest.mark.parametrize("spoil, said", [
    (lambda module: module.chmod(0o666), "can be changed by everybody; chmod it go-w"),
    (lambda module: os.truncate(module, module.stat().st_size // 2), "is not whole"),
], ids=["others may write it", "cut off"])
def test_a_module_that_is_not_as_installed_is_not_loaded(conf, tmp_path, spoil, said):
    program = neighbours(tmp_path, "exit 3")
    module = program.parent / "librota-check.so"
    spoil(module)
    done = rotad(conf(jobs(job("alpha"))), "--check", program=program)
    assert (done.returncode, done.stdout) == (OSERR, "")
    assert done.stderr == (f"rotad: nothing can be checked: '{module}' {said}; "
                           "restart rotad, or install all of rota again\n")


@pytest.fixture(scope="session")
def description(plugins):
    """What the plugin `good` says of itself."""
    return subprocess.run([GUARD, "--describe", plugins / "good.so"], text=True, check=True,
                          capture_output=True).stdout


def test_no_probe_loads_nothing(conf, plugins, description):
    path = conf(jobs(job("alpha", "dies", params=""), job("beta", "hangs"), job("gamma", "hangs"),
                     job("delta", "lacks", params='text = "!";')))
    made = [plugins / "dies.description", plugins / "lacks.description"]
    for file in made:
        file.write_text(description.replace("plugin: good", f"plugin: {file.stem}"))
    try:
        done = rotad(path, "--check", "--no-probe")
    finally:
        for file in made:
            file.unlink()
    assert done.returncode == CONFIG
    alpha, beta = done.stderr.splitlines()
    assert alpha.startswith("rotad.conf:6: job 'alpha': ") and "text" in alpha
    assert beta == (f"rotad.conf:7: job 'beta': plugin 'hangs': its parameters were not checked, for any job: "
                    f"there is no {plugins}/hangs.description; write it on the device with rota-guard "
                    f"--describe {plugins}/hangs.so > {plugins}/hangs.description (a warning)")
    assert re.findall(r"^\w+$", done.stdout, re.M) == ["beta", "delta", "gamma"]


@pytest.fixture
def tree(tmp_path, description):
    """The tree of another device, whose plugin is for another machine."""
    root = tmp_path / "tree"
    library = root / "usr/lib/rota"
    library.mkdir(parents=True)
    (library / "good-1.so").write_bytes(b"\x7fELF of another machine")
    (library / "good.so").symlink_to("/usr/lib/rota/good-1.so")
    (library / "good.description").write_text(description)
    (root / "etc/rota").mkdir(parents=True)
    (root / "etc/rota/rotad.conf").write_text(
        'prefix = "acme:"; redis = { address = "unix:/nonexistent/redis.sock"; };\n'
        'plugin_dir = "/usr/lib/rota"; device = "gate-%m";\n' +
        jobs(job("alpha"), job("beta", params='text = "x"; pause = "2m";'),
             job("gamma", more='devices = "door-*";')))
    return root


def look(tree, *args):
    return subprocess.run([ROTAD, "--root", tree.name, *args], cwd=tree.parent, text=True, timeout=60,
                          capture_output=True)


def test_the_tree_of_another_device(tree):
    done = look(tree, "--check")
    assert done.returncode == CONFIG
    assert re.fullmatch(rf"{tree}/etc/rota/rotad\.conf:5: job 'beta': .*pause.*\n", done.stderr), done.stderr
    assert done.stdout.startswith(
        'The device makes its name itself, from "gate-%m": jobs are checked for any name.\n\n')
    assert re.findall(r"^\w+$", done.stdout, re.M) == ["alpha", "gamma"]
    printed = look(tree, "--print-config")
    assert (printed.returncode, printed.stderr) == (OK, "")
    assert 'device = "gate-%m";\n' in printed.stdout
    other = tree / "srv/other.conf"
    other.parent.mkdir()
    other.write_text("max_running = 7;\n")
    assert "max_running = 7;" in look(tree, "-c", "/srv/other.conf", "--print-config").stdout


def test_a_tree_that_is_none(tmp_path):
    (tmp_path / "file").touch()
    for name, said in ("absent", "No such file or directory"), ("file", "Not a directory"):
        done = look(tmp_path / name, "--check")
        assert (done.returncode, done.stdout) == (USAGE, "")
        assert done.stderr == f"rotad: --root {name}: {said}\n"


@pytest.mark.parametrize("content, said", [
    ("0123456789abcdef0123456789abcdef\n", "a machine-id for this boot only"),
    ("uninitialized\n", "no machine-id"),
])
def test_a_machine_id_that_does_not_stay(conf, content, said):
    """Mounted over the file, in a name space of its own, as systemd does where /etc cannot be written."""
    path = conf(jobs(job("alpha")), head=HEAD.replace('device = "gate-1";', ""))
    script = (f'mount -t tmpfs none /run && printf "{content}" > /run/machine-id && '
              f'mount --bind /run/machine-id /etc/machine-id || exit 99; exec {ROTAD} -c {path} --check')
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], text=True, capture_output=True, timeout=60)
    if done.returncode in (1, 99):
        pytest.skip("mounting takes root")
    assert done.returncode == OK
    assert done.stderr == (f"{path}: /etc/machine-id holds {said}, so that this device's name changes at each "
                           'boot; write for example device = "gate-0007" (a warning)\n')
