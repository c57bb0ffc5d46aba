# SPDX-License-Identifier: MIT
"""What docs/security.md says of this machine: what a job's program can and cannot, and other users of the device."""
import json
import os
import pathlib
import pwd
import subprocess

import pytest

import sandbox
from fleet import BUILD, ONCE, ROOT, SHORT
from sandbox import needs_root

NOBODY = pwd.getpwnam("nobody")
AS_NOBODY = sandbox.as_user(NOBODY.pw_uid)

# Run by the job's program: tries what is none of its business, and tells what it could do.
TRY = r"""
import ctypes, json, os, resource, signal, sys
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
        "limits of rotad": may(resource.prlimit, rotad, resource.RLIMIT_CORE, (0, 0)),
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

    def prober(self, **top):
        """A device whose job tries all."""
        body = self.fleet.body("probe", f"/usr/bin/python3 '{self.fleet.folder}/try.py' '{self.password}' "
                                        f"'{self.out}/told'")
        return self.device({"probe": body}, **top)

    def told(self):
        self.fleet.wait_entry("end", within=20)
        return json.loads((self.out / "told").read_text())

    def tries(self, **top):
        return self.prober(**top).start(), self.told()


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


def tries_where_rotad_is(place, user, enter, **top):
    """What a job's program could, where rotad is that user, to whom its files belong."""
    if subprocess.run([*AS_NOBODY, "ls", BUILD], capture_output=True, check=False).returncode != 0:
        pytest.skip("the programs lie where other users cannot reach them, as below /root")
    os.chown(place.password, user.pw_uid, user.pw_gid)
    place.fleet.enter = enter
    device = place.prober(**top)
    for path in (device.folder, *device.folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid)
    os.chmod(pathlib.Path(place.fleet.redis.socket).parent, 0o755)
    os.chmod(place.fleet.redis.socket, 0o777)
    device.start()
    return place.told()


@needs_root
def test_nor_where_rotad_is_no_root_but_may_switch(place):
    """As a service that has the capabilities for that and nothing else: the job's user gets none of them."""
    told = tries_where_rotad_is(place, pwd.getpwnam("daemon"), sandbox.may_switch_as(pwd.getpwnam("daemon").pw_uid),
                                job_user="nobody")
    assert told.pop("uid") == NOBODY.pw_uid and told.pop("groups") == [NOBODY.pw_gid]
    assert told.pop("no new rights") == ["1"]
    assert {what for what, answer in told.items() if answer is True} == set(), told


@needs_root
@sandbox.needs_scope
def test_where_rotad_is_not_root_a_job_has_its_files_but_may_not_signal_it(place):
    told = tries_where_rotad_is(place, NOBODY, AS_NOBODY, job_user=None)
    assert told.pop("uid") == NOBODY.pw_uid and told.pop("no new rights") == ["1"]
    assert told.pop("password") is True, "it can log in to Redis as rotad does"
    assert told.pop("limits of rotad") is True, "and end rotad by them, or slow it down"
    told.pop("groups")
    assert {what for what, answer in told.items() if answer is True} == set(), told


# Run by the job's program: what it can do to a process of another job.
ROB = r"""
import ctypes, os, resource, signal, sys
victim = int(open(sys.argv[1]).read())
def may(what, act, *arguments):
    try:
        act(*arguments)
        print("it may", what, flush=True)
    except OSError:
        pass
def trace(pid):
    if ctypes.CDLL(None).ptrace(0x4206, pid, None, None) != 0:  # PTRACE_SEIZE
        raise OSError
may("stop", os.kill, victim, signal.SIGSTOP)
may("trace", trace, victim)
may("read the memory of", open, f"/proc/{victim}/mem", "rb", 0)
may("read the environment of", lambda path: open(path).read(1), f"/proc/{victim}/environ")
may("limit", resource.prlimit, victim, resource.RLIMIT_CORE, (0, 0))
may("slow", os.setpriority, os.PRIO_PROCESS, victim, 19)
may("read the files of", open, sys.argv[2])
may("kill", os.kill, victim, signal.SIGKILL)
"""


def rob(place, robber=None, **top):
    """A device with two jobs of one user: the one tries what it can do to the other's program."""
    secret, pid = place.out / "secret", place.out / "pid"
    (place.fleet.folder / "rob.py").write_text(ROB)
    victim = place.fleet.body("victim", f"(umask 077; echo private >'{secret}'); echo $$ >'{pid}.new'; mv '{pid}.new' '{pid}'\n"
                                        f"until [ -e '{place.out}/robbed' ]; do sleep 0.05; done")
    body = place.fleet.body("robber", f"until [ -e '{pid}' ]; do sleep 0.05; done\n"
                                        f"/usr/bin/python3 '{place.fleet.folder}/rob.py' '{pid}' '{secret}'; touch '{place.out}/robbed'")
    user = {"job_user": "nobody"} if os.geteuid() == 0 else {}
    return place.device({"victim": victim, "robber": {**body, **(robber or {})}}, **user, **top)


def robbed(device):
    device.wait_line("^robber: succeeded", within=20)
    return {line.text.partition("it may ")[2] for line in device.lines() if "it may " in line.text}


@sandbox.needs_scope
def test_jobs_of_one_user_do_not_reach_each_others_processes(place):
    """But their files, and what else the kernel leaves to a user: their limits, and how fast they are."""
    device = rob(place).start()
    device.wait_line("^victim: succeeded", within=20)
    assert robbed(device) == {"limit", "slow", "read the files of"}
    assert "can signal and trace each other" not in device.output()


@needs_root
def test_a_job_that_names_its_user_may_touch_what_that_user_may(place):
    """So that programs which signal daemons of their user go on to do so."""
    device = rob(place, robber={"user": "nobody"}).start()
    assert robbed(device) >= {"stop", "trace", "read the memory of", "kill"}
    device.wait_line("^victim: .*killed by signal 9|^victim: crashed", within=20)


@needs_root
@pytest.mark.skipif(sandbox.SANITIZED, reason="a sanitizer wants to be loaded first")
def test_on_an_older_kernel_they_do_and_that_is_said(place):
    hidden = sandbox.landlock_hider(place.fleet.folder)
    device = rob(place).start(LD_PRELOAD=str(hidden))
    line = device.wait_line("^jobs of the user nobody can signal and trace each other: Linux 6.12 would keep them apart. A job "
                            "that others must not touch needs a user of its own$")
    assert line.level == "notice"
    assert device.output().count("Linux 6.12") == 1


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
