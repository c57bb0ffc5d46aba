/* SPDX-License-Identifier: MIT
 * The lease's rules: acquire, renew, finish, seen through a job. */
#include "support/bench.h"

#include <string.h>

/* --- acquire --- */

/* PROTOCOL.md's rule 14: the same token again, and no worker before the answer. */
static void test_unknown_is_repeated(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    assert_true(b.fake.request.first_ask);
    assert_int_equal(b.fake.request.ttl_ms, spec.timing.lease_ms);
    memcpy(token, b.fake.token, sizeof token);
    for (int i = 0; i < 5; i++) {
        bench_pass(&b, 3000);
        bench_no_answer(&b);
        assert_int_equal(b.fake.starts, 0);
        assert_int_equal(b.job.state, JOB_ASKING);
        bench_send(&b, STORE_ACQUIRE);
        assert_string_equal(b.fake.token, token);
        assert_false(b.fake.request.first_ask);
    }
    assert_int_equal(b.job.counters.unknown, 5);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    /* Trusted from the sending of the one that was answered, and not from the first. */
    assert_int_equal(b.job.lease.deadline.ms,
                     b.now.ms + spec.timing.lease_ms - spec.timing.margin_ms);
    job_leave(&b.job, b.now, true);
    bench_done(&b);
}

/* Rule 14: after its time to live the token is dead: another question, for what is due then. */
static void test_unknown_expires(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    memcpy(token, b.fake.token, sizeof token);
    bench_pass(&b, 10);
    bench_no_answer(&b);
    bench_pass(&b, spec.timing.lease_ms - 11);
    bench_send(&b, STORE_ACQUIRE);
    assert_string_equal(b.fake.token, token);
    bench_no_answer(&b);
    bench_pass(&b, spec.timing.lease_ms);
    bench_send(&b, STORE_ACQUIRE);
    /* Its lock has expired, but only this token finds the attempt again that the claim may have
     * counted. */
    assert_string_equal(b.fake.token, token);
    assert_false(b.fake.request.first_ask);
    assert_int_equal(b.job.lease.state, LEASE_ASKING);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* A dead token, and the turn is too late by now: no question is left. */
static void test_unknown_expires_too_late(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.catch_up_ms = 0;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_no_answer(&b);
    bench_pass(&b, 25000);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 1);
    assert_int_equal(b.job.counters.passed_error, 1);
    assert_int_equal(b.job.fleet->missed, 1);
    bench_done(&b);
}

/* PROTOCOL.md, Time: a grant is used only if it came within C. */
static void test_late_grant_is_repeated(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    memcpy(token, b.fake.token, sizeof token);
    bench_pass(&b, 3001);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 0);
    bench_send(&b, STORE_ACQUIRE);
    assert_string_equal(b.fake.token, token);
    bench_pass(&b, 3000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    assert_int_equal(b.job.lease.deadline.ms, b.now.ms - 3000 + 19250 - 250);
    bench_done(&b);
}

/* DESIGN section 5: an error reply changes nothing: the slot is free meanwhile, and the delay
 * grows. */
static void test_rejected(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    int64_t longest = 0;

    (void)state;
    spec.schedule.every_ms = spec.catch_up_ms = 3600000;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    for (int i = 0; i < 12; i++) {
        struct boot before = b.now;

        bench_send(&b, STORE_ACQUIRE);
        assert_true(b.fake.request.first_ask);
        bench_error(&b);
        assert_int_equal(b.job.state, JOB_WATCHING);
        assert_false(job_holds_slot(&b.job));
        bench_to_tick(&b);
        longest = boot_between(before, b.now) > longest ? boot_between(before, b.now) : longest;
        assert_true(boot_between(before, b.now) < 60000);
        assert_int_equal(b.job.state, JOB_ASKING);
    }
    assert_true(longest > 1000);
    assert_int_equal(b.job.counters.passed_held, 0);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    bench_done(&b);
}

/* What was sent and not answered is settled by its own token alone: an error reply does not change
 * that. */
static void test_unknown_rejected(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    memcpy(token, b.fake.token, sizeof token);
    bench_no_answer(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_error(&b);
    assert_int_equal(b.job.lease.state, LEASE_UNKNOWN);
    bench_silent(&b);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_string_equal(b.fake.token, token);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* Rule 12: the largest fence seen goes with every question. */
static void test_fence_seen(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    assert_int_equal(b.fake.request.fence, 0);
    bench_held(&b, 100, "bravo", 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.fence, 40);
    bench_grant(&b, 2);
    assert_int_equal(b.job.lease.fence, 42);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.fence, 42);
    assert_int_equal(b.fake.request.attempt, 2);
    bench_recorded(&b, false);
    bench_done(&b);
}

/* --- renew --- */

static void test_renewals(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct boot sent;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    sent = b.now;
    bench_send(&b, STORE_ACQUIRE);
    bench_pass(&b, 400);
    bench_grant(&b, 1);
    job_started(&b.job, b.now, b.now);
    for (int i = 0; i < 3; i++) { /* every L/3 from the last confirmed sending */
        assert_int_equal(b.job.armed.ms, sent.ms + 20000);
        bench_to_tick(&b);
        bench_send(&b, STORE_RENEW);
        assert_int_equal(b.fake.request.ttl_ms, 60000);
        sent = b.now;
        bench_pass(&b, 1000 * i);
        bench_renewed(&b, RENEW_RENEWED);
        /* Of the 54.4 s after which the run would have been asked to stop. */
        assert_int_equal(b.fake.left_ms, 54400 - 20000 - 1000 * i);
        assert_int_equal(b.job.lease.deadline.ms, sent.ms + 60000 - 600);
        assert_int_equal(b.job.lease.expires.ms, b.now.ms + 60000);
        assert_int_equal(b.fake.extends, 1 + i);
    }
    bench_done(&b);
}

/* An unanswered renewal moves nothing, and is repeated at once, for the instant of its sending. */
static void test_renewal_unanswered(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct boot d;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    d = b.job.lease.deadline;
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_pass(&b, 3000);
    bench_no_answer(&b);
    assert_int_equal(b.job.lease.deadline.ms, d.ms);
    assert_int_equal(b.fake.extends, 0);
    bench_pass(&b, 10000);
    bench_send(&b, STORE_RENEW);
    bench_error(&b);
    assert_int_equal(b.job.lease.deadline.ms, d.ms);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_renewed(&b, RENEW_RENEWED);
    assert_int_equal(b.fake.left_ms, boot_between(b.now, d) - 5000);
    assert_int_equal(b.job.lease.deadline.ms, b.now.ms + 60000 - 600);
    assert_int_equal(b.fake.extends, 1);
    assert_int_equal(b.fake.stops, 0);
    bench_done(&b);
}

/* No renewal reaches past the budget; one that would not move D is not sent; D never moves back. */
static void test_renewals_end_with_the_budget(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct boot end, d = { 0 };
    int sent = 0;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    end = boot_add(b.job.lease.sent, spec.timing.budget_ms);
    while (b.job.armed.ms < BOOT_NEVER.ms && sent < 100) {
        bench_to_tick(&b);
        if (!fake_send(&b.fake, b.now))
            break;
        assert_int_equal(b.fake.request.verb, STORE_RENEW);
        assert_true(b.now.ms + b.fake.request.ttl_ms <= end.ms);
        assert_true(b.fake.request.ttl_ms == 60000 || b.now.ms + b.fake.request.ttl_ms == end.ms);
        bench_renewed(&b, RENEW_RENEWED);
        assert_true(b.job.lease.deadline.ms > d.ms);
        d = b.job.lease.deadline;
        sent++;
    }
    assert_int_equal(d.ms, end.ms - spec.timing.margin_ms);
    assert_in_range(sent, 28, 31);
    assert_int_equal(b.job.lease.state, LEASE_HELD);
    bench_pass(&b, 3600000);
    bench_silent(&b);
    bench_end(&b, RUN_BROKE, RUN_STOPPED_OVERRUN, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_OVERRUN);
    bench_recorded(&b, false);
    bench_done(&b);
}

/* The answer to an older sending confirms no more than that sending. */
static void test_slow_confirmation(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct boot sent;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_to_tick(&b);
    sent = b.now;
    bench_send(&b, STORE_RENEW);
    bench_pass(&b, 2900);
    bench_renewed(&b, RENEW_RENEWED);
    assert_int_equal(b.job.lease.deadline.ms, sent.ms + 60000 - 600);
    assert_int_equal(b.job.armed.ms, sent.ms + 20000);
    bench_done(&b);
}

/* A short lease is never renewed. */
static void test_short_lease_is_not_renewed(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    assert_int_equal(b.job.armed.ms, BOOT_NEVER.ms);
    bench_silent(&b);
    bench_done(&b);
}

static void test_lost(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_renewed(&b, RENEW_LOST);
    assert_int_equal(b.job.state, JOB_STOPPING);
    assert_int_equal(b.fake.stops, 1);
    assert_int_equal(b.fake.stop_reason, STOP_FOR_TAKEN);
    assert_int_equal(b.fake.reports[REPORT_TAKEN], 1);
    assert_int_equal(b.job.armed.ms, BOOT_NEVER.ms); /* never renewed again */
    bench_silent(&b);
    bench_end(&b, RUN_BROKE, RUN_STOPPED_ORDERED, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_LOST);
    bench_recorded(&b, false);
    bench_done(&b);
}

static void test_regained(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_renewed(&b, RENEW_REGAINED);
    assert_int_equal(b.job.state, JOB_RUNNING);
    assert_int_equal(b.fake.reports[REPORT_REGAINED], 1);
    assert_int_equal(b.fake.extends, 1);
    bench_done(&b);
}

/* Renewals go on while a run winds down. */
static void test_renewed_while_stopping(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_STOPPING);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_renewed(&b, RENEW_RENEWED);
    assert_int_equal(b.job.state, JOB_STOPPING);
    assert_true(b.job.armed.ms < BOOT_NEVER.ms);
    bench_done(&b);
}

/* --- finish --- */

/* Rule 14: until it is recorded, and before any acquire. */
static void test_finish_until_recorded(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    memcpy(token, b.fake.token, sizeof token);
    bench_return(&b, 0);
    assert_int_equal(b.job.state, JOB_CLOSING);
    for (int i = 0; i < 8; i++) { /* turns fall due meanwhile */
        bench_send(&b, STORE_FINISH);
        assert_string_equal(b.fake.token, token);
        assert_int_equal(b.fake.request.outcome, OUTCOME_SUCCEEDED);
        bench_pass(&b, 3000);
        bench_no_answer(&b);
        bench_pass(&b, 20000);
        assert_int_equal(b.job.state, JOB_CLOSING);
    }
    bench_send(&b, STORE_FINISH);
    bench_error(&b);
    bench_silent(&b);
    bench_to_tick(&b);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_int_equal(b.fake.queued_count, 0);
    bench_ask(&b);
    assert_string_not_equal(b.fake.token, token);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* A renewal that is still out does not stand in the way, and its late answer is nobody's. */
static void test_finish_while_renewing(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    bench_return(&b, 0);
    assert_null(b.fake.flying);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_int_equal(b.job.lease.state, LEASE_NONE);
    bench_done(&b);
}

static void test_token_device(void **state)
{
    char name[DEVICE_NAME_MAX + 1];

    (void)state;
    lease_token_device("gw:7:0123456789abcdef0123456789abcdef", name);
    assert_string_equal(name, "gw:7");
    lease_token_device("gw:0123456789abcdef0123456789abcde", name);
    assert_string_equal(name, "");
    lease_token_device("gw:0123456789ABCDEF0123456789abcdef", name);
    assert_string_equal(name, "");
    lease_token_device(":0123456789abcdef0123456789abcdef", name);
    assert_string_equal(name, "");
    lease_token_device("", name);
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_is_repeated),
        cmocka_unit_test(test_unknown_expires),
        cmocka_unit_test(test_unknown_expires_too_late),
        cmocka_unit_test(test_late_grant_is_repeated),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_unknown_rejected),
        cmocka_unit_test(test_fence_seen),
        cmocka_unit_test(test_renewals),
        cmocka_unit_test(test_renewal_unanswered),
        cmocka_unit_test(test_renewals_end_with_the_budget),
        cmocka_unit_test(test_slow_confirmation),
        cmocka_unit_test(test_short_lease_is_not_renewed),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_regained),
        cmocka_unit_test(test_renewed_while_stopping),
        cmocka_unit_test(test_finish_until_recorded),
        cmocka_unit_test(test_finish_while_renewing),
        cmocka_unit_test(test_token_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
