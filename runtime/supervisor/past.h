/* SPDX-License-Identifier: MIT
 * supervisor/past.h: what is remembered of a job's runs on this device, since rotad was started or
 * the job was last changed. Turns that were not run are counted in the core (job_counters).
 *
 * It is made for the first run: of a thousand jobs, few run here. */
#ifndef ROTA_SUPERVISOR_PAST_H
#define ROTA_SUPERVISOR_PAST_H
#include "base/tail.h"
#include "core/advice.h"
#include "core/report.h"

#define PAST_RUNS 4

/* One that has ended. */
struct past_run {
    struct wall turn;
    char *why; /* escaped; NULL: it did its work, said nothing, or memory was short */
    int64_t ran_ms;
    uint32_t attempt; /* 0: the place is free */
    enum outcome outcome;
};

struct past {
    struct past_run runs[PAST_RUNS]; /* the newest first */
    struct digest times;             /* of the runs that succeeded */
    struct advice_told advice;       /* what was said of worst_case, while it holds */
    struct boot done;                /* the newest success, or of nothing to do; 0: none */
    struct tail tail;                /* the end of the newest run's output (run_output.h) */
    char *unapplied;                 /* what of its settings its last run did without; or NULL */
    char *progress;                  /* what the newest run last said of how far it is; or NULL */
    int32_t permille;                /* the same in numbers; -1: not said */
    uint32_t takeovers;
    uint32_t renewals;
    /* Of all renewals, the least time that was left before the run would have been asked to stop.
     * Below 0: it was late, and the guard had not looked yet. Only where there were renewals. */
    int64_t least_left_ms;
};

/* NULL: memory is short. */
struct past *past_new(void);
/* Accepts NULL. */
void past_free(struct past *p);

/* A run says how far it is: permille 0 to 1000, or -1; words, or "". A new one: -1 and "". */
void past_progress(struct past *p, int32_t permille, const char *words);
/* Whether such a report is one to take in. */
bool past_wants(enum report_kind kind);
/* Takes in what the core reports of the job. True: *ret_advice follows from it, and is to be told.
 */
bool past_take(struct past *p, const struct job *job, const struct report *r, struct boot now,
               struct advice *ret_advice);
#endif
