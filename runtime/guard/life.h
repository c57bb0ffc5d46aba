/* SPDX-License-Identifier: MIT
 * guard/life.h: the worker's tree from its fork to ECHILD: when it is asked to stop, when it is
 * killed, when it is gone. Time comes in as an argument; the signals and the reaping are real. */
#ifndef ROTA_GUARD_LIFE_H
#define ROTA_GUARD_LIFE_H
#include "ipc/messages.h"
#include <sys/types.h>

enum phase {
    PHASE_RUNNING,
    PHASE_ASKED,   /* SIGTERM was sent, the stop pipe is readable, the grace runs */
    PHASE_KILLING, /* SIGKILL goes to all that is left, again and again */
    PHASE_EMPTY,   /* ECHILD: nothing that the worker ever started is left */
};

struct life {
    enum phase phase;
    struct boot started, deadline, overrun_at, kill_at, next_round;
    int64_t worst_case_ms, max_runtime_ms, grace_ms, margin_ms;
    int stop_pipe; /* write end; -1 once it was used */
    int group;     /* the folder of the run's control group; -1: there is none. The caller's */
    pid_t worker;
    bool worker_alive;
    int status; /* of waitpid(), once the worker is dead */
    int64_t ran_ms;
    bool answered; /* the worker has told its result: no stop after that overrules it */
    enum ended_stop stop;
    bool killed;
    uint32_t leftovers;
    uint64_t newest; /* of tree_signal() */
    int64_t round_gap_ms;
    bool more_to_reap; /* than one look took */
    bool hurries;      /* before all else that wants a processor */
};

/* `started`: just before the worker's fork. Takes the pipe's end. */
void life_begin(struct life *l, const struct message_start *start, struct boot started,
                pid_t worker, int stop_pipe);
/* A confirmed renewal. True where it moved D: only forward, and not once the stop has begun. */
bool life_extend(struct life *l, struct boot deadline);
/* O after a progress at `now`, as far as that may move it; before the first O where it may not. */
struct boot life_extended(struct boot started, int64_t worst_case_ms, int64_t max_runtime_ms,
                          struct boot now);
/* The worker has told how far it is: with max_runtime that moves O, only forward. */
void life_progress(struct life *l, struct boot now);
/* S = now: asks the tree, which has the grace from here on. No effect once the stop has begun, or
 * the worker has ended: then life_advance() ends what is left. */
void life_stop(struct life *l, enum ended_stop why, struct boot now);
/* Reaps, and does what is due. */
void life_advance(struct life *l, struct boot now);
/* When life_advance() is due next, whatever else happens. */
struct boot life_next(const struct life *l);
/* When it has to be said that the tree is not empty: a second before D, or after the first kill, or
 * at the latest a quarter of the margin after D: a kill that starts at D itself has this long to be
 * over, and the lease holds three times as long still. */
struct boot life_unclean_at(const struct life *l);
#endif
