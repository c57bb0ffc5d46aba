/* SPDX-License-Identifier: MIT
 * Device scope: what this device asks, when it asks again, and what it says. */
#include "base/units.h"
#include "core/turns.h"
#include "support/bench.h"

#define FLEET 100

/* W 10 s, splay 1 s, a minute's period, four seats. */
static struct job_spec seats_spec(void)
{
    struct job_spec spec = bench_short_spec();

    spec.scope = SCOPE_DEVICE;
    spec.concurrency = 4;
    spec.stop_after_failures = 3;
    return spec;
}

static void full(struct bench *b, int64_t left_ms, uint32_t place)
{
    fake_reply(
        &b->fake,
        (struct store_reply){
            .server = bench_server(b),
            .acquire = { .answer = ACQUIRE_FULL, .left_ms = left_ms, .seats = 4, .watch = place } },
        b->now);
}

static void finished(struct bench *b, bool stopped)
{
    fake_reply(
        &b->fake,
        (struct store_reply){ .server = bench_server(b), .finish = { true, false, stopped } },
        b->now);
}

static void test_who_asks_is_told(void **state)
{
    struct job_spec spec = seats_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    fleet_identify(&b.fake.fleet, "alpha:0123abcd", "boot-7");
    bench_ask(&b);
    assert_string_equal(b.fake.request.device, "alpha:0123abcd");
    assert_string_equal(b.fake.request.boot, "boot-7");
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* No attempt, no watcher's rules: the instant is the store's, as often as it says so. */
static void test_full_asks_again_when_told(void **state)
{
    struct job_spec spec = seats_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_to_question(&b);
    for (uint32_t place = 9; place > 6; place--) {
        struct boot at;

        bench_send(&b, STORE_ACQUIRE);
        at = boot_add(b.now, 2500 + place);
        full(&b, 2500 + place, place);
        assert_int_equal(b.job.state, JOB_WATCHING);
        assert_int_equal(b.job.armed.ms, at.ms);
        bench_to_tick(&b);
    }
    assert_int_equal(b.fake.reports[REPORT_QUEUED], 1);
    assert_int_equal(b.job.counters.passed_held, 1);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.job.state, JOB_STARTING);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    finished(&b, false);
    bench_done(&b);
}

/* It asks when it was told, for the turn that is the newest by then: else all that wait would ask
 * at the instant at which the next turn falls due. */
static void test_queue_goes_on_to_the_next_turn(void **state)
{
    struct job_spec spec = seats_spec();
    struct boot told;
    struct wall turn;
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    turn = b.fake.request.turn;
    told = boot_add(b.now, BENCH_PERIOD_MS + 5 * SECOND_MS);
    full(&b, boot_between(b.now, told), 400);
    bench_to_tick(&b);
    assert_int_equal(b.now.ms, told.ms);
    bench_send(&b, STORE_ACQUIRE);
    assert_int_equal(b.fake.request.turn.ms, turn.ms + BENCH_PERIOD_MS);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_spread(void **state)
{
    struct job_spec spec = seats_spec();

    (void)state;
    /* A seat for each: the splay alone, which a fleet of one has no use for. */
    assert_int_equal(turns_seats_spread_ms(1, &spec), 0);
    assert_int_equal(turns_seats_spread_ms(4, &spec), 600);
    /* Three rounds of the worst case; half the period. */
    assert_int_equal(turns_seats_spread_ms(8, &spec), 20 * SECOND_MS);
    assert_int_equal(turns_seats_spread_ms(FLEET, &spec), BENCH_PERIOD_MS / 2);
    spec.timing.worst_case_ms = 100;
    assert_int_equal(turns_seats_spread_ms(8, &spec), SECOND_MS);
    spec.timing.worst_case_ms = 31 * DAY_MS;
    spec.schedule.every_ms = 366 * DAY_MS;
    spec.concurrency = 1;
    assert_int_equal(turns_seats_spread_ms(UINT32_MAX, &spec), 183 * DAY_MS);
}

/* The first question for a turn that this device saw come: when, and how late it may be for a store
 * that has no record. */
static void test_first_questions_are_spread(void **state)
{
    struct job_spec spec = seats_spec();
    int64_t takeover = timing_takeover_ms(&spec.timing, spec.splay_ms), least = INT64_MAX, most = 0;
    struct bench b;

    (void)state;
    spec.catch_up_ms = 0; /* and none of it is too late */
    bench_begin(&b, &spec, true);
    b.fake.fleet.size = FLEET;
    for (int i = 0; i < 40; i++) {
        int64_t delay;

        bench_to_question(&b);
        delay = wall_between(bench_turn(&b), bench_server(&b));
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        bench_send(&b, STORE_ACQUIRE);
        /* The first was drawn when the fleet was one. */
        assert_int_equal(b.fake.request.fresh_ms, takeover + (i > 0 ? BENCH_PERIOD_MS / 2 : 0));
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
    }
    assert_true(least < 5 * SECOND_MS);
    assert_true(most > 25 * SECOND_MS && most <= BENCH_PERIOD_MS / 2);
    bench_done(&b);
}

/* It fell due before this device was there: no surprise because others take their time. */
static void test_no_spread_for_what_was_due_before(void **state)
{
    struct job_spec spec = seats_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, false);
    b.fake.fleet.size = FLEET;
    b.job.drawn_for.ms = 0;
    job_clock(&b.job, b.now);
    bench_ask(&b);
    assert_int_equal(b.fake.request.fresh_ms, timing_takeover_ms(&spec.timing, spec.splay_ms));
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_brake_is_said_once(void **state)
{
    struct job_spec spec = seats_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_run(&b);
    bench_return(&b, 2);
    bench_send(&b, STORE_FINISH);
    finished(&b, true);
    assert_int_equal(b.fake.reports[REPORT_BRAKE], 1);
    assert_int_equal(b.job.state, JOB_WATCHING);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_PAUSED, -1, "rota: stopped after 3 failures in a row");
    assert_int_equal(b.job.state, JOB_WAITING);
    assert_int_equal(b.fake.reports[REPORT_BRAKE], 1);
    assert_int_equal(b.fake.reports[REPORT_PAUSED], 0);
    bench_done(&b);
}

/* The seat of this device's run before, from which nothing is taken over. */
static void test_own_seat_is_waited_for(void **state)
{
    struct job_spec spec = seats_spec();
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_held(&b, 4000, "alpha:00112233445566778899aabbccddeeff", 0);
    assert_int_equal(b.job.state, JOB_WATCHING);
    assert_int_equal(b.job.armed.ms, b.now.ms + 4001);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 2);
    assert_int_equal(b.fake.reports[REPORT_TAKEOVER], 0);
    job_started(&b.job, b.now, b.now);
    bench_return(&b, 0);
    bench_send(&b, STORE_FINISH);
    finished(&b, false);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_is_told),
        cmocka_unit_test(test_full_asks_again_when_told),
        cmocka_unit_test(test_queue_goes_on_to_the_next_turn),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_first_questions_are_spread),
        cmocka_unit_test(test_no_spread_for_what_was_due_before),
        cmocka_unit_test(test_brake_is_said_once),
        cmocka_unit_test(test_own_seat_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
