/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/turns.h"
#include <math.h>
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

/* By PROTOCOL's words, with u in 0 ... 1. */
static double ranked(double fleet, double splay, double u)
{
    double r = u * fleet;

    return r < 9 ? -1 : splay * exp((r - 9) / 0.5);
}

/* The ninth rank and those before ask within the splay; the later ones where the formula says. */
static void test_ranks(void **state)
{
    static const uint32_t fleets[] = { 1, 2, 9, 10, 20, 100, 5000, 1000000, UINT32_C(1) << 29 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(fleets); i++)
        for (uint64_t u = 0; u < UINT32_MAX; u += UINT32_MAX / 4000) {
            double wanted = ranked(fleets[i], SPLAY, (double)u / 4294967296.0);
            int64_t delay = turns_ranked_ms(fleets[i], SPLAY, 5 * MINUTE_MS, u << 32 | 77);

            if (wanted < 0)
                assert_in_range(delay, 0, SPLAY - 1);
            else if (wanted > 5 * MINUTE_MS * 1.0002)
                assert_int_equal(delay, -1);
            else if (wanted < 5 * MINUTE_MS * 0.9998)
                assert_true(fabs((double)delay - wanted) <= wanted / 5000 + 1);
        }
    assert_int_equal(turns_ranked_ms(UINT32_MAX, SPLAY, DAY_MS, UINT64_MAX), -1);
}

/* How many ask, of fleets of every size, for a job that is due every five minutes: some nine, and
 * those whom nobody has kept from it. */
static void test_no_crowd(void **state)
{
    static const uint32_t fleets[] = { 10, 100, 1000, 10000, 100000 };
    struct unit_random r = unit_random_begin();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(fleets); i++) {
        int64_t rounds = 400000 / fleets[i] + 20, asks = 0;

        for (int64_t n = 0; n < rounds * fleets[i]; n++)
            asks += turns_ranked_ms(fleets[i], SPLAY, 5 * MINUTE_MS, unit_random_next(&r)) >= 0;
        assert_in_range(asks, rounds * 8, rounds * 14);
    }
}

/* Where the later ranks have no splay to grow from, they do not ask at once for it. */
static void test_ranks_without_a_splay(void **state)
{
    const uint64_t tenth = UINT64_C(10) << 57; /* of a fleet of 128 */

    (void)state;
    assert_int_equal(turns_ranked_ms(128, 0, DAY_MS, 0), 0);
    assert_in_range(turns_ranked_ms(128, 0, DAY_MS, tenth), 7388, 7390);
    assert_in_range(turns_ranked_ms(128, 0, 2000, tenth), -1, -1);
    assert_in_range(turns_ranked_ms(128, 0, 2000, tenth - tenth / 20), 1358, 1360);
}

/* Who asks when tells nothing of who asks at all. */
static void test_rank_and_delay_are_independent(void **state)
{
    struct unit_random r = unit_random_begin();
    double sum[2] = { 0 };
    int count[2] = { 0 };

    (void)state;
    for (int i = 0; i < 40000; i++) {
        uint64_t random = unit_random_next(&r);
        int half = (int)(random >> 63);

        sum[half] += (double)turns_ranked_ms(8, SPLAY, DAY_MS, random);
        count[half]++;
    }
    for (int half = 0; half < 2; half++)
        assert_true(fabs(sum[half] / count[half] - 499.5) < 15);
}

/* An estimate from fewer than five hellos is none; those that have just started count where there
 * is no better one. */
static void test_size(void **state)
{
    (void)state;
    assert_int_equal(turns_fleet(1, 0, 0), 1);
    assert_int_equal(turns_fleet(19, 4, 0), 1);
    assert_int_equal(turns_fleet(720, 1, 1), 1); /* one device that says hello once a month */
    assert_int_equal(turns_fleet(19, 5, 0), 19);
    assert_int_equal(turns_fleet(5000, 5000, 3), 5000);
    assert_int_equal(turns_fleet(1, 0, 19), 1);
    assert_int_equal(turns_fleet(1, 0, 20), 20);
    assert_int_equal(turns_fleet(3, 2, 90000), 90000);
    assert_int_equal(turns_fleet(300, 900, 100), 300);
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
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_no_crowd),
        cmocka_unit_test(test_ranks_without_a_splay),
        cmocka_unit_test(test_rank_and_delay_are_independent),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_foreign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
