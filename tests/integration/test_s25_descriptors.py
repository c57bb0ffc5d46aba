# SPDX-License-Identifier: MIT
"""S25: what a job finds open is what the design says, and nothing of rotad's."""
import pathlib

from fleet import ONCE, SHORT

# The program's own descriptors, and those of the worker above it. To list them opens one more.
LIST = """
list() {
    for fd in $(seq 0 99); do
        [ ! -L /proc/$1/fd/$fd ] || echo "$fd $(readlink /proc/$1/fd/$fd)" >>"$2"
    done
}
list $$ "$0.program"
list $PPID "$0.worker"
tr '\\0' '\\n' </proc/$$/environ >"$0.environ"
grep -E '^Sig(Blk|Ign)' /proc/self/status >"$0.signals"
"""

# Signals 32 and 33 are glibc's own; its posix_spawn leaves them ignored.
LIBC_SIGNALS = 3 << 31


def read_table(path):
    return dict(line.split(" ", 1) for line in pathlib.Path(path).read_text().splitlines())


def test_s25_descriptors_of_a_worker(fleet, tmp_path):
    password = tmp_path / "password"
    password.write_text("sesame\n")
    password.chmod(0o600)
    fleet.client.config_set("requirepass", "sesame")
    jobs = {"list": {**SHORT, **ONCE, "worst_case": "5s", "lease": "10s",
                     **fleet.body("list", LIST)}}
    redis = {"address": fleet.redis.address, "password_file": password,
             "connect_timeout": "300ms", "command_timeout": "300ms"}
    fleet.make_due("list")
    fleet.device(jobs, redis=redis).start()
    fleet.wait_entry("end")

    script = fleet.folder / "list.sh"
    program, worker = read_table(f"{script}.program"), read_table(f"{script}.worker")
    own = [fd for fd, target in program.items() if target == str(script)]  # read by the shell
    assert sorted(set(program) - set(own)) == ["0", "1", "2"]
    assert program["0"] == "/dev/null"

    assert sorted(worker) == ["0", "1", "2", "3", "4"]
    assert worker["0"] == "/dev/null"
    assert all(table[fd].startswith("pipe:") for table, fd in (
        (program, "1"), (program, "2"), (worker, "1"), (worker, "2"), (worker, "4")))
    assert worker["3"].startswith("socket:")

    environment = read_environment(f"{script}.environ")
    assert {name for name in environment if name.startswith("ROTA_")} == {
        "ROTA_JOB", "ROTA_TURN", "ROTA_ATTEMPT", "ROTA_FENCE", "ROTA_DEADLINE"}
    assert set(environment) - {name for name in environment if name.startswith("ROTA_")} <= {
        "PATH", "HOME", "LANG", "SHELL", "USER", "LOGNAME", "PWD"}
    assert "sesame" not in str(environment)
    signals = pathlib.Path(f"{script}.signals").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in signals]
    assert len(masks) == 2 and [mask & ~LIBC_SIGNALS for mask in masks] == [0, 0]


def read_environment(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)
