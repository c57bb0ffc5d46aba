/* SPDX-License-Identifier: MIT
 * What is remembered of a job's turns and runs here (past.h, job_counters), for one who asks. */
#include "base/units.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <errno.h>

static int append_runs(sd_bus_message *reply, const struct past *p)
{
    int rc = sd_bus_message_open_container(reply, 'a', "(xuxss)");

    for (unsigned i = 0; p && i < PAST_RUNS && p->runs[i].attempt > 0 && rc >= 0; i++) {
        const struct past_run *run = &p->runs[i];

        rc = sd_bus_message_append(reply, "(xuxss)", run->turn.ms, run->attempt, run->ran_ms,
                                   outcome_name(run->outcome), run->why ? run->why : "");
    }
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int append_times(sd_bus_message *reply, const struct past *p, sd_event *event)
{
    struct digest_summary s = { .runs = 0 };
    uint64_t now_us;
    int rc = sd_event_now(event, CLOCK_BOOTTIME, &now_us);

    if (rc < 0)
        return rc;
    if (p)
        s = digest_read(&p->times, (struct boot){ (int64_t)(now_us / 1000) });
    return sd_bus_message_append(reply, "(xxxu)", s.median_ms, s.p95_ms, s.longest_ms, s.runs);
}

/* What the journal was told, as a conf file has it. */
static int append_advice(sd_bus_message *reply, const struct device_job *d)
{
    enum advice_kind kind = d->past ? d->past->advice.kind : ADVICE_NONE;
    char value[UNITS_SIZE], lease[UNITS_SIZE] = "";
    struct advice advice;

    if (kind == ADVICE_NONE)
        return sd_bus_message_append(reply, "(sss)", "", "", "");
    units_write_duration(d->past->advice.value_ms, value, sizeof value);
    advice = advice_of(&d->past->times, d->job.spec);
    if (advice.lease_ms > 0)
        units_write_duration(advice.lease_ms, lease, sizeof lease);
    return sd_bus_message_append(
        reply, "(sss)", d->job.spec->timing.max_runtime_ms > 0 ? "max_runtime" : "worst_case",
        value, lease);
}

struct count {
    const char *name;
    uint32_t count;
};

static int append_counts(sd_bus_message *reply, const struct job_counters *c, const struct past *p)
{
    const struct count counts[] = {
        { "passed_held", c->passed_held },       { "passed_done", c->passed_done },
        { "passed_error", c->passed_error },     { "passed_barred", c->passed_barred },
        { "passed_paused", c->passed_paused },   { "passed_full", c->passed_full },
        { "passed_running", c->passed_running }, { "unknown", c->unknown },
        { "takeovers", p ? p->takeovers : 0 },   { "renewals", p ? p->renewals : 0 },
    };
    int rc = sd_bus_message_open_container(reply, 'a', "{su}");

    for (enum outcome o = 0; o < OUTCOME_VANISHED && rc >= 0; o++)
        rc = sd_bus_message_append(reply, "{su}", outcome_name(o), c->outcomes[o]);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && rc >= 0; i++)
        rc = sd_bus_message_append(reply, "{su}", counts[i].name, counts[i].count);
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int append_past(sd_bus_message *reply, const struct device_job *d, sd_event *event)
{
    int rc = append_runs(reply, d->past);

    if (rc >= 0)
        rc = append_times(reply, d->past, event);
    if (rc >= 0)
        rc = append_advice(reply, d);
    if (rc >= 0)
        rc = append_counts(reply, &d->job.counters, d->past);
    return rc < 0 ? rc : sd_bus_message_append(reply, "x", d->past ? d->past->least_left_ms : 0);
}

int control_past(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    const struct manager *manager = client->control->manager;
    const struct device_job *at = manager->jobs, *d;
    sd_bus_message *reply = NULL;
    const char *name;
    int rc = sd_bus_message_read(m, "s", &name);

    (void)error;
    if (rc < 0)
        return rc;
    d = control_find_job(&at, name);
    if (!d)
        return -ENOENT;
    rc = sd_bus_message_new_method_return(m, &reply);
    if (rc >= 0)
        rc = append_past(reply, d, manager->event);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}
