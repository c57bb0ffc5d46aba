/* SPDX-License-Identifier: MIT
 * Who operates the fleet: pauses a job now and then, resumes what is paused, and runs and stops
 * jobs of a device by hand. */
#include "base/units.h"
#include "sim.h"

#define PATIENCE_MS (3 * MINUTE_MS)

/* Of a quorum those are told that are there, if most of them are. */
static bool is_there(const struct sim *s, const struct server *server)
{
    return s->plan.quorum == 0 ||
           (s->now_ms >= server->down_until && s->now_ms >= server->stalled_until &&
            s->now_ms >= server->errors_until);
}

static bool most_are_there(const struct sim *s)
{
    unsigned count = 0;

    for (unsigned i = 0; i < plan_links(&s->plan); i++)
        count += is_there(s, &s->servers[i]);
    return count >= quorum_majority(plan_links(&s->plan));
}

static void command(struct sim *s, struct server *server, unsigned record, struct store_request *q)
{
    struct store_job *job = &server->copy.jobs[record];
    struct store_reply reply;

    q->job = &s->plan.table[plan_job_of(record)].specs[record >= PLAN_JOBS_MAX];
    memory_answer(&job->record, server_clock(s, server), q, &reply);
}

void person_call(struct sim *s, unsigned record)
{
    if (s->people[record].event.place == 0)
        queue_set(&s->queue, &s->people[record].event,
                  s->now_ms + chance_in(&s->net, SECOND_MS, PATIENCE_MS));
}

static void resume(struct sim *s, struct event *e)
{
    unsigned record = ((struct person *)((char *)e - offsetof(struct person, event)))->record;
    struct store_request q = { .verb = STORE_RESUME,
                               .resume = { .catch_up = chance_of(&s->net, 3000) } };

    if (!most_are_there(s)) {
        person_call(s, record);
        return;
    }
    trace_say(s, NULL, "%s is resumed%s", s->plan.table[plan_job_of(record)].specs[0].name,
              q.resume.catch_up ? ", to catch up" : "");
    s->tally.resumed++;
    for (unsigned i = 0; i < plan_links(&s->plan); i++) {
        struct ledger *l = &s->servers[i].copy.jobs[record].ledger;

        if (!is_there(s, &s->servers[i]))
            continue;
        command(s, &s->servers[i], record, &q);
        l->held_until_ms = 0;
        l->fails = 0;
        if (q.resume.catch_up)
            l->passed = 0;
    }
}

static unsigned any_record(const struct sim *s, struct chance *c)
{
    unsigned job = (unsigned)chance_in(c, 0, s->plan.jobs - 1);

    return plan_record(&s->plan, job, (unsigned)chance_in(c, 0, PLAN_CONFIGS - 1));
}

void person_pause(struct sim *s, struct chance *c)
{
    unsigned record = any_record(s, c);
    struct store_request q = {
        .verb = STORE_PAUSE,
        .pause = { .text = "anna: wait",
                   .for_ms = chance_of(c, 5000) ? chance_in(c, SECOND_MS, PATIENCE_MS) : 0 }
    };

    if (!most_are_there(s))
        return;
    trace_say(s, NULL, "%s is paused for %lld ms", s->plan.table[plan_job_of(record)].specs[0].name,
              (long long)q.pause.for_ms);
    for (unsigned i = 0; i < plan_links(&s->plan); i++) {
        struct server *server = &s->servers[i];
        struct ledger *l = &server->copy.jobs[record].ledger;

        if (!is_there(s, server))
            continue;
        command(s, server, record, &q);
        l->held_since_ms = s->now_ms;
        l->held_until_ms =
            q.pause.for_ms > 0 ? server_clock(s, server).ms + q.pause.for_ms : INT64_MAX;
    }
    s->checks[record].takeover.turn = 0; /* nobody takes it over now */
    if (q.pause.for_ms == 0 || chance_of(c, 3000))
        person_call(s, record);
}

static enum lease_way draw_way(struct chance *c)
{
    static const enum lease_way ways[] = { LEASE_BY_HAND, LEASE_BY_HAND, LEASE_BY_FORCE,
                                           LEASE_BY_SCHEDULE };

    return ways[chance_in(c, 0, sizeof ways / sizeof ways[0] - 1)];
}

static void run_by_hand(struct device *d, struct job *j, struct chance *c)
{
    struct boot now = device_boot(d);
    struct job_order order = { .way = draw_way(c), .until = boot_add(now, 10 * SECOND_MS) };
    enum job_obstacle obstacle = job_run_by_hand(j, now, &order);

    trace_say(d->sim, d, "%s is to be run by hand, way %d: %d", j->spec->name, order.way, obstacle);
    if (order.way == LEASE_BY_SCHEDULE)
        d->asked_ms = d->sim->now_ms;
    d->sim->tally.by_hand += obstacle == JOB_NO_OBSTACLE;
}

void person_act(struct sim *s, struct device *d, struct chance *c)
{
    struct job *j = d->jobs ? &d->jobs[chance_in(c, 0, s->plan.jobs - 1)] : NULL;

    if (!j || !d->powered || d->frozen || d->supervisor != SUPERVISOR_UP)
        return;
    if (chance_of(c, 7000))
        run_by_hand(d, j, c);
    else if (job_stop_run(j, device_boot(d), chance_of(c, 5000) ? STOP_FOR_GOOD : STOP_FOR_OTHERS))
        trace_say(s, d, "the run of %s is stopped", j->spec->name);
    device_settle(d);
}

void person_init(struct sim *s)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        s->people[i] = (struct person){ .event = { .happen = resume }, .record = i };
}
