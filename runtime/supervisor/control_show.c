/* SPDX-License-Identifier: MIT
 * The method Show: all that is known of one job here. */
#include "base/text.h"
#include "supervisor/control_hand.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <string.h>
#include <time.h>

#define NEXT_TURNS 5

/* One job and the instant of the question. */
struct shown {
    const char *name;        /* of the device */
    const char *paused_here; /* by whom and why, or NULL */
    const struct job_config *config;
    const struct device_job *device; /* NULL: it takes no turns here */
    const struct fleet_clock *clock; /* NULL: no time that its turns go by is known */
    struct boot now;
};

static struct wall wall_of(const struct shown *s, struct boot at)
{
    return (struct wall){ time_add_ms(at.ms, s->clock->offset_ms) };
}

/* Where no better one is known, the device's own. */
static struct wall wall_now(const struct shown *s)
{
    return s->clock ? wall_of(s, s->now) : (struct wall){ control_clock(CLOCK_REALTIME).ms };
}

/* --- settings --- */

static int add_numbers(sd_bus_message *reply, const struct job_config *c)
{
    const struct job_spec *spec = &c->spec;
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {
        { "version", spec->version },
        { "every_ms", spec->schedule.every_ms },
        { "offset_ms", spec->schedule.offset_ms },
        { "catch_up_ms", spec->catch_up_ms },
        { "worst_case_ms", spec->timing.worst_case_ms },
        { "lease_ms", spec->timing.lease_ms },
        { "stop_grace_ms", spec->timing.stop_grace_ms },
        { "retry_delay_ms", spec->retry_delay_ms },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && rc >= 0; i++)
        rc = control_add_number(reply, numbers[i].name, numbers[i].number);
    return rc;
}

static int add_plugin(sd_bus_message *reply, const struct job_config *c)
{
    int rc = control_add_text(reply, "plugin", c->plugin);
    char version[64];

    if (rc < 0 || !c->plugin_path ||
        !control_plugin_version(c->plugin_path, version, sizeof version))
        return rc;
    return control_add_text(reply, "plugin_version", version);
}

static int add_settings(sd_bus_message *reply, const struct shown *s)
{
    const struct job_config *c = s->config;
    int rc = control_add_text(reply, "description", c->about);

    if (rc >= 0)
        rc = add_plugin(reply, c);
    if (rc >= 0)
        rc = control_add_text(reply, "file", c->file);
    if (rc >= 0)
        rc = control_add_number(reply, "line", c->line);
    if (rc < 0 || c->invalid)
        return rc;
    rc = control_add_text(reply, "fingerprint", c->spec.fingerprint);
    if (rc >= 0)
        rc = control_add_text(reply, "cron", c->cron);
    if (rc >= 0)
        rc = control_add_text(reply, "timezone", c->timezone);
    if (rc >= 0)
        rc = control_add_text(reply, "scope", c->spec.scope == SCOPE_DEVICE ? "device" : "fleet");
    if (rc >= 0)
        rc = control_add_text(reply, "lock", c->spec.lock == LOCK_NONE ? "none" : "redis");
    if (rc >= 0 && c->spec.scope == SCOPE_DEVICE)
        rc = control_add_number(reply, "concurrency", c->spec.concurrency);
    if (rc >= 0 && !s->device) /* else it is among the facts of Status */
        rc = control_add_number(reply, "attempts", c->spec.attempts);
    return rc < 0 ? rc : add_numbers(reply, c);
}

/* --- here and now --- */

/* How far a run is, by its own words. */
static int add_progress(sd_bus_message *reply, const struct past *p)
{
    int rc = 0;

    if (p && p->permille >= 0)
        rc = control_add_number(reply, "permille", p->permille);
    return rc < 0 || !p ? rc : control_add_text(reply, "progress", p->progress);
}

/* Of a run under way, and of its lease. */
static int add_lease(sd_bus_message *reply, const struct shown *s)
{
    const struct job *j = &s->device->job;
    int rc;

    if (j->state != JOB_RUNNING && j->state != JOB_STOPPING)
        return 0;
    rc = control_add_number(reply, "fence", (int64_t)j->lease.fence);
    if (rc >= 0 && s->clock)
        rc = control_add_number(reply, "started", wall_of(s, j->since).ms);
    if (rc >= 0)
        rc = add_progress(reply, s->device->past);
    if (rc < 0 || !control_has_lease(j) || j->spec->timing.renew_ms <= 0)
        return rc;
    rc = control_add_number(reply, "lease_renewed_ms", boot_between(j->lease.confirmed, s->now));
    return rc < 0
               ? rc
               : control_add_number(reply, "lease_left_ms", boot_between(s->now, j->lease.expires));
}

static int append_facts(sd_bus_message *reply, const struct shown *s)
{
    int64_t uptime_ms = control_uptime_ms(s->now);
    int rc = sd_bus_message_open_container(reply, 'a', "{sv}");

    if (rc >= 0)
        rc = control_add_text(reply, "device", s->name);
    if (rc >= 0)
        rc = control_add_text(reply, "state", control_job_state(s->config, s->device));
    if (rc >= 0)
        rc = control_add_text(reply, "why", s->config->invalid_why);
    if (rc >= 0 && uptime_ms >= 0)
        rc = control_add_number(reply, "uptime_ms", uptime_ms);
    if (rc >= 0)
        rc = control_add_number(reply, "now", wall_now(s).ms);
    if (rc >= 0)
        rc = add_settings(reply, s);
    if (rc >= 0 && s->device)
        rc = control_add_job(reply, s->device, s->now);
    if (rc >= 0)
        rc = control_add_text(reply, "paused_here", s->paused_here);
    if (rc >= 0 && s->device)
        rc = add_lease(reply, s);
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int append_next(sd_bus_message *reply, const struct shown *s)
{
    struct wall turn = wall_now(s);
    int rc = sd_bus_message_open_container(reply, 'a', "x");

    for (unsigned i = 0; i < NEXT_TURNS && config_job_runs(s->config) && rc >= 0; i++) {
        turn = schedule_next(&s->config->spec.schedule, turn);
        rc = sd_bus_message_append(reply, "x", turn.ms);
    }
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int append_output(sd_bus_message *reply, const struct shown *s)
{
    static char text[1024]; /* in the one thread */
    struct tail_line line;
    size_t at = 0;
    int rc = sd_bus_message_open_container(reply, 'a', "(xs)");

    if (s->device && s->device->past && s->clock)
        while (rc >= 0 && tail_next(&s->device->past->tail, &at, &line))
            rc =
                sd_bus_message_append(reply, "(xs)", wall_of(s, line.at).ms,
                                      text_escape(text, sizeof text, line.text, strlen(line.text)));
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

/* --- the method --- */

static bool find(const struct manager *m, const char *name, struct shown *ret)
{
    const struct device_job *at = m->jobs;
    struct shown s = { .name = m->device,
                       .config = config_find_job(m->generation->config, name),
                       .device = control_find_job(&at, name),
                       .paused_here = control_pause_text(m->control, name),
                       .now = control_clock(CLOCK_BOOTTIME) };

    if (!s.config)
        return false;
    if (s.device && job_time(&s.device->job)->known)
        s.clock = job_time(&s.device->job);
    *ret = s;
    return true;
}

int control_show(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    sd_bus_message *reply = NULL;
    struct shown s;
    const char *name;
    int rc = sd_bus_message_read(m, "s", &name);

    (void)error;
    if (rc < 0)
        return rc;
    if (!find(client->control->manager, name, &s))
        return -ENOENT;
    rc = sd_bus_message_new_method_return(m, &reply);
    if (rc >= 0)
        rc = append_facts(reply, &s);
    if (rc >= 0)
        rc = append_next(reply, &s);
    if (rc >= 0)
        rc = append_output(reply, &s);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}
