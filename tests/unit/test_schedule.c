/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/schedule.h"
#include "support/tzif.h"
#include <inttypes.h>

struct schedule_case {
    int64_t every, offset, now;
    int64_t latest, next;
};

static const struct schedule_case cases[] = {
    { 60000, 0, 0, 0, 60000 },
    { 60000, 0, 1, 0, 60000 },
    { 60000, 0, 59999, 0, 60000 },
    { 60000, 0, 60000, 60000, 120000 },
    { 60000, 0, -1, -60000, 0 },
    { 60000, 0, -60000, -60000, 0 },
    { 60000, 15000, 0, -45000, 15000 },
    { 60000, 15000, 14999, -45000, 15000 },
    { 60000, 15000, 15000, 15000, 75000 },
    { 60000, 59999, -60002, -120001, -60001 },
    { 60000, 59999, -60001, -60001, -1 },
    { HOUR_MS, 0, INT64_C(1700000000000), INT64_C(1699999200000), INT64_C(1700002800000) },
    { 1000, 0, INT64_MAX, INT64_MAX - 807, INT64_MAX },
    { 1000, 900, INT64_MIN, INT64_MIN, INT64_MIN + 708 },
};

static void test_latest_and_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct schedule s = { .every_ms = cases[i].every, .offset_ms = cases[i].offset };
        int64_t latest = schedule_latest(&s, (struct wall){ cases[i].now }).ms;
        int64_t next = schedule_next(&s, (struct wall){ cases[i].now }).ms;

        if (latest != cases[i].latest || next != cases[i].next)
            fail_msg("case %zu: latest %" PRId64 ", next %" PRId64, i, latest, next);
        assert_true(schedule_period_ms(&s) == cases[i].every);
    }
}

static void test_count(void **state)
{
    struct schedule s = { .every_ms = 60000, .offset_ms = 15000 };

    (void)state;
#define COUNT_BETWEEN(a, b) schedule_count(&s, (struct wall){ a }, (struct wall){ b })
    assert_true(COUNT_BETWEEN(0, 14999) == 0);
    assert_true(COUNT_BETWEEN(0, 15000) == 1);
    assert_true(COUNT_BETWEEN(15000, 15000) == 0);
    assert_true(COUNT_BETWEEN(15000, 74999) == 0);
    assert_true(COUNT_BETWEEN(15000, 75000) == 1);
    assert_true(COUNT_BETWEEN(-46000, 75000) == 3);
    assert_true(COUNT_BETWEEN(75000, 15000) == 0);
    assert_true(COUNT_BETWEEN(INT64_MIN, INT64_MAX) == INT64_C(307445734561825));
    s = (struct schedule){ .every_ms = 1 };
    assert_true(COUNT_BETWEEN(INT64_MIN, INT64_MAX) == INT64_MAX);
#undef COUNT_BETWEEN
}

static void test_laws(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t every =
            1 + (unit_random_in(&random, 0, 366 * DAY_MS) >> unit_random_in(&random, 0, 34));
        struct schedule s = { .every_ms = every,
                              .offset_ms = unit_random_in(&random, 0, every - 1) };
        struct wall now = { unit_random_in(&random, -4 * 366 * DAY_MS, 200 * 366 * DAY_MS) };
        struct wall latest = schedule_latest(&s, now);
        struct wall next = schedule_next(&s, now);
        int64_t steps = unit_random_in(&random, 0, 1000);

        assert_true(latest.ms <= now.ms && now.ms < next.ms);
        assert_true(next.ms - latest.ms == every);
        assert_true((latest.ms - s.offset_ms) % every == 0);
        assert_true(schedule_next(&s, latest).ms == next.ms);
        assert_true(schedule_latest(&s, next).ms == next.ms);
        assert_true(schedule_count(&s, now, wall_add(latest, steps * every)) == steps);
        assert_true(schedule_count(&s, now, wall_add(next, steps * every - 1)) == steps);
    }
}

/* 2026-10-24T12:00Z, and 02:30 in Berlin, which is there twice in the night after. */
static void test_cron_in_a_zone(void **state)
{
    uint8_t bytes[TZIF_SIZE];
    const struct zone berlin = tzif_rule("CET-1CEST,M3.5.0,M10.5.0/3", bytes);
    const struct wall noon = { INT64_C(1792843200000) };
    const struct wall night = wall_add(noon, 12 * HOUR_MS + 30 * MINUTE_MS);
    struct schedule s = { .zone = &berlin };
    char why[CRON_WHY_SIZE];

    (void)state;
    assert_int_equal(cron_parse("30 2 * * *", &s.cron, why), 0);
    assert_true(schedule_next(&s, noon).ms == night.ms);
    assert_true(schedule_next(&s, night).ms == night.ms + 25 * HOUR_MS);
    assert_true(schedule_latest(&s, wall_add(night, 25 * HOUR_MS - 1)).ms == night.ms);
    assert_true(schedule_period_ms(&s) == DAY_MS);
    assert_true(schedule_count(&s, noon, night) == 1);
    assert_true(schedule_count(&s, night, night) == 0);
    assert_true(schedule_count(&s, night, noon) == 0);
    s.zone = NULL;
    assert_true(schedule_next(&s, noon).ms == night.ms + 2 * HOUR_MS);
}

/* S31: off for three days, and for thirty years: one turn is due, and the others are only counted.
 */
static void test_cron_after_a_long_time(void **state)
{
    const struct wall then = { INT64_C(1792843200000) };
    const struct wall days = wall_add(then, 3 * DAY_MS), years = wall_add(then, 10957 * DAY_MS);
    struct schedule s = { 0 };
    char why[CRON_WHY_SIZE];

    (void)state;
    assert_int_equal(cron_parse("* * * * *", &s.cron, why), 0);
    assert_true(schedule_latest(&s, wall_add(days, 59999)).ms == days.ms);
    assert_true(schedule_count(&s, then, days) == 3 * 1440);
    assert_true(schedule_latest(&s, years).ms == years.ms);
    assert_true(schedule_count(&s, then, years) == 10957 * 1440);
    assert_true(schedule_period_ms(&s) == MINUTE_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latest_and_next),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_cron_in_a_zone),
        cmocka_unit_test(test_cron_after_a_long_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
