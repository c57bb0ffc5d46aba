/* SPDX-License-Identifier: MIT
 * Fleet time: which sample is believed, how wrong it can be, and what counts as a jump (DESIGN
 * section 6). */
#include "base/units.h"
#include "support/fake.h"

#define SERVER_MS INT64_C(1700000000000)
#define PLAYS 300
#define SAMPLES 40
#define PPM_MAX 200
/* Drift within the millisecond that a reading was cut by. */
#define READING_US 2

static void sample(struct fake *f, int64_t sent_ms, int64_t received_ms, int64_t server_ms)
{
    struct store_reply reply = { .status = STORE_ANSWERED,
                                 .sent = { sent_ms },
                                 .received = { received_ms },
                                 .server = { server_ms } };

    fleet_sample(&f->fleet, &reply);
}

static void fake_begin(struct fake *f)
{
    fake_init(f, "alpha", 1, (struct unit_random){ 1 });
}

/* An exact one is believed until it may be as wrong as a worse one: 1 ms, and 1 ms in 5 s. */
static void test_ageing_to_the_millisecond(void **state)
{
    struct fleet_clock c = { 0 };
    struct boot late = { 1000 + 210000 }, later = { 1000 + 210001 };

    (void)state;
    fleet_clock_sample(&c, (struct boot){ 1000 }, (struct boot){ 1000 },
                       (struct wall){ SERVER_MS });
    assert_int_equal(fleet_clock_error_ms(&c, (struct boot){ 1000 }), 1);
    assert_int_equal(fleet_clock_error_ms(&c, (struct boot){ 1001 }), 2);
    assert_int_equal(fleet_clock_error_ms(&c, (struct boot){ 6001 }), 3);
    /* A round trip of 84 ms: 43 ms, and 1 ms for what the clocks drift meanwhile. */
    assert_int_equal(fleet_clock_sample(&c, boot_add(late, -84), late,
                                        (struct wall){ SERVER_MS + 210000 - 42 + 7 }),
                     0);
    assert_int_equal(fleet_clock_sample(&c, boot_add(later, -84), later,
                                        (struct wall){ SERVER_MS + 210001 - 42 + 7 }),
                     7);
    assert_int_equal(fleet_clock_error_ms(&c, later), 44);
    assert_int_equal(fleet_clock_at(&c, later).ms, SERVER_MS + 210001 + 7);
}

/* The boot clock runs on while the device is suspended, and the estimate ages by it. */
static void test_suspended(void **state)
{
    struct fake f;
    int64_t woken = 1000 + 8 * HOUR_MS;

    (void)state;
    fake_begin(&f);
    sample(&f, 1000, 1000, SERVER_MS);
    assert_int_equal(fleet_clock_error_ms(&f.fleet.clock, (struct boot){ woken }), 1 + 5760);
    assert_int_equal(fleet_clock_at(&f.fleet.clock, (struct boot){ woken }).ms,
                     SERVER_MS + 8 * HOUR_MS);
    sample(&f, woken - 600, woken, SERVER_MS + 8 * HOUR_MS - 300 + 3000);
    assert_int_equal(fleet_clock_at(&f.fleet.clock, (struct boot){ woken }).ms,
                     SERVER_MS + 8 * HOUR_MS + 3000);
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 0);
    fake_done(&f);
}

/* A true course of things, in us: the server's clock is ahead and runs at a rate of its own. */
struct truth {
    int64_t now_us, ahead_us, ppm;
};

static int64_t server_us(const struct truth *t)
{
    return t->now_us + t->ahead_us + t->now_us / 1000000 * t->ppm +
           t->now_us % 1000000 * t->ppm / 1000000;
}

static void assert_within_error(const struct fleet_clock *c, const struct truth *t)
{
    int64_t wrong_us = c->offset_ms * 1000 - (server_us(t) - t->now_us);
    int64_t error_us = 1000 * fleet_clock_error_ms(c, (struct boot){ t->now_us / 1000 });

    if (wrong_us > error_us + READING_US || wrong_us < -error_us - READING_US)
        fail_msg("wrong by %lld us, said to be within %lld", (long long)wrong_us,
                 (long long)error_us);
}

/* All of the delay on one leg, or on both, or none. */
static int64_t leg_us(struct unit_random *r)
{
    return unit_random_in(r, 0, 2) ? unit_random_in(r, 0, 4000000) : 0;
}

static void play(struct unit_random *r)
{
    struct truth t = { .now_us = unit_random_in(r, 1, 1000000000),
                       .ahead_us = SERVER_MS * 1000 + unit_random_in(r, 0, 1000000),
                       .ppm = unit_random_in(r, -PPM_MAX, PPM_MAX) };
    struct fake f;

    fake_begin(&f);
    for (int i = 0; i < SAMPLES; i++) {
        int64_t sent_us = t.now_us, server;

        t.now_us += leg_us(r);
        server = server_us(&t);
        t.now_us += leg_us(r);
        sample(&f, sent_us / 1000, t.now_us / 1000, server / 1000);
        assert_within_error(&f.fleet.clock, &t);
        t.now_us += unit_random_in(r, 0, unit_random_in(r, 0, 1) ? 3600000000 : 30000000);
        assert_within_error(&f.fleet.clock, &t);
    }
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 0);
    fake_done(&f);
}

static void test_truth_is_within_the_error(void **state)
{
    struct unit_random r = unit_random_begin();

    (void)state;
    for (int i = 0; i < PLAYS; i++)
        play(&r);
}

/* Two trips that were lopsided the one way and the other contradict nothing. */
static void test_lopsided_is_no_jump(void **state)
{
    struct fake f;

    (void)state;
    fake_begin(&f);
    sample(&f, 1000, 7000, SERVER_MS); /* all on the way back: read at 1000 */
    assert_int_equal(fleet_clock_at(&f.fleet.clock, (struct boot){ 7000 }).ms, SERVER_MS + 3000);
    sample(&f, 7000, 12800, SERVER_MS + 11800); /* all on the way out: read at 12800 */
    assert_int_equal(fleet_clock_at(&f.fleet.clock, (struct boot){ 12800 }).ms,
                     SERVER_MS + 11800 + 2900);
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 0);
    fake_done(&f);
}

/* The first sample of the new time may be a bad one: what the better ones after it mend was no jump
 * of the server. */
static void test_jump_is_said_once(void **state)
{
    struct fake f;

    (void)state;
    fake_begin(&f);
    sample(&f, 1000, 1000, SERVER_MS);
    sample(&f, 2000, 12000, SERVER_MS + 1000 + HOUR_MS);
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(f.moved_ms, HOUR_MS - 5000);
    for (int i = 0; i < 5; i++)
        sample(&f, 13000 + 100 * i, 13020 + 100 * i, SERVER_MS + 12010 + 100 * i + HOUR_MS);
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 1);
    assert_int_equal(fleet_clock_at(&f.fleet.clock, (struct boot){ 14000 }).ms,
                     SERVER_MS + 13000 + HOUR_MS);
    fake_done(&f);
}

static void test_forth_and_back(void **state)
{
    struct fake f;

    (void)state;
    fake_begin(&f);
    sample(&f, 1000, 1010, SERVER_MS);
    sample(&f, 2000, 2010, SERVER_MS + 1000 + 24 * HOUR_MS);
    assert_int_equal(f.moved_ms, 24 * HOUR_MS);
    sample(&f, 3000, 3010, SERVER_MS + 2000);
    assert_int_equal(f.moved_ms, -24 * HOUR_MS);
    sample(&f, 4000, 4010, SERVER_MS + 3000);
    assert_int_equal(f.reports[REPORT_CLOCK_JUMP], 2);
    fake_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ageing_to_the_millisecond),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_truth_is_within_the_error),
        cmocka_unit_test(test_lopsided_is_no_jump),
        cmocka_unit_test(test_jump_is_said_once),
        cmocka_unit_test(test_forth_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
