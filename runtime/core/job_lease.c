/* SPDX-License-Identifier: MIT
 * What the store's answers mean for a job. */
#include "base/text.h"
#include "core/job_internal.h"

/* What an ask may be late for other reasons than catch_up: round trips, timers, a start of rotad.
 */
#define JOB_LATE_SLACK_MS 1000

struct job *job_of_lease(struct lease *l)
{
    return (struct job *)((char *)l - offsetof(struct job, lease));
}

struct wall job_latest_due(const struct job *j, struct boot now)
{
    return schedule_latest(&j->spec->schedule, fleet_clock_at(job_time(j), now));
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
    struct boot planned = fleet_clock_when(job_time(j), j->turn);
    int64_t allowed = time_add_ms(j->spec->catch_up_ms, j->spec->splay_ms + JOB_LATE_SLACK_MS);

    if (j->spec->scope == SCOPE_DEVICE && j->drawn_for.ms == j->turn.ms)
        planned = boot_add(planned, j->delay_ms);
    planned = j->again ? j->planned : boot_max(planned, j->not_before);
    return boot_between(planned, now) > allowed;
}

static void count_missed(struct job *j, uint64_t turns)
{
    j->fleet->missed += turns;
    j->counters.passed_error += (uint32_t)turns;
}

/* One that was refused before it waited is in the count of those. */
static bool never_had_a_slot(const struct job *j)
{
    return j->waited && j->refusals == 0;
}

void job_aim_at(struct job *j, struct wall turn)
{
    if (turn.ms == j->turn.ms) {
        j->newest = turn; /* which may lie behind, after the clock was set back */
        return;
    }
    if (j->unheard)
        count_missed(j, (uint64_t)job_count_since(j, turn));
    else if (never_had_a_slot(j))
        j->counters.passed_full += (uint32_t)job_count_since(j, turn);
    j->turn = j->newest = turn;
    j->leapt = 0;
    j->again = j->unheard = j->waited = false;
    j->watch = j->refusals = 0;
    job_keep_holder(j, NULL);
}

static bool choose(struct lease *l, struct boot now, struct wall *ret_turn)
{
    struct job *j = job_of_lease(l);
    struct wall turn = job_latest_due(j, now);

    if (job_hand_asks(j))
        return job_hand_choose(j, now, ret_turn);
    if (j->leaving || j->apart || turn.ms <= j->settled.ms || !boot_reached(now, j->not_before) ||
        job_hand_pauses(j, now)) {
        j->unheard = j->waited = false;
        return false;
    }
    job_aim_at(j, turn);
    if (job_too_late(j, now)) {
        struct report r = { .kind = REPORT_TOO_LATE,
                            .asked = j->unheard || j->again || j->waited,
                            .waited = j->waited };

        job_report(j, &r);
        count_missed(j, j->unheard);
        j->counters.passed_full += !j->unheard && never_had_a_slot(j);
        j->unheard = j->waited = false;
        job_settle_up_to(j, turn);
        return false;
    }
    *ret_turn = turn;
    return true;
}

static int64_t spread_ms(const struct lease *l)
{
    const struct job *j = (const struct job *)((const char *)l - offsetof(struct job, lease));

    if (job_hand_asks(j)) /* as though its turn were due now */
        return INT64_C(1) << 52;
    return l->turn.ms == j->drawn_for.ms ? j->spread_ms : 0;
}

/* By a token of its own, or one that gave way to a run by hand. */
static bool watches(const struct lease *l)
{
    const struct job *j = (const struct job *)((const char *)l - offsetof(struct job, lease));

    return j->watch > 0 && l->turn.ms == j->turn.ms;
}

static void dropped(struct lease *l, struct boot now)
{
    struct job *j = job_of_lease(l);

    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
    job_rearm(j, now);
}

static void heard(struct lease *l, const struct store_reply *reply)
{
    struct fleet *f = job_of_lease(l)->fleet;

    if (l->call.local) /* this device's own time, or fleet time as it is known here */
        return;
    fleet_sample(f, reply);
    if (reply->status == STORE_ANSWERED)
        fleet_retry_hello(f, reply->received);
}

static void changed(struct lease *l, struct boot now)
{
    job_rearm(job_of_lease(l), now);
}

/* A clock that has gone behind it since it was asked for is known by j->newest. */
void job_answered_turn(struct job *j, struct wall turn)
{
    j->turn = turn;
    j->unheard = j->waited = false;
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

static void report_alone(struct job *j)
{
    struct report r = { .kind = REPORT_ALONE };

    if (j->lease.call.local && j->spec->run_unreachable)
        job_report(j, &r);
}

static void granted(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of_lease(l);
    struct report r = { .kind = REPORT_SPARE };
    /* By the instant of the question: where a period is shorter than the round trip, each grant
     * would else be superseded when it comes, and the job would never run. */
    bool superseded =
        !job_is_by_hand(j) && job_latest_due(j, reply->sent).ms > reply->acquire.turn.ms;
    bool unwanted = j->leaving || superseded || job_hand_is_given_up(j) ||
                    reply->acquire.answer == ACQUIRE_SPARE;

    job_hand_tell(j, unwanted ? NULL : reply);
    job_answered_turn(j, reply->acquire.turn);
    if (l->way != LEASE_WITHOUT_LOCK)
        job_alone_granted(j);
    j->overs = j->splits = 0;
    if (unwanted) {
        job_report(j, &r);
        job_happen(j, JOB_EVENT_SPARE, reply->received);
        return;
    }
    if (l->way == LEASE_BY_SCHEDULE || l->way == LEASE_BY_HAND) /* else it may be paused still */
        job_versions_heard(j, reply);
    report_takeover(j, reply);
    report_alone(j);
    job_keep_holder(j, NULL); /* our own next try of the turn is no takeover */
    l->answer = ACQUIRE_GRANTED;
    j->watch = 0; /* with each try they are others */
    job_happen(j, JOB_EVENT_GRANT, reply->received);
}

/* --- what comes next --- */

static void wait_for(struct job *j, struct boot now, int64_t in_ms)
{
    j->at = boot_add(now, in_ms);
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_AGAIN, now);
}

void job_ask_again(struct job *j, struct boot now, int64_t in_ms)
{
    j->planned = boot_add(now, in_ms);
    j->again = true;
    wait_for(j, now, in_ms);
}

void job_turn_is_settled(struct job *j, struct boot now, struct wall turn)
{
    job_settle_up_to(j, turn);
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
}

/* --- not answered --- */

static void rejected(struct lease *l, struct boot now, int64_t delay_ms)
{
    struct job *j = job_of_lease(l);

    if (job_hand_asks(j)) { /* who asks by hand is told, and may ask again */
        job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
        return;
    }
    j->unheard = true;
    wait_for(j, now, delay_ms); /* not planned: errors do not stretch catch_up */
}

/* A grant that came too late to be used is an answer, but of a link that is as good as none. */
static void unanswered(struct lease *l, enum store_verb verb, const struct store_reply *reply)
{
    struct job *j = job_of_lease(l);
    enum fault fault = reply->status == STORE_ANSWERED ? FAULT_LINK : reply->fault;
    struct report r = { .kind = REPORT_UNANSWERED,
                        .verb = verb,
                        .fault = fault,
                        .text = reply->error,
                        .no_answer = reply->status == STORE_NO_ANSWER };

    j->counters.unknown += verb == STORE_ACQUIRE && reply->status == STORE_NO_ANSWER;
    j->fault = fault;
    j->fleet->faults[fault]++;
    job_report(j, &r);
}

static void answered(struct lease *l)
{
    struct job *j = job_of_lease(l);
    struct report r = { .kind = REPORT_ANSWERED, .fault = j->fault };

    if (j->fault == FAULT_NONE || l->call.local)
        return;
    j->fault = FAULT_NONE;
    job_report(j, &r);
}

/* --- while it runs --- */

static void confirmed(struct lease *l, const struct store_reply *reply, int64_t left_ms)
{
    struct job *j = job_of_lease(l);
    struct report r = {
        .kind = reply->renew.answer == RENEW_REGAINED ? REPORT_REGAINED : REPORT_RENEWED,
        .left_ms = left_ms,
    };

    job_report(j, &r);
    j->fleet->port->extend(j->fleet->port->context, j);
}

static void taken(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of_lease(l);
    char device[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_TAKEN, .text = reply->renew.why, .device = device };

    if (r.text)
        lease_token_device(r.text, device);
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
    /* A success covers them all, but without the lock none; else the newest of them may still be
     * run. */
    int64_t open =
        turns > 0 && (!outcome_settles(end->outcome) || j->lease.way == LEASE_WITHOUT_LOCK);

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
    job_ask_again(j, now, time_add_ms(delay, 1));
}

void job_report_brake(struct job *j)
{
    struct report r = { .kind = REPORT_BRAKE };

    j->bar = JOB_PAUSED;
    job_report(j, &r);
}

/* No turn of the schedule has had a run by that. */
static void end_unlocked(struct job *j, struct boot now)
{
    if (j->tree_left)
        job_happen(j, JOB_EVENT_JAM, now);
    else
        job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
}

static void recorded(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of_lease(l);
    const struct lease_end *end = &l->end;
    bool by_hand = job_is_by_hand(j);
    bool again = outcome_retries(end->outcome) && !reply->finish.gave_up && !by_hand;
    struct report r = { .kind = REPORT_GIVEN_UP,
                        .text = end->detail ? end->detail : "", /* NULL: not found out here */
                        .outcome = end->outcome };

    if (l->way == LEASE_WITHOUT_LOCK) {
        end_unlocked(j, reply->received);
        return;
    }
    if (reply->finish.gave_up && !by_hand) {
        l->answer = ACQUIRE_EXHAUSTED;
        job_report(j, &r);
    }
    if (reply->finish.stopped)
        job_report_brake(j);
    if (l->call.local && j->spec->run_unreachable && end->outcome != OUTCOME_UNSTARTED)
        job_owe(j);
    if (outcome_settles(end->outcome))
        fleet_hello_index(j->fleet, j, end->covers.ms > l->turn.ms ? end->covers : l->turn);
    else if (reply->finish.gave_up)
        fleet_hello_index(j->fleet, j, l->turn);
    if (outcome_settles(end->outcome))
        job_settle_up_to(j, end->covers);
    if (!again)
        job_settle_up_to(j, l->turn);
    if (j->tree_left)
        job_happen(j, JOB_EVENT_JAM, reply->received);
    else if (again)
        try_again(j, reply->received, end->outcome);
    else
        job_turn_is_settled(j, reply->received, l->turn);
}

static void illegal(struct lease *l, enum lease_event event)
{
    job_report_illegal(job_of_lease(l), lease_event_name(event));
}

const struct lease_ops job_lease_ops = {
    .choose = choose,
    .spread_ms = spread_ms,
    .watches = watches,
    .dropped = dropped,
    .heard = heard,
    .changed = changed,
    .granted = granted,
    .refused = job_refused,
    .rejected = rejected,
    .unanswered = unanswered,
    .answered = answered,
    .confirmed = confirmed,
    .taken = taken,
    .recorded = recorded,
    .illegal = illegal,
};
