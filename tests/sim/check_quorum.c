/* SPDX-License-Identifier: MIT
 * What a quorum of servers is to keep as a whole. What it cannot, because more of them lost data or
 * leases than it takes, is excused, and counted. */
#include "sim.h"
#include <string.h>

static unsigned majority(const struct sim *s)
{
    return s->plan.quorum / 2 + 1; /* not as the core counts it */
}

static void excuse(struct run *r)
{
    if (!r->excused)
        r->device->sim->tally.quorum_excused++;
    r->excused = true;
}

/* At most of the servers it has its lock, by their own clocks. */
static void check_held(struct sim *s, struct run *r)
{
    unsigned held = 0, lost = 0;

    for (unsigned i = 0; i < s->plan.quorum; i++) {
        const struct server *server = &s->servers[i];
        const struct memory_lock *lock = server->copy.jobs[r->record].record.lock;
        bool has = strcmp(memory_holder(lock, server_clock(s, server)), r->token) == 0;

        held += has;
        lost += !has && server->lost_ms >= r->asked_ms;
    }
    if (held >= majority(s))
        return;
    if (held + lost >= majority(s))
        excuse(r);
    else
        check_breach(s, "%s #%u: %s, turn %lld, is alive, and has its lock at %u servers of %u",
                     r->device->name, r->device->number, r->spec->name, (long long)r->turn.ms, held,
                     s->plan.quorum);
}

static void check_pair(struct sim *s, struct run *a, struct run *b)
{
    if (b->local || b->device->frozen ||
        plan_lock(&s->plan, a->record) != plan_lock(&s->plan, b->record))
        return;
    if (a->excused || b->excused)
        excuse(a);
    else
        check_breach(s, "%s runs on %s #%u (turn %lld) and %s on %s #%u (turn %lld)", a->spec->name,
                     a->device->name, a->device->number, (long long)a->turn.ms, b->spec->name,
                     b->device->name, b->device->number, (long long)b->turn.ms);
}

void check_quorum_living(struct sim *s)
{
    struct run *r, *other;

    LIST_FOREACH(r, &s->living, living)
    {
        s->checks[r->record].active_ms = s->now_ms;
        check_of(s, r->device, r->spec, r->record)->active_ms = s->now_ms;
        if (!r->device->frozen && !r->local)
            check_held(s, r);
    }
    LIST_FOREACH(r, &s->living, living)
    {
        if (r->device->frozen || r->local)
            continue;
        for (other = LIST_NEXT(r, living); other; other = LIST_NEXT(other, living))
            check_pair(s, r, other);
    }
}

/* So many servers have had a success of the turn, or of a newer one, since before then. */
static unsigned count_done(const struct sim *s, unsigned record, int64_t turn, int64_t before_ms)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->plan.quorum; i++) {
        const struct ledger *l = &s->servers[i].copy.jobs[record].ledger;

        count += l->done >= turn && l->done_ms < before_ms;
    }
    return count;
}

/* Or takes records for those of the future (rule 8). */
static bool has_lost_since(const struct sim *s, int64_t since_ms)
{
    for (unsigned i = 0; i < s->plan.quorum; i++)
        if (s->servers[i].lost_ms >= since_ms || server_is_off(&s->servers[i]))
            return true;
    return false;
}

static void check_once(struct sim *s, const struct run *r)
{
    struct job_check *c = &s->checks[r->record];

    if (count_done(s, r->record, r->turn.ms, r->asked_ms) >= majority(s))
        check_breach(s, "%s #%u: %s, turn %lld, is started, and most servers have it as done",
                     r->device->name, r->device->number, r->spec->name, (long long)r->turn.ms);
    if (r->turn.ms > c->recorded || c->told_ms >= r->asked_ms)
        return;
    if (!has_lost_since(s, c->recorded_ms))
        check_breach(s, "%s #%u: %s, turn %lld, is started, and was told to be done",
                     r->device->name, r->device->number, r->spec->name, (long long)r->turn.ms);
    s->tally.again_after_loss++;
}

/* Nothing runs that most servers have as paused since before it was asked for. */
static void check_paused(struct sim *s, const struct run *r)
{
    unsigned paused = 0;

    for (unsigned i = 0; i < s->plan.quorum; i++) {
        const struct ledger *l = &s->servers[i].copy.jobs[r->record].ledger;

        paused +=
            l->held_until_ms > server_clock(s, &s->servers[i]).ms && l->held_since_ms < r->asked_ms;
    }
    if (paused >= majority(s) && !r->again) /* else it was granted before */
        check_breach(s, "%s #%u: %s, turn %lld, is started, and most servers have it as paused",
                     r->device->name, r->device->number, r->spec->name, (long long)r->turn.ms);
}

void check_quorum_started(struct sim *s, const struct run *r)
{
    if (r->local)
        return;
    if (r->fence != 0)
        check_breach(s, "%s: a quorum gives the fence %llu", r->spec->name,
                     (unsigned long long)r->fence);
    if (r->by_hand)
        return;
    check_once(s, r);
    check_paused(s, r);
}

void check_quorum_recorded(struct device *d, const struct store_request *q, int64_t sent_ms)
{
    struct sim *s = d->sim;
    unsigned record = plan_record_of(&s->plan, q->job);
    struct job_check *c = &s->checks[record];

    if (q->outcome == OUTCOME_DECLINED && q->job->attempts > 1)
        check_given_back(c, q->turn.ms);
    if (!outcome_settles(q->outcome))
        return;
    if (count_done(s, record, q->turn.ms, QUEUE_NEVER) < majority(s) && !has_lost_since(s, sent_ms))
        check_breach(s, "%s #%u: %s, turn %lld, is told to be done, and is not at most servers",
                     d->name, d->number, q->job->name, (long long)q->turn.ms);
    check_settled(c, q->job->attempts);
    if (q->turn.ms <= c->recorded)
        return;
    c->recorded = q->turn.ms;
    c->recorded_ms = sent_ms;
    c->told_ms = s->now_ms;
}

void check_quorum_lost(struct sim *s, struct server *server)
{
    server->lost_ms = s->now_ms;
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        check_forget(s, &s->checks[i]);
        check_forget(s, &server->checks[i]);
    }
}

void check_quorum_stepped(struct sim *s, struct server *server, int64_t by_ms)
{
    s->stepped_back = s->stepped_back || by_ms < 0;
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        check_forget_instants(s, &server->copy.jobs[i]);
    check_quorum_lost(s, server);
}
