/* SPDX-License-Identifier: MIT */
#include "core/fleet.h"
#include "core/job_internal.h"

/* A move of fleet time that is worth moving timers for; less is the noise of round trips. */
#define FLEET_MOVED_MS 20
/* A jump that is worth a line (DESIGN section 6). */
#define FLEET_JUMP_MS 2000

static struct fleet *fleet_of(struct store_call *call)
{
    return (struct fleet *)((char *)call - offsetof(struct fleet, clock_call));
}

static bool compose_clock(struct store_call *call, struct boot now,
                          struct store_request *ret_request)
{
    (void)call;
    (void)now;
    *ret_request = (struct store_request){ .verb = STORE_CLOCK };
    return true;
}

static void submit_clock(struct fleet *f)
{
    f->clock_retry = BOOT_NEVER;
    f->wake_stale = true;
    f->port->submit(f->port->context, &f->clock_call, false);
}

static void report_unanswered(struct fleet *f, const struct store_reply *reply)
{
    struct report r = {
        .kind = REPORT_UNANSWERED, .verb = STORE_CLOCK, .fault = reply->fault, .text = reply->error
    };

    f->clock_fault = reply->fault;
    f->faults[reply->fault]++;
    f->port->report(f->port->context, NULL, &r);
}

static void report_answered(struct fleet *f)
{
    struct report r = { .kind = REPORT_ANSWERED, .verb = STORE_CLOCK, .fault = f->clock_fault };

    if (f->clock_fault == FAULT_NONE)
        return;
    f->clock_fault = FAULT_NONE;
    f->port->report(f->port->context, NULL, &r);
}

static void set_wake(struct fleet *f, struct boot at)
{
    f->wake = at;
    f->port->arm(f->port->context, at);
}

static void wake_by(struct fleet *f, struct boot at)
{
    if (at.ms < f->wake.ms)
        set_wake(f, at);
}

static void ask_later(struct fleet *f, const struct store_reply *reply)
{
    uint64_t random;

    f->port->random(f->port->context, &random, sizeof random);
    fault_set_windows(reply->fault, 0, &f->clock_backoff);
    f->clock_retry = boot_add(reply->received, backoff_next_ms(&f->clock_backoff, random));
    wake_by(f, f->clock_retry);
}

static void answer_clock(struct store_call *call, const struct store_reply *reply)
{
    struct fleet *f = fleet_of(call);

    if (reply->status == STORE_ANSWERED) {
        f->clock_asked = false;
        backoff_reset(&f->clock_backoff);
        report_answered(f);
        fleet_sample(f, reply);
        return;
    }
    report_unanswered(f, reply);
    if (reply->status == STORE_NO_ANSWER)
        submit_clock(f);
    else
        ask_later(f, reply);
}

void fleet_init(struct fleet *f, const struct core_port *port, const char *device, uint32_t slots)
{
    *f = (struct fleet){
        .port = port,
        .lease_env = { .ops = &job_lease_ops, .port = port, .device = device },
        .clock_call = { .compose = compose_clock, .answer = answer_clock },
        .clock_retry = BOOT_NEVER,
        .wake = BOOT_NEVER,
        .jobs_end = &f->jobs,
        .size = 1,
        .slots = slots,
    };
}

void fleet_done(struct fleet *f)
{
    f->port->cancel(f->port->context, &f->clock_call);
}

void fleet_want_clock(struct fleet *f)
{
    if (f->clock.known || f->clock_asked)
        return;
    f->clock_asked = true;
    submit_clock(f);
}

/* The earliest instant later than `after`. */
static struct boot earliest(const struct fleet *f, struct boot after)
{
    struct boot at = f->clock_retry.ms > after.ms ? f->clock_retry : BOOT_NEVER;

    for (const struct job *j = f->jobs; j; j = j->next_in_fleet)
        if (j->armed.ms > after.ms && j->armed.ms < at.ms)
            at = j->armed;
    return at;
}

void fleet_settle_timer(struct fleet *f)
{
    struct boot at;

    if (!f->wake_stale)
        return;
    f->wake_stale = false;
    at = earliest(f, (struct boot){ INT64_MIN });
    if (at.ms != f->wake.ms)
        set_wake(f, at);
}

void fleet_rearm(struct fleet *f, const struct job *j, struct boot former)
{
    if (former.ms <= f->wake.ms && j->armed.ms > former.ms)
        f->wake_stale = true;
    wake_by(f, j->armed);
}

/* What this arms for `now` anew waits for the next call, so that it comes to an end. The timer that
 * led here is spent: it is set in any case. */
void fleet_tick(struct fleet *f, struct boot now)
{
    struct boot at = earliest(f, (struct boot){ INT64_MIN });

    for (; at.ms != BOOT_NEVER.ms && boot_reached(now, at); at = earliest(f, at)) {
        if (f->clock_retry.ms == at.ms)
            submit_clock(f);
        for (struct job *j = f->jobs; j; j = j->next_in_fleet)
            if (j->armed.ms == at.ms)
                job_tick(j, now);
    }
    f->wake_stale = false;
    set_wake(f, earliest(f, (struct boot){ INT64_MIN }));
}

/* What the two samples could have been wrong by together is drift and lopsided trips, not a jump.
 */
static bool is_jump(const struct fleet *f, struct boot now, int64_t moved_ms, int64_t believed_ms)
{
    int64_t by = moved_ms < 0 ? time_sub_ms(0, moved_ms) : moved_ms;

    return by >= FLEET_JUMP_MS &&
           by > time_add_ms(believed_ms, fleet_clock_error_ms(&f->clock, now));
}

void fleet_sample(struct fleet *f, const struct store_reply *reply)
{
    bool first = !f->clock.known;
    int64_t believed, moved;

    if (reply->status != STORE_ANSWERED)
        return;
    believed = first ? 0 : fleet_clock_error_ms(&f->clock, reply->received);
    moved = fleet_clock_sample(&f->clock, reply->sent, reply->received, reply->server);
    if (is_jump(f, reply->received, moved, believed)) {
        struct report r = { .kind = REPORT_CLOCK_JUMP, .moved_ms = moved };

        f->port->report(f->port->context, NULL, &r);
        for (struct job *j = f->jobs; j; j = j->next_in_fleet)
            job_jumped(j, reply->received, moved);
    }
    /* Added up: a clock that drifts moves by a little with each sample. */
    f->moved_ms = time_add_ms(f->moved_ms, moved);
    if (!first && f->moved_ms < FLEET_MOVED_MS && f->moved_ms > -FLEET_MOVED_MS)
        return;
    f->moved_ms = 0;
    for (struct job *j = f->jobs; j; j = j->next_in_fleet)
        job_clock(j, reply->received);
}

uint32_t fleet_used(const struct fleet *f)
{
    uint32_t used = 0;

    for (const struct job *j = f->jobs; j; j = j->next_in_fleet)
        used += job_holds_slot(j);
    return used;
}

void fleet_slot_freed(struct fleet *f, struct boot now)
{
    struct job *first = NULL;
    struct boot former;

    if (fleet_used(f) >= f->slots)
        return;
    for (struct job *j = f->jobs; j; j = j->next_in_fleet)
        if (j->state == JOB_NO_SLOT && (!first || j->slot_since.ms < first->slot_since.ms))
            first = j;
    if (!first)
        return;
    former = first->armed;
    first->at = first->armed = now;
    fleet_rearm(f, first, former);
}

/* For an instant: each of these has a next turn, if nothing else. */
static bool waits(const struct job *j)
{
    return j->state == JOB_WAITING || j->state == JOB_NO_SLOT || j->state == JOB_WATCHING;
}

bool fleet_sound(const struct fleet *f, struct boot now, int64_t slack_ms, const char **ret_why)
{
    if (boot_reached(now, boot_add(f->clock_retry, slack_ms)) || f->clock_retry.ms < f->wake.ms) {
        *ret_why = "the question for the time has no timer, or one that is overdue";
        return false;
    }
    for (const struct job *j = f->jobs; j; j = j->next_in_fleet) {
        if (boot_reached(now, boot_add(j->armed, slack_ms))) {
            *ret_why = "a job's timer is overdue";
            return false;
        }
        if (j->armed.ms < f->wake.ms) {
            *ret_why = "a job's instant has no timer";
            return false;
        }
        if (j->armed.ms == BOOT_NEVER.ms && waits(j)) {
            *ret_why = "a job waits without a timer";
            return false;
        }
    }
    return true;
}
