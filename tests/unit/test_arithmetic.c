/* SPDX-License-Identifier: MIT
 * test_arithmetic.c: the small parts of core: fleet clock, back-off, fingerprint, outcomes. */
#include "unit.h"

#include "core/backoff.h"
#include "core/fingerprint.h"
#include "core/fleet_clock.h"
#include "core/outcome.h"
#include <errno.h>
#include <string.h>

static int64_t sample(struct fleet_clock *c, int64_t sent, int64_t received, int64_t server)
{
    return fleet_clock_sample(c, (struct boot){ sent }, (struct boot){ received },
                              (struct wall){ server });
}

static void test_clock_midpoint(void **state)
{
    struct fleet_clock c = { 0 };

    (void)state;
    assert_true(sample(&c, 1000, 1100, 1700000000000) == 0);
    assert_true(c.known);
    assert_true(fleet_clock_at(&c, (struct boot){ 1050 }).ms == 1700000000000);
    assert_true(fleet_clock_at(&c, (struct boot){ 2050 }).ms == 1700000001000);
    assert_true(fleet_clock_when(&c, (struct wall){ 1700000001000 }).ms == 2050);
    /* half the round trip, the reading, and 200 ppm of the age */
    assert_true(fleet_clock_error_ms(&c, (struct boot){ 1000 }) == 51);
    assert_true(fleet_clock_error_ms(&c, (struct boot){ 1001 }) == 52);
    assert_true(fleet_clock_error_ms(&c, (struct boot){ 1000 + 5000 }) == 52);
    assert_true(fleet_clock_error_ms(&c, (struct boot){ 1000 + 3600000 }) == 51 + 720);
}

static void test_clock_best_sample_wins(void **state)
{
    struct fleet_clock c = { 0 };

    (void)state;
    sample(&c, 1000, 1020, 1000010);
    /* a slow reply that agrees changes nothing */
    assert_true(sample(&c, 2000, 2600, 1001550) == 0);
    assert_true(fleet_clock_at(&c, (struct boot){ 3000 }).ms == 1002000);
    /* a quicker one does, and says by how much */
    assert_true(sample(&c, 3000, 3002, 1002006) == 5);
    assert_true(fleet_clock_at(&c, (struct boot){ 3000 }).ms == 1002005);
    /* the same error later is better than an old one */
    assert_true(sample(&c, 100000, 100002, 1099005) == -1);
    assert_true(fleet_clock_at(&c, (struct boot){ 100000 }).ms == 1099004);
}

static void test_clock_jump(void **state)
{
    struct fleet_clock c = { 0 };

    (void)state;
    sample(&c, 1000, 1002, 1000000);
    /* a reply with a large error contradicts what is believed: the server's clock was set */
    assert_true(sample(&c, 2000, 3000, 1000000 + 86400000) == 86400000 - 1499);
    assert_true(fleet_clock_at(&c, (struct boot){ 2500 }).ms == 1000000 + 86400000);
    assert_true(sample(&c, 3000, 4000, 1000000 + 3000) < -86000000);
    /* at the edge of both intervals: 3 before, 502 after, no contradiction at their sum */
    c = (struct fleet_clock){ 0 };
    sample(&c, 1000, 1002, 1000001);
    assert_true(sample(&c, 1002, 2002, 1000502 + 505) == 0);
    assert_true(sample(&c, 1002, 2002, 1000502 + 506) == 506);
}

static void test_clock_extremes(void **state)
{
    static const int64_t ends[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
    struct fleet_clock c = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (size_t j = 0; j < COUNT_OF(ends); j++) {
            sample(&c, 0, 10, ends[i]);
            sample(&c, INT64_MAX - 10, INT64_MAX, ends[j]);
            fleet_clock_at(&c, (struct boot){ INT64_MAX });
            fleet_clock_when(&c, (struct wall){ ends[i] });
            assert_true(fleet_clock_error_ms(&c, (struct boot){ INT64_MAX }) > 0);
        }
}

/* With honest samples the estimate is never further off than it says. */
static void test_clock_error_is_a_bound(void **state)
{
    struct unit_random random = unit_random_begin();
    struct fleet_clock c = { 0 };
    int64_t now_us = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t there_us = unit_random_in(&random, 100, 800000);
        int64_t back_us = unit_random_in(&random, 100, 800000);
        /* the server's clock runs 100 ppm fast, and is 12.3456 s ahead */
        int64_t read_us = now_us + there_us;
        int64_t server_us = read_us + read_us / 10000 + 12345600;
        int64_t end_us = read_us + back_us;
        int64_t true_ms, off;

        sample(&c, now_us / 1000, end_us / 1000, server_us / 1000);
        now_us = end_us + unit_random_in(&random, 0, 600000000);
        true_ms = (now_us + now_us / 10000 + 12345600) / 1000;
        off = fleet_clock_at(&c, (struct boot){ now_us / 1000 }).ms - true_ms;
        if ((off < 0 ? -off : off) > fleet_clock_error_ms(&c, (struct boot){ now_us / 1000 }) + 1)
            fail_msg("sample %d: off by %lld ms", i, (long long)off);
    }
}

static void test_backoff_window(void **state)
{
    static const int64_t windows[] = { 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
    struct backoff b = { .min_ms = 500, .max_ms = 60000 };

    (void)state;
    assert_true(backoff_window_ms(&b) == 0);
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        assert_true(backoff_next_ms(&b, (uint64_t)windows[i] - 1) == windows[i] - 1);
        assert_true(backoff_window_ms(&b) == windows[i]);
    }
    b.failures = UINT32_MAX;
    assert_true(backoff_next_ms(&b, UINT64_MAX) < 60000);
    assert_true(backoff_window_ms(&b) == 60000);
    assert_true(b.failures == UINT32_MAX);
    backoff_reset(&b);
    assert_true(backoff_window_ms(&b) == 0);
    assert_true(backoff_next_ms(&b, 500) == 0);

    b = (struct backoff){ .min_ms = INT64_MAX / 2 + 1, .max_ms = INT64_MAX, .failures = 9 };
    assert_true(backoff_window_ms(&b) == INT64_MAX);
    b = (struct backoff){ .min_ms = 5000, .max_ms = 1000, .failures = 1 };
    assert_true(backoff_window_ms(&b) == 1000);
}

/* Full jitter: every tenth of the window is met about as often as any other. */
static void test_backoff_spread(void **state)
{
    struct unit_random random = unit_random_begin();
    int tenths[10] = { 0 };

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct backoff b = { .min_ms = 500, .max_ms = 60000, .failures = 4 };
        int64_t delay = backoff_next_ms(&b, unit_random_next(&random));

        assert_true(delay >= 0 && delay < 8000);
        tenths[delay / 800]++;
    }
    for (size_t i = 0; i < COUNT_OF(tenths); i++)
        assert_in_range(tenths[i], 9400, 10600);
}

static const char *print_of(const char *const *texts, size_t count)
{
    static char hex[FINGERPRINT_SIZE];
    struct fingerprint f;

    fingerprint_init(&f);
    for (size_t i = 0; i + 1 < count; i += 2)
        fingerprint_text(&f, texts[i], texts[i + 1]);
    fingerprint_final(&f, hex);
    return hex;
}

#define PRINT_OF(...)                                                                              \
    print_of((const char *const[]){ __VA_ARGS__ }, COUNT_OF(((const char *const[]){ __VA_ARGS__ })))

/* Kept in claims for weeks, so these never change: FNV-1a of the bytes, by an independent program.
 */
static void test_fingerprint_is_final(void **state)
{
    struct fingerprint f;
    char hex[FINGERPRINT_SIZE];

    (void)state;
    fingerprint_init(&f);
    fingerprint_final(&f, hex);
    assert_string_equal(hex, "4fd0bfc1");
    assert_string_equal(PRINT_OF("every", "5m"), "780d3eb6");
    assert_string_equal(PRINT_OF("", ""), "bcd9e7ea");
    fingerprint_integer(&f, "attempts", -3);
    fingerprint_final(&f, hex);
    assert_string_equal(hex, "cc8c64a0");
}

static void test_fingerprint_tells_apart(void **state)
{
    char first[FINGERPRINT_SIZE], lowest[FINGERPRINT_SIZE];
    struct fingerprint f;

    (void)state;
    strcpy(first, PRINT_OF("ab", "c"));
    assert_string_not_equal(first, PRINT_OF("a", "bc"));
    assert_string_not_equal(first, PRINT_OF("ab", "c", "", ""));
    fingerprint_init(&f);
    fingerprint_integer(&f, "n", INT64_MIN);
    fingerprint_final(&f, lowest);
    assert_string_equal(lowest, PRINT_OF("n", "-9223372036854775808"));
}

struct outcome_case {
    const char *name;
    bool settles, retries, frees_lock;
};

static void test_outcomes(void **state)
{
    static const struct outcome_case cases[OUTCOME_COUNT] = {
        [OUTCOME_SUCCEEDED] = { "succeeded", true, false, true },
        [OUTCOME_NOTHING] = { "nothing", true, false, true },
        [OUTCOME_FAILED] = { "failed", false, true, true },
        [OUTCOME_REFUSED] = { "refused", false, false, true },
        [OUTCOME_DECLINED] = { "declined", false, false, true },
        [OUTCOME_STOPPED] = { "stopped", true, false, true },
        [OUTCOME_CRASHED] = { "crashed", false, true, false },
        [OUTCOME_OVERRUN] = { "overrun", false, true, false },
        [OUTCOME_LOST] = { "lost", false, true, false },
        [OUTCOME_UNSTARTED] = { "unstarted", false, false, true },
        [OUTCOME_VANISHED] = { "vanished", false, false, true },
    };
    enum outcome back = OUTCOME_LOST;

    (void)state;
    for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
        enum outcome o = (enum outcome)i;

        assert_string_equal(outcome_name(o), cases[i].name);
        assert_int_equal(outcome_from_name(cases[i].name, &back), 0);
        assert_int_equal(back, i);
        assert_int_equal(outcome_settles(o), cases[i].settles);
        assert_int_equal(outcome_retries(o), cases[i].retries);
        assert_int_equal(outcome_frees_lock(o), cases[i].frees_lock);
    }
    assert_int_equal(outcome_from_name("Succeeded", &back), -EINVAL);
    assert_int_equal(outcome_from_name("", &back), -EINVAL);
    assert_int_equal(back, OUTCOME_VANISHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_midpoint),
        cmocka_unit_test(test_clock_best_sample_wins),
        cmocka_unit_test(test_clock_jump),
        cmocka_unit_test(test_clock_extremes),
        cmocka_unit_test(test_clock_error_is_a_bound),
        cmocka_unit_test(test_backoff_window),
        cmocka_unit_test(test_backoff_spread),
        cmocka_unit_test(test_fingerprint_is_final),
        cmocka_unit_test(test_fingerprint_tells_apart),
        cmocka_unit_test(test_outcomes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
