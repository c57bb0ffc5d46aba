/* SPDX-License-Identifier: MIT
 * Turns that this device takes alone: lock = "none", and if_unreachable = "run". */
#include "support/alone.h"
#include <errno.h>
#include <string.h>

/* What is owed is refused, and the next question waits until it is recorded. */
static void hold_back(struct bench *b)
{
    alone_run(b);
    alone_end(b, 2);
    alone_send(b, STORE_FINISH, false);
    bench_error(b);
    while (b->job.state == JOB_WATCHING)
        bench_to_tick(b);
    assert_int_equal(b->job.state, JOB_ASKING);
    assert_int_equal(b->job.lease.state, LEASE_NONE);
}

static void test_held_back_question_is_asked_alone(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hold_back(&b);
    bench_pass(&b, PATIENCE_MS - 1);
    assert_int_equal(b.job.lease.state, LEASE_NONE);
    bench_pass(&b, 1);
    assert_int_equal(b.job.lease.state, LEASE_ASKING);
    assert_true(b.job.lease.call.local);
    bench_done(&b);
}

static void test_leaves_while_held_back(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hold_back(&b);
    job_leave(&b.job, b.now, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* What was sent may have been granted: not repeated any more, and waited for as long as it could
 * live. */
static void test_unanswered_question_is_waited_for(void **state)
{
    struct job_spec spec = alone_spec();
    struct boot sent;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_pass(&b, PATIENCE_MS - SECOND_MS);
    alone_send(&b, STORE_ACQUIRE, false);
    sent = b.now;
    bench_no_answer(&b);
    bench_pass(&b, 2 * SECOND_MS);
    bench_silent(&b);
    bench_pass(&b, boot_between(b.now, boot_add(sent, spec.timing.lease_ms)) - 1);
    assert_int_equal(b.job.lease.state, LEASE_UNKNOWN);
    bench_pass(&b, 1);
    alone_send(&b, STORE_ACQUIRE, true);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* Its tries are counted there. */
static void test_turn_of_the_shared_store_stays_its_own(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_return(&b, 2);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    bench_silent(&b);
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_pass(&b, PATIENCE_MS + SECOND_MS);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void set_clock(struct bench *b, int64_t by_ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED, .sent = b->now, .received = b->now };

    b->server_ahead_ms += by_ms;
    reply.server = bench_server(b);
    fleet_sample(&b->fake.fleet, &reply);
}

/* Of a turn that was done there. */
static void begin_with_a_shared_turn(struct bench *b, const struct job_spec *spec)
{
    bench_begin(b, spec, true);
    bench_run(b);
    bench_return(b, 0);
    alone_send(b, STORE_FINISH, false);
    bench_recorded(b, false);
}

/* Its turns lie ahead then. */
static void test_clock_set_back_leaves_nothing_to_the_shared_store(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    begin_with_a_shared_turn(&b, &spec);
    set_clock(&b, -HOUR_MS);
    alone_run(&b);
    alone_end(&b, 0);
    bench_done(&b);
}

/* It is repeated no more, and the turn that comes again is left to the shared store. */
static void test_clock_set_back_while_the_question_is_unanswered(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    begin_with_a_shared_turn(&b, &spec);
    bench_to_question(&b);
    bench_pass(&b, PATIENCE_MS - SECOND_MS);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_no_answer(&b);
    bench_pass(&b, 2 * SECOND_MS);
    bench_silent(&b);
    assert_true(b.job.lease.quiet);
    set_clock(&b, -BENCH_PERIOD_MS - 20 * SECOND_MS);
    bench_pass(&b, 10 * SECOND_MS);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_pass(&b, PATIENCE_MS);
    bench_silent(&b); /* it is asked again, and nothing is left of it */
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

/* Whether it was granted before this job was there nobody here knows; the next is none of those. */
static void test_turn_of_before_is_left_to_the_shared_store(void **state)
{
    struct job_spec spec = alone_spec();
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, false);
    turn = bench_turn(&b);
    bench_pass(&b, PATIENCE_MS + SECOND_MS);
    assert_int_equal(b.job.state, JOB_ASKING);
    alone_send(&b, STORE_ACQUIRE, false);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    alone_run(&b);
    assert_int_equal(b.job.turn.ms, turn.ms + BENCH_PERIOD_MS);
    alone_end(&b, 0);
    bench_done(&b);
}

static void test_newer_turn_need_not_wait_for_it(void **state)
{
    struct job_spec spec = alone_spec();
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    turn = b.job.turn;
    bench_return(&b, 2);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    bench_to_tick(&b);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_pass(&b, wall_between(bench_server(&b), wall_add(turn, BENCH_PERIOD_MS)) + PATIENCE_MS);
    alone_send(&b, STORE_ACQUIRE, true);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + BENCH_PERIOD_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_skips_without_the_key(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    spec.run_unreachable = false;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    bench_pass(&b, PATIENCE_MS + SECOND_MS);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_leaves_while_it_waits(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_no_answer(&b);
    bench_pass(&b, PATIENCE_MS);
    bench_silent(&b);
    job_leave(&b.job, b.now, false);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_pass(&b, spec.timing.lease_ms);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* As long as fleet time was never known. */
static void test_goes_by_its_own_clock(void **state)
{
    struct job_spec spec = alone_spec();
    struct fake fake;
    struct job job;
    struct job_alone alone;
    struct boot now = { 5000 };
    struct wall own = { BENCH_BEGIN_MS };

    (void)state;
    fake_init(&fake, "alpha", 1, (struct unit_random){ 1 });
    job_init(&job, &fake.fleet, &spec);
    job_alone_init(&alone, &job);
    job_begin(&job, now);
    assert_int_equal(job.state, JOB_NO_CLOCK);
    fleet_own_time(&fake.fleet, now, own);
    assert_int_equal(job.state, JOB_WAITING);
    assert_int_equal(job_next_turn(&job, now).ms, BENCH_BEGIN_MS + BENCH_PERIOD_MS / 2);

    /* The fleet is two hours ahead: what that makes due does not run at once. */
    assert_true(fake_send(&fake, now));
    fake_reply(&fake, (struct store_reply){ .server = wall_add(own, 2 * HOUR_MS) }, now);
    assert_ptr_equal(job_time(&job), &fake.fleet.clock);
    assert_int_equal(job.settled.ms,
                     schedule_latest(&spec.schedule, wall_add(own, 2 * HOUR_MS)).ms);
    fleet_own_time(&fake.fleet, now, own); /* has no say any more */
    assert_int_equal(fleet_clock_at(job_time(&job), now).ms, own.ms + 2 * HOUR_MS);
    fake_done(&fake);
}

/* Every call is this device's own, and its time is no news of the fleet's. */
static void test_lock_none(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct fleet_clock before;
    struct bench b;

    (void)state;
    spec.lock = LOCK_NONE;
    bench_begin(&b, &spec, true);
    before = b.fake.fleet.clock;
    b.server_ahead_ms += 1; /* what a local answer says is not looked at */
    bench_to_question(&b);
    alone_send(&b, STORE_ACQUIRE, true);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.reports[REPORT_ALONE], 0);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 0);
    alone_send(&b, STORE_FINISH, true);
    bench_recorded(&b, false);
    bench_silent(&b);
    assert_int_equal(b.fake.fleet.clock.taken.ms, before.taken.ms);
    bench_done(&b);
}

static enum job_obstacle run_by_hand(struct bench *b, int64_t patience_ms)
{
    const struct job_order order = { .way = LEASE_BY_HAND, .until = boot_add(b->now, patience_ms) };

    return job_run_by_hand(&b->job, b->now, &order);
}

/* Not before the shared store knows how the last run ended; nor, however long the answer is waited
 * for, without that. */
static void test_by_hand_nothing_runs_alone(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    alone_run(&b);
    alone_end(&b, 0);
    assert_int_equal(run_by_hand(&b, PATIENCE_MS), JOB_IS_TOLD);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    assert_int_equal(run_by_hand(&b, 2 * PATIENCE_MS), JOB_NO_OBSTACLE);
    bench_pass(&b, PATIENCE_MS + 1);
    assert_int_equal(b.job.state, JOB_ASKING);
    assert_false(b.fake.queued[0]->local);
    bench_pass(&b, PATIENCE_MS);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

/* A run by hand that the shared store may have granted holds its turns up no longer than that. */
static void test_turns_go_on_alone_after_one_by_hand(void **state)
{
    struct job_spec spec = alone_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    assert_int_equal(run_by_hand(&b, PATIENCE_MS), JOB_NO_OBSTACLE);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_no_answer(&b);
    bench_pass(&b, spec.timing.lease_ms);
    assert_int_equal(b.job.state, JOB_WAITING);
    alone_run(&b);
    alone_end(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    bench_done(&b);
}

/* Without its lock it is nothing to the shared store: what is due is taken alone after it. */
static void test_a_run_without_the_lock_leaves_the_turn(void **state)
{
    struct job_spec spec = alone_spec();
    struct job_order order = { .way = LEASE_WITHOUT_LOCK };
    struct bench b;
    struct wall shared;

    (void)state;
    bench_begin(&b, &spec, true);
    shared = b.alone.shared;
    order.until = b.now;
    assert_int_equal(job_run_by_hand(&b.job, b.now, &order), JOB_NO_OBSTACLE);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 0);
    assert_int_equal(b.alone.shared.ms, shared.ms);
    alone_run(&b);
    alone_end(&b, 0);
    alone_send(&b, STORE_FINISH, false);
    bench_recorded(&b, false);
    bench_done(&b);
}

/* Nor does it wait for what is owed, which is told all the same; the turn's next try waits for
 * that. */
static void test_a_run_without_the_lock_beside_what_is_owed(void **state)
{
    struct job_spec spec = alone_spec();
    struct job_order order = { .way = LEASE_WITHOUT_LOCK };
    char token[TOKEN_SIZE];
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hold_back(&b);
    strcpy(token, b.fake.token);
    order.until = b.now;
    assert_int_equal(job_run_by_hand(&b.job, b.now, &order), JOB_NO_OBSTACLE);
    assert_int_equal(b.job.state, JOB_STARTING);
    job_started(&b.job, b.now, b.now);
    alone_send(&b, STORE_FINISH, false);
    assert_string_equal(b.fake.request.token, token);
    assert_int_equal(b.fake.request.outcome, OUTCOME_FAILED);
    bench_error(&b);
    bench_return(&b, 0);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_string_equal(b.alone.owed.token, token);
    bench_to_question(&b);
    alone_send(&b, STORE_FINISH, false);
    assert_string_equal(b.fake.request.token, token);
    assert_int_equal(b.fake.request.outcome, OUTCOME_FAILED);
    bench_recorded(&b, false);
    assert_null(b.alone.owed.token);
    alone_send(&b, STORE_ACQUIRE, false);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_silent(&b);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_back_question_is_asked_alone),
        cmocka_unit_test(test_leaves_while_held_back),
        cmocka_unit_test(test_unanswered_question_is_waited_for),
        cmocka_unit_test(test_turn_of_the_shared_store_stays_its_own),
        cmocka_unit_test(test_clock_set_back_leaves_nothing_to_the_shared_store),
        cmocka_unit_test(test_clock_set_back_while_the_question_is_unanswered),
        cmocka_unit_test(test_turn_of_before_is_left_to_the_shared_store),
        cmocka_unit_test(test_newer_turn_need_not_wait_for_it),
        cmocka_unit_test(test_skips_without_the_key),
        cmocka_unit_test(test_leaves_while_it_waits),
        cmocka_unit_test(test_goes_by_its_own_clock),
        cmocka_unit_test(test_lock_none),
        cmocka_unit_test(test_by_hand_nothing_runs_alone),
        cmocka_unit_test(test_turns_go_on_alone_after_one_by_hand),
        cmocka_unit_test(test_a_run_without_the_lock_leaves_the_turn),
        cmocka_unit_test(test_a_run_without_the_lock_beside_what_is_owed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
