/* SPDX-License-Identifier: MIT
 * core/job_internal.h: what job.c (the machine) and job_lease.c (what the store's answers mean)
 * share. */
#ifndef ROTA_CORE_JOB_INTERNAL_H
#define ROTA_CORE_JOB_INTERNAL_H
#include "core/job.h"
#include "core/report.h"

extern const struct lease_ops job_lease_ops;

/* The one way to change the state. */
void job_happen(struct job *j, enum job_event event, struct boot now);
/* Sets the job's one timer by its state and its lease's: not before now, so that what a move of the
 * clock has made due does not look overdue. */
void job_rearm(struct job *j, struct boot now);
void job_report(struct job *j, const struct report *r);
void job_report_illegal(struct job *j, const char *event);
/* The newest turn that is due; only where fleet time is known. */
struct wall job_latest_due(const struct job *j, struct boot now);
/* Whether `turn` is more than catch_up late. */
bool job_too_late(const struct job *j, struct boot now);
/* The device has nothing to do any more with any turn up to this one. */
void job_settle_up_to(struct job *j, struct wall turn);
/* How many turns fell due after j->turn, up to `until`, by time that passed. */
int64_t job_count_since(const struct job *j, struct wall until);
/* The turn that is asked for from now on; where it is another one, nothing of the former counts. */
void job_aim_at(struct job *j, struct wall turn);
/* Puts how the run ended, with the detail as Redis gets it, into its lease, which has none yet. */
void job_keep_end(struct job *j, struct boot now, enum outcome outcome, const struct run_end *end,
                  const char *detail);
/* How many turns fell due during the run whose end is kept; counts those of them that have passed.
 */
int64_t job_count_meanwhile(struct job *j);
/* Keeps who holds the turn; NULL or "": nobody that is known. */
void job_keep_holder(struct job *j, const char *device);
#endif
