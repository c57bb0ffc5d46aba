/* SPDX-License-Identifier: MIT
 * Who is alive, and by what right (promises 3 and 4). */
#include "base/units.h"
#include "sim.h"
#include <string.h>

/* A device moves that often in ten seconds with everything going wrong, not more. */
#define WINDOW_MS (10 * SECOND_MS)
#define STEPS_MAX 300

static int64_t longest_lease_ms(const struct sim *s)
{
    int64_t longest = 0;

    for (unsigned i = 0; i < s->plan.jobs; i++)
        if (s->plan.table[i].specs[0].timing.lease_ms > longest)
            longest = s->plan.table[i].specs[0].timing.lease_ms;
    return longest + longest / 50;
}

void check_forget(const struct sim *s, struct job_check *c)
{
    memset(c->turns, 0, sizeof c->turns);
    c->newest = c->takeover.turn = 0;
    c->settled = c->unsure = true;
    if (s->stepped_back)
        c->fence = 0;
}

static void forget_counts(struct sim *s)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        check_forget(s, &s->checks[i]);
    for (unsigned d = 0; d < s->plan.devices; d++)
        for (unsigned i = 0; s->devices[d].checks && i < s->plan.jobs; i++)
            check_forget(s, &s->devices[d].checks[i]);
}

void check_emptied(struct sim *s)
{
    s->lost_ms = s->now_ms;
    forget_counts(s);
}

void check_rolled_back(struct sim *s)
{
    check_emptied(s);
    s->overlap_free_ms = s->now_ms + longest_lease_ms(s);
}

/* By the former clock. */
void check_forget_instants(const struct sim *s, struct store_job *job)
{
    job->ledger.seen_ms = job->ledger.retry_ms = 0;
    for (unsigned d = 0; job->own && d < s->plan.devices; d++)
        job->own[d].seen_ms = job->own[d].retry_ms = job->own[d].queued_ms = 0;
}

void check_jumped(struct device *d, int64_t by_ms)
{
    trace_say(d->sim, d, "sees the fleet's clock jump by %lld ms", (long long)by_ms);
    if (by_ms < 0)
        d->sim->seen_back_ms = d->sim->now_ms;
}

/* What was run alone and not told is known to nobody then. */
void check_restarted(struct device *d)
{
    for (unsigned i = 0; i < d->sim->plan.jobs; i++)
        if (device_spec(d, i)->run_unreachable)
            check_forget(d->sim, &d->checks[i]);
}

/* By a clock that was set back, or that went ahead of the server's until its supervisor ended, it
 * comes to turns again that it has had; without a lock nobody knows of them. */
void check_noted(struct device *d, unsigned job, struct wall since)
{
    struct job_check *c = &d->checks[job];

    if (device_spec(d, job)->lock != LOCK_NONE || c->newest <= since.ms)
        return;
    trace_say(d->sim, d, "comes to turn %lld of %s again, by %lld ms", (long long)c->newest,
              device_spec(d, job)->name, (long long)(c->newest - since.ms));
    check_forget(d->sim, c);
}

/* What it has not heard of yet adds up. */
static void note_step(const struct sim *s, struct device *d, int64_t by_ms)
{
    if (d->heard_ms >= s->stepped_ms)
        d->stepped_by_ms = 0;
    d->stepped_by_ms += by_ms;
    d->saw_step = d->supervisor != SUPERVISOR_DOWN && d->fleet.clock.known;
}

void check_step(struct sim *s, int64_t by_ms)
{
    for (unsigned i = 0; i < s->plan.devices; i++)
        note_step(s, &s->devices[i], by_ms);
    s->stepped_ms = s->now_ms;
    s->stepped_back = s->stepped_back || by_ms < 0;
    if (by_ms > 0)
        s->overlap_free_ms = s->lease_free_ms = s->now_ms + longest_lease_ms(s);
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        check_forget_instants(s, &s->servers[0].copy.jobs[i]);
        check_forget_instants(s, &s->servers[1].copy.jobs[i]);
        check_forget_instants(s, &s->replica.jobs[i]);
    }
    forget_counts(s);
}

/* DESIGN names this as not covered: counted, once a run. */
static void excuse(struct run *r, uint64_t *count)
{
    if (!r->excused)
        ++*count;
    r->excused = true;
}

static void check_lease(struct sim *s, struct run *r, struct wall now)
{
    if (r->local && boot_between(r->deadline, device_boot(r->device)) <= r->spec->timing.margin_ms)
        return;
    if (!r->local && now.ms <= r->lease_until_ms)
        return;
    if (s->now_ms <= s->lease_free_ms)
        excuse(r, &s->tally.lease_excused);
    else
        check_breach(s, "%s #%u: %s, turn %lld, is alive %lld ms past its lease", r->device->name,
                     r->device->number, r->spec->name, (long long)r->turn.ms,
                     (long long)(now.ms - r->lease_until_ms));
}

static bool is_of_device(const struct run *r)
{
    return r->spec->scope == SCOPE_DEVICE;
}

/* The run has what it was granted, or the store lost it. */
static void check_lock(struct sim *s, struct run *r, struct wall now)
{
    const struct store_job *job = &s->servers[s->split ? r->server : 0].copy.jobs[r->record];
    const char *holder = is_of_device(r) ? check_seat_holder(job, r->token, now)
                                         : memory_holder(job->record.lock, now);

    if (strcmp(holder, r->token) == 0 || s->lost_ms >= r->granted_ms || r->excused ||
        s->now_ms < s->overlap_free_ms)
        return;
    check_breach(s, "%s #%u: %s, turn %lld, is alive, and its %s is %s%s", r->device->name,
                 r->device->number, r->spec->name, (long long)r->turn.ms,
                 is_of_device(r) ? "seat" : "lock", holder[0] ? "held by " : "nobody's", holder);
}

/* One lock, or the two scopes of one job. */
static bool exclude(const struct sim *s, const struct run *a, const struct run *b)
{
    if (is_of_device(a) || is_of_device(b))
        return a->record == b->record && is_of_device(a) != is_of_device(b);
    return plan_lock(&s->plan, a->record) == plan_lock(&s->plan, b->record);
}

static bool is_free_to_overlap(const struct sim *s)
{
    return s->split || s->now_ms < s->overlap_free_ms;
}

static void check_alone(struct sim *s, struct run *r)
{
    struct run *other;
    unsigned seats = 1;

    for (other = LIST_NEXT(r, living); other; other = LIST_NEXT(other, living)) {
        if (other->device->frozen || other->local)
            continue;
        seats +=
            is_of_device(r) && is_of_device(other) && r->record == other->record && !other->excused;
        if (!exclude(s, r, other))
            continue;
        if (is_free_to_overlap(s) || r->excused || other->excused)
            excuse(r, &s->tally.overlap_excused);
        else
            check_breach(s, "%s runs on %s #%u (turn %lld) and %s on %s #%u (turn %lld)",
                         r->spec->name, r->device->name, r->device->number, (long long)r->turn.ms,
                         other->spec->name, other->device->name, other->device->number,
                         (long long)other->turn.ms);
    }
    if (!is_of_device(r) || seats <= r->spec->concurrency)
        return;
    if (is_free_to_overlap(s) || r->excused)
        excuse(r, &s->tally.overlap_excused);
    else
        check_breach(s, "%s runs on %u devices at once, of %u", r->spec->name, seats,
                     r->spec->concurrency);
}

void check_living(struct sim *s)
{
    struct wall now = server_time(s);
    struct run *r;

    if (s->plan.quorum > 0) {
        check_quorum_living(s);
        return;
    }
    LIST_FOREACH(r, &s->living, living)
    {
        s->checks[r->record].active_ms = s->now_ms;
        check_of(s, r->device, r->spec, r->record)->active_ms = s->now_ms;
        if (r->device->frozen) /* it executes nothing */
            continue;
        check_lease(s, r, now);
        if (r->local)
            continue;
        check_lock(s, r, now);
        check_alone(s, r);
    }
}

/* One of those that wait for a slot takes a free one at once. */
static void check_slots(struct sim *s, const struct device *d)
{
    const struct job *waits = NULL;

    for (unsigned i = 0; i < s->plan.jobs; i++) {
        const struct job *j = &d->jobs[i];

        if (j->state == JOB_NO_SLOT && boot_reached(device_boot(d), j->armed))
            return;
        if (j->state == JOB_NO_SLOT)
            waits = j;
    }
    if (waits && fleet_used(&d->fleet) < s->plan.slots)
        check_breach(s, "%s #%u: %s waits for a slot, and one is free", d->name, d->number,
                     waits->spec->name);
}

void check_device(struct sim *s, struct device *d)
{
    const char *why = "";

    if (s->now_ms >= d->window_ms + WINDOW_MS) {
        d->window_ms = s->now_ms;
        d->window_steps = 0;
    }
    if (++d->window_steps > STEPS_MAX * plan_links(&s->plan))
        check_breach(s, "%s #%u spins: it moved %u times in %lld ms", d->name, d->number,
                     d->window_steps, (long long)(s->now_ms - d->window_ms));
    if (d->supervisor != SUPERVISOR_UP)
        return;
    if (!fleet_sound(&d->fleet, device_boot(d), 1, &why))
        check_breach(s, "%s #%u: %s", d->name, d->number, why);
    if (fleet_used(&d->fleet) > s->plan.slots)
        check_breach(s, "%s #%u uses %u slots of %u", d->name, d->number, fleet_used(&d->fleet),
                     s->plan.slots);
    check_slots(s, d);
}
