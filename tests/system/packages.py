# SPDX-License-Identifier: MIT
"""The packages of this tree for a release of Debian: by ./quickstart package, here where this is that release, else
in a root of that release. In $ROTA_DEBS/RELEASE, else in build/debs/RELEASE.

    python3 tests/system/packages.py bookworm trixie    makes them anew
"""
import fcntl
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import roots
from machine import Layer

TREE = pathlib.Path(__file__).resolve().parents[2]
# What the packages are made of.
RULES = ("systemd", "packaging", "cmake", "CMakePresets.json", "quickstart")
SOURCES = RULES + ("CMakeLists.txt", "LICENSE", "runtime", "plugins", "conf", "docs")
BUILD_SECONDS = 900


def folder(release, tag=None, edit=None):
    names = (release, tag, edit and edit.__name__)
    return pathlib.Path(os.environ.get("ROTA_DEBS") or TREE / "build/debs") / "-".join(filter(None, names))


def in_root(layer, *words, seconds=BUILD_SECONDS):
    """A command in a layer over a root, with /proc, /dev and /sys, as root; what it says goes where ours goes. It ends
    with us. Its root is the root of all that it sees: in a chroot nobody can make a user namespace."""
    script = ('cd "$1" && mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys &&'
              ' pivot_root . mnt && cd / && umount -l mnt && shift && exec "$@"')
    return subprocess.run(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child",
                           "sh", "-c", script, "sh", str(layer.path), *words], stdin=subprocess.DEVNULL, timeout=seconds,
                          env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               "LC_ALL": "C.UTF-8", "HOME": "/root"}).returncode


def copy_tree(target, tree=TREE):
    """What is the tree's own: no build folders."""
    shutil.copytree(tree, target, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "build", "build-*", "__pycache__", ".cache"))


def old_tree(target, tag):
    """The tree of a tag, packed by the rules of this one, as an older revision."""
    target.mkdir()
    archive = subprocess.run(["git", "-C", TREE, "archive", tag], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", target], input=archive, check=True)
    for name in RULES:
        if (TREE / name).is_dir():
            shutil.rmtree(target / name, ignore_errors=True)
            shutil.copytree(TREE / name, target / name)
        else:
            shutil.copy(TREE / name, target / name)
    rules = target / "cmake/RotaPackage.cmake"
    rules.write_text(rules.read_text().replace("set(ROTA_DEB_RELEASE 1 ", "set(ROTA_DEB_RELEASE 0 "))
    lists = target / "CMakeLists.txt"
    if "RotaPackage" not in lists.read_text():
        lists.write_text(lists.read_text().replace("  include(RotaInstall)\n", "  include(RotaInstall)\n  include(RotaPackage)\n")
                         .replace("include(RotaFlags)\n", "set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME rota)\ninclude(RotaFlags)\n"))


def pack(tree, release, target):
    """By the tree's own ./quickstart package."""
    if release == platform.freedesktop_os_release().get("VERSION_CODENAME"):
        subprocess.run([tree / "quickstart", "package", "--no-install"], check=True, timeout=BUILD_SECONDS,
                       stdin=subprocess.DEVNULL)
        for deb in (tree / "build").glob("*.deb"):
            shutil.copy(deb, target)
        return
    layer = Layer(roots.root(f"{release}-build"))
    try:
        copy_tree(layer.path / "src", tree)
        if in_root(layer, "/src/quickstart", "package", "--no-install") != 0:
            raise RuntimeError(f"the packages for {release} could not be made")
        for deb in (layer.path / "src/build").glob("*.deb"):
            shutil.copy(deb, target)
    finally:
        layer.close()


def make(release, tag=None, edit=None):
    target = folder(release, tag, edit)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if not tag and not edit:
        pack(TREE, release, target)
        return
    with tempfile.TemporaryDirectory(prefix="rota-system.") as base:
        tree = pathlib.Path(base) / "src"
        if tag:
            old_tree(tree, tag)
        else:
            copy_tree(tree)
        if edit:
            edit(tree)
        pack(tree, release, target)


def is_fresh(release, tag, edit):
    """They are there, and nothing that they are made of is younger."""
    made = [path.stat().st_mtime for path in folder(release, tag, edit).glob("*.deb")]
    if os.environ.get("ROTA_DEBS") or not made:
        return bool(made)
    names = RULES if tag else SOURCES
    files = [path for name in names for path in (TREE / name, *(TREE / name).rglob("*")) if path.is_file()]
    if edit:
        files.append(pathlib.Path(edit.__code__.co_filename))
    return max(path.stat().st_mtime for path in files) < min(made)


def debs(release, tag=None, edit=None):
    """{package: path}, made where they are not there or older than the tree: this one, or that of a tag; `edit`
    changes a copy of it beforehand. Whoever comes meanwhile waits."""
    target = folder(release, tag, edit)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_name(target.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_fresh(release, tag, edit):
            make(release, tag, edit)
    return {path.name.split("_")[0]: path for path in target.glob("*.deb")}


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted({name.split("-")[0] for name in roots.ROOTS}):
        make(each)
        print(*folder(each).iterdir(), sep="\n", flush=True)
