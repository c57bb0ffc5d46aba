/* SPDX-License-Identifier: MIT
 * A job and a clock that is set: one run an interval, no burst, no silence longer than an interval
 * (promise 7, S26). */
#include "base/units.h"
#include "support/bench.h"

#define YEARS_MS (72 * 365 * DAY_MS)

static void jump(struct bench *b, int64_t ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED, .sent = b->now, .received = b->now };

    b->server_ahead_ms += ms;
    reply.server = bench_server(b);
    fleet_sample(&b->fake.fleet, &reply);
}

/* A job of which the newest turn, 5 s old, is done. */
static void begin_after_a_turn(struct bench *b, const struct job_spec *spec)
{
    bench_begin(b, spec, true);
    bench_ask(b);
    bench_refuse(b, ACQUIRE_DONE, 0, "");
    bench_pass(b, 5 * SECOND_MS);
}

/* The next question is for the next turn, which comes in `ms`. */
static void assert_next_in(struct bench *b, int64_t ms)
{
    struct wall turn = schedule_next(&b->spec.schedule, bench_server(b));

    assert_int_equal(wall_between(bench_server(b), turn), ms);
    bench_ask(b);
    assert_int_equal(b->fake.request.turn.ms, turn.ms);
    assert_true(bench_server(b).ms <= turn.ms + SECOND_MS);
    bench_refuse(b, ACQUIRE_DONE, 0, "");
}

/* By whole intervals the next turn comes when it would have come: nothing is to be made up for,
 * however young the turn that the jump made due. */
static void test_by_whole_intervals(void **state)
{
    static const int64_t jumps[] = { HOUR_MS, -HOUR_MS, YEARS_MS, -YEARS_MS, MINUTE_MS };
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        begin_after_a_turn(&b, &spec);
        jump(&b, jumps[i]);
        assert_int_equal(b.fake.reports[REPORT_CLOCK_JUMP], 1);
        assert_next_in(&b, 55 * SECOND_MS - 1);
        bench_done(&b);
    }
}

/* What the samples before and after it were wrong by makes no other jump of it. */
static void test_by_whole_intervals_as_measured(void **state)
{
    static const int64_t noise_ms[] = { -300, 300 };
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(noise_ms); i++) {
        begin_after_a_turn(&b, &spec);
        jump(&b, HOUR_MS + noise_ms[i]);
        assert_next_in(&b, 55 * SECOND_MS - 1 - noise_ms[i]);
        bench_done(&b);
    }
}

/* An hourly job whose turn is jumped over by a correction of some seconds: it is run, a lease
 * later. */
static void test_jumped_over(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot jumped;

    (void)state;
    spec.schedule.every_ms = HOUR_MS;
    bench_begin(&b, &spec, true);
    bench_pass(&b, wall_between(bench_server(&b), schedule_next(&spec.schedule, bench_server(&b))) -
                       2 * SECOND_MS);
    jumped = b.now;
    jump(&b, 5 * SECOND_MS);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    assert_int_equal(boot_between(jumped, b.now), spec.timing.lease_ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* A lease that is longer than the interval does not keep the turn after it waiting. */
static void test_lease_longer_than_interval(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.schedule.every_ms = 10 * SECOND_MS;
    assert_true(spec.timing.lease_ms > spec.schedule.every_ms);
    begin_after_a_turn(&b, &spec);
    jump(&b, 6 * SECOND_MS);
    assert_next_in(&b, 9 * SECOND_MS - 1);
    bench_done(&b);
}

/* To 2098 and back while a turn waits to be tried again: that one has passed, the next is on time.
 */
static void test_while_watching(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot jumped;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 40 * SECOND_MS, "bravo", 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    jump(&b, YEARS_MS);
    bench_pass(&b, 10 * SECOND_MS);
    jump(&b, -YEARS_MS);
    jumped = b.now;
    bench_silent(&b); /* a question of the other time is not asked any more */
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    assert_in_range(boot_between(jumped, b.now), 1, MINUTE_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* The job is to ask within `ms`, for the newest turn by the server's clock. */
static void assert_asks_within(struct bench *b, int64_t ms)
{
    struct boot until = boot_add(b->now, ms);

    bench_to_tick(b);
    if (b->job.state == JOB_WAITING) /* a newer turn, which has its own instant */
        bench_to_tick(b);
    assert_int_equal(b->job.state, JOB_ASKING);
    assert_in_range(boot_between(b->now, until), 0, ms);
    bench_send(b, STORE_ACQUIRE);
    assert_int_equal(b->fake.request.turn.ms, bench_turn(b).ms);
}

/* As long as any retry_delay: only the next turn can come before. */
static struct job_spec patient_spec(void)
{
    struct job_spec spec = bench_short_spec();

    spec.retry_delay_ms = DAY_MS;
    return spec;
}

static void fail_run(struct bench *b)
{
    bench_return(b, 2);
    assert_int_equal(b->job.state, JOB_CLOSING);
    bench_send(b, STORE_FINISH);
    bench_recorded(b, false);
}

/* The turn that failed lies ahead again, and is no reason to be silent until it comes. */
static void test_back_while_it_runs(void **state)
{
    static const int64_t jumps[] = { -HOUR_MS, -YEARS_MS, -3 * HOUR_MS - 7 * SECOND_MS };
    struct job_spec spec = patient_spec();
    struct bench b;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        bench_begin(&b, &spec, true);
        bench_run(&b);
        bench_pass(&b, 2 * SECOND_MS);
        jump(&b, jumps[i]);
        bench_pass(&b, 2 * SECOND_MS);
        fail_run(&b);
        assert_int_equal(b.job.state, JOB_WATCHING);
        assert_asks_within(&b, MINUTE_MS);
        bench_refuse(&b, ACQUIRE_DONE, 0, "clock");
        assert_next_in(&b, MINUTE_MS - 1);
        bench_done(&b);
    }
}

/* The answer that brings the news is the one about the turn. */
static void test_back_is_heard_with_the_answer(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    b.server_ahead_ms -= HOUR_MS;
    bench_held(&b, 2 * HOUR_MS, "bravo", 1);
    assert_int_equal(b.fake.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_asks_within(&b, MINUTE_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_back_while_it_watches(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 2 * HOUR_MS, "bravo", 1);
    bench_pass(&b, 5 * SECOND_MS);
    jump(&b, -HOUR_MS);
    assert_asks_within(&b, 55 * SECOND_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* All slots are taken: the turn that it waits with is that of the new time. */
static void test_back_while_it_waits_for_a_slot(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.fleet.slots = 0;
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_NO_SLOT);
    jump(&b, -HOUR_MS);
    bench_pass(&b, MINUTE_MS);
    assert_int_equal(b.job.state, JOB_NO_SLOT);
    assert_int_equal(b.job.turn.ms, bench_turn(&b).ms);
    bench_done(&b);
}

/* Ahead and back during one run: what fails is tried again as if nothing had been. */
static void test_ahead_and_back_while_it_runs(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    turn = bench_turn(&b);
    jump(&b, HOUR_MS);
    bench_pass(&b, 2 * SECOND_MS);
    jump(&b, -HOUR_MS);
    fail_run(&b);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_asks_within(&b, spec.retry_delay_ms + 1);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.starts, 2);
    bench_done(&b);
}

/* Back and ahead while an answer is waited for: the same turn is the newest again, and nothing is
 * to be done until the next. */
static void test_back_and_ahead_while_it_asks(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    jump(&b, -HOUR_MS);
    jump(&b, HOUR_MS);
    bench_pass(&b, SECOND_MS);
    assert_int_equal(b.job.state, JOB_ASKING);
    assert_true(b.job.armed.ms > b.now.ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* Back by half an hour only: half an hour of turns has still been led over, and runs no more. */
static void test_ahead_and_half_back(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    begin_after_a_turn(&b, &spec);
    jump(&b, HOUR_MS);
    jump(&b, -HOUR_MS / 2);
    assert_next_in(&b, 55 * SECOND_MS - 1);
    bench_done(&b);
}

/* What a jump led over, or back, has not fallen due while it ran. */
static void test_turns_that_fell_due_meanwhile(void **state)
{
    static const int64_t jumps[] = { 0, HOUR_MS, -HOUR_MS, YEARS_MS, -YEARS_MS };
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        bench_begin(&b, &spec, true);
        bench_run(&b);
        b.now = boot_add(b.now, 70 * SECOND_MS);
        if (jumps[i] != 0)
            jump(&b, jumps[i]);
        b.now = boot_add(b.now, 70 * SECOND_MS);
        bench_return(&b, 0);
        assert_int_equal(b.fake.meanwhile, 2);
        assert_int_equal(b.job.counters.passed_running, 2);
        fake_done(&b.fake);
    }
}

/* A question without an answer is one turn missed, whatever the clock does. */
static void test_missed_turns(void **state)
{
    static const int64_t jumps[] = { 0, HOUR_MS, -HOUR_MS };
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.catch_up_ms = 10 * MINUTE_MS;
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        bench_begin(&b, &spec, true);
        bench_to_question(&b);
        bench_pass(&b, 5 * SECOND_MS);
        if (jumps[i] != 0)
            jump(&b, jumps[i]);
        bench_pass(&b, MINUTE_MS);
        assert_int_equal(b.job.counters.passed_error, 1);
        fake_done(&b.fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_whole_intervals),
        cmocka_unit_test(test_by_whole_intervals_as_measured),
        cmocka_unit_test(test_jumped_over),
        cmocka_unit_test(test_lease_longer_than_interval),
        cmocka_unit_test(test_while_watching),
        cmocka_unit_test(test_back_while_it_runs),
        cmocka_unit_test(test_back_is_heard_with_the_answer),
        cmocka_unit_test(test_back_while_it_watches),
        cmocka_unit_test(test_back_while_it_waits_for_a_slot),
        cmocka_unit_test(test_ahead_and_back_while_it_runs),
        cmocka_unit_test(test_back_and_ahead_while_it_asks),
        cmocka_unit_test(test_ahead_and_half_back),
        cmocka_unit_test(test_turns_that_fell_due_meanwhile),
        cmocka_unit_test(test_missed_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
