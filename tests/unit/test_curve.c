/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/curve.h"
#include <math.h>

/* Rounded down, and off by what the header allows. */
static void assert_near(int64_t value, double wanted)
{
    assert_true((double)value <= wanted * 1.0001 + 1);
    assert_true((double)value >= wanted * 0.9999 - 1);
}

static void test_growth(void **state)
{
    static const int64_t bases[] = { 1, 250, 1000, 60000, INT64_C(7905600000) };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bases); i++)
        for (double x = 0; x < 18; x += 0.0317)
            assert_near(curve_grow_ms(bases[i], (int64_t)(x * CURVE_ONE)),
                        (double)bases[i] * exp(x));
    assert_int_equal(curve_grow_ms(1000, 0), 1000);
    assert_int_equal(curve_grow_ms(0, INT64_MAX), 0);
}

static void test_growth_has_an_end(void **state)
{
    (void)state;
    assert_int_equal(curve_grow_ms(1, INT64_MAX), INT64_MAX);
    assert_int_equal(curve_grow_ms(1, 44 * CURVE_ONE), INT64_MAX);
    assert_int_equal(curve_grow_ms(INT64_C(1) << 34, 43 * CURVE_ONE), INT64_MAX);
    assert_true(curve_grow_ms(1, 43 * CURVE_ONE) < INT64_MAX);
}

static void test_growth_never_falls(void **state)
{
    struct unit_random r = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t x = unit_random_in(&r, 0, 40 * CURVE_ONE);
        int64_t step = unit_random_in(&r, 0, CURVE_ONE >> unit_random_in(&r, 0, 32));
        int64_t ms = unit_random_in(&r, 1, 100000);

        assert_true(curve_grow_ms(ms, x) <= curve_grow_ms(ms, x + step));
    }
}

static void test_gaps(void **state)
{
    static const int64_t means[] = { 600000, 21600000, INT64_C(2592000000) };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(means); i++)
        for (uint64_t u = 0; u <= UINT32_MAX; u += 40000000) {
            double wanted = (double)means[i] * -log((double)(u + 1) / 4294967296.0);
            double off = (double)curve_gap_ms(means[i], u << 32) - wanted;

            assert_true(fabs(off) <= (double)means[i] / 10000 + 1);
        }
    assert_int_equal(curve_gap_ms(600000, UINT64_MAX), 0);
    assert_in_range(curve_gap_ms(600000, 0), 22 * 600000, 23 * 600000);
    assert_int_equal(curve_gap_ms(0, 0), 0);
}

/* A smaller number, a longer gap. */
static void test_gaps_never_rise(void **state)
{
    struct unit_random r = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t a = unit_random_next(&r),
                 b = a + (unit_random_next(&r) >> unit_random_in(&r, 1, 40));

        if (b > a)
            assert_true(curve_gap_ms(21600000, a) >= curve_gap_ms(21600000, b));
    }
}

/* Of an exponential distribution a share of e^-k is longer than k means. */
static void test_gaps_are_exponential(void **state)
{
    struct unit_random r = unit_random_begin();
    int beyond[4] = { 0 };
    double sum = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t gap = curve_gap_ms(1000000, unit_random_next(&r));

        sum += (double)gap;
        for (int k = 1; k < 4; k++)
            beyond[k] += gap > k * 1000000;
    }
    assert_true(fabs(sum / 100000 - 1000000) < 20000);
    for (int k = 1; k < 4; k++)
        assert_true(fabs(beyond[k] / 100000.0 - exp(-k)) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_growth_has_an_end),
        cmocka_unit_test(test_growth_never_falls),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_gaps_never_rise),
        cmocka_unit_test(test_gaps_are_exponential),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
