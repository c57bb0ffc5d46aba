/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/date.h"

static void test_known_days(void **state)
{
    (void)state;
    assert_true(date_month(1970, 1) == 0);
    assert_true(date_month(2000, 3) == 11017);
    assert_true(date_month(2038, 1) + 18 == INT64_C(0x80000000) / DATE_DAY_S);
    assert_int_equal(date_weekday(0), 4);
    assert_int_equal(date_weekday(-1), 3);
    assert_int_equal(date_weekday(date_month(2000, 1)), 6);
    assert_int_equal(date_month_days(1900, 2), 28);
    assert_int_equal(date_month_days(2000, 2), 29);
    assert_int_equal(date_month_days(2023, 2), 28);
    assert_int_equal(date_month_days(2024, 2), 29);
    assert_true(date_floor(-1, 60) == -1 && date_floor(-60, 60) == -1 && date_floor(-61, 60) == -2);
}

/* Day after day through more than a cycle, before and after the epoch. */
static void test_every_day(void **state)
{
    struct date d = { 1580, 1, 1 };
    int64_t day = date_month(1580, 1);
    int weekday = date_weekday(day);

    (void)state;
    while (d.year < 2420) {
        struct date found = date_of(day);

        if (found.year != d.year || found.month != d.month || found.day != d.day)
            fail_msg("day %lld is %d-%d-%d, not %d-%d-%d", (long long)day, (int)found.year,
                     found.month, found.day, (int)d.year, d.month, d.day);
        assert_true(date_month(d.year, d.month) + d.day - 1 == day);
        assert_int_equal(date_weekday(day), weekday);
        day++;
        weekday = (weekday + 1) % 7;
        if (d.day++ < date_month_days(d.year, d.month))
            continue;
        d.day = 1;
        if (d.month++ < 12)
            continue;
        d.month = 1;
        d.year++;
    }
}

static void test_far_away(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 10000; i++) {
        int64_t day = unit_random_in(&random, INT64_MIN / DATE_DAY_S, INT64_MAX / DATE_DAY_S);
        struct date d = date_of(day), later = date_of(day + DATE_CYCLE_DAYS);

        assert_true(date_month(d.year, d.month) + d.day - 1 == day);
        assert_true(d.day <= date_month_days(d.year, d.month));
        assert_true(later.year == d.year + DATE_CYCLE_YEARS && later.month == d.month &&
                    later.day == d.day);
        assert_int_equal(date_weekday(day), date_weekday(day + DATE_CYCLE_DAYS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_days),
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_far_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
