/* SPDX-License-Identifier: MIT
 * What a turn that was taken alone leaves to tell the shared store, once that answers. */
#include "support/alone.h"
#include <errno.h>
#include <string.h>

static void test_success_is_told_afterwards(void **state)
{
    struct job_spec spec = alone_spec();
    char token[TOKEN_SIZE];
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    turn = b.job.turn;
    strcpy(token, b.fake.token);
    alone_end(&b, 0);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, turn.ms);

    alone_send(&b, STORE_FINISH, false);
    assert_string_equal(b.fake.request.token, token);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_int_equal(b.fake.request.attempt, 1);
    assert_int_equal(b.fake.request.outcome, OUTCOME_SUCCEEDED);
    bench_recorded(&b, false);
    bench_silent(&b);
    assert_null(b.alone.owed.token);
    bench_done(&b);
}

/* The shared store hears of it before it is asked again. */
static void test_failure_is_told_before_the_next_try(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 2);
    assert_int_equal(b.job.state, JOB_WATCHING);
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_ASKING);
    alone_send(&b, STORE_FINISH, false);
    assert_int_equal(b.fake.request.outcome, OUTCOME_FAILED);
    bench_recorded(&b, false);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_silent(&b);
    bench_done(&b);
}

/* The same where it was told already, and the store answered by an error. */
static void test_refused_telling_goes_before_the_next_try(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 2);
    alone_send(&b, STORE_FINISH, false);
    bench_error(&b);
    b.alone.owed.at = boot_add(b.now, HOUR_MS);
    while (b.job.state == JOB_WATCHING)
        bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_ASKING);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* However often that is lost or refused, nothing overtakes it. */
static void test_nothing_overtakes_it(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 2);
    alone_send(&b, STORE_FINISH, false);
    bench_error(&b);
    while (b.job.state == JOB_WATCHING)
        bench_to_tick(&b);
    for (int i = 0; i < 3; i++) {
        alone_send(&b, STORE_FINISH, false);
        bench_no_answer(&b);
        alone_send(&b, STORE_FINISH, false);
        bench_error(&b);
        bench_silent(&b);
        bench_to_tick(&b);
        assert_int_equal(b.job.state, JOB_ASKING);
    }
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_telling_is_repeated(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    bench_no_answer(&b);
    alone_send(&b, STORE_FINISH, false);
    bench_error(&b);
    bench_silent(&b);
    assert_true(b.alone.owed.at.ms < BOOT_NEVER.ms);
    bench_pass(&b, boot_between(b.now, b.alone.owed.at));
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    bench_silent(&b);
    bench_done(&b);
}

/* The newest run is what counts, also where the one before is on its way. */
static void test_newer_run_takes_its_place(void **state)
{
    struct job_spec spec = alone_spec();
    struct store_call *told;
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    told = b.fake.flying; /* it goes on while another turn is run */
    b.fake.flying = NULL;
    b.fake.reports[REPORT_ALONE] = 0;
    alone_run(&b);
    turn = b.job.turn;
    alone_end(&b, 0);
    bench_silent(&b);
    b.fake.flying = told;
    bench_recorded(&b, false);
    alone_send(&b, STORE_FINISH, false);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_recorded(&b, false);
    bench_silent(&b);
    bench_done(&b);
}

/* The outage begins while a run goes on: its end is owed, and the next turn is taken alone. */
static void test_end_that_cannot_be_told(void **state)
{
    struct job_spec spec = alone_spec();
    char token[TOKEN_SIZE];
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    turn = b.job.turn;
    strcpy(token, b.fake.token);
    bench_return(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    bench_no_answer(&b);
    bench_pass(&b, PATIENCE_MS - 1);
    assert_int_equal(b.job.state, JOB_CLOSING);
    bench_pass(&b, 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, turn.ms);
    assert_int_equal(b.fake.queued_count, 1);
    alone_send(&b, STORE_FINISH, false);
    assert_string_equal(b.fake.request.token, token);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_recorded(&b, false);
    bench_silent(&b);
    bench_done(&b);
}

/* A job that is to go waits for its end to be told, for else nobody would tell it. */
static void test_leaves_once_its_end_is_told(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_return(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    bench_no_answer(&b);
    job_leave(&b.job, b.now, false);
    bench_pass(&b, 2 * PATIENCE_MS);
    assert_int_equal(b.job.state, JOB_CLOSING);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_silent(&b);
    bench_done(&b);
}

/* The shared store knows of no try, and is told of none. */
static void test_what_never_started_is_not_owed(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_pass(&b, PATIENCE_MS);
    alone_send(&b, STORE_ACQUIRE, true);
    b.fake.start_result = -EAGAIN;
    bench_grant(&b, 1);
    alone_send(&b, STORE_FINISH, true);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    bench_silent(&b);
    bench_done(&b);
}

/* Its last try is not tried again, though nobody said so. */
static void test_last_try_that_cannot_be_told(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    for (spec.attempts = 1; spec.attempts <= 2; spec.attempts++) {
        bench_begin(&b, &spec, true);
        bench_run(&b);
        bench_return(&b, 2);
        bench_pass(&b, PATIENCE_MS);
        assert_int_equal(b.job.state, spec.attempts == 1 ? JOB_WAITING : JOB_WATCHING);
        assert_int_equal(b.fake.reports[REPORT_GIVEN_UP], spec.attempts == 1);
        alone_send(&b, STORE_FINISH, false);
        fake_reply(
            &b.fake,
            (struct store_reply){ .server = bench_server(&b), .finish = { .stopped = true } },
            b.now);
        assert_int_equal(b.fake.reports[REPORT_BRAKE], 1);
        bench_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success_is_told_afterwards),
        cmocka_unit_test(test_failure_is_told_before_the_next_try),
        cmocka_unit_test(test_refused_telling_goes_before_the_next_try),
        cmocka_unit_test(test_nothing_overtakes_it),
        cmocka_unit_test(test_telling_is_repeated),
        cmocka_unit_test(test_newer_run_takes_its_place),
        cmocka_unit_test(test_end_that_cannot_be_told),
        cmocka_unit_test(test_leaves_once_its_end_is_told),
        cmocka_unit_test(test_what_never_started_is_not_owed),
        cmocka_unit_test(test_last_try_that_cannot_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
