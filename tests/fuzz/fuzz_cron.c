/* SPDX-License-Identifier: MIT
 * Cron expressions: what is read has sane sets and a reason where it has none, and the minutes that
 * are found in constant time are those that a look at each minute finds. */
#include "core/cron.h"
#include "core/date.h"
#include "fuzz.h"
#include <errno.h>
#include <stdio.h>

#define DAY_MINUTES INT64_C(1440)
#define WINDOW_DAYS 3
#define YEAR_MINUTES (366 * DAY_MINUTES)
/* Where windows begin: in some 400 years from 1770 on. */
#define FIRST_DAY INT64_C(-73000)
#define FIRST_DAYS INT64_C(146000)
/* No two matches are further apart. */
#define LONGEST_MINUTES (41 * YEAR_MINUTES)

static void check_sets(const struct cron *c)
{
    assert(c->minutes != 0 && c->minutes >> 60 == 0);
    assert(c->hours != 0 && c->hours >> 24 == 0);
    assert(c->days != 0 && (c->days & 1) == 0);
    assert(c->months != 0 && (c->months & 1) == 0 && c->months >> 13 == 0);
    assert(c->weekdays != 0 && c->weekdays >> 7 == 0);
}

static bool day_matches(const struct cron *c, int64_t day)
{
    struct date date = date_of(day);
    bool by_date = c->days >> date.day & 1, by_weekday = c->weekdays >> date_weekday(day) & 1;

    if (!(c->months >> date.month & 1))
        return false;
    return c->either ? by_date || by_weekday : by_date && by_weekday;
}

static bool minute_matches(const struct cron *c, int64_t minute)
{
    return c->hours >> minute / 60 & 1 && c->minutes >> minute % 60 & 1;
}

static void check_window(const struct cron *c, int64_t first_day, int64_t into)
{
    int64_t from = first_day * DAY_MINUTES + into;
    int64_t end = (first_day + WINDOW_DAYS) * DAY_MINUTES;
    int64_t first = end, last = from - 1, count = 0;

    for (int64_t day = first_day; day < first_day + WINDOW_DAYS; day++) {
        if (!day_matches(c, day))
            continue;
        for (int64_t m = day == first_day ? into : 0; m < DAY_MINUTES; m++) {
            if (!minute_matches(c, m))
                continue;
            last = day * DAY_MINUTES + m;
            first = first == end ? last : first;
            count++;
        }
    }
    assert(cron_first(c, from, end) == first);
    assert(cron_last(c, from, end) == last);
    assert(cron_count(c, from, end) == count);
}

static void check_distance(const struct cron *c, int64_t from)
{
    int64_t a = cron_first(c, from, from + LONGEST_MINUTES);
    int64_t b = cron_first(c, a + 1, a + 1 + LONGEST_MINUTES);

    assert(a >= from && a < from + LONGEST_MINUTES && b < a + 1 + LONGEST_MINUTES);
    assert(cron_period(c) >= 1);
    assert(b - a >= cron_period(c) && b - a <= cron_longest(c));
    assert(cron_last(c, from, b) == a);
    assert(cron_count(c, from, b + 1) == 2);
}

/* "1,2,5", or "*" for a day field that is to restrict nothing. */
static char *list_set(char *at, uint64_t set, bool star)
{
    if (star)
        return at + sprintf(at, "* ");
    for (int i = 0; i < 60; i++)
        if (set >> i & 1)
            at += sprintf(at, "%d,", i);
    at[-1] = ' ';
    return at;
}

/* Written as lists it has the same sets. Of two day fields that must both match, one that does not
 * name every day cannot be written so. */
static void check_lists(const struct cron *c)
{
    bool all_days = c->days == 0xfffffffe, all_weekdays = c->weekdays == 0x7f;
    char text[1024], why[CRON_WHY_SIZE];
    struct cron back;
    char *at = text;

    if (!c->either && !all_days && !all_weekdays)
        return;
    at = list_set(at, c->minutes, false);
    at = list_set(at, c->hours, false);
    at = list_set(at, c->days, !c->either && all_days);
    at = list_set(at, c->months, false);
    list_set(at, c->weekdays, !c->either && all_weekdays);
    assert(cron_parse(text, &back, why) == 0);
    assert(back.minutes == c->minutes && back.hours == c->hours && back.days == c->days);
    assert(back.months == c->months && back.weekdays == c->weekdays && back.either == c->either);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char why[CRON_WHY_SIZE] = "";
    struct cron c;
    int r = cron_parse(text, &c, why);

    assert(r == 0 || r == -EINVAL);
    if (r < 0) {
        assert(why[0] != '\0' && memchr(why, '\0', sizeof(why)));
    } else {
        int64_t day = FIRST_DAY + fuzz_number(data, size, FIRST_DAYS);

        check_sets(&c);
        check_window(&c, day, day & 1023);
        check_distance(&c, day * DAY_MINUTES);
        check_lists(&c);
    }
    free(text);
    return 0;
}
