/* SPDX-License-Identifier: MIT
 * supervisor/probe.h: every plugin file is loaded once in a guard, for all its jobs, before any
 * of them may run; what is wrong with the file or with a job's parameters becomes a problem of
 * that job, with its line.
 *
 * A guard that crashes, hangs or talks nonsense costs its own jobs only. At most
 * PROBE_GUARDS_MAX run at once. */
#ifndef ROTA_SUPERVISOR_PROBE_H
#define ROTA_SUPERVISOR_PROBE_H
#include "config/config.h"
#include "supervisor/setup.h"
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#define PROBE_GUARDS_MAX 2
/* Longest silence of a guard between two answers. It allows a plugin 5 s by itself, whose
 * message is the better one; this is for a guard that does not keep it. The test
 * has less patience. */
#ifndef PROBE_SILENCE_MS
#define PROBE_SILENCE_MS 15000
#endif

struct probe;

/* Called once, from the loop, never from probe_new. The probe may be freed in it. */
typedef void probe_done(void *context, struct config *config);

struct probe_env {
    sd_event *event;
    const struct setup_env *setup; /* as at a run; outlives it. NULL: what is in the files runs as
                                      this program's own user, with nothing of a job's */
    probe_done *done;
    void *context;
};

/* Begins to probe all valid jobs of `config`, which must outlive the probe and stay where it
 * is; problems go into it by config_job_problem(). 0, -ENOMEM, or an error of sd-event. */
int probe_new(const struct probe_env *env, struct config *config, struct probe **ret_probe);
/* Whoever reaps children tells of each one. True where it was one of this probe's. */
bool probe_child_ended(struct probe *p, pid_t pid, int status);
/* Whether this is one of its guards that was not yet reaped. */
bool probe_owns(const struct probe *p, pid_t pid);
/* Accepts NULL. Kills the guards that still run; the caller's loop reaps them. Problems found
 * so far stay. */
void probe_free(struct probe *p);
#endif
