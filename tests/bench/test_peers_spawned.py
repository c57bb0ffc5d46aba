# SPDX-License-Identifier: MIT
"""What a run is counted to have started is what it started: forks of any kind, and no threads."""
import pathlib
import shutil
import tempfile

import pytest

import peers.lockers as lockers
import peers.spawned as spawned

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")


class Forks(lockers.Locker):
    """No peer: it takes no lock, and starts two subshells beside the job."""
    name = "two subshells"

    def command(self, key, ttl_ms):
        return ["/bin/sh", "-c", '(: ; :); (: ; :); "$@"; exit $?', "sh"]


class Threads(lockers.Locker):
    """No peer: two threads, and then the job in its own place."""
    name = "two threads"

    def command(self, key, ttl_ms):
        return ["/usr/bin/python3", "-c", "import os, sys, threading\nfor _ in 1, 2:\n"
                "    thread = threading.Thread(target=int)\n    thread.start()\n    thread.join()\n"
                "os.execv(sys.argv[1], sys.argv[1:])"]


@pytest.mark.parametrize("kind, processes", [(Forks, 4), (Threads, 1), (lockers.Shell, 4), (lockers.Python, 2)])
def test_processes_are_counted_and_threads_are_not(kind, processes):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-spawned-"))
    try:
        with lockers.place_in(folder / "peers") as place:
            peer = kind(place)
            assert peer.why() is None
            assert spawned.count(peer) == processes
            if kind is lockers.Python:
                assert spawned.count(peer, spawned.LOOP) == 1
    finally:
        shutil.rmtree(folder)
