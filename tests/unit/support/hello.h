/* SPDX-License-Identifier: MIT
 * A device whose hello is played: what it asks, and what it is answered. */
#ifndef ROTA_TESTS_HELLO_H
#define ROTA_TESTS_HELLO_H
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

static inline struct wall server(const struct device *d)
{
    return (struct wall){ d->now.ms + BENCH_BEGIN_MS };
}

static inline struct wall latest(const struct device *d)
{
    return schedule_latest(&d->specs[0].schedule, server(d));
}

static inline void introduce(struct device *d, size_t room_size, int64_t checkin_ms)
{
    fleet_introduce(&d->fake.fleet,
                    &(struct fleet_self){ .version = "1.2.3",
                                          .digest = "abcd1234",
                                          .checkin_ms = checkin_ms,
                                          .room = d->room,
                                          .room_size = room_size },
                    d->now);
}

static inline void device_init(struct device *d, size_t room_size)
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

static inline void done(struct device *d)
{
    const char *why = "";

    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(d->jobs[i].counters.illegal, 0);
    if (!fleet_sound(&d->fake.fleet, d->now, 1, &why))
        fail_msg("%s", why);
    fake_done(&d->fake);
}

static inline size_t count_words(const char *text)
{
    size_t words = text[0] != '\0';

    for (; *text; text++)
        words += *text == ' ';
    return words;
}

/* Sends the next request, which has to be hello, and answers it. Returns its weight. */
static inline int64_t say(struct device *d)
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
static inline void to_next(struct device *d)
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
#endif
