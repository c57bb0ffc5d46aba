#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""All figures from one run, into benchmarks.md and benchmarks/*.svg of a folder (docs). ./quickstart bench builds what
it measures and calls it. Nothing of that folder is touched until all has been measured."""
import argparse
import contextlib
import dataclasses
import importlib
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

import figures  # noqa: E402
import page  # noqa: E402


@dataclasses.dataclass
class World:
    """What a module's tables() is given; figures.py says what is what."""
    folder: pathlib.Path
    build: pathlib.Path
    redis: object
    rounds: int
    scale: float
    log: object
    versions: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)
    missing: dict = dataclasses.field(default_factory=dict)


def output_of(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                              cwd=ROOT).stdout.strip()
    except OSError:
        return ""


def value_of(path, name):
    """The first of its lines `name: value`."""
    lines = (line.partition(":") for line in pathlib.Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "unknown")


def is_virtual():
    """A machine that another plays, or a container on one, or both."""
    kinds = [output_of("systemd-detect-virt", kind) for kind in ("--vm", "--container")]
    known = ", ".join(kind for kind in kinds if kind not in ("", "none"))
    if known:
        return f"yes, {known}"
    return "yes" if " hypervisor" in pathlib.Path("/proc/cpuinfo").read_text() else "no"


def distribution():
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    return "unknown"


def machine():
    cpus = len(os.sched_getaffinity(0))
    dirty = " and changes that are not committed" if output_of("git", "status", "--porcelain") else ""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": (output_of("git", "rev-parse", "--short=12", "HEAD") or "unknown") + dirty,
        "processors": f"{cpus} × {value_of('/proc/cpuinfo', 'model name')}, {platform.machine()}",
        "virtual": is_virtual(), "memory": f"{int(value_of('/proc/meminfo', 'MemTotal').split()[0]) / 1024**2:.1f} GiB",
        "kernel": platform.release(), "system": distribution(),
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg())}


def own_versions():
    rotad = pathlib.Path(os.environ["ROTA_BUILD"]) / "runtime" / "supervisor" / "rotad"
    return {"rota": output_of(str(rotad), "--version").rpartition(" ")[2], "glibc": platform.libc_ver()[1],
            "gcc": output_of("gcc", "-dumpfullversion")}


def measures(with_peers):
    """The modules; the peers' is the package's own tables(), which knows its parts."""
    names = ["measure_idle", "measure_run", "measure_fleet", "measure_rest"]
    return [importlib.import_module(name) for name in names + ["peers"] * with_peers]


def said_of_load():
    """Times are of a machine that had nothing else to do; or the page says that it had."""
    load, cpus = os.getloadavg()[0], len(os.sched_getaffinity(0))
    return [f"The machine was busy when this began (a load of {load:.1f} on {cpus} processors): times, p99 above all, "
            "are longer here than on a quiet one."] if load > cpus / 4 else []


def measured(options, log):
    """(tables, about) of one run."""
    from redis_server import RedisServer  # which looks at ROTA_BUILD
    tables, about, began = page.empty_tables(), {"machine": machine()}, time.monotonic()
    server, folder = RedisServer(), pathlib.Path(tempfile.mkdtemp(prefix="rota-bench-"))
    try:
        world = World(folder, pathlib.Path(os.environ["ROTA_BUILD"]), server.start(), options.rounds, options.scale,
                      log, own_versions(), said_of_load())
        for module in measures(options.peers):
            figures.merge(tables, module.tables(world))
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    about["machine"]["took"] = f"{time.monotonic() - began:.0f} s"
    about.update(command="./quickstart bench" + " --peers" * options.peers, versions=world.versions, notes=world.notes,
                 missing=world.missing)
    return tables, about


def put(out, text, drawings):
    """Whole files only, each by a rename; drawings of tables that are no more are taken away. They belong to whom the
    folder belongs to: root is who sees packets, not who commits."""
    folder, owner = out / "benchmarks", out.stat()
    folder.mkdir(exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=".fresh-", dir=out))
    try:
        for name, content in {"benchmarks.md": text, **drawings}.items():
            (fresh / name).write_text(content)
            os.chown(fresh / name, owner.st_uid, owner.st_gid)
        os.chown(folder, owner.st_uid, owner.st_gid)
        for name in drawings:
            (fresh / name).rename(folder / name)
        (fresh / "benchmarks.md").rename(out / "benchmarks.md")
        for old in folder.glob("*.svg"):
            if old.name not in drawings:
                old.unlink()
    finally:
        shutil.rmtree(fresh)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs", help="the folder for the page")
    parser.add_argument("--peers", action="store_true", help="measure the others as well")
    parser.add_argument("--rounds", type=int, default=500, help="how many runs are measured")
    parser.add_argument("--scale", type=float, default=1, help="less than 1: all else is measured less")
    parser.add_argument("--keep", type=pathlib.Path, help="write all values into this file (JSON)")
    parser.add_argument("--from", dest="kept", type=pathlib.Path, help="measure nothing; draw what was kept")
    return parser.parse_args()


def end_well(number, _frame):
    """As an error does: whoever has started something ends it."""
    raise SystemExit(128 + number)


def signal_behind(error):
    while error and not isinstance(error, SystemExit):
        error = error.__context__
    return error


def main():
    options = arguments()
    # Now: what cannot be written is not to be found out in ten minutes.
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("ROTA_BUILD", str(ROOT / "build" / "release"))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_well)
    began, terminal = time.monotonic(), sys.stdout

    def log(sentence):
        print(f"{time.monotonic() - began:6.1f} s  {sentence}", file=terminal, flush=True)

    if options.kept:
        tables, about = figures.load(options.kept.read_text())
    else:
        # The devices' logs, which matter where something fails.
        with tempfile.TemporaryFile("w+") as chatter:
            try:
                with contextlib.redirect_stdout(chatter):
                    tables, about = measured(options, log)
            except Exception as error:
                # What a signal interrupted may end badly for that: a device that had hardly begun, for one.
                if ended := signal_behind(error):
                    raise ended from None
                chatter.seek(0)
                sys.stderr.write(chatter.read()[-5000:])
                raise
    if options.keep:
        options.keep.write_text(figures.dump(tables, **about))
    put(options.out, *page.render(tables, about))
    log(f"{options.out}/benchmarks.md is written")


if __name__ == "__main__":
    main()
