/* SPDX-License-Identifier: MIT
 * core/schedule.h: when a job is due: by a grid {k x every + offset} from the Unix epoch in UTC, so
 * that all devices agree with no talk; or by a cron expression in a time zone. Every function costs
 * constant time, however far apart the instants are. */
#ifndef ROTA_CORE_SCHEDULE_H
#define ROTA_CORE_SCHEDULE_H
#include "base/time.h"
#include "core/cron.h"
#include "core/zone.h"

struct schedule {
    int64_t every_ms;  /* > 0; 0: by `cron` */
    int64_t offset_ms; /* 0 ... every_ms - 1 */
    struct cron cron;
    const struct zone *zone; /* of cron; NULL: UTC */
};

/* The newest turn at or before `now`. */
struct wall schedule_latest(const struct schedule *s, struct wall now);
/* The first turn strictly later than `after`. */
struct wall schedule_next(const struct schedule *s, struct wall after);
/* The least distance of two turns, in ms; by cron where no clock is changed between them. */
int64_t schedule_period_ms(const struct schedule *s);
/* The longest distance of two turns that follow each other, in ms; by cron where no clock is
 * changed between them. */
int64_t schedule_longest_ms(const struct schedule *s);
/* How many turns lie in (after, until]; 0 where until <= after. */
int64_t schedule_count(const struct schedule *s, struct wall after, struct wall until);
#endif
