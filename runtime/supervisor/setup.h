/* SPDX-License-Identifier: MIT
 * supervisor/setup.h: as whom, where and within what a job runs, as its guard is told. */
#ifndef ROTA_SUPERVISOR_SETUP_H
#define ROTA_SUPERVISOR_SETUP_H
#include "config/config.h"
#include "ipc/messages.h"
#include "supervisor/delegation.h"
#include "supervisor/worker_user.h"

/* What all jobs of this rotad have in common. */
struct setup_env {
    const struct worker_user *user;   /* of a job that names none */
    const struct delegation *cgroups; /* or NULL: none are shared out */
};

/* What the job's runs and probes are told. It points into `config` and `env`. */
struct message_setup setup_of_job(const struct setup_env *env, const struct job_config *config);
#endif
