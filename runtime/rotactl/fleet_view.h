/* SPDX-License-Identifier: MIT
 * rotactl/fleet_view.h: what Redis knows of a fleet and its jobs, and the words for it. No call, no
 * clock. Texts come from Redis, where anybody with the right to write may have put anything. */
#ifndef ROTA_ROTACTL_FLEET_VIEW_H
#define ROTA_ROTACTL_FLEET_VIEW_H
#include "rotactl/facts.h"
#include "rotactl/screen.h"
#include <stdbool.h>

/* A device that was heard of within this time is there; one that was not is silent. */
#define FLEET_THERE_MS (24 * HOUR_MS)

/* How many of the devices that are there say so. */
struct fleet_tally {
    const char *text;
    size_t devices;
};

/* A configuration of a job, and how many of the devices that are there have it. */
struct fleet_conf {
    const char *key; /* the job's, in Redis */
    const char *fingerprint, *schedule;
    const char *kind; /* scope and lock: "fleet own" */
    size_t devices;
};

/* Instants in Unix milliseconds by the server's clock, 0: none. */
struct fleet_job {
    const char *name;
    const char *token, *state, *detail; /* of its newest run */
    const char *holder;                 /* of the lock; "": nobody */
    const char *pause;                  /* "WHO: WHY"; "": it is not paused */
    int64_t turn, done, started, ended;
    int64_t settled;       /* as the fleet's list of jobs has it, which outlives the rest */
    int64_t left_ms;       /* of the lock; < 0: it has none, or no end */
    int64_t pause_left_ms; /* < 0: until it is resumed */
    int64_t took_ms;       /* the newest run of its devices; FACT_NONE: not known */
    int64_t attempts;      /* of its configuration here; FACT_NONE: not known */
    int64_t attempt;
    const struct fleet_conf *confs;
    size_t conf_count;
    size_t tried; /* devices that have tried the turn that was given up; 0: not known */
    bool known;   /* there is a record of it */
    bool retired; /* no device that is there has it in its configuration */
    bool unlocked;
    char *trouble; /* why nothing is known of it: a sentence of rotad's; or NULL */
    /* Of a job that runs on each device: */
    bool each;
    size_t devices, has_done, running; /* of those that are there; not that turn yet: the rest */
};

struct fleet {
    const char *prefix, *address; /* of its keys; of its server */
    const char *server, *policy;  /* "redis 7.0.15", "noeviction"; "": not told */
    int64_t now_ms;               /* the server's */
    size_t devices, silent;
    const struct fleet_tally *versions; /* of rota, the commonest first */
    size_t version_count;
    const struct fleet_job *jobs;
    size_t job_count;
};

#define FLEET_CELL_SIZE 256

/* What stands before a job: ' ', or '>' it runs, '!' needs a look, '~' has two configurations, 'p'
 * is paused. */
char fleet_mark(const struct fleet_job *job);
/* One or two words, or "4902/4981". Of FLEET_CELL_SIZE, as all cells; escaped. */
void fleet_state(const struct fleet_job *job, char *buf);
/* Its turn: "02:30" of today, "Sun 04:00" within six days, else a date. */
void fleet_due(const struct fleet *f, const struct fleet_job *job, bool local, char *buf);
void fleet_device(const struct fleet_job *job, char *buf);
void fleet_try(const struct fleet_job *job, char *buf);
void fleet_took(const struct fleet *f, const struct fleet_job *job, char *buf);
void fleet_lease(const struct fleet_job *job, char *buf);
void fleet_conf(const struct fleet_job *job, char *buf);
/* What stands in place of device, try, time and lease: of a job that is paused, or retired. False:
 * nothing. */
bool fleet_instead(const struct fleet_job *job, bool local, char *buf);
/* Why the job has its mark, at length; false: nothing to say. */
#define FLEET_REASON_SIZE 1536
bool fleet_reason(const struct fleet_job *job, char *buf);

/* Whether a run is under way, and whether all tries of the newest turn have failed; not of jobs
 * that run on each device. */
bool fleet_runs(const struct fleet_job *job);
bool fleet_gave_up(const struct fleet_job *job);
/* Whether anybody should have a look. */
bool fleet_needs_look(const struct fleet *f);
/* The token's device: what stands before its last colon. */
void fleet_token_device(const char *token, char *buf, size_t size);
/* "4,981". Returns buf. */
#define FLEET_COUNT_SIZE 32
char *fleet_count(size_t number, char *buf);

/* fleet_head.c: the lines above the table, and those below it, with an empty one before them. */
void fleet_print_head(FILE *out, const struct screen *screen, const struct fleet *f);
void fleet_print_reasons(FILE *out, const struct screen *screen, const struct fleet *f);
/* All of it in one line, for a monitor. */
void fleet_print_check(FILE *out, const struct fleet *f);
/* fleet_columns.c: the table. `list` as -o has it; NULL: the usual ones. 0; or 64, with a line. */
int fleet_columns_check(const char *list);
/* 0 or -ENOMEM. */
int fleet_columns_print(FILE *out, const struct screen *screen, const struct fleet *f,
                        const char *list);
/* fleet_json.c */
void fleet_print_json(FILE *out, const struct fleet *f);
#endif
