# SPDX-License-Identifier: MIT
"""What a device's flash has to hold: rotad and rota-guard, stripped as the packages have them."""
import subprocess

from fleet import ROTAD
from guard_harness import GUARD

BOTH_BYTES_MAX = 300 * 1024


def stripped_bytes(program, folder):
    copy = folder / program.name
    subprocess.run(["strip", "-o", copy, program], check=True)
    return copy.stat().st_size


def test_both_programs_are_small(tmp_path):
    sizes = {program.name: stripped_bytes(program, tmp_path) for program in (ROTAD, GUARD)}
    print(f"stripped: {sizes}, together {sum(sizes.values())} bytes")
    assert sum(sizes.values()) <= BOTH_BYTES_MAX
