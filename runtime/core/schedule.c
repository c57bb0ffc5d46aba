/* SPDX-License-Identifier: MIT */
#include "core/schedule.h"

#include "base/units.h"
#include "core/calendar.h"
#include <assert.h>

/* How long before `t` the newest turn was, in ms: 0 ... every - 1. The offset is taken off after
 * the remainder, so that no instant, however far, overflows; times before the epoch have a negative
 * remainder. */
static int64_t since_turn_ms(const struct schedule *s, struct wall t)
{
    int64_t rest;

    assert(s->every_ms > 0 && s->offset_ms >= 0 && s->offset_ms < s->every_ms);
    rest = t.ms % s->every_ms - s->offset_ms;
    while (rest < 0)
        rest += s->every_ms;
    return rest;
}

struct wall schedule_latest(const struct schedule *s, struct wall now)
{
    if (s->every_ms == 0)
        return calendar_latest(&s->cron, s->zone, now);
    return wall_add(now, -since_turn_ms(s, now));
}

struct wall schedule_next(const struct schedule *s, struct wall after)
{
    if (s->every_ms == 0)
        return calendar_next(&s->cron, s->zone, after);
    return wall_add(after, s->every_ms - since_turn_ms(s, after));
}

int64_t schedule_period_ms(const struct schedule *s)
{
    return s->every_ms == 0 ? cron_period(&s->cron) * MINUTE_MS : s->every_ms;
}

int64_t schedule_longest_ms(const struct schedule *s)
{
    return s->every_ms == 0 ? cron_longest(&s->cron) * MINUTE_MS : s->every_ms;
}

int64_t schedule_count(const struct schedule *s, struct wall after, struct wall until)
{
    uint64_t distance;

    if (until.ms <= after.ms)
        return 0;
    if (s->every_ms == 0)
        return calendar_count(&s->cron, s->zone, after, until);
    /* From the turn at or before `after` to `until`, which may be more than int64_t holds. */
    distance = (uint64_t)until.ms - (uint64_t)after.ms;
    if (__builtin_add_overflow(distance, (uint64_t)since_turn_ms(s, after), &distance))
        distance = UINT64_MAX;
    distance /= (uint64_t)s->every_ms;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}
