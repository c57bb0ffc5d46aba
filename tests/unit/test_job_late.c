/* SPDX-License-Identifier: MIT
 * catch_up, splay and first, at their ends. */
#include "base/units.h"
#include "support/bench.h"

#define TURNS 20

/* The question for a turn, `late_ms` after it was meant to be sent: whether it is. */
static bool asks_late(const struct job_spec *spec, int64_t late_ms)
{
    struct bench b;
    bool sent;

    bench_begin(&b, spec, true);
    bench_to_question(&b);
    b.now = boot_add(fleet_clock_when(&b.fake.fleet.clock, bench_turn(&b)), late_ms);
    sent = fake_send(&b.fake, b.now);
    if (sent)
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], !sent);
    assert_true(sent || b.fake.asked);
    bench_done(&b);
    return sent;
}

/* Only on time: which is what timers, trips and the splay leave of it. */
static void test_no_catch_up(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    spec.catch_up_ms = spec.splay_ms = 0;
    assert_true(asks_late(&spec, SECOND_MS));
    assert_false(asks_late(&spec, SECOND_MS + 1));
    spec.splay_ms = 5 * SECOND_MS;
    assert_true(asks_late(&spec, 6 * SECOND_MS));
    assert_false(asks_late(&spec, 6 * SECOND_MS + 1));
}

/* A whole period: until the next turn takes its place. */
static void test_catch_up_of_a_period(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    spec.catch_up_ms = BENCH_PERIOD_MS;
    assert_true(asks_late(&spec, BENCH_PERIOD_MS - 1));
}

/* first = "now" is for who has no record; the store says who that is. It does not stretch
 * catch_up. */
static void test_first_now(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.first_now = true;
    spec.catch_up_ms = 0;
    assert_true(asks_late(&spec, 2 * SECOND_MS));
    assert_false(asks_late(&spec, 2 * SECOND_MS + 1));

    spec.catch_up_ms = BENCH_PERIOD_MS;
    bench_begin(&b, &spec, false); /* 30 s late */
    bench_ask(&b);
    bench_refuse(&b, ACQUIRE_WAIT, spec.timing.lease_ms, "blank");
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.fake.starts, 1);
    bench_done(&b);
}

/* By errors until it is too late: which is one turn that was missed. */
static void test_missed_is_counted_once(void **state)
{
    struct job_spec spec = bench_short_spec();
    struct bench b;

    (void)state;
    spec.catch_up_ms = 0;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    bench_error(&b);
    bench_pass(&b, 30 * SECOND_MS);
    bench_silent(&b);
    assert_int_equal(b.fake.reports[REPORT_TOO_LATE], 1);
    assert_int_equal(b.job.counters.passed_error, 1);
    bench_ask(&b);
    assert_int_equal(b.job.counters.passed_error, 1);
    assert_int_equal(b.fake.fleet.missed, 1);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

/* The turns that are asked for in a crowd of 20, of which each asks within its splay. */
static void assert_all_turns(const struct job_spec *spec)
{
    struct bench b;
    struct wall turn;

    bench_begin(&b, spec, true);
    b.fake.fleet.size = 20;
    b.fake.fleet.self.turns_all = true;
    bench_to_question(&b);
    turn = bench_turn(&b);
    for (int i = 0; i < TURNS; i++) {
        bench_send(&b, STORE_ACQUIRE);
        assert_int_equal(b.fake.request.turn.ms, turn.ms);
        assert_in_range(wall_between(turn, bench_server(&b)), 0, spec->splay_ms + 1);
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
        turn = schedule_next(&spec->schedule, turn);
        bench_to_question(&b);
    }
    bench_send(&b, STORE_ACQUIRE);
    bench_refuse(&b, ACQUIRE_DONE, 0, "");
    bench_done(&b);
}

static void test_splay(void **state)
{
    struct job_spec spec = bench_short_spec();

    (void)state;
    spec.schedule.every_ms = SECOND_MS;
    spec.splay_ms = spec.schedule.every_ms / 4;
    assert_all_turns(&spec);
    spec.splay_ms = 0;
    assert_all_turns(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_catch_up), cmocka_unit_test(test_catch_up_of_a_period),
        cmocka_unit_test(test_first_now),   cmocka_unit_test(test_missed_is_counted_once),
        cmocka_unit_test(test_splay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
