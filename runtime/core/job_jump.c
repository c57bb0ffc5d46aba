/* SPDX-License-Identifier: MIT
 * What a jump of the fleet's clock means for a job. */
#include "core/job_internal.h"

/* By this much a jump by whole periods may seem to be another: samples of the clock are wrong by
 * half a round trip. */
#define JUMP_NOISE_MS 1000

/* Whether the next turn comes no later than it would have come without the jump. */
static bool none_is_lost(const struct schedule *s, struct wall before, struct wall now)
{
    int64_t left = wall_between(before, schedule_next(s, before));

    return wall_between(now, schedule_next(s, now)) <= time_add_ms(left, JUMP_NOISE_MS);
}

static bool has_run(const struct job *j)
{
    return j->state == JOB_STARTING || j->state == JOB_RUNNING || j->state == JOB_STOPPING ||
           j->state == JOB_CLOSING;
}

/* Turns from `a` to `b`; negative where b is the earlier one. */
static int64_t count_between(const struct schedule *s, struct wall a, struct wall b)
{
    return schedule_count(s, a, b) - schedule_count(s, b, a);
}

int64_t job_count_since(const struct job *j, struct wall until)
{
    int64_t turns = time_sub_ms(count_between(&j->spec->schedule, j->turn, until), j->leapt);

    return turns > 0 ? turns : 0;
}

/* What lies ahead again is not behind this device. A turn whose run is still going keeps its tries.
 */
static void jumped_back(struct job *j, struct wall now)
{
    const struct schedule *s = &j->spec->schedule;
    struct wall latest = schedule_latest(s, now);

    if (j->newest.ms > now.ms)
        j->newest = latest;
    if (j->settled.ms > schedule_next(s, now).ms)
        j->settled = has_run(j) && latest.ms == j->turn.ms ? wall_add(latest, -1) : latest;
    if (j->alone && j->alone->shared.ms > schedule_next(s, now).ms)
        j->alone->shared = latest;
}

static void jumped_ahead(struct job *j, struct boot now, struct wall before, struct wall wall)
{
    const struct schedule *s = &j->spec->schedule;
    struct wall latest = schedule_latest(s, wall);

    if (latest.ms <= schedule_latest(s, before).ms)
        return;
    if (none_is_lost(s, before, wall) ||
        wall_between(latest, wall) > timing_takeover_ms(&j->spec->timing, j->spec->splay_ms))
        job_settle_up_to(j, latest);
    else
        j->not_before = boot_min(boot_add(now, j->spec->timing.lease_ms),
                                 fleet_clock_when(job_time(j), schedule_next(s, wall)));
}

void job_jumped(struct job *j, struct boot now, int64_t moved_ms)
{
    struct wall wall = fleet_clock_at(job_time(j), now);
    struct wall before = wall_add(wall, time_sub_ms(0, moved_ms));

    job_plan_forget(j, now);
    /* Only who has a turn in hand counts from it, and 72 years of turns take a while to count. */
    if (j->state != JOB_WAITING && j->state != JOB_OFF)
        j->leapt = time_add_ms(j->leapt, count_between(&j->spec->schedule, before, wall));
    if (moved_ms < 0)
        jumped_back(j, wall);
    else
        jumped_ahead(j, now, before, wall);
}
