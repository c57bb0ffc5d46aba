/* SPDX-License-Identifier: MIT
 * if_unreachable = "run": a turn that the shared store cannot be asked for is taken by this device
 * alone, and what became of it is told to that store as soon as it can be reached, by the finish of
 * a run that it never granted; so the turn is settled there too, for a device that has restarted
 * since. In the same manner the end of a run that the store has granted is told, so that the turns
 * after it need not wait for that.
 *
 * Why nothing runs twice that succeeded: this process knows by `settled` that it did; and the
 * shared store is asked for nothing of the job again before it has recorded what it is owed,
 * however often that is lost or answered by an error. A question that was sent and not answered is
 * waited for until whatever it was granted has run out; and a turn that was granted once is left to
 * the shared store, which counts its tries. What is left is a device that dies, or a job that is
 * taken away, before the store was told (promise 1). Only the newest run is told: of a turn before
 * it the store is never asked again. */
#include "core/job_internal.h"
#include "core/slot.h"

static struct job_alone *alone_of(struct store_call *call)
{
    return (struct job_alone *)((char *)call - offsetof(struct job_alone, owed.call));
}

static const struct core_port *port_of(const struct job *j)
{
    return j->fleet->port;
}

/* --- going on without --- */

/* What it takes to find out that the shared store cannot be asked. */
static int64_t patience_ms(const struct job *j)
{
    const struct timing *t = &j->spec->timing;

    return t->connect_timeout_ms + t->command_timeout_ms;
}

void job_alone_plan(struct job *j, struct boot now)
{
    if (j->alone)
        j->alone->at =
            j->lease.call.local || job_hand_asks(j) ? BOOT_NEVER : boot_add(now, patience_ms(j));
}

void job_alone_begin(struct job *j, struct boot now)
{
    if (j->alone)
        j->alone->shared = job_latest_due(j, now);
}

void job_alone_granted(struct job *j)
{
    if (j->alone && !j->lease.call.local)
        j->alone->shared = j->turn;
}

/* The end that cannot be told is owed, and the job goes on. */
static void close_alone(struct job *j, struct boot now)
{
    const struct lease_end *end = &j->lease.end;
    bool gave_up = end->outcome == OUTCOME_REFUSED ||
                   (outcome_retries(end->outcome) && j->lease.attempt >= job_attempts(j));

    if (j->leaving) /* it waits until that is told */
        return;
    job_owe(j);
    lease_close(&j->lease, now, gave_up);
}

static void ask_alone(struct job *j, struct boot now)
{
    bool is_shared = j->turn.ms <= j->alone->shared.ms;

    if (is_shared && !j->lease.quiet) /* else nobody would repeat the question */
        return;
    if (!lease_drop(&j->lease, now)) {
        /* A server that hangs takes each repeat, and may grant it. */
        lease_hush(&j->lease);
        j->alone->at = boot_max(lease_unknown_until(&j->lease), boot_add(now, patience_ms(j)));
    } else if (j->leaving) {
        job_happen(j, JOB_EVENT_LEAVE, now);
    } else {
        j->lease.call.local = !is_shared;
        lease_ask(&j->lease, now);
    }
}

static bool waits_for_shared(const struct job *j)
{
    return j->state == JOB_ASKING || j->state == JOB_CLOSING;
}

void job_alone_tick(struct job *j, struct boot now)
{
    if (!j->alone || !waits_for_shared(j) || !boot_reached(now, j->alone->at))
        return;
    j->alone->at = BOOT_NEVER;
    if (j->state == JOB_ASKING)
        ask_alone(j, now);
    else
        close_alone(j, now);
}

struct boot job_alone_wake(const struct job *j)
{
    if (!j->alone)
        return BOOT_NEVER;
    return waits_for_shared(j) ? boot_min(j->alone->at, j->alone->owed.at) : j->alone->owed.at;
}

/* --- telling it --- */

static void submit(struct job *j)
{
    struct job_owed *o = &j->alone->owed;

    o->at = BOOT_NEVER;
    o->out = true;
    port_of(j)->submit(port_of(j)->context, &o->call, true);
}

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    struct job *j = alone_of(call)->job;
    struct job_owed *o = &j->alone->owed;

    (void)now;
    o->stale = false;
    o->out = o->token != NULL;
    if (!o->token) /* memory was short */
        return false;
    *ret_request = (struct store_request){
        .verb = STORE_FINISH,
        .job = j->spec,
        .token = o->token,
        .device = j->fleet->lease_env.machine,
        .boot = j->fleet->lease_env.boot,
        .turn = o->turn,
        .attempt = o->attempt,
        .outcome = o->outcome,
        .covers = o->covers,
        .ran_ms = o->ran_ms,
        .detail = o->detail ? o->detail : "",
        .clean = o->clean,
    };
    return true;
}

static void forget(struct job *j)
{
    port_of(j)->keep(port_of(j)->context, &j->alone->owed.token, NULL);
    port_of(j)->keep(port_of(j)->context, &j->alone->owed.detail, NULL);
}

/* Its question waits for what is owed. */
static bool is_held_back(const struct job *j)
{
    return j->state == JOB_ASKING && j->lease.state == LEASE_NONE;
}

/* A question that was held back meanwhile fares as though it had been answered so. */
static void tell_later(struct job *j, const struct store_reply *reply)
{
    struct job_owed *o = &j->alone->owed;
    struct backoff backoff = { .failures = o->failures };
    uint64_t random;

    port_of(j)->random(port_of(j)->context, &random, sizeof random);
    fault_set_windows(reply->fault, 0, &backoff);
    o->at = boot_add(reply->received, backoff_next_ms(&backoff, random));
    o->failures = backoff.failures;
    if (is_held_back(j))
        job_lease_ops.rejected(&j->lease, reply->received, boot_between(reply->received, o->at));
}

static void is_told(struct job *j, struct boot now)
{
    forget(j);
    if (is_held_back(j))
        lease_ask(&j->lease, now);
}

static void answer(struct store_call *call, const struct store_reply *reply)
{
    struct job *j = alone_of(call)->job;
    struct job_owed *o = &j->alone->owed;

    o->out = false;
    fleet_sample(j->fleet, reply);
    if (reply->status == STORE_ANSWERED && reply->finish.stopped)
        job_report_brake(j);
    if (reply->status != STORE_ANSWERED && is_held_back(j))
        job_lease_ops.unanswered(&j->lease, STORE_FINISH, reply);
    if (reply->status == STORE_ERROR) {
        tell_later(j, reply);
    } else {
        o->failures = 0;
        if (reply->status == STORE_NO_ANSWER || o->stale)
            submit(j);
        else
            is_told(j, reply->received);
    }
    job_rearm(j, reply->received);
}

void job_alone_init(struct job_alone *alone, struct job *j)
{
    *alone = (struct job_alone){
        .job = j,
        .at = BOOT_NEVER,
        .owed = { .call = { .compose = compose, .answer = answer, .slot = slot_of_job(j->spec) },
                  .at = BOOT_NEVER },
    };
    j->alone = alone;
}

void job_owe(struct job *j)
{
    const struct lease *l = &j->lease;
    struct job_owed *o = &j->alone->owed;
    char token[TOKEN_SIZE];

    lease_token_text(l, token);
    port_of(j)->keep(port_of(j)->context, &o->token, token);
    port_of(j)->keep(port_of(j)->context, &o->detail, l->end.detail);
    o->turn = l->turn;
    o->covers = l->end.covers;
    o->ran_ms = l->end.ran_ms;
    o->attempt = l->attempt;
    o->outcome = l->end.outcome;
    o->clean = l->end.clean;
    o->stale = o->out;
    if (!o->out)
        submit(j);
}

bool job_owes(const struct job *j)
{
    return j->alone && j->alone->owed.token;
}

void job_owed_tick(struct job *j, struct boot now)
{
    if (j->alone && boot_reached(now, j->alone->owed.at))
        submit(j);
}

void job_owed_urge(struct job *j)
{
    if (j->alone && j->alone->owed.at.ms != BOOT_NEVER.ms)
        submit(j);
}

void job_alone_done(struct job *j)
{
    if (!j->alone)
        return;
    port_of(j)->cancel(port_of(j)->context, &j->alone->owed.call);
    forget(j);
}
