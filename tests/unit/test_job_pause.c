/* SPDX-License-Identifier: MIT
 * Runs that an operator stops, and jobs that are paused on this device. */
#include "support/hand.h"

static void end_stopped(struct bench *b, enum stop_reason reason, enum outcome outcome)
{
    assert_true(job_stop_run(&b->job, b->now, reason));
    assert_int_equal(b->fake.stop_reason, reason);
    assert_int_equal(b->job.state, JOB_STOPPING);
    assert_false(job_stop_run(&b->job, b->now, reason));
    bench_end(b, RUN_RETURNED, RUN_STOPPED_ORDERED, true);
    bench_send(b, STORE_FINISH);
    assert_int_equal(b->fake.request.outcome, outcome);
    bench_recorded(b, false);
    assert_int_equal(b->job.state, JOB_WAITING);
}

static void test_stop(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    assert_false(job_stop_run(&b.job, b.now, STOP_FOR_GOOD));
    bench_run(&b);
    end_stopped(&b, STOP_FOR_GOOD, OUTCOME_STOPPED);
    bench_run(&b);
    end_stopped(&b, STOP_FOR_OTHERS, OUTCOME_DECLINED);
    bench_silent(&b); /* it does not ask for that turn again */
    bench_done(&b);
}

static void test_pause(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.paused = true;
    bench_to_tick(&b);
    turn = bench_turn(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.passed.ms, turn.ms);
    assert_int_equal(b.job.counters.passed_paused, 1);
    bench_silent(&b); /* without a question */
    b.fake.paused = false;
    bench_pass(&b, 1000);
    bench_silent(&b); /* and it has passed */
    assert_false(job_take_up(&b.job, b.now, wall_add(turn, -BENCH_PERIOD_MS)));
    assert_true(job_take_up(&b.job, b.now, turn));
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    b.now = boot_add(b.now, BENCH_PERIOD_MS); /* a newer one is due */
    assert_false(job_take_up(&b.job, b.now, turn));
    b.now = boot_add(b.now, -BENCH_PERIOD_MS);
    /* It was run since, by hand. */
    hand_start(&b, LEASE_BY_HAND);
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_false(job_take_up(&b.job, b.now, turn));
    bench_pass(&b, BENCH_PERIOD_MS);
    assert_false(job_take_up(&b.job, b.now, turn));
    bench_done(&b);
}

/* However long it lasted: who ends it asks for the turn. */
static void test_pause_of_a_turn_that_is_late(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    spec.catch_up_ms = 0;
    bench_begin(&b, &spec, true);
    b.fake.paused = true;
    bench_to_tick(&b);
    turn = bench_turn(&b);
    b.fake.paused = false;
    bench_pass(&b, 30 * SECOND_MS);
    assert_true(job_take_up(&b.job, b.now, turn));
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 0);
    bench_grant(&b, 1);
    assert_int_equal(b.job.state, JOB_STARTING);
    bench_done(&b);
}

/* One that begins while the turn is asked for, or watched. */
static void test_pause_meanwhile(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    b.fake.paused = true;
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.passed.ms, bench_turn(&b).ms);
    b.fake.paused = false;
    bench_ask(&b);
    bench_held(&b, 5000, BRAVO, 1);
    b.fake.paused = true;
    bench_pass(&b, 6000);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_of_a_turn_that_is_late),
        cmocka_unit_test(test_pause_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
