/* SPDX-License-Identifier: MIT
 * rotactl/show_view.h: one job, as rotad's methods Show and Past have it, and how it is printed. */
#ifndef ROTA_ROTACTL_SHOW_VIEW_H
#define ROTA_ROTACTL_SHOW_VIEW_H
#include "rotactl/status_view.h"

struct show_facts {
    const char *device; /* this one's name */
    const char *description, *plugin, *plugin_version, *file, *fingerprint, *cron, *timezone,
        *scope, *lock;
    int64_t line, version, every_ms, offset_ms, catch_up_ms, worst_case_ms, lease_ms, stop_grace_ms,
        retry_delay_ms, concurrency;
    /* Of a run under way. */
    const char *progress;
    int64_t permille, fence, started, lease_renewed_ms, lease_left_ms;
    int64_t now, uptime_ms;
};

/* A run that has ended. */
struct show_run {
    int64_t turn, ran_ms;
    uint32_t attempt;
    const char *outcome, *why;
};

struct show_count {
    const char *name;
    uint32_t count;
};

/* What is remembered of a job's runs and turns here. */
#define SHOW_RUNS_MAX 16
#define SHOW_COUNTS_MAX 48
struct show_past {
    struct show_run runs[SHOW_RUNS_MAX]; /* the newest first */
    size_t run_count;
    int64_t median_ms, p95_ms, longest_ms;
    uint32_t times;                        /* about so many runs are in these */
    const char *advice_key, *advice_value; /* "": none */
    const char *advice_lease;              /* to be written besides; "": none */
    struct show_count counts[SHOW_COUNTS_MAX];
    size_t count_count;
};

/* Of its newest run's output. */
struct show_line {
    int64_t at;
    const char *text;
};

#define SHOW_TURNS_MAX 16
struct show {
    struct status_job job;
    struct show_facts facts;
    int64_t next[SHOW_TURNS_MAX];
    size_t next_count;
    struct show_line *lines; /* the oldest first; on the heap */
    size_t line_count;
    struct show_past past;
    bool has_past; /* it takes turns here */
};

extern const struct fact show_facts[];
extern const size_t show_facts_count;

/* All of it, for people. */
void show_print(FILE *out, const struct screen *screen, const struct show *s);
/* show_past.c: the part of it about what ran. */
void show_print_past(FILE *out, const struct screen *screen, const struct show *s);
/* show_json.c: all of it, as one object. */
void show_print_json(FILE *out, const struct show *s);
#endif
