/* SPDX-License-Identifier: MIT
 * What the store does to a job, held against what it was told before: promises 1, 4, 5 and 7. */
#include "check_served.h"
#include <string.h>

static void check_once(struct sim *s, const struct served *v)
{
    int64_t turn = v->f->reply.acquire.turn.ms;

    if (turn > v->ledger->done)
        return;
    if (s->stepped_back) { /* the record of a turn in the future was void */
        s->tally.again_after_loss++;
        check_forget(s, v->check);
    } else {
        check_breach(s, "%s: turn %lld is granted, and %lld is recorded as done", served_name(v),
                     (long long)turn, (long long)v->ledger->done);
    }
    v->ledger->done = turn - 1;
}

static void check_fence(struct sim *s, const struct served *v)
{
    uint64_t fence = v->f->reply.acquire.fence;

    if (served_by_seat(v))
        return;
    if (served_is_new(v) && fence <= v->ledger->fence)
        check_breach(s, "%s: fence %llu is given after %llu", served_name(v),
                     (unsigned long long)fence, (unsigned long long)v->ledger->fence);
    v->ledger->fence = fence;
}

/* By hand it is: who outlived the data may run it still, until it hears of that. */
static void note_unknown(struct sim *s, const struct served *v)
{
    int64_t until = s->now_ms + v->f->request.ttl_ms + v->f->request.ttl_ms / 50;

    if (s->plan.quorum > 0) /* where each run is known to have most of the servers */
        return;
    if (v->before->record.state == MEMORY_NONE && until > s->overlap_free_ms)
        s->overlap_free_ms = until;
}

/* A job without a record is never granted at once, nor any turn within a lease of its first sight,
 * nor one that was old then. */
static void check_surprise(struct sim *s, const struct served *v)
{
    const struct job_spec *spec = v->f->request.job;
    int64_t turn = v->f->reply.acquire.turn.ms, seen = v->ledger->seen_ms;

    if (served_by_hand(v)) { /* it is none to who asks for it */
        note_unknown(s, v);
        return;
    }
    if (v->before->record.state == MEMORY_NONE)
        check_breach(s, "%s: turn %lld is granted without any record", served_name(v),
                     (long long)turn);
    else if (seen > 0 && v->now.ms < seen + spec->timing.lease_ms)
        check_breach(s, "%s: turn %lld is granted %lld ms after the job was first seen",
                     served_name(v), (long long)turn, (long long)(v->now.ms - seen));
    else if (seen > 0 && turn <= v->ledger->seen_turn && turn < seen - v->ledger->seen_fresh_ms)
        check_breach(s, "%s: turn %lld is granted, which was old when the job was first seen",
                     served_name(v), (long long)turn);
    if (turn > v->now.ms && served_is_new(v))
        check_breach(s, "%s: turn %lld is granted before it is due", served_name(v),
                     (long long)turn);
}

static void check_retry(struct sim *s, const struct served *v)
{
    if (served_is_new(v) && v->f->reply.acquire.turn.ms == v->ledger->retry_turn &&
        v->now.ms < v->ledger->retry_ms)
        check_breach(s, "%s: turn %lld is given again %lld ms before its delay is over",
                     served_name(v), (long long)v->ledger->retry_turn,
                     (long long)(v->ledger->retry_ms - v->now.ms));
}

static bool is_newer_rota(const struct sim *s, const struct served *v)
{
    const struct plan_job *j = &s->plan.table[plan_job_of(v->record)];

    return j->rollout == ROLLOUT_LAYOUT && v->f->request.job == &j->specs[1];
}

/* The device waits for this answer: it is no old message that comes late. */
static bool is_wanted(const struct served *v)
{
    const struct device *d = v->f->device;
    const struct lease *l =
        d->supervisor == SUPERVISOR_DOWN ? NULL : &d->jobs[plan_job_of(v->record)].lease;
    char token[TOKEN_SIZE];

    if (!l || (l->state != LEASE_ASKING && l->state != LEASE_UNKNOWN))
        return false;
    lease_token_text(l, token);
    return strcmp(token, v->f->token) == 0;
}

/* A grant that was not heard is asked for by its own token, until its lock is gone. One that was
 * heard may have the lock again: a failover lost its end. */
static void check_token(struct sim *s, const struct served *v)
{
    const struct ledger *l = v->ledger;
    const struct memory_claim *r = &v->before->record;

    if (served_is_new(v) && l->owner == v->f->device && l->owner_life == v->f->device->life &&
        r->state == MEMORY_RUNNING && v->f->device->supervisor == SUPERVISOR_UP &&
        v->f->device->jobs[plan_job_of(v->record)].lease.fence_seen < r->fence &&
        v->f->sent.ms > l->owner_sent.ms &&
        boot_between(l->owner_sent, v->f->sent) < v->f->request.ttl_ms &&
        strcmp(memory_holder(&v->before->lock, v->now), r->token) == 0)
        check_breach(s, "%s: %s #%u asks by a new token, and its former one has the lock",
                     served_name(v), v->f->device->name, v->f->device->number);
}

/* The first two that are refused are told so: they watch. */
static void check_place(struct sim *s, const struct served *v)
{
    struct ledger *l = v->ledger;

    if (!v->f->request.first_ask || served_by_seat(v))
        return;
    l->watch = (l->watched == v->f->request.turn.ms ? l->watch : 0) + 1;
    l->watched = v->f->request.turn.ms;
    if (v->f->reply.acquire.watch != l->watch)
        check_breach(s, "%s: the %u. to be refused turn %lld has place %u", served_name(v),
                     l->watch, (long long)l->watched, v->f->reply.acquire.watch);
}

/* Nothing runs while it is paused, nor what fell due then (rule 17). */
static void check_person(struct sim *s, const struct served *v)
{
    int64_t turn = v->f->reply.acquire.turn.ms;

    if (!served_is_new(v) || v->f->request.next.ms == STORE_NEXT_FORCED)
        return;
    if (v->now.ms <= v->whole->held_until_ms)
        check_breach(s, "%s: turn %lld is granted, and the job is paused", served_name(v),
                     (long long)turn);
    if (turn <= v->whole->passed && !s->stepped_back)
        check_breach(s, "%s: turn %lld is granted, and %lld has passed by a pause", served_name(v),
                     (long long)turn, (long long)v->whole->passed);
}

static void check_version(struct sim *s, const struct served *v)
{
    if (served_is_new(v) && v->f->request.job->version < v->whole->version)
        check_breach(s, "%s: version %u has a turn, and %u has succeeded", served_name(v),
                     v->f->request.job->version, v->whole->version);
    if (served_is_new(v) && v->before->record.layout > MEMORY_LAYOUT && !is_newer_rota(s, v))
        check_breach(s, "%s: a claim of a newer layout is written over", served_name(v));
}

/* The first sight was written down. */
static bool is_noted(const struct served *v)
{
    return v->after->record.state != MEMORY_NONE;
}

/* What became of the turn before. Where it is settled, by a late success or by the other scope, it
 * was not given up. Else its last try may be one that nobody heard of: then this turn has one. */
static void note_former(const struct served *v)
{
    const struct ledger *l = v->ledger;
    bool settled = v->before->record.done.ms >= l->newest;

    if (v->f->reply.acquire.turn.ms <= l->newest)
        return;
    if (l->newest > l->done && (settled || l->attempt >= v->f->request.job->attempts))
        v->check->unsure = true;
    if (settled)
        v->check->settled = true;
}

/* The next try of a turn whose device died was given to some device: the watcher finds the lock
 * held then, and that device is to start it. Given to a message of the past it is nobody's to
 * start. */
static void note_takeover(struct sim *s, const struct served *v)
{
    struct takeover *t = &s->checks[v->record].takeover;

    if (t->turn == 0 || t->taker || !served_is_new(v) || v->f->reply.acquire.turn.ms < t->turn)
        return;
    t->taker = v->f->device;
    t->taken_ms = s->now_ms;
    if (!is_wanted(v))
        t->turn = 0;
}

static void granted(struct sim *s, const struct served *v)
{
    note_former(v);
    if (s->plan.quorum == 0)
        note_takeover(s, v);
    check_once(s, v);
    check_fence(s, v);
    check_surprise(s, v);
    check_retry(s, v);
    check_person(s, v);
    check_version(s, v);
    v->ledger->newest = v->f->reply.acquire.turn.ms;
    v->ledger->attempt = v->f->reply.acquire.attempt;
    v->ledger->unstarted = false;
    v->ledger->watch = served_is_new(v) ? 0 : v->ledger->watch;
    v->ledger->owner = is_wanted(v) ? v->f->device : NULL;
    v->ledger->owner_life = v->f->device->life;
    v->ledger->owner_sent = v->f->sent;
}

/* A claim keeps its fence and its version no longer than its retention, which a clock that is set
 * forward can pass. */
static void forget_expired(const struct served *v)
{
    bool unknown = v->before->expired || v->before->record.state == MEMORY_NONE;

    if (!served_by_seat(v) && unknown)
        v->ledger->fence = v->check->fence = 0;
    if (v->before->expired)
        v->whole->version = 0;
}

static void check_acquired(struct sim *s, const struct served *v)
{
    enum acquire_answer answer = v->f->reply.acquire.answer;

    if (s->plan.quorum == 0) /* else what was given back may be lost on its way */
        check_token(s, v);
    served_queue(s, v);
    if (answer == ACQUIRE_GRANTED)
        granted(s, v);
    else if (answer == ACQUIRE_HELD)
        check_place(s, v);
    else if (answer == ACQUIRE_PAUSED && v->f->request.turn.ms > v->whole->passed)
        v->whole->passed = v->f->request.turn.ms;
    /* Tries are counted at the grant: those too that nobody has heard of, and started. */
    if (answer == ACQUIRE_EXHAUSTED && v->f->reply.acquire.attempt >= v->f->request.job->attempts)
        check_refused(v->check, v->f->request.turn.ms);
    if (answer == ACQUIRE_OUTDATED && v->f->request.job->version >= v->whole->version)
        check_breach(s, "%s: version %u is called outdated, and %u has succeeded", served_name(v),
                     v->f->request.job->version, v->whole->version);
    if (answer == ACQUIRE_DONE && strcmp(v->f->reply.acquire.why, "assumed") == 0 && !is_noted(v))
        check_breach(s, "%s: turn %lld is assumed done, and no record says so", served_name(v),
                     (long long)v->f->request.turn.ms);
    if (answer == ACQUIRE_DONE && strcmp(v->f->reply.acquire.why, "clock") == 0)
        check_forget(s, v->check); /* the record was void */
    else if (answer != ACQUIRE_GRANTED && answer != ACQUIRE_HELD && is_noted(v) &&
             v->before->record.state == MEMORY_NONE) {
        v->ledger->seen_ms = v->now.ms;
        v->ledger->seen_turn = v->f->request.turn.ms;
        v->ledger->seen_fresh_ms = v->f->request.fresh_ms;
    }
}

/* Nobody of the job has had a turn since (rule 6): a try that was declined was one all the same,
 * one that never started was none. And what was ended stays so (rule 5). Tries of a quorum are
 * counted by others of its servers. */
static void check_renewed(struct sim *s, const struct served *v)
{
    const struct store_request *q = &v->f->request;
    int64_t last = (int64_t)v->ledger->attempt - (v->ledger->unstarted ? 1 : 0);
    bool newer = v->ledger->newest > q->turn.ms ||
                 (v->ledger->newest == q->turn.ms && last >= (int64_t)q->attempt);

    if (v->f->reply.renew.answer == RENEW_LOST)
        return;
    if (!served_is_new(v) && v->before->record.ended)
        check_breach(s, "%s: a late renewal brings back the lock of %s, whose end is recorded",
                     served_name(v), v->f->token);
    if (s->plan.quorum == 0 && v->f->reply.renew.answer == RENEW_REGAINED && served_is_new(v) &&
        newer && !s->stepped_back)
        check_breach(s, "%s: %s takes its lock back for try %u of turn %lld, after try %u",
                     served_name(v), v->f->token, q->attempt, (long long)q->turn.ms,
                     v->ledger->attempt);
}

/* The store's own word for how long a run may live. A holder that outlived the data makes the job
 * known again. */
static void note_renewed(struct sim *s, const struct served *v)
{
    struct takeover *t = &s->checks[v->record].takeover;
    struct run *r;

    if (v->f->request.verb != STORE_ACQUIRE && served_is_new(v) &&
        strcmp(v->after->record.token, v->f->token) == 0) {
        v->ledger->seen_ms = 0;
        v->ledger->retry_ms = 0; /* it is the newest attempt, and runs */
        v->ledger->owner = NULL; /* the lock is not the newest grant's any more */
    }
    if (v->f->request.verb == STORE_FINISH || v->f->lease_until_ms == 0)
        return;
    LIST_FOREACH(r, &s->living, living)
    if (strcmp(r->token, v->f->token) == 0 && v->f->lease_until_ms > r->lease_until_ms)
        r->lease_until_ms = v->f->lease_until_ms;
    if (strcmp(t->token, v->f->token) == 0 && t->turn > 0) { /* sent before it died */
        t->until_ms += s->now_ms - t->died_ms;
        t->died_ms = s->now_ms;
    }
}

static bool keeps_lock(const struct store_request *q)
{
    return q->outcome == OUTCOME_CRASHED || q->outcome == OUTCOME_OVERRUN ||
           q->outcome == OUTCOME_LOST || !q->clean;
}

/* Who has it now; of a device's newest attempt, whether that one still has its seat. */
static const char *still_holds(const struct sim *s, const struct served *v, const char *was)
{
    const struct store_job *job = &s->servers[v->f->server].copy.jobs[v->record];

    return served_by_seat(v) ? check_seat_holder(job, was, v->now)
                             : memory_holder(&v->after->lock, v->now);
}

/* Whoever held the lock still does, unless it is the one who asks. */
static void check_holder(struct sim *s, const struct served *v)
{
    const char *was = memory_holder(&v->before->lock, v->now);
    const char *is = still_holds(s, v, was);
    bool mine = strcmp(was, v->f->token) == 0;

    if (!was[0] || strcmp(was, is) == 0)
        return;
    if (!mine)
        check_breach(s, "%s: %s takes the lock of %s away", served_name(v), v->f->token, was);
    else if (v->f->request.verb != STORE_FINISH || keeps_lock(&v->f->request))
        check_breach(s, "%s: %s frees its lock, which is to expire", served_name(v), v->f->token);
}

/* What was settled stays so, but for a record from the future. */
static void check_done(struct sim *s, const struct served *v)
{
    const struct memory_claim *a = &v->before->record, *b = &v->after->record;

    if (b->done.ms < a->done.ms && !s->stepped_back)
        check_breach(s, "%s: the newest settled turn was %lld, and is %lld now", served_name(v),
                     (long long)a->done.ms, (long long)b->done.ms);
}

void check_served(struct sim *s, const struct flight *f, unsigned record, const struct shot *before,
                  const struct shot *after)
{
    struct store_job *job = &s->servers[f->server].copy.jobs[record];
    struct served v = { .f = f,
                        .record = record,
                        .before = before,
                        .after = after,
                        .whole = &job->ledger,
                        .ledger = f->request.job->scope == SCOPE_DEVICE
                                      ? &job->own[f->device->number]
                                      : &job->ledger,
                        .check = s->plan.quorum > 0
                                     ? &s->servers[f->server].checks[record]
                                     : check_of(s, f->device, f->request.job, record),
                        .now = f->reply.server };

    if (f->request.verb != STORE_RENEW && v.now.ms > v.whole->held_until_ms)
        v.whole->held_until_ms = 0; /* for good, also where the clock is set back */
    if (f->reply.status != STORE_ANSWERED) {
        check_breach(s, "%s: the store has no room", served_name(&v));
        return;
    }
    forget_expired(&v);
    if (f->request.verb == STORE_ACQUIRE)
        check_acquired(s, &v);
    else if (f->request.verb == STORE_FINISH)
        served_finish(s, &v);
    else
        check_renewed(s, &v);
    note_renewed(s, &v);
    served_note_brake(s, &v);
    check_holder(s, &v);
    check_done(s, &v);
    served_seats(s, &v);
}
