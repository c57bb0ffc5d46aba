/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/turns.h"
#include <stdbool.h>

#define SPLAY 1000

/* PROTOCOL.md, "Turns without a crowd" 2: s = splay x min(1, (fleet - 1) / 5). */
static void test_spread(void **state)
{
    struct unit_random r = unit_random_begin();
    static const int64_t spread[] = { 0, 0, 200, 400, 600, 800, 1000, 1000, 1000 };

    (void)state;
    for (uint32_t fleet = 1; fleet < COUNT_OF(spread); fleet++) {
        int64_t most = 0;

        for (int i = 0; i < 5000; i++) {
            int64_t delay = turns_delay_ms(fleet, SPLAY, unit_random_next(&r));

            assert_in_range(delay, 0, spread[fleet] > 0 ? spread[fleet] - 1 : 0);
            most = delay > most ? delay : most;
        }
        assert_true(most >= spread[fleet] * 9 / 10);
    }
    assert_int_equal(turns_delay_ms(UINT32_MAX, SPLAY, 1999), 999);
    assert_int_equal(turns_delay_ms(100, 0, 1999), 0);
}

/* 3: the first two come back at the lease's end, the later ones at 2, 4, 8 leases, or never. */
static void test_watch(void **state)
{
    (void)state;
    for (uint32_t place = 0; place <= 2; place++)
        for (uint32_t asks = 0; asks < 5; asks++) {
            assert_int_equal(turns_watch_ms(place, 4000, 60000, true, asks), 4001);
            assert_int_equal(turns_watch_ms(place, 4000, 60000, false, asks), 4001);
        }
    assert_int_equal(turns_watch_ms(3, 4000, 60000, true, 0), 120000);
    assert_int_equal(turns_watch_ms(3, 4000, 60000, true, 1), 240000);
    assert_int_equal(turns_watch_ms(9, 4000, 60000, true, 2), 480000);
    assert_true(turns_watch_ms(9, 4000, INT64_C(86400000), true, UINT32_MAX) > 0);
    assert_int_equal(turns_watch_ms(3, 4000, 60000, false, 0), -1);
}

/* Rule 13: a holder without expiry is asked about again after one lease, by everybody. */
static void test_foreign(void **state)
{
    (void)state;
    assert_int_equal(turns_watch_ms(1, -1, 60000, true, 0), 60000);
    assert_int_equal(turns_watch_ms(7, -1, 60000, false, 3), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_foreign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
