/* SPDX-License-Identifier: MIT */
#include "config/job_print.h"
#include "base/text.h"

static void add_schedule(struct fingerprint *f, const struct job_spec *spec)
{
    fingerprint_integer(f, "every", spec->schedule.every_ms);
    fingerprint_integer(f, "offset", spec->schedule.offset_ms);
}

static void add_param(struct fingerprint *f, const struct param_value *v)
{
    fingerprint_text(f, "param", v->name);
    fingerprint_integer(f, "kind", v->kind);
    if (v->kind != PARAM_LIST) {
        fingerprint_text(f, "value", v->text);
        return;
    }
    fingerprint_integer(f, "count", v->count);
    for (uint32_t i = 0; i < v->count; i++)
        fingerprint_text(f, "item", v->items[i]);
}

/* Keys that this version does not know yet stand with their defaults, so that a later version that
 * knows them gives the same job the same name. */
static void add_all(struct fingerprint *f, const struct job_config *job)
{
    const struct job_spec *spec = &job->spec;

    add_schedule(f, spec);
    fingerprint_text(f, "cron", "");
    fingerprint_text(f, "timezone", "UTC");
    fingerprint_text(f, "scope", "fleet");
    fingerprint_integer(f, "concurrency", 1);
    fingerprint_text(f, "lock", "redis");
    fingerprint_text(f, "lock_key", "");
    fingerprint_integer(f, "worst_case", spec->timing.worst_case_ms);
    fingerprint_integer(f, "lease", spec->timing.lease_cap_ms);
    fingerprint_integer(f, "attempts", spec->attempts);
    fingerprint_text(f, "plugin", job->plugin ? job->plugin : "");
    for (uint32_t i = 0; i < job->param_count; i++)
        add_param(f, &job->params[i]);
}

void job_print_all(struct job_config *job)
{
    struct fingerprint f;

    fingerprint_init(&f);
    add_schedule(&f, &job->spec);
    fingerprint_final(&f, job->spec.schedule_print);
    fingerprint_init(&f);
    add_all(&f, job);
    fingerprint_final(&f, job->spec.fingerprint);
}
