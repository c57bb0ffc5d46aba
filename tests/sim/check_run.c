/* SPDX-License-Identifier: MIT
 * What is started: no turn more often than it may be (promise 6), fences that grow, and nothing by
 * a clock that jumped (promise 7). */
#include "base/units.h"
#include "sim.h"

/* A device that has heard nothing for a while is so far from the server, by clocks that are 1 %
 * apart: it sees no jump where the turn would have been due by then. */
#define ESTIMATE_MS (30 * SECOND_MS)

static struct turn_count *count_of(struct job_check *c, int64_t turn)
{
    struct turn_count *oldest = c->turns;

    for (unsigned i = 0; i < SIM_TURNS_KEPT; i++) {
        if (c->turns[i].turn == turn)
            return &c->turns[i];
        if (c->turns[i].turn < oldest->turn)
            oldest = &c->turns[i];
    }
    return oldest;
}

/* After a turn that was given up there is one try each, until one succeeds; one that is given back
 * does not change that. */
static bool is_single(struct job_check *c, int64_t turn)
{
    const struct turn_count *former = count_of(c, c->newest);

    return c->newest > 0 && c->newest < turn && !c->settled && former->turn == c->newest &&
           (former->refused || former->single || former->starts >= former->allowed);
}

struct job_check *check_of(struct sim *s, struct device *d, const struct job_spec *spec,
                           unsigned record)
{
    bool own = spec->scope == SCOPE_DEVICE || spec->lock == LOCK_NONE;

    return own ? &d->checks[record] : &s->checks[record];
}

static struct turn_count begin(const struct sim *s, const struct run *r, struct job_check *c)
{
    bool single = c == &s->checks[r->record] && s->plan.quorum == 0 && is_single(c, r->turn.ms);
    unsigned tries = r->spec->attempts;

    /* Each server counts its own grants, and its own failures. */
    if (s->plan.quorum > 0 && !r->local)
        tries = tries * s->plan.quorum / quorum_majority(s->plan.quorum);
    return (
        struct turn_count){ .turn = r->turn.ms, .allowed = single ? 1 : tries, .single = single };
}

static void count(struct sim *s, const struct run *r)
{
    struct job_check *c = check_of(s, r->device, r->spec, r->record);
    struct turn_count *t = count_of(c, r->turn.ms);

    /* Granted before the clock was set back: it comes again, with all its tries. */
    if (s->stepped_back && r->turn.ms > server_time(s).ms)
        return;
    if (t->turn != r->turn.ms) {
        *t = begin(s, r, c);
        if (r->turn.ms > c->newest) {
            c->newest = r->turn.ms;
            c->settled = false;
        }
    }
    if (++t->starts > t->allowed && !s->split)
        check_breach(s, "%s #%u: %s, turn %lld, is started for the %u. time, of %u",
                     r->device->name, r->device->number, r->spec->name, (long long)r->turn.ms,
                     t->starts, t->allowed);
}

void check_settled(struct job_check *c, unsigned attempts)
{
    struct turn_count *newest = count_of(c, c->newest);

    c->settled = true;
    c->unsure = false;
    if (newest->turn != c->newest)
        return;
    newest->allowed = attempts;
    newest->single = false;
}

void check_refused(struct job_check *c, int64_t turn)
{
    struct turn_count *t = count_of(c, turn);

    if (t->turn == turn)
        t->refused = true;
}

void check_given_back(struct job_check *c, int64_t turn)
{
    struct turn_count *t = count_of(c, turn);

    if (t->turn == turn && t->starts > 0)
        t->starts--;
}

static void check_jump(struct sim *s, const struct run *r)
{
    const struct job_spec *spec = r->spec;
    int64_t without = server_time(s).ms - r->device->stepped_by_ms;
    int64_t stood = server_time(s).ms - (s->now_ms - s->stepped_ms);

    if (r->local || /* it goes by what it knows of the clock, and asks nobody */
        r->device->asked_ms >= s->stepped_ms || r->device->stepped_by_ms < 2 * SECOND_MS ||
        !r->device->saw_step || r->turn.ms <= without + ESTIMATE_MS || r->turn.ms > stood ||
        s->now_ms >= s->stepped_ms + spec->timing.lease_ms * 99 / 100)
        return;
    check_breach(s, "%s #%u: %s, turn %lld, runs %lld ms after the clock jumped to it",
                 r->device->name, r->device->number, spec->name, (long long)r->turn.ms,
                 (long long)(s->now_ms - s->stepped_ms));
}

static void check_turn(struct sim *s, const struct run *r)
{
    const struct job_spec *spec = r->spec;

    if (r->turn.ms % spec->schedule.every_ms != spec->schedule.offset_ms)
        check_breach(s, "%s: %lld is no turn of its schedule", spec->name, (long long)r->turn.ms);
}

static void check_fence(struct sim *s, const struct run *r)
{
    struct job_check *c = &s->checks[r->record];

    if (r->spec->scope == SCOPE_DEVICE || r->local)
        return;
    if (r->fence <= c->fence && s->now_ms >= s->overlap_free_ms && !s->split)
        check_breach(s, "%s: a run has fence %llu, and one before it had %llu", r->spec->name,
                     (unsigned long long)r->fence, (unsigned long long)c->fence);
    c->fence = r->fence;
}

void check_started(struct sim *s, const struct run *r)
{
    struct job_check *c = &s->checks[r->record];

    if (!r->by_hand) {
        count(s, r);
        check_jump(s, r);
        check_turn(s, r);
    }
    if (s->plan.quorum > 0)
        check_quorum_started(s, r);
    else
        check_fence(s, r);
    c->active_ms = s->now_ms;
    check_of(s, r->device, r->spec, r->record)->active_ms = s->now_ms;
    if (c->takeover.turn > 0 && r->turn.ms >= c->takeover.turn)
        c->takeover.turn = 0;
}
