/* SPDX-License-Identifier: MIT
 * A device: power, clock, and the supervisor, which is the core with its port. */
#include "base/text.h"
#include "base/units.h"
#include "sim.h"
#include <stdlib.h>
#include <string.h>

#define PPM 1000000
#define BOOT_MAX_MS (40 * SECOND_MS)
#define AGE_MAX_MS (100 * DAY_MS)
/* As `stop_timeout`. */
#define STOP_TIMEOUT_MS (45 * SECOND_MS)

struct boot device_boot(const struct device *d)
{
    int64_t age = d->sim->now_ms - d->born_ms;

    return (struct boot){ age + age * d->ppm / PPM };
}

int64_t device_when(const struct device *d, struct boot at)
{
    int64_t ms;

    if (at.ms == BOOT_NEVER.ms)
        return QUEUE_NEVER;
    ms = at.ms * PPM / (PPM + d->ppm) - 2;
    while (ms + ms * d->ppm / PPM < at.ms)
        ms++;
    return d->born_ms + ms;
}

const struct job_spec *device_spec(const struct device *d, unsigned job)
{
    return &d->sim->plan.table[job].specs[d->config];
}

void device_disturb(struct device *d, int64_t until_ms)
{
    if (until_ms > d->calm_ms)
        d->calm_ms = until_ms;
}

/* --- the supervisor --- */

static void start_supervisor(struct device *d)
{
    struct sim *s = d->sim;

    d->supervisor = SUPERVISOR_UP;
    d->supervisor_at = d->leave_by = QUEUE_NEVER;
    d->leaving = false;
    d->calm_ms = d->guards_stopped ? d->guards_at : s->now_ms;
    d->armed = BOOT_NEVER;
    port_init(d);
    d->saw_step = false;
    d->life++;
    trace_say(s, d, "its supervisor starts");
    fleet_init(&d->fleet, &d->port, d->name, s->plan.slots);
    port_introduce(d);
    local_init(d);
    d->jobs = sim_new(s->plan.jobs * sizeof *d->jobs);
    for (unsigned i = 0; i < s->plan.jobs; i++) {
        job_init(&d->jobs[i], &d->fleet, device_spec(d, i));
        local_join(d, i);
        job_begin(&d->jobs[i], device_boot(d));
    }
}

/* By whatever: nothing of it is told to anybody. */
static void end_supervisor(struct device *d)
{
    if (d->supervisor == SUPERVISOR_DOWN)
        return;
    run_orphan_all(d);
    check_restarted(d);
    while (d->fleet.jobs)
        job_done(d->fleet.jobs);
    fleet_done(&d->fleet);
    free(d->jobs);
    d->jobs = NULL;
    local_done(d);
    d->supervisor = SUPERVISOR_DOWN;
    d->armed = BOOT_NEVER;
    net_done(d);
}

void device_kill_supervisor(struct device *d, int64_t restarts_at_ms)
{
    if (!d->powered || d->frozen || d->supervisor == SUPERVISOR_DOWN)
        return;
    trace_say(d->sim, d, "its supervisor is killed");
    check_death(d->sim, d);
    end_supervisor(d);
    d->supervisor_at = restarts_at_ms;
    device_disturb(d, restarts_at_ms);
    device_settle(d);
}

void device_stop_supervisor(struct device *d, int64_t until_ms)
{
    if (!d->powered || d->frozen || d->supervisor != SUPERVISOR_UP)
        return;
    trace_say(d->sim, d, "its supervisor stands still for %lld ms",
              (long long)(until_ms - d->sim->now_ms));
    d->supervisor = SUPERVISOR_STOPPED;
    d->supervisor_at = until_ms;
    device_disturb(d, until_ms);
    device_settle(d);
}

void device_leave(struct device *d)
{
    if (!d->powered || d->frozen || d->supervisor != SUPERVISOR_UP || d->leaving)
        return;
    trace_say(d->sim, d, "its supervisor is asked to stop");
    d->leaving = true;
    d->leave_by = d->sim->now_ms + STOP_TIMEOUT_MS;
    device_disturb(d, QUEUE_NEVER);
    for (unsigned i = 0; i < d->sim->plan.jobs; i++)
        job_leave(&d->jobs[i], device_boot(d), true);
    device_settle(d);
}

static bool all_off(const struct device *d)
{
    for (unsigned i = 0; i < d->sim->plan.jobs; i++)
        if (d->jobs[i].state != JOB_OFF)
            return false;
    return true;
}

static void leave_on(struct device *d)
{
    struct sim *s = d->sim;

    if (!all_off(d) && s->now_ms < d->leave_by)
        return;
    trace_say(s, d, "its supervisor has stopped");
    end_supervisor(d);
    d->config = (unsigned)chance_in(&d->chance, 0, PLAN_CONFIGS - 1);
    d->supervisor_at = s->now_ms + chance_in(&d->chance, 100, 5 * SECOND_MS);
}

/* --- the machine --- */

static void power_on(struct device *d)
{
    struct sim *s = d->sim;

    trace_say(s, d, "boots");
    d->powered = true;
    d->power_at = QUEUE_NEVER;
    d->ppm = chance_in(&d->chance, -s->plan.rate_ppm, s->plan.rate_ppm);
    d->born_ms = s->now_ms - chance_in(&d->chance, 0, AGE_MAX_MS);
    d->wall_set = chance_of(&d->chance, 5000);
    d->wall_error_ms = chance_in(&d->chance, -SECOND_MS, SECOND_MS);
    net_init(d);
    start_supervisor(d);
}

void device_power_off(struct device *d, int64_t boots_at_ms)
{
    if (!d->powered)
        return;
    trace_say(d->sim, d, "loses power");
    check_death(d->sim, d);
    end_supervisor(d);
    run_free_all(d);
    d->powered = d->frozen = d->guards_stopped = false;
    d->thaw_at = d->guards_at = d->supervisor_at = QUEUE_NEVER;
    d->power_at = boots_at_ms;
    device_disturb(d, boots_at_ms);
    device_settle(d);
}

void device_freeze(struct device *d, int64_t until_ms)
{
    if (!d->powered || d->frozen)
        return;
    trace_say(d->sim, d, "is frozen for %lld ms", (long long)(until_ms - d->sim->now_ms));
    d->frozen = true;
    d->thaw_at = until_ms;
    device_disturb(d, until_ms);
    device_settle(d);
}

void device_stop_guards(struct device *d, int64_t until_ms)
{
    if (!d->powered || d->guards_stopped)
        return;
    trace_say(d->sim, d, "its guards stand still for %lld ms",
              (long long)(until_ms - d->sim->now_ms));
    d->guards_stopped = true;
    d->guards_at = until_ms;
    device_disturb(d, until_ms);
    device_settle(d);
}

static bool comes(int64_t *at_ms, int64_t now_ms)
{
    if (now_ms < *at_ms)
        return false;
    *at_ms = QUEUE_NEVER;
    return true;
}

/* What was to end or to begin by now. */
static void change(struct device *d)
{
    int64_t now = d->sim->now_ms;

    if (comes(&d->power_at, now))
        power_on(d);
    if (comes(&d->thaw_at, now)) {
        d->frozen = false;
        trace_say(d->sim, d, "runs again");
    }
    if (d->frozen)
        return;
    if (comes(&d->guards_at, now))
        d->guards_stopped = false;
    if (!comes(&d->supervisor_at, now))
        return;
    if (d->supervisor == SUPERVISOR_STOPPED)
        d->supervisor = SUPERVISOR_UP;
    else
        start_supervisor(d);
}

/* --- its events --- */

static void move_supervisor(struct device *d)
{
    struct boot now = device_boot(d);

    net_move(d);
    fleet_settle_timer(&d->fleet);
    if (boot_reached(now, d->armed))
        fleet_tick(&d->fleet, now);
    local_move(d);
    net_move(d);
    fleet_settle_timer(&d->fleet);
    if (d->leaving)
        leave_on(d);
}

static void move(struct sim *s, struct event *e)
{
    struct device *d = (struct device *)((char *)e - offsetof(struct device, wake));

    change(d);
    if (!d->powered || d->frozen) {
        device_settle(d);
        return;
    }
    run_move_all(d);
    if (d->reboots) {
        d->reboots = false;
        d->sim->tally.reboots++;
        device_power_off(d, s->now_ms + chance_in(&d->chance, SECOND_MS, BOOT_MAX_MS));
        return;
    }
    if (d->supervisor == SUPERVISOR_UP)
        move_supervisor(d);
    check_device(d->sim, d);
    device_settle(d);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_of(const struct device *d)
{
    int64_t next = earlier(d->guards_at, d->supervisor_at);

    if (!d->powered)
        return d->power_at;
    if (d->frozen)
        return d->thaw_at;
    next = earlier(next, device_when(d, run_next_of_all(d)));
    if (d->supervisor != SUPERVISOR_UP)
        return next;
    if (d->leaving)
        next = earlier(next, d->leave_by);
    if (local_waits(d))
        return d->sim->now_ms;
    return earlier(next, earlier(net_next(d), device_when(d, d->armed)));
}

void device_settle(struct device *d)
{
    int64_t next = next_of(d), now = d->sim->now_ms;

    queue_set(&d->sim->queue, &d->wake, next > now || next == QUEUE_NEVER ? next : now + 1);
}

/* Some job has runs of each device. */
static bool is_counted(const struct plan *p)
{
    for (unsigned i = 0; i < p->jobs; i++)
        if (plan_has_seats(p, i) || p->table[i].specs[0].lock == LOCK_NONE)
            return true;
    return false;
}

void device_init(struct sim *s, struct device *d, unsigned number)
{
    *d = (struct device){
        .wake = { .happen = move },
        .sim = s,
        .chance = chance_stream(s->plan.seed, 1000 + number),
        .number = number,
        .thaw_at = QUEUE_NEVER,
        .supervisor_at = QUEUE_NEVER,
        .guards_at = QUEUE_NEVER,
        .armed = BOOT_NEVER,
    };
    text_format(d->name, sizeof d->name, "gate-%u", number % s->plan.names);
    text_format(d->machine, sizeof d->machine, "%s#%u", d->name, number);
    d->config = (unsigned)chance_in(&d->chance, 0, PLAN_CONFIGS - 1);
    d->power_at = s->now_ms + chance_in(&d->chance, 0, s->plan.storm_ms);
    if (is_counted(&s->plan))
        d->checks = sim_new(PLAN_JOBS_MAX * sizeof *d->checks);
    d->links = sim_new(plan_links(&s->plan) * sizeof *d->links);
    for (unsigned i = 0; i < plan_links(&s->plan); i++) {
        d->links[i].device = d;
        d->links[i].home = i;
    }
    round_init(d);
    net_init(d);
    LIST_INIT(&d->runs);
    device_settle(d);
}

void device_done(struct device *d)
{
    end_supervisor(d);
    run_free_all(d);
    free(d->checks);
    free(d->links);
    free(d->rounds);
}
