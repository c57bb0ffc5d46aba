/* SPDX-License-Identifier: MIT
 * What the store's answers mean for a job. */
#include "base/text.h"
#include "core/job_internal.h"
#include "core/turns.h"

/* What an ask may be late for other reasons than catch_up: round trips, timers, a start of rotad.
 */
#define JOB_LATE_SLACK_MS 1000
/* `over` twice in a row for tokens that were never finished: a server that answers anything. */
#define JOB_OVERS_MAX 2

static struct job *job_of(struct lease *l)
{
    return (struct job *)((char *)l - offsetof(struct job, lease));
}

struct wall job_latest_due(const struct job *j, struct boot now)
{
    return schedule_latest(&j->spec->schedule, fleet_clock_at(&j->fleet->clock, now));
}

void job_settle_up_to(struct job *j, struct wall turn)
{
    if (turn.ms > j->settled.ms)
        j->settled = turn;
}

/* catch_up counts from the instant at which the question was meant to be asked: the turn's own, or
 * for a turn that was asked for before, the one that the answer gave. */
bool job_too_late(const struct job *j, struct boot now)
{
    struct boot planned = fleet_clock_when(&j->fleet->clock, j->turn);
    int64_t allowed = time_add_ms(j->spec->catch_up_ms, j->spec->splay_ms + JOB_LATE_SLACK_MS);

    planned = j->again ? j->planned : boot_max(planned, j->not_before);
    return boot_between(planned, now) > allowed;
}

static void count_missed(struct job *j, uint64_t turns)
{
    j->fleet->missed += turns;
    j->counters.passed_error += (uint32_t)turns;
}

void job_aim_at(struct job *j, struct wall turn)
{
    if (turn.ms == j->turn.ms) {
        j->newest = turn; /* which may lie behind, after the clock was set back */
        return;
    }
    if (j->unheard)
        count_missed(j, (uint64_t)job_count_since(j, turn));
    j->turn = j->newest = turn;
    j->leapt = 0;
    j->again = j->unheard = j->waited = false;
}

static bool choose(struct lease *l, struct boot now, struct wall *ret_turn, struct wall *ret_next)
{
    struct job *j = job_of(l);
    struct wall turn = job_latest_due(j, now);

    if (j->leaving || turn.ms <= j->settled.ms || !boot_reached(now, j->not_before)) {
        j->unheard = false;
        return false;
    }
    if (turn.ms != j->asked_turn.ms) {
        j->watch = j->refusals = 0;
        job_keep_holder(j, NULL);
    }
    job_aim_at(j, turn);
    if (job_too_late(j, now)) {
        struct report r = { .kind = REPORT_TOO_LATE,
                            .asked = j->unheard || j->again || j->waited,
                            .waited = j->waited };

        job_report(j, &r);
        count_missed(j, j->unheard);
        job_settle_up_to(j, turn);
        return false;
    }
    j->asked_turn = turn;
    *ret_turn = turn;
    *ret_next = schedule_next(&j->spec->schedule, turn);
    return true;
}

static void dropped(struct lease *l, struct boot now)
{
    struct job *j = job_of(l);

    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
    job_rearm(j, now);
}

static void heard(struct lease *l, const struct store_reply *reply)
{
    fleet_sample(job_of(l)->fleet, reply);
}

static void changed(struct lease *l, struct boot now)
{
    job_rearm(job_of(l), now);
}

/* The answer is about this turn. A clock that has gone behind it since it was asked for is known by
 * j->newest. */
static void answered_turn(struct job *j, struct wall turn)
{
    j->turn = turn;
    j->unheard = false;
    if (j->newest.ms > turn.ms)
        j->newest = turn;
}

/* --- granted --- */

static void report_takeover(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_TAKEOVER, .device = j->holder };

    if (!j->holder || reply->acquire.attempt < 2)
        return;
    /* Its lease began, or was renewed for the last time, a lease before it ended. */
    r.silent_ms = j->spec->timing.lease_ms + boot_between(j->holder_until, reply->received);
    job_report(j, &r);
}

static void granted(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of(l);
    struct report r = { .kind = REPORT_SPARE };
    /* By the instant of the question: where a period is shorter than the round trip, each grant
     * would else be superseded when it comes, and the job would never run. */
    bool superseded = job_latest_due(j, reply->sent).ms > reply->acquire.turn.ms;

    answered_turn(j, reply->acquire.turn);
    j->overs = 0;
    if (j->leaving || superseded || reply->acquire.answer == ACQUIRE_SPARE) {
        job_report(j, &r);
        job_happen(j, JOB_EVENT_SPARE, reply->received);
        return;
    }
    report_takeover(j, reply);
    job_keep_holder(j, NULL); /* our own next try of the turn is no takeover */
    job_happen(j, JOB_EVENT_GRANT, reply->received);
}

/* --- refused --- */

static void wait_for(struct job *j, struct boot now, int64_t in_ms)
{
    j->at = boot_add(now, in_ms);
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_AGAIN, now);
}

static void ask_again(struct job *j, struct boot now, int64_t in_ms)
{
    j->planned = boot_add(now, in_ms);
    j->again = true;
    wait_for(j, now, in_ms);
}

static void turn_is_settled(struct job *j, struct boot now, struct wall turn)
{
    job_settle_up_to(j, turn);
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
}

static void refused_held(struct job *j, const struct store_reply *reply)
{
    const struct timing *t = &j->spec->timing;
    int64_t left = reply->acquire.left_ms, in;
    char holder[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_PASSED, .device = holder, .held = true };

    if (reply->acquire.watch > 0)
        j->watch = reply->acquire.watch;
    if (reply->acquire.holder_turn.ms == j->turn.ms)
        lease_token_device(reply->acquire.holder, holder);
    job_keep_holder(j, holder);
    j->holder_until = boot_add(reply->received, left);
    if (j->refusals == 0) {
        j->counters.passed_held++;
        job_report(j, &r);
    }
    in = turns_watch_ms(j->watch, left, t->lease_ms, t->renew_ms > 0, j->refusals++);
    if (in < 0)
        turn_is_settled(j, reply->received, j->turn);
    else
        ask_again(j, reply->received, in);
}

static void refused_done(struct job *j, const struct store_reply *reply)
{
    const char *why = reply->acquire.why;
    struct report r = { .kind = REPORT_PASSED, .text = why };

    j->counters.passed_done++;
    if (text_equal(why, "assumed"))
        r.kind = REPORT_FIRST_SIGHT;
    else if (text_equal(why, "clock"))
        r.kind = REPORT_VOID;
    job_report(j, &r);
    turn_is_settled(j, reply->received,
                    reply->acquire.turn.ms > j->turn.ms ? reply->acquire.turn : j->turn);
}

static void refused_wait(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_FIRST_SIGHT, .silent_ms = reply->acquire.left_ms };

    /* Said by the device that found it, which is told to wait the whole lease. */
    if (text_equal(reply->acquire.why, "blank") && r.silent_ms >= j->spec->timing.lease_ms)
        job_report(j, &r);
    ask_again(j, reply->received, time_add_ms(reply->acquire.left_ms, 1));
}

/* By a hair, or because the server's clock was set back: then the turn that was asked for is not
 * the one to wait for. */
static void refused_early(struct job *j, const struct store_reply *reply)
{
    int64_t in = time_add_ms(reply->acquire.left_ms, 1);

    if (in <= schedule_period_ms(&j->spec->schedule))
        ask_again(j, reply->received, in);
    else
        job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, reply->received);
}

static void refused_exhausted(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_GIVEN_UP };

    j->counters.passed_done++;
    if (reply->acquire.first)
        job_report(j, &r);
    turn_is_settled(j, reply->received, j->turn);
}

static void refused_over(struct job *j, const struct store_reply *reply)
{
    lease_renew_token(&j->lease);
    if (++j->overs >= JOB_OVERS_MAX)
        turn_is_settled(j, reply->received, j->turn);
    else
        ask_again(j, reply->received, 0);
}

static void refused_paused(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_PASSED, .text = reply->acquire.why };

    job_report(j, &r);
    turn_is_settled(j, reply->received, j->turn);
}

static void refused(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of(l);

    answered_turn(j, l->turn);
    if (reply->acquire.answer != ACQUIRE_OVER)
        j->overs = 0;
    if (reply->acquire.answer != ACQUIRE_HELD)
        job_keep_holder(j, NULL); /* its run has ended, and did not go silent */
    switch (reply->acquire.answer) {
    case ACQUIRE_HELD:
        refused_held(j, reply);
        break;
    case ACQUIRE_WAIT:
        refused_wait(j, reply);
        break;
    case ACQUIRE_EARLY:
        refused_early(j, reply);
        break;
    case ACQUIRE_EXHAUSTED:
        refused_exhausted(j, reply);
        break;
    case ACQUIRE_PAUSED:
        refused_paused(j, reply);
        break;
    case ACQUIRE_OVER:
        refused_over(j, reply);
        break;
    default:
        refused_done(j, reply);
        break;
    }
}

static void rejected(struct lease *l, struct boot now, int64_t delay_ms)
{
    struct job *j = job_of(l);

    j->unheard = true;
    wait_for(j, now, delay_ms); /* not planned: errors do not stretch catch_up */
}

/* A grant that came too late to be used is an answer, but of a link that is as good as none. */
static void unanswered(struct lease *l, enum store_verb verb, const struct store_reply *reply)
{
    struct job *j = job_of(l);
    enum fault fault = reply->status == STORE_ANSWERED ? FAULT_LINK : reply->fault;
    struct report r = {
        .kind = REPORT_UNANSWERED, .verb = verb, .fault = fault, .text = reply->error
    };

    if (verb == STORE_ACQUIRE && reply->status == STORE_NO_ANSWER)
        j->counters.unknown++;
    j->fault = fault;
    j->fleet->faults[fault]++;
    job_report(j, &r);
}

static void answered(struct lease *l)
{
    struct job *j = job_of(l);
    struct report r = { .kind = REPORT_ANSWERED, .fault = j->fault };

    if (j->fault == FAULT_NONE)
        return;
    j->fault = FAULT_NONE;
    job_report(j, &r);
}

/* --- while it runs --- */

static void confirmed(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of(l);
    struct report r = { .kind = reply->renew.answer == RENEW_REGAINED ? REPORT_REGAINED
                                                                      : REPORT_RENEWED };

    job_report(j, &r);
    j->fleet->port->extend(j->fleet->port->context, j);
}

static void taken(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of(l);
    struct report r = { .kind = REPORT_TAKEN, .text = reply->renew.why };

    job_report(j, &r);
    j->stop_reason = STOP_FOR_TAKEN;
    job_happen(j, JOB_EVENT_STOP, reply->received);
}

/* --- after it --- */

void job_keep_holder(struct job *j, const char *device)
{
    j->fleet->port->keep(j->fleet->port->context, &j->holder, device);
}

void job_keep_end(struct job *j, struct boot now, enum outcome outcome, const struct run_end *end,
                  const char *detail)
{
    j->counters.outcomes[outcome]++;
    j->tree_left = !end->clean;
    j->lease.end = (struct lease_end){
        .outcome = outcome,
        .covers = job_latest_due(j, now),
        .ran_ms = end->ran_ms,
        .clean = end->clean,
    };
    j->fleet->port->keep(j->fleet->port->context, &j->lease.end.detail, detail);
}

int64_t job_count_meanwhile(struct job *j)
{
    const struct lease_end *end = &j->lease.end;
    int64_t turns = job_count_since(j, end->covers);
    /* A success covers them all; else the newest of them may still be run. */
    int64_t open = turns > 0 && !outcome_settles(end->outcome);

    j->counters.passed_running += (uint32_t)(turns - open);
    return turns;
}

static void try_again(struct job *j, struct boot now, enum outcome outcome)
{
    int64_t delay = j->spec->retry_delay_ms;
    int64_t left = boot_between(now, j->lease.expires);

    /* Where the lock is left to expire, an earlier question would only be answered `held`. */
    if (!outcome_frees_lock(outcome) && left > delay)
        delay = left;
    ask_again(j, now, time_add_ms(delay, 1));
}

static void recorded(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of(l);
    const struct lease_end *end = &l->end;
    bool again = outcome_retries(end->outcome) && !reply->finish.gave_up;
    struct report r = { .kind = REPORT_GIVEN_UP,
                        .text = end->detail ? end->detail : "", /* NULL: not found out here */
                        .outcome = end->outcome };

    if (reply->finish.gave_up)
        job_report(j, &r);
    if (outcome_settles(end->outcome))
        job_settle_up_to(j, end->covers);
    if (!again)
        job_settle_up_to(j, l->turn);
    if (j->tree_left)
        job_happen(j, JOB_EVENT_JAM, reply->received);
    else if (again)
        try_again(j, reply->received, end->outcome);
    else
        turn_is_settled(j, reply->received, l->turn);
}

static void illegal(struct lease *l, enum lease_event event)
{
    job_report_illegal(job_of(l), lease_event_name(event));
}

const struct lease_ops job_lease_ops = {
    .choose = choose,
    .dropped = dropped,
    .heard = heard,
    .changed = changed,
    .granted = granted,
    .refused = refused,
    .rejected = rejected,
    .unanswered = unanswered,
    .answered = answered,
    .confirmed = confirmed,
    .taken = taken,
    .recorded = recorded,
    .illegal = illegal,
};
