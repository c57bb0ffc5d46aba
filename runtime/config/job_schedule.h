/* SPDX-License-Identifier: MIT
 * config/job_schedule.h: when a job is due, and all bounds and defaults that follow from its
 * period.
 */
#ifndef ROTA_CONFIG_JOB_SCHEDULE_H
#define ROTA_CONFIG_JOB_SCHEDULE_H
#include "config/group.h"

/* Settles the present job's schedule from every and offset, or cron and timezone. True where it has
 * one, so that schedule_period_ms() may be asked. `job_line` serves where no key's line does. */
bool job_schedule_settle(struct reading *r, const struct schema_group *g,
                         const struct group_lines *lines, int job_line);
#endif
