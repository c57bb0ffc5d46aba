/* SPDX-License-Identifier: MIT
 * supervisor/words.h: every sentence about jobs that people read (SCREENS.md). */
#ifndef ROTA_SUPERVISOR_WORDS_H
#define ROTA_SUPERVISOR_WORDS_H
#include "core/advice.h"
#include "core/report.h"

#define WORDS_INSTANT_SIZE 40

/* "02:30 UTC", with seconds where there are any, with the day where it is not that of `now`:
 * "Sunday 04:00 UTC", "2026-12-24 04:00 UTC". Returns buf. */
char *words_instant(struct wall at, struct wall now, char *buf, size_t size);

/* Logs what the core reports of a job: all but REPORT_UNANSWERED and REPORT_ANSWERED, which are
 * words_fault.c's. */
void words_report(const struct job *job, const struct report *r, struct boot now);
/* Another machine takes part in the fleet by this one's name. */
void words_twin(const char *device);
/* Why a run ended, for Redis and for people: what it said itself, unless it only ended because it
 * was told to. Of end->detail, or a constant. */
const char *words_end_detail(const struct run_end *end);
/* One entry with the job's fields, and its name before the sentence. NULL: the fleet's, without
 * fields. what: as for journal_log(). */
__attribute__((format(printf, 3, 4))) void words_about(const struct job *job, int what,
                                                       const char *format, ...);
/* What of the job's settings its run does without. */
void words_unapplied(const struct job *job, const char *sentence);
/* So many processes went on when its run had ended by itself. */
void words_outlived(const struct job *job, uint32_t processes);
/* How long the job's runs take, against its worst_case. */
void words_advice(const struct job *job, const struct advice *a);
/* A line of the output or log() of the job's run, as the job's own. */
void words_output(const struct job *job, int level, const char *text);
/* In the same place: how many lines are missing there. */
void words_left_out(const struct job *job, uint32_t lines);
#endif
