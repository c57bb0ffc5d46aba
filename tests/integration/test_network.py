# SPDX-License-Identifier: MIT
"""network = false: nothing but loopback, by the guard's right or without one; else the job does not run."""
import json
import signal
import socket

import guard_harness as h
import pytest
import sandbox
from guard_harness import Guard
from sandbox import AS_OTHER, AS_STRANGER, OTHER, needs_root

pytestmark = needs_root

LOOK = r"""
import json, socket, sys
def reach(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return "reached"
    except OSError as why:
        return type(why).__name__
status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
server = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"interfaces": sorted(name for _, name in socket.if_nameindex()), "outside": reach(int(sys.argv[1])),
                  "inside": reach(server.getsockname()[1]), "capabilities": int(status["CapEff"], 16),
                  "uid": int(status["Uid"].split()[0]), "dumpable": open("/proc/self/environ").read(1) != ""}))
"""
WITHOUT_RIGHT = ["setpriv", "--bounding-set=-sys_admin"]
# Root of a user namespace in which no other can be made, and without the right to a network namespace.
NEITHER = ["unshare", "--user", "--map-root-user", "sh", "-c",
           'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "$@"', "sh"]


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def look(place, port, **values):
    ended, _, lines = place.python(LOOK, port, **values)
    assert ended["result"] == h.SUCCEEDED, ended
    return json.loads(lines[0])


def test_a_job_has_the_network(place, port):
    assert look(place, port, **AS_STRANGER)["outside"] == "reached"


@pytest.mark.parametrize("prefix,values", [((), AS_STRANGER), (WITHOUT_RIGHT, AS_STRANGER), (AS_OTHER, {}),
                                           (WITHOUT_RIGHT, {})],
                         ids=["by right", "without right", "as an ordinary user", "as root without right"])
def test_nothing_but_loopback(place, port, prefix, values):
    seen = look(place, port, **values, no_network=1, prefix=prefix)
    assert (seen["interfaces"], seen["outside"], seen["inside"]) == (["lo"], "ConnectionRefusedError", "reached")
    assert seen["capabilities"] == 0
    assert seen["uid"] == (values.get("uid") or (OTHER if prefix is AS_OTHER else 0))


def test_sockets_in_the_file_system_are_reached(place):
    path = place.open / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        _, _, lines = place.python("import socket, sys\nsocket.socket(socket.AF_UNIX).connect(sys.argv[1])\nprint('reached')\n",
                                   path, **AS_STRANGER, no_network=1)
    assert lines == ["reached"]


@pytest.mark.parametrize("prefix", [(), WITHOUT_RIGHT], ids=["by right", "without right"])
def test_a_workers_memory_is_closed_and_it_dies_with_its_guard(place, prefix):
    """Both are lost on the way into a user namespace."""
    _, guard = run_surroundings(place, prefix)
    assert "dumpable 0" in guard.lines() and "nnp 1" in guard.lines()
    with Guard(prefix=prefix, program=place.guard) as guard:
        guard.start(place.behave, {"as": "defiant", "file": str(place.open / "pids")}, **AS_STRANGER, apart=1,
                    no_network=1).ready()
        guard.process.kill()
        h.wait_until(lambda: not h.is_alive(guard.worker), 2, "the worker's end")


@pytest.mark.parametrize("prefix", [(), WITHOUT_RIGHT, sandbox.may_switch_as(OTHER)],
                         ids=["by right", "without right", "not root"])
def test_it_ends_itself_where_its_guard_is_stopped(place, prefix):
    """Its timer comes with it. The guard's own is long after."""
    with Guard(prefix=prefix, program=place.guard) as guard:
        guard.start(place.behave, {"as": "defiant", "file": str(place.open / "stopped")}, **AS_STRANGER, no_network=1,
                    deadline_in_ms=3000, margin_ms=60000).ready()
        guard.process.send_signal(signal.SIGSTOP)
        h.wait_until(lambda: not h.is_alive(guard.worker), 10, "the worker's end")
        assert h.boot_ms() >= guard.deadline
        guard.process.send_signal(signal.SIGCONT)
        assert guard.ended()["clean"] == 1


def run_surroundings(place, prefix):
    with Guard(prefix=prefix, program=place.guard) as guard:
        return guard.start(place.behave, {"as": "surroundings"}, **AS_STRANGER, no_network=1).ended(), guard


def test_where_neither_way_is_open_it_does_not_run(place):
    ran = place.open / "ran"
    with Guard(prefix=NEITHER, program=place.guard) as guard:
        ended = guard.start(place.exec, {"command": ["/usr/bin/touch", str(ran)]}, no_network=1).ended()
    assert ended["how"] == h.UNSTARTED and not ran.exists()
    assert ended["detail"].startswith("the worker cannot leave the network (run rotad as root, allow user namespaces, or "
                                      "write network = true): ")


def test_and_that_is_found_by_the_probe(place):
    with Guard(mode="--probe", prefix=NEITHER, program=place.guard) as guard:
        answer = guard.probe(place.behave, {"as": "answer"}, no_network=1)
        assert answer["loaded"] == 0
        assert "write network = true" in answer["errors"][0][1]
        assert guard.probe(place.behave, {"as": "answer"})["loaded"] == 1
        guard.close()
        assert guard.process.wait(5) == 0
