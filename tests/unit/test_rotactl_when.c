/* SPDX-License-Identifier: MIT
 * Instants as people write them, and the times below a picture. */
#include "base/units.h"
#include "rotactl/timeline/runs.h"
#include "rotactl/timeline/timeline_axis.h"
#include "rotactl/when.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 2026-11-30 10:20:30.5 UTC. */
#define NOW INT64_C(1796034030500)
#define MIDNIGHT INT64_C(1795996800000)

static void test_instants(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        { "now", NOW },
        { "today", MIDNIGHT },
        { "yesterday", MIDNIGHT - DAY_MS },
        { "2d", NOW - 2 * DAY_MS },
        { "1h30m", NOW - 90 * MINUTE_MS },
        { "99999d", 0 },
        { "2026-11-30", MIDNIGHT },
        { "2026-11-30 02:30", MIDNIGHT + 150 * MINUTE_MS },
        { "2026-11-30T02:30:05Z", MIDNIGHT + 150 * MINUTE_MS + 5 * SECOND_MS },
        { "1970-01-01", 0 },
        { "9999-12-31 23:59:59", RUNS_TIME_MAX - 999 },
        { "2024-02-29", INT64_C(1709164800000) },
    };
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11",
        "2026-11-31",
        "2026-02-29",
        "2026-13-01",
        "1969-12-31",
        "2026-11-30 ",
        "2026-11-30 2:30",
        "2026-11-30 24:00",
        "later",
        "2026-11-30x",
        "2026-11-30 02:60",
        "2026-11-30 02:30:05+01",
        "-2d",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        int64_t ms = -7;

        if (when_parse(good[i].text, NOW, &ms) != 0 || ms != good[i].ms)
            fail_msg("%s: %lld", good[i].text, (long long)ms);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int64_t ms = -7;

        if (when_parse(bad[i], NOW, &ms) != -EINVAL || ms != -7)
            fail_msg("%s: %lld", bad[i], (long long)ms);
    }
}

/* "date time" of each tick, one a line; "*" for midnight. */
static void say_ticks(const struct timeline_axis *axis, int32_t apart, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    struct timeline_ticks ticks;
    struct timeline_tick tick;
    int32_t last = -apart;

    assert_non_null(out);
    timeline_axis_begin(&ticks, axis, apart);
    while (timeline_axis_next(&ticks, &tick)) {
        assert_true(tick.at >= axis->since && tick.at <= axis->until);
        assert_true(tick.unit - last >= apart - 1);
        last = tick.unit;
        fprintf(out, "%s%s %s;", tick.is_day ? "*" : "", tick.date, tick.time);
    }
    fclose(out);
}

static void test_ticks(void **state)
{
    static const struct {
        int64_t since, until;
        const char *ticks;
    } spans[] = {
        { MIDNIGHT - 1, MIDNIGHT + 1, "2026-11-29 59:59.999;*2026-11-30 ;2026-11-30 00:00.001;" },
        { MIDNIGHT - 20 * SECOND_MS, MIDNIGHT + 20 * SECOND_MS,
          "2026-11-29 23:59:45;*2026-11-30 ;2026-11-30 00:00:15;" },
        { MIDNIGHT - 5 * HOUR_MS, MIDNIGHT + 7 * HOUR_MS,
          "2026-11-29 21:00;*2026-11-30 ;2026-11-30 03:00;2026-11-30 06:00;" },
        /* Weeks begin on Mondays. */
        { MIDNIGHT - 10 * DAY_MS, MIDNIGHT + 10 * DAY_MS,
          "*2026-11-23 ;*2026-11-30 ;*2026-12-07 ;" },
        { MIDNIGHT - 60 * DAY_MS, MIDNIGHT + 60 * DAY_MS,
          "*2026-10 ;*2026-11 ;*2026-12 ;*2027-01 ;" },
        { 0, 1000 * DAY_MS, "*1970 ;*1971 ;*1972 ;" },
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        struct timeline_axis axis = { spans[i].since, spans[i].until, 1000 };

        say_ticks(&axis, i == 4 ? 220 : 200, text, sizeof text);
        assert_string_equal(text, spans[i].ticks);
    }
}

static void test_any_span_has_few_ticks(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t span = unit_random_in(&random, 1, INT64_C(1) << unit_random_in(&random, 1, 47));
        int64_t since = unit_random_in(&random, 0, RUNS_TIME_MAX - span);
        struct timeline_axis axis = { since, since + span,
                                      (int32_t)unit_random_in(&random, 400, 20000) };
        char text[4096];

        say_ticks(&axis, axis.units / 10, text, sizeof text);
        assert_true(strlen(text) < sizeof text - 1);
    }
}

static void test_places(void **state)
{
    struct timeline_axis axis = { 0, RUNS_TIME_MAX, TIMELINE_AXIS_UNITS_MAX };

    (void)state;
    assert_int_equal(timeline_axis_at(&axis, -5), 0);
    assert_int_equal(timeline_axis_at(&axis, 0), 0);
    assert_int_equal(timeline_axis_at(&axis, RUNS_TIME_MAX / 2), TIMELINE_AXIS_UNITS_MAX / 2 - 1);
    assert_int_equal(timeline_axis_at(&axis, RUNS_TIME_MAX), TIMELINE_AXIS_UNITS_MAX);
    assert_int_equal(timeline_axis_at(&axis, INT64_MAX), TIMELINE_AXIS_UNITS_MAX);
}

static void test_said(void **state)
{
    static const struct {
        int64_t ms;
        const char *utc, *local; /* 5 h 30 min later */
    } rows[] = {
        { MIDNIGHT, "today 00:00", "today 05:30" },
        { MIDNIGHT - 1000, "yesterday 23:59:59", "today 05:29:59" },
        { MIDNIGHT - DAY_MS, "yesterday 00:00", "yesterday 05:30" },
        { MIDNIGHT + 20 * HOUR_MS, "today 20:00", "tomorrow 01:30" },
        { MIDNIGHT + DAY_MS, "tomorrow 00:00", "tomorrow 05:30" },
        { MIDNIGHT + 6 * DAY_MS, "Sun 00:00", "Sun 05:30" },
        { MIDNIGHT - 6 * DAY_MS, "Tue 00:00", "Tue 05:30" },
        { MIDNIGHT + 7 * DAY_MS, "2026-12-07 00:00", "2026-12-07 05:30" },
        { INT64_MAX, NULL, NULL }, /* whatever it says, it ends */
    };
    char said[WHEN_SIZE];

    (void)state;
    assert_int_equal(setenv("TZ", "XXX-5:30", 1), 0);
    tzset();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        when_say(rows[i].ms, NOW, false, said);
        if (rows[i].utc)
            assert_string_equal(said, rows[i].utc);
        when_say(rows[i].ms, NOW, true, said);
        if (rows[i].local)
            assert_string_equal(said, rows[i].local);
    }
}

/* In a column that has no room for "today" twice, and of a turn that somebody has put into Redis.
 */
static void test_said_in_a_column(void **state)
{
    char said[WHEN_SIZE];

    (void)state;
    assert_string_equal(when_say_last(MIDNIGHT, NOW, false, said), "00:00 today");
    assert_string_equal(when_say_last(MIDNIGHT - DAY_MS, NOW, false, said), "Sun 00:00");
    assert_string_equal(when_say_short(MIDNIGHT, NOW, false, said), "00:00");
    assert_string_equal(when_say_short(INT64_MAX, NOW, false, said), "292278994-08-17 07:12:55");
    assert_string_equal(when_day(INT64_MAX, false, said), "292278994-08-17");
}

/* Midnight is another instant on the day of the change, and days are told by the calendar. */
static void test_days_of_23_and_25_hours(void **state)
{
    static const int64_t spring = INT64_C(1774742400000); /* 2026-03-29 00:00 UTC */
    static const int64_t autumn = INT64_C(1792886400000); /* 2026-10-25 00:00 UTC */
    char said[WHEN_SIZE];

    (void)state;
    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    assert_string_equal(when_say(spring + 90 * MINUTE_MS, spring, true, said), "today 03:30");
    assert_string_equal(when_say(spring + 22 * HOUR_MS, spring, true, said), "tomorrow 00:00");
    assert_string_equal(when_say(spring - HOUR_MS, spring, true, said), "today 00:00");
    assert_string_equal(when_say(autumn + 23 * HOUR_MS, autumn, true, said), "tomorrow 00:00");
    assert_string_equal(when_say(autumn + 23 * HOUR_MS - 1000, autumn, true, said),
                        "today 23:59:59");
    assert_string_equal(when_say(autumn - 2 * HOUR_MS - 1000, autumn, true, said),
                        "yesterday 23:59:59");
}

static void test_spans(void **state)
{
    char said[WHEN_SIZE];

    (void)state;
    assert_string_equal(when_say_span(-5, said), "0 s");
    assert_string_equal(when_say_span(999, said), "0 s");
    assert_string_equal(when_say_span(9999, said), "9 s");
    assert_string_equal(when_say_span(12 * DAY_MS + 7, said), "12 days");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instants), cmocka_unit_test(test_said),
        cmocka_unit_test(test_ticks),    cmocka_unit_test(test_any_span_has_few_ticks),
        cmocka_unit_test(test_places),   cmocka_unit_test(test_said_in_a_column),
        cmocka_unit_test(test_spans),    cmocka_unit_test(test_days_of_23_and_25_hours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
