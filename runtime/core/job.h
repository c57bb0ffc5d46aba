/* SPDX-License-Identifier: MIT
 * core/job.h: a job on this device, from one turn to the next: a state machine over its schedule,
 * one lease and one run.
 *
 * The process side reports by job_started(), job_ended() and job_emptied(); the store through the
 * lease; time by job_tick(). Everything that it wants goes out through the port. */
#ifndef ROTA_CORE_JOB_H
#define ROTA_CORE_JOB_H
#include "core/fleet.h"
#include "core/lease.h"

#define JOB_STATES(X)                                                                              \
    X(NO_CLOCK, "waits for the fleet's clock")                                                     \
    X(WAITING, "waits for its next turn")                                                          \
    X(NO_SLOT, "a turn is due, and this device runs as many jobs as it may")                       \
    X(ASKING, "asks the store for a turn")                                                         \
    X(WATCHING, "was refused for now; asks for the same turn again later")                         \
    X(STARTING, "has the lease; its guard is being started")                                       \
    X(RUNNING, "its worker runs")                                                                  \
    X(STOPPING, "its worker was asked to stop")                                                    \
    X(CLOSING, "its run has ended; the store is being told")                                       \
    X(STUCK, "something of its run cannot be killed; nothing is started here until it is gone")    \
    X(OFF, "takes no turns any more")

#define JOB_EVENTS(X)                                                                              \
    X(BEGIN, "the job takes turns from now on")                                                    \
    X(CLOCK, "fleet time is known, or has moved")                                                  \
    X(DRAW, "which turns this device asks for is to be drawn")                                     \
    X(DUE, "a turn, or the instant to ask again, has come")                                        \
    X(FULL, "the same, and there is no free slot")                                                 \
    X(NEWER, "a newer turn fell due while this one was asked for or waited for a slot")            \
    X(SETTLE, "the turn is done, taken, given up or too late: the next one counts")                \
    X(AGAIN, "the same turn is to be asked for again at a later instant")                          \
    X(GRANT, "the lease is this device's")                                                         \
    X(SPARE, "granted, but not wanted any more: superseded, or this device stops")                 \
    X(STARTED, "the worker has executed its first instruction")                                    \
    X(STILLBORN, "no guard could be started")                                                      \
    X(STOP, "the run is to stop: the service stops, or the lease is another's")                    \
    X(END, "the run has ended and its tree is gone, or is given up on")                            \
    X(EMPTIED, "the last of the tree is gone after all")                                           \
    X(JAM, "the end is recorded while something of the tree is still there")                       \
    X(LEAVE, "no more turns here, and nothing is out")

#define JOB_ENUM_STATE(name, text) JOB_##name,
#define JOB_ENUM_EVENT(name, text) JOB_EVENT_##name,
enum job_state { JOB_STATES(JOB_ENUM_STATE) JOB_STATE_COUNT } __attribute__((packed));
enum job_event { JOB_EVENTS(JOB_ENUM_EVENT) JOB_EVENT_COUNT };

/* How the worker came to its end, by the guard's word. */
enum run_exit {
    RUN_RETURNED,   /* run() gave `result` */
    RUN_BROKE,      /* a signal, or exit() without a result, or its guard died */
    RUN_UNLOADABLE, /* run() was never called: the plugin or its parameters are bad here */
    RUN_UNSTARTED   /* no worker was ever there */
};

enum run_stop {
    RUN_NOT_STOPPED,
    RUN_STOPPED_OVERRUN,  /* at the worst case */
    RUN_STOPPED_DEADLINE, /* the lease was not renewed in time */
    RUN_STOPPED_ORDERED   /* for the reason that port->stop() was given */
};

struct run_end {
    enum run_exit exit;
    enum run_stop stop;
    enum stop_reason reason; /* RUN_STOPPED_ORDERED */
    int result;              /* RUN_RETURNED: by plugin.h */
    int64_t ran_ms;
    bool clean;         /* nothing of the tree is left */
    const char *detail; /* for people; may be "" */
};

/* Why this device stands aside, though it is its turn to ask. */
enum job_bar {
    JOB_NOT_BARRED,
    JOB_MISMATCHED, /* it runs by the other scope, or others have another lock for it */
    JOB_PAUSED,     /* in the whole fleet */
    JOB_BLOCKED,    /* something that is no device holds its lock without expiry */
    JOB_OUTDATED,   /* a higher version of it has succeeded */
    JOB_NEWER       /* its claim is of a layout that this rota does not know */
} __attribute__((packed));

/* What an operator asks for who runs a job by hand. */
struct job_order {
    enum lease_way way;    /* LEASE_BY_SCHEDULE: its open turn, as though that were due now */
    struct boot until;     /* so long the question may take */
    bool in_spite_of_here; /* also where it is paused on this device */
};

/* Why it is not even asked for. */
enum job_obstacle {
    JOB_NO_OBSTACLE,
    JOB_RUNS,     /* here, already */
    JOB_IS_TOLD,  /* the store is being told how its last run here ended */
    JOB_IS_STUCK, /* something of its last run is still there */
    JOB_IS_ASKED, /* for a turn of its schedule, and the store has not answered yet */
    JOB_WAITS_FOR_TIME,
    JOB_IS_APART,  /* other devices have another lock for it */
    JOB_HAS_PAUSE, /* on this device */
    JOB_LEAVES,    /* this device takes no turns of it any more */
    JOB_HAS_NO_SLOT,
    JOB_NEEDS_FENCE, /* without a lock there is none */
    JOB_HAND_BUSY    /* another run by hand is being asked for */
};

/* Prints of other configurations that were said; more are said again. */
#define JOB_PRINTS_SAID 4

/* In 32 bits: one a second would take 136 years. By class of fault only the fleet counts. */
struct job_counters {
    uint32_t outcomes[OUTCOME_VANISHED]; /* which no run is that was seen to end */
    /* Turns not taken, and why (DESIGN section 5). */
    uint32_t passed_held, passed_done, passed_error;
    uint32_t passed_barred;  /* another scope, a higher version, a newer layout */
    uint32_t passed_paused;  /* in the whole fleet */
    uint32_t passed_full;    /* no slot was free (max_running), until it was too late */
    uint32_t passed_running; /* fell due while the job ran here */
    uint32_t unknown;        /* acquires without an answer */
    uint32_t illegal;        /* events that a state machine did not expect: bugs */
};

/* How a run ended that the shared store does not know of, until it is told: the newest one. */
struct job_owed {
    struct store_call call;
    char *token;  /* kept by the port; NULL: nothing is owed */
    char *detail; /* like it */
    struct wall turn, covers;
    int64_t ran_ms;
    uint32_t attempt;
    enum outcome outcome;
    bool clean;
    bool out, stale;   /* it is with the store; and is not the newest any more */
    uint32_t failures; /* error replies in a row */
    struct boot at;    /* it is told again then */
};

/* run_unreachable: what it takes to go on without the shared store (job_alone.c). */
struct job_alone {
    struct job *job;
    struct boot at;     /* ASKING, CLOSING: goes on without then, if it may */
    struct wall shared; /* the newest turn that the shared store has granted, or may have */
    struct job_owed owed;
};

/* A device may have a thousand: what only some of them need is not in here. */
struct job {
    /* What the fleet reads of all jobs at once stands together. */
    struct job *next_in_fleet;
    struct boot armed; /* job_tick() then */
    enum job_state state;
    bool tree_left; /* something of the last run is still there */
    bool leaving;   /* no more turns */
    bool again;     /* `turn` was asked for, and is asked for again as the answer said */
    bool waited;    /* `turn` found no free slot */
    /* WATCHING, device scope: has a place in the queue, and asks when it was told to, whatever
     * falls due meanwhile. */
    bool queued;
    /* The last question for `turn` got an error reply, or is not answered yet: if the turn passes
     * so, it was missed. */
    bool unheard;
    bool urged;       /* drawn_for is asked for because nobody seemed to have it */
    enum fault fault; /* of the last request; FAULT_NONE: it was answered */
    enum stop_reason stop_reason;
    enum job_bar bar; /* by the last answer */
    bool apart;       /* other devices have it under another lock: it takes no turns here */
    bool mixed;       /* by the last answer, another configuration ran it */
    bool mismatch_said;
    uint8_t prints;     /* how many of prints_said were written, less whole rounds */
    uint8_t overs : 4;  /* `over` answers in a row */
    uint8_t splits : 4; /* `split` answers in a row */
    uint32_t prints_said[JOB_PRINTS_SAID]; /* short for prints of other configurations; 0: none */
    uint32_t bar_version; /* with JOB_OUTDATED, JOB_NEWER: that version, or layout */
    uint32_t watch;       /* place among the watchers of `turn` */
    uint32_t refusals;    /* of `turn` by held */
    struct job_counters counters;
    struct fleet *fleet;
    const struct job_spec *spec;
    struct lease lease;

    struct wall turn; /* asked for, run, or waited for */
    /* What is due after this is newer than `turn`: that turn itself, or an earlier one where the
     * fleet's clock was set back behind it. */
    struct wall newest;
    /* Turns that jumps of the clock have led over since `turn`, which no time has passed for;
     * negative where they led back. */
    int64_t leapt;
    /* The newest turn that this device has nothing to do with any more; 0: none. */
    struct wall settled;
    /* WAITING, WATCHING: when to ask; NO_SLOT: when a slot was offered, else BOOT_NEVER */
    struct boot at;
    struct boot not_before; /* a turn that a jump of the clock made due is not asked for earlier */
    struct boot planned;    /* with `again`: catch_up counts from here, not from the turn's own */
    struct boot
        since; /* NO_SLOT: waits for one; RUNNING, STOPPING: the worker's first instruction */
    struct wall drawn_for; /* the turn that delay_ms was drawn for */
    int64_t delay_ms;     /* from that turn's due instant to this device's question; -1: it asks for
                             none of those up to left_out, and draws again after it */
    struct wall left_out; /* the newest turn that this device does not ask for, by its rank */
    struct wall index;    /* settled, and not yet told to the fleet; 0: none */
    int64_t spread_ms; /* that it was drawn from, where it was drawn before that instant; else 0 */
    /* Who held `turn` when last asked; or where it was done, who did it. Kept by the port; NULL:
     * none, or not known. */
    char *holder;
    struct boot holder_until; /* when that lease ended */
    struct job_alone *alone;  /* the owner's; NULL without run_unreachable */
};

/* `spec` must outlive the job, or be replaced by job_respecify(). Joins the fleet. */
void job_init(struct job *j, struct fleet *fleet, const struct job_spec *spec);
/* Leaves the fleet; only in state OFF, or when the process ends. */
void job_done(struct job *j);
/* Room for what run_unreachable takes, as long as the job is there: after job_init(), before
 * job_begin(), and only with it. */
void job_alone_init(struct job_alone *alone, struct job *j);
/* From now on the job takes turns. */
void job_begin(struct job *j, struct boot now);
/* No more turns. A run is stopped (stop_run) or goes on to its end; OFF when all is told. Again:
 * stop_run adds. */
void job_leave(struct job *j, struct boot now, bool stop_run);
/* The same settings at another place: a reload that left this job unchanged. */
void job_respecify(struct job *j, const struct job_spec *spec);

void job_tick(struct job *j, struct boot now);
void job_started(struct job *j, struct boot now, struct boot first_instruction);
void job_ended(struct job *j, struct boot now, const struct run_end *end);
/* The guard of a run that ended unclean has reaped the last process. */
void job_emptied(struct job *j, struct boot now);

/* The fleet's: the clock is known or has moved; a slot is free. */
void job_clock(struct job *j, struct boot now);

/* The fleet's: its time has jumped by moved_ms, and is what the fleet says now. What that made due
 * does not run at once (promise 7). It has passed, unless it is young and leaving it out would put
 * the next run off: then it waits for one lease, or until the turn after it. */
void job_jumped(struct job *j, struct boot now, int64_t moved_ms);

/* The fleet's: it has another size, so that fewer or more devices are to ask. */
void job_plan_resized(struct job *j, struct boot now);
/* The fleet's: the newest settled turn of the job, as the fleet was told; 0: not known. Where a
 * turn is overdue by more than it takes to run it, this device asks for it, once. */
void job_plan_overdue(struct job *j, struct wall done, struct boot now);

/* job_hand.c: what operators do with a job of this device alone. */

/* Asks for a run by hand: what becomes of it is told by REPORT_BY_HAND, perhaps from inside. Else
 * nothing has changed. */
enum job_obstacle job_run_by_hand(struct job *j, struct boot now, const struct job_order *order);
/* Whether its run, or what it asks for, is one by hand. */
bool job_is_by_hand(const struct job *j);
/* Tries that its run's turn has. */
uint32_t job_attempts(const struct job *j);
/* Asks what runs to stop: STOP_FOR_GOOD or STOP_FOR_OTHERS. False where nothing of it runs here. */
bool job_stop_run(struct job *j, struct boot now, enum stop_reason reason);
/* It is paused no more, and `turn`, which port->paused() was told to let pass, is asked for after
 * all. False where it is not the newest one that is due any more, or was asked for since. */
bool job_take_up(struct job *j, struct boot now, struct wall turn);

/* By which time its turns come: fleet time; or as long as that was never known, where the job may,
 * the device's own. */
const struct fleet_clock *job_time(const struct job *j);
/* The next turn that this device would ask for; only where the fleet's clock is known. */
struct wall job_next_turn(const struct job *j, struct boot now);
bool job_holds_slot(const struct job *j);

/* How a run's end is called: pure. */
enum outcome job_outcome(const struct run_end *end);

bool job_cell(enum job_state state, enum job_event event, enum job_state *ret_next);
const char *job_state_name(enum job_state state);
const char *job_state_text(enum job_state state);
const char *job_event_name(enum job_event event);
#endif
