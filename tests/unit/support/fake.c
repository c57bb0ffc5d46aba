/* SPDX-License-Identifier: MIT */
#include "support/fake.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static void give_random(void *context, void *buffer, size_t size)
{
    struct fake *f = context;
    unsigned char *bytes = buffer;

    for (size_t i = 0; i < size; i++)
        bytes[i] = f->no_random ? 0 : (unsigned char)unit_random_next(&f->random);
}

static void arm(void *context, struct boot at)
{
    struct fake *f = context;

    f->armed = at;
}

static void keep(void *context, char **at, const char *text)
{
    struct fake *f = context;

    free(*at);
    *at = text && text[0] && !f->no_memory ? strdup(text) : NULL;
}

static void submit(void *context, struct store_call *call, bool urgent)
{
    struct fake *f = context;

    assert_ptr_not_equal(call, f->flying);
    for (size_t i = 0; i < f->queued_count; i++)
        assert_ptr_not_equal(call, f->queued[i]);
    assert_true(f->queued_count < FAKE_CALLS_MAX);
    if (urgent)
        memmove(&f->queued[1], &f->queued[0], f->queued_count * sizeof f->queued[0]);
    f->queued[urgent ? 0 : f->queued_count] = call;
    f->queued_count++;
}

static void cancel(void *context, struct store_call *call)
{
    struct fake *f = context;

    if (f->flying == call)
        f->flying = NULL;
    for (size_t i = 0; i < f->queued_count; i++) {
        if (f->queued[i] != call)
            continue;
        f->queued_count--;
        memmove(&f->queued[i], &f->queued[i + 1], (f->queued_count - i) * sizeof f->queued[0]);
        return;
    }
}

static int start(void *context, struct job *job)
{
    struct fake *f = context;

    if (f->start_result < 0)
        return f->start_result;
    f->starts++;
    f->started = job;
    return 0;
}

static void extend(void *context, struct job *job)
{
    struct fake *f = context;

    f->extends++;
    f->extended = job;
}

static void stop(void *context, struct job *job, enum stop_reason reason)
{
    struct fake *f = context;

    f->stops++;
    f->stopped = job;
    f->stop_reason = reason;
}

static bool is_paused(void *context, const struct job *job, struct wall turn)
{
    struct fake *f = context;

    (void)job;
    if (f->paused && turn.ms > 0)
        f->passed = turn;
    return f->paused;
}

static void report(void *context, struct job *job, const struct report *r)
{
    struct fake *f = context;

    (void)job;
    f->reports[r->kind]++;
    if (r->kind == REPORT_TAKEOVER || r->kind == REPORT_PASSED)
        text_copy(f->report_device, sizeof f->report_device, r->device ? r->device : "");
    if (r->kind == REPORT_TAKEOVER)
        f->silent_ms = r->silent_ms;
    if (r->kind == REPORT_TOO_LATE) {
        f->asked = r->asked;
        f->waited = r->waited;
    }
    if (r->kind == REPORT_CLOCK_JUMP)
        f->moved_ms = r->moved_ms;
    if (r->kind == REPORT_ENDED)
        f->meanwhile = r->meanwhile;
    if (r->kind == REPORT_BY_HAND)
        f->by_hand = r->answer ? (int)r->answer->acquire.answer : -1;
    if (r->kind == REPORT_RENEWED || r->kind == REPORT_REGAINED)
        f->left_ms = r->left_ms;
}

void fake_init(struct fake *f, const char *device, uint32_t slots, struct unit_random random)
{
    *f = (struct fake){
        .port = { .random = give_random,
                  .arm = arm,
                  .submit = submit,
                  .cancel = cancel,
                  .start = start,
                  .extend = extend,
                  .stop = stop,
                  .paused = is_paused,
                  .keep = keep,
                  .report = report },
        .random = random,
        .armed = BOOT_NEVER,
    };
    f->port.context = f;
    fleet_init(&f->fleet, &f->port, device, slots);
}

void fake_done(struct fake *f)
{
    while (f->fleet.jobs)
        job_done(f->fleet.jobs);
    fleet_done(&f->fleet);
    assert_int_equal(f->queued_count, 0);
    assert_null(f->flying);
}

bool fake_send(struct fake *f, struct boot now)
{
    assert_null(f->flying);
    while (f->queued_count > 0) {
        struct store_call *call = f->queued[0];

        cancel(f, call);
        if (!call->compose(call, now, &f->request))
            continue;
        text_copy(f->token, sizeof f->token, f->request.token ? f->request.token : "");
        text_copy(f->detail, sizeof f->detail, f->request.detail ? f->request.detail : "");
        f->request.token = f->token;
        f->request.detail = f->detail;
        call->verb = f->request.verb;
        f->flying = call;
        f->sent = now;
        return true;
    }
    return false;
}

void fake_reply(struct fake *f, struct store_reply reply, struct boot now)
{
    struct store_call *call = f->flying;

    assert_non_null(call);
    f->flying = NULL;
    reply.sent = f->sent;
    reply.received = now;
    call->answer(call, &reply);
}
