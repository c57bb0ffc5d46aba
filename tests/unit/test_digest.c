/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/digest.h"

#define RUNS_MAX 5000

struct sample {
    struct unit_random random;
    struct digest digest;
    int64_t times[RUNS_MAX];
    size_t count;
};

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void take(struct sample *s, int64_t ran_ms)
{
    digest_add(&s->digest, ran_ms, (struct boot){ 0 });
    /* A run of seven weeks and more counts as one of seven. */
    s->times[s->count++] = ran_ms < UINT32_MAX ? ran_ms : UINT32_MAX;
}

static int64_t exact(struct sample *s, unsigned percent)
{
    qsort(s->times, s->count, sizeof s->times[0], by_length);
    return s->times[(s->count * percent + 99) / 100 - 1];
}

/* The header's table. */
static int64_t per_mille_off(const struct sample *s)
{
    static const struct {
        int64_t times, per_mille;
    } rows[] = { { 2, 31 }, { 4, 59 }, { 20, 112 }, { 500, 200 }, { 500000, 334 } };
    int64_t shortest = s->times[0], longest = s->times[s->count - 1];

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (longest <= shortest * rows[i].times)
            return rows[i].per_mille;
    return 600;
}

static void check_one(const struct sample *s, int64_t told, int64_t right)
{
    int64_t off = told > right ? told - right : right - told;

    if ((off - 1) * 1000 > right * per_mille_off(s))
        fail_msg("%lld ms is told for %lld ms (%zu runs of %lld ... %lld ms)", (long long)told,
                 (long long)right, s->count, (long long)s->times[0],
                 (long long)s->times[s->count - 1]);
}

static void check(struct sample *s)
{
    struct digest_summary told = digest_read(&s->digest, (struct boot){ 0 });

    check_one(s, told.median_ms, exact(s, 50));
    check_one(s, told.p95_ms, exact(s, 95));
    assert_int_equal(told.longest_ms, s->times[s->count - 1]);
    assert_int_equal(told.runs, s->count);
    assert_true(told.median_ms <= told.p95_ms && told.p95_ms <= told.longest_ms);
    assert_true(told.median_ms > 0);
}

/* --- distributions, each with a size of its own --- */

typedef int64_t draw(struct unit_random *r, int64_t size_ms);

static int64_t constant(struct unit_random *r, int64_t size_ms)
{
    (void)r;
    return size_ms;
}

static int64_t steady(struct unit_random *r, int64_t size_ms)
{
    return unit_random_in(r, size_ms, size_ms + size_ms / 4);
}

static int64_t uniform(struct unit_random *r, int64_t size_ms)
{
    return unit_random_in(r, 1, size_ms);
}

/* As many between 1 and 2 as between 1,000 and 2,000. */
static int64_t any_octave(struct unit_random *r, int64_t size_ms)
{
    int64_t above = INT64_C(1) << unit_random_in(r, 0, 31);

    return 1 + unit_random_in(r, above / 2, above) % size_ms;
}

/* Most are quick, one of twenty is not. */
static int64_t two_kinds(struct unit_random *r, int64_t size_ms)
{
    return unit_random_in(r, 0, 19) ? steady(r, size_ms) : steady(r, size_ms * 40);
}

static int64_t long_tail(struct unit_random *r, int64_t size_ms)
{
    return size_ms + size_ms * 1000 / unit_random_in(r, 1, 100000);
}

static draw *const draws[] = { constant, steady, uniform, any_octave, two_kinds, long_tail };

static void test_within_its_bound(void **state)
{
    struct sample s = { .random = unit_random_begin() };

    (void)state;
    for (size_t round = 0; round < 600; round++) {
        int64_t size_ms = INT64_C(1) << unit_random_in(&s.random, 0, 25);
        size_t count = (size_t)unit_random_in(&s.random, 1, round % 20 ? 300 : RUNS_MAX);

        s.digest = (struct digest){ .coarse = 0 };
        size_ms += unit_random_in(&s.random, 0, size_ms);
        for (s.count = 0; s.count < count;)
            take(&s, draws[round % COUNT_OF(draws)](&s.random, size_ms));
        check(&s);
    }
}

/* Slower and slower, and faster and faster: the bins have to move either way. */
static void test_drifts(void **state)
{
    struct sample s = { .count = 0 };

    (void)state;
    for (int64_t ms = 1; ms < 31 * DAY_MS; ms += 1 + ms / 50) {
        take(&s, ms);
        check(&s);
    }
    s = (struct sample){ .count = 0 };
    for (int64_t ms = 31 * DAY_MS; ms > 0; ms -= 1 + ms / 50) {
        take(&s, ms);
        check(&s);
    }
}

static void test_ends_of_the_range(void **state)
{
    static const int64_t given[] = { INT64_MIN, -1, 0, 1, UINT32_MAX, INT64_MAX };
    static const int64_t taken[] = { 1, 1, 1, 1, UINT32_MAX, UINT32_MAX };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        struct digest d = { .coarse = 0 };

        digest_add(&d, given[i], (struct boot){ 0 });
        assert_int_equal(digest_longest_ms(&d), taken[i]);
    }
}

static void test_no_run(void **state)
{
    struct digest d = { .coarse = 0 };
    struct digest_summary told = digest_read(&d, (struct boot){ 40 * DIGEST_PERIOD_MS });

    (void)state;
    assert_int_equal(told.runs + told.median_ms + told.p95_ms + told.longest_ms, 0);
}

/* --- it forgets --- */

static void test_a_run_is_remembered_for_30_to_40_days(void **state)
{
    (void)state;
    for (int64_t begin = 0; begin < 40 * DAY_MS; begin += DAY_MS) {
        struct digest d = { .coarse = 0 };
        struct boot at = { begin };

        digest_add(&d, 7000, at);
        assert_int_equal(digest_read(&d, boot_add(at, 30 * DAY_MS)).longest_ms, 7000);
        assert_true(digest_read(&d, boot_add(at, 30 * DAY_MS)).median_ms > 6700);
        assert_int_equal(digest_read(&d, boot_add(at, 40 * DAY_MS)).longest_ms, 0);
        assert_int_equal(digest_read(&d, boot_add(at, 40 * DAY_MS)).median_ms, 0);
    }
}

/* Many that are old weigh less than a few that are new, and are gone whole in the end. */
static void test_what_is_new_counts_more(void **state)
{
    struct digest d = { .coarse = 0 };
    struct boot now = { 3 * HOUR_MS };

    (void)state;
    for (int i = 0; i < 100; i++)
        digest_add(&d, 60000, now);
    now = boot_add(now, 3 * DIGEST_PERIOD_MS);
    for (int i = 0; i < 14; i++)
        digest_add(&d, 1000, now);
    assert_true(digest_read(&d, now).median_ms < 1100);
    assert_true(digest_read(&d, now).p95_ms > 48000);
    assert_int_equal(digest_read(&d, now).longest_ms, 60000);
    now = boot_add(now, DIGEST_PERIOD_MS);
    assert_int_equal(digest_read(&d, now).longest_ms, 1000);
    assert_true(digest_read(&d, now).p95_ms <= 1000);
}

/* After a pause of the job it is as fine as at first, however coarse it was. */
static void test_forgets_its_coarseness(void **state)
{
    struct digest d = { .coarse = 0 };
    struct boot later = { 10 * DIGEST_PERIOD_MS };

    (void)state;
    for (int i = 0; i < 1000; i++)
        digest_add(&d, 1, (struct boot){ 0 });
    digest_add(&d, UINT32_MAX, (struct boot){ 0 });
    digest_add(&d, 1000, later);
    digest_add(&d, 1900, later);
    assert_in_range(digest_read(&d, later).median_ms, 969, 1031);
}

static void test_a_clock_that_jumps(void **state)
{
    struct digest d = { .coarse = 0 };

    (void)state;
    digest_add(&d, 5000, (struct boot){ 3 * DIGEST_PERIOD_MS });
    digest_add(&d, 6000, (struct boot){ 0 });
    assert_int_equal(digest_runs(&d), 2);
    assert_int_equal(digest_longest_ms(&d), 6000);
    digest_add(&d, 10, (struct boot){ INT64_MAX / 2 });
    assert_int_equal(digest_longest_ms(&d), 10);
    assert_int_equal(digest_runs(&d), 1);
}

/* --- very many runs --- */

static void test_a_run_each_second(void **state)
{
    struct digest d = { .coarse = 0 };
    struct digest_summary told;
    struct boot now = { 0 };

    (void)state;
    for (int64_t i = 0; i < 500000; i++, now.ms += SECOND_MS)
        digest_add(&d, i % 20 < 18 ? 200 : 390, now);
    told = digest_read(&d, now);
    assert_in_range(told.median_ms, 194, 206);
    assert_in_range(told.p95_ms, 378, 390);
    assert_int_equal(told.longest_ms, 390);
}

/* A bin that is full loses nothing but half of what all count. */
static void test_full_bins(void **state)
{
    struct digest d = { .coarse = 0 };
    struct boot now = { 0 };

    (void)state;
    for (unsigned i = 0; i < 8200; i++)
        digest_add(&d, 64, now);
    assert_in_range(digest_runs(&d), 4000, 8200);
    d = (struct digest){ .coarse = 0 };
    for (unsigned i = 0; i < 3000; i++)
        digest_add(&d, 100, now);
    for (unsigned i = 0; i < 2 * 4100; i++)
        digest_add(&d, i % 2 ? 64 : 68, now);
    assert_in_range(digest_read(&d, now).median_ms, 64, 72);
    digest_add(&d, 640, now); /* 64 and 68 are in one bin from here on */
    assert_in_range(digest_read(&d, now).median_ms, 57, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within_its_bound),
        cmocka_unit_test(test_drifts),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_no_run),
        cmocka_unit_test(test_a_run_is_remembered_for_30_to_40_days),
        cmocka_unit_test(test_what_is_new_counts_more),
        cmocka_unit_test(test_forgets_its_coarseness),
        cmocka_unit_test(test_a_clock_that_jumps),
        cmocka_unit_test(test_a_run_each_second),
        cmocka_unit_test(test_full_bins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
