/* SPDX-License-Identifier: MIT
 * What is known of one job. */
#include "base/text.h"
#include "rotactl/fleet_answer.h"
#include "rotactl/fleet_ask.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the history, where the devices that tried a turn are looked for. */
#define RUNS_ASKED 100

/* --- the history --- */

/* Whether one of these `count` runs was on the same device. */
static bool is_known(const struct fleet_run *runs, size_t count, const struct fleet_run *run)
{
    char device[FLEET_CELL_SIZE], other[FLEET_CELL_SIZE];

    fleet_token_device(run->token, device, sizeof device);
    for (size_t i = 0; i < count; i++) {
        fleet_token_device(runs[i].token, other, sizeof other);
        if (strcmp(device, other) == 0)
            return true;
    }
    return false;
}

static int read_history(sd_bus_message *m, struct fleet_job *job)
{
    struct fleet_run runs[RUNS_ASKED], run;
    size_t tried = 0;
    int64_t now_ms;
    int rc = fleet_answer_runs(m, &now_ms);

    while (rc >= 0 && (rc = fleet_answer_run(m, &run)) > 0) {
        if (job->took_ms == FACT_NONE && run.ran_ms > 0)
            job->took_ms = run.ran_ms;
        if (!job->each && run.turn == job->turn && tried < RUNS_ASKED &&
            !is_known(runs, tried, &run))
            runs[tried++] = run;
    }
    job->tried = tried;
    return rc;
}

/* A history that is none is not worth a word beside the rest. */
static int ask_history(struct call *c, struct fleet_job *job)
{
    char why[CALL_WHY_SIZE];
    sd_bus_message *m = NULL;
    int rc = call_try(c, &m, why, "History", "su", job->name, (uint32_t)RUNS_ASKED);

    if (rc == 0 && read_history(m, job) < 0)
        rc = call_say_odd(c);
    sd_bus_message_unref(m);
    return rc == -ENODATA ? 0 : rc;
}

/* --- on each device --- */

static int ask_each(struct call *c, struct fleet_answers *a, struct fleet_job *job, size_t seats)
{
    struct fleet_records records = { 0 };
    int rc = fleet_records_ask(c, &a->kept, job->name, &records);

    for (size_t i = 0; i < a->devices.count && rc == 0; i++) {
        const struct fleet_device *device = &a->devices.items[i];
        const struct fleet_record *record = fleet_records_find(&records, device->name);
        enum fleet_record_kind kind = fleet_record_kind(record, job->done);

        if (!fleet_counts(a, job, device))
            continue;
        job->devices++;
        job->has_done += kind == RECORD_DONE;
        job->running += kind == RECORD_RUNNING;
    }
    /* One that has vanished has no seat any more. */
    if (job->running > seats)
        job->running = seats;
    free(records.items);
    return rc;
}

/* --- all of it --- */

static bool is_each(const struct fleet_job *job, const struct fleet_look *l)
{
    if (*l->scope)
        return text_equal(l->scope, "device");
    return job->conf_count > 0 && strncmp(job->confs[0].kind, "device ", strlen("device ")) == 0;
}

static bool is_unlocked(const struct fleet_job *job)
{
    bool unlocked = job->conf_count > 0;

    for (size_t i = 0; i < job->conf_count && unlocked; i++)
        unlocked = text_ends_with(job->confs[i].kind, " none");
    return unlocked;
}

static void take_look(struct fleet_job *job, const struct fleet_look *l)
{
    job->known = l->layout > 0;
    job->turn = l->turn;
    job->attempt = l->attempt;
    job->token = l->token;
    job->state = l->state;
    job->done = l->done;
    job->started = l->started;
    job->ended = l->ended;
    job->detail = l->detail;
    job->holder = l->holder;
    job->left_ms = l->left_ms;
    job->pause = l->pause;
    job->pause_left_ms = l->pause_left_ms;
}

/* What is kept of a job of which Redis says nothing. */
static int note_trouble(struct fleet_job *job, const char *why)
{
    job->trouble = strdup(why);
    return job->trouble ? 0 : output_say_no_memory();
}

int fleet_job_ask(struct call *c, struct fleet_answers *a, struct fleet_job *job)
{
    char why[CALL_WHY_SIZE];
    sd_bus_message *m = NULL;
    struct fleet_look look;
    int rc = call_try(c, &m, why, "FleetJob", "s", job->name);

    if (rc == -ENODATA)
        return note_trouble(job, why);
    if (rc == 0 && kept_add(&a->kept, m) < 0)
        rc = output_say_no_memory();
    if (rc == 0 && fleet_answer_look(m, &look) < 0)
        rc = call_say_odd(c);
    if (rc != 0)
        return rc;
    take_look(job, &look);
    job->each = is_each(job, &look);
    job->unlocked = is_unlocked(job);
    if (job->each && job->done > 0 && !job->retired)
        rc = ask_each(c, a, job, look.seats);
    if (rc == 0 && (job->each || text_equal(job->state, "gave_up")))
        rc = ask_history(c, job);
    return rc;
}
