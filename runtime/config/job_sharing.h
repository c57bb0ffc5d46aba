/* SPDX-License-Identifier: MIT
 * config/job_sharing.h: how a job is shared out: its scope, its lock, and what goes with neither.
 */
#ifndef ROTA_CONFIG_JOB_SHARING_H
#define ROTA_CONFIG_JOB_SHARING_H
#include "config/group.h"

/* Checks scope and lock of the present job against each other, against the store, and against what
 * depends on them; sets stop_after_failures where it is not written. Where the store is local, what
 * goes with a fleet is taken back, with a warning. Before the schedule and the timing. */
void job_sharing_settle(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines);
/* Once all jobs are read: notes those that require a fence and share their lock_key. */
void job_sharing_note_same_locks(struct reading *r);
#endif
