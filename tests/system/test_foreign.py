# SPDX-License-Identifier: MIT
"""arm64 and armhf, built on amd64: unit tests, the simulator and a run under the lock, by qemu."""
import contextlib
import platform
import re
import subprocess
import uuid

import pytest

import packages
import roots
from machine import Layer

SECONDS = 1200
# The first bytes of a program: what it is for is the machine's, and which bits of them count.
MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"


class Machine:
    def __init__(self, architecture, triplet, processor, qemu, bits, number):
        self.architecture, self.triplet, self.processor, self.qemu = architecture, triplet, processor, qemu
        self.number = number  # e_machine of ELF
        self.magic = rf"\x7fELF\x0{bits // 32}\x01\x01" + r"\x00" * 9 + rf"\x02\x00\x{number:02x}\x00"

    def environment(self):
        return [f"ROTA_TRIPLET={self.triplet}", f"ROTA_PROCESSOR={self.processor}", f"ROTA_QEMU={self.qemu}"]


MACHINES = [Machine("arm64", "aarch64-linux-gnu", "aarch64", "qemu-aarch64", 64, 183),
            Machine("armhf", "arm-linux-gnueabihf", "armv7l", "qemu-arm", 32, 40)]
# Registers the entry $1 by the line $2, says so, and takes it back at the end of its input: when we are done with it,
# and when we were killed. Whatever others have registered stays as it is.
REGISTER = """
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && cd /proc/sys/fs/binfmt_misc || exit 1
printf %s "$2" >register || exit 1
echo registered
cat
echo -1 >"$1"
"""


@contextlib.contextmanager
def kernel_starts(machine, qemu):
    """Its programs, for as long as it lasts: by that qemu, wherever the program is."""
    name = f"rota-{uuid.uuid4().hex}"
    # A session of its own: what ends us from the terminal does not end it.
    line = f":{name}:M::{machine.magic}:{MASK}:{qemu}:PF"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", REGISTER, "sh", name, line],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as keeper:
        assert keeper.stdout.readline() == "registered\n", "the kernel was not told of qemu"
        yield
    assert keeper.returncode == 0, "the kernel still knows of qemu"


def machine_of(path):
    """What a program is for, by its ELF header; None where it is none."""
    head = path.read_bytes()[:20]
    return int.from_bytes(head[18:20], "little") if head[:4] == b"\x7fELF" else None


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="arm64 and armhf are built on amd64")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.architecture)
def test_units_pass_and_a_job_runs_under_the_lock(ground, tmp_path, machine):
    layer = Layer(roots.root(f"trixie-{machine.architecture}"))
    try:
        packages.copy_tree(layer.path / "src")
        with kernel_starts(machine, layer.path / "usr/bin" / machine.qemu):
            ended = packages.in_root(layer, "env", *machine.environment(), "sh", "-c",
                                     "/src/tests/system/foreign.sh >/log 2>&1", seconds=SECONDS)
        log = (layer.path / "log").read_text(errors="replace")
        assert ended == 0, log[-6000:]
        assert int(re.search(r"0 tests failed out of (\d+)", log)[1]) > 50
        # The job itself saw the lock, with this device's token in it.
        assert re.search(r"\ba\| gate-1:[0-9a-f]{32}$", log, re.M), log[-3000:]
        [deb] = (layer.path / "build/packages").glob(f"rota_*_{machine.architecture}.deb")
        subprocess.run(["dpkg-deb", "-R", deb, tmp_path], check=True)
        [plugins] = (layer.path / "build/packages").glob("rota-plugin-postgresql_*.deb")
        subprocess.run(["dpkg-deb", "-R", plugins, tmp_path / "postgresql"], check=True)
    finally:
        layer.close()
    fields = (tmp_path / "DEBIAN/control").read_text()
    assert f"Architecture: {machine.architecture}" in fields
    assert all(name in fields for name in ("libc6", "libhiredis", "libconfig", "libsystemd0")), fields
    assert "libpq5" in (tmp_path / "postgresql/DEBIAN/control").read_text()
    # qemu has read them.
    assert {"pg_fenced.description", "pg_queue.description"} <= {
        path.name for path in (tmp_path / "postgresql/usr/lib/rota").iterdir() if path.stat().st_size > 0}
    machines = {path.name: machine_of(path) for path in tmp_path.rglob("*") if path.is_file() and machine_of(path)}
    assert set(machines.values()) == {machine.number}, machines
    assert {"rotad", "rota-guard", "rotactl", "librota-check.so", "librota-control.so", "librota-local.so",
            "librota-topology.so", "exec.so", "pg_fenced.so", "pg_queue.so"} <= set(machines), machines
