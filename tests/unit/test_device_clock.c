/* SPDX-License-Identifier: MIT
 * The device's own clock: when it is believed, and what goes on while it is not. */
#include "unit.h"

#include "base/units.h"
#include "core/device_clock.h"

#define BUILT_MS (20000 * DAY_MS)
#define NOW_MS (BUILT_MS + 30 * DAY_MS)

static struct device_clock new_clock(void)
{
    return (struct device_clock){ .built = { BUILT_MS } };
}

/* Returns the news; *ret_moved_ms as device_clock_take() gives it. */
static enum device_clock_news take(struct device_clock *c, int64_t boot_ms, int64_t says_ms,
                                   int64_t *ret_moved_ms)
{
    struct device_clock_reading r = { .at = { boot_ms }, .says = { says_ms } };

    *ret_moved_ms = -1;
    return device_clock_take(c, &r, ret_moved_ms);
}

static void test_right_from_the_start(void **state)
{
    struct device_clock c = new_clock();
    int64_t moved;

    (void)state;
    assert_int_equal(take(&c, 100, NOW_MS, &moved), DEVICE_CLOCK_AS_BEFORE);
    assert_int_equal(moved, 0);
    assert_true(c.known && !c.doubted);
    assert_int_equal(device_clock_at(&c, (struct boot){ 150 }).ms, NOW_MS + 50);
}

static void test_booted_in_1970(void **state)
{
    struct device_clock c = new_clock();
    int64_t moved;

    (void)state;
    assert_int_equal(take(&c, 100, 5000, &moved), DEVICE_CLOCK_DOUBTED);
    assert_int_equal(take(&c, 200, 5100, &moved), DEVICE_CLOCK_AS_BEFORE);
    assert_false(c.known);
    assert_int_equal(c.since.ms, 100);
    assert_int_equal(c.says.ms, 5100);
    assert_int_equal(take(&c, 40000, NOW_MS, &moved), DEVICE_CLOCK_BELIEVED);
    assert_int_equal(moved, 0);
    assert_true(c.known && !c.doubted);
}

static void test_day_of_the_build(void **state)
{
    struct device_clock c = new_clock();
    int64_t moved;

    (void)state;
    assert_int_equal(take(&c, 100, BUILT_MS - 1, &moved), DEVICE_CLOCK_DOUBTED);
    assert_int_equal(take(&c, 101, BUILT_MS, &moved), DEVICE_CLOCK_BELIEVED);
}

/* Built by a machine whose clock was ahead. */
static void test_synchronised_before_the_build(void **state)
{
    struct device_clock c = new_clock();
    struct device_clock_reading r = { .says = { BUILT_MS - DAY_MS }, .synchronised = true };
    int64_t moved;

    (void)state;
    assert_int_equal(device_clock_take(&c, &r, &moved), DEVICE_CLOCK_AS_BEFORE);
    assert_true(c.known);
}

static void test_steps(void **state)
{
    struct device_clock c = new_clock();
    int64_t moved;

    (void)state;
    take(&c, 100, NOW_MS, &moved);
    assert_int_equal(take(&c, 200, NOW_MS + 100 + HOUR_MS, &moved), DEVICE_CLOCK_AS_BEFORE);
    assert_int_equal(moved, HOUR_MS);
    assert_int_equal(take(&c, 300, NOW_MS + 200, &moved), DEVICE_CLOCK_AS_BEFORE);
    assert_int_equal(moved, -HOUR_MS);
}

/* To 1970 and back: time went on meanwhile, and has not moved. */
static void test_doubted_on_the_way(void **state)
{
    struct device_clock c = new_clock();
    int64_t moved;

    (void)state;
    take(&c, 100, NOW_MS, &moved);
    assert_int_equal(take(&c, 200, 0, &moved), DEVICE_CLOCK_DOUBTED);
    assert_int_equal(moved, 0);
    assert_true(c.known);
    assert_int_equal(device_clock_at(&c, (struct boot){ 5100 }).ms, NOW_MS + 5000);
    assert_int_equal(take(&c, 5100, NOW_MS + 5000, &moved), DEVICE_CLOCK_BELIEVED);
    assert_int_equal(moved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_from_the_start),
        cmocka_unit_test(test_booted_in_1970),
        cmocka_unit_test(test_day_of_the_build),
        cmocka_unit_test(test_synchronised_before_the_build),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_doubted_on_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
