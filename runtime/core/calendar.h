/* SPDX-License-Identifier: MIT
 * core/calendar.h: a cron expression in a time zone: its turns as instants (DESIGN section 6).
 *
 * Where the clock is put forward, what falls into the gap is due once, at its end; nothing where
 * the job is due every hour and the gap is whole hours long, since then no hour was left out. Where
 * it is put back, a job with fixed hours is due at the first of the two times only, one with `*` or
 * a step in the hour field at both. */
#ifndef ROTA_CORE_CALENDAR_H
#define ROTA_CORE_CALENDAR_H
#include "base/time.h"
#include "core/cron.h"
#include "core/zone.h"

/* The first turn strictly later than `after`. */
struct wall calendar_next(const struct cron *c, const struct zone *zone, struct wall after);
/* The newest turn at or before `now`. */
struct wall calendar_latest(const struct cron *c, const struct zone *zone, struct wall now);
/* How many turns lie in (after, until]; 0 where until <= after. */
int64_t calendar_count(const struct cron *c, const struct zone *zone, struct wall after,
                       struct wall until);
#endif
