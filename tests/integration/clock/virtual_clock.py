# SPDX-License-Identifier: MIT
"""A wall clock of a test's own for real processes: frozen, or the machine's with an offset.

    clock = VirtualClock(folder)
    subprocess.Popen(command, env=clock.environment())

Every change is a setting of the clock to those processes (a timerfd that waits for it says so).
virtual_clock.c says what follows this clock, and what does not.
"""
import mmap
import os
import pathlib
import time

BUILD = pathlib.Path(os.environ.get(
    "ROTA_BUILD", pathlib.Path(__file__).resolve().parents[3] / "build" / "release"))
LIBRARY = BUILD / "tests" / "integration" / "libvirtual_clock.so"
FROZEN, OFFSET, SYNCHRONISED = range(3)  # struct virtual_clock, by 8 bytes


class VirtualClock:
    def __init__(self, folder):
        assert LIBRARY.exists(), f"{LIBRARY} is not built"  # the loader would go on without it
        self.path = pathlib.Path(folder) / "clock"
        self.path.write_bytes(bytes(24))
        with open(self.path, "r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 24)).cast("q")

    def environment(self, given=None):
        """`given` (or this process's environment) for a process that is to have this clock."""
        # A sanitizer wants its library first; it also works behind this one.
        environment = dict(os.environ if given is None else given)
        options = environment.get("ASAN_OPTIONS")
        environment["ASAN_OPTIONS"] = ":".join(filter(None, [options, "verify_asan_link_order=0"]))
        return environment | {"LD_PRELOAD": str(LIBRARY), "ROTA_VIRTUAL_CLOCK": str(self.path)}

    def now_ms(self):
        if self._words[FROZEN]:
            return self._words[FROZEN] // 1000
        return (time.time_ns() // 1000 + self._words[OFFSET]) // 1000

    def freeze(self, at_ms=None):
        """It stands still, at `at_ms` or where it is."""
        self._words[FROZEN] = (self.now_ms() if at_ms is None else at_ms) * 1000
        self._tell()

    def go_on(self):
        """It goes on from where it was frozen."""
        now_us = self.now_ms() * 1000
        self._words[OFFSET] = now_us - time.time_ns() // 1000
        self._words[FROZEN] = 0
        self._tell()

    def set(self, at_ms):
        """It shows `at_ms` now; if it was frozen, it still is."""
        if self._words[FROZEN]:
            self._words[FROZEN] = at_ms * 1000
        else:
            self._words[OFFSET] = at_ms * 1000 - time.time_ns() // 1000
        self._tell()

    def add(self, ms):
        """It is set ahead by `ms`, or back."""
        if self._words[FROZEN]:
            self._words[FROZEN] += ms * 1000
        else:
            self._words[OFFSET] += ms * 1000
        self._tell()

    def say_synchronised(self, synchronised):
        """What adjtimex() tells of it: True, False, or None for what the machine's tells."""
        self._words[SYNCHRONISED] = {True: 1, False: -1, None: 0}[synchronised]

    def _tell(self):
        os.utime(self.path)
