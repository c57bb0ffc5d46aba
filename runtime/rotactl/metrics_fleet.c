/* SPDX-License-Identifier: MIT */
#include "rotactl/metrics_fleet.h"
#include "rotactl/fleet_ask.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdlib.h>

#define SECONDS .unit = "seconds", .in_ms = true

/* --- devices --- */

static void write_states(const struct openmetrics *o, const struct fleet *f)
{
    static const struct openmetrics_family family = {
        .name = "rota_fleet_devices",
        .help = "Devices that Redis knows: heard of in the last day, or silent for longer."
    };
    const struct openmetrics_sample heard = { { { "state", "heard" } }, (int64_t)f->devices };
    const struct openmetrics_sample silent = { { { "state", "silent" } }, (int64_t)f->silent };

    openmetrics_head(o, &family);
    openmetrics_sample(o, &family, &heard);
    openmetrics_sample(o, &family, &silent);
}

static void write_versions(const struct openmetrics *o, const struct fleet *f)
{
    static const struct openmetrics_family family = {
        .name = "rota_fleet_versions",
        .help = "Devices heard of in the last day, by the version of their rota."
    };

    openmetrics_head(o, &family);
    for (size_t i = 0; i < f->version_count; i++)
        openmetrics_sample(
            o, &family,
            &(struct openmetrics_sample){ .labels = { { "version", f->versions[i].text } },
                                          .value = (int64_t)f->versions[i].devices });
}

static void write_devices(const struct openmetrics *o, const struct fleet_answers *a)
{
    static const struct openmetrics_family configurations = {
        .name = "rota_fleet_configurations",
        .help = "Different configurations of devices heard of in the last day."
    };

    write_states(o, &a->fleet);
    write_versions(o, &a->fleet);
    openmetrics_alone(o, &configurations, (int64_t)a->confs.digest_count);
}

/* --- how late a job is --- */

/* By its schedule, which this device has to have. */
struct lateness {
    bool known;
    int64_t turns; /* fallen due since the newest that is settled, as many as rotad tells */
    int64_t late_ms;
};

static int find_lateness(struct call *c, const struct fleet_job *j, int64_t now_ms,
                         struct lateness *ret)
{
    struct lateness l = { .known = true };
    sd_bus_message *m = NULL;
    int64_t turn, first = now_ms;
    int got = 0, rc = call_find(c, &m, "Turns", "sxx", j->name, j->done, now_ms);

    if (rc == -ENOENT)
        return 0;
    if (rc == 0 && sd_bus_message_enter_container(m, 'a', "x") < 0)
        rc = call_say_odd(c);
    while (rc == 0 && (got = sd_bus_message_read(m, "x", &turn)) > 0)
        if (l.turns++ == 0)
            first = turn;
    sd_bus_message_unref(m);
    if (rc != 0 || got < 0)
        return rc ? rc : call_say_odd(c);
    l.late_ms = now_ms - first;
    *ret = l;
    return 0;
}

/* Of each job, in their order; of one that every device runs by itself there is none. */
static int find_all(struct call *c, const struct fleet *f, struct lateness *late)
{
    int rc = 0;

    for (size_t i = 0; i < f->job_count && rc == 0; i++)
        if (f->jobs[i].done > 0 && !f->jobs[i].each)
            rc = find_lateness(c, &f->jobs[i], f->now_ms, &late[i]);
    return rc;
}

/* --- jobs --- */

/* False: it has none. */
typedef bool get_number(const struct fleet_job *j, const struct lateness *l, int64_t *ret);

static bool last_turn(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)l;
    *ret = j->done;
    return j->done > 0;
}

static bool overdue_turns(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)j;
    *ret = l->turns;
    return l->known;
}

static bool late(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)j;
    *ret = l->late_ms;
    return l->known;
}

/* Where the lock is gone, or another's, so is the device that ran it. */
static bool running(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)l;
    *ret = fleet_runs(j);
    return !j->each;
}

static bool given_up(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)l;
    *ret = fleet_gave_up(j);
    return !j->each;
}

static bool paused(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)l;
    *ret = *j->pause != '\0';
    return true;
}

static bool configurations(const struct fleet_job *j, const struct lateness *l, int64_t *ret)
{
    (void)l;
    *ret = (int64_t)j->conf_count;
    return true;
}

static const struct {
    struct openmetrics_family family;
    get_number *get;
} numbers[] = {
    { { .name = "rota_fleet_job_last_turn_timestamp_seconds",
        .help = "The newest turn of the job that is settled: done, or passed by.",
        SECONDS },
      last_turn },
    { { .name = "rota_fleet_job_overdue_turns",
        .help = "Turns that have fallen due since then, at most 500; of jobs in the configuration "
                "of the device that was asked." },
      overdue_turns },
    { { .name = "rota_fleet_job_late_seconds",
        .help = "How long ago the first of them fell due; 0 where there is none.",
        SECONDS },
      late },
    { { .name = "rota_fleet_job_running", .help = "1: a run of the job is under way." }, running },
    { { .name = "rota_fleet_job_given_up", .help = "1: all tries of its newest turn have failed." },
      given_up },
    { { .name = "rota_fleet_job_paused", .help = "1: the job is paused in the whole fleet." },
      paused },
    { { .name = "rota_fleet_job_configurations",
        .help = "Different configurations of the job on devices heard of in the last day." },
      configurations },
};

static void write_number(const struct openmetrics *o, size_t n, const struct fleet *f,
                         const struct lateness *lateness)
{
    int64_t value;

    openmetrics_head(o, &numbers[n].family);
    for (size_t i = 0; i < f->job_count; i++)
        if (!f->jobs[i].trouble && numbers[n].get(&f->jobs[i], &lateness[i], &value))
            openmetrics_sample(o, &numbers[n].family,
                               &(struct openmetrics_sample){
                                   .labels = { { "job_name", f->jobs[i].name } }, .value = value });
}

/* Of a job that runs on each device. */
static void write_each(const struct openmetrics *o, const struct fleet *f)
{
    static const struct openmetrics_family family = {
        .name = "rota_fleet_job_devices",
        .help = "Devices heard of in the last day that have done the newest turn of a job that "
                "runs on each (scope = device), run it, or have it still to do."
    };

    openmetrics_head(o, &family);
    for (const struct fleet_job *j = f->jobs; j < f->jobs + f->job_count; j++) {
        const struct {
            const char *state;
            size_t devices;
        } states[] = { { "done", j->has_done },
                       { "running", j->running },
                       { "to_go", j->devices - j->has_done - j->running } };

        for (size_t i = 0; i < 3 && j->each && !j->trouble; i++)
            openmetrics_sample(
                o, &family,
                &(struct openmetrics_sample){
                    .labels = { { "job_name", j->name }, { "state", states[i].state } },
                    .value = (int64_t)states[i].devices });
    }
}

/* Redis has something else under its keys, or does not let rota look. */
static void write_unknown(const struct openmetrics *o, const struct fleet *f)
{
    static const struct openmetrics_family family = {
        .name = "rota_fleet_job_unknown",
        .help = "1, and only there where Redis did not tell of the job: rotactl fleet says why."
    };

    openmetrics_head(o, &family);
    for (const struct fleet_job *j = f->jobs; j < f->jobs + f->job_count; j++)
        if (j->trouble)
            openmetrics_sample(
                o, &family,
                &(struct openmetrics_sample){ .labels = { { "job_name", j->name } }, .value = 1 });
}

/* --- all --- */

static void write_all(const struct openmetrics *o, const struct fleet_answers *a,
                      const struct lateness *late)
{
    static const struct openmetrics_family asked = { .name = "rota_fleet_timestamp_seconds",
                                                     .help = "When this was asked, by the clock of "
                                                             "Redis.",
                                                     SECONDS };

    openmetrics_alone(o, &asked, a->fleet.now_ms);
    write_devices(o, a);
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
        write_number(o, n, &a->fleet, late);
    write_each(o, &a->fleet);
    write_unknown(o, &a->fleet);
    openmetrics_end(o);
}

int metrics_fleet_print(struct call *c, const struct openmetrics *o)
{
    struct fleet_answers answers = { 0 };
    struct lateness *late = NULL;
    int rc = fleet_ask(c, NULL, &answers);

    if (rc == 0) {
        late = calloc(answers.job_count + 1, sizeof *late);
        rc = late ? find_all(c, &answers.fleet, late) : output_say_no_memory();
    }
    if (rc == 0)
        write_all(o, &answers, late);
    free(late);
    fleet_answers_done(&answers);
    return rc;
}
