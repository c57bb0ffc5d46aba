# SPDX-License-Identifier: MIT
"""The plugin prune: what goes, what stays, and that nothing outside its folder is ever touched."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import guard_harness as h
import pytest
from guard_harness import GUARD, Guard

PRUNE = h.BUILD / "plugins" / "prune.so"
DAY = 86400
NOW = time.time()


@pytest.fixture(scope="module")
def open_prune():
    """A copy that any user may load, wherever the build lies."""
    with tempfile.TemporaryDirectory(prefix="prune-") as path:
        os.chmod(path, 0o755)
        yield shutil.copy(PRUNE, path)


@pytest.fixture
def folder():
    """Its own, which a job of another user may enter."""
    with tempfile.TemporaryDirectory(prefix="prune-") as path:
        os.chmod(path, 0o755)
        yield Path(path)


@pytest.fixture
def roomy():
    """For many files: in memory where that can be."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="prune-", dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


def put(path, days=0.0, size=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - days * DAY,) * 2, follow_symlinks=False)
    return path


def age(path, days):
    os.utime(path, (NOW - days * DAY,) * 2, follow_symlinks=False)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


def prune(folder, turn_ms=None, user=None, plugin=PRUNE, **params):
    """The run's end, and what was logged."""
    values = {"turn_ms": turn_ms or int(time.time() * 1000) + 1000}
    if user:
        values.update(switch_user=1, uid=user, gid=user)
    ended, guard = h.run(plugin, {"path": str(folder), **params}, seconds=60, worst_case_ms=60000, **values)
    assert ended["how"] == h.RETURNED, ended
    return ended, [frame["text"] for frame in guard.frames if frame["type"] == h.LOG]


def test_older_than(folder):
    for days in (1, 2, 3, 4):
        put(folder / f"f{days}", days, 5000)
    put(folder / "below" / "f9", 9)
    blocks = sum((folder / name).stat().st_blocks for name in ("f3", "f4"))
    ended, logs = prune(folder, older_than="2d12h")
    assert ended["result"] == h.SUCCEEDED
    assert names(folder) == ["below", "below/f9", "f1", "f2"]
    assert logs == [f"freed {blocks // 2}.0 KiB: 2 files"]
    ended, logs = prune(folder, older_than="2d12h")
    assert (ended["result"], ended["detail"], logs) == (h.NOTHING, "", [])


def test_ages_are_by_the_earlier_of_turn_and_clock(folder):
    put(folder / "f", 3)
    assert prune(folder, older_than="2d", turn_ms=int((NOW - 2 * DAY) * 1000))[0]["result"] == h.NOTHING
    assert prune(folder, older_than="4d", turn_ms=int((NOW + 9 * DAY) * 1000))[0]["result"] == h.NOTHING
    assert prune(folder, older_than="100000000d")[0]["result"] == h.NOTHING
    assert prune(folder, older_than="2d")[0]["result"] == h.SUCCEEDED


def test_keep_and_with_it_an_age(folder):
    for days in range(1, 7):
        put(folder / f"f{days}", days)
    prune(folder, keep=4)
    assert names(folder) == ["f1", "f2", "f3", "f4"]
    prune(folder, keep=3, older_than="1d12h")
    assert names(folder) == ["f1", "f2", "f3"]
    prune(folder, keep=1, older_than="2d12h")
    assert names(folder) == ["f1", "f2"]
    prune(folder, keep=1, max_size="0B")
    assert names(folder) == ["f1", "f2"]  # empty files take no room
    prune(folder, keep=1)
    assert names(folder) == ["f1"]


def test_max_size_counts_room_on_disk(folder):
    for days in (1, 2, 3):
        put(folder / f"f{days}", days, 100)
    room = (folder / "f1").stat().st_blocks * 512
    prune(folder, max_size=f"{2 * room}B")
    assert names(folder) == ["f1", "f2"]
    prune(folder, max_size=f"{2 * room - 1}B")
    assert names(folder) == ["f1"]


def model(files, older_than=None, keep=None, max_size=None):
    """What stays of {name: (days, room)}, the plain way: all sorted, the newest first."""
    order = sorted(files, key=lambda name: files[name][0])
    stay = set(order)
    if older_than is not None:
        stay -= {name for name in order if files[name][0] > older_than}
    if max_size is not None:
        total, fits = 0, True
        for name in order:
            total += files[name][1]
            fits = fits and total <= max_size
            if not fits:
                stay.discard(name)
    if keep is not None:
        first = set(order[:keep])
        stay = stay | first if older_than is not None or max_size is not None else first
    return stay


def test_limits_together(folder):
    seed = int(os.environ.get("ROTA_SEED", time.time()))
    print(f"ROTA_SEED={seed}")
    rng = random.Random(seed)
    for _ in range(25):
        shutil.rmtree(folder / "t", ignore_errors=True)
        files = {}
        for number, days in enumerate(rng.sample(range(1, 60), rng.randint(0, 20))):
            name = rng.choice(["", "a/", "a/b/", "c/"]) + f"f{number}"
            put(folder / "t" / name, days, rng.choice([0, 1, 5000, 30000]))
            files[name] = (days, (folder / "t" / name).stat().st_blocks * 512)
        (folder / "t").mkdir(exist_ok=True)
        limits = {"older_than": rng.randint(0, 59), "keep": rng.randint(1, 21), "max_size": rng.randint(0, 200000)}
        for name in rng.sample(sorted(limits), rng.randint(0, 2)):
            del limits[name]
        as_written = dict(limits)
        if "older_than" in limits:
            as_written["older_than"] = f"{limits['older_than']}d12h"
            limits["older_than"] += 0.5
        if "max_size" in limits:
            as_written["max_size"] = f"{limits['max_size']}B"
        ended, _ = prune(folder / "t", recursive=True, **as_written)
        assert ended["result"] in (h.SUCCEEDED, h.NOTHING)
        left = {name for name in names(folder / "t") if (folder / "t" / name).is_file()}
        assert left == model(files, **limits), (files, limits)


def test_match(folder):
    for name in ("a.log", "a.log.1", "b.txt", "-", "\u00f6.log"):
        put(folder / name, 2)
    prune(folder, older_than="1d", match=["?.log", "*.1"])
    assert names(folder) == ["-", "b.txt"]


def test_hard_links_free_nothing_but_by_the_last(folder):
    put(folder / "outside", 5, 9000)
    (folder / "t").mkdir()
    os.link(folder / "outside", folder / "t" / "a")
    _, logs = prune(folder / "t", older_than="1d")
    assert logs == ["freed 0 B: 1 file"]
    put(folder / "t" / "b", 5, 9000)
    os.link(folder / "t" / "b", folder / "t" / "c")
    room = (folder / "t" / "b").stat().st_blocks // 2
    _, logs = prune(folder / "t", older_than="1d", dry_run=True)
    assert logs[-1] == "would free 0 B: 2 files"  # each by itself frees nothing
    # Two names of one file take its room once.
    assert prune(folder / "t", max_size=f"{room}KiB")[0]["result"] == h.NOTHING
    _, logs = prune(folder / "t", older_than="1d")
    assert logs == [f"freed {room}.0 KiB: 2 files"]


def test_links_are_not_followed(folder):
    put(folder / "out" / "file", 9)
    for name, target in (("t/file", "out/file"), ("t/folder", "out"), ("t/nowhere", "none")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(folder / target)
        age(folder / name, 9)
    before = names(folder)
    assert prune(folder / "t", older_than="1d", recursive=True, remove_empty=True)[0]["result"] == h.NOTHING
    assert names(folder) == before
    ended, logs = prune(folder / "t", older_than="1d", recursive=True, links=True)
    assert ended["result"] == h.SUCCEEDED and logs == ["freed 0 B: 3 files"]
    assert names(folder) == ["out", "out/file", "t"]


def test_a_link_named_by_the_operator_is_resolved(folder):
    put(folder / "t" / "f", 9)
    (folder / "link").symlink_to(folder / "t")
    prune(folder / "link", older_than="1d")
    assert names(folder) == ["link", "t"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_a_link_on_the_way_that_is_somebody_elses(folder, open_prune):
    """Who may write in a folder above it does not decide what root deletes."""
    nobody = 65534
    put(folder / "out" / "f", 9)
    (folder / "theirs").mkdir()
    (folder / "theirs" / "link").symlink_to("../out")
    (folder / "own").symlink_to("theirs")
    os.chown(folder / "theirs" / "link", nobody, nobody, follow_symlinks=False)
    path = folder / "own" / "link" / "."
    assert "belongs to neither root nor the job's user" in refusal({"path": f"{path}/.", "older_than": "1d"})[0]
    ended, _ = prune(f"{path}/.", older_than="1d")
    assert ended["result"] == h.FAILED and "write the path without that link" in ended["detail"]
    assert (folder / "out" / "f").exists()
    # Their own job may follow it, and root's too where no link of theirs is on the way.
    os.chown(folder / "out", nobody, nobody)
    assert prune(f"{path}/.", user=nobody, plugin=open_prune, older_than="1d")[0]["result"] == h.SUCCEEDED
    put(folder / "out" / "f", 9)
    assert prune(f"{folder}/own/../out/", older_than="1d")[0]["result"] == h.SUCCEEDED
    (folder / "loop").symlink_to("loop")
    assert "Too many levels of symbolic links" in refusal({"path": f"{folder}/loop", "older_than": "1d"})[0]


def test_a_link_swapped_in_by_a_racing_process(folder):
    """A folder and a link to the outside take turns at one name, as fast as they can."""
    put(folder / "out" / "z" / "stays", 9)
    work = folder / "t"
    (work / "real" / "z").mkdir(parents=True)
    inner = os.open(work / "real" / "z", os.O_RDONLY)
    swap = f"""
import os
os.chdir({str(folder)!r})
os.symlink("../out", "link")
while True:
    os.rename("t/real", "aside"); os.rename("link", "t/real")
    os.rename("t/real", "link"); os.rename("aside", "t/real")
"""
    with subprocess.Popen(["/usr/bin/python3", "-c", swap]) as racer:
        try:
            end = time.monotonic() + 3
            rounds = 0
            while time.monotonic() < end:
                os.close(os.open(f"old{rounds}", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
                os.utime(f"old{rounds}", (1, 1), dir_fd=inner)
                prune(work, older_than="1d", recursive=True)
                rounds += 1
                assert racer.poll() is None
                assert (folder / "out" / "z" / "stays").exists()
        finally:
            racer.kill()
            os.close(inner)
    assert rounds > 5


def can_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="no mount namespace of one's own here")
@pytest.mark.parametrize("mount", ["mount -t tmpfs none t/m", "mount --bind out t/m"])
def test_mounted_folders_are_left_alone(folder, mount):
    """A folder of the same file system that is bound there too."""
    put(folder / "out" / "f", 9)
    put(folder / "t" / "below" / "f", 9)
    (folder / "t" / "m").mkdir()
    age(folder / "t" / "m", 9)
    script = f"""set -e; cd {folder}; {mount}; touch -d '9 days ago' t/m/f
{GUARD} --try {PRUNE} path={folder}/t recursive=true remove_empty=true "$@"; ls t t/m"""
    run = ["unshare", "-m", "sh", "-c", script, "sh"]
    out = subprocess.run([*run, "older_than=1d"], capture_output=True, text=True, check=True, timeout=30)
    assert "freed 0 B: 1 file; 1 mounted folder left alone" in out.stderr
    assert out.stdout.split() == ["t:", "below", "m", "t/m:", "f"]
    put(folder / "out" / "f", 9)
    out = subprocess.run([*run, "one_file_system=false", "older_than=0s"], capture_output=True, text=True,
                         check=True, timeout=30)
    assert "freed 0 B: 1 file, 1 folder\n" in out.stderr, out.stderr
    assert out.stdout.split() == ["t:", "m", "t/m:"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_what_may_not_be_read_or_deleted(folder, open_prune):
    nobody = 65534
    put(folder / "t" / "closed" / "f", 9)
    put(folder / "t" / "readonly" / "f", 9)
    put(folder / "t" / "mine" / "f", 9)
    os.chmod(folder / "t" / "closed", 0o700)
    os.chmod(folder / "t" / "readonly", 0o755)
    os.chown(folder / "t" / "mine", nobody, nobody)
    ended, _ = prune(folder / "t", user=nobody, plugin=open_prune, older_than="1d", recursive=True)
    assert ended["result"] == h.FAILED
    assert ended["detail"].startswith("freed 0 B: 1 file; 2 left alone, the first: ")
    assert ended["detail"].endswith(("closed: Permission denied", "readonly/f: Permission denied"))
    assert names(folder / "t") == ["closed", "closed/f", "mine", "readonly", "readonly/f"]
    ended, _ = prune(folder / "t" / "closed", user=nobody, plugin=open_prune, older_than="1d")
    assert ended["result"] == h.FAILED and ended["detail"].endswith("closed: Permission denied")


# What a process has used at most counts from its parent's size on: a small one starts the program, and says it in KiB.
SMALL_PARENT = """
import os, resource, sys
status = os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1]
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_100_000_files(roomy):
    fd = os.open(roomy, os.O_RDONLY)
    for number in range(100_000):
        os.close(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    for number in range(10):
        os.utime(f"file-{number}", (NOW + DAY + number,) * 2, dir_fd=fd)
    os.close(fd)
    began = time.monotonic()
    out = subprocess.run([sys.executable, "-ISc", SMALL_PARENT, str(GUARD), "--try", str(PRUNE), f"path={roomy}", "keep=10"],
                         check=True, capture_output=True, text=True, timeout=120)
    assert "freed 0 B: 99990 files" in out.stderr
    assert time.monotonic() - began < 60
    assert names(roomy) == sorted(f"file-{number}" for number in range(10))
    if not h.SANITIZED:
        assert int(out.stdout.splitlines()[-1]) <= 16 * 1024, out.stdout


def test_1000_levels(folder):
    """With fewer descriptors than levels."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.utime("f", (1, 1), dir_fd=fd)
    os.close(fd)
    out = subprocess.run(["prlimit", "--nofile=32", str(GUARD), "--try", str(PRUNE), f"path={folder}",
                          "older_than=1d", "max_size=0B", "recursive=true", "remove_empty=true"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 0 and "freed 0 B: 1 file\n" in out.stderr, out.stderr
    out = subprocess.run(["prlimit", "--nofile=32", str(GUARD), "--try", str(PRUNE), f"path={folder}",
                          "older_than=0s", "recursive=true", "remove_empty=true"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert "freed 0 B: 0 files, 1000 folders\n" in out.stderr, out.stderr
    assert names(folder) == []


def test_empty_folders(folder):
    put(folder / "old" / "f", 9)
    put(folder / "young" / "f", 9)
    (folder / "empty").mkdir()
    age(folder / "old", 9)
    age(folder / "empty", 9)
    prune(folder, older_than="1d", recursive=True)
    assert names(folder) == ["empty", "old", "young"]
    # Only now changed, by the run before: to be kept until it is old by itself.
    prune(folder, older_than="1d", recursive=True, remove_empty=True)
    assert names(folder) == ["old", "young"]
    put(folder / "old" / "f", 9)
    age(folder / "old", 9)
    _, logs = prune(folder, older_than="1d", recursive=True, remove_empty=True, dry_run=True)
    assert logs == ["would delete old/f", "would delete old", "would free 0 B: 1 file, 1 folder"]
    prune(folder, older_than="1d", recursive=True, remove_empty=True)
    assert names(folder) == ["young"]
    put(folder / "a" / "b" / "f", 1, 100)
    _, logs = prune(folder, max_size="0B", recursive=True, remove_empty=True)
    assert names(folder) == ["young"] and logs[0].endswith(": 1 file, 2 folders")


def test_names_that_are_odd(folder):
    odd = ["new\nline", "\x1b[31mred", "-rf", "*", " ", "\x7f"]
    for name in odd:
        put(folder / name, 9)
    (folder / os.fsdecode(b"\xff\xfe")).touch()
    age(folder / os.fsdecode(b"\xff\xfe"), 9)
    _, logs = prune(folder, older_than="1d", dry_run=True)
    assert len(logs) == 8
    assert "would delete new\\x0aline" in logs and "would delete \\x1b[31mred" in logs
    assert all(ord(c) >= 0x20 and c != "\x7f" for line in logs for c in line)
    prune(folder, older_than="1d")
    assert names(folder) == []


def test_dry_run_changes_nothing(folder):
    for number in range(120):
        put(folder / "t" / f"f{number}", 9, 10)
    age(folder / "t", 9)
    before = [(name, (folder / name).stat().st_mtime_ns) for name in names(folder)]
    ended, logs = prune(folder, older_than="1d", recursive=True, remove_empty=True, dry_run=True)
    assert ended["result"] == h.SUCCEEDED
    assert [(name, (folder / name).stat().st_mtime_ns) for name in names(folder)] == before
    assert len(logs) == 102 and logs[100].startswith("would delete more; only the first 100 are")
    assert logs[101].endswith(": 120 files, 1 folder")


def test_a_stop_in_the_middle(roomy):
    fd = os.open(roomy, os.O_RDONLY)
    for number in range(30_000):
        os.close(os.open(f"{number}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    with Guard() as guard:
        guard.start(PRUNE, {"path": str(roomy), "older_than": "0s"}, worst_case_ms=60000,
                    stop_grace_ms=10000, turn_ms=int(time.time() * 1000) + 1000)
        guard.next(h.PROGRESS, 30)
        guard.send(h.STOP, reason=1)
        ended = guard.ended(30)
    left = len(os.listdir(roomy))
    assert (ended["how"], ended["result"], ended["killed"]) == (h.RETURNED, h.DECLINED, 0)
    assert 0 < left < 30_000
    assert ended["detail"] == f"stopped on the way; freed 0 B: {30_000 - left} files"


def refusal(params):
    with Guard("--probe") as guard:
        return [text for _, text in guard.probe(PRUNE, params)["errors"]]


@pytest.mark.parametrize("path", ["/", "//", "/usr", "/usr/", "/usr/./", "/usr/../etc", "/bin", "/proc", "/proc/1",
                                  "/sys", "/sys/kernel", "/dev", "/boot", "/var/lib"])
def test_folders_of_the_system(path):
    errors = refusal({"path": path, "older_than": "1d"})
    assert len(errors) == 1 and errors[0].startswith(f"path: {path} is ")


def test_a_link_to_a_folder_of_the_system(folder):
    (folder / "link").symlink_to("/usr")
    assert "is a folder of the system" in refusal({"path": str(folder / "link"), "older_than": "1d"})[0]
    ended, _ = prune(folder / "link", older_than="1d", dry_run=True)
    assert (ended["how"], ended["result"]) == (h.RETURNED, h.REFUSED)


def test_what_check_says(folder):
    put(folder / "file")
    path = str(folder)
    for params, words in [
            ({"older_than": "1d"}, "plugin 'prune' needs the parameter 'path'"),
            ({"path": "tmp", "older_than": "1d"}, "path is \"tmp\"; write an absolute path"),
            ({"path": path}, "nothing says which files are old; write older_than, keep or max_size"),
            ({"path": path, "keep": 0}, "keep is 0; the least is 1"),
            ({"path": path, "keep": 1, "remove_empty": True}, "write recursive = true too"),
            ({"path": path, "keep": 1, "match": ["a/b"]}, "match has \"a/b\"; write patterns for"),
            ({"path": path, "keep": 1, "match": [""]}, "match has \"\"; write patterns for"),
            ({"path": path, "keep": 1, "match": []}, "match has 0 elements"),
            ({"path": path + "/file", "keep": 1}, "file: Not a directory")]:
        errors = refusal(params)
        assert len(errors) == 1 and words in errors[0], (params, errors)
    assert refusal({"path": path, "keep": 1}) == []
    # It may come later; a run tells.
    assert refusal({"path": path + "/none", "keep": 1}) == []
    ended, _ = prune(folder / "none", keep=1)
    assert ended["result"] == h.FAILED and ended["detail"].endswith("/none: No such file or directory")


def test_no_limit_deletes_nothing(folder):
    """A run does not rely on the check before it."""
    put(folder / "f", 9)
    assert prune(folder)[0]["result"] == h.REFUSED
    assert names(folder) == ["f"]


def test_under_rotad(fleet, folder):
    from fleet import ONCE, SHORT

    for days in (1, 900):  # the turn may be a year old
        put(folder / f"f{days}", days)
    params = {"path": str(folder), "older_than": "2d"}
    fleet.make_due("tidy")
    device = fleet.device({"tidy": {**SHORT, **ONCE, "plugin": "prune", "params": params}})
    device.start()
    fleet.wait_history("tidy")
    assert [entry["outcome"] for entry in fleet.history("tidy")] == ["succeeded"]
    assert names(folder) == ["f1"]
    device.wait_line("freed 0 B: 1 file")
