/* SPDX-License-Identifier: MIT
 * What did not happen in time: a takeover (promise 2), a run. */
#include "base/text.h"
#include "base/units.h"
#include "sim.h"
#include <string.h>

#define WATCH_MS SECOND_MS
/* From this size on not every device asks; then most are to have been able for so long. */
#define CROWD 8
#define CROWD_CALM_MS (6 * MINUTE_MS)
/* The bounds are in time of clocks that are up to 1 % off. */
#define RATES(ms) ((ms) + (ms) / 100)

static bool is_up(const struct device *d)
{
    return d->powered && !d->frozen && !d->guards_stopped && d->supervisor == SUPERVISOR_UP &&
           !d->leaving;
}

static bool was_calm_since(const struct device *d, int64_t ms)
{
    return is_up(d) && d->calm_ms <= ms && net_calm_ms(d) <= ms;
}

static const struct plan_job *job_of(const struct sim *s, unsigned record)
{
    return &s->plan.table[plan_job_of(record)];
}

/* Anyone's next turn of the job. */
static int64_t next_turn_ms(const struct sim *s, unsigned record)
{
    struct wall now = server_time(s);
    int64_t a = schedule_next(&job_of(s, record)->specs[0].schedule, now).ms;
    int64_t b = schedule_next(&job_of(s, record)->specs[1].schedule, now).ms;

    return a < b ? a : b;
}

static const struct device *watcher_of(const struct sim *s, const struct run *r)
{
    for (unsigned i = 0; i < s->plan.devices; i++) {
        const struct device *d = &s->devices[i];
        const struct job *j;

        if (d == r->device || d->config != r->device->config || !was_calm_since(d, s->now_ms))
            continue;
        j = &d->jobs[r->index];
        if (j->state == JOB_WATCHING && j->turn.ms == r->turn.ms && j->watch >= 1 && j->watch <= 2)
            return d;
    }
    return NULL;
}

/* By each server's own count, after a failure that it knows of, too. */
static bool servers_have_tries(const struct sim *s, const struct run *r)
{
    for (unsigned i = 0; i < s->plan.quorum; i++) {
        const struct memory_claim *c = &s->servers[i].copy.jobs[r->record].record;

        if (c->streak > 0 || (c->turn.ms == r->turn.ms && c->attempt >= r->spec->attempts))
            return false;
    }
    return true;
}

/* By the starts, and by the grants: one that nobody heard of was a try all the same (rule 10). */
static bool tries_remain(const struct sim *s, const struct run *r)
{
    const struct job_check *c = &s->checks[r->record];

    for (unsigned i = 0; i < SIM_TURNS_KEPT; i++) {
        const struct turn_count *t = &c->turns[i];

        if (t->turn == r->turn.ms)
            return !c->unsure && !t->refused && t->starts < t->allowed && r->attempt < t->allowed &&
                   servers_have_tries(s, r);
    }
    return false;
}

/* Another job may have its lock. */
static bool is_shared(const struct sim *s, unsigned record)
{
    for (unsigned i = 0; i < s->plan.jobs; i++)
        if (i != record && plan_lock(&s->plan, i) == plan_lock(&s->plan, record))
            return true;
    return false;
}

/* In the whole fleet, and what fell due meanwhile has passed. */
static bool is_paused(const struct sim *s, unsigned record)
{
    for (unsigned i = 0; i < plan_links(&s->plan); i++)
        if (server_time(s).ms <= s->servers[i].copy.jobs[record].ledger.held_until_ms)
            return true;
    return false;
}

/* On bad links, what a server of a quorum granted and could not be given back at once blocks it for
 * a lease, and may be the only try that it counts: two such servers cost the turn. */
static bool may_be_blocked(const struct sim *s)
{
    return s->plan.quorum > 0 && s->plan.lost + s->plan.slow > 0;
}

static void expect_takeover(struct sim *s, const struct run *r)
{
    const struct job_spec *spec = r->spec;
    int64_t bound = RATES(timing_takeover_ms(&spec->timing, spec->splay_ms));
    struct takeover *t = &s->checks[r->record].takeover;

    t->turn = 0;
    t->taker = NULL;
    /* Who hears that a job has two locks stands aside, also while it watches. */
    if (may_be_blocked(s) || spec->scope == SCOPE_DEVICE || r->local || r->by_hand ||
        is_shared(s, r->record) || is_paused(s, r->record) ||
        job_of(s, r->record)->rollout == ROLLOUT_LOCK)
        return;
    t->watcher = watcher_of(s, r);
    if (!t->watcher || !tries_remain(s, r) || s->plan.slots < s->plan.jobs ||
        server_when(s, next_turn_ms(s, r->record)) <= s->now_ms + bound)
        return;
    s->tally.takeovers_due++;
    t->turn = r->turn.ms;
    text_copy(t->token, sizeof t->token, r->token);
    t->died_ms = s->now_ms;
    t->until_ms = s->now_ms + bound;
}

void check_death(struct sim *s, const struct device *d)
{
    struct run *r;

    LIST_FOREACH(r, &s->living, living)
    if (r->device == d && !d->frozen)
        expect_takeover(s, r);
}

/* The watcher was well all the time, and so was who has the next try since it was given. */
static bool was_possible(const struct takeover *t)
{
    return was_calm_since(t->watcher, t->died_ms) &&
           (!t->taker || was_calm_since(t->taker, t->taken_ms));
}

static bool is_done(const struct sim *s, unsigned record, int64_t turn)
{
    for (unsigned i = 0; i < plan_links(&s->plan); i++)
        if (s->servers[i].copy.jobs[record].ledger.done >= turn)
            return true;
    return false;
}

static void watch_takeover(struct sim *s, unsigned record)
{
    struct takeover *t = &s->checks[record].takeover;

    if (t->turn == 0 || s->now_ms <= t->until_ms)
        return;
    if (s->calm_ms <= t->died_ms && was_possible(t) && !is_done(s, record, t->turn))
        check_breach(s, "%s: turn %lld is not taken over %lld ms after its device died, by %s #%u",
                     job_of(s, record)->specs[0].name, (long long)t->turn,
                     (long long)(s->now_ms - t->died_ms), t->watcher->name, t->watcher->number);
    t->turn = 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool most_are_calm(const struct sim *s, int64_t since_ms)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->plan.devices; i++)
        count += was_calm_since(&s->devices[i], since_ms);
    return 4 * count >= 3 * s->plan.devices;
}

/* It stands aside by the rules of roll-outs. */
static bool is_barred(const struct sim *s, const struct device *d, unsigned record)
{
    const struct plan_job *j = job_of(s, record);

    if (plan_record(&s->plan, plan_job_of(record), d->config) != record)
        return true;
    for (unsigned i = 0; i < plan_links(&s->plan); i++) {
        const struct store_job *job = &s->servers[i].copy.jobs[record];

        if ((j->rollout == ROLLOUT_LAYOUT && job->record.layout > MEMORY_LAYOUT &&
             d->config == 0) ||
            j->specs[d->config].version < job->ledger.version)
            return true;
    }
    return false;
}

/* What goes wrong with single servers of a quorum is looked at with the links to them. */
static int64_t calm_ms(const struct sim *s)
{
    return s->plan.quorum > 0 ? s->whole_ms : s->calm_ms;
}

/* Since when a device has been able to run the job, one that has been for longest. Where only a few
 * ask, those that are drawn may be the ones that cannot: then most are to have been able. */
static int64_t able_since(const struct sim *s, unsigned record)
{
    int64_t since = QUEUE_NEVER;

    if (s->plan.hello && s->plan.devices > CROWD) {
        since = s->now_ms - CROWD_CALM_MS;
        if (!most_are_calm(s, since) || job_of(s, record)->rollout >= ROLLOUT_VERSION)
            return s->now_ms;
        return later(since, calm_ms(s));
    }
    for (unsigned i = 0; i < s->plan.devices; i++) {
        const struct device *d = &s->devices[i];
        int64_t own = later(d->calm_ms, d->rounds ? net_calm_ms(d) : 0);

        if (own < since && was_calm_since(d, s->now_ms) && !is_barred(s, d, record))
            since = own;
    }
    return later(since, calm_ms(s));
}

/* A turn may pass by a lock that nobody lives to free, and one as the first that is seen. First
 * questions of device scope are spread. */
static int64_t longest_silence_ms(const struct sim *s, unsigned record)
{
    const struct job_spec *spec = &job_of(s, record)->specs[1];
    int64_t period = schedule_period_ms(&spec->schedule);
    /* Set back, the clock comes to turns again that were done already: since it was set, or a
     * device has seen that, which it may as late as by its next hello. */
    int64_t set_ms = later(s->stepped_ms, s->seen_back_ms);
    /* A period before that, one up to the next turn, and that one and the next were done (rule 8).
     */
    bool again = set_ms > 0 && s->now_ms < set_ms + 4 * period;
    int64_t spread = spec->scope == SCOPE_DEVICE ? period / 2 : spec->splay_ms;
    int64_t periods = may_be_blocked(s) ? 6 : again ? 4 : 2;

    return RATES(periods * period + 2 * spec->timing.lease_ms + spread + SECOND_MS);
}

/* Of a `lock_key`, a token that a store which lost its newest writes has anew may be another job's:
 * where the server's clock was set back too, nobody can tell how long it was to last. */
static bool is_stuck(const struct sim *s, unsigned record)
{
    const struct job_spec *spec = &job_of(s, record)->specs[1];
    const struct memory_lock *lock = &s->servers[0].copy.jobs[plan_lock(&s->plan, record)].lock;

    return spec->lock_key && lock->value[0] != '\0' &&
           lock->until.ms - server_time(s).ms > spec->timing.lease_ms;
}

/* Most jobs are not silent: only for one that is are all devices looked at. */
static void watch_silence(struct sim *s, unsigned record)
{
    int64_t since = s->checks[record].active_ms, longest_ms = longest_silence_ms(s, record);
    int64_t able_ms;

    if (s->now_ms - later(since, calm_ms(s)) <= longest_ms)
        return;
    able_ms = able_since(s, record);
    if (able_ms == QUEUE_NEVER || s->now_ms - later(since, able_ms) <= longest_ms ||
        is_stuck(s, record))
        return;
    check_breach(s, "%s: nothing ran for %lld ms, and a device could have",
                 job_of(s, record)->specs[0].name, (long long)(s->now_ms - later(since, able_ms)));
}

/* A failover brought a pause back, or nobody has thought of it. */
static void watch_pause(struct sim *s, unsigned record)
{
    for (unsigned i = 0; i < plan_links(&s->plan); i++) {
        const struct memory_pause *p = &s->servers[i].copy.jobs[record].pause;

        if (!p->why[0] || (!p->endless && server_clock(s, &s->servers[i]).ms > p->until.ms))
            continue;
        s->checks[record].active_ms = s->now_ms;
        if (p->endless)
            person_call(s, record);
    }
}

void check_watch(struct sim *s, struct event *e)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        if (!plan_has_record(&s->plan, i))
            continue;
        watch_takeover(s, i);
        watch_pause(s, i);
        /* Two locks keep no two runs apart, so neither side takes turns. */
        if (s->plan.slots >= s->plan.jobs && !s->split && job_of(s, i)->rollout != ROLLOUT_LOCK)
            watch_silence(s, i);
    }
    queue_set(&s->queue, e, s->now_ms + WATCH_MS);
}
