/* SPDX-License-Identifier: MIT
 * supervisor/words_fault.h: the sentences about Redis's faults, and about the connection.
 *
 * The same fault is said once, when it begins, and once more when it is over; its repeats are debug
 * lines. Where faults come and go, journal.c limits both lines together. */
#ifndef ROTA_SUPERVISOR_WORDS_FAULT_H
#define ROTA_SUPERVISOR_WORDS_FAULT_H
#include "core/report.h"
#include "redis/fault.h"
#include "redis/store.h"

struct words_fault_said {
    int what;    /* as journal_log() has it */
    char text[]; /* the reason */
};

/* What was said. Embedded in its owner, zeroed; one pointer, since a thousand jobs have one each.
 */
struct words_fault {
    struct words_fault_said *said; /* NULL: nothing that is not over */
};

struct words_fault_link {
    bool down;
    uint32_t said; /* a bit for each class that this outage has shown */
    enum fault
        fault; /* of the last try that failed; FAULT_NONE: what it tried has answered since */
    struct boot since;
    uint64_t missed_before;
    char text[REDIS_FAULT_REASON_SIZE]; /* of the last try, fit for a line */
};

/* REPORT_UNANSWERED and REPORT_ANSWERED. `job` is NULL where the fleet's time was asked for; `own`
 * is the job's, `shared` that of all jobs (core/fault.h). */
void words_fault_report(const struct job *job, const struct report *r, struct words_fault *own,
                        struct words_fault *shared);
void words_fault_forget(struct words_fault *slot);
/* The connection has brought an answer, after faults: the server is no replica (any more). */
void words_fault_proven(struct words_fault_link *w);
/* The connection's state has changed. `missed`: turns missed so far, of all jobs. */
void words_fault_link(struct words_fault_link *w, const struct redis_link_change *change,
                      uint64_t missed, struct boot now);
#endif
