/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_axis.h"
#include "base/text.h"
#include "base/units.h"
#include <stddef.h>
#include <time.h>

/* 1970-01-05 was a Monday. */
#define MONDAY_MS (4 * DAY_MS)
#define MONTH_LEAST_MS (28 * DAY_MS)

/* Either of so many milliseconds, from `origin` on, or of months. */
struct timeline_step {
    int64_t ms;
    int months;
    int64_t origin;
};

static const struct timeline_step steps[] = {
    { .ms = 1 },
    { .ms = 10 },
    { .ms = 100 },
    { .ms = SECOND_MS },
    { .ms = 5 * SECOND_MS },
    { .ms = 15 * SECOND_MS },
    { .ms = 30 * SECOND_MS },
    { .ms = MINUTE_MS },
    { .ms = 5 * MINUTE_MS },
    { .ms = 15 * MINUTE_MS },
    { .ms = 30 * MINUTE_MS },
    { .ms = HOUR_MS },
    { .ms = 3 * HOUR_MS },
    { .ms = 6 * HOUR_MS },
    { .ms = 12 * HOUR_MS },
    { .ms = DAY_MS },
    { .ms = 2 * DAY_MS },
    { .ms = 7 * DAY_MS, .origin = MONDAY_MS },
    { .months = 1 },
    { .months = 3 },
    { .months = 6 },
    { .months = 12 },
    { .months = 5 * 12 },
    { .months = 10 * 12 },
    { .months = 50 * 12 },
    { .months = 100 * 12 },
    { .months = 1000 * 12 },
    { .months = 10000 * 12 },
};
#define STEPS (sizeof steps / sizeof steps[0])

int32_t timeline_axis_at(const struct timeline_axis *axis, int64_t ms)
{
    if (ms <= axis->since)
        return 0;
    if (ms >= axis->until)
        return axis->units;
    /* Below 2^48 x 20,000. */
    return (int32_t)((ms - axis->since) * axis->units / (axis->until - axis->since));
}

static int64_t least_ms(const struct timeline_step *step)
{
    return step->months ? step->months * MONTH_LEAST_MS : step->ms;
}

/* Months since the year 0, rounded down. */
static int64_t month_of(int64_t ms)
{
    time_t seconds = (time_t)(ms / SECOND_MS);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    return (tm.tm_year + INT64_C(1900)) * 12 + tm.tm_mon;
}

static int64_t begin_of_month(int64_t month)
{
    struct tm tm = { .tm_year = (int)(month / 12 - 1900),
                     .tm_mon = (int)(month % 12),
                     .tm_mday = 1 };

    return (int64_t)timegm(&tm) * SECOND_MS;
}

/* The first even time after `ms`. */
static int64_t step_on(const struct timeline_step *step, int64_t ms)
{
    int64_t since;

    if (step->months)
        return begin_of_month((month_of(ms) / step->months + 1) * step->months);
    since = ms - step->origin;
    if (since < 0)
        return step->origin;
    return step->origin + (since / step->ms + 1) * step->ms;
}

void timeline_axis_begin(struct timeline_ticks *t, const struct timeline_axis *axis, int32_t apart)
{
    int64_t least = ((axis->until - axis->since) * apart + axis->units - 1) / axis->units;
    size_t i = 0;

    while (i < STEPS - 1 && least_ms(&steps[i]) < least)
        i++;
    *t = (struct timeline_ticks){ .axis = axis, .step = &steps[i] };
    t->next = axis->since > 0 ? step_on(t->step, axis->since - 1) : 0;
}

static void say(struct timeline_tick *tick, const struct timeline_step *step)
{
    time_t seconds = (time_t)(tick->at / SECOND_MS);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    text_format(tick->date, sizeof tick->date, "%04d", tm.tm_year + 1900);
    if (step->months % 12 != 0 || step->ms)
        text_format(tick->date, sizeof tick->date, "%04d-%02d", tm.tm_year + 1900, tm.tm_mon + 1);
    if (step->ms)
        text_format(tick->date, sizeof tick->date, "%04d-%02d-%02d", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday);
    tick->is_day = tick->at % DAY_MS == 0;
    tick->time[0] = '\0';
    if (tick->is_day)
        return;
    if (step->ms >= MINUTE_MS)
        text_format(tick->time, sizeof tick->time, "%02d:%02d", tm.tm_hour, tm.tm_min);
    else if (step->ms >= SECOND_MS)
        text_format(tick->time, sizeof tick->time, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min,
                    tm.tm_sec);
    else
        text_format(tick->time, sizeof tick->time, "%02d:%02d.%03d", tm.tm_min, tm.tm_sec,
                    (int)(tick->at % SECOND_MS));
}

bool timeline_axis_next(struct timeline_ticks *t, struct timeline_tick *ret_tick)
{
    struct timeline_tick tick = { .at = t->next };

    if (tick.at > t->axis->until)
        return false;
    tick.unit = timeline_axis_at(t->axis, tick.at);
    say(&tick, t->step);
    t->next = step_on(t->step, tick.at);
    *ret_tick = tick;
    return true;
}
