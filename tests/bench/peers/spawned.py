# SPDX-License-Identifier: MIT
"""How many processes a locked run of each peer starts, itself and the job among them: strace counts them."""
import re
import shutil
import subprocess

from figures import Row

from . import lockers

TTL_MS, LIMIT_S, LOOP = 60_000, 60, (3, 200)
# With -ff each task has a file of its own, so that no call is torn by another's. A thread is no process.
NEW_PROCESS = re.compile(r"^(clone3?|v?fork)\((?!.*CLONE_THREAD).* = [1-9]\d*", re.MULTILINE)


def count(peer, loop=()):
    """Of a run; with loop=(runs, period in ms), of each of a resident's, which is there itself already. What is traced
    is slow, so nothing else is measured of it."""
    host, folder = f"spawned_{peer.name.replace(' ', '_')}_{len(loop)}", peer.place.folder / "spawned"
    folder.mkdir()
    try:
        traced = ["strace", "-ff", "-qq", "-e", "trace=clone,clone3,fork,vfork", "-o", str(folder / "of"),
                  *peer.command(host, TTL_MS, *loop), *peer.place.command_of(host, "DUE" if loop else 0)]
        subprocess.run(traced, env=peer.environment(), check=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        calls = "\n".join(path.read_text(errors="replace") for path in folder.iterdir())
    finally:
        shutil.rmtree(folder)
    runs, started = loop[0] if loop else 1, len(NEW_PROCESS.findall(calls))
    if len(peer.place.stamps(host)) != runs:
        raise RuntimeError(f"{peer.name}: the job did not run {runs} times under strace")
    return started / runs if loop else 1 + started


def tables(world):
    if not shutil.which("strace"):
        world.missing["the peers' processes a run"] = "there is no strace"
        return {}
    rows = []
    with lockers.place_in(world.folder / "peers-spawned") as place:
        for peer in (kind(place) for kind in lockers.ONCE):
            if peer.why():
                continue  # measure.py names it
            try:
                rows.append(Row(peer.name, count(peer), "itself and the job among them"))
                if name := lockers.LOOPS.get(type(peer)):
                    rows.append(Row(name, count(peer, LOOP), "the loop is there anyway"))
            except subprocess.CalledProcessError as error:
                world.missing[f"{peer.name}, processes a run"] = f"strace ended with {error.returncode}"
    return {"processes": rows} if rows else {}
