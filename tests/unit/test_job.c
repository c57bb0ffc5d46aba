/* SPDX-License-Identifier: MIT
 * The job: every cell of its table, how a run's end is called, and what the answers to a question
 * lead to. */
#include "support/bench.h"

#include "core/job_internal.h"
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
    if (s == JOB_STARTING || s == JOB_RUNNING || s == JOB_STOPPING || e == JOB_EVENT_GRANT ||
        e == JOB_EVENT_SPARE)
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
                fail_msg("%s in %s leads to %s", job_event_name(e), job_state_name(s),
                         job_state_name(b.job.state));
            if (!is_legal) {
                assert_int_equal(b.fake.reports[REPORT_ILLEGAL], 1);
                before.counters.illegal = 1;
                assert_memory_equal(&b.job, &before, sizeof before);
                assert_int_equal(b.fake.queued_count, 0);
            }
            legal += is_legal;
            fake_done(&b.fake);
        }
    assert_int_equal(legal, 38);
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
    { { .exit = RUN_RETURNED, .result = 5 }, OUTCOME_LOST },
    { { .exit = RUN_RETURNED, .result = 6 }, OUTCOME_FAILED },
    { { .exit = RUN_RETURNED, .result = -5 }, OUTCOME_FAILED },
    { { .exit = RUN_BROKE }, OUTCOME_CRASHED },
    { { .exit = RUN_UNLOADABLE }, OUTCOME_UNSTARTED },
    { { .exit = RUN_UNSTARTED }, OUTCOME_UNSTARTED },
    { { .exit = RUN_UNSTARTED, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_UNSTARTED },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_OVERRUN }, OUTCOME_OVERRUN },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_LOST },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_TAKEN }, OUTCOME_LOST },
    { { .exit = RUN_BROKE, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_SERVICE },
      OUTCOME_DECLINED },
    /* the answer to a stop is not the run's own */
    { { .exit = RUN_RETURNED, .result = 4, .stop = RUN_STOPPED_DEADLINE }, OUTCOME_LOST },
    { { .exit = RUN_RETURNED,
        .result = 2,
        .stop = RUN_STOPPED_ORDERED,
        .reason = STOP_FOR_SERVICE },
      OUTCOME_DECLINED },
    /* not even where it says that all is done: a sleep cut short looks the same */
    { { .exit = RUN_RETURNED, .result = 0, .stop = RUN_STOPPED_OVERRUN }, OUTCOME_OVERRUN },
    { { .exit = RUN_RETURNED, .result = 1, .stop = RUN_STOPPED_ORDERED, .reason = STOP_FOR_TAKEN },
      OUTCOME_LOST },
};

static void test_outcomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (job_outcome(&ends[i].end) != ends[i].outcome)
            fail_msg("row %zu: %s, not %s", i, outcome_name(job_outcome(&ends[i].end)),
                     outcome_name(ends[i].outcome));
}

/* --- held, watching, taking over --- */

static void test_watcher_takes_over(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
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
    /* Those that watch its try are others: where that fails, this device is none of them. */
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_true(b.fake.request.first_ask);
    bench_held(&b, 5000, BRAVO, 1);
    bench_done(&b);
}

/* The holder's name is not worth a takeover that fails. */
static void test_takeover_without_memory(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    b.fake.no_memory = true;
    bench_held(&b, 8000, BRAVO, 1);
    assert_string_equal(b.fake.report_device, "bravo");
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.starts, 1);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 0);
    bench_done(&b);
}

/* The holder told of its end, or the try before was this device's own: nobody went silent. */
static void test_no_takeover_of_an_end_that_was_told(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 8000, BRAVO, 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_WAIT, 1000, "failed");
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 0);
    bench_done(&b);
}

static void test_one_takeover_a_turn(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 8000, BRAVO, 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 1);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 3);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 1);
    bench_done(&b);
}

/* A first try after a holder that gave its turn back takes nothing over. */
static void test_no_takeover_of_a_first_try(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
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
    bench_ask(&b);
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
    bench_ask(&b);
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
    bench_ask(&b);
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
    bench_ask(&b);
    bench_refuse(&b, answer, 0, why);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.counters.passed_done, counts_done);
    assert_int_equal(b.job.counters.passed_paused, answer == ACQUIRE_PAUSED);
    assert_int_equal(b.job.lease.answer, answer);
    assert_null(b.job.holder);
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

/* For people; and no turn after it is taken over from that device. */
static void test_who_did_it(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct store_reply reply = { .acquire = {
                                     .answer = ACQUIRE_DONE, .holder = BRAVO, .why = "" } };
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    reply.server = bench_server(&b);
    reply.acquire.turn = b.fake.request.turn;
    fake_reply(&b.fake, reply, b.now);
    assert_string_equal(b.job.holder, "bravo");
    assert_int_equal(b.job.lease.answer, ACQUIRE_DONE);
    assert_int_equal(b.job.settled.ms, b.job.turn.ms);
    bench_ask(&b);
    assert_null(b.job.holder);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 0);
    assert_int_equal(b.job.lease.answer, ACQUIRE_GRANTED);
    bench_done(&b);
}

/* `over` is answered once with a new token; a server that answers nothing else is not asked for
 * ever. */
static void test_over(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    char token[TOKEN_SIZE];

    (void)state;
    bench_begin(&b, &spec, true);
    for (int turn = 0; turn < 2; turn++) {
        bench_ask(&b);
        memcpy(token, b.fake.token, sizeof token);
        bench_refuse(&b, ACQUIRE_OVER, 0, "released");
        assert_int_equal(b.job.state, JOB_WATCHING);
        bench_to_tick(&b);
        bench_send(&b, STORE_ACQUIRE);
        assert_string_not_equal(b.fake.token, token);
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
    }
    bench_ask(&b);
    bench_refuse(&b, ACQUIRE_OVER, 0, "released");
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_OVER, 0, "released");
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_watcher_takes_over),
        cmocka_unit_test(test_takeover_without_memory),
        cmocka_unit_test(test_no_takeover_of_an_end_that_was_told),
        cmocka_unit_test(test_one_takeover_a_turn),
        cmocka_unit_test(test_no_takeover_of_a_first_try),
        cmocka_unit_test(test_third_does_not_watch_a_short_lease),
        cmocka_unit_test(test_third_watches_a_long_lease_seldom),
        cmocka_unit_test(test_foreign_holder),
        cmocka_unit_test(test_watching_ends_with_the_turn),
        cmocka_unit_test(test_settling_answers),
        cmocka_unit_test(test_who_did_it),
        cmocka_unit_test(test_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
