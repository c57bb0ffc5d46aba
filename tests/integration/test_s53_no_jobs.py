# SPDX-License-Identifier: MIT
"""S53: a fresh install, with no job: ready, not one packet, and nothing that could send one."""
import pathlib
import re

from fleet import ROOT
from notify import NotifySocket


def timers(pid):
    """The clock of each timer that is armed."""
    armed = []
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        text = info.read_text()
        if (clock := re.search(r"^clockid: (\d+)$", text, re.M)) and not re.search(
                r"^it_value: \(0, 0\)$", text, re.M):
            armed.append(int(clock[1]))
    return armed


def sockets(pid):
    inodes = {target[8:-1] for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()
              if (target := str(fd.readlink())).startswith("socket:")}
    tables = [f"/proc/{pid}/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6", "raw")]
    rows = [row for table in tables for row in pathlib.Path(table).read_text().splitlines()[1:]]
    return inodes, [row for row in rows if row.split()[9] in inodes]


def check_quiet(fleet, device, least_files):
    connections = fleet.client.info("stats")["total_connections_received"]
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path)
        notify.wait_for("^READY=1$", 10)
        notify.wait_for("^STATUS=no jobs yet$", 1)
        device.wait_line("no jobs yet", 5)
        # The loop sleeps: no timer will wake it, and what it listens to is signals alone.
        assert timers(device.pid) == []
        inodes, beyond = sockets(device.pid)
        assert beyond == []
        assert len(inodes) == least_files  # to the service manager, and for rotactl
        assert device.guards() == []
        assert fleet.client.info("stats")["total_connections_received"] == connections
        assert device.stop() == 0
        notify.wait_for("^STOPPING=1$", 2)
    assert fleet.client.info("stats")["total_connections_received"] == connections


def test_s53_as_installed(fleet):
    device = fleet.device(None)
    device.write_text((ROOT / "conf" / "rotad.conf").read_text())
    check_quiet(fleet, device, least_files=2)


def test_s53_with_redis_and_no_job(fleet):
    check_quiet(fleet, fleet.device({}), least_files=2)


def test_s53_only_the_watchdog_is_armed(fleet):
    device = fleet.device({})
    with NotifySocket(fleet.folder / "notify") as notify:
        device.start(NOTIFY_SOCKET=notify.path, WATCHDOG_USEC="400000")
        notify.wait_for("^WATCHDOG=1$", 10, count=4)
        assert timers(device.pid) in ([], [1])  # CLOCK_MONOTONIC; none while it is being set anew
        assert sockets(device.pid)[1] == []
