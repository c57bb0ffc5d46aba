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
    bench_to_question(b);
    bench_send(b, STORE_ACQUIRE);
    bench_refuse(b, ACQUIRE_DONE, 0, "");
    bench_pass(b, 5 * SECOND_MS);
}

/* The next question is for the next turn, which comes in `ms`. */
static void assert_next_in(struct bench *b, int64_t ms)
{
    struct wall turn = schedule_next(&b->spec.schedule, bench_server(b));

    assert_int_equal(wall_between(bench_server(b), turn), ms);
    bench_to_question(b);
    bench_send(b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_held(&b, 40 * SECOND_MS, "bravo", 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    jump(&b, YEARS_MS);
    bench_pass(&b, 10 * SECOND_MS);
    jump(&b, -YEARS_MS);
    jumped = b.now;
    bench_silent(&b); /* a question of the other time is not asked any more */
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    assert_in_range(boot_between(jumped, b.now), 1, MINUTE_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_whole_intervals),
        cmocka_unit_test(test_jumped_over),
        cmocka_unit_test(test_lease_longer_than_interval),
        cmocka_unit_test(test_while_watching),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
