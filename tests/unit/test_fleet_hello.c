/* SPDX-License-Identifier: MIT
 * Hello: when it is said, what it says, and what follows from the answer. */
#include "base/units.h"
#include "core/job_internal.h"
#include "support/bench.h"

#include <string.h>

#define JOBS 3

struct device {
    struct fake fake;
    struct job_spec specs[JOBS];
    struct job jobs[JOBS];
    char names[JOBS][8];
    char room[64], keys[64];
    struct boot now;
    struct wall done[JOBS];
    struct store_reply hello; /* what the next is answered */
};

static struct wall server(const struct device *d)
{
    return (struct wall){ d->now.ms + BENCH_BEGIN_MS };
}

static struct wall latest(const struct device *d)
{
    return schedule_latest(&d->specs[0].schedule, server(d));
}

static void introduce(struct device *d, size_t room_size, int64_t checkin_ms)
{
    fleet_introduce(&d->fake.fleet,
                    &(struct fleet_self){ .version = "1.2.3",
                                          .digest = "abcd1234",
                                          .checkin_ms = checkin_ms,
                                          .room = d->room,
                                          .room_size = room_size },
                    d->now);
}

static void device_init(struct device *d, size_t room_size)
{
    *d = (struct device){ .now = { 1000 }, .hello = { .hello = { .fleet = 1 } } };
    fake_init(&d->fake, "alpha", 4, (struct unit_random){ 7 });
    fleet_identify(&d->fake.fleet, "alpha:1", "b1");
    introduce(d, room_size, 0);
    for (size_t i = 0; i < JOBS; i++) {
        d->specs[i] = bench_short_spec();
        d->specs[i].retention_ms = (int64_t)(i + 1) * DAY_MS;
        strcpy(d->names[i], (const char *[]){ "one", "two", "three" }[i]);
        d->specs[i].key = d->names[i];
        job_init(&d->jobs[i], &d->fake.fleet, &d->specs[i]);
        d->jobs[i].settled = latest(d);
        d->done[i] = latest(d);
        job_begin(&d->jobs[i], d->now);
    }
}

static void done(struct device *d)
{
    const char *why = "";

    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(d->jobs[i].counters.illegal, 0);
    if (!fleet_sound(&d->fake.fleet, d->now, 1, &why))
        fail_msg("%s", why);
    fake_done(&d->fake);
}

static size_t count_words(const char *text)
{
    size_t words = text[0] != '\0';

    for (; *text; text++)
        words += *text == ' ';
    return words;
}

/* Sends the next request, which has to be hello, and answers it. Returns its weight. */
static int64_t say(struct device *d)
{
    struct store_reply reply = d->hello;
    size_t told = d->fake.fleet.hello.told;

    assert_true(fake_send(&d->fake, d->now));
    assert_int_equal(d->fake.request.verb, STORE_HELLO);
    strcpy(d->keys, d->fake.request.hello.jobs);
    reply.status = STORE_ANSWERED;
    reply.server = server(d);
    reply.hello.jobs = count_words(d->keys);
    reply.hello.done = d->done + told;
    fake_reply(&d->fake, reply, d->now);
    return d->fake.request.hello.weight_ms;
}

/* To the instant of the next hello, with nothing else done. */
static void to_next(struct device *d)
{
    d->now = d->fake.fleet.question_at;
    assert_int_not_equal(d->now.ms, BOOT_NEVER.ms);
    for (size_t i = 0; i < JOBS; i++) { /* their turns are others' */
        d->jobs[i].settled = schedule_next(&d->specs[0].schedule, server(d));
        job_plan(&d->jobs[i], d->now);
        job_rearm(&d->jobs[i], d->now);
    }
    fleet_tick(&d->fake.fleet, d->now);
}

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
        cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_not_overdue),
        cmocka_unit_test(test_jobs_change_under_hello),
        cmocka_unit_test(test_index_of_a_long_run),
        cmocka_unit_test(test_drawn_once),
        cmocka_unit_test(test_first_news_calls_nobody),
        cmocka_unit_test(test_all_jobs_leave_before_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
