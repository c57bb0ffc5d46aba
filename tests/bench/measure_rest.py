# SPDX-License-Identifier: MIT
"""What takes no quiet machine: sizes, bytes on the wire, and simulated fleets."""
import concurrent.futures
import os
import re
import subprocess
import sys

import test_bytes
from figures import Row
from fleet import BUILD, ROOT, ROTAD
from guard_harness import GUARD
from tls import MODULE, Authority

sys.path.insert(0, str(ROOT / "tests" / "sim"))
import plot  # noqa: E402

# Loaded while they are needed: for a check or a reload, for the clients of the control socket, for turns of this device
# alone, and where TLS, or more than one Redis server, is configured.
OURS = ("check", "control", "local", "topology")
MODULES = [*(BUILD / "runtime" / "supervisor" / f"librota-{name}.so" for name in OURS), MODULE]
SIM = BUILD / "tests" / "sim" / "sim"
LINKS = {"in the clear": ([], True), "by TLS, a session that Redis knows": ([], False),
         "by TLS, each handshake anew": (["--tls-session-cache-timeout", "1"], False)}
DAYS = 30


def stripped_bytes(program, folder):
    copy = folder / program.name
    subprocess.run(["strip", "-o", copy, program], check=True)
    return copy.stat().st_size


def sizes(folder):
    programs = {program.name: stripped_bytes(program, folder) for program in (ROTAD, GUARD)}
    modules = {module.name: stripped_bytes(module, folder) for module in MODULES if module.exists()}
    return [Row("rotad + rota-guard", sum(programs.values()) / 1024),
            *(Row(name, size / 1024) for name, size in {**programs, **modules}.items())]


def day_of(options, clear):
    """(bytes of a device-day, the arithmetic) on one kind of link."""
    with Authority() as ca, test_bytes.counted(test_bytes.usual_server(ca, *options), ca, clear) as link:
        pieces = test_bytes.measure_closed(link)
    parts = {kind: (piece.bytes, test_bytes.MONTH[kind] / DAYS) for kind, piece in pieces.items()}
    return (sum(size * times for size, times in parts.values()),
            " + ".join(f"{times:.2f} × {size:,} ({kind})" for kind, (size, times) in parts.items()))


def wire(links):
    """The links side by side: bytes do not depend on how busy the machine is."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        days = {name: threads.submit(day_of, *how) for name, how in links.items()}
        return [Row(f"rota, {name}", day.result()[0], day.result()[1]) for name, day in days.items()]


def simulated():
    """Mean and p99 of each size, which are two values: the simulator's own table."""
    table = subprocess.run([SIM, "--table"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [row for row in plot.read_rows(table.splitlines()) if row[0] >= 10]


def tables(world):
    world.log("sizes, bytes on the wire, and simulated fleets")
    links = LINKS if world.scale >= 1 else dict(list(LINKS.items())[:1])
    if os.geteuid() != 0:
        links = {}
        world.missing["rota's bytes on the wire"] = "only root sees packets"
    rows = simulated()
    names = [f"rota, {int(row[0]):,} simulated" for row in rows]
    world.versions["redis-server"] = re.search(r"v=(\S+)", subprocess.run(
        ["redis-server", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]
    return {
        "size": sizes(world.folder), "wire": wire(links),
        "sim_commands": [Row(name, row[1], f"p99 {row[2]:g}") for name, row in zip(names, rows)],
        "sim_late": [Row(name, row[3] * 1000, f"p99 {row[4] * 1000:g}") for name, row in zip(names, rows)],
        "sim_takeover": [Row(name, row[5], f"p99 {row[6]:g}") for name, row in zip(names, rows)],
    }
