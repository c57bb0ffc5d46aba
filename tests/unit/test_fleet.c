/* SPDX-License-Identifier: MIT
 * What the jobs of one device share: fleet time, slots, and the word to the watchdog. */
#include "base/units.h"
#include "core/job_internal.h"
#include "support/bench.h"

#include <string.h>

#define JOBS 4

struct device {
    struct fake fake;
    struct job_spec spec;
    struct job jobs[JOBS];
    struct boot now;
    int64_t ahead_ms;
};

static void answer_clock(struct device *d)
{
    assert_true(fake_send(&d->fake, d->now));
    assert_int_equal(d->fake.request.verb, STORE_CLOCK);
    fake_reply(
        &d->fake,
        (struct store_reply){ .status = STORE_ANSWERED, .server = { d->now.ms + d->ahead_ms } },
        d->now);
}

static void device_init(struct device *d, uint32_t slots)
{
    *d = (struct device){ .spec = bench_short_spec(), .now = { 1000 }, .ahead_ms = BENCH_BEGIN_MS };
    fake_init(&d->fake, "alpha", slots, (struct unit_random){ 1 });
    for (size_t i = 0; i < JOBS; i++)
        job_init(&d->jobs[i], &d->fake.fleet, &d->spec);
}

static void begin(struct device *d)
{
    for (size_t i = 0; i < JOBS; i++) {
        d->jobs[i].settled =
            schedule_latest(&d->spec.schedule, (struct wall){ d->now.ms + d->ahead_ms });
        job_begin(&d->jobs[i], d->now);
    }
    answer_clock(d);
}

/* Each question is granted; `at most one at a time` is the fake's. */
static void grant_all(struct device *d)
{
    while (fake_send(&d->fake, d->now)) {
        struct store_reply reply = { .server = { d->now.ms + d->ahead_ms } };

        if (d->fake.request.verb == STORE_ACQUIRE)
            reply.acquire.turn = d->fake.request.turn;
        fake_reply(&d->fake, reply, d->now);
    }
}

static void tick_due(struct device *d)
{
    fleet_tick(&d->fake.fleet, d->now);
}

static unsigned in_state(const struct device *d, enum job_state state)
{
    unsigned count = 0;

    for (size_t i = 0; i < JOBS; i++)
        count += d->jobs[i].state == state;
    return count;
}

static void to_turn(struct device *d)
{
    const struct boot due = d->jobs[0].armed;

    assert_int_equal(in_state(d, JOB_WAITING), JOBS);
    d->now = due;
    tick_due(d);
}

static void end_run(struct device *d, struct job *j, bool clean)
{
    struct run_end end = { .exit = RUN_RETURNED, .clean = clean, .detail = "" };

    job_ended(j, d->now, &end);
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

static void test_one_clock_question(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    assert_int_equal(in_state(&d, JOB_WAITING), JOBS);
    assert_false(fake_send(&d.fake, d.now));
    done(&d);
}

static void test_clock_is_repeated(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 4);
    job_begin(&d.jobs[0], d.now);
    assert_true(fake_send(&d.fake, d.now));
    fake_reply(&d.fake, (struct store_reply){ .status = STORE_NO_ANSWER }, d.now);
    assert_true(fake_send(&d.fake, d.now)); /* the link has its own back-off */
    fake_reply(&d.fake, (struct store_reply){ .status = STORE_ERROR }, d.now);
    assert_false(fake_send(&d.fake, d.now)); /* the server answers: ours */
    assert_in_range(d.fake.armed.ms, d.now.ms, d.now.ms + 1000);
    d.now = d.fake.armed;
    fleet_tick(&d.fake.fleet, d.now);
    assert_int_equal(d.fake.reports[REPORT_UNANSWERED], 2);
    answer_clock(&d);
    assert_int_equal(d.jobs[0].state, JOB_WAITING);
    job_begin(&d.jobs[1], d.now); /* later ones need no question */
    assert_int_equal(d.jobs[1].state, JOB_WAITING);
    done(&d);
}

static void test_no_more_than_slots(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 2);
    begin(&d);
    to_turn(&d);
    assert_int_equal(in_state(&d, JOB_ASKING), 2);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 2);
    grant_all(&d);
    assert_int_equal(d.fake.starts, 2);
    assert_int_equal(fleet_used(&d.fake.fleet), 2);
    d.now.ms += 10;
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 2);
    done(&d);
}

static struct boot plan_at(struct device *d, int64_t moved_ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED };

    d->ahead_ms += moved_ms;
    reply.sent = reply.received = d->now;
    reply.server.ms = d->now.ms + d->ahead_ms;
    fleet_sample(&d->fake.fleet, &reply);
    return d->jobs[0].armed;
}

/* Jobs 0 and 1 run; 3 has waited longer than 2. */
static void two_run_two_wait(struct device *d)
{
    device_init(d, 2);
    begin(d);
    to_turn(d);
    grant_all(d);
    d->jobs[2].since.ms += 5;
}

static void test_longest_wait_first(void **state)
{
    struct device d;

    (void)state;
    two_run_two_wait(&d);
    d.now.ms += 100;
    end_run(&d, &d.jobs[0], true);
    tick_due(&d);
    assert_int_equal(d.jobs[3].state, JOB_ASKING);
    assert_int_equal(d.jobs[2].state, JOB_NO_SLOT);
    done(&d);
}

/* Two ends between two turns of the event loop free two slots. */
static void test_two_slots_at_once(void **state)
{
    struct device d;

    (void)state;
    two_run_two_wait(&d);
    d.now.ms += 100;
    end_run(&d, &d.jobs[0], true);
    end_run(&d, &d.jobs[1], true);
    tick_due(&d);
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_ASKING), 2);
    done(&d);
}

/* The one that was told of a slot leaves before it takes it. */
static void test_slot_passed_on(void **state)
{
    struct device d;

    (void)state;
    two_run_two_wait(&d);
    d.now.ms += 100;
    end_run(&d, &d.jobs[0], true);
    job_leave(&d.jobs[3], d.now, true);
    tick_due(&d);
    assert_int_equal(d.jobs[3].state, JOB_OFF);
    assert_int_equal(d.jobs[2].state, JOB_ASKING);
    done(&d);
}

/* A move of the clock between the word and the tick does not lose the word. */
static void test_slot_is_not_forgotten(void **state)
{
    struct device d;

    (void)state;
    two_run_two_wait(&d);
    d.now.ms += 100;
    end_run(&d, &d.jobs[0], true);
    plan_at(&d, 500);
    tick_due(&d);
    assert_int_equal(d.jobs[3].state, JOB_ASKING);
    done(&d);
}

static void test_stuck_tree_keeps_its_slot(void **state)
{
    struct device d;

    (void)state;
    two_run_two_wait(&d);
    d.now.ms += 100;
    end_run(&d, &d.jobs[0], false);
    grant_all(&d);
    assert_int_equal(d.jobs[0].state, JOB_STUCK);
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 2);
    d.now.ms += 100;
    job_emptied(&d.jobs[0], d.now);
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_NO_SLOT), 1);
    done(&d);
}

static void test_error_gives_the_slot_back(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 1);
    begin(&d);
    to_turn(&d);
    assert_int_equal(in_state(&d, JOB_ASKING), 1);
    assert_true(fake_send(&d.fake, d.now));
    fake_reply(&d.fake, (struct store_reply){ .status = STORE_ERROR, .error = "LOADING" }, d.now);
    assert_int_equal(in_state(&d, JOB_WATCHING), 1);
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_ASKING), 1);
    done(&d);
}

/* Small moves of fleet time add up: a job that waits long is not left behind by them. */
static void test_small_moves_add_up(void **state)
{
    struct device d;
    struct boot before;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    before = d.jobs[0].armed;
    for (int i = 0; i < 10; i++) {
        d.now.ms += 1000;
        plan_at(&d, 15);
    }
    assert_in_range(d.jobs[0].armed.ms, before.ms - 150, before.ms - 130);
    done(&d);
}

static void test_jump_is_said(void **state)
{
    struct device d;
    struct boot before;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    before = d.jobs[0].armed;
    assert_int_equal(plan_at(&d, -5000).ms, before.ms + 5000);
    assert_int_equal(d.fake.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(d.fake.moved_ms, -5000);
    plan_at(&d, 1000);
    assert_int_equal(d.fake.reports[REPORT_CLOCK_JUMP], 1);
    done(&d);
}

/* A day without a reply at 30 ppm: within what the estimate knew that it may be wrong by. */
static void test_drift_is_no_jump(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    d.now.ms += 24 * HOUR_MS;
    plan_at(&d, 2600);
    assert_int_equal(d.fake.reports[REPORT_CLOCK_JUMP], 0);
    done(&d);
}

static int64_t earliest(const struct device *d)
{
    int64_t ms = BOOT_NEVER.ms;

    for (size_t i = 0; i < JOBS; i++)
        ms = d->jobs[i].armed.ms < ms ? d->jobs[i].armed.ms : ms;
    return ms;
}

/* It follows at once where a job is to come earlier; later only where it is told to. */
static void test_one_timer(void **state)
{
    struct device d;
    int64_t before;

    (void)state;
    device_init(&d, 4);
    assert_int_equal(d.fake.armed.ms, BOOT_NEVER.ms);
    begin(&d);
    before = d.fake.armed.ms;
    assert_int_equal(before, earliest(&d));
    plan_at(&d, 500);
    assert_int_equal(d.fake.armed.ms, before - 500);
    plan_at(&d, -1500);
    assert_int_equal(earliest(&d), before + 1000);
    assert_int_equal(d.fake.armed.ms, before - 500);
    fleet_settle_timer(&d.fake.fleet);
    assert_int_equal(d.fake.armed.ms, before + 1000);
    for (size_t i = 0; i < JOBS; i++)
        job_leave(&d.jobs[i], d.now, true);
    fleet_settle_timer(&d.fake.fleet);
    assert_int_equal(d.fake.armed.ms, BOOT_NEVER.ms);
    done(&d);
}

static void put_at(struct device *d, size_t i, int64_t in_ms)
{
    d->jobs[i].at = boot_add(d->now, in_ms);
    job_rearm(&d->jobs[i], d->now);
}

/* After a suspend several are due at once: the one slot goes to the first that was. */
static void test_due_in_order(void **state)
{
    (void)state;
    for (size_t first = 0; first < JOBS; first++) {
        struct device d;

        device_init(&d, 1);
        begin(&d);
        for (size_t i = 0; i < JOBS; i++)
            put_at(&d, i, i == first ? 60000 : 60010 + (int64_t)i);
        d.now.ms += 61000;
        tick_due(&d);
        assert_int_equal(d.jobs[first].state, JOB_ASKING);
        assert_int_equal(in_state(&d, JOB_NO_SLOT), JOBS - 1);
        assert_int_equal(d.fake.armed.ms, earliest(&d));
        done(&d);
    }
}

/* A timer that fired is spent, also where it did so for nothing. */
static void test_timer_is_set_again(void **state)
{
    struct device d;
    struct boot before;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    before = d.fake.armed;
    d.fake.armed = BOOT_NEVER;
    tick_due(&d);
    assert_int_equal(d.fake.armed.ms, before.ms);
    assert_int_equal(in_state(&d, JOB_WAITING), JOBS);
    done(&d);
}

/* A job that is not due is left alone. */
static void test_only_what_is_due(void **state)
{
    struct device d;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    put_at(&d, 2, 60000);
    put_at(&d, 3, 60000);
    put_at(&d, 0, 60001);
    put_at(&d, 1, 70000);
    d.now.ms += 60000;
    tick_due(&d);
    assert_int_equal(in_state(&d, JOB_ASKING), 2);
    assert_int_equal(d.jobs[0].state, JOB_WAITING);
    assert_int_equal(d.fake.armed.ms, d.jobs[0].armed.ms);
    done(&d);
}

static void test_soundness(void **state)
{
    struct device d;
    const char *why = NULL;
    struct boot late;

    (void)state;
    device_init(&d, 4);
    begin(&d);
    assert_true(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    late = boot_add(d.jobs[0].armed, 5);
    assert_true(fleet_sound(&d.fake.fleet, late, 100, &why));
    assert_false(fleet_sound(&d.fake.fleet, late, 5, &why));
    assert_non_null(why);
    d.fake.fleet.wake.ms++; /* the timer comes too late */
    assert_false(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    d.fake.fleet.wake.ms--;
    assert_true(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    d.jobs[2].armed = BOOT_NEVER;
    assert_false(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    fake_done(&d.fake);
}

/* Who waits for a slot waits for the next turn too. */
static void test_soundness_without_a_slot(void **state)
{
    struct device d;
    const char *why = NULL;

    (void)state;
    two_run_two_wait(&d);
    assert_int_equal(d.jobs[2].state, JOB_NO_SLOT);
    assert_true(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    d.jobs[2].armed = BOOT_NEVER;
    assert_false(fleet_sound(&d.fake.fleet, d.now, 1, &why));
    fake_done(&d.fake);
}

static void test_soundness_of_the_clock_question(void **state)
{
    struct device d;
    const char *why = NULL;
    struct boot again;

    (void)state;
    device_init(&d, 4);
    job_begin(&d.jobs[0], d.now);
    assert_true(fake_send(&d.fake, d.now));
    fake_reply(&d.fake, (struct store_reply){ .status = STORE_ERROR }, d.now);
    again = d.fake.armed;
    assert_true(fleet_sound(&d.fake.fleet, again, 100, &why));
    assert_false(fleet_sound(&d.fake.fleet, boot_add(again, 100), 100, &why));
    assert_non_null(why);
    d.fake.fleet.wake = BOOT_NEVER; /* there is no timer */
    assert_false(fleet_sound(&d.fake.fleet, d.now, 100, &why));
    fake_done(&d.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_clock_question),
        cmocka_unit_test(test_clock_is_repeated),
        cmocka_unit_test(test_no_more_than_slots),
        cmocka_unit_test(test_longest_wait_first),
        cmocka_unit_test(test_two_slots_at_once),
        cmocka_unit_test(test_slot_passed_on),
        cmocka_unit_test(test_slot_is_not_forgotten),
        cmocka_unit_test(test_stuck_tree_keeps_its_slot),
        cmocka_unit_test(test_error_gives_the_slot_back),
        cmocka_unit_test(test_small_moves_add_up),
        cmocka_unit_test(test_jump_is_said),
        cmocka_unit_test(test_drift_is_no_jump),
        cmocka_unit_test(test_one_timer),
        cmocka_unit_test(test_due_in_order),
        cmocka_unit_test(test_timer_is_set_again),
        cmocka_unit_test(test_only_what_is_due),
        cmocka_unit_test(test_soundness),
        cmocka_unit_test(test_soundness_without_a_slot),
        cmocka_unit_test(test_soundness_of_the_clock_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
