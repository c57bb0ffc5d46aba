# SPDX-License-Identifier: MIT
"""Everything that ./quickstart test runs of the plain build, on Debian 13: hiredis 1.2, libconfig 1.7, systemd 257 and
redis 8."""
import pytest

import packages
import roots
from machine import Layer

SECONDS = 1800


@pytest.mark.long
def test_the_suite_passes_on_debian_13(ground):
    layer = Layer(roots.root("trixie-suite"))
    try:
        packages.copy_tree(layer.path / "src")
        ended = packages.in_root(layer, "sh", "-c", "/src/tests/system/suite.sh >/log 2>&1", seconds=SECONDS)
        assert ended == 0, (layer.path / "log").read_text(errors="replace")[-8000:]
    finally:
        layer.close()
