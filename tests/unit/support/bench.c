/* SPDX-License-Identifier: MIT */
#include "support/bench.h"

#include "base/units.h"
#include <string.h>

#define BOOT_BEGIN_MS 5000

static struct job_spec spec_with(int64_t worst_case_ms)
{
    struct job_spec spec = {
        .name = "job",
        .key = "job",
        .schedule = { .every_ms = BENCH_PERIOD_MS },
        .timing = { .worst_case_ms = worst_case_ms,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = 10 * SECOND_MS,
                    .lease_cap_ms = 60 * SECOND_MS },
        .splay_ms = SECOND_MS,
        .catch_up_ms = BENCH_PERIOD_MS,
        .retry_delay_ms = 7 * SECOND_MS,
        .attempts = 3,
    };
    int64_t smallest;

    assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    return spec;
}

struct job_spec bench_short_spec(void)
{
    return spec_with(10 * SECOND_MS);
}

struct job_spec bench_renewed_spec(void)
{
    return spec_with(600 * SECOND_MS);
}

void bench_begin(struct bench *b, const struct job_spec *spec, bool settled)
{
    struct unit_random random = { 1 };

    *b = (struct bench){ .spec = *spec,
                         .now = { BOOT_BEGIN_MS },
                         .server_ahead_ms = BENCH_BEGIN_MS - BOOT_BEGIN_MS };
    fake_init(&b->fake, "alpha", 1, random);
    job_init(&b->job, &b->fake.fleet, &b->spec);
    if (b->spec.run_unreachable)
        job_alone_init(&b->alone, &b->job);
    job_begin(&b->job, b->now);
    assert_int_equal(b->job.state, JOB_NO_CLOCK);
    if (settled)
        b->job.settled = bench_turn(b);
    assert_true(fake_send(&b->fake, b->now));
    assert_int_equal(b->fake.request.verb, STORE_CLOCK);
    fake_reply(&b->fake,
               (struct store_reply){ .status = STORE_ANSWERED, .server = bench_server(b) }, b->now);
    assert_int_equal(b->job.state, JOB_WAITING);
}

void bench_done(struct bench *b)
{
    const char *why = "";

    if (!fleet_sound(&b->fake.fleet, b->now, 1, &why))
        fail_msg("%s, in state %s", why, job_state_name(b->job.state));
    assert_int_equal(b->job.counters.illegal, 0);
    fake_done(&b->fake);
}

struct wall bench_server(const struct bench *b)
{
    return (struct wall){ b->now.ms + b->server_ahead_ms };
}

struct wall bench_turn(const struct bench *b)
{
    return schedule_latest(&b->spec.schedule, bench_server(b));
}

void bench_pass(struct bench *b, int64_t ms)
{
    struct boot end = boot_add(b->now, ms);

    while (boot_reached(end, b->job.armed)) {
        struct boot at = b->job.armed;

        b->now = boot_max(b->now, at);
        job_tick(&b->job, b->now);
        if (b->job.armed.ms == at.ms)
            fail_msg("armed again at %lld in state %s", (long long)at.ms,
                     job_state_name(b->job.state));
    }
    b->now = end;
}

void bench_to_tick(struct bench *b)
{
    assert_true(b->job.armed.ms < BOOT_NEVER.ms);
    bench_pass(b, boot_between(b->now, b->job.armed));
}

void bench_to_question(struct bench *b)
{
    assert_int_equal(b->job.state, JOB_WAITING);
    bench_to_tick(b);
    assert_int_equal(b->job.state, JOB_ASKING);
}

void bench_send(struct bench *b, enum store_verb verb)
{
    assert_true(fake_send(&b->fake, b->now));
    assert_int_equal(b->fake.request.verb, verb);
}

void bench_silent(struct bench *b)
{
    assert_false(fake_send(&b->fake, b->now));
}

static void reply(struct bench *b, struct store_reply r)
{
    r.server = bench_server(b);
    fake_reply(&b->fake, r, b->now);
}

void bench_grant(struct bench *b, uint32_t attempt)
{
    struct wall turn = b->fake.request.turn;

    reply(b, (struct store_reply){ .acquire = { .answer = ACQUIRE_GRANTED,
                                                .attempt = attempt,
                                                .fence = 40 + attempt,
                                                .turn = turn.ms ? turn : bench_server(b) } });
}

void bench_held(struct bench *b, int64_t left_ms, const char *holder, uint32_t watch)
{
    reply(b, (struct store_reply){ .acquire = { .answer = ACQUIRE_HELD,
                                                .left_ms = left_ms,
                                                .holder = holder,
                                                .holder_turn = b->fake.request.turn,
                                                .fence = 40,
                                                .watch = watch } });
}

void bench_refuse(struct bench *b, enum acquire_answer answer, int64_t left_ms, const char *why)
{
    reply(b, (struct store_reply){ .acquire = { .answer = answer,
                                                .left_ms = left_ms,
                                                .turn = b->fake.request.turn,
                                                .holder = "",
                                                .why = why } });
}

void bench_renewed(struct bench *b, enum renew_answer answer)
{
    reply(b, (struct store_reply){ .renew = { .answer = answer, .why = "bravo" } });
}

void bench_recorded(struct bench *b, bool gave_up)
{
    reply(b, (struct store_reply){ .finish = { .held = true, .gave_up = gave_up } });
}

void bench_no_answer(struct bench *b)
{
    reply(b, (struct store_reply){ .status = STORE_NO_ANSWER, .error = "no reply came" });
}

void bench_error(struct bench *b)
{
    reply(b, (struct store_reply){ .status = STORE_ERROR, .error = "LOADING" });
}

void bench_ask(struct bench *b)
{
    bench_to_question(b);
    bench_send(b, STORE_ACQUIRE);
}

void bench_run(struct bench *b)
{
    bench_ask(b);
    bench_pass(b, 10);
    bench_grant(b, 1);
    assert_int_equal(b->job.state, JOB_STARTING);
    job_started(&b->job, b->now, b->now);
    assert_int_equal(b->job.state, JOB_RUNNING);
}

void bench_return(struct bench *b, int result)
{
    job_ended(
        &b->job, b->now,
        &(struct run_end){
            .exit = RUN_RETURNED, .result = result, .ran_ms = 5, .clean = true, .detail = "" });
}

void bench_end(struct bench *b, enum run_exit how, enum run_stop stop, bool clean)
{
    job_ended(&b->job, b->now,
              &(struct run_end){ .exit = how,
                                 .stop = stop,
                                 .reason = b->fake.stop_reason,
                                 .ran_ms = 5,
                                 .clean = clean,
                                 .detail = "as told" });
}
