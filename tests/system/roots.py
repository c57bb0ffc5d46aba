# SPDX-License-Identifier: MIT
"""Debian systems in folders, made by debootstrap and kept for the next time in $ROTA_CACHE (else
~/.cache/rota). Nobody writes into one that is whole: a Layer of machine.py is laid over it.

    python3 tests/system/roots.py bookworm-boot trixie-boot ...    makes them beforehand
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

# What a booted machine needs, and what rota's packages depend on: packages are installed there by dpkg alone.
BOOT = ("systemd", "systemd-sysv", "dbus", "redis-server", "tzdata", "libpq5")
# What ./quickstart package needs, as it names it (without what minbase has).
BUILD = ("gcc", "libc6-dev", "cmake", "ninja-build", "pkgconf", "libhiredis-dev", "libconfig-dev", "libsystemd-dev",
         "libsmartcols-dev", "libssl-dev", "libpq-dev", "dpkg-dev", "file", "redis-tools", "scdoc", "ca-certificates")
# libpq-dev is there for one architecture at a time: see FOREIGN.
CROSS = tuple(name for name in BUILD if name != "libpq-dev") + ("python3", "qemu-user")
ROOTS = {
    "bookworm-boot": BOOT + ("libhiredis0.14", "libconfig9", "libssl3"),
    "trixie-boot": BOOT + ("libhiredis1.1.0", "libconfig11", "libssl3t64"),
    "bookworm-build": BUILD,
    "trixie-build": BUILD,
    # The suite itself, with the servers that this release has, which makers.py uses.
    "trixie-suite": BUILD + ("g++", "python3", "python3-pytest", "python3-pytest-xdist", "python3-redis", "libcmocka-dev",
                             "openssl", "tzdata", "redis-server", "valkey-server", "procps", "systemd",
                             "iproute2", "nftables"),
    # Of Debian 13: the qemu of 12 knows no PR_SET_CHILD_SUBREAPER, without which there is no guard.
    "trixie-arm64": CROSS + ("libc6-dev-arm64-cross", "gcc-aarch64-linux-gnu"),
    "trixie-armhf": CROSS + ("libc6-dev-armhf-cross", "gcc-arm-linux-gnueabihf"),
}
# A second step, by apt: packages of another architecture.
LIBRARIES = ("libhiredis-dev", "libconfig-dev", "libsystemd-dev", "libsmartcols-dev", "libssl-dev", "libpq-dev",
             "libcmocka-dev")
FOREIGN = {"trixie-arm64": ("arm64", LIBRARIES), "trixie-armhf": ("armhf", LIBRARIES)}
# The same for a package that would make a cluster and start a server, even while debootstrap is at work.
SERVERS = {"trixie-suite": ("postgresql",)}
MAKE_SECONDS = 1200


def cache():
    return pathlib.Path(os.environ.get("ROTA_CACHE") or pathlib.Path.home() / ".cache" / "rota")


def make(release, packages, folder):
    log = folder.with_suffix(".log")
    with open(log, "wb") as out:
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", release, str(folder)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=MAKE_SECONDS,
            env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode != 0:
        tail = log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"debootstrap could not make {release}; the end of {log}:\n{tail}")
    # The packages that it was made of are of no use any more.
    for package in (folder / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
    log.unlink()


def add_foreign(folder, architecture, packages):
    install(folder, [f"{name}:{architecture}" for name in packages], f"dpkg --add-architecture {architecture}")


def add_servers(folder, packages):
    install(folder, packages, "mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false'"
                              " >/etc/postgresql-common/createcluster.conf && printf '#!/bin/sh\\nexit 101\\n'"
                              " >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d")


def install(folder, packages, first):
    script = (f"{first} && apt-get -qq update && apt-get -qq install -y --no-install-recommends {' '.join(packages)}"
              " && apt-get clean")
    done = subprocess.run(["chroot", str(folder), "sh", "-c", script], stdin=subprocess.DEVNULL, timeout=MAKE_SECONDS,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(packages)} could not be installed:\n{done.stdout[-2000:]}")


def root(name):
    """The folder of that root; makes it where it is not there. Whoever comes meanwhile waits."""
    release, packages = name.split("-")[0], ROOTS[name]
    mark = hashlib.sha256(repr((packages, FOREIGN.get(name), SERVERS.get(name))).encode()).hexdigest()[:8]
    folder = cache() / f"{name}-{mark}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            partial = folder.with_name(f"{name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            make(release, packages, partial)
            if name in FOREIGN:
                add_foreign(partial, *FOREIGN[name])
            if name in SERVERS:
                add_servers(partial, SERVERS[name])
            partial.rename(folder)
    return folder


if __name__ == "__main__":
    for each in sys.argv[1:] or ROOTS:
        print(root(each), flush=True)
