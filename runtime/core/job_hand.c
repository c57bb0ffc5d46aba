/* SPDX-License-Identifier: MIT
 * What operators do with a job of this device alone: a run by hand (PROTOCOL rule 15), the end of a
 * run, a pause.
 *
 * A run by hand goes the way of every run, from ASKING on, with another question: for a turn of its
 * own at the store's now, or for the open turn, whatever its draw and catch_up. Who asks for it
 * waits for an answer, so the question ends when that takes too long: nothing starts later that
 * nobody expects any more. */
#include "core/job_internal.h"

bool job_hand_asks(const struct job *j)
{
    return j->fleet->hand.job == j;
}

bool job_hand_is_given_up(const struct job *j)
{
    return job_hand_asks(j) && j->fleet->hand.told;
}

bool job_is_by_hand(const struct job *j)
{
    return j->lease.way != LEASE_BY_SCHEDULE;
}

uint32_t job_attempts(const struct job *j)
{
    return job_is_by_hand(j) ? 1 : j->spec->attempts;
}

static bool is_paused(const struct job *j, struct wall turn)
{
    const struct core_port *port = j->fleet->port;

    return port->paused && port->paused(port->context, j, turn);
}

/* --- asking for it --- */

static enum job_obstacle obstacle_by_state(const struct job *j)
{
    switch (j->state) {
    case JOB_STARTING:
    case JOB_RUNNING:
    case JOB_STOPPING:
        return JOB_RUNS;
    case JOB_CLOSING:
        return JOB_IS_TOLD;
    case JOB_STUCK:
        return JOB_IS_STUCK;
    case JOB_NO_CLOCK:
        return JOB_WAITS_FOR_TIME;
    case JOB_OFF:
        return JOB_LEAVES;
    default:
        return j->leaving ? JOB_LEAVES : JOB_NO_OBSTACLE;
    }
}

static enum job_obstacle find_obstacle(const struct job *j, const struct job_order *o)
{
    bool unlocked = o->way == LEASE_WITHOUT_LOCK;
    enum job_obstacle obstacle = obstacle_by_state(j);

    if (obstacle != JOB_NO_OBSTACLE)
        return obstacle;
    if (j->fleet->hand.job)
        return JOB_HAND_BUSY;
    if (job_owes(j) && !unlocked)
        return JOB_IS_TOLD;
    if (j->apart && !unlocked)
        return JOB_IS_APART;
    if (!o->in_spite_of_here && is_paused(j, (struct wall){ 0 }))
        return JOB_HAS_PAUSE;
    if (unlocked && j->spec->require_fence)
        return JOB_NEEDS_FENCE;
    if (fleet_used(j->fleet) - job_holds_slot(j) >= j->fleet->slots)
        return JOB_HAS_NO_SLOT;
    return JOB_NO_OBSTACLE;
}

/* The open turn, though this device may have nothing to do with it any more: whether it is settled
 * is the store's to say. */
static void reopen(struct job *j, struct boot now)
{
    struct wall turn = job_latest_due(j, now);

    job_aim_at(j, turn);
    if (j->settled.ms >= turn.ms)
        j->settled = wall_add(turn, -1);
    j->not_before = now;
}

enum job_obstacle job_run_by_hand(struct job *j, struct boot now, const struct job_order *order)
{
    enum job_obstacle obstacle = find_obstacle(j, order);

    if (obstacle != JOB_NO_OBSTACLE)
        return obstacle;
    if (j->state == JOB_ASKING) {
        if (!lease_drop(&j->lease, now))
            return JOB_IS_ASKED;
        job_happen(j, JOB_EVENT_SETTLE, now);
    }
    j->fleet->hand = (struct fleet_hand){
        .job = j,
        .until = order->until,
        .settled = j->settled,
        .open_turn = order->way == LEASE_BY_SCHEDULE,
    };
    j->lease.way = order->way;
    if (j->fleet->hand.open_turn)
        reopen(j, now);
    job_happen(j, JOB_EVENT_DUE, now);
    job_rearm(j, now);
    return JOB_NO_OBSTACLE;
}

void job_hand_ask(struct job *j, struct boot now)
{
    struct lease *l = &j->lease;

    j->queued = false;
    lease_renew_token(l);
    l->call.local = j->spec->lock == LOCK_NONE;
    job_alone_plan(j, now);
    if (l->way == LEASE_WITHOUT_LOCK)
        lease_take(l, now, fleet_clock_at(job_time(j), now));
    else
        lease_ask(l, now);
}

bool job_hand_choose(struct job *j, struct boot now, struct wall *ret_turn)
{
    if (j->leaving || job_hand_is_given_up(j))
        return false;
    if (j->fleet->hand.open_turn)
        job_aim_at(j, job_latest_due(j, now));
    *ret_turn = j->fleet->hand.open_turn ? j->turn : (struct wall){ 0 };
    return true;
}

/* --- what becomes of it --- */

void job_hand_tell(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_BY_HAND, .answer = reply };

    if (!job_hand_asks(j) || j->fleet->hand.told)
        return;
    j->fleet->hand.told = true;
    if (!reply)
        job_settle_up_to(j, j->fleet->hand.settled);
    job_report(j, &r);
}

bool job_hand_refused(struct job *j, const struct store_reply *reply)
{
    if (!job_hand_asks(j))
        return false;
    job_hand_tell(j, reply);
    if (j->fleet->hand.open_turn)
        return false;
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, reply->received);
    return true;
}

/* What was sent may be granted yet, and is given back then. Where the store answers nothing any
 * more, the job goes on when that would have run out: its schedule may do without the store. */
void job_hand_tick(struct job *j, struct boot now)
{
    struct lease *l = &j->lease;
    struct boot again = boot_add(now, l->spec->timing.command_timeout_ms);

    if (!boot_reached(now, j->fleet->hand.until))
        return;
    if (j->fleet->hand.told)
        lease_hush(l);
    job_hand_tell(j, NULL);
    j->fleet->hand.until = boot_max(lease_unknown_until(l), again);
    if (lease_drop(l, now))
        job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
}

void job_hand_over(struct job *j)
{
    if (!job_hand_asks(j))
        return;
    job_hand_tell(j, NULL);
    j->fleet->hand.job = NULL;
}

/* --- a run's end, and a pause --- */

bool job_stop_run(struct job *j, struct boot now, enum stop_reason reason)
{
    if (j->state != JOB_STARTING && j->state != JOB_RUNNING)
        return false;
    j->stop_reason = reason;
    job_happen(j, JOB_EVENT_STOP, now);
    job_rearm(j, now);
    return true;
}

bool job_hand_pauses(struct job *j, struct boot now)
{
    struct wall turn = job_latest_due(j, now);

    if (turn.ms <= j->settled.ms || !is_paused(j, turn))
        return false;
    j->counters.passed_paused++;
    job_settle_up_to(j, turn);
    return true;
}

bool job_take_up(struct job *j, struct boot now, struct wall turn)
{
    if (j->state != JOB_WAITING || turn.ms <= 0 || turn.ms != j->settled.ms ||
        turn.ms != job_latest_due(j, now).ms)
        return false;
    j->settled = wall_add(turn, -1);
    j->not_before = now; /* catch_up counts from here */
    j->again = false;
    job_happen(j, JOB_EVENT_DRAW, now);
    job_rearm(j, now);
    return true;
}
