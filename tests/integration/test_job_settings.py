# SPDX-License-Identifier: MIT
"""As whom, where and with what environment a job runs, by a real rotad: what its program finds."""
import contextlib
import grp
import os
import pathlib
import pwd
import re
import signal
import subprocess

import pytest

import sandbox
from fleet import LOCAL, SHORT, wait_for
from rotactl import rotactl
from sandbox import needs_root

TICK = {**SHORT, "every": "2s", "attempts": 1}
NOBODY = pwd.getpwnam("nobody")
# What the program is like, a file a fact; the last one is there once all are.
LOOK = r"""
out=$1.$$; mkdir $out; umask 022
id -u >$out/uid; id -g >$out/gid; id -G >$out/groups; pwd >$out/folder; env -0 >$out/environment
cat /proc/self/limits >$out/limits
rm -rf "$1"; mv $out "$1"
"""


class Place:
    """A folder that all may write: rotad's own are closed to the users of its jobs."""

    def __init__(self, fleet):
        self.fleet, self.out = fleet, fleet.folder / "out"
        fleet.folder.chmod(0o755)
        self.out.mkdir()
        self.out.chmod(0o777)

    def job(self, name, **settings):
        return {**TICK, "params": {"command": ["/bin/sh", "-c", LOOK, "look", self.out / name]}, **settings}

    def device(self, jobs, **top):
        return self.fleet.device(jobs, **{**LOCAL, **top})

    def start_as(self, user, device, enter):
        """Its rotad as that user, who its files belong to, by the command that this begins with."""
        if subprocess.run([*enter, "ls", *device.command()[:1]], capture_output=True, check=False).returncode != 0:
            pytest.skip("the programs lie where other users cannot reach them, or there are no such rights")
        for path in (device.folder, device.conf):
            os.chown(path, user.pw_uid, user.pw_gid)
        self.fleet.enter = enter
        return device.start()

    def seen(self, name, fact, wanted=None):
        """A fact of the job's latest run; the first one that is as wanted."""
        def there():
            try:
                text = (self.out / name / fact).read_text()
            except OSError:
                return None
            return text if wanted is None or wanted == text.strip() else None
        return wait_for(there, 20, f"{name}'s {fact}" + (f" is {wanted}" if wanted else "")).strip()

    def environment(self, name):
        return dict(each.split("=", 1) for each in self.seen(name, "environment").rstrip("\0").split("\0"))


@pytest.fixture
def place(fleet):
    return Place(fleet)


def groups_of(name):
    user = pwd.getpwnam(name)
    return sorted({user.pw_gid, *(each.gr_gid for each in grp.getgrall() if name in each.gr_mem)})


def somebody():
    """A user who is a member of a group besides its own, if this machine has one."""
    for user in pwd.getpwall():
        if user.pw_uid != 0 and len(groups_of(user.pw_name)) > 1:
            return user
    return None


def test_what_a_job_without_settings_has(place):
    place.device({"plain": place.job("plain")}).start()
    assert place.seen("plain", "folder") == "/"
    told = place.environment("plain")
    assert {name for name in told if not name.startswith("ROTA_")} - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH", "LANG", "SHELL", "HOME", "USER", "LOGNAME"}
    assert re.search(r"^Max open files +1024 +1024 ", place.seen("plain", "limits"), re.M)
    assert re.search(r"^Max core file size +0 +0 ", place.seen("plain", "limits"), re.M)


def test_folder_and_environment(place):
    folder = place.fleet.folder / "a folder"
    folder.mkdir()
    settings = {"working_dir": folder, "environment": ["SHOP=berlin 1", "EMPTY=", "QUOTED=a\"b\\c", "LANG=C"]}
    place.device({"job": place.job("job", **settings)}).start()
    assert place.seen("job", "folder") == str(folder)
    told = place.environment("job")
    assert (told["SHOP"], told["EMPTY"], told["QUOTED"], told["LANG"]) == ("berlin 1", "", "a\"b\\c", "C")
    assert told["ROTA_JOB"] == "job"


@needs_root
def test_user_and_group(place):
    other = grp.getgrgid(1)  # daemon, as in every Debian
    jobs = {"user": place.job("user", user="nobody"),
            "group": place.job("group", group=other.gr_name),
            "both": place.job("both", user="nobody", group=other.gr_name)}
    place.device(jobs, job_user="nobody", max_running=8).start()
    assert [place.seen("user", fact) for fact in ("uid", "gid", "groups")] == [
        str(NOBODY.pw_uid), str(NOBODY.pw_gid), str(NOBODY.pw_gid)]
    for name in ("group", "both"):
        assert [place.seen(name, fact) for fact in ("uid", "gid", "groups")] == [
            str(NOBODY.pw_uid), str(other.gr_gid), str(other.gr_gid)]
    told = place.environment("user")
    assert (told["USER"], told["LOGNAME"], told["HOME"]) == ("nobody", "nobody", NOBODY.pw_dir)


@needs_root
def test_groups_of_a_user(place):
    """As cron gives them: the user's own, and those of /etc/group."""
    user = somebody()
    if not user:
        pytest.skip("no user here is in a second group")
    place.device({"named": place.job("named", user=user.pw_name),
                  "fallback": place.job("fallback")}, job_user=user.pw_name).start()
    assert sorted(map(int, place.seen("named", "groups").split())) == groups_of(user.pw_name)
    assert place.seen("named", "gid") == str(user.pw_gid)
    assert place.seen("fallback", "groups") == str(user.pw_gid)
    assert place.seen("fallback", "uid") == str(user.pw_uid)


def test_mistakes_have_their_line(place):
    device = place.device({"bad": place.job("bad"), "good": place.job("good")})
    text = device.conf.read_text()
    lines = ['user = "no-such-user";', 'group = "no-such-group";', 'environment = [ "ROTA_X=1", "A=1", "A=2" ];',
             'limits = { memory = 64; };']
    first = text[:text.index("bad = {")].count("\n") + 2
    device.write_text(text.replace("bad = {\n", "bad = {\n" + "\n".join(lines) + "\n"))
    checked = device.check()
    assert checked.returncode == 78
    told = [line.partition(f"{device.conf}:")[2] for line in checked.stderr.splitlines()]
    assert told == [
        f"{first}: job 'bad': user is \"no-such-user\", and no user has that name in /etc/passwd; create it, or name "
        "another",
        f"{first + 1}: job 'bad': group is \"no-such-group\", and no group has that name in /etc/group; create it, or name "
        "another",
        f"{first + 2}: job 'bad': environment has ROTA_X; names that begin with ROTA_ are rota's own, write another",
        f"{first + 2}: job 'bad': environment has A twice; keep one of them",
        f"{first + 3}: job 'bad': limits.memory is 64, which has no unit; write \"64KiB\" or \"64MiB\""]
    device.start()
    device.wait_line(f"^bad is invalid, the other 1 job runs: {device.conf}:{first}: user is ")
    place.seen("good", "uid")
    assert not (place.out / "bad").exists()


def test_a_folder_that_is_not_there_yet(place):
    device = place.device({"job": place.job("job", working_dir=place.out / "later")})
    checked = device.check()
    assert checked.returncode == 0
    assert re.search(r"rotad\.conf:\d+: job 'job': working_dir is \".*/later\", and there is no such folder "
                     r"now; it has to be there when a run begins \(a warning\)$", checked.stderr.strip())
    device.start()
    device.wait_line("^job: .*working_dir|^job: failed|^job: crashed|^job: .*No such file", within=20)
    (place.out / "later").mkdir(mode=0o755)
    place.seen("job", "folder", str(place.out / "later"))


def test_changes_are_for_the_next_run(place):
    """The run that goes on keeps what it began with; no restart of rotad, no other job touched."""
    wait = f"touch '{place.out}/began'; while [ ! -e '{place.out}/go' ]; do sleep 0.05; done; set -- $1-$STEP; "
    long = {**place.job("long", environment=["STEP=1"]), "worst_case": "30s"}
    long["params"] = {"command": ["/bin/sh", "-c", wait + LOOK, "look", place.out / "long"]}
    jobs = {"long": long, "tick": place.job("tick", environment=["STEP=1"])}
    device = place.device(jobs).start()
    wait_for(lambda: (place.out / "began").exists(), 30, "the long run begins")
    place.seen("tick", "uid")
    folder = place.out / "elsewhere"
    folder.mkdir()
    jobs["long"] = {**long, "environment": ["STEP=2"]}
    jobs["tick"] = place.job("tick", environment=["STEP=2"], working_dir=folder, limits={"open_files": 99})
    device.write(jobs)
    device.signal(signal.SIGHUP)
    device.wait_line("^reloaded: 2 jobs$")
    place.seen("tick", "folder", str(folder))
    assert place.environment("tick")["STEP"] == "2"
    assert re.search(r"^Max open files +99 +99 ", place.seen("tick", "limits"), re.M)
    (place.out / "go").touch()
    assert place.environment("long-1")["STEP"] == "1"
    assert place.environment("long-2")["STEP"] == "2"


@needs_root
def test_a_user_who_comes_later(place):
    """A reload looks for the jobs' user, too; what was said of it, and of its jobs, is said again only once it has
    changed."""
    passwd, root = place.fleet.folder / "passwd", "root:x:0:0:root:/root:/bin/sh\n"
    passwd.write_text(root)
    place.fleet.enter = ["unshare", "--mount", "sh", "-c", f"mount --bind {passwd} /etc/passwd && exec \"$@\"", "sh"]
    if subprocess.run([*place.fleet.enter, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user can make no mount namespace")
    words = "^there is no user rota-job: jobs run as root, with all its rights"
    unapplied = "^job: limits.processes is not kept, since the job runs as root$"
    job = {**TICK, "params": {"command": ["/usr/bin/id", "-u"]}, "limits": {"processes": 100}}
    device = place.device({"job": job}, job_user=None).start()
    device.wait_line(r"^job\| 0$", within=20)
    for time in range(2):
        device.signal(signal.SIGHUP)
        device.wait_line("^reloaded: 1 job$", count=time + 1)
        if time == 0:
            with passwd.open("a") as file:
                file.write(f"rota-job:x:{NOBODY.pw_uid}:{NOBODY.pw_gid}::/:/bin/false\n")
    device.wait_line(rf"^job\| {NOBODY.pw_uid}$", within=20)
    assert (len(device.lines(words)), len(device.lines(unapplied))) == (1, 1)
    passwd.write_text(root)
    device.signal(signal.SIGHUP)
    device.wait_line(unapplied, within=20, count=2)
    assert len(device.lines(words)) == 2


@needs_root
def test_what_is_not_applied_is_not_said_again_after_a_drain(place):
    unapplied = "^job: limits.processes is not kept, since the job runs as root$"
    job = {**TICK, "params": {"command": ["/bin/echo", "ran"]}, "limits": {"processes": 100}}
    device = place.device({"job": job}, job_user="root").start()
    for _ in range(2):
        device.wait_line(r"^job\| ran$", within=20)
        assert rotactl(device, "drain").returncode == 0
        ran = len(device.lines(r"^job\| ran$"))
        assert rotactl(device, "undrain").returncode == 0
        device.wait_line(r"^job\| ran$", within=20, count=ran + 1)
    assert len(device.lines(unapplied)) == 1


@needs_root
def test_what_a_job_does_without_is_said_once(place):
    """Root is bound by no number of processes. Anew where that job has changed, or another does without too."""
    words = "limits.processes is not kept, since the job runs as root$"
    jobs = {name: place.job(name, limits={"processes": 9}) for name in ("first", "second")}
    device = place.device(jobs, job_user="root").start()
    device.wait_line("^first: succeeded", within=20, count=3)
    assert [line.level for line in device.lines(f"^first: {words}")] == ["warning"]
    device.wait_line(f"^second: {words}")
    jobs["first"]["limits"] = {"processes": 10}
    device.write(jobs, job_user="root")
    device.signal(signal.SIGHUP)
    device.wait_line(f"^first: {words}", within=20, count=2)
    assert len(device.lines(f"^second: {words}")) == 1


@needs_root
def test_a_user_that_may_not_be_another(place):
    """Neither at the start nor by --check: this rotad is one user, and has its groups."""
    device = place.device({"other": place.job("other", user="root"), "own": place.job("own", user="nobody")},
                          job_user=None)
    place.start_as(NOBODY, device, sandbox.as_user(NOBODY.pw_uid))
    device.wait_line("^other is invalid, .* user is \"root\", and this rotad has no right to be another "
                     "user than its own; start it as root, or leave user out$")
    assert place.seen("own", "uid") == str(NOBODY.pw_uid)


@needs_root
def test_the_capabilities_are_enough(place):
    """As systemd starts it: a user of its own, with the right to switch and to kill."""
    device = place.device({"other": place.job("other", user="daemon"), "default": place.job("default")},
                          job_user="nobody")
    user = pwd.getpwnam("mail")
    place.start_as(user, device, sandbox.may_switch_as(user.pw_uid))
    assert place.seen("other", "uid") == str(pwd.getpwnam("daemon").pw_uid)
    assert place.seen("default", "uid") == str(NOBODY.pw_uid)


UNIFIED = next((pathlib.Path(line.split()[4]) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                if " - cgroup2 " in line), None)


@pytest.fixture
def delegated():
    """A group of the kernel's own, given away as systemd does it; removed after."""
    group = UNIFIED and UNIFIED / f"rota-test-{os.getpid()}"
    try:
        group.mkdir()
        os.setxattr(group, "user.delegate", b"1")
    except (OSError, AttributeError):
        pytest.skip("no control group can be made here")
    yield group

    def gone():
        for path in [*group.iterdir(), group]:
            with contextlib.suppress(OSError):
                path.rmdir()
        return not group.exists()
    wait_for(gone, 10, f"{group} is gone")


@needs_root
def test_a_control_group_that_is_shared_out(delegated, place):
    """rotad and its guards are in one group, each run in another, which goes with it."""
    (delegated / "left").mkdir()
    body = f"cat /proc/self/cgroup >'{place.out}/group'; while [ ! -e '{place.out}/go' ]; do sleep 0.05; done"
    job = {**place.job("job"), "worst_case": "30s", "params": {"command": ["/bin/sh", "-c", body]}}
    place.fleet.enter = ["/bin/sh", "-c", f'echo 0 >{delegated}/cgroup.procs; exec "$@"', "sh"]
    device = place.device({"job": job}).start()
    device.wait_line("ready as gate-1")

    def group_of(pid):
        return pathlib.Path(f"/proc/{pid}/cgroup").read_text().rpartition("0::")[2].strip()
    assert group_of(device.pid) == f"/{delegated.name}/_supervisor"
    assert not (delegated / "left").exists()
    wait_for(lambda: (place.out / "group").exists() and "\n" in (place.out / "group").read_text(), 20, "the run's group")
    assert (place.out / "group").read_text().rpartition("0::")[2].strip() == f"/{delegated.name}/job"
    assert [group_of(pid) for pid in device.guards()] == [f"/{delegated.name}/_supervisor"]
    (place.out / "go").touch()
    device.wait_line("^job: succeeded")
    wait_for(lambda: not (delegated / "job").exists(), 10, "the run's group goes with it")
    assert device.stop() == 0
