/* SPDX-License-Identifier: MIT
 * core/report.h: what happened, for people. The supervisor turns it into sentences. */
#ifndef ROTA_CORE_REPORT_H
#define ROTA_CORE_REPORT_H
#include "core/job.h"

enum report_kind {
    REPORT_STATE,       /* from -> to by event */
    REPORT_STARTED,     /* the worker runs */
    REPORT_TAKEOVER,    /* granted after a holder that went silent: device, silent_ms */
    REPORT_ENDED,       /* outcome, ran_ms, detail, and whether the turn was given up */
    REPORT_GIVEN_UP,    /* found out by asking: attempts are used up */
    REPORT_PASSED,      /* another device has it, or had it: text says how */
    REPORT_FIRST_SIGHT, /* a job or schedule without a record: its past turn is not run */
    REPORT_VOID,        /* the claim lay in the future: dropped */
    REPORT_TOO_LATE,    /* more than catch_up after its due instant: not taken */
    REPORT_SPARE,       /* granted too late to be wanted: given back */
    REPORT_TAKEN,       /* the lease is another's: the run is stopped. text: who, or what */
    REPORT_RENEWED,
    REPORT_REGAINED,   /* the lock was gone and nobody had it: taken back */
    REPORT_UNANSWERED, /* no answer or an error: text, fault, verb */
    REPORT_ANSWERED,   /* the first answer after that: fault is what is over */
    REPORT_STUCK,      /* something of the tree cannot be killed */
    REPORT_UNSTUCK,
    REPORT_STILLBORN,  /* no guard could be started: text, error */
    REPORT_CLOCK_JUMP, /* fleet time moved by moved_ms at once; job is NULL */
    REPORT_ILLEGAL     /* a state machine met an event that it does not know: text */
};

struct report {
    enum report_kind kind;
    const char *text;   /* untrusted where it comes from elsewhere; may be NULL */
    const char *device; /* untrusted */
    enum job_state from, to;
    enum job_event event;
    enum outcome outcome;
    enum store_verb verb;
    enum fault fault;
    int64_t ran_ms, silent_ms, moved_ms;
    int64_t meanwhile; /* REPORT_ENDED: turns that fell due while it ran */
    bool asked, held;
    bool waited; /* REPORT_TOO_LATE: for a slot */
    int error;
};
#endif
