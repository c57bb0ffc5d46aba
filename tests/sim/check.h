/* SPDX-License-Identifier: MIT
 * sim/check.h: what the checkers know, and where the play calls them. */
#ifndef ROTA_SIM_CHECK_H
#define ROTA_SIM_CHECK_H
#include "core/store.h"
#include "plan.h"
#include "queue.h"

/* Turns of a job whose starts are counted; older ones are forgotten. */
#define SIM_TURNS_KEPT 64

struct sim;
struct device;
struct run;
struct flight;
struct store_job;
struct shot;

/* Of a job, or of a job on one device in device scope, in one copy of the store: it is lost and
 * restored with it. */
struct ledger {
    int64_t done;                 /* newest turn whose success is recorded there, ... */
    int64_t done_ms;              /* ... and when, in true time */
    uint64_t fence;               /* of the newest grant */
    int64_t seen_ms;              /* server time at which the job was first seen; 0: it was known */
    int64_t seen_turn;            /* that was asked for then */
    int64_t seen_fresh_ms;        /* how late it could have been taken all the same */
    int64_t retry_ms, retry_turn; /* server time before which this turn is not given again */
    int64_t newest;               /* turn of the newest grant, ... */
    uint32_t attempt;             /* ... and which try of it, ... */
    bool unstarted;               /* ... which was given back */
    int64_t watched;              /* a turn, ... */
    uint32_t watch;               /* ... and how many were refused it */
    const struct device *owner;   /* of the newest grant, ... */
    struct boot owner_sent;       /* asked for then */
    unsigned owner_life;          /* ... and which of its supervisors */
    /* Of a job in either scope. */
    int64_t held_since_ms; /* true time */
    int64_t held_until_ms; /* server time, INT64_MAX: until it is resumed; 0: nobody paused it */
    int64_t passed;        /* the newest turn that was asked for while it was paused */
    uint32_t version;      /* the highest that has succeeded */
    unsigned fails;        /* that were told, in a row */
    /* Of a device in the queue for a seat, server times: since when at the earliest, since when at
     * the latest; 0: it is not in it; and when it was told to ask. */
    int64_t queued_since, queued_ms, ask_ms;
};

struct turn_count {
    int64_t turn;
    unsigned starts, allowed;
    bool refused; /* given up, whatever is left */
    bool single;  /* one try, since a turn before it was given up */
};

/* A run that died without a word, and who is to take its turn over; turn 0: none. */
struct takeover {
    int64_t turn;
    char token[TOKEN_SIZE];
    int64_t died_ms, until_ms; /* true time */
    const struct device *watcher;
    const struct device *taker; /* the next try was given to; NULL: to nobody yet */
    int64_t taken_ms;
};

/* Of a job, whatever the store has lost. */
struct job_check {
    struct turn_count turns[SIM_TURNS_KEPT];
    int64_t newest;    /* the newest turn that was started */
    bool settled;      /* a success was recorded since its first start */
    bool unsure;       /* what was counted was forgotten, and no success was recorded since */
    uint64_t fence;    /* of the newest start */
    int64_t active_ms; /* true time of the last start, or sign of a live run; or when it could
                          run again */
    struct takeover takeover;
    /* With a quorum: the newest turn whose success a device was told to be recorded; the true
     * times at which it sent that, and was told. */
    int64_t recorded, recorded_ms, told_ms;
};

/* The first breach ends the play. */
void check_breach(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* check.c: at each instant, before what happens then: who is alive, and by what right. */
void check_living(struct sim *s);
/* A device has moved: it is sound, and does not spin. */
void check_device(struct sim *s, struct device *d);
/* All data were lost: who outlived them has its lease back, or a lease's time, before another. */
void check_emptied(struct sim *s);
/* The newest writes were lost: a lease may be given twice. */
void check_rolled_back(struct sim *s);
/* The device sees that. */
void check_jumped(struct device *d, int64_t by_ms);
/* Its supervisor is gone. */
void check_restarted(struct device *d);
/* Its own store notes a job anew: what was due after `since` is to be run. */
void check_noted(struct device *d, unsigned job, struct wall since);
/* The server's clock was set. */
void check_step(struct sim *s, int64_t by_ms);
/* The same, of what is noted of one job in one copy. */
void check_forget_instants(const struct sim *s, struct store_job *job);
/* What was counted of a job means nothing any more. */
void check_forget(const struct sim *s, struct job_check *c);
/* The seats of it that are taken. */
unsigned check_seats_taken(const struct store_job *job, struct wall now);
/* The token where its seat is taken, else "". */
const char *check_seat_holder(const struct store_job *job, const char *token, struct wall now);
/* check_look.c: fills in what the request is about. */
void check_look(const struct store_job *job, const struct flight *f, struct wall now,
                struct shot *ret_shot);
/* check_store.c: what the store has just done; `before` is what it did it to. */
void check_served(struct sim *s, const struct flight *f, unsigned record, const struct shot *before,
                  const struct shot *after);
/* check_run.c */
void check_started(struct sim *s, const struct run *run);
/* What is counted of the run's job: on its device in device scope. */
struct job_check *check_of(struct sim *s, struct device *d, const struct job_spec *spec,
                           unsigned record);
/* A success was recorded: the newest turn has all its tries. */
void check_settled(struct job_check *c, unsigned attempts);
/* The turn was given up at once. */
void check_refused(struct job_check *c, int64_t turn);
/* An attempt of the turn was given back. */
void check_given_back(struct job_check *c, int64_t turn);
/* check_time.c: what did not happen in time. `d` dies with its runs. */
void check_death(struct sim *s, const struct device *d);
void check_watch(struct sim *s, struct event *e);
#endif
