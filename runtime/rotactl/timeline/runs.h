/* SPDX-License-Identifier: MIT
 * rotactl/timeline/runs.h: what a fleet did: its runs, and the instants at which its jobs were due.
 * The history in Redis has the ended ones; claims and seats have those that go on.
 *
 * All text is from elsewhere and may be anything: escape it wherever it is shown. All times are
 * Unix milliseconds, fleet time. */
#ifndef ROTA_ROTACTL_RUNS_H
#define ROTA_ROTACTL_RUNS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a run ended; up to RUN_VANISHED in the order and by the names of core/outcome.h. */
enum run_outcome {
    RUN_SUCCEEDED = 0,
    RUN_NOTHING,
    RUN_FAILED,
    RUN_REFUSED,
    RUN_DECLINED,
    RUN_STOPPED,
    RUN_CRASHED,
    RUN_OVERRUN,
    RUN_LOST,
    RUN_UNSTARTED,
    RUN_VANISHED,
    RUN_RUNNING, /* it goes on */
    RUN_OTHER,   /* a word that this rotactl does not know */
    RUN_OUTCOMES
};

/* The end of the year 9999: no time is later. */
#define RUNS_TIME_MAX INT64_C(253402300799999)
#define RUNS_NO_TIME INT64_C(-1)
/* More than a picture can show, and less than the memory of a small device. */
#define RUNS_MAX 200000

struct run {
    const char *job, *device; /* never NULL */
    const char *word;         /* the outcome, as it was written; never NULL */
    const char *detail;       /* "" where there is none */
    int64_t turn;
    int64_t started; /* RUNS_NO_TIME where nobody knows: of those that vanished */
    int64_t ended; /* RUNS_NO_TIME while it goes on; of those that vanished: when it was noticed */
    int64_t fence; /* 0: none */
    int64_t attempt;
    enum run_outcome outcome; /* what `word` says */
};

struct due {
    const char *job;
    int64_t at;
};

/* {} is empty. It owns what is in it. */
struct runs {
    struct run *run;
    size_t run_count, run_room;
    struct due *due;
    size_t due_count, due_room;
    int64_t now; /* when all this was asked for; 0: nobody says */
};

void runs_done(struct runs *runs);
/* Copies the run and its text; `outcome` is taken from `word`; times are held in 0 ...
 * RUNS_TIME_MAX. -ENOMEM; -E2BIG where there are RUNS_MAX. */
int runs_add(struct runs *runs, const struct run *run);
/* The job is due at that instant: the schedule's, also where nobody ran it. The same errors. */
int runs_add_due(struct runs *runs, const char *job, int64_t at);

const char *runs_outcome_name(enum run_outcome outcome);
/* RUN_OTHER where there is none of that name. */
enum run_outcome runs_outcome(const char *word);
/* The work of the turn is done: succeeded, nothing or stopped. */
bool runs_settled(enum run_outcome outcome);
#endif
