/* SPDX-License-Identifier: MIT
 * rotactl/timeline/timeline_view.h: what a picture of runs shows, before anything is drawn: a part
 * a job, in it a lane a device, in it the runs in the order of their start; the due instants, and
 * which of them nobody ran. Pure: no clock, no file. */
#ifndef ROTA_ROTACTL_TIMELINE_VIEW_H
#define ROTA_ROTACTL_TIMELINE_VIEW_H
#include "rotactl/timeline/runs.h"

/* A picture of more is read by nobody. What is left out is counted, and never the worst. */
#define TIMELINE_LANES_MAX 400
/* So long after a due instant somebody may still be about to begin. */
#define TIMELINE_PATIENCE_MS 60000

struct timeline_query {
    const char *const *jobs; /* shown, until NULL; NULL, or none in it: all */
    int64_t since, until;    /* RUNS_NO_TIME: as far as there is something */
    int64_t now;
};

struct timeline_run {
    const struct run *run;
    /* The try before it, of the same turn, on another device of the picture; or NULL. */
    const struct timeline_run *after;
    size_t lane;      /* counted from 0 in its job, or TIMELINE_HIDDEN */
    int64_t from, to; /* drawn so: never the wrong way round; `to` is now where it goes on */
};
#define TIMELINE_HIDDEN SIZE_MAX

struct timeline_lane {
    const char *device;
    const struct timeline_run *run; /* in the order of `from` */
    size_t count;
    size_t bad; /* of them, those that settled nothing */
    bool hidden;
};

enum timeline_due_state {
    TIMELINE_RAN,    /* or a longer run of an earlier turn covered it */
    TIMELINE_MISSED, /* nobody ran it */
    TIMELINE_COMING  /* not due yet, or just now */
};

struct timeline_due {
    int64_t at;
    enum timeline_due_state state;
};

struct timeline_job {
    const char *name;
    struct timeline_lane *lane; /* by name; without those that are hidden */
    size_t lane_count;
    struct timeline_due *due; /* by time, each instant once */
    size_t due_count;
    const struct timeline_run *run; /* of all lanes */
    size_t run_count;
    size_t hidden_lanes, hidden_runs;
};

struct timeline {
    int64_t since, until, now; /* since < until */
    struct timeline_job *job;  /* by name */
    size_t job_count;
    size_t outcomes[RUN_OUTCOMES]; /* how many runs ended so, shown or not */
    size_t takeovers, missed;
    /* Owned, all parts are in them: */
    struct timeline_run *runs;
    struct timeline_lane *lanes;
    struct timeline_due *dues;
};

/* 0; -ENOMEM; -ENODATA where nothing falls into the span. `runs` has to outlive it. */
int timeline_view_init(const struct runs *runs, const struct timeline_query *query,
                       struct timeline *ret_view);
void timeline_view_done(struct timeline *view);
#endif
