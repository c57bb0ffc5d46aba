# SPDX-License-Identifier: MIT
import pathlib
import sys

# The devices, and a private Redis, are those of the integration tests.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
