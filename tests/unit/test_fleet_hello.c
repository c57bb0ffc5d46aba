/* SPDX-License-Identifier: MIT
 * Hello: when it is said, what it says, and what follows from the answer. */
#include "support/hello.h"

static void test_first_contact(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    assert_int_equal(say(&d), 0);
    assert_string_equal(d.keys, "one two three");
    assert_string_equal(d.fake.request.device, "alpha:1");
    assert_string_equal(d.fake.request.boot, "b1");
    assert_string_equal(d.fake.request.hello.version, "1.2.3");
    assert_string_equal(d.fake.request.hello.digest, "abcd1234");
    assert_int_equal(d.fake.request.hello.retention_ms, 3 * DAY_MS);
    assert_true(d.fake.fleet.clock.known);
    assert_false(fake_send(&d.fake, d.now)); /* and then nothing but it */
    done(&d);
}

/* Each weighs the mean of the gap before it, which is the fleet's size in seconds, within bounds.
 */
static void test_gaps(void **state)
{
    static const struct {
        uint32_t fleet, boots;
        int64_t checkin_ms, mean_ms;
    } rows[] = { { 1, 1, 0, 600000 },
                 { 5000, 0, 0, 5000000 },
                 { 700, 7000, 0, 7000000 },
                 { 1000000, 0, 0, 21600000 },
                 { 5000, 0, 3 * DAY_MS, 3 * DAY_MS } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct device d;
        int64_t sum = 0;

        device_init(&d, sizeof d.room);
        introduce(&d, sizeof d.room, rows[i].checkin_ms);
        d.hello.hello.fleet = rows[i].fleet;
        d.hello.hello.hellos = 5000;
        d.hello.hello.boots = rows[i].boots;
        assert_int_equal(say(&d), 0);
        /* A configuration is in use for four of the longest gaps. */
        assert_int_equal(d.fake.request.hello.used_ms, rows[i].checkin_ms ? 12 * DAY_MS : DAY_MS);
        for (int n = 0; n < 400; n++) {
            struct boot before = d.now;

            to_next(&d);
            sum += boot_between(before, d.now);
            assert_int_equal(say(&d), rows[i].mean_ms);
        }
        assert_in_range(sum / 400, rows[i].mean_ms * 8 / 10, rows[i].mean_ms * 12 / 10);
        done(&d);
    }
}

/* More jobs than a request has room for: in slices, which count for nothing, at once. */
static void test_slices(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 8);
    assert_int_equal(say(&d), 0);
    assert_string_equal(d.keys, "one two");
    assert_int_equal(say(&d), -1);
    assert_string_equal(d.keys, "three");
    assert_false(fake_send(&d.fake, d.now));
    to_next(&d);
    assert_int_equal(say(&d), 600000);
    assert_string_equal(d.keys, "one two");
    assert_int_equal(say(&d), -1);
    done(&d);
}

static void lose(struct device *d, struct store_reply reply)
{
    assert_true(fake_send(&d->fake, d->now));
    fake_reply(&d->fake, reply, d->now);
}

/* Another configuration is told at once, and the gap goes on. */
static void test_news(void **state)
{
    struct device d;
    struct boot next;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    next = d.fake.fleet.question_at;
    introduce(&d, sizeof d.room, 0);
    fleet_tick(&d.fake.fleet, d.now);
    lose(&d, (struct store_reply){ .status = STORE_NO_ANSWER });
    assert_int_equal(say(&d), -1);
    assert_int_equal(d.fake.fleet.question_at.ms, next.ms);
    done(&d);
}

/* The first is repeated until it is answered; a later one is left for the next. */
/* What is on its way may tell of the former one. */
static void test_a_configuration_that_is_loaded_while_hello_is_out(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    to_next(&d);
    introduce(&d, sizeof d.room, 0);
    say(&d);
    assert_int_equal(say(&d), -1);
    assert_false(fake_send(&d.fake, d.now));
    assert_true(d.fake.fleet.question_at.ms > d.now.ms);
    done(&d);
}

static void test_not_answered(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    lose(&d, (struct store_reply){ .status = STORE_NO_ANSWER });
    assert_int_equal(say(&d), 0);
    to_next(&d);
    lose(&d, (struct store_reply){ .status = STORE_NO_ANSWER });
    assert_false(fake_send(&d.fake, d.now));
    to_next(&d);
    assert_int_equal(say(&d), 600000);
    done(&d);
}

/* A Redis that refuses hello alone keeps no job from its turns. */
static void test_refused(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    lose(&d, (struct store_reply){ .status = STORE_ERROR, .fault = FAULT_OPERATOR });
    d.now = d.fake.armed;
    fleet_tick(&d.fake.fleet, d.now);
    assert_true(fake_send(&d.fake, d.now));
    assert_int_equal(d.fake.request.verb, STORE_CLOCK);
    fake_reply(&d.fake, (struct store_reply){ .server = server(&d) }, d.now);
    assert_int_equal(d.jobs[0].state, JOB_WAITING);
    to_next(&d);
    assert_int_equal(d.fake.reports[REPORT_ANSWERED], 0);
    assert_int_equal(say(&d), 0);
    assert_int_equal(d.fake.reports[REPORT_ANSWERED], 1);
    done(&d);
}

static void ask_for_turn(struct device *d, enum store_status status)
{
    struct job *j = &d->jobs[0];

    while (j->state != JOB_ASKING) {
        d->now = j->armed;
        job_tick(j, d->now);
    }
    assert_true(fake_send(&d->fake, d->now));
    assert_int_equal(d->fake.request.verb, STORE_ACQUIRE);
    fake_reply(&d->fake,
               (struct store_reply){
                   .status = status,
                   .fault = FAULT_OPERATOR,
                   .server = server(d),
                   .acquire = { .answer = ACQUIRE_DONE, .turn = d->fake.request.turn, .why = "" } },
               d->now);
}

/* The right may be there again; but hello alone may lack one, and is not said with each turn. */
static void test_refused_until_a_job_is_answered(void **state)
{
    struct device d;
    struct boot next;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    next = d.fake.fleet.question_at;
    ask_for_turn(&d, STORE_ANSWERED);
    assert_int_equal(d.fake.fleet.question_at.ms, next.ms);
    to_next(&d);
    lose(&d, (struct store_reply){ .status = STORE_ERROR, .fault = FAULT_OPERATOR });
    next = d.fake.fleet.question_at;
    ask_for_turn(&d, STORE_ERROR);
    assert_int_equal(d.fake.fleet.question_at.ms, next.ms);
    ask_for_turn(&d, STORE_ANSWERED);
    assert_int_equal(d.fake.fleet.question_at.ms, d.now.ms);
    to_next(&d);
    lose(&d, (struct store_reply){ .status = STORE_ERROR, .fault = FAULT_OPERATOR });
    next = d.fake.fleet.question_at;
    ask_for_turn(&d, STORE_ANSWERED);
    assert_int_equal(d.fake.fleet.question_at.ms, next.ms);
    to_next(&d);
    say(&d);
    to_next(&d);
    lose(&d, (struct store_reply){ .status = STORE_ERROR, .fault = FAULT_OPERATOR });
    ask_for_turn(&d, STORE_ANSWERED);
    assert_int_equal(d.fake.fleet.question_at.ms, d.now.ms);
    done(&d);
}

static void test_twin(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.twin = true;
    say(&d);
    to_next(&d);
    say(&d);
    assert_int_equal(d.fake.reports[REPORT_TWIN], 1);
    done(&d);
}

/* --- the fleet's size --- */

/* Of 2,000 turns this device of a thousand asks for some twenty, and wakes seldom for the others.
 */
static void test_few_ask(void **state)
{
    struct device d;
    unsigned asked = 0, woke = 0;
    struct boot end;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.fleet = 1000;
    d.hello.hello.hellos = 1000;
    say(&d);
    assert_int_equal(d.fake.fleet.size, 1000);
    end = boot_add(d.now, 2000 * BENCH_PERIOD_MS);
    while (!boot_reached(d.jobs[0].armed, end)) {
        struct boot at = d.jobs[0].armed;

        d.now = at;
        job_tick(&d.jobs[0], d.now);
        woke++;
        if (d.jobs[0].state != JOB_ASKING)
            continue;
        asked++;
        assert_true(fake_send(&d.fake, d.now));
        assert_int_equal(d.fake.request.turn.ms, latest(&d).ms);
        fake_reply(
            &d.fake,
            (struct store_reply){
                .server = server(&d),
                .acquire = { .answer = ACQUIRE_DONE, .turn = d.fake.request.turn, .why = "" } },
            d.now);
    }
    assert_in_range(asked, 8, 45);
    assert_in_range(woke, asked, asked + 2000 / 16 + 20);
    assert_int_equal(d.jobs[0].counters.illegal, 0);
    fake_done(&d.fake);
}

/* Whatever moves the plan, a turn is drawn for once: else each move would be another chance. */
static void test_drawn_once(void **state)
{
    struct device d;
    unsigned asks = 0;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.fleet = 1000;
    d.hello.hello.hellos = 1000;
    say(&d);
    for (int turn = 0; turn < 100; turn++) {
        struct wall next = schedule_next(&d.specs[0].schedule, server(&d));

        for (int i = 0; i < 50; i++)
            job_clock(&d.jobs[0], d.now);
        asks += d.jobs[0].drawn_for.ms == next.ms && d.jobs[0].delay_ms >= 0;
        d.now.ms += BENCH_PERIOD_MS;
        d.jobs[0].settled = latest(&d);
    }
    assert_in_range(asks, 0, 8);
    fake_done(&d.fake);
}

/* A fleet that has shrunk to one: what was drawn before is drawn anew. */
static void test_shrunk_fleet(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    d.hello.hello.fleet = 1000000;
    d.hello.hello.hellos = 5000;
    say(&d);
    d.now = d.fake.fleet.question_at;
    fleet_tick(&d.fake.fleet, d.now);
    d.hello.hello.fleet = 1;
    d.jobs[0].settled = latest(&d);
    say(&d);
    assert_int_equal(d.jobs[0].armed.ms + BENCH_BEGIN_MS,
                     schedule_next(&d.specs[0].schedule, server(&d)).ms + 1);
    done(&d);
}

/* The question for a turn that this device has left behind is taken back, where it does not ask for
 * the newer one. */
static void test_outage_gathers_no_crowd(void **state)
{
    struct device d;
    unsigned asking = 0;

    (void)state;
    device_init(&d, sizeof d.room);
    say(&d);
    d.now = d.jobs[0].armed;
    fleet_tick(&d.fake.fleet, d.now);
    assert_int_equal(d.jobs[0].state, JOB_ASKING); /* queued, and Redis is away */
    d.fake.fleet.size = 1000000;
    d.now.ms += 3 * BENCH_PERIOD_MS;
    fleet_tick(&d.fake.fleet, d.now);
    for (size_t i = 0; i < JOBS; i++)
        asking += d.jobs[i].state == JOB_ASKING;
    assert_int_equal(asking, 0);
    assert_int_equal(d.jobs[0].counters.passed_error, 3);
    done(&d);
}

/* --- what was done --- */

/* What waits to be sent is not sent where there is nothing to ask for any more. */
static void test_all_jobs_leave_before_hello(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, sizeof d.room);
    for (size_t i = 0; i < JOBS; i++)
        job_done(&d.jobs[i]);
    assert_false(fake_send(&d.fake, d.now));
    assert_false(d.fake.fleet.question_out);
    fake_done(&d.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_contact),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_a_configuration_that_is_loaded_while_hello_is_out),
        cmocka_unit_test(test_not_answered),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_until_a_job_is_answered),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_few_ask),
        cmocka_unit_test(test_shrunk_fleet),
        cmocka_unit_test(test_outage_gathers_no_crowd),
        cmocka_unit_test(test_drawn_once),
        cmocka_unit_test(test_all_jobs_leave_before_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
