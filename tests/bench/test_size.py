# SPDX-License-Identifier: MIT
"""What a device's flash has to hold, stripped as the packages have it: rotad and rota-guard, and the modules of rotad."""
from fleet import ROTAD
from guard_harness import GUARD
from measure_rest import MODULES, stripped_bytes
from tls import MODULE

BOTH_BYTES_MAX = 300 * 1024
MODULE_BYTES_MAX = 76 * 1024
MODULES_BYTES_MAX = 220 * 1024  # as README says


def test_both_programs_are_small(tmp_path):
    sizes = {program.name: stripped_bytes(program, tmp_path) for program in (ROTAD, GUARD)}
    print(f"stripped: {sizes}, together {sum(sizes.values())} bytes")
    assert sum(sizes.values()) <= BOTH_BYTES_MAX


def test_modules_are_small(tmp_path):
    sizes = {module.name: stripped_bytes(module, tmp_path) for module in MODULES if module != MODULE or module.exists()}
    print(f"stripped: {sizes}")
    assert max(sizes.values()) <= MODULE_BYTES_MAX and sum(sizes.values()) <= MODULES_BYTES_MAX
