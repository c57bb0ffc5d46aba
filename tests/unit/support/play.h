/* SPDX-License-Identifier: MIT
 * support/play.h: a fleet in virtual time without faults: the core as it is, the in-memory store,
 * and runs that take as long as the test says. Each device has a boot clock with a beginning and a
 * rate of its own. Every run is written down. What takes a round trip elsewhere takes no time. */
#ifndef ROTA_TESTS_PLAY_H
#define ROTA_TESTS_PLAY_H
#include "support/fake.h"

#include "core/memory.h"

#define PLAY_DEVICES_MAX 30
#define PLAY_JOBS_MAX 5
#define PLAY_RUNS_MAX 1024

/* Instants are the server's clock. */
struct play_run {
    unsigned job, device;
    int64_t turn_ms, begin_ms;
    int64_t end_ms; /* 0: it goes on, or its device was switched off */
};

struct play_job {
    struct job_spec spec;
    struct memory_claim record;
    struct memory_lock lock;
    int64_t takes_ms; /* a run */
    int result;       /* of a run, plugin.h's */
};

struct play_device {
    struct fake fake;
    char name[8];
    bool up;
    int64_t born_ms; /* server time of boot 0 */
    int64_t ppm;     /* its clock's rate */
    struct job jobs[PLAY_JOBS_MAX];
    struct boot ends[PLAY_JOBS_MAX]; /* of the run; BOOT_NEVER: none */
    size_t run_at[PLAY_JOBS_MAX];    /* the run's place in play.runs */
    unsigned starts;                 /* of the fake's, that were seen */
};

struct play {
    struct unit_random random;
    int64_t now_ms; /* the server's clock */
    uint32_t slots; /* max_running of each device */
    unsigned device_count, job_count;
    struct play_job jobs[PLAY_JOBS_MAX];
    struct play_device devices[PLAY_DEVICES_MAX];
    struct play_run runs[PLAY_RUNS_MAX];
    size_t run_count;
    uint64_t ticks, commands; /* calls of fleet_tick(); requests to the store */
};

/* Unix milliseconds of an instant in UTC. */
int64_t play_utc(int year, int month, int day, int hour, int minute);
/* A job of the default settings whose runs are short: splay 1 s, catch_up its period. */
struct job_spec play_spec(const char *name, const struct schedule *schedule);
/* The same, by cron; `zone` NULL: UTC. */
struct job_spec play_cron_spec(const char *name, const char *cron, const struct zone *zone);

/* `devices` devices, all switched off, and no job. */
void play_init(struct play *p, struct unit_random random, int64_t begin_ms, unsigned devices);
void play_done(struct play *p);
/* Every device that is on, or will be, has this job from now on. Returns its number. */
unsigned play_add(struct play *p, const struct job_spec *spec, int64_t takes_ms);
/* The same with a record in the store: all that was due up to now is done. */
unsigned play_add_known(struct play *p, const struct job_spec *spec, int64_t takes_ms);
/* Every device that is on takes over other settings, as by a reload. No run of it goes on. */
void play_edit(struct play *p, unsigned job, const struct job_spec *spec);
/* The store has lost everything. */
void play_empty_store(struct play *p);

void play_switch_on(struct play *p, unsigned device);
/* Its runs are gone with it. */
void play_switch_off(struct play *p, unsigned device);
void play_switch_all(struct play *p, bool on);
/* Plays up to this instant. */
void play_until(struct play *p, int64_t at_ms);

/* How many runs of the job began in [from, until). */
size_t play_count(const struct play *p, unsigned job, int64_t from_ms, int64_t until_ms);
/* The runs of the job began for exactly these turns, in this order, each on time. */
void play_expect(const struct play *p, unsigned job, const int64_t *turns, size_t count);
#endif
