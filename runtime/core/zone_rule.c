/* SPDX-License-Identifier: MIT */
#include "core/zone_rule.h"

#include "base/time.h"
#include "core/date.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define CYCLE_S (DATE_CYCLE_DAYS * DATE_DAY_S)
#define MINUTE_S 60
#define HOUR_S 3600

/* What is left of the text. */
struct reading {
    const char *at, *end;
};

static char peek(const struct reading *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static bool take(struct reading *r, char c)
{
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* One to three digits, least ... greatest. */
static int take_number(struct reading *r, int least, int greatest, int *ret_number)
{
    int number = 0, digits = 0;

    while (is_digit(peek(r)) && digits < 4) {
        number = number * 10 + (*r->at++ - '0');
        digits++;
    }
    if (digits == 0 || digits > 3 || number < least || number > greatest)
        return -EBADMSG;
    *ret_number = number;
    return 0;
}

/* "CET", or "<+03>" where there are signs and digits in it. At least three characters. */
static int take_name(struct reading *r)
{
    bool quoted = take(r, '<');
    int length = 0;

    for (;; length++) {
        char c = peek(r);

        if (!is_letter(c) && !(quoted && (is_digit(c) || c == '+' || c == '-')))
            break;
        r->at++;
    }
    return length < 3 || (quoted && !take(r, '>')) ? -EBADMSG : 0;
}

/* [+-]h[h[h]][:mm[:ss]] in seconds. */
static int take_time(struct reading *r, int hours_max, int32_t *ret_seconds)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take(r, '-');

    if (!negative)
        take(r, '+');
    if (take_number(r, 0, hours_max, &hours) < 0)
        return -EBADMSG;
    if (take(r, ':')) {
        if (take_number(r, 0, 59, &minutes) < 0)
            return -EBADMSG;
        if (take(r, ':') && take_number(r, 0, 59, &seconds) < 0)
            return -EBADMSG;
    }
    seconds += hours * HOUR_S + minutes * MINUTE_S;
    *ret_seconds = negative ? -seconds : seconds;
    return 0;
}

/* POSIX counts west of UTC, this program east. */
static int take_offset(struct reading *r, int32_t *ret_offset)
{
    int32_t west;

    if (take_time(r, 24, &west) < 0)
        return -EBADMSG;
    *ret_offset = -west;
    return 0;
}

/* "M3.5.0", "J60" or "59", and "/2" or what else is said of the time. */
static int take_day(struct reading *r, struct zone_day *ret_day)
{
    struct zone_day day = { .kind = '0', .second = 2 * HOUR_S };
    int number, week, weekday;

    if (take(r, 'M')) {
        day.kind = 'M';
        if (take_number(r, 1, 12, &number) < 0 || !take(r, '.') ||
            take_number(r, 1, 5, &week) < 0 || !take(r, '.') || take_number(r, 0, 6, &weekday) < 0)
            return -EBADMSG;
        day.month = (uint8_t)number;
        day.week = (uint8_t)week;
        day.weekday = (uint8_t)weekday;
    } else {
        if (take(r, 'J'))
            day.kind = 'J';
        if (take_number(r, day.kind == 'J', 365, &number) < 0)
            return -EBADMSG;
        day.day = (uint16_t)number;
    }
    if (take(r, '/') && take_time(r, 167, &day.second) < 0)
        return -EBADMSG;
    *ret_day = day;
    return 0;
}

static int64_t day_of_year(const struct zone_day *day, int64_t year)
{
    int64_t first;
    int into;

    if (day->kind == '0')
        return date_month(year, 1) + day->day;
    if (day->kind == 'J')
        return date_month(year, 1) + day->day - 1 + (day->day >= 60 && date_is_leap(year));
    first = date_month(year, day->month);
    into = (day->weekday - date_weekday(first) + 7) % 7 + 7 * (day->week - 1);
    /* Week 5 is the last one, which may be the fourth. */
    if (into >= date_month_days(year, day->month))
        into -= 7;
    return first + into;
}

/* Each of the two is said in the local time that it ends. */
static int64_t summer_from(const struct zone_rule *rule, int64_t year)
{
    return day_of_year(&rule->from, year) * DATE_DAY_S + rule->from.second - rule->standard;
}

static int64_t summer_to(const struct zone_rule *rule, int64_t year)
{
    return day_of_year(&rule->to, year) * DATE_DAY_S + rule->to.second - rule->summer;
}

/* The two changes of a year, in the order in which they come; true where summer time comes first.
 */
static bool year_changes(const struct zone_rule *rule, int64_t year, int64_t ret_at[2])
{
    int64_t from = summer_from(rule, year), to = summer_to(rule, year);
    bool north = from < to;

    ret_at[0] = north ? from : to;
    ret_at[1] = north ? to : from;
    return north;
}

/* Looks at every kind of year, so that zone_rule_offset() may rely on a strict order. */
static int check_order(struct zone_rule *rule)
{
    int64_t last[2], now[2];
    bool north = year_changes(rule, 1970, last);
    int touching = 0;

    if (rule->standard == rule->summer)
        rule->changes = false;
    if (!rule->changes)
        return 0;
    for (int year = 1971; year <= 1970 + DATE_CYCLE_YEARS; year++) {
        if (year_changes(rule, year, now) != north || now[0] == now[1] || now[0] < last[1])
            return -EBADMSG;
        touching += now[0] == last[1];
        memcpy(last, now, sizeof(last));
    }
    if (touching == 0)
        return 0;
    if (touching != DATE_CYCLE_YEARS)
        return -EBADMSG;
    /* One of the two times ends where it begins again: the other is never. */
    if (north)
        rule->standard = rule->summer;
    rule->summer = rule->standard;
    rule->changes = false;
    return 0;
}

int zone_rule_parse(const char *text, size_t size, struct zone_rule *ret_rule)
{
    struct reading r = { text, text + size };
    struct zone_rule rule = { 0 };

    if (take_name(&r) < 0 || take_offset(&r, &rule.standard) < 0)
        return -EBADMSG;
    rule.summer = rule.standard;
    if (r.at < r.end) {
        rule.changes = true;
        if (take_name(&r) < 0)
            return -EBADMSG;
        rule.summer = rule.standard + HOUR_S;
        if (peek(&r) != ',' && take_offset(&r, &rule.summer) < 0)
            return -EBADMSG;
        if (!take(&r, ',') || take_day(&r, &rule.from) < 0 || !take(&r, ',') ||
            take_day(&r, &rule.to) < 0 || r.at < r.end)
            return -EBADMSG;
        if (check_order(&rule) < 0)
            return -EBADMSG;
    }
    *ret_rule = rule;
    return 0;
}

int32_t zone_rule_offset(const struct zone_rule *rule, int64_t at, int64_t *ret_from,
                         int64_t *ret_until)
{
    /* In the first cycle, where nothing overflows, however far away `at` is. */
    const int64_t near = (at % CYCLE_S + CYCLE_S) % CYCLE_S;
    int64_t from = 0, year;

    if (!rule->changes) {
        *ret_from = INT64_MIN;
        *ret_until = ZONE_NEVER;
        return rule->standard;
    }
    /* A change may lie some days outside of its year: begin where both have surely passed. */
    for (year = date_of(near / DATE_DAY_S).year - 2;; year++) {
        int64_t change[2];
        bool north = year_changes(rule, year, change);

        for (int i = 0; i < 2; i++) {
            if (change[i] > near) {
                *ret_from = time_add_ms(at, from - near);
                *ret_until = time_add_ms(at, change[i] - near);
                /* Before the first change of a year it is as after the second. */
                return (i == 0) == north ? rule->standard : rule->summer;
            }
            from = change[i];
        }
    }
}
