/* SPDX-License-Identifier: MIT
 * clock/virtual_clock.h: the file that a test and the processes under its clock share. */
#ifndef ROTA_TESTS_VIRTUAL_CLOCK_H
#define ROTA_TESTS_VIRTUAL_CLOCK_H
#include <stdint.h>

/* The environment's name for its path. */
#define VIRTUAL_CLOCK_FILE "ROTA_VIRTUAL_CLOCK"

/* virtual_clock.py has these places too. */
struct virtual_clock {
    int64_t frozen_us;    /* the Unix time that stands still; 0: it goes on */
    int64_t offset_us;    /* going on: ahead of the machine's clock by this */
    int64_t synchronised; /* what adjtimex says: 1 yes, -1 no, 0 what the machine's says */
};
#endif
