# SPDX-License-Identifier: MIT
"""The tests that talk to a real server, by the server of each maker, with the programs of this tree; and the table of
docs/redis.md tells of just these servers."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import makers
from packages import TREE

# What asks the lock's scripts, the stores on them, whole devices that take turns, what people ask of the fleet, what a
# server's access rules, errors and settings do to them; and each topology.
TESTS = ("test_scripts*", "test_hello_script", "test_asked_scripts", "test_seat_*", "test_store*", "test_memory_store",
         "test_acl_example", "test_check_online*", "test_redis_settings", "test_security", "test_security_[low]*",
         "test_fenced_set", "test_lock_*", "test_full_server", "test_device_scope", "test_first_sight", "test_takeover",
         "test_was", "test_outcomes", "test_turns", "test_idle_link", "test_control_fleet", "test_rotactl_fleet",
         "test_timeline_asked", "test_tls_device", "test_faults", "test_sentinel*", "test_cluster*", "test_quorum*",
         *(f"test_s{number}_*" for number in (1, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 16, 19, 40, 44, 46, 47, 48, 49, 54)))
SECONDS = 1200
PAGE = TREE / "docs/redis.md"


def rows():
    """Of the page's table of versions: {maker: (version, tests)}."""
    table = PAGE.read_text().partition("\n## Versions tried\n")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
             if re.match(r"\| \w+ \d", line)]
    return {re.match(r"\w+ \d+\.\d+", first)[0]: (first.split()[1], int(count.split()[0].replace(",", "")))
            for first, count, *_ in cells}


def files():
    folder = TREE / "tests/integration"
    found = {pattern: sorted(folder.glob(f"{pattern}.py")) for pattern in TESTS}
    assert [pattern for pattern, paths in found.items() if not paths] == [], "no file has such a name any more"
    return sorted({path.name for paths in found.values() for path in paths})


@pytest.fixture(scope="module")
def build():
    path = pathlib.Path(os.environ.get("ROTA_BUILD") or TREE / "build/ci")
    assert (path / "runtime/supervisor/rotad").exists(), f"there is no rotad in {path}: ./quickstart test builds it"
    return path


def test_the_page_tells_of_these_servers():
    assert list(rows()) == list(makers.MAKERS)


# One maker after the other.
@pytest.mark.xdist_group("makers")
@pytest.mark.long
@pytest.mark.parametrize("maker", makers.MAKERS)
def test_the_lock_tests_pass(maker, build, tmp_path):
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("a Debian for another server needs root and debootstrap")
    program = makers.program(maker, tmp_path)
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    version, least = rows()[maker]
    ran = f"{said.split()[0].lower()} {re.search(r' v=([0-9.]+)', said)[1]}"
    assert ran == f"{maker.split()[0]} {version}", f"{PAGE.name} tells of {maker.split()[0]} {version}, and {ran} is tried here"
    print(f"{maker}: {said.strip()}")

    def run(*options):
        """How it ended, how many have passed, and how many have not."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={tmp_path}/cache", "-m", "not long", *options],
            cwd=TREE / "tests/integration", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=SECONDS,
            env={**os.environ, "ROTA_BUILD": str(build), "ROTA_REDIS_SERVER": str(program), "PYTHONDONTWRITEBYTECODE": "1"})
        print(done.stdout)
        last = done.stdout.splitlines()[-1]
        passed, failed, broken = (int((re.search(rf"(\d+) {word}", last) or [0, 0])[1]) for word in ("passed", "failed", "error"))
        return done.returncode, passed, failed + broken
    status, passed, failed = run("-n", "5", "--dist", "loadgroup", *files())
    if status == 1 and failed <= 5:
        # As ./quickstart test does: other machines were booted meanwhile. Once more, one at a time.
        print(f"{failed} failed; once more")
        status, more, _ = run("--last-failed", "--last-failed-no-failures", "none", *files())
        assert more == failed
        passed += more
    assert status == 0
    assert passed >= least, f"{PAGE.name} tells of {least} tests, and {passed} have run"
