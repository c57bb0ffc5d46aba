/* SPDX-License-Identifier: MIT */
#include "core/cron.h"

#include "core/date.h"
#include <assert.h>

#define DAY_MINUTES 1440
#define HOUR_MINUTES 60
#define DAY_HOURS 24

/* Every one of them matches. */
#define ALL_DAYS 0xfffffffeU
#define ALL_MONTHS 0x1ffe
#define ALL_WEEKDAYS 0x7f

/* A month whose days match as `days` says: bit 0 is its first day, which has the number `first`. */
struct month {
    int64_t year;
    int month;
    int64_t first;
    uint32_t days;
};

static int lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

static int highest(uint64_t bits)
{
    return 63 - __builtin_clzll(bits);
}

static int count_bits(uint64_t bits)
{
    return __builtin_popcountll(bits);
}

/* Bits 0 ... n - 1. */
static uint64_t bits_below(int n)
{
    return (UINT64_C(1) << n) - 1;
}

static struct month month_of(const struct cron *c, int64_t year, int month)
{
    struct month m = { year, month, date_month(year, month), 0 };
    /* Bit 0 is the weekday of the first, and so on, for five weeks. */
    uint64_t week = c->weekdays | (uint64_t)c->weekdays << 7;
    uint32_t weekdays = (uint32_t)((week >> date_weekday(m.first) & 0x7f) * UINT64_C(0x10204081));
    uint32_t days = c->days >> 1;

    days = c->either ? days | weekdays : days & weekdays;
    m.days = days & (uint32_t)bits_below(date_month_days(year, month));
    return m;
}

/* The months that match, from the one of a date on; or, with no day that matches, that one. */
static struct month month_at(const struct cron *c, struct date d)
{
    if (c->months >> d.month & 1)
        return month_of(c, d.year, d.month);
    return (struct month){ d.year, d.month, date_month(d.year, d.month), 0 };
}

static struct month month_after(const struct cron *c, const struct month *m)
{
    uint64_t later = c->months & ~bits_below(m->month + 1);

    return later ? month_of(c, m->year, lowest(later))
                 : month_of(c, m->year + 1, lowest(c->months));
}

static struct month month_before(const struct cron *c, const struct month *m)
{
    uint64_t earlier = c->months & bits_below(m->month);

    return earlier ? month_of(c, m->year, highest(earlier))
                   : month_of(c, m->year - 1, highest(c->months));
}

/* The first matching day at or after `day`, if it is before `end`; else `end`. */
static int64_t day_at_or_after(const struct cron *c, int64_t day, int64_t end)
{
    struct month m = month_at(c, date_of(day));
    uint64_t left = m.days & ~bits_below((int)(day - m.first));

    while (!left && m.first < end) {
        m = month_after(c, &m);
        left = m.days;
    }
    return left && m.first + lowest(left) < end ? m.first + lowest(left) : end;
}

/* The last matching day at or before `day`, if it is not before `from`; else from - 1. */
static int64_t day_at_or_before(const struct cron *c, int64_t day, int64_t from)
{
    struct month m = month_at(c, date_of(day));
    uint64_t left = m.days & bits_below((int)(day - m.first) + 1);

    while (!left && m.first > from) {
        m = month_before(c, &m);
        left = m.days;
    }
    return left && m.first + highest(left) >= from ? m.first + highest(left) : from - 1;
}

static bool day_matches(const struct cron *c, int64_t day)
{
    struct date d = date_of(day);

    return month_at(c, d).days >> (d.day - 1) & 1;
}

/* The first matching minute of a matching day that is at or after `minute`; -1 where there is none.
 */
static int minute_at_or_after(const struct cron *c, int minute)
{
    int hour = minute / HOUR_MINUTES;
    uint64_t minutes = c->minutes & ~bits_below(minute % HOUR_MINUTES);
    uint64_t hours = c->hours & ~bits_below(hour);

    if (hours >> hour & 1 && minutes)
        return hour * HOUR_MINUTES + lowest(minutes);
    hours &= ~(UINT64_C(1) << hour);
    return hours ? lowest(hours) * HOUR_MINUTES + lowest(c->minutes) : -1;
}

/* The same downwards. */
static int minute_at_or_before(const struct cron *c, int minute)
{
    int hour = minute / HOUR_MINUTES;
    uint64_t minutes = c->minutes & bits_below(minute % HOUR_MINUTES + 1);
    uint64_t hours = c->hours & bits_below(hour);

    if (c->hours >> hour & 1 && minutes)
        return hour * HOUR_MINUTES + highest(minutes);
    return hours ? highest(hours) * HOUR_MINUTES + highest(c->minutes) : -1;
}

int64_t cron_first(const struct cron *c, int64_t from, int64_t end)
{
    int64_t day = date_floor(from, DAY_MINUTES), end_day, found;
    int minute = -1;

    assert(c->minutes && c->hours && c->months && c->weekdays);
    if (from >= end)
        return end;
    if (day_matches(c, day))
        minute = minute_at_or_after(c, (int)(from - day * DAY_MINUTES));
    if (minute < 0) {
        end_day = date_floor(end - 1, DAY_MINUTES) + 1;
        day = day_at_or_after(c, day + 1, end_day);
        if (day >= end_day)
            return end;
        minute = minute_at_or_after(c, 0);
    }
    found = day * DAY_MINUTES + minute;
    return found < end ? found : end;
}

int64_t cron_last(const struct cron *c, int64_t from, int64_t end)
{
    int64_t day = date_floor(end - 1, DAY_MINUTES), first_day, found;
    int minute = -1;

    assert(c->minutes && c->hours && c->months && c->weekdays);
    if (from >= end)
        return from - 1;
    if (day_matches(c, day))
        minute = minute_at_or_before(c, (int)(end - 1 - day * DAY_MINUTES));
    if (minute < 0) {
        first_day = date_floor(from, DAY_MINUTES);
        day = day_at_or_before(c, day - 1, first_day);
        if (day < first_day)
            return from - 1;
        minute = minute_at_or_before(c, DAY_MINUTES - 1);
    }
    found = day * DAY_MINUTES + minute;
    return found >= from ? found : from - 1;
}

/* Matching minutes before `minute` of a matching day. */
static int64_t minutes_before(const struct cron *c, int minute)
{
    int hour = minute / HOUR_MINUTES;
    int64_t count = (int64_t)count_bits(c->hours & bits_below(hour)) * count_bits(c->minutes);

    if (c->hours >> hour & 1)
        count += count_bits(c->minutes & bits_below(minute % HOUR_MINUTES));
    return count;
}

/* Matching days in [from, end), month by month. */
static int64_t days_between(const struct cron *c, int64_t from, int64_t end)
{
    struct month m = month_at(c, date_of(from));
    int64_t count = -count_bits(m.days & bits_below((int)(from - m.first)));

    for (; m.first < end; m = month_after(c, &m)) {
        int64_t days = end - m.first;

        count += count_bits(days < 31 ? m.days & bits_below((int)days) : m.days);
    }
    return count;
}

int64_t cron_count(const struct cron *c, int64_t from, int64_t end)
{
    int64_t day, end_day, cycles, days = 0, count;

    assert(c->minutes && c->hours && c->months && c->weekdays);
    if (from >= end)
        return 0;
    day = date_floor(from, DAY_MINUTES);
    end_day = date_floor(end, DAY_MINUTES);
    count = 0;
    if (day_matches(c, day))
        count -= minutes_before(c, (int)(from - day * DAY_MINUTES));
    if (day_matches(c, end_day))
        count += minutes_before(c, (int)(end - end_day * DAY_MINUTES));
    cycles = (end_day - day) / DATE_CYCLE_DAYS;
    if (cycles > 0)
        days = cycles * days_between(c, day, day + DATE_CYCLE_DAYS);
    days += days_between(c, day + cycles * DATE_CYCLE_DAYS, end_day);
    return count + days * count_bits(c->hours) * count_bits(c->minutes);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The least distance of two neighbours in a set; `none` where it has but one. */
static int64_t least_step(uint64_t set, int64_t none)
{
    int64_t step = none;

    for (uint64_t rest = set & (set - 1); rest; set &= set - 1, rest &= rest - 1)
        step = least(step, lowest(rest) - lowest(set));
    return step;
}

/* As least_step(), where the set begins again after `size`. */
static int64_t least_step_round(uint64_t set, int size)
{
    return least(least_step(set, size), size - (highest(set) - lowest(set)));
}

/* Of two matching days. Looks at 400 years, but ends where it cannot get less: for most sets within
 * the first year. */
static int64_t day_period(const struct cron *c)
{
    const int64_t begin = date_month(2000, 1), end = begin + DATE_CYCLE_DAYS;
    struct month m = month_at(c, (struct date){ 2000, 1, 1 });
    int64_t period = DATE_CYCLE_DAYS, last = INT64_MIN / 2, bound = 1;

    if (!c->either) {
        int64_t by_date = least_step_round(c->days, 28), by_weekday;

        by_weekday = least_step_round(c->weekdays, 7);
        bound = by_date > by_weekday ? by_date : by_weekday;
    }
    for (; period > bound && m.first <= end + period; m = month_after(c, &m)) {
        if (!m.days)
            continue;
        period = least(period, m.first + lowest(m.days) - last);
        period = least_step(m.days, period);
        last = m.first + highest(m.days);
    }
    return period;
}

int64_t cron_period(const struct cron *c)
{
    int64_t first = minute_at_or_after(c, 0), last = minute_at_or_before(c, DAY_MINUTES - 1);
    int64_t period, hours;

    assert(c->minutes && c->hours && c->months && c->weekdays);
    period = day_period(c) * DAY_MINUTES - (last - first);
    hours = least_step(c->hours, DAY_HOURS);
    if (hours < DAY_HOURS)
        period = least(period, hours * HOUR_MINUTES - (highest(c->minutes) - lowest(c->minutes)));
    return least_step(c->minutes, period);
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The greatest distance of two neighbours in a set; 0 where it has but one. */
static int64_t greatest_step(uint64_t set)
{
    int64_t step = 0;

    for (uint64_t rest = set & (set - 1); rest; set &= set - 1, rest &= rest - 1)
        step = greatest(step, lowest(rest) - lowest(set));
    return step;
}

/* What no distance of two matching days is above. */
static int64_t day_longest_bound(const struct cron *c)
{
    if (c->months != ALL_MONTHS || (!c->either && c->days != ALL_DAYS))
        return DATE_CYCLE_DAYS;
    return greatest(greatest_step(c->weekdays), 7 - (highest(c->weekdays) - lowest(c->weekdays)));
}

/* Of two matching days that follow each other. From a leap year whose next one is eight years away:
 * where no day of the week counts, all distances come within 16 years; else within 400, of which
 * the last may end 40 years later. */
static int64_t day_longest(const struct cron *c)
{
    bool by_date = !c->either && c->weekdays == ALL_WEEKDAYS;
    const int64_t end = date_month(by_date ? 1896 + 16 : 1896 + 441, 1);
    int64_t bound = day_longest_bound(c), longest = 0, last = INT64_MAX / 2;

    for (struct month m = month_at(c, (struct date){ 1896, 1, 1 });
         longest < bound && m.first < end; m = month_after(c, &m)) {
        if (!m.days)
            continue;
        longest = greatest(longest, m.first + lowest(m.days) - last);
        longest = greatest(longest, greatest_step(m.days));
        last = m.first + highest(m.days);
    }
    return longest;
}

int64_t cron_longest(const struct cron *c)
{
    int64_t first = minute_at_or_after(c, 0), last = minute_at_or_before(c, DAY_MINUTES - 1);
    int64_t longest, hours;

    assert(c->minutes && c->hours && c->months && c->weekdays);
    longest = day_longest(c) * DAY_MINUTES - (last - first);
    hours = greatest_step(c->hours);
    if (hours > 0)
        longest =
            greatest(longest, hours * HOUR_MINUTES - (highest(c->minutes) - lowest(c->minutes)));
    return greatest(longest, greatest_step(c->minutes));
}
