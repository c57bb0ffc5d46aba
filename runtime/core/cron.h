/* SPDX-License-Identifier: MIT
 * core/cron.h: the five fields of crontab(5) as sets, and the local minutes that they name.
 *
 * Fields: minute 0-59, hour 0-23, day of month 1-31, month 1-12 or JAN-DEC, day of week 0-7 or
 * SUN-SAT (0 and 7 are Sunday); `*`, ranges, steps, lists; @hourly, @daily, @midnight, @weekly,
 * @monthly, @yearly, @annually. As in Vixie's cron, where both day fields are restricted (neither
 * begins with `*`) a day matches by either, else by both. Stricter than that cron where it hides a
 * slip: a step needs a range (5-59/15, not 5/15; so does cronie) and is no longer than the field. A
 * week may begin or end with Sunday, whichever its number: 7-2 is 0-2, FRI-SUN is 5-7. */
#ifndef ROTA_CORE_CRON_H
#define ROTA_CORE_CRON_H
#include <stdbool.h>
#include <stdint.h>

#define CRON_WHY_SIZE 256

struct cron {
    uint64_t minutes;   /* bits 0 ... 59 */
    uint32_t hours;     /* bits 0 ... 23 */
    uint32_t days;      /* bits 1 ... 31 */
    uint16_t months;    /* bits 1 ... 12 */
    uint8_t weekdays;   /* bits 0 ... 6, 0 is Sunday */
    bool either : 1;    /* day of month or day of week; else both */
    bool each_hour : 1; /* the hour field has `*` or a step, or names every hour: in a repeated hour
                           the job runs both times */
};

/* 0; -EINVAL and in ret_why a sentence part that names the field, what is wrong and what to write
 * instead (also for a day that never comes, such as February 30, and for @reboot). */
int cron_parse(const char *text, struct cron *ret_cron, char ret_why[CRON_WHY_SIZE]);

/* Local minutes: minutes from 1970-01-01 00:00 of a calendar without offsets. Each function takes a
 * few steps a month that has no match, at most for the 40 years that a match may be away, or for
 * the 400 years after which all comes again. */
/* The first matching one at or after `from` and before `end`; `end` where there is none. */
int64_t cron_first(const struct cron *c, int64_t from, int64_t end);
/* The last matching one before `end` and at or after `from`; from - 1 where there is none. */
int64_t cron_last(const struct cron *c, int64_t from, int64_t end);
/* How many match in [from, end). */
int64_t cron_count(const struct cron *c, int64_t from, int64_t end);
/* The least distance of two matching ones, in minutes. */
int64_t cron_period(const struct cron *c);
/* The longest distance of two matching ones that follow each other, in minutes. */
int64_t cron_longest(const struct cron *c);
#endif
