/* SPDX-License-Identifier: MIT
 * What time brings to a job: one timer, by its state. */
#include "core/job_internal.h"

static struct boot next_turn_due(const struct job *j)
{
    if (!job_time(j)->known)
        return BOOT_NEVER;
    return fleet_clock_when(job_time(j), schedule_next(&j->spec->schedule, j->newest));
}

void job_rearm(struct job *j, struct boot now)
{
    struct boot at = BOOT_NEVER, former = j->armed;

    switch (j->state) {
    case JOB_WAITING:
        at = j->at;
        break;
    case JOB_WATCHING:
    case JOB_NO_SLOT:
        at = j->queued ? j->at : boot_min(j->at, next_turn_due(j));
        break;
    case JOB_ASKING:
        at = job_hand_asks(j) ? j->fleet->hand.until : next_turn_due(j);
        break;
    default:
        break;
    }
    at = boot_min(at, job_alone_wake(j));
    j->armed = boot_max(boot_min(at, j->lease.wake), now);
    fleet_rearm(j->fleet, j, former);
}

static bool slot_is_free(const struct job *j)
{
    return fleet_used(j->fleet) < j->fleet->slots;
}

/* What was asked for before is nobody's concern any more; the newer turn has its own instant. */
static void leave_for_newer(struct job *j, struct boot now)
{
    job_aim_at(j, job_latest_due(j, now));
    job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, now);
}

/* A question that is not out yet is taken back where this device is not one of those that ask for
 * the newer turn. */
static void tick_asking(struct job *j, struct boot now)
{
    if (job_plan_asks(j, job_latest_due(j, now), now) || !lease_drop(&j->lease, now))
        job_happen(j, JOB_EVENT_NEWER, now);
    else
        leave_for_newer(j, now);
}

static void tick_waiting(struct job *j, struct boot now)
{
    if (!boot_reached(now, j->at))
        return;
    if (j->delay_ms < 0 || job_hand_pauses(j, now))
        job_happen(j, JOB_EVENT_DRAW, now);
    else
        job_happen(j, slot_is_free(j) ? JOB_EVENT_DUE : JOB_EVENT_FULL, now);
}

static void tick_state(struct job *j, struct boot now)
{
    bool newer = boot_reached(now, next_turn_due(j));

    switch (j->state) {
    case JOB_WAITING:
        tick_waiting(j, now);
        break;
    case JOB_WATCHING:
        if (newer && !j->queued)
            leave_for_newer(j, now);
        else if (boot_reached(now, j->at))
            job_happen(j, slot_is_free(j) ? JOB_EVENT_DUE : JOB_EVENT_FULL, now);
        break;
    case JOB_NO_SLOT:
        j->at = BOOT_NEVER;
        if (slot_is_free(j))
            job_happen(j, JOB_EVENT_DUE, now);
        else if (newer)
            job_happen(j, JOB_EVENT_NEWER, now);
        break;
    case JOB_ASKING:
        if (job_hand_asks(j))
            job_hand_tick(j, now);
        else if (newer)
            tick_asking(j, now);
        break;
    default:
        break;
    }
}

void job_tick(struct job *j, struct boot now)
{
    job_owed_tick(j, now);
    lease_tick(&j->lease, now);
    tick_state(j, now);
    job_alone_tick(j, now);
    job_rearm(j, now);
}

void job_clock(struct job *j, struct boot now)
{
    if (j->state == JOB_NO_CLOCK || j->state == JOB_WAITING)
        job_happen(j, JOB_EVENT_CLOCK, now);
    job_rearm(j, now);
}
