/* SPDX-License-Identifier: MIT
 * When a device next has something to ask of the store. */
#include "core/fleet_need.h"
#include "core/job.h"
#include "support/bench.h"

#define FIRST ((struct boot){ 60000 })
#define LATER ((struct boot){ 900000 })

struct device {
    struct fake fake;
    struct job_spec spec, alone;
    struct job first, later;
};

/* Two jobs that wait for their turns, and no question of the fleet's own. */
static void device_init(struct device *d)
{
    *d = (struct device){ .spec = bench_short_spec() };
    d->alone = d->spec;
    d->alone.lock = LOCK_NONE;
    fake_init(&d->fake, "alpha", 4, (struct unit_random){ 1 });
    job_init(&d->first, &d->fake.fleet, &d->spec);
    job_init(&d->later, &d->fake.fleet, &d->spec);
    d->first.state = d->later.state = JOB_WAITING;
    d->first.at = d->first.armed = FIRST;
    d->later.at = d->later.armed = LATER;
}

static void assert_next(const struct device *d, struct boot next)
{
    assert_int_equal(fleet_need(&d->fake.fleet).next.ms, next.ms);
}

static void test_the_earliest_question_counts(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    assert_next(&d, FIRST);
    d.fake.fleet.question_at = (struct boot){ 5 };
    assert_next(&d, (struct boot){ 5 });
}

static void test_nothing_to_do_is_never(void **state)
{
    struct fake fake;

    (void)state;
    fake_init(&fake, "alpha", 4, (struct unit_random){ 1 });
    assert_int_equal(fleet_need(&fake.fleet).next.ms, BOOT_NEVER.ms);
    assert_int_equal(fleet_need(&fake.fleet).watch.ms, BOOT_NEVER.ms);
}

/* Of a short lease no renewal says that it is held. */
static void test_a_token_that_is_out_is_now(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    for (enum lease_state s = LEASE_NONE + 1; s < LEASE_STATE_COUNT; s++) {
        d.later.lease.state = s;
        assert_next(&d, STORE_NEED_NOW);
    }
    d.later.lease.state = LEASE_NONE;
    assert_next(&d, FIRST);
}

static void test_a_turn_that_is_left_to_others_needs_nothing(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    d.first.delay_ms = -1;
    assert_next(&d, LATER);
}

static void test_a_job_without_a_lock_needs_nothing(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    d.first.spec = &d.alone;
    d.first.lease.state = LEASE_HELD;
    assert_next(&d, LATER);
}

static void test_only_who_watches_opens_ahead(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    assert_int_equal(fleet_need(&d.fake.fleet).watch.ms, BOOT_NEVER.ms);
    d.later.state = JOB_WATCHING;
    d.later.lease.call.slot = 4711;
    assert_int_equal(fleet_need(&d.fake.fleet).watch.ms, LATER.ms);
    assert_int_equal(fleet_need(&d.fake.fleet).watch_slot, 4711);
    assert_next(&d, FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_earliest_question_counts),
        cmocka_unit_test(test_nothing_to_do_is_never),
        cmocka_unit_test(test_a_token_that_is_out_is_now),
        cmocka_unit_test(test_a_turn_that_is_left_to_others_needs_nothing),
        cmocka_unit_test(test_a_job_without_a_lock_needs_nothing),
        cmocka_unit_test(test_only_who_watches_opens_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
