/* SPDX-License-Identifier: MIT
 * guard/limits.h: which of a job's limits the kernel can keep, by what, and what is said of the
 * others. The plan is made by the guard, before the fork; the worker carries it out. */
#ifndef ROTA_GUARD_LIMITS_H
#define ROTA_GUARD_LIMITS_H
#include "base/limits.h"
#include <stdbool.h>
#include <sys/resource.h>

/* The worker's own thread (worker.c's keeper) is not counted against the job. */
#define LIMITS_OWN_THREADS 1

enum limit {
    LIMIT_MEMORY,
    LIMIT_CPU_TIME,
    LIMIT_OPEN_FILES,
    LIMIT_PROCESSES,
    LIMIT_FILE_SIZE,
    LIMIT_CORE,
    LIMIT_COUNT,
};

/* What the plan depends on. */
struct limits_ground {
    struct rlimit now[LIMIT_COUNT];
    bool may_raise; /* hard limits too */
    bool is_root;   /* the job's user, whose processes the kernel does not count */
    bool wants_group;
    const char *no_group; /* why there is none though it is wanted, to follow "since"; or NULL */
    bool group_has_memory, group_has_processes; /* the run's group keeps these */
};

#define LIMITS_UNAPPLIED_SIZE 512

struct limits_plan {
    bool is_set[LIMIT_COUNT];
    struct rlimit wanted[LIMIT_COUNT];
    char unapplied[LIMITS_UNAPPLIED_SIZE]; /* a sentence for people; "": all can be kept */
};

/* Fills `now` and `may_raise` with what this process has. */
void limits_look(struct limits_ground *ground);
/* A hard limit that is too low and cannot be raised is told and kept: no error. */
void limits_plan(const struct limits *limits, const struct limits_ground *ground,
                 struct limits_plan *ret_plan);
/* For the calling process and all that it starts. 0 or -errno. */
int limits_apply(const struct limits_plan *plan);

/* What a process that died of this signal did, where it is a limit's signal; else NULL. */
const char *limits_death(int signo);
#endif
