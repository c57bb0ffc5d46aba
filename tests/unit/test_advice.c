/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/advice.h"

#define NOW ((struct boot){ 0 })

static struct job_spec job_of(int64_t worst_case_ms)
{
    return (struct job_spec){
        .timing = { .worst_case_ms = worst_case_ms,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = 10 * SECOND_MS,
                    .lease_cap_ms = MINUTE_MS },
    };
}

static struct digest ran(int64_t longest_ms, unsigned runs)
{
    struct digest d = { .coarse = 0 };

    for (unsigned i = 0; i < runs; i++)
        digest_add(&d, i ? longest_ms / 2 : longest_ms, NOW);
    return d;
}

static struct advice ask(const struct job_spec *spec, int64_t longest_ms, unsigned runs)
{
    struct digest d = ran(longest_ms, runs);

    return advice_of(&d, spec);
}

static void test_thresholds(void **state)
{
    static const struct {
        int64_t worst_case_ms, longest_ms;
        unsigned runs;
        enum advice_kind kind;
        int64_t value_ms;
    } rows[] = {
        { 10 * MINUTE_MS, 8 * MINUTE_MS, 1, ADVICE_NONE, 0 },
        { 10 * MINUTE_MS, 8 * MINUTE_MS + 1, 1, ADVICE_SHORT, 15 * MINUTE_MS },
        { 10 * MINUTE_MS, 8 * MINUTE_MS + 1, 100, ADVICE_SHORT, 15 * MINUTE_MS },
        { 10 * MINUTE_MS, 11 * MINUTE_MS, 1, ADVICE_SHORT, 20 * MINUTE_MS }, /* after a reload */
        { 10 * MINUTE_MS, 30 * SECOND_MS, 100, ADVICE_NONE, 0 },
        { 10 * MINUTE_MS, 30 * SECOND_MS - 1, 10, ADVICE_LARGE, 3 * MINUTE_MS },
        { 10 * MINUTE_MS, 30 * SECOND_MS - 1, 9, ADVICE_NONE, 0 },
        { 10 * MINUTE_MS, 1, 10, ADVICE_LARGE, 10 * SECOND_MS },
        { MINUTE_MS, 1, 10, ADVICE_NONE, 0 },
        { MINUTE_MS + 1, 1, 10, ADVICE_LARGE, 10 * SECOND_MS },
        { 100, 81, 1, ADVICE_SHORT, 200 },
        { 31 * DAY_MS, 30 * DAY_MS, 1, ADVICE_NONE, 0 }, /* nothing longer may be written */
        { 30 * DAY_MS, 30 * DAY_MS, 1, ADVICE_SHORT, 31 * DAY_MS },
        { 10 * MINUTE_MS, 0, 0, ADVICE_NONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct job_spec spec = job_of(rows[i].worst_case_ms);
        struct advice a = ask(&spec, rows[i].longest_ms, rows[i].runs);

        if (a.kind != rows[i].kind || a.value_ms != rows[i].value_ms)
            fail_msg("row %zu: kind %d, %lld ms", i, a.kind, (long long)a.value_ms);
        assert_false(a.extends);
        if (a.kind != ADVICE_NONE) {
            assert_int_equal(a.longest_ms, rows[i].longest_ms);
            assert_int_equal(a.limit_ms, rows[i].worst_case_ms);
        }
    }
}

static void test_values_that_people_write(void **state)
{
    static const struct {
        int64_t longest_ms;
        const char *written;
    } rows[] = {
        { 50, "100ms" },
        { 70, "200ms" },
        { 700, "2s" },
        { 3 * SECOND_MS, "5s" },
        { 7 * SECOND_MS, "15s" },
        { 30 * SECOND_MS, "45s" },
        { 45 * SECOND_MS, "1m30s" },
        { 5 * MINUTE_MS + 9 * SECOND_MS, "8m" },
        { 8 * MINUTE_MS, "15m" },
        { 41 * MINUTE_MS, "1h30m" },
        { 4 * HOUR_MS + 1, "7h" },
        { 36 * HOUR_MS, "2d12h" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct job_spec spec = job_of(rows[i].longest_ms);
        struct advice a = ask(&spec, rows[i].longest_ms, 1);
        char written[UNITS_SIZE];

        assert_int_equal(a.kind, ADVICE_SHORT);
        assert_string_equal(units_write_duration(a.value_ms, written, sizeof written),
                            rows[i].written);
    }
}

static void test_what_would_do(void **state)
{
    (void)state;
    assert_int_equal(advice_enough_ms(309000), 8 * MINUTE_MS);
    assert_int_equal(advice_enough_ms(2000), 3000);
    assert_int_equal(advice_enough_ms(30 * DAY_MS), 31 * DAY_MS);
}

/* Whoever follows an advice gets none after it: whatever the job, it is well above the longest run,
 * and not far above it. */
static void test_followed_is_well(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        int64_t size = INT64_C(1) << unit_random_in(&random, 7, 31);
        struct job_spec spec =
            job_of(unit_random_in(&random, 100, size > 31 * DAY_MS ? 31 * DAY_MS : size));
        int64_t longest = unit_random_in(&random, 1, spec.timing.worst_case_ms);
        unsigned runs = (unsigned)unit_random_in(&random, 1, 20);
        struct advice a = ask(&spec, longest, runs);

        if (a.kind == ADVICE_NONE || a.value_ms == 31 * DAY_MS)
            continue;
        spec.timing.worst_case_ms = a.value_ms;
        assert_int_equal(ask(&spec, longest, runs).kind, ADVICE_NONE);
        assert_true(a.value_ms <= longest * 8 || a.value_ms == ADVICE_LEAST_MS ||
                    a.value_ms == 100);
    }
}

/* The configuration that an advice asks for is one that is taken (core/timing.h). */
static void test_lease_that_it_takes(void **state)
{
    struct unit_random random = unit_random_begin();
    unsigned with_lease = 0;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct job_spec spec = job_of(unit_random_in(&random, 100, 120 * SECOND_MS));
        int64_t smallest;
        struct advice a;

        spec.timing.lease_cap_ms = unit_random_in(&random, 10, 90) * SECOND_MS;
        if (timing_derive(&spec.timing, &smallest) < 0)
            continue;
        a = ask(&spec, unit_random_in(&random, 1, spec.timing.worst_case_ms), 10);
        if (a.kind == ADVICE_NONE)
            continue;
        spec.timing.worst_case_ms = a.value_ms;
        if (a.lease_ms > 0) {
            with_lease++;
            assert_true(timing_derive(&spec.timing, &smallest) < 0);
            spec.timing.lease_cap_ms = a.lease_ms;
        }
        assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    }
    assert_true(with_lease > 0);
}

static void test_no_lease_without_a_lock(void **state)
{
    struct job_spec spec = job_of(10 * SECOND_MS);

    (void)state;
    spec.timing.lease_cap_ms = 20 * SECOND_MS;
    assert_true(ask(&spec, 9 * SECOND_MS, 1).lease_ms > 0);
    spec.lock = LOCK_NONE;
    assert_int_equal(ask(&spec, 9 * SECOND_MS, 1).lease_ms, 0);
    assert_int_equal(ask(&spec, 9 * SECOND_MS, 1).value_ms, 15 * SECOND_MS);
}

/* Progress carries a run past worst_case, which is then how long it may be silent. */
static void test_extend(void **state)
{
    struct job_spec spec = job_of(10 * MINUTE_MS);
    struct advice a;

    (void)state;
    spec.timing.max_runtime_ms = 40 * MINUTE_MS;
    assert_int_equal(ask(&spec, 9 * MINUTE_MS, 20).kind, ADVICE_NONE);
    assert_int_equal(ask(&spec, 32 * MINUTE_MS, 20).kind, ADVICE_NONE);
    assert_int_equal(ask(&spec, 1, 20).kind, ADVICE_NONE);
    a = ask(&spec, 33 * MINUTE_MS, 1);
    assert_int_equal(a.kind, ADVICE_SHORT);
    assert_true(a.extends);
    assert_int_equal(a.limit_ms, 40 * MINUTE_MS);
    assert_int_equal(a.value_ms, 50 * MINUTE_MS);
}

static void test_told_once_a_change(void **state)
{
    static const struct {
        enum advice_kind kind;
        int64_t value_ms;
        bool news;
    } steps[] = {
        { ADVICE_NONE, 0, false },      { ADVICE_LARGE, 10000, true },
        { ADVICE_LARGE, 10000, false }, { ADVICE_LARGE, 15000, true },
        { ADVICE_LARGE, 10000, false }, { ADVICE_NONE, 0, false },
        { ADVICE_SHORT, 900000, true }, { ADVICE_SHORT, 900000, false },
        { ADVICE_NONE, 0, false },      { ADVICE_SHORT, 900000, true },
        { ADVICE_LARGE, 10000, true },  { ADVICE_SHORT, 31 * DAY_MS, true },
    };
    struct advice_told told = { .value_ms = 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct advice a = { .kind = steps[i].kind, .value_ms = steps[i].value_ms };

        if (advice_is_news(&told, &a) != steps[i].news)
            fail_msg("step %zu", i);
        assert_int_equal(told.kind, a.kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_values_that_people_write),
        cmocka_unit_test(test_what_would_do),
        cmocka_unit_test(test_followed_is_well),
        cmocka_unit_test(test_lease_that_it_takes),
        cmocka_unit_test(test_no_lease_without_a_lock),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_told_once_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
