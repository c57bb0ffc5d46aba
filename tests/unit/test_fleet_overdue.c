/* SPDX-License-Identifier: MIT
 * What hello is told of turns: one that nobody has done is asked for, however few were to ask. */
#include "support/hello.h"

/* A turn that nobody has, though a run would have ended by now, is asked for once, and the answer
 * is told to the others. */
static void test_overdue(void **state)
{
    struct device d;
    struct wall turn;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.fleet = 600;
    d.hello.hello.hellos = 600;
    say(&d);
    to_next(&d);
    d.now.ms += 45 * SECOND_MS; /* a turn is more than its budget and splay old, and was left out */
    turn = latest(&d);
    if (wall_between(turn, server(&d)) < 25 * SECOND_MS)
        d.now.ms += 25 * SECOND_MS;
    turn = latest(&d);
    for (size_t i = 0; i < JOBS; i++) {
        d.jobs[i].settled.ms = turn.ms - BENCH_PERIOD_MS;
        d.jobs[i].left_out = turn;
        d.done[i].ms = turn.ms - BENCH_PERIOD_MS * (i == 0);
    }
    say(&d);
    fleet_tick(&d.fake.fleet, d.now);
    assert_int_equal(d.jobs[0].state, JOB_ASKING);
    assert_int_equal(d.jobs[1].state, JOB_WAITING);
    assert_true(fake_send(&d.fake, d.now));
    assert_int_equal(d.fake.request.turn.ms, turn.ms);
    fake_reply(
        &d.fake,
        (struct store_reply){ .server = server(&d),
                              .acquire = { .answer = ACQUIRE_DONE, .turn = turn, .why = "" } },
        d.now);
    assert_true(fake_send(&d.fake, d.now));
    assert_int_equal(d.fake.request.verb, STORE_INDEX);
    assert_int_equal(d.fake.request.turn.ms, turn.ms);
    fake_reply(&d.fake, (struct store_reply){ .server = server(&d) }, d.now);
    assert_false(fake_send(&d.fake, d.now));
    done(&d);
}

/* Every job's newest turn is so old, was left out, and by the index nobody has done it. */
static void leave_out(struct device *d, int64_t age_ms)
{
    struct wall turn;

    to_next(d);
    turn = schedule_next(&d->specs[0].schedule, server(d));
    d->now = boot_add(d->now, wall_between(server(d), turn) + age_ms);
    for (size_t i = 0; i < JOBS; i++) {
        d->jobs[i].left_out = turn;
        d->jobs[i].settled.ms = d->done[i].ms = turn.ms - BENCH_PERIOD_MS;
    }
}

/* A run of it may still go on, or it was settled by this device. */
static void test_not_overdue(void **state)
{
    const int64_t allowed_ms = bench_short_spec().timing.budget_ms + bench_short_spec().splay_ms;
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    leave_out(&d, allowed_ms);
    say(&d);
    for (size_t i = 0; i < JOBS; i++)
        assert_false(d.jobs[i].urged);
    leave_out(&d, allowed_ms + 1);
    job_settle_up_to(&d.jobs[2], latest(&d));
    say(&d);
    assert_true(d.jobs[1].urged);
    assert_int_equal(d.jobs[2].left_out.ms, latest(&d).ms);
    fake_done(&d.fake);
}

/* The answer is about the jobs that there were when it was asked for. */
static void test_jobs_change_under_hello(void **state)
{
    struct store_reply reply = { .hello = { .fleet = 1, .jobs = JOBS } };
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    leave_out(&d, 40 * SECOND_MS);
    assert_true(fake_send(&d.fake, d.now));
    fleet_jobs_changed(&d.fake.fleet);
    reply.server = server(&d);
    reply.hello.done = d.done;
    fake_reply(&d.fake, reply, d.now);
    for (size_t i = 0; i < JOBS; i++)
        assert_false(d.jobs[i].urged);
    fake_done(&d.fake);
}

/* What fell due during a run that succeeded is done as well. */
static void test_index_of_a_long_run(void **state)
{
    struct device d;
    struct job *j = &d.jobs[0];
    struct wall turn;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    d.now = j->armed;
    job_tick(j, d.now);
    assert_true(fake_send(&d.fake, d.now));
    turn = d.fake.request.turn;
    fake_reply(&d.fake,
               (struct store_reply){
                   .server = server(&d),
                   .acquire = { .answer = ACQUIRE_GRANTED, .attempt = 1, .turn = turn } },
               d.now);
    job_started(j, d.now, d.now);
    d.now.ms += 2 * BENCH_PERIOD_MS;
    job_ended(j, d.now, &(struct run_end){ .exit = RUN_RETURNED, .clean = true, .detail = "" });
    assert_true(fake_send(&d.fake, d.now));
    fake_reply(&d.fake, (struct store_reply){ .server = server(&d) }, d.now);
    assert_true(fake_send(&d.fake, d.now));
    assert_int_equal(d.fake.request.verb, STORE_INDEX);
    assert_int_equal(d.fake.request.turn.ms, turn.ms + 2 * BENCH_PERIOD_MS);
    fake_reply(&d.fake, (struct store_reply){ .server = server(&d) }, d.now);
    fake_done(&d.fake);
}

/* All may start at once, and then none of them knows more than its rank. */
static void test_first_news_calls_nobody(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.fleet = 1000000;
    d.hello.hello.hellos = 1000000;
    for (size_t i = 0; i < JOBS; i++)
        d.jobs[i].settled.ms = d.done[i].ms = 0;
    d.now.ms += wall_between(latest(&d), server(&d)) < 25 * SECOND_MS ? 25 * SECOND_MS : 0;
    say(&d);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(d.jobs[i].state, JOB_WAITING);
        assert_true(d.jobs[i].armed.ms > d.now.ms);
    }
    done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_not_overdue),
        cmocka_unit_test(test_jobs_change_under_hello),
        cmocka_unit_test(test_index_of_a_long_run),
        cmocka_unit_test(test_first_news_calls_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
