/* SPDX-License-Identifier: MIT */
#include "rotactl/when.h"
#include "base/text.h"
#include "base/units.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* `digits` digits that are a number from least to most; moves *at behind them. */
static bool take_number(const char **at, int digits, int least, int most, int *ret_number)
{
    int number = 0;

    for (int i = 0; i < digits; i++) {
        char c = (*at)[i];

        if (c < '0' || c > '9')
            return false;
        number = number * 10 + (c - '0');
    }
    *at += digits;
    *ret_number = number;
    return number >= least && number <= most;
}

static bool take(const char **at, const char *any)
{
    if (!**at || !strchr(any, **at))
        return false;
    (*at)++;
    return true;
}

static bool take_date(const char **at, struct tm *tm)
{
    if (!take_number(at, 4, 1970, 9999, &tm->tm_year) || !take(at, "-") ||
        !take_number(at, 2, 1, 12, &tm->tm_mon) || !take(at, "-") ||
        !take_number(at, 2, 1, 31, &tm->tm_mday))
        return false;
    tm->tm_year -= 1900;
    tm->tm_mon--;
    return true;
}

static bool take_time(const char **at, struct tm *tm)
{
    if (!take_number(at, 2, 0, 23, &tm->tm_hour) || !take(at, ":") ||
        !take_number(at, 2, 0, 59, &tm->tm_min))
        return false;
    return !take(at, ":") || take_number(at, 2, 0, 59, &tm->tm_sec);
}

static int parse_date(const char *text, int64_t *ret_ms)
{
    struct tm tm = { 0 };
    int64_t seconds;
    int day;

    if (!take_date(&text, &tm))
        return -EINVAL;
    if (take(&text, " T") && !take_time(&text, &tm))
        return -EINVAL;
    take(&text, "Z");
    day = tm.tm_mday;
    seconds = (int64_t)timegm(&tm);
    if (*text || tm.tm_mday != day) /* no 31st of November */
        return -EINVAL;
    *ret_ms = seconds * SECOND_MS;
    return 0;
}

int when_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    int64_t midnight = now_ms - now_ms % DAY_MS, ago;

    if (strcmp(text, "now") == 0)
        *ret_ms = now_ms;
    else if (strcmp(text, "today") == 0)
        *ret_ms = midnight;
    else if (strcmp(text, "yesterday") == 0)
        *ret_ms = midnight - DAY_MS;
    else if (units_parse_duration(text, &ago) == 0)
        *ret_ms = ago < now_ms ? now_ms - ago : 0;
    else
        return parse_date(text, ret_ms);
    return 0;
}

static struct tm broken_down(int64_t ms, bool local)
{
    time_t seconds = (time_t)(ms / SECOND_MS);
    struct tm tm = { 0 };

    if (local)
        localtime_r(&seconds, &tm);
    else
        gmtime_r(&seconds, &tm);
    return tm;
}

/* strftime() says nothing of what it leaves where it has no room, as for a year of nine digits. */
static void end_time(char *buf, size_t written)
{
    if (written == 0)
        buf[0] = '\0';
}

/* A calendar's day, as a number. */
static int64_t day_of(const struct tm *tm)
{
    struct tm midnight = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday };

    return (int64_t)timegm(&midnight) / (DAY_MS / SECOND_MS);
}

/* The day by its name from now, or by its weekday within six days, in letters or `whole`; else the
 * date. */
static void say_day(const struct tm *at, int64_t now_ms, bool local, bool whole, char *buf)
{
    static const char *const near[] = { "yesterday", "today", "tomorrow" };
    struct tm now = broken_down(now_ms, local);
    int64_t days = day_of(at) - day_of(&now);

    if (days >= -1 && days <= 1)
        text_copy(buf, WHEN_SIZE, near[days + 1]);
    else if (days >= -6 && days <= 6)
        end_time(buf, strftime(buf, WHEN_SIZE, whole ? "%A" : "%a", at));
    else
        end_time(buf, strftime(buf, WHEN_SIZE, "%F", at));
}

char *when_say(int64_t ms, int64_t now_ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local);
    char day[WHEN_SIZE], clock[WHEN_SIZE];

    say_day(&at, now_ms, local, false, day);
    text_format(buf, WHEN_SIZE, "%s %s", day, when_time(ms, local, clock));
    return buf;
}

char *when_day_name(int64_t ms, int64_t now_ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local);

    say_day(&at, now_ms, local, true, buf);
    return buf;
}

char *when_time(int64_t ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local);

    end_time(buf, strftime(buf, WHEN_SIZE, at.tm_sec ? "%T" : "%R", &at));
    return buf;
}

static char *say_short(int64_t ms, int64_t now_ms, bool local, bool exact, char *buf)
{
    struct tm at = broken_down(ms, local), now = broken_down(now_ms, local);
    int64_t days = day_of(&at) - day_of(&now);
    char day[WHEN_SIZE] = "", clock[WHEN_SIZE];

    if (days != 0)
        end_time(day, strftime(day, sizeof day, days >= -6 && days <= 6 ? "%a " : "%F ", &at));
    end_time(clock, strftime(clock, sizeof clock, at.tm_sec || exact ? "%T" : "%R", &at));
    text_format(buf, WHEN_SIZE, "%s%s", day, clock);
    return buf;
}

char *when_say_short(int64_t ms, int64_t now_ms, bool local, char *buf)
{
    return say_short(ms, now_ms, local, false, buf);
}

char *when_say_last(int64_t ms, int64_t now_ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local), now = broken_down(now_ms, local);
    char clock[WHEN_SIZE];

    if (day_of(&at) != day_of(&now))
        return when_say_short(ms, now_ms, local, buf);
    text_format(buf, WHEN_SIZE, "%s today", when_time(ms, local, clock));
    return buf;
}

char *when_say_exact(int64_t ms, int64_t now_ms, bool local, char *buf)
{
    return say_short(ms, now_ms, local, true, buf);
}

char *when_day(int64_t ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local);

    end_time(buf, strftime(buf, WHEN_SIZE, "%F", &at));
    return buf;
}

char *when_clock(int64_t ms, bool local, char *buf)
{
    struct tm at = broken_down(ms, local);

    end_time(buf, strftime(buf, WHEN_SIZE, local ? "%T %Z" : "%T UTC", &at));
    return buf;
}

char *when_say_span(int64_t ms, char *buf)
{
    ms -= ms % SECOND_MS;
    if (ms > 0)
        units_say_duration(ms, buf, WHEN_SIZE);
    else
        text_copy(buf, WHEN_SIZE, "0 s");
    return buf;
}
