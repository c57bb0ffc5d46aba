/* SPDX-License-Identifier: MIT
 * The job after a run: what is told to the store, when the turn is tried again, grants that nobody
 * wants, trees that cannot be killed. */
#include "support/bench.h"

#include <errno.h>
#include <string.h>

/* --- after a run --- */

static void end_with(struct bench *b, const struct job_spec *spec, int result)
{
    bench_begin(b, spec, true);
    bench_run(b);
    bench_pass(b, 1000);
    bench_return(b, result);
    assert_int_equal(b->job.state, JOB_CLOSING);
    assert_false(job_holds_slot(&b->job));
    bench_send(b, STORE_FINISH);
    assert_int_equal(b->fake.request.attempt, 1);
    assert_int_equal(b->fake.request.ran_ms, 5);
    assert_true(b->fake.request.clean);
}

static void test_success_is_not_asked_again(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    end_with(&b, &spec, 0);
    assert_int_equal(b.fake.request.outcome, OUTCOME_SUCCEEDED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, bench_turn(&b).ms);
    assert_int_equal(b.job.counters.outcomes[OUTCOME_SUCCEEDED], 1);
    bench_done(&b);
}

static void test_failed_is_tried_again(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];
    struct wall turn;

    (void)state;
    end_with(&b, &spec, 2);
    turn = b.job.turn;
    memcpy(token, b.fake.token, sizeof token);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 7001);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_string_not_equal(b.fake.token, token);
    assert_true(b.fake.request.first_ask);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.starts, 2);
    bench_done(&b);
}

static void test_given_up(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    end_with(&b, &spec, 2);
    bench_recorded(&b, true);
    assert_int_equal(b.fake.reports[REPORT_GIVEN_UP], 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.lease.answer, ACQUIRE_EXHAUSTED);
    bench_done(&b);

    end_with(&b, &spec, 3);
    assert_int_equal(b.fake.request.outcome, OUTCOME_REFUSED);
    bench_recorded(&b, true);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

/* Its detail is kept until it is recorded, and no longer; without memory there is none. */
static void test_detail_is_kept_until_recorded(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (int memory = 0; memory <= 1; memory++) {
        struct bench b;

        bench_begin(&b, &spec, true);
        bench_run(&b);
        b.fake.no_memory = memory == 0;
        bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, true);
        for (int sent = 0; sent < 2; sent++) {
            bench_send(&b, STORE_FINISH);
            assert_int_equal(b.fake.request.outcome, OUTCOME_CRASHED);
            assert_string_equal(b.fake.detail, memory ? "as told" : "");
            if (sent == 0)
                bench_no_answer(&b);
        }
        bench_recorded(&b, false);
        assert_null(b.job.lease.end.detail);
        bench_done(&b);
    }
}

/* What is still to be told stays as it was. */
static void test_second_end_changes_nothing(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_return(&b, 0);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, false);
    assert_int_equal(b.job.counters.illegal, 1);
    assert_int_equal(b.fake.reports[REPORT_ENDED], 1);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_SUCCEEDED);
    assert_true(b.fake.request.clean);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    fake_done(&b.fake);
}

/* `declined` is not asked again for that turn, but for the next. */
static void test_declined(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    end_with(&b, &spec, 4);
    turn = b.job.turn;
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 60000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* What its storage refuses for a newer fence is as lost as what could not be renewed: the lock,
 * which is hardly its own, is left to expire. */
static void test_lost_by_its_storage(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    end_with(&b, &spec, 5);
    assert_int_equal(b.fake.request.outcome, OUTCOME_LOST);
    assert_false(outcome_frees_lock(b.fake.request.outcome));
    bench_recorded(&b, false);
    bench_done(&b);
    end_with(&b, &spec, 6);
    assert_int_equal(b.fake.request.outcome, OUTCOME_FAILED);
    bench_recorded(&b, false);
    bench_done(&b);
}

/* Promise 5: the lock is left to expire; an earlier question would be in vain. */
static void test_crashed_waits_for_the_lock(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot sent;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    sent = b.job.lease.sent;
    bench_pass(&b, 1000);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_CRASHED);
    assert_string_equal(b.fake.detail, "as told");
    bench_recorded(&b, false);
    /* The server may have set the lock as late as the instant before its answer came. */
    assert_int_equal(b.job.armed.ms, sent.ms + 10 + spec.timing.lease_ms + 1);
    bench_done(&b);

    spec.retry_delay_ms = 30000; /* the longer of the two */
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_end(&b, RUN_BROKE, RUN_STOPPED_OVERRUN, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_OVERRUN);
    bench_recorded(&b, false);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    bench_done(&b);
}

/* --- grants that nobody wants, guards that do not start --- */

/* The next turn falls due between question and answer: where a period is shorter than the round
 * trip, nothing else would ever run. */
static void test_grant_of_an_old_question(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_pass(&b, 20000);
    bench_to_question(&b);
    turn = b.job.turn;
    bench_pass(&b, 59900);
    bench_send(&b, STORE_ACQUIRE);
    bench_pass(&b, 200);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    assert_int_equal(b.job.turn.ms, turn.ms);
    bench_done(&b);
}

static void test_spare_grant(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_pass(&b, 20000);
    bench_to_question(&b);
    turn = b.job.turn;
    bench_pass(&b,
               59000); /* the question goes out just before the next turn, its repeat after it */
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_no_answer(&b);
    bench_pass(&b, 2000);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 0);
    assert_int_equal(b.fake.reports[REPORT_SPARE], 1);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_recorded(&b, false);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 60000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* Granted to this token before, and settled by another since: not started. */
static void test_spare_answer(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_no_answer(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_SPARE, 0, NULL);
    assert_int_equal(b.fake.starts, 0);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_true(b.job.armed.ms >= b.now.ms + 60000);
    bench_done(&b);
}

static void test_no_guard(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.start_result = -EAGAIN;
    bench_ask(&b);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.reports[REPORT_STILLBORN], 1);
    assert_int_equal(b.job.counters.outcomes[OUTCOME_UNSTARTED], 1);
    assert_int_equal(b.job.state, JOB_CLOSING);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

/* --- a tree that cannot be killed --- */

static void make_stuck(struct bench *b, enum run_exit how)
{
    struct job_spec spec = bench_short_spec();

    bench_begin(b, &spec, true);
    bench_run(b);
    bench_end(b, how, RUN_NOT_STOPPED, false);
    bench_send(b, STORE_FINISH);
    assert_false(b->fake.request.clean);
    bench_recorded(b, false);
    assert_int_equal(b->job.state, JOB_STUCK);
    assert_int_equal(b->fake.reports[REPORT_STUCK], 1);
    assert_true(job_holds_slot(&b->job));
}

static void test_stuck(void **state)
{
    struct bench b;

    (void)state;
    make_stuck(&b, RUN_BROKE);
    bench_pass(&b, 600000);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_STUCK);
    job_emptied(&b.job, b.now);
    assert_int_equal(b.fake.reports[REPORT_UNSTUCK], 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_false(job_holds_slot(&b.job));
    bench_to_question(&b);
    bench_done(&b);
}

/* Emptied before the end is recorded: it was never stuck. */
static void test_emptied_in_time(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, false);
    assert_true(job_holds_slot(&b.job));
    bench_send(&b, STORE_FINISH);
    job_emptied(&b.job, b.now);
    job_emptied(&b.job, b.now); /* a second word changes nothing */
    assert_false(job_holds_slot(&b.job));
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_int_equal(b.fake.reports[REPORT_STUCK], 0);
    bench_done(&b);
}

/* What is not asked again after a clean end is not asked again after an unclean one. */
static void test_stuck_after_declined(void **state)
{
    struct bench b;

    (void)state;
    make_stuck(&b, RUN_UNLOADABLE);
    bench_pass(&b, 1000);
    job_emptied(&b.job, b.now);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_true(b.job.armed.ms > b.now.ms + 50000);
    bench_done(&b);
}

static void test_leave_while_stuck(void **state)
{
    struct bench b;

    (void)state;
    make_stuck(&b, RUN_BROKE);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_STUCK);
    job_emptied(&b.job, b.now);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success_is_not_asked_again),
        cmocka_unit_test(test_failed_is_tried_again),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_detail_is_kept_until_recorded),
        cmocka_unit_test(test_second_end_changes_nothing),
        cmocka_unit_test(test_declined),
        cmocka_unit_test(test_lost_by_its_storage),
        cmocka_unit_test(test_crashed_waits_for_the_lock),
        cmocka_unit_test(test_grant_of_an_old_question),
        cmocka_unit_test(test_spare_grant),
        cmocka_unit_test(test_spare_answer),
        cmocka_unit_test(test_no_guard),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_emptied_in_time),
        cmocka_unit_test(test_stuck_after_declined),
        cmocka_unit_test(test_leave_while_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
