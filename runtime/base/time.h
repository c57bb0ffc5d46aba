/* SPDX-License-Identifier: MIT
 * base/time.h: the two clocks that rota knows, as types that cannot be mixed.
 *
 * wall: Unix milliseconds; fleet time (Redis's clock as estimated here) unless a name says more.
 * boot: CLOCK_BOOTTIME in milliseconds, rounded down; it goes on while the device is suspended.
 *
 * Durations are plain int64_t with the unit in the name. Arithmetic saturates, never wraps. */
#ifndef ROTA_BASE_TIME_H
#define ROTA_BASE_TIME_H
#include <stdbool.h>
#include <stdint.h>

struct wall {
    int64_t ms;
};

struct boot {
    int64_t ms;
};

/* No instant: a timer that is not armed, a deadline that does not exist. Later than any other. */
#define BOOT_NEVER ((struct boot){ INT64_MAX })

/* a + b, and a - b, held at the ends of the range. No inline functions: programs have some two
 * hundred calls of them. */
int64_t time_add_ms(int64_t a, int64_t b);
int64_t time_sub_ms(int64_t a, int64_t b);

static inline struct boot boot_add(struct boot t, int64_t ms)
{
    return (struct boot){ time_add_ms(t.ms, ms) };
}

static inline struct wall wall_add(struct wall t, int64_t ms)
{
    return (struct wall){ time_add_ms(t.ms, ms) };
}

/* Milliseconds from `earlier` to `later`; negative where they are the other way round. */
static inline int64_t boot_between(struct boot earlier, struct boot later)
{
    return time_sub_ms(later.ms, earlier.ms);
}

static inline int64_t wall_between(struct wall earlier, struct wall later)
{
    return time_sub_ms(later.ms, earlier.ms);
}

static inline bool boot_reached(struct boot now, struct boot at)
{
    return now.ms >= at.ms;
}

static inline struct boot boot_min(struct boot a, struct boot b)
{
    return a.ms < b.ms ? a : b;
}

static inline struct boot boot_max(struct boot a, struct boot b)
{
    return a.ms > b.ms ? a : b;
}
#endif
