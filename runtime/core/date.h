/* SPDX-License-Identifier: MIT
 * core/date.h: days of the Gregorian calendar, carried on backwards without end. A day is its
 * number of days from 1970-01-01. */
#ifndef ROTA_CORE_DATE_H
#define ROTA_CORE_DATE_H
#include <stdbool.h>
#include <stdint.h>

#define DATE_DAY_S INT64_C(86400)
/* After so many days dates, leap years and days of the week repeat. */
#define DATE_CYCLE_YEARS 400
#define DATE_CYCLE_DAYS INT64_C(146097)

struct date {
    int64_t year;
    int month; /* 1 ... 12 */
    int day;   /* 1 ... 31 */
};

/* Rounded down, where C rounds to 0. `b` > 0. */
static inline int64_t date_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Any day that is a whole number of seconds in 64 bits. */
struct date date_of(int64_t day);
/* The number of the first day of a month. */
int64_t date_month(int64_t year, int month);
/* 28 ... 31. */
int date_month_days(int64_t year, int month);
bool date_is_leap(int64_t year);
/* 0 is Sunday. */
int date_weekday(int64_t day);
#endif
