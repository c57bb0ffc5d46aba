/* SPDX-License-Identifier: MIT
 * rotactl/status_view.h: what rotad says of itself and its jobs, and the words for it. No call, no
 * clock. */
#ifndef ROTA_ROTACTL_STATUS_VIEW_H
#define ROTA_ROTACTL_STATUS_VIEW_H
#include "rotactl/facts.h"
#include "rotactl/screen.h"
#include <stdbool.h>

/* Of rotad; instants in Unix milliseconds. */
struct status_facts {
    const char *version, *fleet, *store;
    const char *unread; /* a file that is not in use for its mistakes */
    const char *redis, *redis_why;
    const char *master;          /* where its sentinels say it is */
    int64_t servers, servers_ok; /* of a quorum: all, and those that answer */
    int64_t uptime_ms, missed, redis_down_ms;
    int64_t now;     /* fleet time */
    int64_t ours_ms; /* the device's own clock, less that */
    int64_t trip_ms;
    bool tls, draining;
    bool busy; /* something runs here, perhaps of a job that has left */
};

struct status_job {
    const char *name, *state, *why;
    const char *outcome, *outcome_why; /* of the newest run here that has ended */
    const char *holder, *bar, *paused_here, *fault;
    /* Of a turn that this device has no more to do with, where more is known of it: "done" or
     * "taken" (and not waited for), and by whom; or "given up". */
    const char *turn_went, *turn_by;
    int64_t turn, next, again;
    int64_t ran_ms, limit_ms, attempt, attempts;
    int64_t outcome_turn, outcome_attempt, outcome_ms;
    bool mixed, stuck, slow;
};

struct status {
    const char *device, *line; /* the line is rotad's own */
    struct status_facts rotad;
    struct status_job *jobs;
    size_t job_count;
    int64_t now_ms; /* fleet time, or this device's where that is not known */
};

extern const struct fact status_facts[], status_job_facts[];
extern const size_t status_facts_count, status_job_facts_count;

/* What stands before a job: ' ', or '>' runs, '!' needs a look, 'x' invalid, '~' runs by another
 * configuration too, 'p' paused. */
char status_mark(const struct status_job *job);
bool status_runs(const struct status_job *job);
/* One or two words. A constant, or of the job. */
const char *status_state(const struct status_job *job);
/* The newest turn and how it went here; the next one, or the next try. "-" where there is none. Of
 * STATUS_CELL_SIZE. */
#define STATUS_CELL_SIZE 256
void status_last(const struct status *s, const struct status_job *job, bool local, char *buf);
void status_result(const struct status *s, const struct status_job *job, char *buf);
void status_next(const struct status *s, const struct status_job *job, bool local, char *buf);
/* Why the job has its mark: a sentence part; or NULL. And what stands before it: mostly "". */
const char *status_reason(const struct status_job *job);
const char *status_reason_begin(const struct status_job *job);
/* Whether anybody should have a look. */
bool status_needs_look(const struct status *s);
/* Of a quorum that works: some do not serve. */
bool status_lacks_servers(const struct status_facts *f);
bool status_redis_needs_look(const struct status_facts *f);
/* status_json.c: all of it, as one object; a job's pairs of it, without braces. */
void status_print_json(FILE *out, const struct status *s);
void status_print_job_json(FILE *out, const struct status_job *job);
/* status_check.c: in one line: what rotad says, and what needs a look. */
void status_print_check(FILE *out, const struct status *s);
/* status_head.c: the lines above the table. */
void status_print_head(FILE *out, const struct screen *screen, const struct status *s);
/* status_screen.c: all of it, for people; or with columns (columns.h) only a table of these. 0 or
 * -ENOMEM. */
int status_print(FILE *out, const struct screen *screen, const struct status *s,
                 const char *columns);
#endif
