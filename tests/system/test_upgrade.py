# SPDX-License-Identifier: MIT
"""From the version that is tagged `fleet` to this one, as a fleet does it: for weeks both are there. In between a key
has got another name; the device that is upgraded has the old one in its files."""
import shutil
import subprocess

import pytest

import packages
from machine import wait_for
from test_life import REDIS, start_redis

# The tag, and what it names, for a clone that has the history without the tags.
REVISIONS = ("refs/tags/fleet", "c7259c718b5d4428b815d84405e52ad2707b7478")
TURNS = 100
# Each second, on either device; what was done is written where both see it.
JOB = 'plugin = "exec"; every = "1s"; stop_grace = "100ms"; attempts = 1; catch_up = "0s"; '
OLD_JOB, NEW_JOB = JOB + 'longest = "500ms";', JOB + 'worst_case = "500ms";'
WORK = "echo $(hostname) $ROTA_TURN >>/shared/ledger"
CONF = "/etc/rota/jobs.d/test.conf"
WARNING = f"{CONF}:2: job 'a': longest is the old name of worst_case, and works up to rota 0.2; write worst_case"


def replace(file, old, new):
    text = file.read_text()
    assert old in text, f"{file} has no {old}"
    file.write_text(text.replace(old, new))


def before_the_renaming(tree):
    for name in ("schema.c", "job_timing.c"):
        replace(tree / "runtime/config" / name, '"worst_case"', '"longest"')


def after_the_renaming(tree):
    replace(tree / "runtime/config/renamed.h", "#define RENAMED_KEYS\n",
            '#define RENAMED_KEYS { SCHEMA_JOB, "longest", "worst_case", 0, 1 },\n')


@pytest.fixture(scope="module")
def fleet():
    """The commit that the old version is of."""
    if not shutil.which("git"):
        pytest.skip("not installed: git")
    for revision in REVISIONS:
        found = subprocess.run(["git", "-C", packages.TREE, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    pytest.skip("this clone has neither the tag fleet nor its commit: git fetch --unshallow --tags")


def ledger(shared):
    return [line.split() for line in (shared / "ledger").read_text().splitlines()]


def assert_once(lines):
    turns = [int(turn) for _, turn in lines]
    assert sorted(set(turns)) == sorted(turns), "no turn was done twice"


def files(device):
    return device.out("cat", "/etc/rota/rotad.conf", CONF)


def count_warnings(device):
    return device.journal("-u", "rotad").splitlines().count(WARNING)


# On one release: it takes two more builds, and nothing in it depends on the release.
@pytest.mark.long
@pytest.mark.parametrize("release", ["bookworm"])
def test_both_versions_share_turns_and_the_old_one_is_upgraded(fleet, boot, release, shared):
    # The old one knows no user for jobs: theirs are not the same.
    (shared / "ledger").touch()
    (shared / "ledger").chmod(0o666)
    upgrade = packages.debs(release, edit=after_the_renaming)["rota"]
    old = boot(release, "old", shared=shared, deb=packages.debs(release, fleet, before_the_renaming)["rota"])
    start_redis(old)
    new = boot(release, "new", shared=shared, deb=upgrade)
    old.start({"a": (OLD_JOB, WORK)}, top=REDIS)
    new.start({"a": (NEW_JOB, WORK)}, top=REDIS)
    wait_for(lambda: len(ledger(shared)) >= TURNS, 3 * TURNS, lambda: f"{TURNS} turns: {old.journal('-u', 'rotad')[-2000:]}")
    lines = ledger(shared)
    assert_once(lines)
    assert {name for name, _ in lines} == {"old", "new"}
    for device in (old, new):
        assert "mixed" not in device.status() and "mismatch" not in device.status()
        assert count_warnings(device) == 0
    # Nobody else is there to take the turns: those after the upgrade are the upgraded one's.
    new.out("systemctl", "stop", "rotad.service")
    kept = files(old)
    old.install(upgrade)
    assert old.out("dpkg-query", "-W", "-f", "${Version}", "rota") == new.out("dpkg-query", "-W", "-f", "${Version}", "rota")
    assert files(old) == kept
    done = len(ledger(shared))
    wait_for(lambda: len(ledger(shared)) > done + 3, 60, lambda: f"it takes turns: {old.journal('-u', 'rotad')[-2000:]}")
    assert_once(ledger(shared))
    assert count_warnings(old) == 1
    assert old.run("rotad", "--check").stderr.splitlines() == [f"{WARNING} (a warning)"]
