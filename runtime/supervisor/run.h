/* SPDX-License-Identifier: MIT
 * supervisor/run.h: one run's guard, from its start to the last of its tree, as the supervisor sees
 * it.
 *
 * The guard does the work. This side starts it, passes the deadline on, takes its words, and is the
 * last wall: where the guard does not end its tree by D + M/2, or dies, the tree is killed from
 * here (rotad is the subreaper above its guards, so what they leave becomes its child). */
#ifndef ROTA_SUPERVISOR_RUN_H
#define ROTA_SUPERVISOR_RUN_H
#include "config/config.h"
#include "core/job.h"
#include "supervisor/past.h"
#include "supervisor/setup.h"
#include <sys/types.h>
#include <systemd/sd-event.h>

struct run;

/* A guard that waits for its START. */
struct ready_guard {
    const struct job *job; /* as whose it shows itself; NULL: there is none */
    pid_t pid;             /* 0: it could not be started. It may be dead. */
    int fd;
};

/* 0 or negative errno: none was started, and the job has that for its guard. */
int run_make_ready(struct ready_guard *ready, const struct job *job);

struct run_env {
    sd_event *event;
    int64_t priority;
    const char *device;
    const struct setup_env *setup;
    struct ready_guard *ready; /* taken where it is for the job that is to run */
    /* Processes that rotad itself started and still has: not to be taken for leftovers. */
    bool (*is_ours)(void *context, pid_t pid);
    /* The run is over in every sense and may be freed; never called from run_new(). */
    void (*over)(void *context, struct run *run);
    /* Each run's: what of the job's settings could not be applied; "": all was. */
    void (*unapplied)(void *context, struct job *job, const char *sentence);
    void *context;
};

/* Starts the job's granted run. 0, or negative errno: nothing was started. `job` gets
 * job_started(), job_ended() and, where that was unclean, job_emptied(). `past` outlives the run,
 * and gets the end of its output (run_output.h) and its progress. */
int run_new(const struct run_env *env, struct job *job, const struct job_config *config,
            struct past *past, struct run **ret_run);
void run_free(struct run *r);

/* D has moved. */
void run_extend(struct run *r);
void run_stop(struct run *r, enum stop_reason reason);
pid_t run_pid(const struct run *r);
/* The guard was reaped. */
void run_child_ended(struct run *r, int status);
#endif
