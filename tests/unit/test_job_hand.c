/* SPDX-License-Identifier: MIT
 * Runs by hand, of a turn of their own, of the open one, or without the lock. */
#include "support/hand.h"

#include "base/text.h"
#include "core/fleet_need.h"

/* To an instant after which a turn that is due is asked for by the next tick. */
static void pass_up_to(struct bench *b, int64_t ms)
{
    bench_pass(b, ms - 1);
    b->now = boot_add(b->now, 1);
    job_tick(&b->job, b->now);
}

static void test_a_turn_of_its_own(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall granted;

    (void)state;
    bench_begin(&b, &spec, true);
    hand_start(&b, LEASE_BY_HAND);
    granted = bench_server(&b);
    assert_int_equal(b.fake.request.turn.ms, 0);
    assert_int_equal(b.fake.request.next.ms, 0);
    assert_true(job_is_by_hand(&b.job));
    assert_int_equal(job_attempts(&b.job), 1);
    assert_int_equal(b.job.turn.ms, granted.ms);
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.turn.ms, granted.ms);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, granted.ms);
    /* The schedule goes on. */
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    assert_int_equal(b.fake.request.next.ms, bench_turn(&b).ms + BENCH_PERIOD_MS);
    assert_false(job_is_by_hand(&b.job));
    bench_done(&b);
}

/* One attempt: whatever the store says of the turn. */
static void test_a_failure_is_not_tried_again(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hand_start(&b, LEASE_BY_HAND);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_FAILED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_silent(&b);
    hand_start(&b, LEASE_BY_HAND);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, true);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.reports[REPORT_GIVEN_UP], 0); /* no turn of the schedule was */
    bench_silent(&b);
    bench_done(&b);
}

static void test_a_refusal_concerns_no_turn(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall settled, turn;

    (void)state;
    bench_begin(&b, &spec, true);
    settled = b.job.settled;
    turn = b.job.turn;
    hand_begin(&b, LEASE_BY_HAND);
    bench_held(&b, 20000, BRAVO, 1);
    assert_int_equal(b.fake.by_hand, ACQUIRE_HELD);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, settled.ms);
    assert_int_equal(b.job.turn.ms, turn.ms);
    assert_int_equal(b.job.counters.passed_held, 0);
    assert_int_equal(hand_order(&b, LEASE_BY_FORCE), JOB_NO_OBSTACLE);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.next.ms, STORE_NEXT_FORCED);
    bench_refuse(&b, ACQUIRE_PAUSED, 5, "kim: NAS full");
    assert_int_equal(b.fake.by_hand, ACQUIRE_PAUSED);
    assert_int_equal(b.job.bar, JOB_NOT_BARRED);
    bench_done(&b);
}

/* By what this device knows of the fleet's clock, which may be some ms ahead, a turn is newer than
 * the run. */
static void test_a_turn_that_falls_due_meanwhile(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall due;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_pass(&b, BENCH_PERIOD_MS / 2);
    due = bench_turn(&b);
    hand_begin(&b, LEASE_BY_HAND);
    bench_pass(&b, 10);
    fake_reply(
        &b.fake,
        (struct store_reply){
            .server = wall_add(due, 5),
            .acquire = { .answer = ACQUIRE_GRANTED, .attempt = 1, .turn = wall_add(due, -3) } },
        b.now);
    assert_int_equal(b.job.state, JOB_STARTING);
    bench_done(&b);
}

/* A watcher's turn is asked for again when the run by hand was refused; and it takes no second
 * place among those that watch. */
static void test_a_watched_turn_is_watched_on(void **state)
{
    const enum lease_way ways[] = { LEASE_BY_HAND, LEASE_BY_FORCE, LEASE_BY_SCHEDULE };
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct wall turn;
        struct bench b;

        bench_begin(&b, &spec, true);
        bench_ask(&b);
        turn = b.fake.request.turn;
        bench_held(&b, 15000, BRAVO, 2);
        assert_int_equal(b.job.state, JOB_WATCHING);
        b.job.queued = true; /* in device scope it may have a place there */
        hand_begin(&b, ways[i]);
        assert_false(b.fake.request.first_ask);
        bench_held(&b, 15000, BRAVO, 0);
        if (ways[i] != LEASE_BY_SCHEDULE) {
            assert_int_equal(b.job.state, JOB_WAITING);
            bench_ask(&b);
            assert_false(b.fake.request.first_ask);
            bench_held(&b, 15000, BRAVO, 0);
        }
        assert_int_equal(b.fake.request.turn.ms, turn.ms);
        assert_int_equal(b.job.state, JOB_WATCHING);
        assert_int_equal(b.job.watch, 2);
        assert_false(b.job.queued);
        bench_done(&b);
    }
}

/* The same where nobody has answered: it was not even sent, or got an error. */
static void test_a_watched_turn_is_watched_on_without_an_answer(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 30000, BRAVO, 1);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_NO_OBSTACLE);
    pass_up_to(&b, PATIENCE_MS);
    assert_int_equal(b.fake.by_hand, -1);
    hand_begin(&b, LEASE_BY_HAND);
    bench_error(&b);
    bench_ask(&b);
    assert_false(b.fake.request.first_ask);
    bench_held(&b, 15000, BRAVO, 0);
    assert_int_equal(b.job.state, JOB_WATCHING);
    bench_done(&b);
}

/* Nothing was sent, and nobody waits any more. */
static void test_no_connection(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_NO_OBSTACLE);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_HAND_BUSY);
    bench_pass(&b, PATIENCE_MS - 1);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_pass(&b, 1);
    assert_int_equal(b.fake.by_hand, -1);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_silent(&b);
    assert_null(b.fake.fleet.hand.job);
    bench_done(&b);
}

/* It was sent: what it may have been granted is given back, and nothing starts that nobody expects
 * any more. */
static void test_no_answer(void **state)
{
    struct job_spec spec = bench_short_spec();
    char token[TOKEN_SIZE];
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hand_begin(&b, LEASE_BY_HAND);
    bench_no_answer(&b);
    bench_pass(&b, PATIENCE_MS);
    assert_int_equal(b.fake.by_hand, -1);
    assert_int_equal(b.job.state, JOB_ASKING);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 0);
    assert_int_equal(b.fake.reports[REPORT_BY_HAND], 1);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WAITING);

    /* Or its time to live runs out, also where there is no connection any more. */
    hand_begin(&b, LEASE_BY_HAND);
    bench_no_answer(&b);
    bench_pass(&b, spec.timing.lease_ms - 2);
    assert_int_equal(b.job.state, JOB_ASKING);
    pass_up_to(&b, 2);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_null(b.fake.fleet.hand.job);

    /* The next one is another question: the store must not take it for that one. */
    assert_true(text_copy(token, sizeof token, b.fake.request.token));
    hand_begin(&b, LEASE_BY_HAND);
    assert_string_not_equal(b.fake.request.token, token);
    bench_no_answer(&b);
    pass_up_to(&b, PATIENCE_MS);
    b.now = boot_add(b.now, spec.timing.lease_ms);
    bench_silent(&b); /* a connection comes first: it is not asked again */
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

/* A server that hangs takes each repeat: it may be granted, so the job waits for one more. */
static void test_no_answer_to_repeats(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot begun;

    (void)state;
    bench_begin(&b, &spec, true);
    begun = b.now;
    hand_begin(&b, LEASE_BY_HAND);
    for (bench_pass(&b, 3000); !b.job.lease.quiet; bench_pass(&b, 3000)) {
        assert_true(b.now.ms < begun.ms + PATIENCE_MS + spec.timing.lease_ms);
        bench_no_answer(&b);
        bench_send(&b, STORE_ACQUIRE);
    }
    bench_no_answer(&b);
    bench_silent(&b); /* it is not repeated any more */
    assert_int_equal(b.job.state, JOB_ASKING);
    pass_up_to(&b, boot_between(b.now, lease_unknown_until(&b.job.lease)));
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.reports[REPORT_BY_HAND], 1);
    bench_done(&b);
}

static void test_an_error_reply(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    hand_begin(&b, LEASE_BY_HAND);
    bench_error(&b);
    assert_int_equal(b.fake.by_hand, -1);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_done(&b);
}

static void test_obstacles(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    b.fake.paused = true;
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_HAS_PAUSE);
    b.fake.paused = false;
    b.fake.fleet.slots = 0;
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_HAS_NO_SLOT);
    b.fake.fleet.slots = 1;
    b.job.apart = true;
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_IS_APART);
    b.job.apart = false;
    b.spec.require_fence = true;
    assert_int_equal(hand_order(&b, LEASE_WITHOUT_LOCK), JOB_NEEDS_FENCE);
    bench_ask(&b);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_IS_ASKED);
    bench_grant(&b, 1);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_RUNS);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 0);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_IS_TOLD);
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    job_leave(&b.job, b.now, true);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_LEAVES);
    b.fake.fleet.clock.known = false;
    job_begin(&b.job, b.now);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_WAITS_FOR_TIME);
    assert_int_equal(b.fake.reports[REPORT_BY_HAND], 0);
    assert_true(fake_send(&b.fake, b.now));
    fake_reply(&b.fake,
               (struct store_reply){ .status = STORE_ANSWERED, .server = bench_server(&b) }, b.now);
    bench_done(&b);
}

/* A question for a turn that is not out yet gives way. */
static void test_before_a_question_that_waits(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    hand_begin(&b, LEASE_BY_HAND);
    assert_int_equal(b.fake.request.turn.ms, 0);
    bench_grant(&b, 1);
    assert_int_equal(b.job.state, JOB_STARTING);
    bench_done(&b);
}

static void test_leaving_meanwhile(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    assert_int_equal(hand_order(&b, LEASE_BY_HAND), JOB_NO_OBSTACLE);
    job_leave(&b.job, b.now, true);
    assert_int_equal(b.job.state, JOB_OFF);
    assert_int_equal(b.fake.by_hand, -1);
    job_begin(&b.job, b.now);
    hand_begin(&b, LEASE_BY_HAND);
    job_leave(&b.job, b.now, true);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.by_hand, -1);
    bench_send(&b, STORE_FINISH);
    assert_int_equal(b.fake.request.outcome, OUTCOME_UNSTARTED);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_OFF);
    bench_done(&b);
}

/* Neither asked nor told; the turns of the schedule are as they were. */
static void test_without_the_lock(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;
    struct wall settled;

    (void)state;
    bench_begin(&b, &spec, true);
    settled = b.job.settled;
    assert_int_equal(hand_order(&b, LEASE_WITHOUT_LOCK), JOB_NO_OBSTACLE);
    assert_int_equal(b.fake.by_hand, ACQUIRE_GRANTED);
    assert_int_equal(b.job.state, JOB_STARTING);
    assert_int_equal(b.job.lease.fence, 0);
    assert_int_equal(b.job.turn.ms, bench_server(&b).ms);
    assert_int_equal(boot_between(b.now, b.job.lease.deadline),
                     spec.timing.budget_ms - spec.timing.margin_ms);
    assert_int_equal(b.job.lease.wake.ms, BOOT_NEVER.ms);
    assert_true(fleet_need(&b.fake.fleet).next.ms > b.now.ms); /* nor a connection */
    job_started(&b.job, b.now, b.now);
    bench_pass(&b, 2 * spec.timing.renew_ms);
    bench_silent(&b);
    bench_return(&b, 0);
    bench_silent(&b);
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.job.settled.ms, settled.ms);
    bench_done(&b);

    bench_begin(&b, &spec, true);
    assert_int_equal(hand_order(&b, LEASE_WITHOUT_LOCK), JOB_NO_OBSTACLE);
    job_started(&b.job, b.now, b.now);
    bench_end(&b, RUN_BROKE, RUN_NOT_STOPPED, false);
    assert_int_equal(b.job.state, JOB_STUCK);
    job_emptied(&b.job, b.now);
    assert_int_equal(b.job.state, JOB_WAITING);
    bench_silent(&b);
    bench_done(&b);
}

/* A success covers no turn: the newest that fell due meanwhile is run after it. */
static void test_turns_that_fall_due_without_the_lock(void **state)
{
    struct job_spec spec = bench_renewed_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    assert_int_equal(hand_order(&b, LEASE_WITHOUT_LOCK), JOB_NO_OBSTACLE);
    job_started(&b.job, b.now, b.now);
    b.now = boot_add(b.now, 2 * BENCH_PERIOD_MS);
    bench_return(&b, 0);
    assert_int_equal(b.fake.meanwhile, 2);
    assert_int_equal(b.job.counters.passed_running, 1);
    bench_ask(&b);
    assert_int_equal(b.fake.request.turn.ms, bench_turn(&b).ms);
    assert_int_equal(b.job.counters.passed_running, 1);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* What keeps the job from its turns is still there. */
static void test_force_ends_no_pause(void **state)
{
    const enum lease_way ways[] = { LEASE_BY_FORCE, LEASE_WITHOUT_LOCK };
    struct job_spec spec = bench_short_spec();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct bench b;

        bench_begin(&b, &spec, true);
        b.job.bar = JOB_PAUSED;
        assert_int_equal(hand_order(&b, ways[i]), JOB_NO_OBSTACLE);
        if (ways[i] == LEASE_BY_FORCE) {
            bench_send(&b, STORE_ACQUIRE);
            bench_grant(&b, 1);
        }
        assert_int_equal(b.job.state, JOB_STARTING);
        assert_int_equal(b.job.bar, JOB_PAUSED);
        assert_int_equal(b.fake.reports[REPORT_RESUMED], 0);
        bench_done(&b);
    }
}

static void test_the_open_turn(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall turn;

    (void)state;
    bench_begin(&b, &spec, true); /* which this device has nothing to do with any more */
    b.spec.catch_up_ms = 0;       /* and which is late */
    turn = bench_turn(&b);
    hand_begin(&b, LEASE_BY_SCHEDULE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms);
    assert_int_equal(b.fake.request.next.ms, turn.ms + BENCH_PERIOD_MS);
    assert_true(b.fake.request.fresh_ms > 1000 * BENCH_PERIOD_MS);
    assert_false(job_is_by_hand(&b.job));
    bench_grant(&b, 2);
    assert_int_equal(b.fake.by_hand, ACQUIRE_GRANTED);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 2); /* one try of several */
    bench_send(&b, STORE_FINISH);
    bench_recorded(&b, false);
    assert_int_equal(b.job.state, JOB_WATCHING);
    bench_done(&b);
}

static void test_the_open_turn_is_none(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct wall settled;

    (void)state;
    bench_begin(&b, &spec, true);
    settled = b.job.settled;
    hand_begin(&b, LEASE_BY_SCHEDULE);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    assert_int_equal(b.fake.by_hand, ACQUIRE_DONE);
    assert_int_equal(b.job.settled.ms, settled.ms);
    assert_int_equal(b.job.state, JOB_WAITING);
    /* Nobody could be asked: it is as it was before. */
    assert_int_equal(hand_order(&b, LEASE_BY_SCHEDULE), JOB_NO_OBSTACLE);
    bench_pass(&b, PATIENCE_MS);
    assert_int_equal(b.job.settled.ms, settled.ms);
    assert_int_equal(b.job.state, JOB_WAITING);
    hand_begin(&b, LEASE_BY_SCHEDULE);
    bench_error(&b);
    assert_int_equal(b.job.settled.ms, settled.ms);
    bench_silent(&b);
    /* Another one has it: this device watches, though it was done with that turn, which is late. */
    b.spec.catch_up_ms = 0;
    b.job.not_before = boot_add(b.now, HOUR_MS);
    hand_begin(&b, LEASE_BY_SCHEDULE);
    bench_held(&b, 5000, BRAVO, 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, settled.ms);
    bench_held(&b, 5000, BRAVO, 0);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_turn_of_its_own),
        cmocka_unit_test(test_a_failure_is_not_tried_again),
        cmocka_unit_test(test_a_refusal_concerns_no_turn),
        cmocka_unit_test(test_a_turn_that_falls_due_meanwhile),
        cmocka_unit_test(test_a_watched_turn_is_watched_on),
        cmocka_unit_test(test_a_watched_turn_is_watched_on_without_an_answer),
        cmocka_unit_test(test_no_answer_to_repeats),
        cmocka_unit_test(test_no_connection),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_an_error_reply),
        cmocka_unit_test(test_obstacles),
        cmocka_unit_test(test_before_a_question_that_waits),
        cmocka_unit_test(test_leaving_meanwhile),
        cmocka_unit_test(test_without_the_lock),
        cmocka_unit_test(test_turns_that_fall_due_without_the_lock),
        cmocka_unit_test(test_force_ends_no_pause),
        cmocka_unit_test(test_the_open_turn),
        cmocka_unit_test(test_the_open_turn_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
