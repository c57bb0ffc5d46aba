/* SPDX-License-Identifier: MIT
 * supervisor/clock.h: the one place where rotad reads clocks. */
#ifndef ROTA_SUPERVISOR_CLOCK_H
#define ROTA_SUPERVISOR_CLOCK_H
#include "base/time.h"
#include <time.h>

/* sd-event's accuracy for timers that matter: 0 would mean 250 ms (STACK.md 3.2). */
#define CLOCK_ACCURACY_US 1000

static inline struct boot clock_boot(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (struct boot){ (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 };
}

/* For sd_event_source_set_time; BOOT_NEVER and the past are held at the ends. */
static inline uint64_t clock_to_us(struct boot at)
{
    if (at.ms <= 0)
        return 0;
    if (at.ms > INT64_MAX / 1000)
        return UINT64_MAX - 1;
    return (uint64_t)at.ms * 1000;
}
#endif
