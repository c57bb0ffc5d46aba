/* SPDX-License-Identifier: MIT
 * Who operates the fleet: pauses a job now and then, and resumes what is paused. */
#include "base/units.h"
#include "sim.h"

#define PATIENCE_MS (3 * MINUTE_MS)

static void command(struct sim *s, unsigned record, struct store_request *q)
{
    struct store_job *job = &s->servers[0].copy.jobs[record];
    struct store_reply reply;

    q->job = &s->plan.table[plan_job_of(record)].specs[record >= PLAN_JOBS_MAX];
    memory_answer(&job->record, server_time(s), q, &reply);
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
    struct ledger *l = &s->servers[0].copy.jobs[record].ledger;

    trace_say(s, NULL, "%s is resumed%s", s->plan.table[plan_job_of(record)].specs[0].name,
              q.resume.catch_up ? ", to catch up" : "");
    command(s, record, &q);
    s->tally.resumed++;
    l->held_until_ms = 0;
    l->fails = 0;
    if (q.resume.catch_up)
        l->passed = 0;
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
    struct ledger *l = &s->servers[0].copy.jobs[record].ledger;

    trace_say(s, NULL, "%s is paused for %lld ms", s->plan.table[plan_job_of(record)].specs[0].name,
              (long long)q.pause.for_ms);
    command(s, record, &q);
    s->checks[record].takeover.turn = 0; /* nobody takes it over now */
    l->held_until_ms = q.pause.for_ms > 0 ? server_time(s).ms + q.pause.for_ms : INT64_MAX;
    if (q.pause.for_ms == 0 || chance_of(c, 3000))
        person_call(s, record);
}

void person_init(struct sim *s)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        s->people[i] = (struct person){ .event = { .happen = resume }, .record = i };
}
