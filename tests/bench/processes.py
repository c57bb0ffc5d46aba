# SPDX-License-Identifier: MIT
"""What the kernel says of processes: the same readings for rota and for its peers."""
import os
import pathlib

from guard_harness import dirty_kib

MS_A_TICK = 1000 / os.sysconf("SC_CLK_TCK")


def stat_fields(pid):
    """Of /proc/PID/stat, from the state on: the name before it may have blanks."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_ticks(pid):
    """Of the process alone, in ticks."""
    fields = stat_fields(pid)
    return int(fields[11]) + int(fields[12])


def cpu_ms(pid):
    """Of the process, and of all below it that have ended and were waited for."""
    return sum(map(int, stat_fields(pid)[11:15])) * MS_A_TICK


def on_cpu_ms(pid):
    """Of the process's threads, to the nanosecond: for those that do next to nothing."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e6


def switches(pid):
    """How often its threads went to sleep or were made to: each is a wake-up before or after it."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith(("voluntary_ctxt", "nonvoluntary_ctxt")):
                total += int(line.split()[1])
    return total


def pss_kib(pid):
    rows = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("Pss:")))


def peak_kib(pid):
    """The most that was resident at any time."""
    rows = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("VmHWM:")))


def written(pid):
    """Bytes that it, and those below it that have ended, passed to write(2): no socket's."""
    rows = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("wchar:")))


def dirty_of(pids):
    return sum(dirty_kib(pid) for pid in pids)


def pss_of(pids):
    return sum(pss_kib(pid) for pid in pids)
