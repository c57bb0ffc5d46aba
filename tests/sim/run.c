/* SPDX-License-Identifier: MIT
 * A run's guard and worker, by PROTOCOL.md, "Time" and "The tree's end": stopped at S, dead by
 * S + G; where the guard stands still, by the kernel's timers, the last of them at D + M/2. */
#include "base/text.h"
#include "base/units.h"
#include "sim.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct timing *timing_of(const struct run *r)
{
    return &r->spec->timing;
}

/* --- the beginning --- */

/* plugin.h's, or below 0: it crashes. */
static int draw_result(struct run *r)
{
    static const int bad[] = { 2, 2, 2, 3, 4, 4, -1, -1, 1 };
    const struct plan_job *j = &r->device->sim->plan.table[r->index];
    struct device *d = r->device;

    if (j->rollout == ROLLOUT_CANARY && d->config == 1)
        return 2;
    if (!chance_of(&d->chance, d->sim->plan.bad_ends))
        return 0;
    return bad[chance_in(&d->chance, 0, sizeof bad / sizeof bad[0] - 1)];
}

static int64_t draw_length(struct device *d, int64_t worst_case_ms)
{
    if (chance_of(&d->chance, d->sim->plan.bad_ends / 8))
        return 3 * worst_case_ms; /* overruns */
    return chance_in(&d->chance, 1, worst_case_ms - 1);
}

/* Where it may, it tells of progress again and again, up to some instant. */
static void draw_ends(struct run *r)
{
    const struct timing *t = timing_of(r);
    int64_t most_ms = t->max_runtime_ms > 0 ? t->max_runtime_ms : t->worst_case_ms;
    int64_t length_ms = draw_length(r->device, most_ms), progress_ms = 0;

    if (t->max_runtime_ms > 0)
        progress_ms = chance_in(&r->device->chance, 0, length_ms);
    r->returns = boot_add(r->first_instruction, length_ms);
    r->overrun = boot_min(boot_add(r->first_instruction, progress_ms + t->worst_case_ms),
                          boot_add(r->first_instruction, most_ms));
}

static struct run *find(const struct device *d, const struct job *job)
{
    struct run *r;

    LIST_FOREACH(r, &d->runs, entry)
    if (r->job == job)
        return r;
    return NULL;
}

/* Nothing but a grant that came in time starts a worker. */
static void check_grant(struct device *d)
{
    const struct flight *f = d->answering;

    if (!f || f->reply.status != STORE_ANSWERED || f->request.verb != STORE_ACQUIRE ||
        f->reply.acquire.answer != ACQUIRE_GRANTED)
        check_breach(d->sim, "%s #%u starts a run that was not granted", d->name, d->number);
    else if (boot_between(f->sent, f->reply.received) > f->request.job->timing.command_timeout_ms)
        check_breach(d->sim, "%s #%u starts %s by a grant that came after %lld ms", d->name,
                     d->number, f->request.job->name,
                     (long long)boot_between(f->sent, f->reply.received));
}

void run_begin(struct device *d, struct job *job)
{
    struct run *r = find(d, job);
    struct sim *s = d->sim;

    check_grant(d);
    if (r) /* its tree was left, and the job is not stuck any more: the core's mistake */
        check_breach(s, "%s #%u: %s runs twice on one device", d->name, d->number, job->spec->name);
    if (s->breach[0])
        return;
    r = sim_new(sizeof *r);
    r->device = d;
    r->job = job;
    r->index = (unsigned)(job - d->jobs);
    r->spec = job->spec;
    r->record = plan_record(&s->plan, r->index, d->config);
    r->server = d->answering->server;
    r->local = d->answering->local;
    r->by_hand = job_is_by_hand(job);
    r->again = job->lease.asked;
    r->granted_ms = s->now_ms;
    r->asked_ms = device_when(d, d->answering->sent);
    r->fence = job->lease.fence;
    r->lease_until_ms = d->answering->lease_until_ms;
    r->turn = job->turn;
    r->attempt = job->lease.attempt;
    lease_token_text(&job->lease, r->token);
    r->deadline = job->lease.deadline;
    r->first_instruction = boot_add(device_boot(d), chance_in(&d->chance, 1, TIMING_START_MS));
    draw_ends(r);
    r->dies = r->emptied = BOOT_NEVER;
    r->result = draw_result(r);
    r->reboots = chance_of(&d->chance, s->plan.table[r->index].reboots);
    r->alive = true;
    LIST_INSERT_HEAD(&d->runs, r, entry);
    LIST_INSERT_HEAD(&s->living, r, living);
    s->tally.starts++;
    trace_say(s, d, "  starts %s, turn %lld, attempt %u, fence %llu, to be gone in %lld ms",
              job->spec->name, (long long)r->turn.ms, r->attempt, (unsigned long long)r->fence,
              (long long)boot_between(device_boot(d), r->deadline));
    check_started(s, r);
}

/* --- words from the supervisor, which a guard that stands still does not read --- */

void run_extend(struct device *d, const struct job *job)
{
    struct run *r = find(d, job);

    if (!r || !r->alive)
        return;
    if (job->lease.deadline.ms < r->deadline.ms)
        check_breach(d->sim, "%s #%u: a renewal moves the deadline of %s back", d->name, d->number,
                     job->spec->name);
    if (!d->guards_stopped && r->stop == RUN_NOT_STOPPED)
        r->deadline = job->lease.deadline;
}

void run_order(struct device *d, const struct job *job, enum stop_reason reason)
{
    struct run *r = find(d, job);

    if (!r || !r->alive || r->ordered)
        return;
    r->ordered = true;
    r->reason = reason;
}

/* --- the end --- */

static void free_run(struct run *r)
{
    if (r->alive)
        LIST_REMOVE(r, living);
    LIST_REMOVE(r, entry);
    free(r);
}

static void tell_end(struct run *r)
{
    r->ended = false;
    job_ended(r->job, device_boot(r->device), &r->end);
}

static void count_end(struct run *r)
{
    struct tally *t = &r->device->sim->tally;

    t->extended += r->stop == RUN_NOT_STOPPED &&
                   boot_between(r->first_instruction, r->returns) > timing_of(r)->worst_case_ms;
    t->crashes += r->end.exit == RUN_BROKE && r->stop == RUN_NOT_STOPPED;
    t->overruns += r->stop == RUN_STOPPED_OVERRUN;
    t->lost += r->stop == RUN_STOPPED_DEADLINE;
}

/* With nothing wrong since it was granted, no run loses its lease. */
static void check_lost(const struct run *r)
{
    const struct device *d = r->device;

    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++)
        if (d->links[i].calm_ms >= r->granted_ms)
            return;
    if (r->stop == RUN_STOPPED_DEADLINE && d->calm_ms < r->granted_ms &&
        d->sim->calm_ms < r->granted_ms)
        check_breach(d->sim, "%s #%u: %s, turn %lld, lost its lease, and nothing was wrong",
                     d->name, d->number, r->spec->name, (long long)r->turn.ms);
}

/* The tree is dead. */
static void end(struct run *r, enum run_exit exit)
{
    struct device *d = r->device;

    r->end = (struct run_end){ .exit = exit,
                               .stop = r->stop,
                               .reason = r->reason,
                               .result = r->result,
                               .ran_ms = 1,
                               .detail = "",
                               .clean = !chance_of(&d->chance, d->sim->plan.bad_ends / 16) };
    r->alive = false;
    LIST_REMOVE(r, living);
    r->ended = true;
    r->left = !r->end.clean;
    if (r->left) {
        r->emptied = boot_add(device_boot(d), chance_in(&d->chance, 1, MINUTE_MS));
        device_disturb(d, device_when(d, r->emptied));
    }
    count_end(r);
    check_lost(r);
    trace_say(d->sim, d, "  the tree of %s, turn %lld, is %s", r->spec->name, (long long)r->turn.ms,
              r->left ? "not quite gone" : "gone");
}

static struct boot stop_at(const struct run *r)
{
    return boot_min(r->overrun, boot_add(r->deadline, -timing_of(r)->stop_grace_ms));
}

/* SIGTERM now; most of them have to be killed. */
static void ask_to_stop(struct run *r, struct boot at, enum run_stop why)
{
    int64_t grace = timing_of(r)->stop_grace_ms;

    if (chance_of(&r->device->chance, 3000))
        grace = chance_in(&r->device->chance, 0, grace);
    r->stop = why;
    r->dies = boot_min(boot_add(at, grace), r->deadline);
}

static enum run_exit exit_of(const struct run *r, bool returned)
{
    return returned && r->result >= 0 ? RUN_RETURNED : RUN_BROKE;
}

static void guard(struct run *r, struct boot now)
{
    if (r->reboots && boot_reached(now, r->returns)) {
        r->device->reboots = true;
        return;
    }
    if (r->stop == RUN_NOT_STOPPED && boot_reached(now, r->returns)) {
        end(r, exit_of(r, true));
        return;
    }
    if (r->stop == RUN_NOT_STOPPED && r->ordered)
        ask_to_stop(r, now, RUN_STOPPED_ORDERED);
    if (r->stop == RUN_NOT_STOPPED && boot_reached(now, stop_at(r)))
        ask_to_stop(r, stop_at(r),
                    stop_at(r).ms == r->overrun.ms ? RUN_STOPPED_OVERRUN : RUN_STOPPED_DEADLINE);
    if (boot_reached(now, r->dies) || boot_reached(now, r->returns))
        end(r, exit_of(r, boot_reached(now, r->returns)));
}

static struct boot kernel_kills_at(const struct run *r)
{
    return boot_add(r->deadline, timing_of(r)->margin_ms / 2);
}

/* The guard stands still. */
static void kernel(struct run *r, struct boot now)
{
    if (boot_reached(now, kernel_kills_at(r)))
        end(r, RUN_BROKE);
}

static bool is_heard(const struct run *r)
{
    return r->job && r->device->supervisor == SUPERVISOR_UP;
}

/* True where it is over and done with. */
static bool move(struct run *r)
{
    struct device *d = r->device;
    struct boot now = device_boot(d);

    if (r->alive && !r->started && is_heard(r) && boot_reached(now, r->first_instruction)) {
        r->started = true;
        job_started(r->job, now, r->first_instruction);
    }
    if (r->alive && d->guards_stopped)
        kernel(r, now);
    else if (r->alive)
        guard(r, now);
    if (r->ended && is_heard(r))
        tell_end(r);
    if (r->left && boot_reached(now, r->emptied) && (is_heard(r) || !r->job)) {
        r->left = false;
        if (r->job)
            job_emptied(r->job, now);
    }
    return !r->alive && !r->left && (!r->ended || !r->job);
}

void run_move_all(struct device *d)
{
    struct run *r, *next;

    for (r = LIST_FIRST(&d->runs); r; r = next) {
        next = LIST_NEXT(r, entry);
        if (move(r))
            free_run(r);
    }
}

static struct boot next_of(const struct run *r)
{
    struct boot at = BOOT_NEVER;

    if (r->ended && is_heard(r))
        return device_boot(r->device);
    if (r->left && (is_heard(r) || !r->job))
        at = r->emptied;
    if (!r->alive)
        return at;
    if (r->device->guards_stopped)
        return boot_min(at, kernel_kills_at(r));
    if (!r->started && is_heard(r))
        at = boot_min(at, r->first_instruction);
    if (r->stop == RUN_NOT_STOPPED)
        at = boot_min(at, r->ordered ? device_boot(r->device) : stop_at(r));
    return boot_min(at, boot_min(r->returns, r->dies));
}

struct boot run_next_of_all(const struct device *d)
{
    struct boot at = BOOT_NEVER;
    const struct run *r;

    LIST_FOREACH(r, &d->runs, entry)
    at = boot_min(at, next_of(r));
    return at;
}

void run_orphan_all(struct device *d)
{
    struct run *r;

    LIST_FOREACH(r, &d->runs, entry)
    {
        if (!r->job)
            continue;
        r->job = NULL;
        r->ordered = true;
        r->reason = STOP_FOR_SERVICE;
    }
}

void run_free_all(struct device *d)
{
    struct run *r;

    while ((r = LIST_FIRST(&d->runs)))
        free_run(r);
}

static struct run *any_alive(struct device *d)
{
    struct run *r;

    LIST_FOREACH(r, &d->runs, entry)
    if (r->alive)
        return r;
    return NULL;
}

/* The worker has PDEATHSIG, and the supervisor kills the rest. */
bool run_kill_guard(struct device *d)
{
    struct run *r = any_alive(d);

    if (!r || d->frozen || d->guards_stopped)
        return false;
    end(r, RUN_BROKE);
    return true;
}

bool run_kill_worker(struct device *d)
{
    struct run *r = any_alive(d);

    if (!r || d->frozen || r->stop != RUN_NOT_STOPPED)
        return false;
    r->result = -1;
    r->returns = boot_min(r->returns, device_boot(d));
    return true;
}
