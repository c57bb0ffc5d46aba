/* SPDX-License-Identifier: MIT
 * config/job_setup.h: as whom a job runs, with what environment, and within what limits. */
#ifndef ROTA_CONFIG_JOB_SETUP_H
#define ROTA_CONFIG_JOB_SETUP_H
#include "config/group.h"

/* Reads the present job's `limits` from its group `s`, looks up its user and group, and notes what
 * is wrong with them and with its environment. A job that runs elsewhere may name users that this
 * device does not have. */
void job_setup_settle(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines, const config_setting_t *s);
#endif
