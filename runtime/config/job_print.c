/* SPDX-License-Identifier: MIT */
#include "config/job_print.h"
#include "base/text.h"
#include <inttypes.h>

/* The years whose changes of offset stand for a zone's rules, from their first to before their last
 * second in UTC: a device's lifetime, and the same whether the file lists them or has a rule. */
#define RULES_FROM INT64_C(1735689600)  /* 2025-01-01 */
#define RULES_UNTIL INT64_C(2871763200) /* 2061-01-01 */

#define CRON_SIZE 80

/* Two expressions that mean the same sets have the same text. "" without cron. */
static const char *cron_text(const struct job_config *job, char buf[CRON_SIZE])
{
    const struct cron *c = &job->spec.schedule.cron;

    buf[0] = '\0';
    if (job->cron)
        text_format(buf, CRON_SIZE, "%" PRIx64 " %" PRIx32 " %" PRIx32 " %x %x %d %d", c->minutes,
                    c->hours, c->days, (unsigned)c->months, (unsigned)c->weekdays, c->either,
                    c->each_hour);
    return buf;
}

static const char *timezone_name(const struct job_config *job)
{
    return job->timezone ? job->timezone : "UTC";
}

static void add_grid(struct fingerprint *f, const struct job_spec *spec)
{
    fingerprint_integer(f, "every", spec->schedule.every_ms);
    fingerprint_integer(f, "offset", spec->schedule.offset_ms);
}

static void add_rules(struct fingerprint *f, const struct zone *zone)
{
    int64_t from, until = RULES_FROM;

    for (int64_t at = RULES_FROM; zone && at < RULES_UNTIL; at = until) {
        fingerprint_integer(f, "offset of zone", zone_offset(zone, at, &from, &until));
        fingerprint_integer(f, "until", until < RULES_UNTIL ? until : RULES_UNTIL);
    }
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

static void add_all(struct fingerprint *f, const struct job_config *job)
{
    const struct job_spec *spec = &job->spec;
    char cron[CRON_SIZE];

    add_grid(f, spec);
    fingerprint_text(f, "cron", cron_text(job, cron));
    fingerprint_text(f, "timezone", timezone_name(job));
    add_rules(f, spec->schedule.zone);
    fingerprint_text(f, "scope", spec->scope == SCOPE_DEVICE ? "device" : "fleet");
    fingerprint_integer(f, "concurrency", spec->concurrency);
    fingerprint_text(f, "lock", spec->lock == LOCK_NONE ? "none" : "redis");
    fingerprint_text(f, "lock_key", spec->lock_key ? spec->lock_key : "");
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
    char cron[CRON_SIZE];

    fingerprint_init(&f);
    add_grid(&f, &job->spec);
    if (job->cron) {
        fingerprint_text(&f, "cron", cron_text(job, cron));
        fingerprint_text(&f, "timezone", timezone_name(job));
        /* Other rules make other turns: an edit, which runs none of the past. */
        add_rules(&f, job->spec.schedule.zone);
    }
    fingerprint_final(&f, job->spec.schedule_print);
    fingerprint_init(&f);
    add_all(&f, job);
    fingerprint_final(&f, job->spec.fingerprint);
}
