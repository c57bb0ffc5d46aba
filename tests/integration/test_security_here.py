# SPDX-License-Identifier: MIT
"""What docs/security.md says of this machine: what a job's program can and cannot, and other users of the device."""
import json
import os
import pathlib
import pwd
import subprocess

import pytest

from fleet import BUILD, ONCE, ROOT, SHORT, is_alive, wait_for

NOBODY = pwd.getpwnam("nobody")
AS_NOBODY = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")

# Run by the job's program: tries what is none of its business, and tells what it could do.
TRY = r"""
import ctypes, json, os, signal, sys
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
def may(act, *arguments):
    try:
        act(*arguments)
    except OSError as why:
        return type(why).__name__
    return True
def read(path):
    open(path, "rb").read(1)
password, out = sys.argv[1:]
guard, rotad = 0, os.getppid()
while open(f"/proc/{rotad}/comm").read() != "rotad\n":
    guard, rotad = rotad, parent(rotad)
trace = lambda pid: ctypes.CDLL(None, use_errno=True).ptrace(0x4206, pid, None, None)  # PTRACE_SEIZE
told = {"uid": os.getuid(), "groups": os.getgroups(),
        "password": may(read, password),
        "stop rotad": may(os.kill, rotad, signal.SIGCONT), "stop guard": may(os.kill, guard, signal.SIGCONT),
        "memory of rotad": may(read, f"/proc/{rotad}/mem"), "environment of rotad": may(read, f"/proc/{rotad}/environ"),
        "descriptors of rotad": may(os.listdir, f"/proc/{rotad}/fd"),
        "memory of guard": may(read, f"/proc/{guard}/mem"), "trace rotad": trace(rotad) == 0,
        "trace guard": trace(guard) == 0,
        "no new rights": [line.split()[1] for line in open("/proc/self/status") if line.startswith("NoNewPrivs")]}
with open(out, "w") as file:
    json.dump(told, file)
"""


class Place:
    """A fleet whose jobs may be another user's: that one may read its programs and write its ledger."""

    def __init__(self, fleet):
        self.fleet = fleet
        os.chmod(fleet.folder, 0o755)
        os.chmod(fleet.ledger, 0o666)
        self.out = fleet.folder / "out"
        self.out.mkdir()
        self.out.chmod(0o777)
        self.password = fleet.folder / "password"
        self.password.touch(mode=0o600)
        self.password.write_text("sesame\n")
        (fleet.folder / "try.py").write_text(TRY)

    def device(self, jobs, **top):
        """The password is good for a Redis that asks for none too."""
        self.fleet.make_due(*jobs)
        redis = {"address": self.fleet.redis.address, "username": "default", "password_file": self.password, "connect_timeout": "300ms",
                 "command_timeout": "300ms", "backoff_min": "50ms", "backoff_max": "1s"}
        return self.fleet.device({name: {**SHORT, **ONCE, "worst_case": "10s", "splay": "0s", **job}
                                  for name, job in jobs.items()}, redis=redis, **top)

    def tries(self, **top):
        body = self.fleet.body("probe", f"/usr/bin/python3 '{self.fleet.folder}/try.py' '{self.password}' "
                                        f"'{self.out}/told'")
        device = self.device({"probe": body}, **top).start()
        self.fleet.wait_entry("end", within=20)
        return device, json.loads((self.out / "told").read_text())


@pytest.fixture
def place(fleet):
    return Place(fleet)


# A job's program.

@needs_root
def test_a_job_of_its_own_user_gets_at_nothing_of_rotads(place):
    _, told = place.tries(job_user="nobody")
    assert told.pop("uid") == NOBODY.pw_uid and told.pop("groups") == [NOBODY.pw_gid]
    assert told.pop("no new rights") == ["1"]
    assert {what for what, answer in told.items() if answer is True} == set(), told
    assert told["password"] == told["stop rotad"] == told["stop guard"] == "PermissionError"


@needs_root
def test_as_root_without_a_user_for_jobs_it_warns(place):
    if any(user.pw_name == "rota-job" for user in pwd.getpwall()):
        pytest.skip("there is a user rota-job here")
    device = place.device({"quick": place.fleet.body("quick")}, job_user=None).start()
    line = device.wait_line("^there is no user rota-job: jobs run as root, with all its rights")
    assert line.level == "warning"


@needs_root
def test_where_rotad_is_not_root_a_job_has_its_rights(place):
    if subprocess.run([*AS_NOBODY, "ls", BUILD], capture_output=True, check=False).returncode != 0:
        pytest.skip("the programs lie where other users cannot reach them, as below /root")
    os.chown(place.password, NOBODY.pw_uid, NOBODY.pw_gid)
    place.fleet.enter = AS_NOBODY
    device_folder = place.fleet.folder / "gate-1"
    body = place.fleet.body("probe", f"/usr/bin/python3 '{place.fleet.folder}/try.py' '{place.password}' "
                                     f"'{place.out}/told'")
    device = place.device({"probe": body}, job_user=None)
    os.chown(device_folder, NOBODY.pw_uid, NOBODY.pw_gid)
    os.chmod(pathlib.Path(place.fleet.redis.socket).parent, 0o755)
    os.chmod(place.fleet.redis.socket, 0o777)
    device.start()
    place.fleet.wait_entry("end", within=20)
    told = json.loads((place.out / "told").read_text())
    assert (told["uid"], told["password"], told["stop rotad"]) == (NOBODY.pw_uid, True, True)


def test_jobs_of_one_user_are_not_kept_apart(place):
    """The one ends the other, and reads what it keeps for itself."""
    secret = place.out / "secret"
    victim = place.fleet.body("victim", f"(umask 077; echo private >'{secret}'); echo $$ >'{place.out}/pid'; sleep 60")
    robber = place.fleet.body("robber", f"while [ ! -s '{place.out}/pid' ]; do sleep 0.05; done; "
                                        f"cat '{secret}' && kill -9 $(cat '{place.out}/pid')")
    top = {"job_user": "nobody"} if os.geteuid() == 0 else {}
    device = place.device({"victim": victim, "robber": robber}, **top).start()
    device.wait_line("^victim: .*killed by signal 9|^victim: crashed", within=20)
    device.wait_line(r"^robber\| private")
    device.wait_line("^robber: succeeded")


def test_a_job_reaches_the_network(place):
    port = place.fleet.redis.open_port()
    body = place.fleet.body("call", f"/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; echo PING >&3; head -n 1 <&3' "
                                    f">'{place.out}/answer'")
    place.device({"call": body}).start()
    place.fleet.wait_entry("end", within=20)
    assert (place.out / "answer").read_text()[0] in "+-", "Redis answers it as it answers anybody"


def test_what_a_job_prints_is_escaped_and_bears_its_name(place):
    forged = r"\033[2J\n2026-01-01T00:00:00.000Z error: forged\r\007"
    device = place.device({"talker": place.fleet.body("talker", f"printf '{forged}'")}).start()
    device.wait_line("^talker: succeeded")
    device.wait_line(r"^talker\| 2026-01-01T00:00:00.000Z error: forged")
    assert len(device.output().splitlines()) == len(device.lines())
    assert not set(device.log.read_bytes()) & {0x1b, 0x07, 0x0d}


def test_what_a_failed_job_said_last_is_in_redis(place):
    body = place.fleet.body("talker", "echo 'token is sesame' >&2; exit 1")
    place.device({"talker": {**body, "attempts": 1}}).start()
    [entry] = place.fleet.wait_history("talker")
    assert "token is sesame" in entry["detail"]


# Other users of this machine.

@needs_root
def test_another_user_cannot_keep_rotad_from_its_folder(place):
    """It locks what it can open there, while rotad is off; the folder itself anybody can."""
    device = place.device({"quick": place.fleet.body("quick")}).start()
    device.wait_line("ready as gate-1")
    device.stop()
    folder = device.folder / "run"
    held = []
    for count, path in enumerate([folder, *folder.rglob("*")], 2):
        holder = subprocess.Popen([*AS_NOBODY, "flock", "--no-fork", path, "sh", "-c", "echo held; exec sleep 60"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            held.append(holder.stdout.readline())
            device.start()
            device.wait_line("ready as gate-1", count=count)
            device.stop()
        finally:
            holder.kill()
            holder.communicate()
    assert held[0] == "held\n" and len(held) > 1


@needs_root
def test_what_rotad_keeps_in_its_folder_is_its_own(place):
    device = place.device({"quick": place.fleet.body("quick")}).start()
    place.fleet.wait_entry("end")
    for path in (device.folder / "run").rglob("*"):
        done = subprocess.run([*AS_NOBODY, "cat", path], capture_output=True, check=False)
        assert done.returncode != 0, f"{path} can be opened by others"


def test_a_crash_of_rotad_writes_no_memory_to_disk():
    unit = (ROOT / "systemd" / "rotad.service.in").read_text()
    assert "\nLimitCORE=0\n" in unit
