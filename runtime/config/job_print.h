/* SPDX-License-Identifier: MIT
 * config/job_print.h: a job's fingerprints (DESIGN section 5, "Two versions in one fleet"). What
 * goes in, its order and its spelling are final: devices of every version compare the result. */
#ifndef ROTA_CONFIG_JOB_PRINT_H
#define ROTA_CONFIG_JOB_PRINT_H
#include "config/config.h"

/* Fills spec.fingerprint and spec.schedule_print. The params are in order of name. The former has
 * the rules of the job's zone, the latter its name only: new rules make no schedule never seen. */
void job_print_all(struct job_config *job);
#endif
