/* SPDX-License-Identifier: MIT
 * core/device_clock.h: the device's own clock, as far as it can be believed (DESIGN section 6). A
 * device without a battery for its clock boots in 1970; a person may set any clock to anything.
 *
 * A reading is plausible where the clock is synchronised, or not before the day on which this rota
 * was built. Once one was, time goes on by CLOCK_BOOTTIME whatever later readings say, until they
 * are plausible again. */
#ifndef ROTA_CORE_DEVICE_CLOCK_H
#define ROTA_CORE_DEVICE_CLOCK_H
#include "base/time.h"

struct device_clock {
    struct wall built; /* given */
    bool known;        /* a reading was plausible */
    bool doubted;      /* the last one was not */
    int64_t offset_ms; /* wall = boot + offset, by the last plausible reading */
    struct wall says;  /* doubted: the last reading, for people */
    struct boot since; /* doubted: the first reading of these */
};

struct device_clock_reading {
    struct boot at;
    struct wall says;
    bool synchronised;
};

enum device_clock_news {
    DEVICE_CLOCK_AS_BEFORE,
    DEVICE_CLOCK_DOUBTED, /* from now on not plausible */
    DEVICE_CLOCK_BELIEVED /* plausible again, or for the first time after it was not */
};

/* Takes a reading. *ret_moved_ms is by how much the time that device_clock_at() gives has moved at
 * that instant against what it gave just before; 0 with the first plausible one. */
enum device_clock_news device_clock_take(struct device_clock *c,
                                         const struct device_clock_reading *r,
                                         int64_t *ret_moved_ms);
/* The device's time at `now`; only where known. */
struct wall device_clock_at(const struct device_clock *c, struct boot now);
#endif
