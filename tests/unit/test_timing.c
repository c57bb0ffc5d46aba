/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "core/timing.h"
#include <errno.h>
#include <stdbool.h>

#define K_DEFAULT (10 * SECOND_MS)
#define C_DEFAULT (3 * SECOND_MS)

struct derive_case {
    int64_t worst_case, grace, command, connect, cap;
    int result;
    int64_t smallest; /* where refused */
    int64_t margin, budget, lease, renew;
};

/* By hand from PROTOCOL.md's "Time", its examples first, then S18. */
static const struct derive_case cases[] = {
    { 1000, 5000, 3000, 10000, 60000, 0, 0, 250, 10250, 10250, 0 },
    { 10000, 5000, 3000, 10000, 60000, 0, 0, 250, 19250, 19250, 0 },
    { 600000, 5000, 3000, 10000, 60000, 0, 0, 600, 609600, 60000, 20000 },
    { 600000, 30000, 3000, 10000, 45000, -ERANGE, 71000, 450, 634450, 45000, 15000 },
    { 600000, 30000, 3000, 10000, 70000, -ERANGE, 71000, 700, 634700, 70000, 23333 },
    { 600000, 30000, 3000, 10000, 71000, 0, 0, 710, 634710, 71000, 23666 },
    /* the whole budget is one lease of more than 25 s: M is the least with 99 M >= F */
    { 31000, 5000, 3000, 10000, 60000, 0, 0, 405, 40405, 40405, 0 },
    { 24750 - 9000, 5000, 3000, 10000, 60000, 0, 0, 250, 25000, 25000, 0 },
    { 24751 - 9000, 5000, 3000, 10000, 60000, 0, 0, 251, 25002, 25002, 0 },
    /* a lease of exactly B is the whole budget; a millisecond less is renewed */
    { 31000, 5000, 3000, 10000, 40405, 0, 0, 405, 40405, 40405, 0 },
    { 31000, 5000, 3000, 10000, 40404, 0, 0, 405, 40405, 40404, 13468 },
    /* the inequality met exactly, and missed by a millisecond */
    { 600000, 5000, 3000, 28400, 60000, 0, 0, 600, 609600, 60000, 20000 },
    { 600000, 5000, 3000, 28401, 60000, -ERANGE, 61000, 600, 609600, 60000, 20000 },
    /* B is smaller than the smallest renewed lease */
    { 2000, 5000, 3000, 10000, 11000, -ERANGE, 11250, 250, 11250, 11000, 3666 },
    /* S3: time-outs 200 ms, grace 300 ms */
    { 10000, 300, 200, 200, 3000, 0, 0, 250, 11750, 3000, 1000 },
};

static struct timing given(int64_t w, int64_t g, int64_t c, int64_t k, int64_t cap)
{
    return (struct timing){
        .worst_case_ms = w,
        .stop_grace_ms = g,
        .command_timeout_ms = c,
        .connect_timeout_ms = k,
        .lease_cap_ms = cap,
    };
}

static void test_derive(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct derive_case *c = &cases[i];
        struct timing t = given(c->worst_case, c->grace, c->command, c->connect, c->cap);
        int64_t smallest = 0;

        assert_int_equal(timing_derive(&t, &smallest), c->result);
        if (smallest != c->smallest || t.margin_ms != c->margin || t.budget_ms != c->budget ||
            t.lease_ms != c->lease || t.renew_ms != c->renew)
            fail_msg("case %zu: smallest %lld, M %lld, B %lld, L %lld, renewed every %lld", i,
                     (long long)smallest, (long long)t.margin_ms, (long long)t.budget_ms,
                     (long long)t.lease_ms, (long long)t.renew_ms);
        assert_true(timing_repeat_end_ms(&t) == t.lease_ms / 3 + 2 * c->command + c->connect);
        assert_true(timing_must_stop_ms(&t) == t.lease_ms - c->grace - t.margin_ms);
    }
}

static bool passes(struct timing t, int64_t cap)
{
    int64_t smallest;

    t.lease_cap_ms = cap;
    return timing_derive(&t, &smallest) == 0;
}

/* PROTOCOL.md's statements, in rational numbers where it has fractions. */
static void check_laws(const struct timing *t, int result, int64_t smallest)
{
    int64_t bare = t->command_timeout_ms + 1000 + t->worst_case_ms + t->stop_grace_ms;
    int64_t shorter;

    assert_true(t->budget_ms == bare + t->margin_ms);
    assert_true(t->margin_ms >= 250 && 100 * t->margin_ms >= t->lease_ms);
    assert_true(t->margin_ms == 250 || 100 * (t->margin_ms - 1) < t->lease_ms);
    assert_true(t->lease_ms == (t->budget_ms < t->lease_cap_ms ? t->budget_ms : t->lease_cap_ms));
    assert_true((t->renew_ms == 0) == (t->lease_ms == t->budget_ms));
    assert_true((result == 0) ==
                (t->renew_ms == 0 || timing_repeat_end_ms(t) <= timing_must_stop_ms(t)));
    if (result == 0)
        return;
    assert_int_equal(result, -ERANGE);
    assert_true(smallest > t->lease_cap_ms);
    assert_true(passes(*t, smallest));
    shorter = (smallest - 1) / SECOND_MS * SECOND_MS;
    assert_false(shorter > 0 && passes(*t, shorter));
}

static void test_derive_laws(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 200000; i++) {
        /* shifted: all orders of magnitude alike */
        int64_t w =
            100 + (unit_random_in(&random, 0, 31 * DAY_MS) >> unit_random_in(&random, 0, 31));
        struct timing t = given(
            w, unit_random_in(&random, 0, 10 * MINUTE_MS) >> unit_random_in(&random, 0, 19),
            unit_random_in(&random, 50, MINUTE_MS), unit_random_in(&random, 100, 2 * MINUTE_MS),
            SECOND_MS +
                (unit_random_in(&random, 0, DAY_MS - SECOND_MS) >> unit_random_in(&random, 0, 26)));
        int64_t smallest = 0;
        int result = timing_derive(&t, &smallest);

        check_laws(&t, result, smallest);
    }
}

/* The budget is that of the longest run; the lease stays what it is, but for a budget that fits
 * into it. */
static void test_a_run_that_may_be_extended(void **state)
{
    struct timing t = given(600000, 5000, C_DEFAULT, K_DEFAULT, 60000);
    int64_t smallest;

    (void)state;
    t.max_runtime_ms = 2400000;
    assert_int_equal(timing_derive(&t, &smallest), 0);
    assert_true(t.budget_ms == 2409600 && t.lease_ms == 60000 && t.renew_ms == 20000);
    t = given(1000, 5000, C_DEFAULT, K_DEFAULT, 60000);
    t.max_runtime_ms = 4000;
    assert_int_equal(timing_derive(&t, &smallest), 0);
    assert_true(t.budget_ms == 13250 && t.lease_ms == 13250 && t.renew_ms == 0);
}

static void test_renewals(void **state)
{
    const struct timing renewed = { .renew_ms = 20000 }, whole = { .renew_ms = 0 };

    (void)state;
    assert_int_equal(timing_renewals(&renewed, 600000), 29);
    assert_int_equal(timing_renewals(&renewed, 20001), 1);
    assert_int_equal(timing_renewals(&renewed, 20000), 0); /* it ends just then */
    assert_int_equal(timing_renewals(&renewed, 0), 0);
    assert_int_equal(timing_renewals(&whole, 600000), 0);
}

static void test_deadline_and_ttl(void **state)
{
    struct timing t = given(600000, 5000, C_DEFAULT, K_DEFAULT, 60000);
    struct boot sent = { 1000000 };
    int64_t smallest;

    (void)state;
    assert_int_equal(timing_derive(&t, &smallest), 0);
    assert_true(timing_deadline(&t, sent, t.lease_ms).ms == 1059400);
    assert_true(timing_renewal_ttl(&t, sent, (struct boot){ 1020000 }) == 60000);
    assert_true(timing_renewal_ttl(&t, sent, (struct boot){ 1549600 }) == 60000);
    assert_true(timing_renewal_ttl(&t, sent, (struct boot){ 1549601 }) == 59999);
    assert_true(timing_renewal_ttl(&t, sent, (struct boot){ 1609600 }) == 0);
    assert_true(timing_renewal_ttl(&t, sent, (struct boot){ 1609601 }) < 0);
    assert_true(timing_takeover_ms(&t, 2000) == 63000);
}

/* No renewal reaches past the budget, whenever it is sent. */
static void test_budget_is_never_passed(void **state)
{
    struct timing t = given(600000, 5000, C_DEFAULT, K_DEFAULT, 60000);
    struct unit_random random = unit_random_begin();
    int64_t smallest;

    (void)state;
    assert_int_equal(timing_derive(&t, &smallest), 0);
    for (int i = 0; i < 10000; i++) {
        struct boot begin = { unit_random_in(&random, 0, INT64_C(1) << 50) };
        struct boot now = boot_add(begin, unit_random_in(&random, 0, t.budget_ms));
        int64_t ttl = timing_renewal_ttl(&t, begin, now);

        assert_true(ttl <= t.lease_ms);
        assert_true(now.ms + ttl <= begin.ms + t.budget_ms);
        assert_true(timing_deadline(&t, now, ttl).ms <= begin.ms + t.budget_ms - t.margin_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derive),
        cmocka_unit_test(test_derive_laws),
        cmocka_unit_test(test_a_run_that_may_be_extended),
        cmocka_unit_test(test_renewals),
        cmocka_unit_test(test_deadline_and_ttl),
        cmocka_unit_test(test_budget_is_never_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
