/* SPDX-License-Identifier: MIT
 * A device's own store, as supervisor/local.c has it beside Redis: for jobs without a lock, and for
 * turns that it takes alone. It is gone with its supervisor. */
#include "base/text.h"
#include "core/call_queue.h"
#include "core/fleet_clock.h"
#include "sim.h"
#include <stdlib.h>
#include <string.h>

struct local_job {
    struct memory_lock lock;
    struct memory_claim record;
    struct boot since;
    struct job_alone alone;
};

struct local {
    struct call_queue queue;
    bool known;              /* there is a time that can be believed */
    int64_t offset_ms;       /* time = boot + offset */
    struct local_job jobs[]; /* of the plan */
};

/* Its own clock may be off a little; before it was set, nobody believes it. */
static bool own_time(const struct device *d, struct wall *ret_time)
{
    if (!d->wall_set)
        return false;
    ret_time->ms = d->sim->now_ms + d->wall_error_ms;
    return true;
}

static bool read_time(const struct device *d, struct boot now, struct wall *ret_time)
{
    if (!d->fleet.clock.known)
        return own_time(d, ret_time);
    *ret_time = fleet_clock_at(&d->fleet.clock, now);
    return true;
}

static bool asks_it(const struct job_spec *spec)
{
    return spec->lock == LOCK_NONE || spec->run_unreachable;
}

/* No device of a fleet has one that no job of it ever asks. */
static bool is_needed(const struct plan *p)
{
    for (unsigned i = 0; i < p->jobs; i++)
        if (asks_it(&p->table[i].specs[0]) || asks_it(&p->table[i].specs[1]))
            return true;
    return false;
}

void local_init(struct device *d)
{
    const struct plan *p = &d->sim->plan;

    if (!is_needed(p))
        return;
    d->local = sim_new(sizeof *d->local + p->jobs * sizeof *d->local->jobs);
    for (unsigned i = 0; i < p->jobs; i++) {
        d->local->jobs[i].record.lock = &d->local->jobs[i].lock;
        d->local->jobs[i].since = device_boot(d);
    }
}

void local_join(struct device *d, unsigned job)
{
    if (device_spec(d, job)->run_unreachable)
        job_alone_init(&d->local->jobs[job].alone, &d->jobs[job]);
}

void local_done(struct device *d)
{
    free(d->local);
    d->local = NULL;
}

void local_submit(struct device *d, struct store_call *call)
{
    call_queue_push(&d->local->queue, call);
}

void local_cancel(struct device *d, struct store_call *call)
{
    if (call->state == CALL_QUEUED)
        call_queue_remove(&d->local->queue, call);
}

/* A lease and a wait last as long as they were meant to, whatever becomes of the clock. */
static void move_record(struct memory_claim *r, int64_t by_ms)
{
    r->lock->until.ms += by_ms;
    r->expires.ms += by_ms;
    if (r->retry.ms != 0)
        r->retry.ms += by_ms;
    for (unsigned i = 0; i < MEMORY_SCHEDULES_MAX; i++)
        r->sights[i].until.ms += by_ms;
}

static void set_time(struct device *d, struct boot now, struct wall time)
{
    struct local *l = d->local;
    int64_t moved = time.ms - now.ms - l->offset_ms;

    l->offset_ms += moved;
    for (unsigned i = 0; l->known && i < d->sim->plan.jobs; i++) {
        if (l->jobs[i].record.turn.ms != 0)
            move_record(&l->jobs[i].record, moved);
        if (moved <= -2000)
            l->jobs[i].since = now;
    }
    l->known = true;
}

/* What was due before it began has passed; so has what lies in the future, once the clock was set
 * back. */
static void mend(struct device *d, struct local_job *job, struct wall now,
                 const struct store_request *q)
{
    struct memory_claim *r = &job->record;
    int64_t top = r->turn.ms > r->done.ms ? r->turn.ms : r->done.ms;
    bool ahead = !memory_holder(r->lock, now)[0] && top > now.ms && top > q->next.ms;
    struct wall since = { job->since.ms + d->local->offset_ms };

    if (r->turn.ms != 0 && now.ms <= r->expires.ms && !ahead)
        return;
    r->turn.ms = r->paused.ms = 0;
    memory_assume(r, now, q->job, schedule_latest(&q->job->schedule, since));
    check_noted(d, (unsigned)(job - d->local->jobs), since);
}

/* As in the shared store. */
static void note_end(struct device *d, unsigned job, const struct store_request *q)
{
    const struct memory_claim *r = &d->local->jobs[job].record;

    if (q->outcome == OUTCOME_DECLINED && q->job->attempts > 1 && !r->ended &&
        strcmp(r->token, q->token) == 0)
        check_given_back(&d->checks[job], q->turn.ms);
}

static void answer(struct device *d, struct store_call *call, struct wall now)
{
    struct flight f = { .device = d, .call = call, .local = true, .sent = device_boot(d) };
    struct local_job *job;
    struct job_spec alone;
    unsigned i;

    if (!call->compose(call, f.sent, &f.request))
        return;
    for (i = 0; device_spec(d, i) != f.request.job; i++)
        ;
    job = &d->local->jobs[i];
    alone = *f.request.job;
    alone.scope = SCOPE_FLEET;
    f.request.job = &alone;
    if (f.request.verb == STORE_ACQUIRE)
        mend(d, job, now, &f.request);
    else if (f.request.verb == STORE_FINISH)
        note_end(d, i, &f.request);
    memory_answer(&job->record, now, &f.request, &f.reply);
    if (f.request.verb == STORE_ACQUIRE)
        f.reply.acquire.fence = 0;
    f.reply.sent = f.reply.received = f.sent;
    d->answering = &f;
    call->answer(call, &f.reply);
    d->answering = NULL;
}

bool local_waits(const struct device *d)
{
    struct wall time;

    return d->local && call_queue_count(&d->local->queue) > 0 &&
           read_time(d, device_boot(d), &time);
}

void local_move(struct device *d)
{
    struct boot now = device_boot(d);
    struct wall time = { 0 };
    struct store_call *call;

    if (d->links[0].state == LINK_WAITING && !d->fleet.clock.known && own_time(d, &time))
        fleet_own_time(&d->fleet, now, time);
    if (!d->local)
        return;
    for (size_t left = call_queue_count(&d->local->queue); left > 0 && local_waits(d); left--) {
        (void)read_time(d, now, &time);
        set_time(d, now, time);
        call = call_queue_pop(&d->local->queue);
        if (call)
            answer(d, call, time);
    }
}
