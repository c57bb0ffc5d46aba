/* SPDX-License-Identifier: MIT
 * core/outcome.h: how a run can end (DESIGN section 5). The names are what Redis, the journal and
 * people see; they are final. */
#ifndef ROTA_CORE_OUTCOME_H
#define ROTA_CORE_OUTCOME_H
#include <stdbool.h>

enum outcome {
    OUTCOME_SUCCEEDED = 0,
    OUTCOME_NOTHING,   /* there was nothing to do; counts as done */
    OUTCOME_FAILED,    /* tried again after retry_delay */
    OUTCOME_REFUSED,   /* trying again cannot help: given up */
    OUTCOME_DECLINED,  /* not here; no attempt counted */
    OUTCOME_STOPPED,   /* an operator closed the turn */
    OUTCOME_CRASHED,   /* the lock is left to expire after this and the next two */
    OUTCOME_OVERRUN,   /* longer than worst_case */
    OUTCOME_LOST,      /* the lease could not be kept, or the storage knows a newer one */
    OUTCOME_UNSTARTED, /* granted, never started: no attempt counted */
    OUTCOME_VANISHED,  /* ended without a word; only acquire writes it, into the history */
    OUTCOME_COUNT
} __attribute__((packed));

/* "succeeded", ...; never NULL. */
const char *outcome_name(enum outcome o);
/* 0 and *ret_outcome, or -EINVAL. */
int outcome_from_name(const char *name, enum outcome *ret_outcome);
/* The work of the turn is done: succeeded, nothing or stopped. */
bool outcome_settles(enum outcome o);
/* Another try of the same turn may help: failed, crashed, overrun, lost. */
bool outcome_retries(enum outcome o);
/* finish frees the lock: not after crashed, overrun, lost (promise 5). */
bool outcome_frees_lock(enum outcome o);
#endif
