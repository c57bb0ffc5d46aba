# SPDX-License-Identifier: MIT
"""What cmake --install puts where, and that the texts say where it is."""
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import guard_harness as h

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(h.SANITIZED, reason="one build of the installed files is enough")


def install(root):
    subprocess.run(["cmake", "--install", str(h.BUILD), "--prefix", "/usr"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(root)})


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The root of a system with rota on it. The configuration's place is that of the build's own prefix."""
    root = tmp_path_factory.mktemp("root")
    install(root)
    return root


def test_each_thing_is_in_its_place(installed):
    for name in ("usr/sbin/rotad", "usr/libexec/rota-guard", "usr/lib/rota/exec.so",
                 "usr/lib/rota/exec.description", "usr/lib/rota/prune.so", "usr/lib/rota/prune.description",
                 "usr/lib/rota/unit.so", "usr/lib/rota/unit.description",
                 "usr/lib/rota/pg_fenced.so", "usr/lib/rota/pg_fenced.description",
                 "usr/lib/rota/pg_queue.so", "usr/lib/rota/pg_queue.description",
                 "usr/share/rota-plugin-postgresql/rota_fence.sql",
                 "usr/lib/rota/librota-check.so", "usr/lib/rota/librota-control.so", "usr/lib/rota/librota-local.so",
                 "usr/lib/rota/librota-tls.so", "usr/lib/rota/librota-topology.so",
                 "usr/include/rota/plugin.h", "usr/share/pkgconfig/rota.pc",
                 "usr/lib/cmake/rota/rota-config.cmake", "usr/lib/cmake/rota/rota-config-version.cmake",
                 "usr/lib/cmake/rota/rota-plugin.map", "usr/share/doc/rota/plugins.md",
                 "usr/lib/systemd/system/rotad.service", "usr/lib/systemd/catalog/rota.catalog",
                 "usr/lib/sysusers.d/rota.conf",
                 "usr/share/doc/rota/examples/hardened.conf", "usr/share/man/man8/rotad.8",
                 "usr/share/man/man8/rota-guard.8", "usr/share/man/man7/rota-plugins.7", "usr/share/man/man7/rota-guide.7",
                 "usr/share/man/man7/rota-redis.7", "usr/share/man/man1/rotactl.1",
                 "usr/share/man/man5/rotad.conf.5", "usr/share/man/man5/rota-plugin.5",
                 "usr/share/doc/rota/alerts.yml", "usr/share/doc/rota/guide.md", "usr/share/doc/rota/redis.md",
                 "usr/share/man/man7/rota-correctness.7", "usr/share/doc/rota/correctness.md",
                 "usr/share/doc/rota/correctness.svg", "usr/share/doc/rota/examples/fenced_set.c",
                 "usr/share/doc/rota/examples/fenced_set.lua",
                 "usr/share/doc/rota/security.md",
                 "usr/share/doc/rota/examples/redis-acl.example",
                 "usr/share/bash-completion/completions/rotactl", "usr/share/zsh/vendor-completions/_rotactl",
                 "etc/rota/rotad.conf"):
        assert (installed / name).is_file(), name
    assert list((installed / "etc/rota/jobs.d").iterdir()) == []


def test_the_configuration_names_the_examples(installed):
    text = (installed / "etc/rota/rotad.conf").read_text()
    folder = re.search(r"^# (/\S+/examples/jobs\.d)\b", text, re.M)[1]
    # The text was made for the build's prefix, the files went to another.
    prefix = re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", (h.BUILD / "CMakeCache.txt").read_text(), re.M)[1]
    examples = installed / "usr" / Path(folder).relative_to(prefix)
    names = sorted(path.name for path in examples.iterdir())
    assert names == sorted(path.name for path in (ROOT / "conf/jobs.d").iterdir()) and "nightly_report.conf" in names


def test_the_installed_rotad_checks_the_tree_that_it_is_in(installed):
    conf = installed / "srv/own.conf"
    conf.parent.mkdir()
    conf.write_text('plugin_dir = "/usr/lib/rota"; store = "local"; device = "d"; jobs = { a = {\n'
                    'plugin = "exec"; every = "1h"; worst_case = "1m"; params = { x = 1; }; }; };\n')
    done = subprocess.run([installed / "usr/sbin/rotad", "--check", "--root", installed, "-c", "/srv/own.conf"],
                          text=True, timeout=60, capture_output=True)
    assert done.returncode == 78
    # It is the description that says so: a guard was there to read it.
    assert "plugin 'exec' has no parameter 'x'" in done.stderr, done.stderr


def test_a_configuration_that_is_there_stays(tmp_path):
    conf = tmp_path / "etc/rota/rotad.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("# mine\n")
    install(tmp_path)
    assert conf.read_text() == "# mine\n"


def test_the_manual_has_every_key(installed):
    printed = subprocess.run([h.BUILD / "runtime/supervisor/rotad", "-c", installed / "etc/rota/rotad.conf", "--print-config"],
                             text=True, stdout=subprocess.PIPE, check=True, timeout=20).stdout
    manual = (installed / "usr/share/man/man5/rotad.conf.5").read_text()
    keys = re.findall(r"^ *(\w+) = ", printed, re.M)
    assert len(keys) > 10
    assert [key for key in keys if f"\n\\fB{key}\\fR\n" not in manual] == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze here")
def test_systemd_takes_the_unit(installed, tmp_path):
    unit = (installed / "usr/lib/systemd/system/rotad.service").read_text()
    # The operator's jobs.d in /run/rota outlives a restart.
    assert "\nRuntimeDirectoryPreserve=yes\n" in unit
    stop_s = int(re.search(r"^TimeoutStopSec=(\d+)s$", unit, re.M)[1])
    assert stop_s > 45 + 5  # stop_timeout's default, and what rotad asks for beyond it
    copy = tmp_path / "rotad.service"
    copy.write_text(re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", unit, flags=re.M))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert "rotad.service" not in done.stdout, done.stdout


def test_recipes_name_this_version_and_its_license():
    version = re.search(r"^project\(rota VERSION (\S+) ", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    license = hashlib.md5((ROOT / "LICENSE").read_bytes()).hexdigest()
    assert f"md5={license}" in (ROOT / f"docs/yocto/rota_{version}.bb").read_text()
    assert f"ROTA_VERSION = {version}\n" in (ROOT / "docs/buildroot/rota/rota.mk").read_text()


def test_recipes_take_all_that_is_installed(installed):
    """Yocto takes what FILES names, and what lies in its own folders."""
    [recipe] = (ROOT / "docs/yocto").glob("*.bb")
    named = re.findall(r"\$\{prefix\}/(lib/[^\s\"]+)", recipe.read_text())
    files = [path.relative_to(installed / "usr").as_posix() for path in (installed / "usr/lib").rglob("*") if path.is_file()]
    assert [name for name in files if not name.startswith(tuple(f"{folder}/" for folder in named))] == []
    assert {f"lib/rota/librota-{name}.so" for name in ("check", "control", "local")} < set(files)
    shared = {path.name for path in (installed / "usr/share").iterdir()} - {"doc", "man"}
    named = set(re.findall(r"\$\{datadir\}/([\w-]+)", recipe.read_text())) | set(
        re.findall(r"^inherit (bash-completion) ", recipe.read_text(), re.M))
    assert shared == named


def component(name):
    """What is of a package of its own: files below the prefix."""
    with tempfile.TemporaryDirectory(prefix="rota-install.") as root:
        subprocess.run(["cmake", "--install", str(h.BUILD), "--prefix", "/usr", "--component", name], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": root})
        prefix = Path(root) / "usr"
        return sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file())


def test_what_needs_libpq_is_a_package_of_its_own():
    plugins = [f"lib/rota/pg_{name}.{kind}" for name in ("fenced", "queue") for kind in ("description", "so")]
    assert component("postgresql") == [*plugins, "share/rota-plugin-postgresql/rota_fence.sql"]
    rest = component("rota")
    assert "lib/rota/exec.so" in rest and "lib/rota/exec.description" in rest
    assert [name for name in rest if "pg_" in name or "postgresql" in name] == []
    # Yocto's package takes the same.
    [recipe] = (ROOT / "docs/yocto").glob("*.bb")
    named = re.search(r'^FILES:\$\{PN\}-plugin-postgresql = "(.*?)"', recipe.read_text(), re.M | re.S)[1].split()
    named = [name.replace("${prefix}/", "").replace("${datadir}", "share") for name in named if name != "\\"]
    assert [name for name in component("postgresql")
            if not any(fnmatch.fnmatch(name, pattern) or name.startswith(f"{pattern}/") for pattern in named)] == []


# What each option leaves out, and the library that is then not asked for.
OPTIONS = {"ROTA_TLS": ("openssl", "librota-tls"), "ROTA_POSTGRESQL": ("libpq", "plugins/pg_")}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_does_without_its_library(option, tmp_path):
    library, left_out = OPTIONS[option]
    # On a machine without that library.
    asked = tmp_path / "pkg-config"
    asked.write_text(f'#!/bin/sh\ncase " $* " in *" {library}"*) exit 1 ;; esac\nexec pkg-config "$@"\n')
    asked.chmod(0o755)
    build = tmp_path / "build"

    def configure(value):
        done = subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-D{option}={value}", "-DROTA_BUILD_TESTS=OFF",
                               f"-DPKG_CONFIG_EXECUTABLE={asked}"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout

    status, said = configure("ON")
    assert status != 0 and f"Checking for module '{library}" in said, said
    # In the same folder: what it has found out of the compiler it need not find out again.
    status, said = configure("OFF")
    assert status == 0, said
    # Whatever is left, down to the rules of the installation, is whole.
    planned = subprocess.run(["ninja", "-C", build, "-t", "commands"], check=True, text=True, stdout=subprocess.PIPE,
                             timeout=60).stdout
    assert "plugin_exec" in planned and left_out not in planned
    rules = "".join(path.read_text() for path in build.rglob("cmake_install.cmake"))
    assert "exec.so" in rules and left_out not in rules


def test_each_list_of_packages_has_all_libraries():
    """Those that CMake looks for; each list has a name of its own for them."""
    names = {"hiredis": ("libhiredis-dev", "hiredis"), "libconfig": ("libconfig-dev", "libconfig"),
             "libsystemd": ("libsystemd-dev", "systemd"), "smartcols": ("libsmartcols-dev", "util-linux"),
             "openssl": ("libssl-dev", "openssl"), "libpq": ("libpq-dev", "postgresql")}
    asked = re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+)", (ROOT / "CMakeLists.txt").read_text())
    assert sorted(asked) == sorted(names)
    [recipe] = (ROOT / "docs/yocto").glob("*.bb")
    # Yocto and Buildroot leave the plugins for PostgreSQL to a choice.
    lists = [(0, r"^build_packages=\(([^)]*)\)", ROOT / "quickstart"),
             (1, r'^(?:DEPENDS|PACKAGECONFIG\[\w+\]) = "([^"]*)"', recipe),
             (1, r"^ROTA_DEPENDENCIES \+?= (.*)$", ROOT / "docs/buildroot/rota/rota.mk")]
    for column, pattern, file in lists:
        there = re.split(r"[\s,]+", " ".join(re.findall(pattern, file.read_text(), re.M)))
        assert [names[each][column] for each in asked if names[each][column] not in there] == [], file
    config = (ROOT / "docs/buildroot/rota/Config.in").read_text()
    assert "select BR2_PACKAGE_UTIL_LINUX_LIBSMARTCOLS\n" in config


def test_recipes_ask_for_the_cmake_that_it_takes():
    version = re.search(r"^cmake_minimum_required\(VERSION (\S+)\)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    [recipe] = (ROOT / "docs/yocto").glob("*.bb")
    assert f"(CMake {version})" in recipe.read_text()
    assert f"BR2_HOST_CMAKE_AT_LEAST_{version.replace('.', '_')}\n" in (ROOT / "docs/buildroot/rota/Config.in").read_text()
