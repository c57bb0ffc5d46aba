/* SPDX-License-Identifier: MIT
 * Which turns this device asks for, and when (PROTOCOL.md, "Turns without a crowd"). */
#include "core/job_internal.h"
#include "core/turns.h"

/* Both clocks are cut to whole milliseconds: asked exactly then, half of the answers would be
 * `early`. */
#define JOB_ROUNDING_MS 1
/* Turns that are drawn for at once: in a large fleet each saves the device from waking up at a turn
 * for which it does not ask. */
#define JOB_DRAWN_AHEAD 16

/* Whether a few devices ask on behalf of all. */
static bool is_shared_out(const struct job *j)
{
    return j->spec->scope == SCOPE_FLEET && j->spec->lock == LOCK_STORE &&
           !j->fleet->self.turns_all;
}

static int64_t draw_delay_ms(const struct job *j, struct wall turn, int64_t spread_ms)
{
    const struct job_spec *spec = j->spec;
    struct wall next = schedule_next(&spec->schedule, turn);
    uint32_t fleet = j->fleet->size;
    uint64_t random;

    if (j->apart)
        return -1;
    j->fleet->port->random(j->fleet->port->context, &random, sizeof random);
    if (spec->scope == SCOPE_DEVICE)
        return turns_uniform_ms(spread_ms, random);
    if (is_shared_out(j))
        return turns_ranked_ms(fleet, spec->splay_ms, wall_between(turn, next), random);
    return turns_delay_ms(fleet, spec->splay_ms, random);
}

/* Once a turn: else each small move of the clock would draw anew, or pass the instant over. */
static void draw(struct job *j, struct wall turn, struct boot now)
{
    bool seen_coming = !boot_reached(now, fleet_clock_when(job_time(j), turn));
    int64_t spread = 0, delay;

    if (j->drawn_for.ms == turn.ms)
        return;
    if (j->spec->scope == SCOPE_DEVICE)
        spread = turns_seats_spread_ms(j->fleet->size, j->spec);
    delay = draw_delay_ms(j, turn, spread);
    j->delay_ms = delay < 0 ? delay : time_add_ms(delay, JOB_ROUNDING_MS);
    j->spread_ms = seen_coming ? spread : 0;
    j->drawn_for = turn;
    j->urged = false;
    if (delay < 0 && turn.ms > j->left_out.ms)
        j->left_out = turn;
}

bool job_plan_asks(struct job *j, struct wall turn, struct boot now)
{
    if (turn.ms <= j->left_out.ms)
        return false;
    draw(j, turn, now);
    return j->delay_ms >= 0;
}

/* When this device asks for `turn`, or for the first after it that it asks for; where it asks for
 * none of those that it draws for, the instant at which it has to draw again. */
static struct boot ask_at(struct job *j, struct wall turn, struct boot now)
{
    const struct schedule *s = &j->spec->schedule;
    int64_t wait_ms = 0;

    if (turn.ms <= j->left_out.ms)
        turn = schedule_next(s, j->left_out);
    for (int i = 0; i < JOB_DRAWN_AHEAD; i++) {
        if (job_plan_asks(j, turn, now)) {
            wait_ms = j->delay_ms;
            break;
        }
        turn = schedule_next(s, turn);
    }
    return boot_add(fleet_clock_when(job_time(j), turn), wait_ms);
}

/* From the newest turn that is settled, or from now: so the next turn is strictly later than both.
 */
void job_plan(struct job *j, struct boot now)
{
    const struct schedule *s = &j->spec->schedule;
    struct wall wall = fleet_clock_at(job_time(j), now);
    struct wall latest = schedule_latest(s, wall);
    bool due;

    if (j->settled.ms > schedule_next(s, wall).ms) /* the fleet's clock was ahead for a while */
        j->settled = latest;
    due = latest.ms > j->settled.ms;
    j->at = ask_at(j, due ? latest : job_next_turn(j, now), now);
    if (due)
        j->at = boot_max(boot_max(now, j->at), j->not_before);
}

void job_plan_forget(struct job *j, struct boot now)
{
    struct wall latest = job_latest_due(j, now);

    if (j->left_out.ms > latest.ms)
        j->left_out = latest;
    if (j->drawn_for.ms > latest.ms)
        j->drawn_for.ms = 0;
}

void job_plan_resized(struct job *j, struct boot now)
{
    if (j->state != JOB_WAITING)
        return;
    job_plan_forget(j, now);
    job_happen(j, JOB_EVENT_DRAW, now);
    job_rearm(j, now);
}

void job_plan_overdue(struct job *j, struct wall done, struct boot now)
{
    struct wall latest = job_latest_due(j, now);
    struct boot due = fleet_clock_when(job_time(j), latest);
    /* A healthy run of it has ended by then. */
    int64_t allowed = time_add_ms(j->spec->timing.budget_ms, j->spec->splay_ms);

    if (j->state != JOB_WAITING || j->apart || !is_shared_out(j) || done.ms >= latest.ms ||
        latest.ms <= j->settled.ms || boot_between(due, now) <= allowed)
        return;
    j->drawn_for = latest;
    j->urged = true;
    j->delay_ms = boot_between(due, now);
    if (j->left_out.ms >= latest.ms)
        j->left_out.ms = latest.ms - 1;
    job_happen(j, JOB_EVENT_DRAW, now);
    job_rearm(j, now);
}
