/* SPDX-License-Identifier: MIT
 * The job that takes no more turns, from every state; and the one whose settings moved. */
#include "support/bench.h"

#define BRAVO "bravo:0123456789abcdef0123456789abcdef"

static void test_leave_at_rest(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    assert_int_equal(b.job.armed.ms, BOOT_NEVER.ms);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    job_begin(&b.job, b.now); /* and back again */
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_to_question(&b);
    job_leave(&b.job, b.now, true); /* asked, and not sent */
    assert_int_equal(b.job.state, JOB_OFF);
    bench_silent(&b);
    bench_done(&b);
}

static void test_leave_no_clock_and_no_slot(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.fleet.slots = 0;
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_NO_SLOT);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    b.fake.fleet.clock.known = false;
    job_begin(&b.job, b.now);
    assert_int_equal(b.job.state, JOB_NO_CLOCK);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    assert_true(fake_send(&b.fake, b.now)); /* the clock's answer wakes nobody */
    fake_reply(&b.fake, (struct store_reply){ .server = bench_server(&b) }, b.now);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* A question that was sent is waited for: a grant is given back. */
static void test_leave_while_asking(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_no_answer(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 0);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

static void leave_after(enum acquire_answer answer)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    bench_begin(&b, &spec, true);
    bench_ask(&b);
    job_leave(&b.job, b.now, true);
    if (answer == ACQUIRE_HELD)
        bench_held(&b, 5000, BRAVO, 1);
    else
        bench_refuse(&b, answer, 1000, "");
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

static void test_leave_then_refused(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    for (enum acquire_answer a = ACQUIRE_HELD; a <= ACQUIRE_OVER; a++)
        leave_after(a);
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    job_leave(&b.job, b.now, true);
    bench_error(&b);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
    /* unknown, and dead before it can be asked again */
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_no_answer(&b);
    job_leave(&b.job, b.now, true);
    bench_pass(&b, spec.timing.lease_ms);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* Not sent again, and a newer turn falls due, which this device would not ask for. */
static void test_leave_before_a_newer_turn(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_no_answer(&b);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_ASKING);
    b.fake.fleet.size = 1000000;
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

static void test_leave_while_watching(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 5000, BRAVO, 1);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* A stop by the service: the worker is asked, the turn declined, then off. */
static void leave_a_run(bool started)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_grant(&b, 1);
    if (started)
        job_started(&b.job, b.now, b.now);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.fake.stops, 1);
    assert_int_equal(b.fake.stop_reason, STOP_FOR_SERVICE);
    if (!started)
        job_started(&b.job, b.now, b.now); /* its word was on the way */
    assert_int_equal(b.job.state, JOB_STOPPING);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.fake.stops, 1);
    bench_end(&b, RUN_BROKE, RUN_STOPPED_ORDERED, true);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_CLOSING);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_DECLINED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

static void test_leave_a_run(void **state)
{
    (void)state;
    leave_a_run(false);
    leave_a_run(true);
}

/* A drain: the run goes on to its end, and the job then takes no more turns; a stop may still
 * follow. */
static void test_drain(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    job_leave(&b.job, b.now, false);
    assert_int_equal(b.fake.stops, 0);
    assert_int_equal(b.job.state, JOB_RUNNING);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);

    bench_begin(&b, &spec, true);
    bench_run(&b);
    job_leave(&b.job, b.now, false);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.fake.stops, 1);
    bench_done(&b);
}

/* A reload that left this job unchanged: its timer and its run stay. */
static void test_respecify(void **state)
{
    struct job_spec spec = bench_renewed_spec(), copy = spec;
    struct bench b;
    struct boot armed;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    armed = b.job.armed;
    job_respecify(&b.job, &copy);
    assert_int_equal(b.job.armed.ms, armed.ms);
    bench_to_tick(&b);
    bench_send(&b, STORE_RENEW);
    assert_ptr_equal(b.fake.request.job, &copy);
    bench_renewed(&b, RENEW_RENEWED);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_at_rest),
        cmocka_unit_test(test_leave_no_clock_and_no_slot),
        cmocka_unit_test(test_leave_while_asking),
        cmocka_unit_test(test_leave_then_refused),
        cmocka_unit_test(test_leave_before_a_newer_turn),
        cmocka_unit_test(test_leave_while_watching),
        cmocka_unit_test(test_leave_a_run),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_respecify),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
