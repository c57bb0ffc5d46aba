/* SPDX-License-Identifier: MIT
 * config/job.h: one job of a conf file. */
#ifndef ROTA_CONFIG_JOB_H
#define ROTA_CONFIG_JOB_H
#include "config/group.h"

/* Reads a job and appends it to config->jobs, with its mistakes noted. The keys of `redis` and
 * plugin_dir must have been read: a job's timing and its plugin depend on them. */
void job_read(struct reading *r, const config_setting_t *s);
/* Notes jobs whose keys in Redis would be another job's too, by `was`. */
void job_note_same_keys(struct reading *r);
/* Sets spec.name and spec.key, by the texts `name` and `was`. */
void job_point_to_names(struct job_config *job);
/* A job that is not packed (config/pack.h has all that this frees). */
void job_free(struct job_config *job);
#endif
