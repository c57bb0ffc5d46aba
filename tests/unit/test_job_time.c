/* SPDX-License-Identifier: MIT
 * The job and time: which turn is asked for, when, and what a clock that moves does to it. */
#include "base/units.h"
#include "support/bench.h"

#include <string.h>

/* --- turns and time (DESIGN section 6) --- */

static void jump(struct bench *b, int64_t ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED, .sent = b->now, .received = b->now };

    b->server_ahead_ms += ms;
    reply.server = bench_server(b);
    fleet_sample(&b->fake.fleet, &reply);
}

/* The server's clock goes back by an hour, and this question is the first to hear of it: the job
 * waits for the next turn of the new clock, not for an hour. */
static void test_early_by_a_clock_set_back(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    b.server_ahead_ms -= HOUR_MS;
    bench_refuse(&b, ACQUIRE_EARLY, HOUR_MS, "");
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_in_range(boot_between(b.now, b.job.armed), 1, 61000);
    bench_done(&b);
}

/* A day's turns were missed: one question, for the latest. */
static void test_only_the_latest(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, false);
    assert_int_equal(b.job.armed.ms, b.now.ms);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, BENCH_BEGIN_MS - 30000);
    assert_int_equal(b.fake.request.next.ms, BENCH_BEGIN_MS + 30000);
    assert_int_equal(b.fake.request.fresh_ms, 19250 + 1000 + 1000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "assumed");
    assert_int_equal(b.fake.reports[REPORT_FIRST_SIGHT], 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    assert_int_equal(job_next_turn(&b.job, b.now).ms, BENCH_BEGIN_MS + 30000);
    bench_done(&b);
}

/* first = "now": no turn is too old for a job without a record. */
static void test_first_now(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.first_now = true;
    bench_begin(&b, &spec, false);
    bench_ask(&b);
    assert_true(b.fake.request.fresh_ms > INT64_C(366) * 86400000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* Rule 7: a young turn without any record waits for one lease, then is asked for again by the same
 * token. */
static void test_first_sight_waits(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    memcpy(token, b.fake.token, sizeof token);
    bench_refuse(&b, ACQUIRE_WAIT, 19250, "blank");
    assert_int_equal(b.fake.reports[REPORT_FIRST_SIGHT], 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 19251);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_string_equal(b.fake.token, token);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

static void test_too_late(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.catch_up_ms =
        27999; /* with splay and slack a millisecond short of the 30 s that have passed */
    bench_begin(&b, &spec, false);
    bench_to_question(&b);
    bench_silent(&b);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 1);
    assert_false(b.fake.waited);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    bench_done(&b);

    spec.catch_up_ms = 28000;
    bench_begin(&b, &spec, false);
    bench_ask(&b);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* A server that answers with errors does not stretch catch_up. */
static void test_errors_do_not_stretch_catch_up(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot end;

    (void)state;
    spec.catch_up_ms = 0;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    end = boot_add(b.now, 30000);
    while (b.job.state != JOB_WAITING && b.now.ms < end.ms) {
        if (fake_send(&b.fake, b.now))
            bench_error(&b);
        else
            break;
        bench_to_tick(&b);
    }
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 1);
    assert_int_equal(b.job.counters.passed_error, 1);
    bench_done(&b);
}

/* S32: a run of 3.5 periods: covers what fell due, no replays. */
static void test_long_run(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    turn = b.job.turn;
    for (int i = 0; i < 10; i++) {
        bench_pass(&b, 21000);
        bench_send(&b, STORE_RENEW);
        bench_renewed(&b, RENEW_RENEWED);
    }
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_int_equal(b.fake.request.covers.ms, turn.ms + 180000);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 240000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* Rule 11: `covers` is what was due at the run's end, however late finish is sent. */
static void test_late_success(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    turn = b.job.turn;
    bench_pass(&b, 5000);
    bench_return(&b, 0);
    bench_pass(&b, 130000);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.covers.ms, turn.ms);
    bench_recorded(&b, false);
    bench_to_question(&b); /* the latest of those that fell due since is open */
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 120000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_early(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_refuse(&b, ACQUIRE_EARLY, 7, NULL);
    assert_int_equal(b.job.armed.ms, b.now.ms + 8);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    bench_done(&b);
}

/* A timer that fires too early, by a clock that has moved by a little, asks for nothing. */
static void test_timer_too_early(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    jump(&b, -15);
    bench_to_question(&b);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_to_question(&b);
    assert_int_equal(bench_server(&b).ms, BENCH_BEGIN_MS + 30001);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, BENCH_BEGIN_MS + 30000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* An outage: each turn that passes unasked is counted, as an error, not as contention. */
static void test_missed_by_an_outage(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_pass(&b, 185000);
    assert_int_equal(b.fake.fleet.missed, 3);
    assert_int_equal(b.job.counters.passed_error, 3);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    assert_int_equal(b.job.counters.passed_done, 1);
    assert_int_equal(b.job.counters.passed_error, 3);
    bench_done(&b);
}

static void test_missed_by_error_replies(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    turn = b.job.turn;
    while (bench_turn(&b).ms < turn.ms + 120000) {
        bench_send(&b, STORE_ACQUIRE);
        bench_error(&b);
        bench_to_tick(&b);
        if (b.job.state == JOB_WAITING)
            bench_to_question(&b);
    }
    assert_int_equal(b.job.counters.passed_error, 2);
    assert_int_equal(b.fake.fleet.missed, 2);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    assert_int_equal(b.job.counters.passed_error, 2);
    bench_done(&b);
}

/* --- the fleet's clock --- */

static void test_clock_back(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    jump(&b, -86400000); /* a day: nothing runs by surprise, and nothing is silent for a day */
    assert_int_equal(b.fake.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "clock");
    assert_int_equal(b.fake.reports[REPORT_VOID], 1);
    bench_done(&b);
}

/* Promise 7: a clock that jumped makes no job run at once; a turn that it left long behind has
 * passed. */
static void test_clock_forward(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.schedule.every_ms = 3600000;
    spec.catch_up_ms = 3600000;
    bench_begin(&b, &spec, true);
    jump(&b, 86400000 + 30000);
    assert_int_equal(b.fake.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.armed.ms,
                     fleet_clock_when(&b.fake.fleet.clock, job_next_turn(&b.job, b.now)).ms + 1);
    assert_true(job_next_turn(&b.job, b.now).ms > bench_server(&b).ms);
    bench_done(&b);
}

/* ... and one that has just fallen due waits for one lease. */
static void test_clock_forward_onto_a_turn(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    jump(&b, 31000);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.armed.ms, b.now.ms + spec.timing.lease_ms);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, BENCH_BEGIN_MS + 30000);
    bench_grant(&b, 1);
    bench_done(&b);
}

/* There and back again: no turn is asked for twice, none is left out for longer than a period. */
static void test_clock_there_and_back(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    int asked = 0;

    (void)state;
    bench_begin(&b, &spec, true);
    jump(&b, 86400000);
    bench_pass(&b, 1000);
    jump(&b, -86400000);
    for (int i = 0; i < 5; i++) {
        bench_pass(&b, 60000);
        if (!fake_send(&b.fake, b.now))
            continue;
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
        asked++;
    }
    assert_in_range(asked, 4, 5);
    bench_done(&b);
}

static void test_clock_jump_while_running(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct boot d;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    d = b.job.lease.deadline;
    jump(&b, 7200000);
    jump(&b, -86400000);
    assert_int_equal(b.job.lease.deadline.ms, d.ms); /* leases are kept on the boot clock */
    assert_int_equal(b.job.state, JOB_RUNNING);
    bench_pass(&b, 1000);
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_true(b.job.armed.ms <= b.now.ms + 2 * BENCH_PERIOD_MS);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_by_a_clock_set_back),
        cmocka_unit_test(test_only_the_latest),
        cmocka_unit_test(test_first_now),
        cmocka_unit_test(test_first_sight_waits),
        cmocka_unit_test(test_too_late),
        cmocka_unit_test(test_errors_do_not_stretch_catch_up),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_late_success),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_timer_too_early),
        cmocka_unit_test(test_missed_by_an_outage),
        cmocka_unit_test(test_missed_by_error_replies),
        cmocka_unit_test(test_clock_back),
        cmocka_unit_test(test_clock_forward),
        cmocka_unit_test(test_clock_forward_onto_a_turn),
        cmocka_unit_test(test_clock_there_and_back),
        cmocka_unit_test(test_clock_jump_while_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
