/* SPDX-License-Identifier: MIT */
#include "plan.h"
#include "base/units.h"
#include "chance.h"
#include <assert.h>
#include <string.h>

/* So many devices x milliseconds are played, so that a seed takes about a second. */
#define DEVICE_MS (INT64_C(400) * HOUR_MS)
/* Of a job without a lock, which each of them runs. */
#define FREE_DEVICES_MAX 30
/* Seeds with an operator who runs jobs by hand. */
#define HANDS_OF_10000 3000
/* Seeds with a quorum of servers; each of their turns costs more commands, so they are smaller. */
#define QUORUM_OF_10000 1500
#define QUORUM_DEVICES_MAX 30
/* How often one kind of mishap happens where it does. */
#define GAP_LEAST_MS (30 * SECOND_MS)
#define GAP_MOST_MS (20 * MINUTE_MS)
/* The margins of PROTOCOL.md hold for clocks within 1 % of each other, and where a guard stands
 * still, since its tree may live until D + M/2, within a half. */
#define RATE_MOST_PPM 4900
#define RATE_GUARD_PPM 2400

/* A job's settings, but for what all have. */
struct kind {
    const char *name;
    int64_t every_ms, worst_case_ms, retry_delay_ms;
    uint32_t attempts;
    int64_t max_runtime_ms; /* 0: it is stopped at the worst case */
    uint32_t seats;         /* 0: fleet scope */
    uint32_t stop_after_failures;
    unsigned reboots;
    const char *lock_key;
    bool no_lock, unreachable;
};

static const struct kind kinds[] = {
    { .name = "short",
      .every_ms = 10 * SECOND_MS,
      .worst_case_ms = SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 3 },
    { .name = "renewed",
      .every_ms = 20 * SECOND_MS,
      .worst_case_ms = 12 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 2 },
    { .name = "once",
      .every_ms = 15 * SECOND_MS,
      .worst_case_ms = 2 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 1 },
    /* Takes most of its period. */
    { .name = "long",
      .every_ms = 2 * MINUTE_MS,
      .worst_case_ms = 100 * SECOND_MS,
      .retry_delay_ms = 5 * SECOND_MS,
      .attempts = 4 },
    { .name = "extend",
      .every_ms = MINUTE_MS,
      .worst_case_ms = 5 * SECOND_MS,
      .max_runtime_ms = 40 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 2 },
    /* Two jobs under one lock. */
    { .name = "left",
      .every_ms = 30 * SECOND_MS,
      .worst_case_ms = 3 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 3,
      .lock_key = "both" },
    { .name = "right",
      .every_ms = 40 * SECOND_MS,
      .worst_case_ms = 9 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 2,
      .lock_key = "both" },
    /* Device scope: a short one with a brake, a renewed one, one that reboots. */
    { .name = "seats",
      .every_ms = 2 * MINUTE_MS,
      .worst_case_ms = 3 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 3,
      .seats = 2,
      .stop_after_failures = 5 },
    { .name = "upload",
      .every_ms = 3 * MINUTE_MS,
      .worst_case_ms = 15 * SECOND_MS,
      .retry_delay_ms = 2 * SECOND_MS,
      .attempts = 2,
      .seats = 3 },
    { .name = "update",
      .every_ms = 4 * MINUTE_MS,
      .worst_case_ms = 5 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 1,
      .seats = 1,
      .reboots = 3000 },
    { .name = "free",
      .every_ms = 25 * SECOND_MS,
      .worst_case_ms = 2 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 2,
      .no_lock = true },
    { .name = "alone",
      .every_ms = MINUTE_MS,
      .worst_case_ms = 2 * SECOND_MS,
      .retry_delay_ms = SECOND_MS,
      .attempts = 2,
      .seats = 5,
      .unreachable = true },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void make_spec(struct job_spec *spec, const struct kind *k)
{
    int64_t smallest;

    *spec = (struct job_spec){
        .name = k->name,
        .key = k->name,
        .schedule = { .every_ms = k->every_ms, .offset_ms = k->every_ms / 7 },
        .timing = { .worst_case_ms = k->worst_case_ms,
                    .max_runtime_ms = k->max_runtime_ms,
                    .stop_grace_ms = SECOND_MS,
                    .command_timeout_ms = 700,
                    .connect_timeout_ms = SECOND_MS,
                    .lease_cap_ms = 7 * SECOND_MS },
        .splay_ms = SECOND_MS,
        .catch_up_ms = k->every_ms,
        .retry_delay_ms = k->retry_delay_ms,
        .retention_ms = 2 * DAY_MS,
        .attempts = k->attempts,
        .scope = k->seats > 0 ? SCOPE_DEVICE : SCOPE_FLEET,
        .concurrency = k->seats,
        .stop_after_failures = k->stop_after_failures,
        .lock_key = k->lock_key,
        .lock = k->no_lock ? LOCK_NONE : LOCK_STORE,
        .run_unreachable = k->unreachable,
        .schedule_print = "grid",
        .fingerprint = "grid",
    };
    assert(timing_derive(&spec->timing, &smallest) == 0);
}

static void differ_by(enum rollout rollout, struct job_spec *older, struct job_spec *newer)
{
    if (rollout != ROLLOUT_NONE && rollout != ROLLOUT_LAYOUT)
        strcpy(newer->fingerprint, "other");
    switch (rollout) {
    case ROLLOUT_SCHEDULE:
        newer->schedule.every_ms *= 2;
        newer->catch_up_ms *= 2;
        strcpy(newer->schedule_print, "other");
        break;
    case ROLLOUT_VERSION:
    case ROLLOUT_CANARY:
        older->version = 1;
        newer->version = 2;
        break;
    case ROLLOUT_SCOPE:
        newer->scope = SCOPE_DEVICE;
        newer->concurrency = 2;
        break;
    case ROLLOUT_LOCK:
        newer->lock_key = "another";
        break;
    default:
        break;
    }
}

static bool is_of_the_fleet_alone(const struct kind *k)
{
    return k->seats == 0 && !k->lock_key && !k->no_lock;
}

static void make_job(struct plan *p, unsigned number, const struct kind *k, enum rollout rollout)
{
    struct plan_job *j = &p->table[number];
    bool asks = !k->no_lock || rollout == ROLLOUT_SCHEDULE;
    bool may = (is_of_the_fleet_alone(k) && (p->quorum == 0 || rollout != ROLLOUT_SCOPE)) ||
               (asks && rollout != ROLLOUT_SCOPE && rollout != ROLLOUT_LOCK);

    *j = (struct plan_job){ .rollout = may ? rollout : ROLLOUT_NONE,
                            .lock = number,
                            .reboots = k->reboots };
    make_spec(&j->specs[0], k);
    make_spec(&j->specs[1], k);
    differ_by(j->rollout, &j->specs[0], &j->specs[1]);
    for (unsigned i = 0; k->lock_key && i < number; i++)
        if (p->table[i].specs[0].lock_key)
            j->lock = i;
    p->rolled_out = p->rolled_out || j->rollout != ROLLOUT_NONE;
}

/* Of `left` things not yet drawn, whose numbers are kept in `order`. */
static unsigned draw(unsigned *order, unsigned left, struct chance *c)
{
    unsigned place = (unsigned)chance_in(c, 0, left - 1), number = order[place];

    order[place] = order[left - 1];
    return number;
}

static void make_jobs(struct plan *p, struct chance *c)
{
    bool rolled_out = chance_of(c, 3500);
    unsigned order[KINDS], count = 0;

    for (unsigned i = 0; i < KINDS; i++)
        if ((!kinds[i].no_lock || p->devices <= FREE_DEVICES_MAX) &&
            (p->quorum == 0 || kinds[i].seats == 0)) /* which a quorum cannot count */
            order[count++] = i;
    p->jobs = (unsigned)chance_in(c, 1, PLAN_JOBS_MAX);
    p->slots = chance_of(c, 7000) ? p->jobs : (unsigned)chance_in(c, 1, p->jobs);
    for (unsigned i = 0; i < p->jobs; i++) {
        unsigned kind = draw(order, count - i, c);
        enum rollout rollout = (enum rollout)chance_in(c, ROLLOUT_NONE + 1, ROLLOUT_COUNT - 1);

        make_job(p, i, &kinds[kind], rolled_out ? rollout : ROLLOUT_NONE);
    }
}

unsigned plan_record(const struct plan *p, unsigned job, unsigned config)
{
    return job + (p->table[job].rollout == ROLLOUT_LOCK ? config * PLAN_JOBS_MAX : 0);
}

unsigned plan_record_of(const struct plan *p, const struct job_spec *spec)
{
    size_t at = (size_t)((const char *)spec - (const char *)p->table);
    unsigned job = (unsigned)(at / sizeof p->table[0]);

    return plan_record(p, job, (unsigned)(spec - p->table[job].specs));
}

unsigned plan_job_of(unsigned record)
{
    return record % PLAN_JOBS_MAX;
}

bool plan_has_record(const struct plan *p, unsigned record)
{
    unsigned job = plan_job_of(record);

    return job < p->jobs && (record == job || p->table[job].rollout == ROLLOUT_LOCK);
}

unsigned plan_lock(const struct plan *p, unsigned record)
{
    return record < PLAN_JOBS_MAX ? p->table[record].lock : record;
}

bool plan_has_seats(const struct plan *p, unsigned record)
{
    const struct plan_job *j = &p->table[plan_job_of(record)];

    return j->specs[0].scope == SCOPE_DEVICE || j->specs[1].scope == SCOPE_DEVICE;
}

/* Each seed has some kinds, so that what one hides another seed shows. */
static void make_mishaps(struct plan *p, struct chance *c)
{
    for (unsigned i = 0; i < MISHAP_HAND; i++)
        if (chance_of(c, 2500))
            p->gap_ms[i] = chance_in(c, GAP_LEAST_MS, GAP_MOST_MS);
    /* Of one device among many it takes more to matter. */
    for (unsigned i = MISHAP_CRASH; i < MISHAP_HAND; i++)
        if (i != MISHAP_STORM && p->devices > 100)
            p->gap_ms[i] = p->gap_ms[i] / 8;
    p->lost = chance_of(c, 5000) ? (unsigned)chance_in(c, 10, 500) : 0;
    p->slow = chance_of(c, 3000) ? (unsigned)chance_in(c, 10, 300) : 0;
    p->bad_ends = chance_of(c, 7000) ? (unsigned)chance_in(c, 100, 6000) : 0;
    p->stillborn = chance_of(c, 2000) ? (unsigned)chance_in(c, 10, 500) : 0;
}

/* Drawn apart, so that all else of a seed is as it was without them. */
static void make_hands(struct plan *p, uint64_t seed)
{
    struct chance c = chance_stream(seed, 9000);

    if (chance_of(&c, HANDS_OF_10000))
        p->gap_ms[MISHAP_HAND] = chance_in(&c, GAP_LEAST_MS, GAP_MOST_MS) / 4;
}

/* Drawn apart, like them. No server of a quorum has a replica. */
static void draw_quorum(struct plan *p, uint64_t seed)
{
    struct chance c = chance_stream(seed, 9001);

    if (!chance_of(&c, QUORUM_OF_10000))
        return;
    p->quorum = chance_of(&c, 7000) ? 3 : chance_of(&c, 7000) ? 5 : 7;
    if (p->devices > QUORUM_DEVICES_MAX)
        p->devices = QUORUM_DEVICES_MAX;
}

unsigned plan_links(const struct plan *p)
{
    return p->quorum > 0 ? p->quorum : 1;
}

void plan_make(struct plan *p, uint64_t seed)
{
    static const unsigned sizes[] = { 1, 2, 3, 4, 5, 5, 8, 12, 30, 100, 1000 };
    struct chance c = chance_stream(seed, 1);

    *p = (struct plan){ .seed = seed };
    p->devices = sizes[chance_in(&c, 0, sizeof sizes / sizeof sizes[0] - 1)];
    draw_quorum(p, seed);
    p->names = chance_of(&c, 2000) ? (p->devices + 1) / 2 : p->devices;
    p->length_ms = DEVICE_MS / p->devices / 10;
    if (p->length_ms > 4 * HOUR_MS)
        p->length_ms = 4 * HOUR_MS;
    if (p->length_ms < 20 * MINUTE_MS)
        p->length_ms = 20 * MINUTE_MS;
    p->quiet_ms = 8 * MINUTE_MS;
    p->storm_ms = chance_of(&c, 3000) ? SECOND_MS : MINUTE_MS;
    p->trip_ms = chance_of(&c, 2000) ? 300 : 30;
    p->hello = chance_of(&c, 6000);
    make_jobs(p, &c);
    make_mishaps(p, &c);
    make_hands(p, seed);
    if (p->quorum > 0)
        p->gap_ms[MISHAP_FAILOVER] = p->gap_ms[MISHAP_SPLIT] = 0;
    p->rate_ppm = p->gap_ms[MISHAP_GUARD_PAUSE] || p->gap_ms[MISHAP_PAUSE_ALL] ? RATE_GUARD_PPM
                                                                               : RATE_MOST_PPM;
    p->rate_ppm = chance_in(&c, 0, p->rate_ppm);
}

#define MISHAP_WORD(name, word, text) [MISHAP_##name] = (word),
static const char *const words[MISHAP_COUNT] = { MISHAPS(MISHAP_WORD) };

#define MISHAP_TEXT(name, word, text) [MISHAP_##name] = (text),
static const char *const texts[MISHAP_COUNT] = { MISHAPS(MISHAP_TEXT) };

const char *plan_mishap_text(enum mishap kind)
{
    return texts[kind];
}

const char *plan_mishap_word(enum mishap kind)
{
    return words[kind];
}

int plan_mishap_of(const char *word)
{
    for (int i = 0; i < MISHAP_COUNT; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}
