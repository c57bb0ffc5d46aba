/* SPDX-License-Identifier: MIT
 * core/schedule.h: when a job is due. A turn is an instant of the grid {k x every + offset} from
 * the Unix epoch in UTC, so all devices agree with no talk. Every function costs constant time. */
#ifndef ROTA_CORE_SCHEDULE_H
#define ROTA_CORE_SCHEDULE_H
#include "base/time.h"

struct schedule {
    int64_t every_ms;  /* > 0 */
    int64_t offset_ms; /* 0 ... every_ms - 1 */
};

/* The newest turn at or before `now`. */
struct wall schedule_latest(const struct schedule *s, struct wall now);
/* The first turn strictly later than `after`. */
struct wall schedule_next(const struct schedule *s, struct wall after);
/* The least distance of two turns, in ms. */
int64_t schedule_period_ms(const struct schedule *s);
/* How many turns lie in (after, until]; 0 where until <= after. */
int64_t schedule_count(const struct schedule *s, struct wall after, struct wall until);
#endif
