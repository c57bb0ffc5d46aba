/* SPDX-License-Identifier: MIT */
#include "core/date.h"
#include <assert.h>

/* Years are counted from March here, which puts the leap day at the end of the year, so that no
 * month begins at a day that depends on it. The cycle of 400 years begins at 0000-03-01. */
#define CYCLE_BEGINS (-719468)
#define CENTURY_DAYS 36524
#define FOUR_YEARS_DAYS 1461
#define YEAR_DAYS 365

/* Days from March 1 to the first of a month that is `n` months on: 0 31 61 92 122 ... 337. From
 * March on the lengths 31 30 31 30 31 repeat, 153 days in 5 months. */
static int32_t days_before(int32_t n)
{
    return (153 * n + 2) / 5;
}

struct date date_of(int64_t day)
{
    int64_t cycle = date_floor(day - CYCLE_BEGINS, DATE_CYCLE_DAYS);
    int32_t rest = (int32_t)(day - CYCLE_BEGINS - cycle * DATE_CYCLE_DAYS);
    int32_t centuries, fours, years, months;

    /* The last day of the cycle, and that of four years, is the leap day, past the third of three
     * whole parts. */
    centuries = rest / CENTURY_DAYS - rest / (int32_t)(DATE_CYCLE_DAYS - 1);
    rest -= centuries * CENTURY_DAYS;
    fours = rest / FOUR_YEARS_DAYS;
    rest -= fours * FOUR_YEARS_DAYS;
    years = rest / YEAR_DAYS - rest / (FOUR_YEARS_DAYS - 1);
    rest -= years * YEAR_DAYS;
    months = (5 * rest + 2) / 153;
    return (struct date){
        .year = cycle * DATE_CYCLE_YEARS + (centuries * 100 + fours * 4 + years) + (months >= 10),
        .month = months < 10 ? months + 3 : months - 9,
        .day = rest - days_before(months) + 1,
    };
}

int64_t date_month(int64_t year, int month)
{
    int32_t months = month > 2 ? month - 3 : month + 9;
    int64_t cycle;
    int32_t rest;

    assert(month >= 1 && month <= 12);
    if (month <= 2)
        year--;
    cycle = date_floor(year, DATE_CYCLE_YEARS);
    rest = (int32_t)(year - cycle * DATE_CYCLE_YEARS);
    return CYCLE_BEGINS + cycle * DATE_CYCLE_DAYS + (int64_t)rest * YEAR_DAYS + rest / 4 -
           rest / 100 + days_before(months);
}

bool date_is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int date_month_days(int64_t year, int month)
{
    if (month == 2)
        return date_is_leap(year) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

int date_weekday(int64_t day)
{
    /* 1970-01-01 was a Thursday. */
    return (int)(((day + 4) % 7 + 7) % 7);
}
