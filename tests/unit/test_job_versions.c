/* SPDX-License-Identifier: MIT
 * Two configurations, or two versions, of a job in one fleet (DESIGN section 5). */
#include "base/text.h"
#include "base/units.h"
#include "core/job_internal.h"
#include "support/bench.h"

#include <string.h>

#define BRAVO "bravo:0123456789abcdef0123456789abcdef"

static void begin(struct bench *b)
{
    struct job_spec spec = bench_short_spec();

    text_copy(spec.fingerprint, sizeof spec.fingerprint, "aaaaaaaa");
    bench_begin(b, &spec, true);
}

static void answer(struct bench *b, struct store_reply reply)
{
    reply.server = bench_server(b);
    bench_ask(b);
    if (reply.acquire.turn.ms == 0)
        reply.acquire.turn = b->fake.request.turn;
    fake_reply(&b->fake, reply, b->now);
}

static struct store_reply settled_by(const char *print)
{
    return (struct store_reply){
        .acquire = { .answer = ACQUIRE_DONE, .why = "", .print = print, .printer = BRAVO }
    };
}

/* Once for each other configuration, however often they alternate. */
static void test_mixed(void **state)
{
    static const char *const prints[] = { "bbbbbbbb", "", "bbbbbbbb", "cccccccc", "bbbbbbbb", "" };
    static const unsigned said[] = { 1, 1, 1, 2, 2, 2 };
    struct bench b;

    (void)state;
    begin(&b);
    for (size_t i = 0; i < COUNT_OF(prints); i++) {
        answer(&b, settled_by(prints[i]));
        assert_int_equal(b.fake.reports[REPORT_MIXED], said[i]);
        assert_int_equal(b.job.mixed, prints[i][0] != '\0');
        assert_int_equal(b.job.state, JOB_WAITING);
    }
    bench_done(&b);
}

/* What this device had before it was edited is not another's. */
static void test_own_former(void **state)
{
    struct store_reply reply = settled_by("bbbbbbbb");
    struct bench b;

    (void)state;
    begin(&b);
    reply.acquire.printer = "alpha:0123456789abcdef0123456789abcdef";
    answer(&b, reply);
    assert_int_equal(b.fake.reports[REPORT_MIXED], 0);
    assert_false(b.job.mixed);
    bench_done(&b);
}

/* It is not run, said once, and asked for anew each turn. */
static void test_mismatch(void **state)
{
    const struct store_reply mismatch = {
        .acquire = { .answer = ACQUIRE_MISMATCH, .why = "device", .holder = BRAVO }
    };
    struct bench b;
    struct wall turn;

    (void)state;
    begin(&b);
    for (int i = 0; i < 3; i++) {
        answer(&b, mismatch);
        assert_int_equal(b.job.bar, JOB_MISMATCHED);
        assert_int_equal(b.fake.reports[REPORT_MISMATCH], 1);
    }
    assert_int_equal(b.job.counters.passed_barred, 3);
    turn = b.job.turn;
    answer(&b, settled_by(""));
    assert_int_equal(b.job.turn.ms, turn.ms + BENCH_PERIOD_MS);
    assert_int_equal(b.job.bar, JOB_NOT_BARRED);
    assert_int_equal(b.fake.starts, 0);
    bench_done(&b);
}

/* Said again where there is a still higher one. */
static void test_outdated(void **state)
{
    struct store_reply reply = { .acquire = { .answer = ACQUIRE_OUTDATED, .version = 3 } };
    struct bench b;

    (void)state;
    begin(&b);
    answer(&b, reply);
    answer(&b, reply);
    assert_int_equal(b.fake.reports[REPORT_OUTDATED], 1);
    reply.acquire.version = 4;
    answer(&b, reply);
    assert_int_equal(b.fake.reports[REPORT_OUTDATED], 2);
    assert_int_equal(b.job.bar_version, 4);
    bench_done(&b);
}

static void test_newer(void **state)
{
    const struct store_reply reply = { .acquire = { .answer = ACQUIRE_NEWER, .version = 2 } };
    struct bench b;

    (void)state;
    begin(&b);
    answer(&b, reply);
    answer(&b, reply);
    assert_int_equal(b.fake.reports[REPORT_NEWER], 1);
    assert_int_equal(b.job.bar, JOB_NEWER);
    bench_done(&b);
}

static struct store_reply paused(const char *why)
{
    return (
        struct store_reply){ .acquire = { .answer = ACQUIRE_PAUSED, .why = why, .left_ms = -1 } };
}

/* Said when it begins and when it is over, whoever asks first; what fell due meanwhile tells
 * neither. */
static void test_paused(void **state)
{
    const struct store_reply passed = { .acquire = { .answer = ACQUIRE_DONE, .why = "paused" } };
    struct bench b;

    (void)state;
    begin(&b);
    answer(&b, passed);
    assert_int_equal(b.job.bar, JOB_NOT_BARRED);
    for (int i = 0; i < 2; i++) {
        answer(&b, paused("kim: NAS full"));
        answer(&b, passed);
        answer(&b, paused("kim: NAS full"));
        assert_int_equal(b.job.bar, JOB_PAUSED);
        assert_int_equal(b.fake.reports[REPORT_PAUSED], i + 1);
        assert_int_equal(b.fake.reports[REPORT_RESUMED], i);
        answer(&b, settled_by(""));
        answer(&b, settled_by(""));
        assert_int_equal(b.job.bar, JOB_NOT_BARRED);
        assert_int_equal(b.fake.reports[REPORT_RESUMED], i + 1);
    }
    bench_done(&b);
}

/* Said once, though each turn is held anew; a lock that ends by itself is none of that. */
static void test_blocked(void **state)
{
    struct store_reply held = { .acquire = {
                                    .answer = ACQUIRE_HELD, .left_ms = -1, .holder = "cli" } };
    struct bench b;

    (void)state;
    begin(&b);
    answer(&b, held);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(b.job.bar, JOB_BLOCKED);
        assert_int_equal(b.fake.reports[REPORT_BLOCKED], 1);
        do
            bench_to_tick(&b);
        while (!fake_send(&b.fake, b.now)); /* a turn that is too late by now is not asked for */
        held.acquire.left_ms = i == 0 ? -1 : 1000;
        held.server = bench_server(&b);
        fake_reply(&b.fake, held, b.now);
    }
    assert_int_equal(b.job.bar, JOB_NOT_BARRED);
    assert_int_equal(b.fake.reports[REPORT_BLOCKED], 1);
    assert_int_equal(b.fake.reports[REPORT_RESUMED], 0);
    bench_done(&b);
}

/* --- by the configurations' texts --- */

struct device {
    struct fake fake;
    struct job_spec spec;
    struct job job;
    struct boot now;
    char room[64];
};

static void describe(void *context, char **at)
{
    (void)context;
    *at = strdup("report aaaaaaaa fleet own\n");
}

static void hello(struct device *d, bool wanted, const char *other)
{
    struct wall server = { d->now.ms + BENCH_BEGIN_MS };
    struct wall done = schedule_latest(&d->spec.schedule, server); /* nobody is called on */
    struct store_reply reply = {
        .server = server, .hello = { .fleet = 1, .wanted = wanted, .jobs = 1, .done = &done }
    };

    reply.hello.others = other ? 1 : 0;
    reply.hello.other[0] = other;
    assert_true(fake_send(&d->fake, d->now));
    assert_int_equal(d->fake.request.verb, STORE_HELLO);
    fake_reply(&d->fake, reply, d->now);
}

static void next_hello(struct device *d, const char *other)
{
    d->job.settled.ms = INT64_MAX / 4; /* its turns are not what this is about */
    d->now = d->fake.fleet.question_at;
    d->job.armed = BOOT_NEVER;
    fleet_tick(&d->fake.fleet, d->now);
    d->job.settled.ms = 0;
    hello(d, false, other);
}

static void device_init(struct device *d)
{
    *d = (struct device){ .spec = bench_short_spec(), .now = { 1000 } };
    d->spec.key = "report";
    text_copy(d->spec.fingerprint, sizeof d->spec.fingerprint, "aaaaaaaa");
    fake_init(&d->fake, "alpha", 1, (struct unit_random){ 3 });
    fleet_introduce(&d->fake.fleet,
                    &(struct fleet_self){ .version = "1",
                                          .digest = "11111111",
                                          .describe = describe,
                                          .room = d->room,
                                          .room_size = sizeof d->room },
                    d->now);
    job_init(&d->job, &d->fake.fleet, &d->spec);
    d->job.settled =
        schedule_latest(&d->spec.schedule, (struct wall){ d->now.ms + BENCH_BEGIN_MS });
    job_begin(&d->job, d->now);
}

static void read_other(struct device *d, const char *digest, const char *text)
{
    assert_true(fake_send(&d->fake, d->now));
    assert_int_equal(d->fake.request.verb, STORE_CONFIG_GET);
    assert_string_equal(d->fake.request.config.digest, digest);
    fake_reply(&d->fake,
               (struct store_reply){ .server = { d->now.ms + BENCH_BEGIN_MS },
                                     .config = { .text = text } },
               d->now);
}

/* Its own is told where it is wanted; each other is read once. */
static void test_texts(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    hello(&d, true, "22222222");
    assert_true(fake_send(&d.fake, d.now));
    assert_int_equal(d.fake.request.verb, STORE_CONFIG_PUT);
    assert_string_equal(d.fake.request.config.digest, "11111111");
    assert_string_equal(d.fake.request.config.text, "report aaaaaaaa fleet own\n");
    fake_reply(&d.fake, (struct store_reply){ .server = { d.now.ms + BENCH_BEGIN_MS } }, d.now);
    read_other(&d, "22222222", "report bbbbbbbb fleet own\nother cccccccc device own\n");
    assert_int_equal(d.fake.reports[REPORT_MIXED], 1);
    assert_int_equal(d.fake.reports[REPORT_MISMATCH], 0); /* which is another job's */
    assert_false(d.job.apart);
    next_hello(&d, "22222222");
    assert_false(fake_send(&d.fake, d.now));
    fake_done(&d.fake);
}

/* Another lock, which goes first: no turns are taken here for as long as that is in use. */
static void test_apart(void **state)
{
    struct device d;
    struct boot end;

    (void)state;
    device_init(&d);
    d.spec.lock_key = "second";
    hello(&d, false, "22222222");
    read_other(&d, "22222222", "report bbbbbbbb fleet key first\n");
    assert_true(d.job.apart);
    assert_int_equal(d.fake.reports[REPORT_APART], 1);
    for (end = boot_add(d.now, HOUR_MS); !boot_reached(d.job.armed, end); job_tick(&d.job, d.now)) {
        assert_int_equal(d.job.state, JOB_WAITING);
        d.now = boot_max(d.now, d.job.armed);
    }
    assert_int_equal(d.job.counters.illegal, 0);
    next_hello(&d, NULL);
    assert_false(d.job.apart);
    assert_true(d.job.delay_ms >= 0); /* it asks again */
    next_hello(&d, "22222222");
    read_other(&d, "22222222", "report bbbbbbbb fleet key first\n");
    assert_true(d.job.apart);
    assert_int_equal(d.fake.reports[REPORT_APART], 2);
    fake_done(&d.fake);
}

/* That a configuration is in use no more is no news to a job that did not stand apart. */
static void test_never_apart(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    hello(&d, false, "22222222");
    read_other(&d, "22222222", "report aaaaaaaa fleet own\n");
    d.job.prints_said[0] = 1;
    next_hello(&d, NULL);
    assert_false(d.job.apart);
    assert_int_equal(d.job.prints_said[0], 1);
    fake_done(&d.fake);
}

/* Found while a question waits to be sent: it is taken back. */
static void test_apart_takes_the_question_back(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    d.spec.lock_key = "second";
    hello(&d, false, "22222222");
    d.now = d.job.armed;
    job_tick(&d.job, d.now);
    assert_int_equal(d.job.state, JOB_ASKING);
    read_other(&d, "22222222", "report bbbbbbbb fleet key first\n");
    assert_false(fake_send(&d.fake, d.now));
    assert_int_equal(d.job.state, JOB_WAITING);
    assert_int_equal(d.job.delay_ms, -1);
    fake_done(&d.fake);
}

/* One that goes after ours: said, and the job goes on, for else nobody would run it. */
static void test_ahead(void **state)
{
    struct device d;

    (void)state;
    device_init(&d);
    hello(&d, false, "22222222");
    read_other(&d, "22222222", "report bbbbbbbb fleet key first\n");
    assert_false(d.job.apart);
    assert_int_equal(d.fake.reports[REPORT_APART], 0);
    assert_int_equal(d.fake.reports[REPORT_AHEAD], 1);
    assert_true(d.job.delay_ms >= 0);
    fake_done(&d.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),    cmocka_unit_test(test_own_former),
        cmocka_unit_test(test_mismatch), cmocka_unit_test(test_outdated),
        cmocka_unit_test(test_newer),    cmocka_unit_test(test_paused),
        cmocka_unit_test(test_blocked),  cmocka_unit_test(test_texts),
        cmocka_unit_test(test_apart),    cmocka_unit_test(test_apart_takes_the_question_back),
        cmocka_unit_test(test_ahead),    cmocka_unit_test(test_never_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
