/* SPDX-License-Identifier: MIT
 * What the core does about each class of fault, at each request: how soon it asks again, and what
 * is counted. */
#include "support/bench.h"

#include <string.h>

#define SOON_MS 500
#define SLOW_MS 5000
#define SLOW_MAX_MS 300000

/* Written from the table in core/fault.h. */
static const struct {
    enum fault fault;
    int64_t first_ms, last_ms; /* windows */
} rows[] = {
    { FAULT_BUSY, SOON_MS, 60000 },           { FAULT_REPLICA, SOON_MS, 60000 },
    { FAULT_OURS, SOON_MS, 60000 },           { FAULT_STORAGE, SLOW_MS, SLOW_MAX_MS },
    { FAULT_OPERATOR, SLOW_MS, SLOW_MAX_MS }, { FAULT_UNKNOWN, SLOW_MS, SLOW_MAX_MS },
};
#define ROWS (sizeof rows / sizeof rows[0])

static void answer_fault(struct bench *b, enum store_status status, enum fault fault)
{
    fake_reply(&b->fake, (struct store_reply){ .status = status, .fault = fault, .error = "why" },
               b->now);
}

/* The same as what has been counted, in all and by class. */
static void assert_counted(const struct bench *b, enum fault fault, uint64_t count)
{
    for (int f = 0; f < FAULT_COUNT; f++)
        assert_int_equal(b->fake.fleet.faults[f], f == (int)fault ? count : 0);
    assert_int_equal(b->job.counters.passed_held, 0);
    assert_int_equal(b->job.counters.passed_done, 0);
}

/* The greatest delay that many tries show is near the window, and never past it. */
static void assert_windows(int64_t greatest, int64_t window)
{
    assert_true(greatest <= window + 1);
    assert_true(greatest > window / 2);
}

static void test_acquire(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    spec.schedule.every_ms = spec.catch_up_ms = 100 * 24 * INT64_C(3600000);
    for (size_t i = 0; i < ROWS; i++) {
        struct bench b;
        int64_t greatest = 0;

        bench_begin(&b, &spec, false);
        bench_to_question(&b);
        for (int n = 1; n <= 60; n++) {
            struct boot before = b.now;

            bench_send(&b, STORE_ACQUIRE);
            answer_fault(&b, STORE_ERROR, rows[i].fault);
            assert_int_equal(b.job.state, JOB_WATCHING);
            assert_int_equal(b.job.lease.state, LEASE_NONE);
            assert_int_equal(b.job.fault, rows[i].fault);
            assert_counted(&b, rows[i].fault, (uint64_t)n);
            assert_int_equal(b.fake.starts, 0);
            if (n == 1)
                assert_true(boot_between(b.now, b.job.armed) <= rows[i].first_ms);
            bench_to_tick(&b);
            if (boot_between(before, b.now) > greatest)
                greatest = boot_between(before, b.now);
        }
        assert_windows(greatest, rows[i].last_ms);
        bench_send(&b, STORE_ACQUIRE);
        bench_grant(&b, 1);
        assert_int_equal(b.fake.starts, 1);
        assert_int_equal(b.job.fault, FAULT_NONE);
        assert_int_equal(b.fake.reports[REPORT_ANSWERED], 1);
        bench_done(&b);
    }
}

/* A lease that is held cannot wait for a person: L / 12. */
static void test_renew(void **state)
{
    struct job_spec spec = bench_renewed_spec();

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct bench b;
        int64_t greatest = 0;
        struct boot d;

        bench_begin(&b, &spec, true);
        bench_run(&b);
        d = b.job.lease.deadline;
        bench_to_tick(&b);
        for (int n = 1; n <= 40; n++) {
            struct boot before = b.now;

            bench_send(&b, STORE_RENEW);
            answer_fault(&b, STORE_ERROR, rows[i].fault);
            assert_int_equal(b.job.state, JOB_RUNNING);
            assert_int_equal(b.job.lease.deadline.ms, d.ms);
            assert_int_equal(b.fake.stops, 0);
            assert_counted(&b, rows[i].fault, (uint64_t)n);
            bench_to_tick(&b);
            if (boot_between(before, b.now) > greatest)
                greatest = boot_between(before, b.now);
        }
        assert_windows(greatest, spec.timing.lease_ms / 12);
        bench_send(&b, STORE_RENEW);
        bench_renewed(&b, RENEW_RENEWED);
        assert_int_equal(b.job.lease.deadline.ms,
                         b.now.ms + spec.timing.lease_ms - spec.timing.margin_ms);
        assert_int_equal(b.job.fault, FAULT_NONE);
        bench_done(&b);
    }
}

/* Repeated until it is recorded, and no question goes before it. */
static void test_finish(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct bench b;
        char token[TOKEN_SIZE];
        int64_t greatest = 0;

        bench_begin(&b, &spec, true);
        bench_run(&b);
        memcpy(token, b.fake.token, sizeof token);
        bench_return(&b, 0);
        for (int n = 1; n <= 60; n++) {
            struct boot before = b.now;

            bench_send(&b, STORE_FINISH);
            assert_string_equal(b.fake.token, token);
            answer_fault(&b, STORE_ERROR, rows[i].fault);
            assert_int_equal(b.job.state, JOB_CLOSING);
            assert_counted(&b, rows[i].fault, (uint64_t)n);
            bench_silent(&b);
            bench_to_tick(&b);
            if (boot_between(before, b.now) > greatest)
                greatest = boot_between(before, b.now);
        }
        assert_windows(greatest, rows[i].last_ms);
        bench_send(&b, STORE_FINISH);
        bench_recorded(&b, false);
        assert_int_equal(b.job.state, JOB_WAITING);
        bench_done(&b);
    }
}

/* An unknown token is not left unsettled for longer than its lock would live, whatever is answered.
 */
static void test_unknown_then_refused(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    spec.schedule.every_ms = spec.catch_up_ms = 3600000;
    for (size_t i = 0; i < ROWS; i++) {
        struct bench b;
        char token[TOKEN_SIZE];

        bench_begin(&b, &spec, false);
        bench_ask(&b);
        memcpy(token, b.fake.token, sizeof token);
        answer_fault(&b, STORE_NO_ANSWER, FAULT_LINK);
        assert_int_equal(b.job.counters.unknown, 1);
        for (int n = 1; n <= 20; n++) {
            struct boot sent = b.now;

            bench_send(&b, STORE_ACQUIRE);
            assert_string_equal(b.fake.token, token);
            answer_fault(&b, STORE_ERROR, rows[i].fault);
            assert_int_equal(b.job.lease.state, LEASE_UNKNOWN);
            assert_int_equal(b.job.counters.unknown, 1);
            bench_to_tick(&b);
            assert_true(boot_between(sent, b.now) <= spec.timing.lease_ms);
        }
        assert_int_equal(b.fake.starts, 0);
        bench_send(&b, STORE_ACQUIRE);
        bench_grant(&b, 1);
        assert_int_equal(b.fake.starts, 1);
        bench_done(&b);
    }
}

/* What came over a connection that was lost, or was not believed, is unknown; nothing waits here,
 * since the link has its own back-off. */
static void test_no_answer(void **state)
{
    static const enum fault lost[] = { FAULT_LINK, FAULT_ALIEN, FAULT_OPERATOR };
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        struct bench b;

        bench_begin(&b, &spec, true);
        bench_ask(&b);
        answer_fault(&b, STORE_NO_ANSWER, lost[i]);
        assert_int_equal(b.job.lease.state, LEASE_UNKNOWN);
        assert_counted(&b, lost[i], 1);
        bench_send(&b, STORE_ACQUIRE);
        bench_grant(&b, 1);
        bench_return(&b, 0);
        bench_send(&b, STORE_FINISH);
        answer_fault(&b, STORE_NO_ANSWER, lost[i]);
        bench_send(&b, STORE_FINISH);
        bench_recorded(&b, false);
        assert_counted(&b, lost[i], 2);
        bench_done(&b);
    }
}

/* A turn that passes while questions are refused was missed for that class, and is nobody's. */
static void test_missed_turns(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct bench b;

        bench_begin(&b, &spec, true);
        bench_ask(&b);
        answer_fault(&b, STORE_ERROR, rows[i].fault);
        while (b.fake.fleet.missed == 0) {
            bench_to_tick(&b);
            if (fake_send(&b.fake, b.now))
                answer_fault(&b, STORE_ERROR, rows[i].fault);
        }
        assert_true(b.job.counters.passed_error >= 1);
        assert_int_equal(b.job.counters.passed_held, 0);
        job_leave(&b.job, b.now, true);
        fake_done(&b.fake);
    }
}

static void test_the_fleets_clock(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct fake f;
        struct boot now = { 1000 };

        fake_init(&f, "alpha", 1, (struct unit_random){ 1 });
        fleet_want_clock(&f.fleet);
        for (int n = 0; n < 5; n++) {
            assert_true(fake_send(&f, now));
            fake_reply(&f, (struct store_reply){ .status = STORE_ERROR, .fault = rows[i].fault },
                       now);
            assert_int_equal(f.fleet.question_fault, rows[i].fault);
            assert_false(fake_send(&f, now));
            if (n == 0)
                assert_true(boot_between(now, f.armed) <= rows[i].first_ms);
            now = f.armed;
            fleet_tick(&f.fleet, now);
        }
        assert_int_equal(f.reports[REPORT_UNANSWERED], 5);
        assert_true(fake_send(&f, now));
        fake_reply(&f, (struct store_reply){ .server = { 5000 } }, now);
        assert_int_equal(f.fleet.question_fault, FAULT_NONE);
        assert_int_equal(f.reports[REPORT_ANSWERED], 1);
        fake_done(&f);
    }
}

static void test_names(void **state)
{
    (void)state;
    for (int f = 0; f < FAULT_COUNT; f++) {
        assert_non_null(fault_name((enum fault)f));
        for (int other = 0; other < f; other++)
            assert_string_not_equal(fault_name((enum fault)f), fault_name((enum fault)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire),          cmocka_unit_test(test_renew),
        cmocka_unit_test(test_finish),           cmocka_unit_test(test_unknown_then_refused),
        cmocka_unit_test(test_no_answer),        cmocka_unit_test(test_missed_turns),
        cmocka_unit_test(test_the_fleets_clock), cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
