/* SPDX-License-Identifier: MIT
 * core/report.h: what happened, for people. The supervisor turns it into sentences. */
#ifndef ROTA_CORE_REPORT_H
#define ROTA_CORE_REPORT_H
#include "core/job.h"

enum report_kind {
    REPORT_STATE,       /* from -> to by event */
    REPORT_STARTED,     /* the worker runs */
    REPORT_TAKEOVER,    /* granted after a holder that went silent: device, silent_ms */
    REPORT_ALONE,       /* the shared store cannot be reached: the turn is run all the same */
    REPORT_ENDED,       /* outcome, ran_ms, detail, and whether the turn was given up */
    REPORT_GIVEN_UP,    /* found out by asking: attempts are used up */
    REPORT_PASSED,      /* another device has it, or had it: text says how */
    REPORT_QUEUED,      /* device scope: no seat is free; place */
    REPORT_FIRST_SIGHT, /* a job or schedule without a record: its past turn is not run */
    REPORT_VOID,        /* the claim lay in the future: dropped */
    REPORT_TOO_LATE,    /* more than catch_up after its due instant: not taken */
    REPORT_SPARE,       /* granted too late to be wanted: given back */
    REPORT_TAKEN,       /* the lease is another's: the run is stopped. device; or text: what */
    REPORT_RENEWED,     /* left_ms; as the next one */
    REPORT_REGAINED,    /* the lock was gone and nobody had it: taken back */
    REPORT_UNANSWERED,  /* no answer or an error: text, fault, verb */
    REPORT_ANSWERED,    /* the first answer after that: fault is what is over */
    REPORT_BY_HAND, /* what became of the question for a run by hand: answer; NULL: none came, or
                       it is not wanted any more. Where granted, its start comes next */
    REPORT_BRAKE,   /* device scope: with this failure the job is paused in the whole fleet */
    REPORT_PAUSED,  /* not run here: text: who has paused it, and why; silent_ms of it are left */
    REPORT_RESUMED, /* it is not paused any more */
    REPORT_BLOCKED, /* not run here: its lock has no expiry. text: its value */
    REPORT_STUCK,   /* something of the tree cannot be killed */
    REPORT_UNSTUCK,
    REPORT_STILLBORN,  /* no guard could be started: text, error */
    REPORT_MIXED,      /* it runs by another configuration too: text: its print; device */
    REPORT_MISMATCH,   /* not run here: text: the scope that it runs by; device */
    REPORT_APART,      /* not run here: other devices have another lock for it: text; ours; both as
                          core/fleet_text.h has them */
    REPORT_AHEAD,      /* the same, but it is they who stand aside */
    REPORT_OUTDATED,   /* not run here: version, that has succeeded */
    REPORT_NEWER,      /* not run here: version, of the claim's layout */
    REPORT_TWIN,       /* another machine says hello by this one's name; job is NULL */
    REPORT_CLOCK_JUMP, /* fleet time moved by moved_ms at once; job is NULL */
    REPORT_ILLEGAL     /* a state machine met an event that it does not know: text */
};

struct report {
    enum report_kind kind;
    const char *ours;   /* beside text, of this device */
    const char *text;   /* untrusted where it comes from elsewhere; may be NULL */
    const char *device; /* untrusted */
    const struct store_reply *answer;
    enum job_state from, to;
    enum job_event event;
    enum outcome outcome;
    enum store_verb verb;
    enum fault fault;
    int64_t ran_ms, silent_ms, moved_ms;
    int64_t left_ms;   /* before the run would have been asked to stop */
    int64_t meanwhile; /* REPORT_ENDED: turns that fell due while it ran */
    uint32_t place;    /* in the queue, from 1 */
    uint64_t version;
    bool asked, held; /* asked: REPORT_ENDED: the run was, to stop */
    bool waited;      /* REPORT_TOO_LATE: for a slot */
    bool no_answer;   /* REPORT_UNANSWERED: the connection was lost before one came */
    int error;
};
#endif
