/* SPDX-License-Identifier: MIT */
#include "core/job.h"
#include "base/text.h"
#include "core/job_internal.h"
#include "core/report.h"
#include <assert.h>

typedef void job_action(struct job *j, struct boot now);

static job_action begin, know_time, ask, wait_for_slot, take_newer, start, give_back, tell_started,
    stop, close_run, jam, rest;

#define ACTIONS(X)                                                                                 \
    X(begin)                                                                                       \
    X(know_time)                                                                                   \
    X(job_plan)                                                                                    \
    X(ask)                                                                                         \
    X(wait_for_slot)                                                                               \
    X(take_newer)                                                                                  \
    X(start)                                                                                       \
    X(give_back)                                                                                   \
    X(tell_started)                                                                                \
    X(stop)                                                                                        \
    X(close_run)                                                                                   \
    X(jam)                                                                                         \
    X(rest)

#define ACTION_ENUM(name) ACTION_##name,
#define ACTION_ROW(name) [ACTION_##name] = (name),

/* A cell has an action's number, in one byte: a pointer would be most of the table, and each one is
 * written when the program is loaded. */
enum action { ACTION_NONE, ACTIONS(ACTION_ENUM) } __attribute__((packed));
static job_action *const actions[] = { ACTIONS(ACTION_ROW) };

struct cell {
    enum action action; /* ACTION_NONE: illegal */
    enum job_state next;
};

/* clang-format off */
#define GO(to, act) { .action = ACTION_##act, .next = JOB_##to }
#define ON(event) [JOB_EVENT_##event]

static const struct cell table[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    [JOB_OFF] = {
        ON(BEGIN)     = GO(NO_CLOCK, begin),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_NO_CLOCK] = {
        ON(CLOCK)     = GO(WAITING, know_time),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_WAITING] = {
        ON(CLOCK)     = GO(WAITING, job_plan),
        ON(DRAW)      = GO(WAITING, job_plan),
        ON(DUE)       = GO(ASKING, ask),
        ON(FULL)      = GO(NO_SLOT, wait_for_slot),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_NO_SLOT] = {
        ON(DUE)       = GO(ASKING, ask),
        ON(NEWER)     = GO(NO_SLOT, take_newer),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_ASKING] = {
        ON(NEWER)     = GO(ASKING, take_newer),
        ON(SETTLE)    = GO(WAITING, job_plan),
        ON(AGAIN)     = GO(WATCHING, rest),
        ON(GRANT)     = GO(STARTING, start),
        ON(SPARE)     = GO(CLOSING, give_back),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_WATCHING] = {
        ON(DUE)       = GO(ASKING, ask),
        ON(FULL)      = GO(NO_SLOT, wait_for_slot),
        ON(SETTLE)    = GO(WAITING, job_plan),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_STARTING] = {
        ON(STARTED)   = GO(RUNNING, tell_started),
        ON(STILLBORN) = GO(CLOSING, give_back),
        ON(STOP)      = GO(STOPPING, stop),
        ON(END)       = GO(CLOSING, close_run),
    },
    [JOB_RUNNING] = {
        ON(STOP)      = GO(STOPPING, stop),
        ON(END)       = GO(CLOSING, close_run),
    },
    [JOB_STOPPING] = {
        ON(STARTED)   = GO(STOPPING, tell_started),
        ON(STOP)      = GO(STOPPING, rest),
        ON(END)       = GO(CLOSING, close_run),
    },
    [JOB_CLOSING] = {
        ON(SETTLE)    = GO(WAITING, job_plan),
        ON(AGAIN)     = GO(WATCHING, rest),
        ON(EMPTIED)   = GO(CLOSING, rest),
        ON(JAM)       = GO(STUCK, jam),
        ON(LEAVE)     = GO(OFF, rest),
    },
    [JOB_STUCK] = {
        ON(EMPTIED)   = GO(WAITING, job_plan),
        ON(LEAVE)     = GO(OFF, rest),
    },
};
/* clang-format on */

void job_report(struct job *j, const struct report *r)
{
    j->fleet->port->report(j->fleet->port->context, j, r);
}

static void set_state(struct job *j, enum job_state next, enum job_event event, struct boot now)
{
    struct report r = { .kind = REPORT_STATE, .from = j->state, .to = next, .event = event };
    bool held = job_holds_slot(j);

    j->state = next;
    if (r.from == JOB_ASKING && r.to != JOB_ASKING)
        job_hand_over(j);
    if (r.from != r.to)
        job_report(j, &r);
    /* Who stops waiting for a slot passes the word on: there may be another, or this one was not
     * taken. */
    if ((held && !job_holds_slot(j)) || (r.from == JOB_NO_SLOT && r.to != JOB_NO_SLOT))
        fleet_slot_freed(j->fleet, now);
}

void job_happen(struct job *j, enum job_event event, struct boot now)
{
    const struct cell *c = &table[j->state][event];

    if (c->action == ACTION_NONE) {
        job_report_illegal(j, job_event_name(event));
        return;
    }
    set_state(j, c->next, event, now);
    actions[c->action](j, now);
}

void job_report_illegal(struct job *j, const char *event)
{
    struct report r = { .kind = REPORT_ILLEGAL, .text = event, .from = j->state };

    j->counters.illegal++;
    job_report(j, &r);
}

/* --- actions --- */

static void rest(struct job *j, struct boot now)
{
    (void)j;
    (void)now;
}

static void begin(struct job *j, struct boot now)
{
    fleet_want_clock(j->fleet);
    if (job_time(j)->known)
        job_happen(j, JOB_EVENT_CLOCK, now);
}

static void know_time(struct job *j, struct boot now)
{
    job_alone_begin(j, now);
    job_plan(j, now);
}

static void ask(struct job *j, struct boot now)
{
    if (job_hand_asks(j)) {
        job_hand_ask(j, now);
        return;
    }
    j->lease.way = LEASE_BY_SCHEDULE;
    job_aim_at(j, job_latest_due(j, now));
    j->unheard = j->unheard || (!j->again && !job_too_late(j, now));
    j->queued = false;
    j->lease.call.local = j->spec->lock == LOCK_NONE;
    job_alone_plan(j, now);
    job_owed_urge(j);
    if (!job_owes(j)) /* else when that is told */
        lease_ask(&j->lease, now);
}

static void wait_for_slot(struct job *j, struct boot now)
{
    j->queued = false;
    j->since = now;
    j->at = BOOT_NEVER;
    job_aim_at(j, job_latest_due(j, now));
    j->waited = true;
}

static void take_newer(struct job *j, struct boot now)
{
    job_aim_at(j, job_latest_due(j, now));
    if (j->state == JOB_ASKING)
        job_alone_plan(j, now);
    j->unheard = j->state == JOB_ASKING;
    j->waited = j->state == JOB_NO_SLOT;
}

static void start(struct job *j, struct boot now)
{
    struct report r = { .kind = REPORT_STILLBORN };

    r.error = j->fleet->port->start(j->fleet->port->context, j);
    if (r.error >= 0)
        return;
    j->counters.outcomes[OUTCOME_UNSTARTED]++;
    job_report(j, &r);
    job_happen(j, JOB_EVENT_STILLBORN, now);
}

static void give_back(struct job *j, struct boot now)
{
    j->lease.end = (struct lease_end){ .outcome = OUTCOME_UNSTARTED, .clean = true };
    close_run(j, now);
}

static void tell_started(struct job *j, struct boot now)
{
    struct report r = { .kind = REPORT_STARTED };

    (void)now;
    job_report(j, &r);
}

static void stop(struct job *j, struct boot now)
{
    (void)now;
    j->fleet->port->stop(j->fleet->port->context, j, j->stop_reason);
}

static void close_run(struct job *j, struct boot now)
{
    job_alone_plan(j, now);
    lease_finish(&j->lease, now);
}

static void jam(struct job *j, struct boot now)
{
    struct report r = { .kind = REPORT_STUCK };

    (void)now;
    job_report(j, &r);
}

/* --- calls from the supervisor --- */

void job_init(struct job *j, struct fleet *fleet, const struct job_spec *spec)
{
    *j = (struct job){
        .state = JOB_OFF,
        .fleet = fleet,
        .spec = spec,
        .armed = BOOT_NEVER,
        .not_before = { INT64_MIN }, /* turns may be older than the boot clock */
    };
    lease_init(&j->lease, &fleet->lease_env, spec);
    *fleet->jobs_end = j;
    fleet->jobs_end = &j->next_in_fleet;
    fleet_jobs_changed(fleet);
}

void job_done(struct job *j)
{
    struct job **at = &j->fleet->jobs;

    while (*at && *at != j)
        at = &(*at)->next_in_fleet;
    if (*at)
        *at = j->next_in_fleet;
    if (j->fleet->jobs_end == &j->next_in_fleet)
        j->fleet->jobs_end = at;
    fleet_jobs_changed(j->fleet);
    if (job_hand_asks(j)) /* the process ends */
        j->fleet->hand.job = NULL;
    job_keep_holder(j, NULL);
    job_alone_done(j);
    lease_done(&j->lease);
}

void job_begin(struct job *j, struct boot now)
{
    assert(!j->spec->run_unreachable || j->alone);
    j->leaving = false;
    job_happen(j, JOB_EVENT_BEGIN, now);
    job_rearm(j, now);
}

void job_leave(struct job *j, struct boot now, bool stop_run)
{
    j->leaving = true;
    switch (j->state) {
    case JOB_STARTING:
    case JOB_RUNNING:
        if (stop_run)
            (void)job_stop_run(j, now, STOP_FOR_SERVICE);
        break;
    case JOB_ASKING:
        if (lease_drop(&j->lease, now))
            job_happen(j, JOB_EVENT_LEAVE, now);
        break;
    case JOB_STOPPING:
    case JOB_CLOSING:
    case JOB_STUCK:
        break; /* they leave when their run is told, or gone */
    default:
        job_happen(j, JOB_EVENT_LEAVE, now);
        break;
    }
    job_rearm(j, now);
}

void job_respecify(struct job *j, const struct job_spec *spec)
{
    j->spec = spec;
    j->lease.spec = spec;
}

void job_started(struct job *j, struct boot now, struct boot first_instruction)
{
    j->since = first_instruction;
    job_happen(j, JOB_EVENT_STARTED, now);
    job_rearm(j, now);
}

void job_ended(struct job *j, struct boot now, const struct run_end *end)
{
    enum outcome outcome = job_outcome(end);
    char detail[STORE_TEXT_SIZE];
    struct report r = { .kind = REPORT_ENDED,
                        .outcome = outcome,
                        .ran_ms = end->ran_ms,
                        .text = detail,
                        .asked = end->stop != RUN_NOT_STOPPED };

    /* One that nobody waits for must not replace one that is still to be told. */
    if (table[j->state][JOB_EVENT_END].action == ACTION_NONE) {
        job_happen(j, JOB_EVENT_END, now);
        return;
    }
    text_copy(detail, sizeof detail, end->detail);
    job_keep_end(j, now, outcome, end, detail);
    r.meanwhile = job_count_meanwhile(j);
    job_report(j, &r);
    job_happen(j, JOB_EVENT_END, now);
    job_rearm(j, now);
}

void job_emptied(struct job *j, struct boot now)
{
    struct report r = { .kind = REPORT_UNSTUCK };

    if (!j->tree_left)
        return;
    j->tree_left = false;
    job_report(j, &r);
    job_happen(j, j->state == JOB_STUCK && j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_EMPTIED, now);
    fleet_slot_freed(j->fleet, now);
    job_rearm(j, now);
}

const struct fleet_clock *job_time(const struct job *j)
{
    const struct fleet *f = j->fleet;

    return j->spec->run_unreachable && !f->clock.known ? &f->own : &f->clock;
}

struct wall job_next_turn(const struct job *j, struct boot now)
{
    struct wall wall = fleet_clock_at(job_time(j), now);

    return schedule_next(&j->spec->schedule, wall.ms > j->settled.ms ? wall : j->settled);
}

bool job_holds_slot(const struct job *j)
{
    switch (j->state) {
    case JOB_ASKING:
    case JOB_STARTING:
    case JOB_RUNNING:
    case JOB_STOPPING:
    case JOB_STUCK:
        return true;
    default:
        return j->tree_left;
    }
}

bool job_cell(enum job_state state, enum job_event event, enum job_state *ret_next)
{
    if (table[state][event].action == ACTION_NONE)
        return false;
    *ret_next = table[state][event].next;
    return true;
}
