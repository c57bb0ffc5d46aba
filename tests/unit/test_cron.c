/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/cron.h"
#include "core/date.h"
#include <errno.h>
#include <string.h>

#define MATCHES 4
#define DAY_MINUTES 1440

static struct cron parse(const char *text)
{
    char why[CRON_WHY_SIZE] = "";
    struct cron c = { 0 };

    if (cron_parse(text, &c, why) < 0)
        fail_msg("\"%s\" was refused: %s", text, why);
    return c;
}

/* "2024-02-28 23:59" */
static int64_t minute_of(const char *text)
{
    int year, month, day, hour, minute;

    if (sscanf(text, "%d-%d-%d %d:%d", &year, &month, &day, &hour, &minute) != 5)
        fail_msg("\"%s\" is no minute", text);
    return (date_month(year, month) + day - 1) * DAY_MINUTES + hour * 60 + minute;
}

static const char *say(int64_t minute, char buffer[64])
{
    int64_t day = date_floor(minute, DAY_MINUTES);
    int rest = (int)(minute - day * DAY_MINUTES);
    struct date d = date_of(day);

    snprintf(buffer, 64, "%04d-%02d-%02d %02d:%02d", (int)d.year, d.month, d.day, rest / 60,
             rest % 60);
    return buffer;
}

/* Written by hand. 2024-01-01 was a Monday. */
static const struct {
    const char *expression, *from;
    const char *matches[MATCHES]; /* the first ones at or after `from` */
} cases[] = {
    { "* * * * *",
      "2024-02-28 23:59",
      { "2024-02-28 23:59", "2024-02-29 00:00", "2024-02-29 00:01", "2024-02-29 00:02" } },
    /* A step begins again with every hour, and with every day. */
    { "*/7 * * * *",
      "2024-01-01 00:50",
      { "2024-01-01 00:56", "2024-01-01 01:00", "2024-01-01 01:07", "2024-01-01 01:14" } },
    { "0 0-23/5 * * *",
      "2024-01-01 12:00",
      { "2024-01-01 15:00", "2024-01-01 20:00", "2024-01-02 00:00", "2024-01-02 05:00" } },
    { "0 */23 * * *",
      "2024-01-01 12:00",
      { "2024-01-01 23:00", "2024-01-02 00:00", "2024-01-02 23:00", "2024-01-03 00:00" } },
    { "10-59/20 3 * * *",
      "2024-01-01 00:00",
      { "2024-01-01 03:10", "2024-01-01 03:30", "2024-01-01 03:50", "2024-01-02 03:10" } },
    /* Lists that overlap name each minute once. */
    { "5,1-6/2,5-5,3 0 * * *",
      "2024-01-01 00:00",
      { "2024-01-01 00:01", "2024-01-01 00:03", "2024-01-01 00:05", "2024-01-02 00:01" } },
    /* The last minute of a year, and of an hour. */
    { "59 23 31 12 *",
      "2023-12-31 23:59",
      { "2023-12-31 23:59", "2024-12-31 23:59", "2025-12-31 23:59", "2026-12-31 23:59" } },
    /* A day that some months lack; a leap day, and a century without one. */
    { "0 0 31 * *",
      "2024-02-01 00:00",
      { "2024-03-31 00:00", "2024-05-31 00:00", "2024-07-31 00:00", "2024-08-31 00:00" } },
    { "0 0 30 1-3 *",
      "2024-01-31 00:00",
      { "2024-03-30 00:00", "2025-01-30 00:00", "2025-03-30 00:00", "2026-01-30 00:00" } },
    { "0 0 29 2 *",
      "2023-01-01 00:00",
      { "2024-02-29 00:00", "2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00" } },
    { "0 0 29 2 *",
      "2096-02-29 00:01",
      { "2104-02-29 00:00", "2108-02-29 00:00", "2112-02-29 00:00", "2116-02-29 00:00" } },
    /* The year ends between two matches. */
    { "0 12 1 1,12 *",
      "2024-06-01 00:00",
      { "2024-12-01 12:00", "2025-01-01 12:00", "2025-12-01 12:00", "2026-01-01 12:00" } },
    /* Sunday is 0, 7 and SUN; names in any case. */
    { "0 0 * * 0",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-01-14 00:00", "2024-01-21 00:00", "2024-01-28 00:00" } },
    { "0 0 * * 7",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-01-14 00:00", "2024-01-21 00:00", "2024-01-28 00:00" } },
    { "0 0 * * sUn",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-01-14 00:00", "2024-01-21 00:00", "2024-01-28 00:00" } },
    { "0 0 * * FRI-SUN",
      "2024-01-01 00:00",
      { "2024-01-05 00:00", "2024-01-06 00:00", "2024-01-07 00:00", "2024-01-12 00:00" } },
    { "0 0 * * 5-7",
      "2024-01-01 00:00",
      { "2024-01-05 00:00", "2024-01-06 00:00", "2024-01-07 00:00", "2024-01-12 00:00" } },
    { "0 0 * * 5-0",
      "2024-01-01 00:00",
      { "2024-01-05 00:00", "2024-01-06 00:00", "2024-01-07 00:00", "2024-01-12 00:00" } },
    { "0 0 * * 7-2",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-07 00:00", "2024-01-08 00:00" } },
    { "0 0 * * 7-7",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-01-14 00:00", "2024-01-21 00:00", "2024-01-28 00:00" } },
    { "0 0 * * Sun-Tue",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-07 00:00", "2024-01-08 00:00" } },
    { "0 0 * * 0-7",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    { "0 0 * * 1-7/3",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-04 00:00", "2024-01-07 00:00", "2024-01-08 00:00" } },
    /* 0, 2, 4 and 6 of 0 to 7. */
    { "0 0 * * */2",
      "2024-01-01 00:00",
      { "2024-01-02 00:00", "2024-01-04 00:00", "2024-01-06 00:00", "2024-01-07 00:00" } },
    { "0 0 * jan-MAR/2 *",
      "2024-01-31 00:00",
      { "2024-01-31 00:00", "2024-03-01 00:00", "2024-03-02 00:00", "2024-03-03 00:00" } },
    /* Both days given: either. One begins with a star, even with a step: both. */
    { "0 0 13 * 5",
      "2024-01-01 00:00",
      { "2024-01-05 00:00", "2024-01-12 00:00", "2024-01-13 00:00", "2024-01-19 00:00" } },
    { "0 0 1,15 * MON",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-08 00:00", "2024-01-15 00:00", "2024-01-22 00:00" } },
    { "0 0 */2 * 1",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-15 00:00", "2024-01-29 00:00", "2024-02-05 00:00" } },
    { "0 0 1-7 * */7",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-02-04 00:00", "2024-03-03 00:00", "2024-04-07 00:00" } },
    { "0 0 * * 1,*",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    /* That one begins with no star, so with a date it is either; and that is every day. */
    { "0 0 13 * 1,*",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    { "0 0 13 * 0-7",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    { "0 0 1-31 * 5",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    /* A date that never comes beside a weekday that does. */
    { "0 0 30 2 1",
      "2024-01-01 00:00",
      { "2024-02-05 00:00", "2024-02-12 00:00", "2024-02-19 00:00", "2024-02-26 00:00" } },
    /* A leap day that is a Sunday: 28 years, and 40 around 2100. */
    { "0 0 29 2 */7",
      "2024-01-01 00:00",
      { "2032-02-29 00:00", "2060-02-29 00:00", "2088-02-29 00:00", "2128-02-29 00:00" } },
    /* Blanks and tabs; zeros in front. */
    { " \t05  4\t*   * \t* ",
      "2024-01-01 00:00",
      { "2024-01-01 04:05", "2024-01-02 04:05", "2024-01-03 04:05", "2024-01-04 04:05" } },
    { "@hourly",
      "2024-01-01 22:01",
      { "2024-01-01 23:00", "2024-01-02 00:00", "2024-01-02 01:00", "2024-01-02 02:00" } },
    { "@daily",
      "2024-01-01 00:01",
      { "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00", "2024-01-05 00:00" } },
    { " @Midnight ",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00", "2024-01-04 00:00" } },
    { "@weekly",
      "2024-01-01 00:00",
      { "2024-01-07 00:00", "2024-01-14 00:00", "2024-01-21 00:00", "2024-01-28 00:00" } },
    { "@monthly",
      "2024-01-01 00:01",
      { "2024-02-01 00:00", "2024-03-01 00:00", "2024-04-01 00:00", "2024-05-01 00:00" } },
    { "@yearly",
      "2024-01-01 00:00",
      { "2024-01-01 00:00", "2025-01-01 00:00", "2026-01-01 00:00", "2027-01-01 00:00" } },
    { "@annually",
      "2024-01-01 00:01",
      { "2025-01-01 00:00", "2026-01-01 00:00", "2027-01-01 00:00", "2028-01-01 00:00" } },
    /* Before the epoch. */
    { "30 2 * * *",
      "1969-12-31 02:31",
      { "1970-01-01 02:30", "1970-01-02 02:30", "1970-01-03 02:30", "1970-01-04 02:30" } },
    { "0 0 29 2 *",
      "1897-01-01 00:00",
      { "1904-02-29 00:00", "1908-02-29 00:00", "1912-02-29 00:00", "1916-02-29 00:00" } },
};

static void test_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cron c = parse(cases[i].expression);
        int64_t from = minute_of(cases[i].from), end = from + INT64_C(200) * 366 * DAY_MINUTES;
        int64_t last = minute_of(cases[i].matches[MATCHES - 1]);
        char found[64];

        assert_true(cron_count(&c, from, last) == MATCHES - 1);
        for (int n = 0; n < MATCHES; n++) {
            int64_t minute = minute_of(cases[i].matches[n]);

            if (cron_first(&c, from, end) != minute)
                fail_msg("%s: %s, not %s", cases[i].expression,
                         say(cron_first(&c, from, end), found), cases[i].matches[n]);
            /* Nothing lies between it and the one before. */
            assert_true(cron_last(&c, from, minute) == from - 1);
            assert_true(cron_last(&c, from, minute + 1) == minute);
            assert_true(cron_first(&c, from, minute) == minute);
            from = minute + 1;
        }
    }
}

static void test_each_hour(void **state)
{
    static const char *const each[] = { "0 * * * *", "0 */2 * * *",   "0 0-23 * * *",
                                        "@hourly",   "0 1-5/2 * * *", "0 1,*/6 * * *" };
    static const char *const fixed[] = { "0 2 * * *",    "* 2 * * *", "*/5 1-3 * * *",
                                         "0 0-22 * * *", "@daily",    "0 2 * */2 *" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(each); i++)
        assert_true(parse(each[i]).each_hour);
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        assert_false(parse(fixed[i]).each_hour);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *expression, *why;
    } refused[] = {
        { "", "0 fields; write five, no seconds: minute hour day-of-month month day-of-week" },
        { " \t ", "0 fields; write five, no seconds: minute hour day-of-month month day-of-week" },
        { "5", "1 field; write five, no seconds: minute hour day-of-month month day-of-week" },
        { "30 2 * *",
          "4 fields; write five, no seconds: minute hour day-of-month month day-of-week" },
        { "0 30 2 * * *",
          "6 fields; write five, no seconds: minute hour day-of-month month day-of-week" },
        { "60 * * * *", "the minute is 60; write 0 to 59" },
        { "99999999999999999999 * * * *", "the minute is 99999999999999999999; write 0 to 59" },
        { "0 24 * * *", "the hour is 24; write 0 to 23" },
        { "0 0-24 * * *", "the hour is 24; write 0 to 23" },
        { "0 0 0 * *", "the day of the month is 0; write 1 to 31" },
        { "0 0 32 * *", "the day of the month is 32; write 1 to 31" },
        { "0 0 * 13 *", "the month is 13; write JAN to DEC or 1 to 12" },
        { "0 0 * 0 *", "the month is 0; write JAN to DEC or 1 to 12" },
        { "0 0 * * 8", "the day of the week is 8; write SUN to SAT or 0 to 7" },
        { "0 0 * * MOM", "\"MOM\" is no day of the week; write SUN to SAT or 0 to 7" },
        { "0 0 * * MONDAY", "\"MONDAY\" is no day of the week; write SUN to SAT or 0 to 7" },
        { "0 0 * MON *", "\"MON\" is no month; write JAN to DEC or 1 to 12" },
        { "x * * * *", "\"x\" is no minute; write 0 to 59" },
        { "-5 * * * *", "a value of the minute is missing; write 0 to 59" },
        { "5- * * * *", "a value of the minute is missing; write 0 to 59" },
        { "1,,2 * * * *", "a value of the minute is missing; write 0 to 59" },
        { "1, * * * *", "a value of the minute is missing; write 0 to 59" },
        { "/5 * * * *", "a value of the minute is missing; write 0 to 59" },
        { "1-2-3 * * * *", "\"2-3\" is no minute; write 0 to 59" },
        { "** * * * *", "\"**\" is no minute; write 0 to 59" },
        { "1.5 * * * *", "\"1.5\" is no minute; write 0 to 59" },
        { "\x1b[1m * * * *", "\"\\x1b[1m\" is no minute; write 0 to 59" },
        { "*/0 * * * *", "the step of the minute is 0; write 1 to 59" },
        { "*/60 * * * *", "the step of the minute is \"60\"; write 1 to 59" },
        { "*/90 * * * *", "the step of the minute is \"90\"; write 1 to 59" },
        { "0 */24 * * *", "the step of the hour is \"24\"; write 1 to 23" },
        { "*/ * * * *", "the step of the minute is \"\"; write 1 to 59" },
        { "*/5/5 * * * *", "the step of the minute is \"5/5\"; write 1 to 59" },
        { "*/-5 * * * *", "the step of the minute is \"-5\"; write 1 to 59" },
        { "5/15 * * * *", "the minute is \"5/15\", a step without a range; write 5-59/15" },
        { "0 22-3 * * *", "a range goes upward, and the hour is 22-3; write 22-23,0-3" },
        { "0 0 * * FRI-MON", "a range goes upward, and the day of the week is 5-1; write 5-6,0-1" },
        { "0 0 * NOV-FEB *", "a range goes upward, and the month is 11-2; write 11-12,1-2" },
        { "0 0 30 2 *", "never due: February has no 30th" },
        { "0 0 30,31 FEB *", "never due: February has no 30th" },
        { "0 0 31 4,6,9,11 *", "never due: April has no 31st" },
        { "0 0 31 2 */2", "never due: February has no 31st" },
        { "0 0 L * *",
          "the day of the month is \"L\"; L, W, # and ? are not known, write 1 to 31" },
        { "0 0 15W * *",
          "the day of the month is \"15W\"; L, W, # and ? are not known, write 1 to 31" },
        { "0 0 ? * MON",
          "the day of the month is \"?\"; L, W, # and ? are not known, write 1 to 31" },
        { "0 0 * * 6#3",
          "the day of the week is \"6#3\"; L, W, # and ? are not known, write SUN to "
          "SAT or 0 to 7" },
        { "@reboot", "@reboot is no time, and rota runs jobs by time only; write @hourly, @daily, "
                     "@midnight, @weekly, @monthly, @yearly or @annually" },
        { "@every", "\"@every\" is not known; write @hourly, @daily, @midnight, @weekly, @monthly, "
                    "@yearly or @annually" },
        { "@daily 5",
          "2 fields; write five, no seconds: minute hour day-of-month month day-of-week" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        char why[CRON_WHY_SIZE] = "";
        struct cron c = { .minutes = 77 };

        if (cron_parse(refused[i].expression, &c, why) != -EINVAL)
            fail_msg("\"%s\" was taken", refused[i].expression);
        assert_string_equal(why, refused[i].why);
        assert_true(c.minutes == 77);
    }
}

/* A word may be as long as a conf file lets it. */
static void test_long_word(void **state)
{
    char text[5000], why[CRON_WHY_SIZE];
    struct cron c;

    (void)state;
    memset(text, 'z', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text + sizeof(text) - 9, " * * * *", 8);
    assert_int_equal(cron_parse(text, &c, why), -EINVAL);
    assert_non_null(strstr(why, "...\" is no minute; write 0 to 59"));
}

/* Whatever is taken is due within 40 years; whatever is not has a reason. */
static void test_random_text(void **state)
{
    static const char *const words[] = { "*",   "*/2", "0", "7",    "29",  "31",  "59",
                                         "1-5", "-",   ",", "/3",   "FEB", "SUN", "5L",
                                         "1,2", "@",   "#", "\xff", " ",   "x" };
    struct unit_random random = unit_random_begin();
    const int64_t years = INT64_C(41) * 366 * DAY_MINUTES;

    (void)state;
    for (int i = 0; i < 30000; i++) {
        char text[128] = "", why[CRON_WHY_SIZE] = "";
        int64_t from = unit_random_in(&random, 0, minute_of("2200-01-01 00:00"));
        struct cron c;

        for (int n = 0; n < 5; n++) {
            strcat(text, words[unit_random_in(&random, 0, COUNT_OF(words) - 1)]);
            if (unit_random_in(&random, 0, 7) == 0)
                strcat(text, words[unit_random_in(&random, 0, COUNT_OF(words) - 1)]);
            strcat(text, n < 4 ? " " : "");
        }
        if (cron_parse(text, &c, why) < 0)
            assert_true(why[0] != '\0');
        else if (cron_first(&c, from, from + years) == from + years || cron_period(&c) < 1)
            fail_msg("\"%s\" is never due", text);
    }
}

static void test_period(void **state)
{
    const int64_t day = DAY_MINUTES;
    const struct {
        const char *expression;
        int64_t minutes;
    } periods[] = {
        { "* * * * *", 1 },
        { "*/7 * * * *", 4 },
        { "*/15 * * * *", 15 },
        { "5 * * * *", 60 },
        { "0,59 2 * * *", 59 },
        { "0,59 2,3 * * *", 1 },
        { "0,30 2,4 * * *", 30 },
        { "0 0-23/5 * * *", 4 * 60 },
        { "0 1,23 * * *", 2 * 60 },
        { "0 1,23 * * 1", 22 * 60 },
        { "30 2 * * *", day },
        { "30 2 * * 1-5", day },
        { "30 2 * * 1", 7 * day },
        { "30 2 * * 1,4", 3 * day },
        { "0 0 1 * *", 28 * day },
        { "0 0 31 * *", 31 * day },
        { "0 0 1,31 * *", day },
        { "0 0 1,29 2,3 *", day },
        { "0 0 1 1 *", 365 * day },
        { "59 23 31 12 *", 365 * day },
        { "0 0 29 2 *", 1461 * day },
        { "0 0 29 2 */7", (28 * 365 + 7) * day },
        { "0 0 */2 * 1", 7 * day },
        { "0 0 13 * 5", day },
        { "0 0 30 2 1", 7 * day },
        { "0 0 1-7 * */7", 28 * day },
        { "@hourly", 60 },
        { "@weekly", 7 * day },
        { "@yearly", 365 * day },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(periods); i++) {
        struct cron c = parse(periods[i].expression);

        if (cron_period(&c) != periods[i].minutes)
            fail_msg("%s: every %lld minutes, not %lld", periods[i].expression,
                     (long long)cron_period(&c), (long long)periods[i].minutes);
    }
}

static void test_longest(void **state)
{
    const int64_t day = DAY_MINUTES;
    const struct {
        const char *expression;
        int64_t minutes;
    } waits[] = {
        { "* * * * *", 1 },
        { "*/7 * * * *", 7 },
        { "0,50 * * * *", 50 },
        { "0,50 3 * * *", day - 50 },
        { "*/15 2,10 * * *", 16 * 60 - 45 },
        { "*/15 0-23/10 * * *", 10 * 60 - 45 },
        { "30 2 * * *", day },
        { "30 2 * * 1-5", 3 * day },
        { "30 2 * * 1", 7 * day },
        { "0 0 1 * *", 31 * day },
        { "0 0 31 * *", 61 * day },
        { "0 0 1 * 1", 7 * day },
        { "0 4 * 12 *", 336 * day },
        { "0 4,6 * 12 *", 336 * day - 120 },
        { "0 4 * 3-12 *", 61 * day },
        { "0 0 1 1 *", 366 * day },
        { "0 0 29 2 *", 2921 * day },
        { "0 0 29 2,3 *", 365 * day },
        { "0 0 29 2 */7", 14609 * day },
        { "0 0 29 2 */6", 10226 * day },
        { "0 0 * 2 1", 350 * day },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        struct cron c = parse(waits[i].expression);

        if (cron_longest(&c) != waits[i].minutes)
            fail_msg("%s: at most %lld minutes, not %lld", waits[i].expression,
                     (long long)cron_longest(&c), (long long)waits[i].minutes);
    }
}

static uint64_t some_bits(struct unit_random *r, int low, int high)
{
    uint64_t bits = 0;

    if (unit_random_in(r, 0, 3) == 0)
        return ((UINT64_C(2) << high) - 1) & ~((UINT64_C(1) << low) - 1);
    for (int64_t n = unit_random_in(r, 1, 3); n > 0; n--)
        bits |= UINT64_C(1) << unit_random_in(r, low, high);
    return bits;
}

static struct cron some_cron(struct unit_random *r)
{
    struct cron c = { 0 };

    c.minutes = some_bits(r, 0, 59);
    c.hours = (uint32_t)some_bits(r, 0, 23);
    c.days = (uint32_t)some_bits(r, 1, 31);
    c.months = (uint16_t)some_bits(r, 1, 12);
    c.weekdays = (uint8_t)some_bits(r, 0, 6);
    c.either = unit_random_in(r, 0, 1);
    /* As the parser sees to it, the date comes. */
    c.days |= 1U << unit_random_in(r, 1, 28);
    return c;
}

static bool matches(const struct cron *c, int64_t minute)
{
    int64_t day = date_floor(minute, DAY_MINUTES);
    int rest = (int)(minute - day * DAY_MINUTES);
    struct date d = date_of(day);
    bool by_date = c->days >> d.day & 1, by_weekday = c->weekdays >> date_weekday(day) & 1;

    return (c->minutes >> rest % 60 & 1) && (c->hours >> rest / 60 & 1) &&
           (c->months >> d.month & 1) &&
           (c->either ? by_date || by_weekday : by_date && by_weekday);
}

/* Against one minute after the other. */
static void test_minute_by_minute(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct cron c = some_cron(&random);
        int64_t from =
            unit_random_in(&random, minute_of("1900-01-01 00:00"), minute_of("2150-01-01 00:00"));
        int64_t end = from + unit_random_in(&random, 0, 4 * DAY_MINUTES);
        int64_t first = end, last = from - 1, count = 0;

        for (int64_t minute = from; minute < end; minute++)
            if (matches(&c, minute)) {
                if (count++ == 0)
                    first = minute;
                last = minute;
            }
        assert_true(cron_first(&c, from, end) == first);
        assert_true(cron_last(&c, from, end) == last);
        assert_true(cron_count(&c, from, end) == count);
    }
}

static void test_laws(void **state)
{
    struct unit_random random = unit_random_begin();
    const int64_t years = INT64_C(100) * 366 * DAY_MINUTES;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct cron c = some_cron(&random);
        int64_t from = unit_random_in(&random, -20 * years, 20 * years), minute = from;
        int64_t period = cron_period(&c), longest = cron_longest(&c), before = INT64_MIN;
        int64_t cycle = DATE_CYCLE_DAYS * DAY_MINUTES;

        for (int n = 0; n < 20; n++) {
            int64_t found = cron_first(&c, minute, minute + years);

            assert_true(found < minute + years && matches(&c, found));
            assert_true(cron_last(&c, minute, found + 1) == found);
            assert_true(cron_count(&c, from, found) == n);
            assert_true(n == 0 || (found - before >= period && found - before <= longest));
            before = found;
            minute = found + 1;
        }
        assert_true(cron_count(&c, from, from + 7 * cycle) ==
                    7 * cron_count(&c, from, from + cycle));
        assert_true(cron_first(&c, from, from) == from && cron_last(&c, from, from) == from - 1);
        assert_true(cron_count(&c, from, from) == 0 && cron_count(&c, from, from - 5) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),          cmocka_unit_test(test_each_hour),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_long_word),
        cmocka_unit_test(test_random_text),      cmocka_unit_test(test_period),
        cmocka_unit_test(test_minute_by_minute), cmocka_unit_test(test_laws),
        cmocka_unit_test(test_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
