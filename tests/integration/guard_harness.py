# SPDX-License-Identifier: MIT
"""Plays the supervisor for a real rota-guard: frames over a socket pair, by the format in ipc/frame.h."""
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import valgrind

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"))
GUARD = BUILD / "runtime" / "guard" / "rota-guard"
EXEC = BUILD / "plugins" / "exec.so"
SANITIZED = bool(valgrind.FOLDER) or (GUARD.exists() and b"__asan_init" in GUARD.read_bytes())

START, DEADLINE, STOP, PROBE = 1, 2, 3, 4
STARTED, OUTPUT, LOG, PROGRESS, ENDED, PROBED = 64, 65, 66, 67, 68, 69
RETURNED, EXITED, SIGNALLED, UNLOADABLE, UNSTARTED = 1, 2, 3, 4, 5
STOP_NONE, STOP_OVERRUN, STOP_DEADLINE, STOP_ORDERED = 0, 1, 2, 3
SUCCEEDED, NOTHING, FAILED, REFUSED, DECLINED, LOST = 0, 1, 2, 3, 4, 5

HEADER = struct.Struct("=4sHHI")
FIELD = struct.Struct("=HHI")
PARAM_NAME, PARAM_KIND, PARAM_TEXT, PARAM_ITEM = 40, 41, 42, 43
ERROR_PARAM, ERROR_TEXT = 50, 51

TAGS = {
    START: ["plugin_path", "job", "device", "turn_ms", "fence", "attempt", "attempts",
            "worst_case_ms", "stop_grace_ms", "margin_ms", "deadline", "purpose", "switch_user",
            "uid", "gid", "user", "home", "output_lines", "max_runtime_ms"],
    DEADLINE: ["deadline"],
    STOP: ["reason"],
    PROBE: ["plugin_path", "job", "index", "switch_user", "uid", "gid", "user", "home"],
    STARTED: ["worker_pid", "started", "unapplied"],
    OUTPUT: ["stream", "text", "dropped"],
    LOG: ["level", "text"],
    PROGRESS: ["permille", "text"],
    ENDED: ["how", "stop", "reason", "result", "code", "clean", "killed", "leftovers", "ran_ms",
            "detail"],
    PROBED: ["index", "loaded", "name", "version", "summary"],
}
TEXTS = {"plugin_path", "job", "device", "user", "home", "text", "detail", "name", "version",
         "summary", "unapplied"}
# What START and PROBE have in common; the first two once for each element of a list.
SETUP = ["groups", "environment", "apart", "working_dir", "memory", "cpu_time_ms", "open_files", "processes", "file_size",
         "core", "no_network", "cgroup", "credentials"]
SETUP_FIRST = 60


def boot_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000


def field(tag, value):
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, (int, bool)):
        value = struct.pack("=q", value)
    return FIELD.pack(tag, 0, len(value)) + value


def param_fields(params):
    """Values as a conf file has them: a float as the text that was written."""
    out = b""
    for name, value in params.items():
        out += field(PARAM_NAME, name)
        if isinstance(value, bool):
            out += field(PARAM_KIND, 4) + field(PARAM_TEXT, "true" if value else "false")
        elif isinstance(value, list):
            out += field(PARAM_KIND, 5) + b"".join(field(PARAM_ITEM, item) for item in value)
        else:
            kind = {str: 1, int: 2, float: 3}[type(value)]
            out += field(PARAM_KIND, kind) + field(PARAM_TEXT, str(value))
    return out


def pack(kind, values, params=None):
    body = b""
    for name, value in values.items():
        tag = SETUP_FIRST + SETUP.index(name) if name in SETUP else TAGS[kind].index(name) + 1
        body += b"".join(field(tag, one) for one in (value if isinstance(value, list) else [value]) if one is not None)
    body += param_fields(params or {})
    return HEADER.pack(b"ROTA", 1, kind, len(body)) + body


def unpack(packet):
    magic, version, kind, length = HEADER.unpack_from(packet)
    assert magic == b"ROTA" and version == 1 and length == len(packet) - HEADER.size
    values, at, index = {"type": kind, "errors": []}, HEADER.size, -1
    while at < len(packet):
        tag, zero, size = FIELD.unpack_from(packet, at)
        data = packet[at + FIELD.size:at + FIELD.size + size]
        at += FIELD.size + size
        if tag == ERROR_PARAM:
            index = struct.unpack("=q", data)[0]
        elif tag == ERROR_TEXT:
            values["errors"].append((index, data[:-1].decode()))
        else:
            name = TAGS[kind][tag - 1]
            values[name] = data[:-1].decode(errors="replace") if name in TEXTS \
                else struct.unpack("=q", data)[0]
    return values


def wait_until(condition, seconds, what="the condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError(f"{what} did not come true within {seconds} s")


def is_alive(pid):
    """A zombie is not alive."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def all_gone(pids):
    return not any(map(is_alive, pids))


def pids_of(note):
    """The numbers that a test plugin wrote there."""
    return [int(line) for line in note.read_text().split()]


def dirty_kib(pid, whose="Private"):
    """What it has written of its memory, and shares with nobody, or with others ("Shared")."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith(f"{whose}_Dirty:")))


def written_back(*paths):
    """What was just built may still wait to be written, and would count as dirty."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def descendants(root):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="latin-1") as stat:
                    parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    found, grown = {root}, True
    while grown:
        new = {pid for pid, parent in parents.items() if parent in found} - found
        found |= new
        grown = bool(new)
    return found - {root}


class Guard:
    """One rota-guard process. Use it as a context: at its end the process is gone."""

    def __init__(self, mode="--run", send_buffer=None, prefix=(), program=GUARD):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if send_buffer:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        command = [*prefix, *valgrind.PREFIX, str(program), mode] + (["test"] if mode == "--run" else [])
        # bash, since dash knows no descriptor above 9.
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{theirs.fileno()}', *command],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.frames = []
        self.worker = None
        self.unapplied = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.socket:
            self.socket.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            for pid in descendants(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            raise

    def send(self, kind, params=None, **values):
        self.socket.send(pack(kind, values, params))

    def start(self, plugin, params=None, worst_case_ms=20000, stop_grace_ms=500, margin_ms=250,
              deadline_in_ms=None, **values):
        """Without a deadline of its own a run gets its whole budget, as a short job does."""
        if deadline_in_ms is None:
            deadline_in_ms = 1000 + worst_case_ms + stop_grace_ms
        self.deadline = boot_ms() + deadline_in_ms
        fields = {"plugin_path": str(plugin), "job": "nightly", "device": "gate-1",
                  "turn_ms": 1795967400000, "fence": 7, "attempt": 1, "attempts": 3,
                  "worst_case_ms": worst_case_ms, "stop_grace_ms": stop_grace_ms,
                  "margin_ms": margin_ms, "deadline": self.deadline, "purpose": 1,
                  "switch_user": 0, "uid": 0, "gid": 0, "output_lines": 20}
        fields.update(values)
        self.send(START, params, **fields)
        return self

    def probe(self, plugin, params=None, index=0, seconds=10, **values):
        self.send(PROBE, params, plugin_path=str(plugin), job="nightly", index=index, **values)
        return self.next(PROBED, seconds)

    def receive(self, seconds):
        """The next frame; None at end of file."""
        if not select.select([self.socket], [], [], seconds)[0]:
            raise AssertionError(f"the guard said nothing for {seconds} s; before: {self.frames[-5:]}")
        try:
            packet = self.socket.recv(1 << 20)
        except ConnectionResetError:  # it left with a packet unread; what it said comes after that
            packet = self.socket.recv(1 << 20)
        if not packet:
            return None
        frame = unpack(packet)
        self.frames.append(frame)
        if frame["type"] == STARTED:
            self.worker = frame["worker_pid"]
            self.unapplied = frame.get("unapplied", "")
        return frame

    def next(self, kind, seconds=10):
        end = time.monotonic() + seconds
        while True:
            frame = self.receive(max(0, end - time.monotonic()))
            if frame is None:
                raise AssertionError(f"end of file before type {kind}; before: {self.frames[-5:]}")
            if frame["type"] == kind:
                return frame

    def ready(self, seconds=10):
        """The test plugins log "ready" once what is tested stands."""
        while self.next(LOG, seconds)["text"] != "ready":
            pass

    def ended(self, seconds=15):
        frame = self.next(ENDED, seconds)
        assert self.process.wait(5) == 0
        return frame

    def lines(self, stream=1):
        return [f["text"] for f in self.frames if f["type"] == OUTPUT and f["stream"] == stream]

    def close(self):
        self.socket.close()
        self.socket = None


def run(plugin, params=None, seconds=15, **values):
    """One whole run. The ENDED frame, and the guard for what it said before."""
    with Guard() as guard:
        return guard.start(plugin, params, **values).ended(seconds), guard


def compile_plugin(folder, source, name=None, defines=(), flags=(), compiler=("cc",)):
    """With the system's compiler, as an author would. The path of the file."""
    out = Path(folder) / f"{name or Path(source).stem}.so"
    subprocess.run([*compiler, "-shared", "-fPIC", "-O1", "-w", "-D_GNU_SOURCE", "-pthread",
                    f"-I{ROOT}/plugins/include", *[f"-D{d}" for d in defines], *flags,
                    str(source), "-o", str(out)], check=True)
    return out


def compile_text(folder, name, text, **options):
    """The same of C source that a test has written itself."""
    source = Path(folder) / f"{name}.c"
    source.write_text(text)
    return compile_plugin(folder, source, **options)


def preloaded(folder, name, text):
    """A program's prefix: it runs with the functions that the C source defines."""
    return ["env", f"LD_PRELOAD={compile_text(folder, name, text)}"]


PLUGINS = Path(__file__).resolve().parent / "plugins"
