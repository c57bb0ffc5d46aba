/* SPDX-License-Identifier: MIT */
#include "core/fleet.h"
#include "core/job_internal.h"
#include "core/slot.h"

/* A move of fleet time that is worth moving timers for; less is the noise of round trips. */
#define FLEET_MOVED_MS 20
/* A jump that is worth a line (DESIGN section 6). */
#define FLEET_JUMP_MS 2000

static struct fleet *fleet_of(struct store_call *call)
{
    return (struct fleet *)((char *)call - offsetof(struct fleet, question));
}

static bool says_hello(const struct fleet *f)
{
    return f->self.room && !(f->hello.refused && !f->clock.known);
}

/* No jobs, no traffic. */
static bool compose_question(struct store_call *call, struct boot now,
                             struct store_request *ret_request)
{
    struct fleet *f = fleet_of(call);

    (void)now;
    if (!f->jobs && f->self.room) {
        f->question_out = false;
        return false;
    }
    if (says_hello(f))
        fleet_hello_compose(f, ret_request);
    else
        *ret_request = (struct store_request){ .verb = STORE_CLOCK };
    return true;
}

static void submit_question(struct fleet *f)
{
    f->question_at = BOOT_NEVER;
    f->question_out = true;
    f->wake_stale = true;
    f->port->submit(f->port->context, &f->question, false);
}

static void report_unanswered(struct fleet *f, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_UNANSWERED,
                        .verb = f->question.verb,
                        .fault = reply->fault,
                        .text = reply->error,
                        .no_answer = reply->status == STORE_NO_ANSWER };

    f->question_fault = reply->fault;
    f->faults[reply->fault]++;
    f->port->report(f->port->context, NULL, &r);
}

static void report_answered(struct fleet *f)
{
    struct report r = { .kind = REPORT_ANSWERED,
                        .verb = f->question.verb,
                        .fault = f->question_fault };

    if (f->question_fault == FAULT_NONE)
        return;
    f->question_fault = FAULT_NONE;
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

static void ask_at(struct fleet *f, struct boot at)
{
    f->question_out = false;
    f->question_at = at;
    wake_by(f, at);
}

static void ask_later(struct fleet *f, const struct store_reply *reply, enum fault fault)
{
    uint64_t random;

    f->port->random(f->port->context, &random, sizeof random);
    fault_set_windows(fault, 0, &f->question_backoff);
    ask_at(f, boot_add(reply->received, backoff_next_ms(&f->question_backoff, random)));
}

/* Hello is refused while the time is told: jobs go on, and hello is tried again. */
static void heard_time(struct fleet *f, const struct store_reply *reply)
{
    fleet_sample(f, reply);
    if (f->self.room) {
        ask_later(f, reply, f->question_fault);
        return;
    }
    f->question_out = false;
    backoff_reset(&f->question_backoff);
    report_answered(f);
}

static void heard_hello(struct fleet *f, const struct store_reply *reply)
{
    struct boot next;

    backoff_reset(&f->question_backoff);
    report_answered(f);
    fleet_hello_size(f, reply);
    fleet_sample(f, reply);
    next = fleet_hello_heard(f, reply);
    if (boot_reached(reply->received, next))
        submit_question(f);
    else
        ask_at(f, next);
}

/* An answer that was lost after the store had heard is not worth a second hello, but where the time
 * is not known yet, or for news: the next may be a day away. */
static void missed(struct fleet *f, const struct store_reply *reply)
{
    bool news = f->hello.sliced || f->hello.news;

    if (f->clock.known && f->hello.mean_ms > 0 && !news)
        ask_at(f, fleet_hello_later(f, reply->received));
    else
        submit_question(f);
}

static void answer_question(struct store_call *call, const struct store_reply *reply)
{
    struct fleet *f = fleet_of(call);

    if (reply->status == STORE_ANSWERED) {
        if (call->verb == STORE_HELLO)
            heard_hello(f, reply);
        else
            heard_time(f, reply);
        return;
    }
    report_unanswered(f, reply);
    if (reply->status == STORE_NO_ANSWER) {
        missed(f, reply);
        return;
    }
    f->hello.refused = call->verb == STORE_HELLO;
    ask_later(f, reply, reply->fault);
}

void fleet_init(struct fleet *f, const struct core_port *port, const char *device, uint32_t slots)
{
    *f = (struct fleet){
        .port = port,
        .lease_env = { .ops = &job_lease_ops,
                       .port = port,
                       .device = device,
                       .machine = device,
                       .boot = "-" },
        .question = { .compose = compose_question,
                      .answer = answer_question,
                      .slot = slot_of_key(SLOT_FLEET_TAG) },
        .question_at = BOOT_NEVER,
        .wake = BOOT_NEVER,
        .jobs_end = &f->jobs,
        .size = 1,
        .slots = slots,
    };
    fleet_hello_init(f);
    fleet_peers_init(f);
}

void fleet_identify(struct fleet *f, const char *machine, const char *boot)
{
    f->lease_env.machine = machine;
    f->lease_env.boot = boot;
}

void fleet_introduce(struct fleet *f, const struct fleet_self *self, struct boot now)
{
    f->self = *self;
    if (!f->hello.said)
        return;
    f->hello.news = f->question_out;
    if (f->question_out)
        return;
    f->hello.sliced = true;
    ask_at(f, now);
}

void fleet_done(struct fleet *f)
{
    f->port->cancel(f->port->context, &f->question);
    fleet_hello_done(f);
    fleet_peers_done(f);
}

void fleet_want_clock(struct fleet *f)
{
    bool comes = f->question_out || f->question_at.ms != BOOT_NEVER.ms;

    if (comes || (f->clock.known && !f->self.room))
        return;
    submit_question(f);
}

void fleet_jobs_changed(struct fleet *f)
{
    f->hello.jobs_moved = true;
    fleet_peers_forget(f);
}

/* The earliest instant later than `after`. */
static struct boot earliest(const struct fleet *f, struct boot after)
{
    struct boot at = f->question_at.ms > after.ms ? f->question_at : BOOT_NEVER;

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
        if (f->question_at.ms == at.ms)
            submit_question(f);
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

/* Jobs that went by the device's own clock have another time from now on. */
static void move_own(struct fleet *f, struct boot now, int64_t moved_ms)
{
    for (struct job *j = f->jobs; j; j = j->next_in_fleet) {
        if (!j->spec->run_unreachable)
            continue;
        if (moved_ms >= FLEET_JUMP_MS || moved_ms <= -FLEET_JUMP_MS)
            job_jumped(j, now, moved_ms);
        job_clock(j, now);
    }
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
    if (first && f->own.known)
        move_own(f, reply->received, time_sub_ms(f->clock.offset_ms, f->own.offset_ms));
    /* Added up: a clock that drifts moves by a little with each sample. */
    f->moved_ms = time_add_ms(f->moved_ms, moved);
    if (!first && f->moved_ms < FLEET_MOVED_MS && f->moved_ms > -FLEET_MOVED_MS)
        return;
    f->moved_ms = 0;
    for (struct job *j = f->jobs; j; j = j->next_in_fleet)
        job_clock(j, reply->received);
}

void fleet_retry_hello(struct fleet *f, struct boot now)
{
    if (!f->hello.refused || f->hello.retried || f->question_out)
        return;
    f->hello.retried = true;
    ask_at(f, now);
}

void fleet_own_time(struct fleet *f, struct boot now, struct wall own)
{
    int64_t moved = f->own.known ? wall_between(fleet_clock_at(&f->own, now), own) : 0;

    if (f->clock.known)
        return;
    f->own = (struct fleet_clock){ .known = true,
                                   .offset_ms = time_sub_ms(own.ms, now.ms),
                                   .taken = now };
    move_own(f, now, moved);
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
        if (j->state == JOB_NO_SLOT && (!first || j->since.ms < first->since.ms))
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
    if (boot_reached(now, boot_add(f->question_at, slack_ms)) || f->question_at.ms < f->wake.ms) {
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
