/* SPDX-License-Identifier: MIT
 * config/job.h: one job of a conf file. */
#ifndef ROTA_CONFIG_JOB_H
#define ROTA_CONFIG_JOB_H
#include "config/group.h"

/* Reads a job and appends it to config->jobs, with its mistakes noted. The keys of `redis` and
 * plugin_dir must have been read: a job's timing and its plugin depend on them. */
void job_read(struct reading *r, const config_setting_t *s);
void job_free(struct job_config *job);
#endif
