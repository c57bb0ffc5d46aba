# SPDX-License-Identifier: MIT
"""The control socket: who is let in, and clients that stall, flood or send rubbish, which nobody else notices."""
import contextlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import pytest

from fire import use_guard
from fleet import ONCE, RENEWED, ROTAD, SANITIZED, SHORT, SLOWNESS, wait_for
from rotactl import GREETING, Raw, begin, folder_of, method_call, rotactl, socket_of, wait_started

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="other users are root's to become")
MEASURES = pytest.mark.skipif(SANITIZED, reason="a sanitizer's memory is its own")
READERS, CHANGERS, OTHERS = 4201, 4202, 4203
# An /etc/group of the device's own.
ENTER = "mount --bind \"$0\" /etc/group && exec \"$@\""
CLIENTS_OF_ONE = 4


def as_user(uid, group, *more):
    groups = f"--groups={','.join(map(str, more))}" if more else "--clear-groups"
    return ["setpriv", f"--reuid={uid}", f"--regid={group}", groups]


@pytest.fixture
def device(fleet):
    """One with a job that waits, which anybody can reach."""
    os.chmod(fleet.folder, 0o755)
    groups = fleet.folder / "group"
    groups.write_text("root:x:0:\nbroken\n:x:7:\n\nrota-adm:x:4203:\n"
                      f"many:x:77:{','.join(f'member{i}' for i in range(200))}\n"
                      f"rota:x:{READERS}:\nrota-admin::{CHANGERS}:somebody,else\n")
    if os.geteuid() == 0:
        fleet.enter = ["unshare", "--mount", "sh", "-c", ENTER, str(groups)]
    return wait_started(fleet.device({"report": {**RENEWED, **ONCE, **fleet.body("report")}}).start())


def with_long_answers(fleet):
    """One that says of each of its hundred jobs what is wrong: some 20 KiB."""
    jobs = {f"job_{i:03}": {**SHORT, "every": "1d", "plugin": "exce", **fleet.body("any")} for i in range(100)}
    return wait_started(fleet.device(jobs).start())


def memory_kib(device, what):
    rows = pathlib.Path(f"/proc/{device.pid}/smaps_rollup").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith(f"{what}:")))


def answers(device):
    done = rotactl(device, "status")
    assert done.returncode in (0, 1) and done.stderr == ""  # 1: of jobs that have a mistake
    return done.stdout


# --- what there is ---

def test_it_can_be_introspected(device):
    with Raw(device) as client:
        client.send(method_call("Introspect", "org.freedesktop.DBus.Introspectable"))
        said = client.receive_until(b"</node>")
    for word in (b'"rota.Control1"', b'"Status"', b'"Past"', b'"Turns"', b'"Reload"', b'"Drain"', b'"HandOver"',
                 b'"Undrain"', b'name="good"'):
        assert word in said


def test_a_message_may_come_with_the_greeting_or_byte_by_byte(device):
    whole = GREETING + method_call("Status")
    with Raw(device, whole) as client:
        client.receive_until(b"report")
    with Raw(device, b"") as client:
        for i in range(len(whole)):
            client.send(whole[i:i + 1])
        client.receive_until(b"report")


def test_a_socket_that_was_removed_is_made_anew(device):
    """By a signal, since nobody can ask for it; whoever is there already stays, and so does a socket."""
    path = pathlib.Path(socket_of(device))
    with Raw(device, GREETING + method_call("Status")) as client:
        client.receive_until(b"report")
        path.unlink()
        assert rotactl(device, "status").returncode == 2
        device.signal(signal.SIGHUP)
        wait_for(path.exists, 5 * SLOWNESS, "there is a socket again")
        first = path.stat().st_ino
        assert "report" in answers(device)
        device.wait_line("reloaded: 1 job")
        device.signal(signal.SIGHUP)
        device.wait_line("reloaded: 1 job", count=2)
        assert path.stat().st_ino == first
        client.send(method_call("Status", serial=2))
        client.receive_until(b"report")


# --- the module that answers ---

NO_PART = "rotactl: rotad does not answer at {folder}/control: a part of rotad is missing; its journal says which\n"


@pytest.fixture
def module(fleet):
    """One whose programs are its own; the module is not there yet."""
    device = fleet.device({"report": {**RENEWED, **ONCE, **fleet.body("report")}})
    file = use_guard(device).parent.parent / "supervisor" / "librota-control.so"
    file.unlink()
    device.module = file
    return wait_started(device.start())


def is_loaded(device):
    return "librota-control.so" in pathlib.Path(f"/proc/{device.pid}/maps").read_text()


def says_that_a_part_is_missing(device):
    done = rotactl(device, "status")
    return (done.returncode, done.stdout, done.stderr) == (2, "", NO_PART.format(folder=folder_of(device)))


def test_it_is_loaded_for_the_first_client(device):
    assert not is_loaded(device)
    device.signal(signal.SIGHUP)
    device.wait_line("reloaded: 1 job")
    assert not is_loaded(device)
    answers(device)
    assert is_loaded(device)


def test_without_its_module_it_says_so_once_and_tries_again(module):
    """Clients are told so in time, all else works, and it needs no restart."""
    for _ in range(3):
        assert says_that_a_part_is_missing(module)
    with Raw(module, b"") as client:
        assert client.receive_until(b"ERROR\r\n").startswith(b"ERROR")
    said, = module.lines("rotactl cannot ask")
    assert (said.level, said.text) == ("error", f"rotactl cannot ask: {module.module}: No such file or directory; restart "
                                       "rotad, or install all of rota again")
    module.signal(signal.SIGHUP)
    module.wait_line("reloaded: 1 job")
    shutil.copy(ROTAD.parent / module.module.name, module.module)
    assert "report" in answers(module)


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_a_module_of_another_build_is_not_used(module, tmp_path, version):
    """None: of this version, with other structs."""
    said = subprocess.run([ROTAD, "--version"], check=True, capture_output=True, text=True).stdout
    source = tmp_path / "other.c"
    source.write_text(f"""
        static void act(void) {{ __builtin_trap(); }}
        const struct {{ const char *version; unsigned layout; void (*act[5])(void); }} rota_control =
            {{ "{version or said.split()[1]}", 1, {{ act, act, act, act, act }} }};
    """)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", module.module, source], check=True)
    assert says_that_a_part_is_missing(module)
    module.wait_line("rotactl cannot ask: the module is of another build; restart rotad, or install all of rota again")


def test_a_module_that_others_may_write_is_not_loaded(module):
    shutil.copy(ROTAD.parent / module.module.name, module.module)
    module.module.chmod(0o666)
    assert says_that_a_part_is_missing(module)
    module.wait_line("can be changed by everybody; chmod it go-w")
    assert not is_loaded(module)


# --- who is let in ---

@AS_ROOT
@pytest.mark.parametrize("who, reads, changes", [
    (as_user(4301, OTHERS), 77, 77),
    (as_user(4301, OTHERS, READERS), 0, 77),
    (as_user(4301, READERS), 0, 77),
    (as_user(4301, OTHERS, CHANGERS), 0, 0),
    (as_user(4301, CHANGERS, OTHERS, 7, 77), 0, 0),
    (as_user(4301, OTHERS, READERS, CHANGERS), 0, 0),
    ([], 0, 0),
], ids=["stranger", "reader", "reader by its own group", "changer", "changer by its own group", "both", "root"])
def test_who_may_do_what(device, who, reads, changes):
    seen = rotactl(device, "status", enter=who)
    assert seen.returncode == reads
    assert ("report" in seen.stdout) == (reads == 0)
    changed = rotactl(device, "undrain", enter=who)
    assert changed.returncode == changes
    if reads:
        assert seen.stderr == ("rotactl: rotad answers root, its own user and the groups rota and rota-admin; "
                               "you are none of them\n")
    elif changes:
        assert changed.stderr == ("rotactl: only root, rotad's own user and the group rota-admin may change what "
                                  "rotad does\n")


SPEAK = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
got = b""
try:
    client.sendall(b"\\0AUTH EXTERNAL\\r\\nDATA\\r\\nBEGIN\\r\\n")
except BrokenPipeError:
    pass
try:
    while more := client.recv(4096):
        got += more
except ConnectionResetError:
    pass
print(got)
"""
HOLD = """
import socket, sys, time
held = [socket.socket(socket.AF_UNIX) for _ in range(10)]
for client in held:
    client.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
KNOCK = """
import socket, sys
held = []
try:
    while True:
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].setblocking(False)
        held[-1].connect(sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
sys.stdin.read()
"""


@AS_ROOT
def test_a_stranger_cannot_speak(device):
    done = subprocess.run([*as_user(4301, OTHERS), "/usr/bin/python3", "-c", SPEAK, str(socket_of(device))],
                          capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.startswith("b'REJECTED") and "OK" not in done.stdout


def test_only_so_many_calls_of_one_client_wait(device):
    """Calls that wait: a fifth of one client is refused, and the four are answered."""
    device.write_text(device.conf.read_text() + "wrong = 1;\n")
    with Raw(device) as client:
        client.send(b"".join(method_call("Reload", serial=i) for i in range(1, 6)))
        got = client.receive_until(b"org.freedesktop.DBus.Error.LimitsExceeded")
        while got.count(b"the old configuration stays") < 4:
            got += client.socket.recv(65536)
    assert "report" in answers(device)


# --- those without manners ---

def header(body, fields, version=1):
    """Of a method call, which says that so many bytes follow."""
    return struct.pack("<BBBBIII", ord("l"), 1, 0, version, body, 1, fields)


def is_dropped(client):
    client.socket.settimeout(5 * SLOWNESS)
    return client.is_dropped()


@pytest.mark.parametrize("rubbish", [
    b"GET / HTTP/1.0\r\n\r\n",
    b"\0" + b"A" * 4096,
    b"\0AUTH EXTERNAL\r\n" * 100,
    b"\0BEGIN\r\n",
    b"\0AUTH EXTERNAL\r\nDATA zz\r\nBEGIN\r\n",
    b"\0AUTH EXTERNAL\r\nDATA\r\nX\nBEGIN\r\n",
    GREETING + b"\0" * 64,
    GREETING + b"l" + b"\xff" * 64,
    GREETING + header(64 << 20, 16) + b"\0" * 64,
    GREETING + header(0, 64 << 20) + b"\0" * 64,
    GREETING + header(0, 16, version=9) + b"\0" * 64,
    GREETING + method_call("Status")[:-8] + b"\xff" * 64,
], ids=["http", "a long line", "many greetings", "no greeting", "a bad greeting", "a broken line", "zeros", "ones",
        "a large body", "large fields", "another version", "a broken string"])
def test_rubbish_is_dropped(device, rubbish):
    with Raw(device, b"") as client:
        client.send_what_fits(rubbish)
        assert is_dropped(client)
    assert "report" in answers(device)


@MEASURES
def test_a_large_message_is_not_read(device):
    before = memory_kib(device, "Rss")
    with Raw(device) as client:
        client.receive_until(b"OK")
        client.send(header(100 << 20, 16))
        assert client.send_what_fits(b"\0" * (16 << 20)) < 1 << 20
    assert memory_kib(device, "Rss") - before < 1024
    assert "report" in answers(device)


@MEASURES
@pytest.mark.parametrize("begin_with", [b"\0BEGIN\r\n", b"\0AUTH EXTERNAL\r\nDATA\r\nX\nBEGIN\r\n"],
                         ids=["no greeting", "a broken line"])
def test_a_large_message_in_a_small_one_is_not_read(device, begin_with):
    """What the bus takes for its greeting, and the gate for a message, holds a greeting and a header of the bus's."""
    inner = b"\r\n" + GREETING[1:] + header(100 << 20, 16)
    small = header(len(inner), 0) + inner
    filler = header(8192 - 16, 0) + b"\0" * (8192 - 16)
    before = memory_kib(device, "Rss")
    with Raw(device, b"") as client:
        client.send_what_fits(begin_with + small + filler * 1000)
        assert memory_kib(device, "Rss") - before < 1024
        assert is_dropped(client)
    assert "report" in answers(device)


@MEASURES
def test_a_flood_that_reads_nothing_is_not_answered_for_ever(device):
    """Its calls stay where they are: in its own socket."""
    before = memory_kib(device, "Rss")
    with contextlib.ExitStack() as stack:
        for _ in range(CLIENTS_OF_ONE - 1):
            client = stack.enter_context(Raw(device))
            client.send_what_fits(method_call("Status") * 40000)
        assert memory_kib(device, "Rss") - before < 2048
        assert "report" in answers(device)


def test_who_asks_for_more_than_fits_is_answered_while_it_reads(fleet):
    """All calls first, then all answers, of some 20 KiB each: none is dropped for it."""
    device = with_long_answers(fleet)
    with Raw(device) as client:
        client.receive_until(b"OK")
        client.send(method_call("Status") * 100)
        last, left = b"", 100
        while left > 0:
            more = client.socket.recv(65536)
            assert more, f"{left} answers are missing"
            left -= (last + more).count(b"job_099") - last.count(b"job_099")
            last = more[-6:]


def test_a_flood_delays_no_run(fleet):
    tick = {**SHORT, "every": "1s", "attempts": 1, **fleet.body("tick")}
    device = wait_started(fleet.device({"tick": tick}).start())
    flood = method_call("Status") * 20
    fleet.wait_entry("begin", "tick", count=2)
    with Raw(device) as client:
        client.socket.setblocking(False)
        count = len(fleet.entries("begin", "tick"))

        def pour():
            with contextlib.suppress(BlockingIOError):
                client.socket.send(flood)
            with contextlib.suppress(BlockingIOError):
                assert client.socket.recv(1 << 20)
            return len(fleet.entries("begin", "tick")) >= count + 4
        wait_for(pour, 15, "four turns are run in a flood")
    turns = fleet.runs("tick")
    late = [entry.at - entry.turn for entry in fleet.entries("begin", "tick")[count:]]
    assert turns == sorted(set(turns)) and max(late) < 1000 * SLOWNESS


def test_silent_clients_take_only_their_own_places(device):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(Raw(device, b"")) for _ in range(CLIENTS_OF_ONE)]
        refused = rotactl(device, "status")
        assert refused.returncode == 2
        assert "it has ended, or has as many callers as it takes" in refused.stderr
        silent[0].socket.close()
        assert "report" in answers(device)


@AS_ROOT
def test_silent_readers_do_not_lock_root_out(device):
    """Nor do many of them, who have more places together than there are."""
    with contextlib.ExitStack() as stack:
        for uid in range(4301, 4306):
            readers = stack.enter_context(subprocess.Popen(
                [*as_user(uid, OTHERS, READERS), "/usr/bin/python3", "-c", HOLD, str(socket_of(device))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(readers.stdin.close)
            assert readers.stdout.readline() == "held\n"
        late = rotactl(device, "status", enter=as_user(4310, OTHERS, READERS))
        assert late.returncode == 2 and "has as many callers as it takes" in late.stderr
        assert "report" in answers(device)


@AS_ROOT
def test_who_finds_the_door_full_waits_for_a_place(device):
    """Anybody may knock, and the kernel keeps only so many: strangers must not turn root away."""
    device.signal(signal.SIGSTOP)
    with subprocess.Popen([*as_user(4301, OTHERS), "/usr/bin/python3", "-c", KNOCK, str(socket_of(device))],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as strangers:
        assert strangers.stdout.readline() == "full\n"
        with begin(device, "status") as root:
            wait_for(lambda: pathlib.Path(f"/proc/{root.pid}/stat").read_text().split()[2] in "SZ", 10, "it waits")
            device.signal(signal.SIGCONT)
            said, wrong = root.communicate(timeout=20 * SLOWNESS)
        strangers.stdin.close()
    assert (root.returncode, wrong) == (0, "") and "report" in said


@pytest.mark.long
def test_an_idle_client_is_dropped_and_one_that_waits_is_not(fleet):
    fleet.make_due("report")
    device = fleet.device({"report": {**RENEWED, **ONCE, "worst_case": "2m", **fleet.body("report", "sleep 40")}})
    wait_started(device.start())
    fleet.wait_entry("begin")
    drain = begin(device, "drain")
    with Raw(device) as client:
        client.receive_until(b"OK")
        client.socket.settimeout(40 * SLOWNESS)
        assert client.is_dropped()
    assert drain.poll() is None
    assert drain.wait(30 * SLOWNESS) == 0
    drain.communicate()


# --- what it costs ---

@MEASURES
def test_memory_comes_back(fleet):
    """What two floods take is given back. The first is not counted: what the libraries keep of it they use again, and
    heap pages are left with a piece in use here and there."""
    device = with_long_answers(fleet)
    folder = pathlib.Path(f"/proc/{device.pid}/fd")

    def flood():
        for _ in range(20):
            assert "job_099" in answers(device)
        with contextlib.ExitStack() as stack:
            for _ in range(CLIENTS_OF_ONE):
                stack.enter_context(Raw(device)).send(method_call("Status") * 500)

    assert "job_099" in answers(device)
    open_before = len(list(folder.iterdir()))
    # One more: sd-event keeps a timer that it has once needed, for the clock by which it slows a flood down.
    closed = lambda: len(list(folder.iterdir())) <= open_before + 1  # noqa: E731
    flood()
    wait_for(closed, 10, "what was opened is closed")
    before = memory_kib(device, "Anonymous")
    flood()
    flood()
    wait_for(closed, 10, "what was opened is closed")
    wait_for(lambda: memory_kib(device, "Anonymous") - before <= 32, 10, "the memory is given back")


@MEASURES
def test_no_wake_up_without_a_client(device):
    assert "report" in answers(device)

    def switches():
        text = pathlib.Path(f"/proc/{device.pid}/status").read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if "ctxt_switches" in line)
    wait_for(lambda: "redis ok" in answers(device), 10, "it is idle")
    last = [switches(), time.monotonic()]

    def quiet():
        if switches() != last[0]:
            last[:] = [switches(), time.monotonic()]
        return time.monotonic() - last[1] > 3
    wait_for(quiet, 30, "it sleeps for three seconds")
