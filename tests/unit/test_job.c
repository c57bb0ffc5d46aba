/* SPDX-License-Identifier: MIT
 * The job: every cell of its table, turns and time, slots, leaving. */
#include "support/bench.h"

#include "core/job_internal.h"
#include <errno.h>
#include <string.h>

#define BRAVO "bravo:0123456789abcdef0123456789abcdef"

/* --- every cell --- */

/* Sets the job into `s` with a lease as it would be there before `e`. */
static void put_into(struct bench *b, enum job_state s, enum job_event e)
{
    b->job.state = s;
    b->job.turn = bench_turn(b);
    b->job.at = boot_add(b->now, 100);
    b->job.tree_left = s == JOB_STUCK;
    if (s == JOB_STARTING || s == JOB_RUNNING || s == JOB_STOPPING || e == JOB_EVENT_GRANT || e == JOB_EVENT_SPARE)
        b->job.lease.state = LEASE_HELD;
    if (s == JOB_OFF && e == JOB_EVENT_BEGIN)
        b->fake.fleet.clock.known = false;
}

static void test_every_cell(void **state)
{
    struct job_spec spec = bench_short_spec();
    unsigned legal = 0;

    (void)state;
    for (enum job_state s = 0; s < JOB_STATE_COUNT; s++)
        for (enum job_event e = 0; e < JOB_EVENT_COUNT; e++) {
            struct bench b;
            enum job_state next = s;
            bool is_legal = job_cell(s, e, &next);
            struct job before;

            bench_begin(&b, &spec, true);
            put_into(&b, s, e);
            before = b.job;
            job_happen(&b.job, e, b.now);
            if (b.job.state != next || b.job.counters.illegal != !is_legal)
                fail_msg("%s in %s leads to %s", job_event_name(e), job_state_name(s), job_state_name(b.job.state));
            if (!is_legal) {
                assert_int_equal(b.fake.reports[REPORT_ILLEGAL], 1);
                before.counters.illegal = 1;
                assert_memory_equal(&b.job, &before, sizeof before);
                assert_int_equal(b.fake.queued_count, 0);
            }
            legal += is_legal;
            fake_done(&b.fake);
        }
    assert_int_equal(legal, 36);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(job_state_name(JOB_NO_SLOT), "NO_SLOT");
    assert_string_equal(job_event_name(JOB_EVENT_JAM), "JAM");
    assert_string_equal(job_state_text(JOB_RUNNING), "its worker runs");
}

/* --- how a run's end is called (DESIGN section 5) --- */

static const struct {
    struct run_end end;
    enum outcome outcome;
} ends[] = {
    { { .exit = RUN_RETURNED, .result = 0 }, OUTCOME_SUCCEEDED },
    { { .exit = RUN_RETURNED, .result = 1 }, OUTCOME_NOTHING },
    { { .exit = RUN_RETURNED, .result = 2 }, OUTCOME_FAILED },
    { { .exit = RUN_RETURNED, .result = 3 }, OUTCOME_REFUSED },
    { { .exit = RUN_RETURNED, .result = 4 }, OUTCOME_DECLINED },
    { { .exit = RUN_RETURNED, .result = 5 }, OUTCOME_FAILED },
    { { .exit = RUN_RETURNED, .result = -5 }, OUTCOME_FAILED },
    { { .exit = RUN_BROKE }, OUTCOME_CRASHED },
    { { .exit = RUN_UNLOADABLE }, OUTCOME_DECLINED },
    { { .exit = RUN_UNSTARTED }, OUTCOME_UNSTARTED },
    { { .exit = RUN_UNSTARTED, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_UNSTARTED },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_OVERRUN }, OUTCOME_OVERRUN },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_LOST },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_TAKEN }, OUTCOME_LOST },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_SERVICE }, OUTCOME_DECLINED },
    /* the answer to a stop is not the run's own */
    { { .exit = RUN_RETURNED, .result = 4, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_LOST },
    { { .exit = RUN_RETURNED, .result = 2, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_SERVICE },
      OUTCOME_DECLINED },
    /* but done is done */
    { { .exit = RUN_RETURNED, .result = 0, .stop = RUN_STOPPED_OVERRUN }, OUTCOME_SUCCEEDED },
    { { .exit = RUN_RETURNED, .result = 1, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_TAKEN },
      OUTCOME_NOTHING },
};

static void test_outcomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (job_outcome(&ends[i].end) != ends[i].outcome)
            fail_msg("row %zu: %s, not %s", i, outcome_name(job_outcome(&ends[i].end)),
                     outcome_name(ends[i].outcome));
}

/* --- turns and time (DESIGN section 6) --- */

/* A day's turns were missed: one question, for the latest. */
static void test_only_the_latest(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, false);
    assert_int_equal(b.job.armed.ms, b.now.ms);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_true(b.fake.request.fresh_ms > INT64_C(366) * 86400000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* Rule 7: a young turn without any record waits for one lease, then is asked for again by the same token. */
static void test_first_sight_waits(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    spec.catch_up_ms = 27999; /* with splay and slack a millisecond short of the 30 s that have passed */
    bench_begin(&b, &spec, false);
    bench_to_question(&b);
    bench_silent(&b);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 1);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    bench_done(&b);

    spec.catch_up_ms = 28000;
    bench_begin(&b, &spec, false);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_EARLY, 7, NULL);
    assert_int_equal(b.job.armed.ms, b.now.ms + 8);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
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
    }
    assert_int_equal(b.job.counters.passed_error, 2);
    assert_int_equal(b.fake.fleet.missed, 2);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    assert_int_equal(b.job.counters.passed_error, 2);
    bench_done(&b);
}

/* --- the fleet's clock --- */

static void jump(struct bench *b, int64_t ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED, .sent = b->now, .received = b->now };

    b->server_ahead_ms += ms;
    reply.server = bench_server(b);
    fleet_sample(&b->fake.fleet, &reply);
}

static void test_clock_back(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    jump(&b, -86400000); /* a day: nothing runs by surprise, and nothing is silent for a day */
    assert_int_equal(b.fake.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(b.job.armed.ms, b.now.ms + 30001);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "clock");
    assert_int_equal(b.fake.reports[REPORT_VOID], 1);
    bench_done(&b);
}

/* Promise 7: a clock that jumped makes no job run at once; a turn that it left long behind has passed. */
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
    assert_int_equal(b.job.armed.ms, fleet_clock_when(&b.fake.fleet.clock, job_next_turn(&b.job, b.now)).ms + 1);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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

/* --- held, watching, taking over --- */

static void test_watcher_takes_over(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    memcpy(token, b.fake.token, sizeof token);
    bench_held(&b, 8000, BRAVO, 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_string_equal(b.fake.report_device, "bravo");
    assert_int_equal(b.job.counters.passed_held, 1);
    assert_int_equal(b.job.armed.ms, b.now.ms + 8001);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_string_equal(b.fake.token, token); /* the same place among the watchers */
    assert_false(b.fake.request.first_ask);
    bench_held(&b, 5000, BRAVO, 0);
    assert_int_equal(b.job.counters.passed_held, 1); /* one turn, counted once */
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_pass(&b, 9);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 1);
    assert_string_equal(b.fake.report_device, "bravo");
    assert_int_equal(b.fake.silent_ms, spec.timing.lease_ms + 10);
    bench_done(&b);
}

/* A first try after a holder that gave its turn back takes nothing over. */
static void test_no_takeover_of_a_first_try(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_held(&b, 8000, BRAVO, 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 0);
    bench_done(&b);
}

static void test_third_does_not_watch_a_short_lease(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_held(&b, 8000, BRAVO, 3);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.counters.passed_held, 1);
    bench_done(&b);
}

static void test_third_watches_a_long_lease_seldom(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    spec.schedule.every_ms = spec.catch_up_ms = 86400000;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    for (int64_t leases = 2; leases <= 8; leases *= 2) {
        bench_send(&b, STORE_ACQUIRE);
        bench_held(&b, 8000, BRAVO, leases == 2 ? 3 : 0);
        assert_int_equal(b.job.armed.ms, b.now.ms + leases * 60000);
        bench_to_tick(&b);
    }
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* Rule 13: a holder without expiry. */
static void test_foreign_holder(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_held(&b, -1, "someone else", 1);
    assert_string_equal(b.fake.report_device, "");
    assert_int_equal(b.job.armed.ms, b.now.ms + spec.timing.lease_ms);
    bench_done(&b);
}

/* A watcher is not one past the next turn. */
static void test_watching_ends_with_the_turn(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    turn = b.job.turn;
    bench_send(&b, STORE_ACQUIRE);
    bench_held(&b, 600000, BRAVO, 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 60000);
    assert_true(b.fake.request.first_ask);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void settled_by(enum acquire_answer answer, const char *why, bool counts_done)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, answer, 0, why);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.counters.passed_done, counts_done);
    assert_int_equal(b.fake.starts, 0);
    assert_int_equal(b.job.armed.ms, b.now.ms + 60000);
    bench_done(&b);
}

static void test_settling_answers(void **state)
{
    (void)state;
    settled_by(ACQUIRE_DONE, "", true);
    settled_by(ACQUIRE_DONE, "clock", true);
    settled_by(ACQUIRE_PASSED, NULL, true);
    settled_by(ACQUIRE_EXHAUSTED, NULL, true);
    settled_by(ACQUIRE_PAUSED, "by ops", false);
}

/* `over` is answered once with a new token; a server that answers nothing else is not asked for ever. */
static void test_over(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    for (int turn = 0; turn < 2; turn++) {
        bench_to_question(&b);
        bench_send(&b, STORE_ACQUIRE);
        memcpy(token, b.fake.token, sizeof token);
        bench_refuse(&b, ACQUIRE_OVER, 0, "released");
        bench_to_tick(&b);
        bench_send(&b, STORE_ACQUIRE);
        assert_string_not_equal(b.fake.token, token);
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
    }
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_OVER, 0, "released");
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_OVER, 0, "released");
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

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
    struct wall turn;

    (void)state;
    end_with(&b, &spec, 2);
    turn = b.job.turn;
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 7001);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_true(b.fake.request.first_ask); /* a new token */
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
    bench_done(&b);

    end_with(&b, &spec, 3);
    assert_int_equal(b.fake.request.outcome, OUTCOME_REFUSED);
    bench_recorded(&b, true);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 60000);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
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
    sent = b.job.lease.sent_first;
    bench_pass(&b, 1000);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, true);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_CRASHED);
    assert_string_equal(b.fake.detail, "as told");
    bench_recorded(&b, false);
    assert_int_equal(b.job.armed.ms, sent.ms + spec.timing.lease_ms + 1);
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
    bench_pass(&b, 59000); /* the question goes out just before the next turn */
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_pass(&b, 2000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 0);
    assert_int_equal(b.fake.reports[REPORT_SPARE], 1);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_recorded(&b, false);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + 60000);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

static void test_no_guard(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.start_result = -EAGAIN;
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.reports[REPORT_STILLBORN], 1);
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

/* --- leaving, in every state --- */

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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    job_leave(&b.job, b.now, true);
    bench_error(&b);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
    /* unknown, and dead before it can be asked again */
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_no_answer(&b);
    job_leave(&b.job, b.now, true);
    bench_pass(&b, spec.timing.lease_ms);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

static void test_leave_while_watching(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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
    bench_to_question(&b);
    bench_send(&b, STORE_ACQUIRE);
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

/* A drain: the run goes on to its end, and the job then takes no more turns; a stop may still follow. */
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
        cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_only_the_latest),
        cmocka_unit_test(test_first_now),
        cmocka_unit_test(test_first_sight_waits),
        cmocka_unit_test(test_too_late),
        cmocka_unit_test(test_errors_do_not_stretch_catch_up),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_late_success),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_missed_by_an_outage),
        cmocka_unit_test(test_missed_by_error_replies),
        cmocka_unit_test(test_clock_back),
        cmocka_unit_test(test_clock_forward),
        cmocka_unit_test(test_clock_forward_onto_a_turn),
        cmocka_unit_test(test_clock_there_and_back),
        cmocka_unit_test(test_clock_jump_while_running),
        cmocka_unit_test(test_watcher_takes_over),
        cmocka_unit_test(test_no_takeover_of_a_first_try),
        cmocka_unit_test(test_third_does_not_watch_a_short_lease),
        cmocka_unit_test(test_third_watches_a_long_lease_seldom),
        cmocka_unit_test(test_foreign_holder),
        cmocka_unit_test(test_watching_ends_with_the_turn),
        cmocka_unit_test(test_settling_answers),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_success_is_not_asked_again),
        cmocka_unit_test(test_failed_is_tried_again),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_declined),
        cmocka_unit_test(test_crashed_waits_for_the_lock),
        cmocka_unit_test(test_spare_grant),
        cmocka_unit_test(test_no_guard),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_emptied_in_time),
        cmocka_unit_test(test_stuck_after_declined),
        cmocka_unit_test(test_leave_at_rest),
        cmocka_unit_test(test_leave_no_clock_and_no_slot),
        cmocka_unit_test(test_leave_while_asking),
        cmocka_unit_test(test_leave_then_refused),
        cmocka_unit_test(test_leave_while_watching),
        cmocka_unit_test(test_leave_a_run),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_leave_while_stuck),
        cmocka_unit_test(test_respecify),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
