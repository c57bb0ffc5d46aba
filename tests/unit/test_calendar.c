/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/calendar.h"
#include "core/date.h"
#include "support/tzif.h"
#include <string.h>

#define TURNS 5

static const struct tzif berlin = { .rule = "CET-1CEST,M3.5.0,M10.5.0/3" };
static const struct tzif new_york = { .rule = "EST5EDT,M3.2.0,M11.1.0" };
/* Half an hour, to the south. */
static const struct tzif lord_howe = { .rule = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0" };
static const struct tzif troll = { .rule = "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3" };
/* "Summer" is the standard time of winter less an hour. */
static const struct tzif dublin = { .rule = "IST-1GMT0,M10.5.0,M3.5.0/1" };
/* Changes at midnight. */
static const struct tzif sao_paulo = {
    .offsets = { -3 * 3600, -2 * 3600 },
    .types_count = 2,
    .times = { 1508036400, 1518919200 }, /* 2017-10-15T03:00Z, 2018-02-18T02:00Z */
    .types = { 1, 0 },
    .count = 2,
};
/* 2011-12-30 never was: from 10 hours behind to 14 ahead at its midnight. */
static const struct tzif apia = {
    .offsets = { -10 * 3600, 14 * 3600 },
    .types_count = 2,
    .times = { 1325239200 }, /* 2011-12-30T10:00Z */
    .types = { 1 },
    .count = 1,
};
/* From the one side of the date line to the other: 2001-09-08 from 14:00 on is there once more. */
static const struct tzif twice = {
    .offsets = { 12 * 3600, -12 * 3600 },
    .types_count = 2,
    .times = { 1000000800 }, /* 2001-09-09T02:00Z */
    .types = { 1 },
    .count = 1,
};
/* Berlin's local mean time until 1893-04-01: 53:28 ahead, then an hour. */
static const struct tzif mean_time = {
    .offsets = { 3208, 3600 },
    .types_count = 2,
    .times = { -2422054408 },
    .types = { 1 },
    .count = 1,
};

/* "2026-03-29T01:00:00" in UTC; seconds may be left out. */
static int64_t instant(const char *text)
{
    int year, month, day, hour, minute, second = 0;

    if (sscanf(text, "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) < 5)
        fail_msg("\"%s\" is no instant", text);
    return ((date_month(year, month) + day - 1) * DATE_DAY_S + hour * 3600 + minute * 60 + second) *
           SECOND_MS;
}

static const char *say(struct wall t, char buffer[64])
{
    int64_t seconds = date_floor(t.ms, SECOND_MS), day = date_floor(seconds, DATE_DAY_S);
    int rest = (int)(seconds - day * DATE_DAY_S);
    struct date d = date_of(day);

    snprintf(buffer, 64, "%04d-%02d-%02dT%02d:%02d:%02d", (int)d.year, d.month, d.day, rest / 3600,
             rest / 60 % 60, rest % 60);
    return buffer;
}

static struct cron parse(const char *text)
{
    char why[CRON_WHY_SIZE] = "";
    struct cron c = { 0 };

    if (cron_parse(text, &c, why) < 0)
        fail_msg("\"%s\" was refused: %s", text, why);
    return c;
}

/* Each row: what is due from then on. */
static const struct {
    const struct tzif *zone;
    const char *expression, *after;
    const char *turns[TURNS];
} cases[] = {
    /* S28. 02:30 is not there: once, at the gap's end; and the next day as always. */
    { &berlin,
      "30 2 * * *",
      "2026-03-28T12:00",
      { "2026-03-29T01:00", "2026-03-30T00:30", "2026-03-31T00:30" } },
    /* 02:30 is there twice: the first. */
    { &berlin,
      "30 2 * * *",
      "2026-10-24T12:00",
      { "2026-10-25T00:30", "2026-10-26T01:30", "2026-10-27T01:30" } },
    /* Hourly: every hour, with no pause and no double. */
    { &berlin,
      "30 * * * *",
      "2026-03-29T00:00",
      { "2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30" } },
    { &berlin,
      "30 * * * *",
      "2026-10-25T00:00",
      { "2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30" } },
    { NULL,
      "30 2 * * *",
      "2026-03-28T12:00",
      { "2026-03-29T02:30", "2026-03-30T02:30", "2026-03-31T02:30" } },
    /* All that falls into the gap is due once, not once each; and 03:00 is the gap's end too. */
    { &berlin,
      "*/20 2 * * *",
      "2026-03-28T12:00",
      { "2026-03-29T01:00", "2026-03-30T00:00", "2026-03-30T00:20" } },
    { &berlin,
      "0,30 2,3 * * *",
      "2026-03-28T12:00",
      { "2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00" } },
    { &berlin, "30 3 * * *", "2026-03-28T12:00", { "2026-03-29T01:30", "2026-03-30T01:30" } },
    /* A step in the hours is due in the gap, and both times in the repeat. */
    { &berlin,
      "30 */2 * * *",
      "2026-03-28T23:00",
      { "2026-03-28T23:30", "2026-03-29T01:00", "2026-03-29T02:30" } },
    { &berlin,
      "30 */2 * * *",
      "2026-10-24T22:00",
      { "2026-10-24T22:30", "2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T03:30" } },
    { &berlin, "0 0-23/1 * * *", "2026-10-25T00:30", { "2026-10-25T01:00", "2026-10-25T02:00" } },
    /* Fixed hours: each minute of the repeat the first time only. */
    { &berlin,
      "*/30 2 * * *",
      "2026-10-24T12:00",
      { "2026-10-25T00:00", "2026-10-25T00:30", "2026-10-26T01:00" } },
    { &berlin, "0,30 2,3 * * *", "2026-10-25T00:30", { "2026-10-25T02:00", "2026-10-25T02:30" } },
    /* Every minute there is. */
    { &berlin,
      "* * * * *",
      "2026-03-29T00:58",
      { "2026-03-29T00:59", "2026-03-29T01:00", "2026-03-29T01:01" } },
    { &berlin,
      "* * * * *",
      "2026-10-25T00:58",
      { "2026-10-25T00:59", "2026-10-25T01:00", "2026-10-25T01:01" } },
    /* The day of the month and of the week are the local ones. */
    { &berlin, "30 0 1 * *", "2026-06-30T12:00", { "2026-06-30T22:30", "2026-07-31T22:30" } },
    { &berlin, "30 2 29 3 *", "2026-01-01T00:00", { "2026-03-29T01:00", "2027-03-29T00:30" } },
    { &new_york,
      "30 2 * * *",
      "2026-03-07T12:00",
      { "2026-03-08T07:00", "2026-03-09T06:30", "2026-03-10T06:30" } },
    { &new_york,
      "30 1 * * *",
      "2026-10-31T12:00",
      { "2026-11-01T05:30", "2026-11-02T06:30", "2026-11-03T06:30" } },
    { &new_york, "0 22 * * SUN", "2026-03-07T12:00", { "2026-03-09T02:00", "2026-03-16T02:00" } },
    /* Far beyond 2038. */
    { &new_york,
      "30 2 8-14 3 */7",
      "2099-01-01T00:00",
      { "2099-03-08T07:00", "2100-03-14T07:00" } },
    /* Half an hour: the full hour falls into the gap, so even an hourly job is due at its end. */
    { &lord_howe,
      "0 * * * *",
      "2026-10-03T14:00",
      { "2026-10-03T14:30", "2026-10-03T15:30", "2026-10-03T16:00", "2026-10-03T17:00" } },
    { &lord_howe,
      "45 * * * *",
      "2026-10-03T14:00",
      { "2026-10-03T14:15", "2026-10-03T15:15", "2026-10-03T15:45", "2026-10-03T16:45" } },
    { &lord_howe, "45 1 * * *", "2026-04-04T12:00", { "2026-04-04T14:45", "2026-04-05T15:15" } },
    { &lord_howe,
      "45 * * * *",
      "2026-04-04T13:50",
      { "2026-04-04T14:45", "2026-04-04T15:15", "2026-04-04T16:15" } },
    /* Two hours. */
    { &troll,
      "30 1,2 * * *",
      "2026-03-28T12:00",
      { "2026-03-29T01:00", "2026-03-29T23:30", "2026-03-30T00:30" } },
    { &troll,
      "0 1-3 * * *",
      "2026-10-24T12:00",
      { "2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T03:00" } },
    { &dublin, "30 1 * * *", "2026-03-28T12:00", { "2026-03-29T01:00", "2026-03-30T00:30" } },
    { &dublin, "30 1 * * *", "2026-10-24T12:00", { "2026-10-25T00:30", "2026-10-26T01:30" } },
    /* Midnight is not there, midnight is there twice. */
    { &sao_paulo, "@daily", "2017-10-14T12:00", { "2017-10-15T03:00", "2017-10-16T02:00" } },
    { &sao_paulo, "30 23 * * *", "2018-02-17T12:00", { "2018-02-18T01:30", "2018-02-19T02:30" } },
    { &sao_paulo, "0 0 * * *", "2018-02-17T12:00", { "2018-02-18T03:00", "2018-02-19T03:00" } },
    { &sao_paulo,
      "0 */12 15 10 *",
      "2017-10-01T00:00",
      { "2017-10-15T03:00", "2017-10-15T14:00", "2018-10-15T03:00" } },
    /* A day that was not: once, at the gap's end, which is the next day's midnight. */
    { &apia,
      "0 12 * * *",
      "2011-12-29T00:00",
      { "2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00", "2011-12-31T22:00" } },
    { &apia, "0 12 30 12 *", "2011-01-01T00:00", { "2011-12-30T10:00", "2012-12-29T22:00" } },
    { &apia,
      "@daily",
      "2011-12-28T12:00",
      { "2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00" } },
    { &apia,
      "0 * * * *",
      "2011-12-30T08:30",
      { "2011-12-30T09:00", "2011-12-30T10:00", "2011-12-30T11:00" } },
    /* A day that was twice. */
    { &twice,
      "0 16 * * *",
      "2001-09-08T00:00",
      { "2001-09-08T04:00", "2001-09-10T04:00", "2001-09-11T04:00" } },
    { &twice,
      "0 */16 * * *",
      "2001-09-08T00:00",
      { "2001-09-08T04:00", "2001-09-08T12:00", "2001-09-09T04:00", "2001-09-09T12:00",
        "2001-09-10T04:00" } },
    /* Seconds in the offset, and a gap of 6:32. */
    { &mean_time,
      "*/30 0 * * *",
      "1893-03-30T12:00",
      { "1893-03-30T23:06:32", "1893-03-30T23:36:32", "1893-03-31T23:06:32", "1893-03-31T23:30",
        "1893-04-01T23:00" } },
};

static void test_turns(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t bytes[TZIF_SIZE];
        struct zone zone = { 0 };
        struct cron c = parse(cases[i].expression);
        const struct zone *z = cases[i].zone ? &zone : NULL;
        struct wall after = { instant(cases[i].after) }, begin = after;
        char text[64];

        if (z)
            zone = tzif_zone(cases[i].zone, bytes);
        for (int n = 0; n < TURNS && cases[i].turns[n]; n++) {
            struct wall turn = { instant(cases[i].turns[n]) };
            struct wall found = calendar_next(&c, z, after);

            if (found.ms != turn.ms)
                fail_msg("case %zu, %s after %s: %s, not %s", i, cases[i].expression,
                         cases[i].after, say(found, text), cases[i].turns[n]);
            /* What is due stays the latest until the next is. */
            assert_true(calendar_latest(&c, z, turn).ms == turn.ms);
            if (n > 0)
                assert_true(calendar_latest(&c, z, wall_add(turn, -1)).ms == after.ms);
            assert_true(calendar_next(&c, z, wall_add(turn, -1)).ms == turn.ms);
            assert_true(calendar_count(&c, z, begin, turn) == n + 1);
            assert_true(calendar_count(&c, z, begin, wall_add(turn, -1)) == n);
            after = turn;
        }
    }
}

/* Four changes a year, around Ramadan, as the system's file has them. */
static void test_casablanca(void **state)
{
    struct cron daily = parse("30 2 * * *"), hourly = parse("30 * * * *");
    struct wall from = { instant("2026-01-01T00:00") }, until = { instant("2027-01-01T00:00") };
    struct zone zone;
    size_t size;
    uint8_t *bytes = tzif_read("Africa/Casablanca", &size);

    (void)state;
    assert_int_equal(zone_parse(bytes, size, &zone), 0);
    /* Back at 03:00 on February 15, forward at 02:00 on March 22. */
    assert_true(calendar_next(&daily, &zone, (struct wall){ instant("2026-02-14T12:00") }).ms ==
                instant("2026-02-15T01:30"));
    assert_true(calendar_next(&daily, &zone, (struct wall){ instant("2026-02-15T01:30") }).ms ==
                instant("2026-02-16T02:30"));
    assert_true(calendar_next(&daily, &zone, (struct wall){ instant("2026-03-21T12:00") }).ms ==
                instant("2026-03-22T02:00"));
    assert_true(calendar_count(&daily, &zone, from, until) == 365);
    assert_true(calendar_count(&hourly, &zone, from, until) == 365 * 24);
    free(bytes);
}

static struct cron some_cron(struct unit_random *r)
{
    static const char *const minutes[] = { "*", "0", "30", "*/7", "0,59", "10-20", "5,35" };
    static const char *const hours[] = { "*", "2", "*/2", "0-23/5", "1-3", "0", "23,0", "2,3" };
    static const char *const days[] = { "*", "1", "31", "29", "*/2", "13,26-31", "1-7" };
    static const char *const months[] = { "*", "2", "3,10", "*/3", "4-9", "12" };
    static const char *const weekdays[] = { "*", "0", "*/7", "1-5", "SUN", "5,6", "*/2" };
    char text[64], why[CRON_WHY_SIZE];
    struct cron c;

#define ONE_OF(list) list[unit_random_in(r, 0, COUNT_OF(list) - 1)]
    do
        snprintf(text, sizeof(text), "%s %s %s %s %s", ONE_OF(minutes), ONE_OF(hours), ONE_OF(days),
                 ONE_OF(months), ONE_OF(weekdays));
    while (cron_parse(text, &c, why) < 0);
#undef ONE_OF
    return c;
}

static void check_laws(const struct cron *c, const struct zone *zone, struct wall from)
{
    struct wall at = from, latest = calendar_latest(c, zone, from);

    assert_true(latest.ms <= from.ms);
    for (int n = 1; n <= 30; n++) {
        struct wall next = calendar_next(c, zone, at);

        assert_true(next.ms > at.ms);
        assert_true(calendar_latest(c, zone, next).ms == next.ms);
        assert_true(calendar_latest(c, zone, wall_add(next, -1)).ms == latest.ms);
        assert_true(calendar_next(c, zone, latest).ms == next.ms);
        assert_true(calendar_count(c, zone, from, next) == n);
        assert_true(calendar_count(c, zone, latest, next) == 1);
        at = latest = next;
    }
    assert_true(calendar_count(c, zone, from, from) == 0);
    assert_true(calendar_count(c, zone, at, from) == 0);
}

static void test_laws(void **state)
{
    static const struct tzif *const zones[] = { &berlin, &new_york, &lord_howe,
                                                &troll,  &dublin,   &sao_paulo,
                                                &apia,   &twice,    &mean_time };
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 1500; i++) {
        const struct tzif *t = zones[unit_random_in(&random, 0, COUNT_OF(zones) - 1)];
        uint8_t bytes[TZIF_SIZE];
        struct zone zone = tzif_zone(t, bytes);
        struct cron c = some_cron(&random);
        int64_t at =
            unit_random_in(&random, instant("1800-01-01T00:00"), instant("2300-01-01T00:00"));
        int64_t from, until;

        /* Half of them around a change. */
        if (unit_random_in(&random, 0, 1) == 0) {
            zone_offset(&zone, at / SECOND_MS, &from, &until);
            if (until != ZONE_NEVER)
                at = until * SECOND_MS + unit_random_in(&random, -DAY_MS, DAY_MS);
        }
        check_laws(&c, &zone, (struct wall){ at });
        check_laws(&c, NULL, (struct wall){ at });
    }
}

/* A table may end after the rule's first cycle, and a count may span more than one. */
static void test_count_of_cycles(void **state)
{
    const struct wall from = { instant("2000-01-01T00:00") };
    const int64_t cycle_ms = DATE_CYCLE_DAYS * DAY_MS;
    struct cron daily = parse("30 2 * * *"), hourly = parse("0 * * * *");
    /* One instead of four in the night of each gap. */
    struct cron quarters = parse("*/15 2 * * *");
    int64_t gaps = 1000 * DATE_CYCLE_YEARS;
    uint8_t bytes[TZIF_SIZE];
    struct tzif t = berlin;
    struct zone zone;

    (void)state;
    for (int i = 0; i < 2; i++) {
        zone = tzif_zone(&t, bytes);
        assert_true(calendar_count(&daily, &zone, from, wall_add(from, 1000 * cycle_ms)) ==
                    1000 * DATE_CYCLE_DAYS);
        assert_true(calendar_count(&hourly, &zone, from, wall_add(from, 1000 * cycle_ms + 1)) ==
                    1000 * DATE_CYCLE_DAYS * 24);
        assert_true(calendar_count(&quarters, &zone, from, wall_add(from, 1000 * cycle_ms)) ==
                    4 * 1000 * DATE_CYCLE_DAYS - 3 * gaps);
        /* Now the rule begins with 2501. */
        gaps -= 501;
        t.offsets[0] = 3600;
        t.times[0] = instant("2500-11-30T00:00") / SECOND_MS;
        t.count = 1;
    }
    assert_true(calendar_count(&hourly, NULL, from, wall_add(from, 1000 * cycle_ms)) ==
                1000 * DATE_CYCLE_DAYS * 24);
}

/* At the ends of the range there may be no turn: the end stands for it. */
static void test_ends(void **state)
{
    static const char *const expressions[] = { "* * * * *", "0 0 29 2 */7", "30 2 * * *" };
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_zone(&berlin, bytes);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        struct cron c = parse(expressions[i]);
        const struct wall first = { INT64_MIN }, last = { INT64_MAX };

        for (int n = 0; n < 2; n++) {
            const struct zone *z = n ? &zone : NULL;

            assert_true(calendar_next(&c, z, last).ms == INT64_MAX);
            assert_true(calendar_latest(&c, z, first).ms == INT64_MIN);
            assert_true(calendar_next(&c, z, first).ms > INT64_MIN);
            assert_true(calendar_latest(&c, z, last).ms < INT64_MAX);
            assert_true(calendar_next(&c, z, first).ms < INT64_MIN + 41 * 366 * DAY_MS);
            assert_true(calendar_latest(&c, z, last).ms > INT64_MAX - 41 * 366 * DAY_MS);
            assert_true(calendar_count(&c, z, first, last) > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns), cmocka_unit_test(test_casablanca),
        cmocka_unit_test(test_laws),  cmocka_unit_test(test_count_of_cycles),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
