/* SPDX-License-Identifier: MIT */
#include "supervisor/clock.h"
#include <time.h>

struct boot clock_boot(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (struct boot){ (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 };
}

uint64_t clock_to_us(struct boot at)
{
    if (at.ms <= 0)
        return 0;
    if (at.ms > INT64_MAX / 1000)
        return UINT64_MAX - 1;
    return (uint64_t)at.ms * 1000;
}
