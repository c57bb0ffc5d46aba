/* SPDX-License-Identifier: MIT
 * What goes wrong, each kind in a stream of its own. */
#include "base/units.h"
#include "sim.h"

/* What waits for a person is asked again in windows of up to this (core/fault.h). */
#define SLOW_WINDOW_MS (5 * MINUTE_MS)
/* Longer than any lease of plan.c. */
#define EMPTY_APART_MS (30 * SECOND_MS)

typedef void mishap_act(struct sim *s, struct chance *c);

static int64_t between(struct chance *c, int64_t least_ms, int64_t most_ms)
{
    return chance_in(c, least_ms, most_ms);
}

/* The store is out of order up to `until_ms`. */
static void disturb(struct sim *s, int64_t until_ms)
{
    if (until_ms > s->calm_ms)
        s->calm_ms = until_ms;
}

static void disturb_server(struct sim *s, struct server *server, int64_t until_ms)
{
    disturb(s, until_ms);
    if (until_ms > server->calm_ms)
        server->calm_ms = until_ms;
}

static struct server *any_master(struct sim *s, struct chance *c)
{
    if (s->plan.quorum > 0)
        return &s->servers[chance_in(c, 0, s->plan.quorum - 1)];
    return &s->servers[s->split ? chance_in(c, 0, 1) : 0];
}

static unsigned number_of(const struct sim *s, const struct server *server)
{
    return (unsigned)(server - s->servers);
}

static struct device *any_device(struct sim *s, struct chance *c)
{
    return &s->devices[chance_in(c, 0, s->plan.devices - 1)];
}

/* --- the store --- */

static void restart(struct sim *s, struct chance *c)
{
    int64_t until =
        s->now_ms + between(c, 200, s->plan.quorum > 0 ? 5 * MINUTE_MS : 30 * SECOND_MS);
    struct server *server = any_master(s, c);

    trace_say(s, NULL, "Redis %u restarts", number_of(s, server));
    disturb_server(s, server, until);
    server_restart(s, server, until);
}

static void empty(struct sim *s, struct chance *c)
{
    struct server *server = any_master(s, c);
    int64_t until = s->now_ms + between(c, 200, 10 * SECOND_MS);

    /* One of a quorum at a time, with a lease between, so that those that hold one can take it
     * back.
     */
    if (s->plan.quorum > 0 && s->now_ms < s->lost_ms + EMPTY_APART_MS)
        return;
    trace_say(s, NULL, "Redis %u restarts without its data", number_of(s, server));
    disturb_server(s, server, until);
    server_restart(s, server, until);
    copy_forget(s, &server->copy);
    if (s->plan.quorum > 0) {
        server_forget_fleet(server);
        s->lost_ms = until;
        check_quorum_lost(s, server);
        return;
    }
    server_forget_fleet(&s->servers[0]);
    check_emptied(s);
}

static void fail_over(struct sim *s, struct event *e)
{
    (void)e;
    trace_say(s, NULL, "a replica takes over, without the newest writes");
    disturb(s, s->now_ms + 3 * SECOND_MS);
    server_restart(s, &s->servers[0], s->now_ms + 3 * SECOND_MS);
    copy_take(s, &s->servers[0].copy, &s->replica);
    check_rolled_back(s);
}

/* The replica has what was written so far, and nothing of what comes until it takes over. */
static void failover(struct sim *s, struct chance *c)
{
    if (s->split || s->mend.place > 0)
        return;
    copy_take(s, &s->replica, &s->servers[0].copy);
    s->mend.happen = fail_over;
    queue_set(&s->queue, &s->mend, s->now_ms + between(c, 1, 5 * SECOND_MS));
}

static void set_homes(struct sim *s, unsigned of_10000, struct chance *c)
{
    for (unsigned i = 0; i < s->plan.devices; i++) {
        struct device *d = &s->devices[i];
        unsigned home = chance_of(c, of_10000);

        if (home == d->links[0].home)
            continue;
        d->links[0].home = home;
        device_disturb(d, s->now_ms);
        if (d->links[0].state == LINK_UP)
            net_lose(&d->links[0], d->supervisor == SUPERVISOR_UP && !d->frozen);
        device_settle(d);
    }
}

static void end_split(struct sim *s, struct event *e)
{
    (void)e;
    trace_say(s, NULL, "the two masters become one: the writes of one are gone");
    server_restart(s, &s->servers[0], s->now_ms);
    server_restart(s, &s->servers[1], s->now_ms);
    if (chance_of(&s->net, 5000))
        copy_take(s, &s->servers[0].copy, &s->servers[1].copy);
    set_homes(s, 0, &s->net);
    s->split = false;
    disturb(s, s->now_ms);
    check_rolled_back(s);
}

static void split(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, SECOND_MS, 2 * MINUTE_MS);

    if (s->split || s->mend.place > 0)
        return;
    trace_say(s, NULL, "there are two masters for %lld ms", (long long)(until - s->now_ms));
    s->split = true;
    s->servers[1].down_until = s->servers[1].stalled_until = 0;
    copy_take(s, &s->servers[1].copy, &s->servers[0].copy);
    set_homes(s, 5000, c);
    disturb(s, until);
    check_rolled_back(s);
    s->mend.happen = end_split;
    queue_set(&s->queue, &s->mend, until);
}

/* But for its clock. */
static int64_t in_order_at(const struct sim *s, const struct server *server)
{
    const int64_t ends[] = { server->down_until, server->refusing_until, server->stalled_until,
                             server->errors_until + SLOW_WINDOW_MS };
    int64_t at = s->now_ms;

    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        at = ends[i] > at ? ends[i] : at;
    return at;
}

/* Of a quorum, one at a time is far off: another is set right first. To its leases it is a loss:
 * they end early, or nobody knows when. */
static void step_one(struct sim *s, struct chance *c, int64_t by_ms)
{
    struct server *server = any_master(s, c);

    for (unsigned i = 0; i < s->plan.quorum; i++)
        if (server_is_off(&s->servers[i]))
            server = &s->servers[i];
    if (server_is_off(server))
        by_ms = -server->skew_ms;
    trace_say(s, NULL, "the clock of Redis %u is set by %lld ms", number_of(s, server),
              (long long)by_ms);
    server->skew_ms += by_ms;
    disturb(s, s->now_ms);
    server->calm_ms = server_is_off(server) ? QUEUE_NEVER : in_order_at(s, server);
    check_quorum_stepped(s, server, by_ms);
}

static void step(struct sim *s, struct chance *c)
{
    static const int64_t most[] = { 5 * SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS };
    int64_t size = most[chance_in(c, 0, 3)];
    int64_t by = between(c, 3 * SECOND_MS, size);

    if (chance_of(c, 5000))
        by = -by;
    if (s->plan.quorum > 0) {
        step_one(s, c, by);
        return;
    }
    /* Not away for good: a fleet that is a month ahead is one that was started then. */
    if (s->clock_offset_ms > DAY_MS || s->clock_offset_ms < -DAY_MS)
        by = -s->clock_offset_ms;
    trace_say(s, NULL, "the server's clock is set by %lld ms", (long long)by);
    s->clock_offset_ms += by;
    disturb(s, s->now_ms);
    check_step(s, by);
}

static void flush(struct sim *s, struct chance *c)
{
    struct server *server = any_master(s, c);

    trace_say(s, NULL, "SCRIPT FLUSH");
    for (unsigned i = 0; i < STORE_VERB_COUNT; i++)
        server->loaded[i] = false;
}

static void clients(struct sim *s, struct chance *c)
{
    struct server *server = any_master(s, c);

    server->refusing_until = s->now_ms + between(c, SECOND_MS, 2 * MINUTE_MS);
    trace_say(s, NULL, "Redis accepts no connection for %lld ms",
              (long long)(server->refusing_until - s->now_ms));
    disturb_server(s, server, server->refusing_until);
}

static void errors(struct sim *s, struct chance *c)
{
    static const enum fault classes[] = { FAULT_BUSY, FAULT_STORAGE, FAULT_REPLICA, FAULT_OPERATOR,
                                          FAULT_UNKNOWN };
    struct server *server = any_master(s, c);

    server->error = classes[chance_in(c, 0, 4)];
    server->errors_until = s->now_ms + between(c, 100, 2 * MINUTE_MS);
    trace_say(s, NULL, "Redis answers by errors (%s) for %lld ms", fault_name(server->error),
              (long long)(server->errors_until - s->now_ms));
    disturb_server(s, server, server->errors_until + SLOW_WINDOW_MS);
}

static void stall(struct sim *s, struct chance *c)
{
    struct server *server = any_master(s, c);

    server->stalled_until = s->now_ms + between(c, 100, 15 * SECOND_MS);
    trace_say(s, NULL, "Redis does nothing for %lld ms",
              (long long)(server->stalled_until - s->now_ms));
    disturb_server(s, server, server->stalled_until);
}

static void hold(struct sim *s, struct chance *c)
{
    person_pause(s, c);
}

/* --- devices --- */

/* To all servers, or to one of a quorum. */
static void cut_links(struct device *d, unsigned only, int64_t until_ms)
{
    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++) {
        if (only != plan_links(&d->sim->plan) && i != only)
            continue;
        d->links[i].dead_until = d->links[i].calm_ms = until_ms;
    }
    if (!d->rounds)
        device_disturb(d, until_ms);
}

static void cut(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, SECOND_MS, 5 * MINUTE_MS);
    unsigned part = chance_of(c, 1000)
                        ? 10000
                        : 10000 / (unsigned)chance_in(c, 1, 2 * (int64_t)s->plan.devices);
    unsigned only = s->plan.quorum > 0 ? (unsigned)chance_in(c, 0, s->plan.quorum) : 1;

    trace_say(s, NULL, "links are dead for %lld ms", (long long)(until - s->now_ms));
    for (unsigned i = 0; i < s->plan.devices; i++) {
        struct device *d = &s->devices[i];

        if (!chance_of(c, part))
            continue;
        cut_links(d, only, until);
    }
}

static void crash(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, SECOND_MS, 10 * MINUTE_MS);

    device_power_off(any_device(s, c), until);
}

static void storm(struct sim *s, struct chance *c)
{
    int64_t back = s->now_ms + between(c, SECOND_MS, 5 * MINUTE_MS);

    trace_say(s, NULL, "the whole fleet loses power");
    for (unsigned i = 0; i < s->plan.devices; i++)
        device_power_off(&s->devices[i], back + between(c, 0, s->plan.storm_ms));
    disturb(s, back + s->plan.storm_ms);
    s->whole_ms = back + s->plan.storm_ms;
}

static void suspend(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, 100, 20 * MINUTE_MS);

    device_freeze(any_device(s, c), until);
}

/* The one that runs something, if there is one: else hardly any of these would matter. */
static struct device *busy_device(struct sim *s, struct chance *c)
{
    struct run *r = LIST_FIRST(&s->living);

    return r && chance_of(c, 7000) ? r->device : any_device(s, c);
}

static void kill(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, 100, 10 * SECOND_MS);

    device_kill_supervisor(busy_device(s, c), until);
}

static void upgrade(struct sim *s, struct chance *c)
{
    device_leave(busy_device(s, c));
}

/* One that waits for an answer, if it is soon found. */
static struct device *asking_device(struct sim *s, struct chance *c)
{
    for (unsigned i = 0; i < 20; i++) {
        struct device *d = any_device(s, c);

        if (!TAILQ_EMPTY(&d->links[0].flights))
            return d;
    }
    return busy_device(s, c);
}

static void pause(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, 100, 3 * MINUTE_MS);

    device_stop_supervisor(chance_of(c, 5000) ? asking_device(s, c) : busy_device(s, c), until);
}

static void pause_guard(struct sim *s, struct chance *c)
{
    int64_t until = s->now_ms + between(c, 100, 3 * MINUTE_MS);

    device_stop_guards(busy_device(s, c), until);
}

static void kill_guard(struct sim *s, struct chance *c)
{
    struct device *d = busy_device(s, c);

    if (run_kill_guard(d))
        trace_say(s, d, "a guard of it is killed");
    device_settle(d);
}

static void kill_worker(struct sim *s, struct chance *c)
{
    struct device *d = busy_device(s, c);

    if (run_kill_worker(d))
        trace_say(s, d, "a worker of it is killed");
    device_settle(d);
}

static void pause_all(struct sim *s, struct chance *c)
{
    struct device *d = busy_device(s, c);
    int64_t until = s->now_ms + between(c, 100, 3 * MINUTE_MS);

    device_stop_supervisor(d, until);
    device_stop_guards(d, until);
}

static void hand(struct sim *s, struct chance *c)
{
    person_act(s, chance_of(c, 3000) ? busy_device(s, c) : any_device(s, c), c);
}

static mishap_act *const acts[MISHAP_COUNT] = {
    [MISHAP_RESTART] = restart,
    [MISHAP_EMPTY] = empty,
    [MISHAP_FAILOVER] = failover,
    [MISHAP_SPLIT] = split,
    [MISHAP_STEP] = step,
    [MISHAP_FLUSH] = flush,
    [MISHAP_CLIENTS] = clients,
    [MISHAP_ERRORS] = errors,
    [MISHAP_STALL] = stall,
    [MISHAP_HOLD] = hold,
    [MISHAP_CUT] = cut,
    [MISHAP_CRASH] = crash,
    [MISHAP_STORM] = storm,
    [MISHAP_SUSPEND] = suspend,
    [MISHAP_KILL] = kill,
    [MISHAP_UPGRADE] = upgrade,
    [MISHAP_PAUSE] = pause,
    [MISHAP_GUARD_PAUSE] = pause_guard,
    [MISHAP_GUARD_KILL] = kill_guard,
    [MISHAP_WORKER_KILL] = kill_worker,
    [MISHAP_PAUSE_ALL] = pause_all,
    [MISHAP_HAND] = hand,
};

static void schedule(struct sim *s, struct mishap_stream *m)
{
    int64_t gap = s->plan.gap_ms[m - s->streams];
    int64_t at = s->now_ms + chance_in(&m->chance, 1, 2 * gap);

    if (at < SIM_BEGIN_MS + s->plan.length_ms - s->plan.quiet_ms)
        queue_set(&s->queue, &m->event, at);
}

static void happen(struct sim *s, struct event *e)
{
    struct mishap_stream *m =
        (struct mishap_stream *)((char *)e - offsetof(struct mishap_stream, event));

    s->tally.mishaps++;
    s->tally.played[m - s->streams]++;
    acts[m - s->streams](s, &m->chance);
    schedule(s, m);
}

void mishap_init(struct sim *s)
{
    for (unsigned i = 0; i < MISHAP_COUNT; i++) {
        struct mishap_stream *m = &s->streams[i];

        if (s->plan.gap_ms[i] == 0)
            continue;
        m->event.happen = happen;
        m->chance = chance_stream(s->plan.seed, 100 + i);
        schedule(s, m);
    }
}
