/* SPDX-License-Identifier: MIT
 * supervisor/check_jobs.h: what rotad --check says of each good job. */
#ifndef ROTA_SUPERVISOR_CHECK_JOBS_H
#define ROTA_SUPERVISOR_CHECK_JOBS_H
#include "config/config.h"

/* `device`: the name that patterns were matched with. To stdout, in the jobs' order: name,
 * schedule, the next three turns in the job's zone by this device's clock, timing, the takeover
 * time, and what it costs on the wire; then what all cost. Invalid jobs are left out. */
void check_jobs_print(const struct config *c, const char *device);
#endif
