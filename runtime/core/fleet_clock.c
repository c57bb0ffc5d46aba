/* SPDX-License-Identifier: MIT */
#include "core/fleet_clock.h"
#include <assert.h>

/* Both clocks are read in whole milliseconds, rounded down: no instant is known better. */
#define READING_MS 1
/* 200 ppm: 1 ms in 5 s. */
#define DRIFT_DIVISOR 5000

static int64_t magnitude(int64_t ms)
{
    return ms < 0 ? time_sub_ms(0, ms) : ms;
}

/* What `error_ms` has grown to after age_ms. */
static int64_t aged(int64_t error_ms, int64_t age_ms)
{
    return time_add_ms(error_ms, age_ms <= 0 ? 0 : (age_ms - 1) / DRIFT_DIVISOR + 1);
}

int64_t fleet_clock_error_ms(const struct fleet_clock *c, struct boot now)
{
    return aged(c->error_ms, boot_between(c->taken, now));
}

int64_t fleet_clock_sample(struct fleet_clock *c, struct boot sent, struct boot received,
                           struct wall server)
{
    int64_t trip = boot_between(sent, received);
    int64_t offset, error, moved, believed;
    bool contradicts;

    assert(trip >= 0);
    offset = time_sub_ms(server.ms, sent.ms + trip / 2);
    error = trip / 2 + trip % 2 + READING_MS;
    moved = c->known ? time_sub_ms(offset, c->offset_ms) : 0;
    believed = c->known ? fleet_clock_error_ms(c, received) : INT64_MAX;

    contradicts = magnitude(moved) > time_add_ms(aged(error, trip), believed);
    if (aged(error, trip) > believed && !contradicts)
        return 0;
    *c = (struct fleet_clock){
        .known = true, .offset_ms = offset, .error_ms = error, .taken = sent
    };
    return moved;
}

struct wall fleet_clock_at(const struct fleet_clock *c, struct boot now)
{
    assert(c->known);
    return (struct wall){ time_add_ms(now.ms, c->offset_ms) };
}

struct boot fleet_clock_when(const struct fleet_clock *c, struct wall at)
{
    assert(c->known);
    return (struct boot){ time_sub_ms(at.ms, c->offset_ms) };
}
