/* SPDX-License-Identifier: MIT
 * supervisor/run_output.h: what a run writes, and what its plugin logs: told at once as the job's
 * own, and the end of it kept for as long as the job is there, in a tail: for who asks what it said
 * last. A line of the tail is escaped and not empty, and has when it came here, its stream (1, 2;
 * 0: log()) and its level of syslog.h. */
#ifndef ROTA_SUPERVISOR_RUN_OUTPUT_H
#define ROTA_SUPERVISOR_RUN_OUTPUT_H
#include "base/tail.h"
#include "core/job.h"
#include "ipc/messages.h"

/* A new run begins, of which up to `lines` are kept. What was kept before is forgotten. */
void run_output_begin(struct tail *tail, uint32_t lines);
void run_output_take(struct tail *tail, const struct job *job, const struct message_output *m);
void run_output_take_log(struct tail *tail, const struct job *job, const struct message_log *m);
/* "" where there is none. Stands until the tail is changed. */
const char *run_output_last(const struct tail *tail);
#endif
