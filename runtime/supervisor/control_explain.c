/* SPDX-License-Identifier: MIT
 * The method Explain: the numbers by which a job runs, and what each costs. */
#include "core/advice.h"
#include "core/cost.h"
#include "core/fleet_hello.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <errno.h>

struct number {
    const char *name;
    int64_t number;
};

/* Those that are 0 are left out. */
static int add_numbers(sd_bus_message *reply, const struct number *numbers, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc >= 0; i++)
        if (numbers[i].number != 0)
            rc = control_add_number(reply, numbers[i].name, numbers[i].number);
    return rc;
}

static int64_t longest_run_ms(const struct timing *t)
{
    return t->max_runtime_ms > 0 ? t->max_runtime_ms : t->worst_case_ms;
}

static int add_timing(sd_bus_message *reply, const struct job_spec *spec, size_t servers)
{
    const struct timing *t = &spec->timing;
    bool renewed = t->renew_ms > 0;
    const struct number numbers[] = {
        { "worst_case_ms", t->worst_case_ms },
        { "max_runtime_ms", t->max_runtime_ms },
        { "stop_grace_ms", t->stop_grace_ms },
        { "lease_ms", t->lease_ms },
        { "margin_ms", t->margin_ms },
        { "command_timeout_ms", t->command_timeout_ms },
        { "renew_ms", t->renew_ms },
        { "repeat_end_ms", renewed ? timing_repeat_end_ms(t) : 0 },
        { "must_stop_ms", renewed ? timing_must_stop_ms(t) : 0 },
        { "takeover_ms", timing_takeover_ms(t, spec->splay_ms) },
        { "renewals", timing_renewals(t, longest_run_ms(t)) },
        { "attempts", spec->attempts },
        { "retry_delay_ms", spec->retry_delay_ms },
        { "concurrency", spec->scope == SCOPE_DEVICE ? spec->concurrency : 0 },
        { "stop_after_failures", spec->scope == SCOPE_DEVICE ? spec->stop_after_failures : 0 },
        { "servers", (int64_t)servers },
    };

    return add_numbers(reply, numbers, sizeof numbers / sizeof numbers[0]);
}

/* --- what it costs --- */

static struct cost_terms terms_of(const struct manager *m)
{
    const struct config *c = m->generation->config;
    struct wall now = { control_clock(CLOCK_REALTIME).ms };
    struct cost_terms terms = {
        .fleet = m->fleet.size > 0 ? m->fleet.size : 1,
        .turns_all = c->fleet.turns_all,
        .tls = control_uses_tls(c),
        .checkin_ms = c->fleet.checkin_ms,
        .idle_timeout_ms = c->redis.idle_timeout_ms,
        .keepalive_ms = c->redis.keepalive_ms,
        .servers = (uint32_t)c->redis.server_count,
    };
    struct cost all = { 0 };

    cost_add_hello(&all, &terms, (int64_t)c->job_count);
    for (size_t i = 0; i < c->job_count; i++)
        if (config_job_runs(&c->jobs[i]))
            cost_add_job(
                &all, &terms, &c->jobs[i].spec,
                schedule_count(&c->jobs[i].spec.schedule, now, wall_add(now, COST_MONTH_MS)));
    terms.kept = cost_keeps_connection(&terms, &all);
    return terms;
}

/* Of one device, each once. */
static int add_cost(sd_bus_message *reply, const struct manager *m, const struct job_spec *spec)
{
    const struct timing *t = &spec->timing;
    struct cost_terms terms = terms_of(m);
    const struct cost run = { .runs = 1, .renewals = timing_renewals(t, longest_run_ms(t)) };
    const struct cost pass = { .passes = 1 };
    uint32_t fleet = terms.fleet;
    int rc;

    terms.fleet = 1;
    rc = control_add_number(reply, "run_bytes", cost_bytes(&terms, &run));
    if (rc >= 0)
        rc = control_add_number(reply, "pass_bytes", cost_bytes(&terms, &pass));
    /* Where no device that watches lives: until any says hello, and learns of it. */
    if (rc >= 0 && fleet > 1)
        rc = control_add_number(reply, "hello_ms",
                                fleet_hello_mean_ms(terms.checkin_ms, fleet) / fleet);
    return rc;
}

/* --- what runs took --- */

static const struct past *past_of(const struct manager *m, const char *name)
{
    const struct device_job *at = m->jobs, *d = control_find_job(&at, name);

    return d ? d->past : NULL;
}

static int add_past(sd_bus_message *reply, const struct past *p, const struct job_spec *spec)
{
    int64_t longest_ms = p ? digest_longest_ms(&p->times) : 0;
    struct advice advice;
    int rc;

    if (longest_ms == 0)
        return 0;
    advice = advice_of(&p->times, spec);
    rc = control_add_number(reply, "longest_ms", longest_ms);
    if (rc >= 0)
        rc = control_add_number(reply, "enough_ms", advice_enough_ms(longest_ms));
    if (rc < 0 || advice.kind == ADVICE_NONE)
        return rc;
    rc = control_add_flag(reply, "too_short", advice.kind == ADVICE_SHORT);
    if (rc >= 0)
        rc = control_add_number(reply, "write_ms", advice.value_ms);
    if (rc < 0 || advice.lease_ms == 0)
        return rc;
    return control_add_number(reply, "write_lease_ms", advice.lease_ms);
}

/* --- the method --- */

static int append_facts(sd_bus_message *reply, const struct manager *m, const struct job_config *c)
{
    const struct job_spec *spec = &c->spec;
    bool asks = m->store && spec->lock != LOCK_NONE;
    int rc = sd_bus_message_open_container(reply, 'a', "{sv}");

    if (rc >= 0)
        rc = control_add_text(reply, "why", c->invalid ? c->invalid_why : NULL);
    if (rc >= 0 && !c->invalid)
        rc = add_timing(reply, spec, m->generation->config->redis.server_count);
    if (rc >= 0)
        rc = control_add_flag(reply, "unlocked", spec->lock == LOCK_NONE);
    if (rc >= 0)
        rc = control_add_flag(reply, "local", m->generation->config->store == CONFIG_STORE_LOCAL);
    if (rc >= 0 && !c->invalid && asks)
        rc = add_cost(reply, m, spec);
    if (rc >= 0 && !c->invalid)
        rc = add_past(reply, past_of(m, c->name), spec);
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

int control_explain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    const struct manager *manager = client->control->manager;
    const struct job_config *c;
    sd_bus_message *reply = NULL;
    const char *name;
    int rc = sd_bus_message_read(m, "s", &name);

    (void)error;
    if (rc < 0)
        return rc;
    c = config_find_job(manager->generation->config, name);
    if (!c)
        return -ENOENT;
    rc = sd_bus_message_new_method_return(m, &reply);
    if (rc >= 0)
        rc = append_facts(reply, manager, c);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}
