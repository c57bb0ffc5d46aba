/* SPDX-License-Identifier: MIT
 * config/job_timing.h: whether a job's lease, grace and worst case fit together, in words. */
#ifndef ROTA_CONFIG_JOB_TIMING_H
#define ROTA_CONFIG_JOB_TIMING_H
#include "config/group.h"

/* Derives the present job's timing; notes a lease that is too short, and warns of runs and attempts
 * that do not fit into the period. period_ms: 0: none. `job_line` serves where no key's
 * line does. */
void job_timing_settle(struct reading *r, const struct schema_group *g,
                       const struct group_lines *lines, int64_t period_ms, int job_line);
#endif
