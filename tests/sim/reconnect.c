/* SPDX-License-Identifier: MIT
 * S16 with a fleet that no machine could run: its devices are the core's own, with the simulator's
 * links in place of sockets. */
#include "reconnect.h"
#include "base/units.h"
#include "sim.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 2
#define EVERY_MS (20 * MINUTE_MS)
/* In this time each job falls due, and so early that every window has grown to its end. */
#define OUTAGE_MS (5 * MINUTE_MS)
/* As redis/link.h has them: a window is of up to a minute, and who tries to connect while nobody
 * is there gives up only then. */
#define WINDOW_MS MINUTE_MS
#define CONNECT_MS (10 * SECOND_MS)
/* After the outage, all have come back; then turns are counted, for some periods. */
#define SETTLED_MS (WINDOW_MS + CONNECT_MS)
#define COUNTED_MS (2 * MINUTE_MS)
#define PERIODS 2
#define END_MS (COUNTED_MS + PERIODS * EVERY_MS)
/* A turn's, as of the table; where all devices ask, besides those of each. */
#define COMMANDS_MAX 20
/* Clocks as NTP keeps them. At 50 ppm a device that says hello every six hours is a second off, and
 * one that is ahead is told to ask once more: two or three commands a turn, as the table shows. */
#define RATE_PPM 10
/* So much later than its turn a job may run again after an outage: those that are drawn to ask may
 * be the last to come back. */
#define LATE_MS (SETTLED_MS + 5 * SECOND_MS)

struct scene {
    const char *name;
    unsigned jobs;
    bool all;        /* devices ask for each turn */
    int64_t gone_ms; /* from the beginning, which is a power-on of all within a minute */
    int64_t periods; /* before it, whose turns are counted too */
};

/* Those that were the first to say hello after a power-on know only of each other, and ask too
 * often, until they say it again, which is after six hours on average. Where all ask, that makes no
 * difference. */
static const struct scene scenes[] = {
    { "a few of which ask", JOBS_MAX, false, 24 * HOUR_MS + 24 * MINUTE_MS, 3 },
    { "all of which ask", 1, true, 24 * MINUTE_MS, 0 },
};

struct crowd {
    struct event second;
    const struct scene *scene;
    unsigned waiting;  /* to connect, when Redis came back */
    unsigned left_out; /* in a window still, when none is to be any more */
    uint64_t connects; /* up to the last second */
    uint64_t fullest;  /* of the seconds since Redis came back */
    uint64_t commands; /* for the turns that are counted */
};

/* With full jitter one tries again half a window after it gave up, on average, and those that begin
 * to try meet those that were trying when Redis came back. Half as many more are chance, and the 30
 * what would have connected anyway. */
static uint64_t fullest_allowed(unsigned waiting)
{
    uint64_t seconds = (WINDOW_MS / 2 + CONNECT_MS) / SECOND_MS;

    return 2 * (uint64_t)waiting / seconds * 3 / 2 + 30;
}

/* So many have something to ask, and a link in this state. */
static unsigned count_links(const struct sim *s, enum link_state state)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->plan.devices; i++)
        count += s->devices[i].links[0].state == state && s->devices[i].links[0].queued;
    return count;
}

static uint64_t asked_so_far(const struct sim *s)
{
    return s->served[STORE_ACQUIRE] + s->served[STORE_RENEW] + s->served[STORE_FINISH];
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void check_jobs(struct sim *s, int64_t back_ms)
{
    for (unsigned i = 0; i < s->plan.jobs; i++) {
        int64_t since = later(s->checks[i].active_ms, back_ms);

        if (s->now_ms - since > EVERY_MS + LATE_MS)
            check_breach(s, "%s: nothing ran for %lld ms after Redis came back",
                         s->plan.table[i].specs[0].name, (long long)(s->now_ms - since));
    }
}

static void go_away(struct sim *s)
{
    s->calm_ms = s->now_ms + OUTAGE_MS;
    server_restart(s, &s->servers[0], s->calm_ms);
}

static void each_second(struct sim *s, struct event *e)
{
    struct crowd *c = (struct crowd *)((char *)e - offsetof(struct crowd, second));
    int64_t back_ms = SIM_BEGIN_MS + c->scene->gone_ms + OUTAGE_MS, since_ms = s->now_ms - back_ms;
    uint64_t connects = s->tally.connects - c->connects;

    c->connects = s->tally.connects;
    if (since_ms == -OUTAGE_MS)
        go_away(s);
    if (since_ms == 0)
        c->waiting = count_links(s, LINK_WAITING) + count_links(s, LINK_CONNECTING);
    if (since_ms > 0 && connects > c->fullest)
        c->fullest = connects;
    if (since_ms == SETTLED_MS)
        c->left_out = count_links(s, LINK_WAITING);
    if (since_ms == -OUTAGE_MS - c->scene->periods * EVERY_MS || since_ms == COUNTED_MS)
        c->commands -= asked_so_far(s);
    if (since_ms == -OUTAGE_MS || since_ms == END_MS)
        c->commands += asked_so_far(s);
    if (since_ms > 0)
        check_jobs(s, back_ms);
    queue_set(&s->queue, e, s->now_ms + SECOND_MS);
}

static void make_spec(struct job_spec *spec, unsigned number)
{
    static const char *const names[JOBS_MAX] = { "first", "second" };
    int64_t smallest;

    *spec = (struct job_spec){
        .name = names[number],
        .key = names[number],
        .schedule = { .every_ms = EVERY_MS, .offset_ms = number * 20 * SECOND_MS },
        .timing = { .worst_case_ms = 2 * SECOND_MS,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = CONNECT_MS,
                    .lease_cap_ms = MINUTE_MS },
        .splay_ms = SECOND_MS,
        .catch_up_ms = EVERY_MS,
        .retry_delay_ms = MINUTE_MS,
        .retention_ms = 30 * DAY_MS,
        .attempts = 3,
    };
    strcpy(spec->schedule_print, "grid");
    strcpy(spec->fingerprint, "grid");
    assert(timing_derive(&spec->timing, &smallest) == 0);
}

static void make_plan(struct plan *p, uint64_t seed, unsigned devices, const struct scene *scene)
{
    *p = (struct plan){ .seed = seed,
                        .devices = devices,
                        .jobs = scene->jobs,
                        .slots = scene->jobs,
                        .names = devices,
                        .hello = true,
                        .all = scene->all,
                        .length_ms = scene->gone_ms + OUTAGE_MS + END_MS,
                        .storm_ms = MINUTE_MS,
                        .rate_ppm = RATE_PPM,
                        .trip_ms = 50 };
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        make_spec(&p->table[i].specs[0], i);
        p->table[i].specs[1] = p->table[i].specs[0];
        p->table[i].lock = i;
    }
}

/* Of a turn. A device whose clock is a little ahead is told to ask once more. */
static uint64_t commands_allowed(const struct plan *p)
{
    return COMMANDS_MAX + (p->all ? p->devices + p->devices / 20 : 0);
}

/* False where a promise was broken. */
static bool judge(const struct sim *s, const struct crowd *c)
{
    uint64_t turns = (uint64_t)(c->scene->periods + PERIODS) * s->plan.jobs;

    printf("%12u waited to connect when Redis came back after %d s\n", c->waiting,
           (int)(OUTAGE_MS / SECOND_MS));
    printf("%12llu connections in the fullest second after that, of at most %llu\n",
           (unsigned long long)c->fullest, (unsigned long long)fullest_allowed(c->waiting));
    printf("%12u still waited for their next try %d s after that\n", c->left_out,
           (int)(SETTLED_MS / SECOND_MS));
    printf("%12llu commands a turn, of at most %llu\n", (unsigned long long)(c->commands / turns),
           (unsigned long long)commands_allowed(&s->plan));
    if (s->breach[0])
        printf("%s\n", s->breach);
    return !s->breach[0] && c->waiting > 0 && c->left_out == 0 &&
           c->fullest <= fullest_allowed(c->waiting) &&
           c->commands <= commands_allowed(&s->plan) * turns;
}

static bool play(uint64_t seed, unsigned devices, const struct scene *scene, int64_t *device_ms)
{
    struct crowd c = { .second = { .happen = each_second }, .scene = scene };
    struct sim *s = sim_new(sizeof *s);
    struct plan plan;
    bool good;

    printf("%u devices, %s for each turn of %u:\n", devices, scene->name, scene->jobs);
    make_plan(&plan, seed, devices, scene);
    sim_begin(s, &plan, false);
    queue_set(&s->queue, &c.second, s->now_ms + SECOND_MS);
    sim_go(s);
    good = judge(s, &c);
    *device_ms += s->tally.device_ms;
    sim_done(s);
    free(s);
    return good;
}

bool reconnect_play(uint64_t seed, unsigned devices, int64_t *ret_device_ms)
{
    bool good = true;

    *ret_device_ms = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        good = play(seed, devices, &scenes[i], ret_device_ms) && good;
    return good;
}
