# SPDX-License-Identifier: MIT
"""Servers of several makers and versions, of the Debian that has them, run here: by that Debian's own loader and
libraries, so that sockets, folders and pids are this machine's."""
import os
import pathlib
import shlex

import roots

# As docs/redis.md names them: the root, and its program.
MAKERS = {
    "redis 7.0": ("bookworm-boot", "redis-server"),
    "redis 8.0": ("trixie-suite", "redis-server"),
    "valkey 8.1": ("trixie-suite", "valkey-server"),
}


def real_file(folder, name):
    """What a program's name leads to in a root, whose links are meant for who is in it."""
    path = folder / "usr/bin" / name
    while path.is_symlink():
        path = path.with_name(os.path.basename(os.readlink(path)))
    return path


def program(maker, folder):
    """Writes a program into the folder that is the maker's server, and returns its path."""
    root, name = MAKERS[maker]
    root = roots.root(root)
    [loader] = (root / "usr/lib").glob("*/ld-linux*.so.*")
    words = [loader, "--argv0", name, "--library-path", loader.parent, real_file(root, name)]
    path = pathlib.Path(folder) / name
    path.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, words))} \"$@\"\n")
    path.chmod(0o755)
    return path
