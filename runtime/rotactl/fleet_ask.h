/* SPDX-License-Identifier: MIT
 * rotactl/fleet_ask.h: all that is known of a fleet, asked of Redis through rotad. */
#ifndef ROTA_ROTACTL_FLEET_ASK_H
#define ROTA_ROTACTL_FLEET_ASK_H
#include "rotactl/fleet_locals.h"

/* Zeroed at first. What `fleet` points to is of the rest. */
struct fleet_answers {
    struct fleet fleet;
    struct kept kept;
    struct fleet_locals locals;
    struct fleet_devices devices;
    struct fleet_confs confs;
    struct fleet_tally *versions;
    struct fleet_job *jobs;
    size_t job_count;
};

/* Of one job; NULL: of all that are in a configuration, or have run. 0; or an exit status, with a
 * line. What there is by then is to be freed in any case. */
int fleet_ask(struct call *c, const char *job, struct fleet_answers *a);
void fleet_answers_done(struct fleet_answers *a);
/* What a device did last of a job that runs on each. */
struct fleet_record {
    const char *device, *state; /* state: as in the claim of other jobs */
    int64_t turn, done, ended;
    uint32_t attempt;
};

/* Zeroed at first. */
struct fleet_records {
    struct fleet_record *items; /* in order of device */
    size_t count;
};

/* 0; or an exit status, with a line. `items` are the caller's to free in any case. */
int fleet_records_ask(struct call *c, struct kept *k, const char *job, struct fleet_records *r);
/* NULL: it has none. */
const struct fleet_record *fleet_records_find(const struct fleet_records *r, const char *device);
enum fleet_record_kind { RECORD_TO_GO, RECORD_RUNNING, RECORD_DONE };
/* How a device is with the turn; r: NULL where it has no record. */
enum fleet_record_kind fleet_record_kind(const struct fleet_record *r, int64_t turn);
/* Whether the job is counted on that device. */
bool fleet_counts(const struct fleet_answers *a, const struct fleet_job *job,
                  const struct fleet_device *device);

/* fleet_job.c: asks for what is known of a job, by its name or its key. 0; or an exit status, with
 * a line. */
int fleet_job_ask(struct call *c, struct fleet_answers *a, struct fleet_job *job);
#endif
