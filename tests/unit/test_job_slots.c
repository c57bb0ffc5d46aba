/* SPDX-License-Identifier: MIT
 * max_running: many jobs that are due while few may run. */
#include "base/units.h"
#include "support/bench.h"

#define JOBS 5
#define APART_MS 10

struct device {
    struct fake fake;
    struct job_spec specs[JOBS];
    struct job jobs[JOBS];
    struct boot now;
};

static struct wall server(const struct device *d)
{
    return (struct wall){ d->now.ms + BENCH_BEGIN_MS };
}

/* Lets time pass until nothing more is due, then to the next instant, up to `end`. */
static void pass_to(struct device *d, struct boot end)
{
    fleet_settle_timer(&d->fake.fleet);
    while (boot_reached(end, d->fake.armed)) {
        d->now = boot_max(d->now, d->fake.armed);
        fleet_tick(&d->fake.fleet, d->now);
    }
    d->now = end;
}

static void answer_all(struct device *d)
{
    while (fake_send(&d->fake, d->now)) {
        struct store_reply reply = { .server = server(d) };

        if (d->fake.request.verb == STORE_ACQUIRE)
            reply.acquire.turn = d->fake.request.turn;
        fake_reply(&d->fake, reply, d->now);
    }
}

/* All are due within 50 ms, one after the other, and all ask; those that may, run. */
static void device_init(struct device *d, uint32_t slots, int64_t catch_up_ms)
{
    *d = (struct device){ .now = { 1000 } };
    fake_init(&d->fake, "alpha", slots, (struct unit_random){ 1 });
    for (size_t i = 0; i < JOBS; i++) {
        d->specs[i] = bench_short_spec();
        d->specs[i].schedule.offset_ms = (int64_t)i * APART_MS;
        d->specs[i].catch_up_ms = catch_up_ms;
        job_init(&d->jobs[i], &d->fake.fleet, &d->specs[i]);
        d->jobs[i].settled = schedule_latest(&d->specs[i].schedule, server(d));
        job_begin(&d->jobs[i], d->now);
    }
    answer_all(d);
    pass_to(d, (struct boot){ 1000 + 29 * SECOND_MS + 100 });
    answer_all(d);
}

static void device_done(struct device *d)
{
    const char *why = "";

    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(d->jobs[i].counters.illegal, 0);
    if (!fleet_sound(&d->fake.fleet, d->now, 1, &why))
        fail_msg("%s", why);
    fake_done(&d->fake);
}

static unsigned in_state(const struct device *d, enum job_state state)
{
    unsigned count = 0;

    for (size_t i = 0; i < JOBS; i++)
        count += d->jobs[i].state == state;
    return count;
}

static unsigned passed_full(const struct device *d)
{
    unsigned count = 0;

    for (size_t i = 0; i < JOBS; i++)
        count += d->jobs[i].counters.passed_full;
    return count;
}

/* A slot that one does not take goes to the next, until nobody wants it. */
static void settle(struct device *d)
{
    for (size_t i = 0; i < JOBS; i++) {
        answer_all(d);
        pass_to(d, d->now);
    }
    answer_all(d);
}

static void end_run(struct device *d, size_t i, int64_t after_ms)
{
    pass_to(d, boot_add(d->now, after_ms));
    assert_int_equal(d->jobs[i].state, JOB_STARTING);
    job_ended(&d->jobs[i], d->now,
              &(struct run_end){ .exit = RUN_RETURNED, .clean = true, .detail = "" });
    settle(d);
}

static void test_longest_waited_goes_first(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, MINUTE_MS);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(d.jobs[i].state, JOB_STARTING);
        assert_int_equal(in_state(&d, JOB_STARTING), 1);
        assert_int_equal(in_state(&d, JOB_NO_SLOT), JOBS - 1 - i);
        end_run(&d, i, SECOND_MS);
    }
    assert_int_equal(in_state(&d, JOB_WAITING), JOBS);
    assert_int_equal(d.fake.starts, JOBS);
    /* All were run in the end, so none has passed when the next turns are asked for. */
    pass_to(&d, boot_add(d.now, MINUTE_MS));
    answer_all(&d);
    assert_int_equal(passed_full(&d), 0);
    device_done(&d);
}

/* What has waited past its catch_up has passed; each job says so, and waits for its next turn. */
static void test_slot_comes_too_late(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, 2 * SECOND_MS);
    end_run(&d, 0, 10 * SECOND_MS);
    assert_int_equal(d.fake.starts, 1);
    assert_int_equal(d.fake.reports[REPORT_TOO_LATE], JOBS - 1);
    assert_true(d.fake.asked && d.fake.waited);
    assert_int_equal(in_state(&d, JOB_WAITING), JOBS);
    assert_int_equal(passed_full(&d), JOBS - 1);
    pass_to(&d, boot_add(d.now, MINUTE_MS)); /* and each is counted once */
    answer_all(&d);
    assert_int_equal(passed_full(&d), JOBS - 1);
    device_done(&d);
}

/* The slot came: it is the pause that they have passed by. */
static void test_pause_while_no_slot_is_free(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, MINUTE_MS);
    d.fake.paused = true;
    end_run(&d, 0, 10 * SECOND_MS);
    assert_int_equal(in_state(&d, JOB_WAITING), JOBS);
    d.fake.paused = false;
    pass_to(&d, boot_add(d.now, MINUTE_MS));
    answer_all(&d);
    assert_int_equal(passed_full(&d), 0);
    device_done(&d);
}

/* Turns that fall due while no slot is free take each other's place: those have passed. */
static void test_newer_turns_while_no_slot_is_free(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, 10 * MINUTE_MS);
    pass_to(&d, boot_add(d.now, 2 * MINUTE_MS));
    assert_int_equal(in_state(&d, JOB_NO_SLOT), JOBS - 1);
    assert_int_equal(passed_full(&d), 2 * (JOBS - 1));
    device_done(&d);
}

/* Late by no more than catch_up and what any question may be late: splay and a second. */
static void test_slot_comes_just_in_time(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, 2 * SECOND_MS);
    end_run(&d, 0, 3 * SECOND_MS);
    assert_int_equal(d.jobs[1].state, JOB_STARTING);
    assert_int_equal(d.fake.reports[REPORT_TOO_LATE], 0);
    device_done(&d);
}

/* It was in the count of those that others held already. */
static void test_refused_then_no_slot(void **state)
{
    struct device d;
    struct store_reply held = { .acquire = {
                                    .answer = ACQUIRE_HELD, .left_ms = 1000, .watch = 1 } };

    (void)state;
    device_init(&d, 1, 10 * MINUTE_MS);
    job_ended(&d.jobs[0], d.now,
              &(struct run_end){ .exit = RUN_RETURNED, .clean = true, .detail = "" });
    assert_true(fake_send(&d.fake, d.now)); /* the end */
    fake_reply(&d.fake, (struct store_reply){ .server = server(&d) }, d.now);
    pass_to(&d, d.now);
    assert_true(fake_send(&d.fake, d.now)); /* the next one's question */
    held.server = server(&d);
    fake_reply(&d.fake, held, d.now);
    assert_int_equal(d.jobs[1].state, JOB_WATCHING);
    settle(&d);
    pass_to(&d, boot_add(d.now, 5 * SECOND_MS));
    assert_int_equal(d.jobs[1].state, JOB_NO_SLOT);
    pass_to(&d, boot_add(d.now, MINUTE_MS));
    assert_int_equal(d.jobs[1].counters.passed_held, 1);
    assert_int_equal(d.jobs[1].counters.passed_full, 0);
    pass_to(&d, boot_add(d.now, MINUTE_MS));
    assert_int_equal(d.jobs[1].counters.passed_full, 1);
    device_done(&d);
}

/* A reload takes slots away from under what runs: it goes on, and the rest waits. */
static void test_lowered(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 3, MINUTE_MS);
    assert_int_equal(in_state(&d, JOB_STARTING), 3);
    d.fake.fleet.slots = 1;
    fleet_slot_freed(&d.fake.fleet, d.now);
    end_run(&d, 0, SECOND_MS);
    assert_int_equal(in_state(&d, JOB_STARTING), 2);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 2);
    end_run(&d, 1, SECOND_MS);
    assert_int_equal(in_state(&d, JOB_STARTING), 1);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 2);
    end_run(&d, 2, SECOND_MS);
    assert_int_equal(d.jobs[3].state, JOB_STARTING);
    assert_int_equal(d.jobs[4].state, JOB_NO_SLOT);
    device_done(&d);
}

/* One word is enough for all the slots that a reload adds. */
static void test_raised(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1, MINUTE_MS);
    d.fake.fleet.slots = 4;
    fleet_slot_freed(&d.fake.fleet, d.now);
    settle(&d);
    assert_int_equal(in_state(&d, JOB_STARTING), 4);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 1);
    device_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_waited_goes_first),
        cmocka_unit_test(test_slot_comes_too_late),
        cmocka_unit_test(test_pause_while_no_slot_is_free),
        cmocka_unit_test(test_newer_turns_while_no_slot_is_free),
        cmocka_unit_test(test_refused_then_no_slot),
        cmocka_unit_test(test_slot_comes_just_in_time),
        cmocka_unit_test(test_lowered),
        cmocka_unit_test(test_raised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
