/* SPDX-License-Identifier: MIT
 * sim/plan.h: all that a seed decides before the first instant: the fleet, its jobs, and how often
 * what goes wrong. */
#ifndef ROTA_SIM_PLAN_H
#define ROTA_SIM_PLAN_H
#include "core/spec.h"

#define PLAN_JOBS_MAX 5
/* During a roll-out a fleet has two. */
#define PLAN_CONFIGS 2
/* A job has one record in the store, or one for each of its locks. */
#define PLAN_RECORDS_MAX (PLAN_CONFIGS * PLAN_JOBS_MAX)

/* What goes wrong now and then; mishap.c does it. The names are options of the program. */
#define MISHAPS(X)                                                                                 \
    X(RESTART, "restart", "Redis is gone for a while, and comes back with its data")               \
    X(EMPTY, "empty", "Redis restarts without its data")                                           \
    X(FAILOVER, "failover", "a replica takes over that lacks the newest writes")                   \
    X(SPLIT, "split", "for a while there are two masters, each with a part of the fleet")          \
    X(STEP, "step", "the server's clock is set forward or back")                                   \
    X(FLUSH, "flush", "SCRIPT FLUSH: the next of each script takes another round trip")            \
    X(CLIENTS, "clients", "no new connection is accepted for a while")                             \
    X(ERRORS, "errors", "error replies for a while, of one class of fault")                        \
    X(STALL, "stall", "Redis does nothing for a while, then all of what came meanwhile")           \
    X(HOLD, "hold", "an operator pauses a job for the whole fleet, and resumes it")                \
    X(CUT, "cut", "the links of a part of the fleet are dead for a while")                         \
    X(CRASH, "crash", "a device loses power, and boots later")                                     \
    X(STORM, "storm", "the whole fleet loses power, and boots at once")                            \
    X(SUSPEND, "suspend", "a device is frozen whole; its boot clock goes on")                      \
    X(KILL, "kill", "a supervisor is killed, and restarted")                                       \
    X(UPGRADE, "upgrade", "a supervisor stops as asked, and starts with the other configuration")  \
    X(PAUSE, "pause", "a supervisor stands still")                                                 \
    X(GUARD_PAUSE, "guard-pause", "a device's guards stand still")                                 \
    X(GUARD_KILL, "guard-kill", "a guard is killed")                                               \
    X(WORKER_KILL, "worker-kill", "a worker is killed")                                            \
    X(PAUSE_ALL, "pause-all", "supervisor, guards and workers of a device stand still")            \
    X(HAND, "hand", "an operator runs a job of a device by hand, or stops its run")

#define MISHAP_ENUM(name, word, text) MISHAP_##name,
enum mishap { MISHAPS(MISHAP_ENUM) MISHAP_COUNT };

/* What the second configuration has otherwise. */
enum rollout {
    ROLLOUT_NONE,
    ROLLOUT_SCHEDULE,
    ROLLOUT_VERSION, /* a higher one */
    ROLLOUT_CANARY,  /* the same, and it never succeeds */
    ROLLOUT_SCOPE,   /* device scope */
    ROLLOUT_LOCK,    /* another lock_key */
    ROLLOUT_LAYOUT,  /* its rota writes claims that the others do not know */
    ROLLOUT_COUNT
};

struct plan_job {
    enum rollout rollout;
    unsigned lock;    /* number of the job whose lock it has */
    unsigned reboots; /* of 10,000 runs */
    struct job_spec specs[PLAN_CONFIGS];
};

struct plan {
    uint64_t seed;
    unsigned devices, jobs, slots; /* slots: max_running */
    unsigned names;                /* different ones; fewer than devices: some are the same */
    bool hello;         /* else no device knows the fleet's size, and each asks for every turn */
    bool all;           /* with hello: each asks for every turn all the same (turns = "all") */
    bool rolled_out;    /* some job has a rollout */
    unsigned quorum;    /* so many servers, of which most decide; 0: one */
    int64_t length_ms;  /* in all */
    int64_t quiet_ms;   /* at its end, when nothing goes wrong any more */
    int64_t storm_ms;   /* the first power-on is spread over this */
    int64_t rate_ppm;   /* the clocks of devices and server are within ± this of true time */
    int64_t trip_ms;    /* one way on a good link, at the most */
    unsigned lost;      /* of 10,000 messages, either way */
    unsigned slow;      /* the same: seconds, not milliseconds */
    unsigned bad_ends;  /* of 10,000 runs: failed, crashed, declined, overrun, ... */
    unsigned stillborn; /* of 10,000 starts */
    int64_t gap_ms[MISHAP_COUNT]; /* between two of a kind, on average; 0: none */
    struct plan_job table[PLAN_JOBS_MAX];
};

/* What the seed makes of it. */
void plan_make(struct plan *p, uint64_t seed);
/* So many links a device has. */
unsigned plan_links(const struct plan *p);
/* Which record of the store the job has by that configuration, in 0 ... PLAN_RECORDS_MAX - 1; the
 * job of a record; and whether the plan has that record. */
unsigned plan_record(const struct plan *p, unsigned job, unsigned config);
unsigned plan_job_of(unsigned record);
/* That of a job by its settings, which are the plan's own. */
unsigned plan_record_of(const struct plan *p, const struct job_spec *spec);
bool plan_has_record(const struct plan *p, unsigned record);
/* The record whose lock this record's runs take. */
unsigned plan_lock(const struct plan *p, unsigned record);
/* By some configuration the record has seats. */
bool plan_has_seats(const struct plan *p, unsigned record);
/* The word for a kind of mishap, what it is, and the kind of a word; -1: there is none of that
 * name. */
const char *plan_mishap_word(enum mishap kind);
const char *plan_mishap_text(enum mishap kind);
int plan_mishap_of(const char *word);
#endif
