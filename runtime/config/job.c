/* SPDX-License-Identifier: MIT */
#include "config/job.h"
#include "base/text.h"
#include "base/units.h"
#include "config/job_print.h"
#include "config/job_timing.h"
#include "config/plugin.h"
#include <stdlib.h>
#include <string.h>

#define RETENTION_DEFAULT_MS (30 * DAY_MS)
#define SPLAY_DEFAULT_MS SECOND_MS
#define CATCH_UP_DEFAULT_MS DAY_MS

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct bound {
    const char *name;
    int64_t ms;
};

/* "splay is "2m", more than a quarter of the period; write at most "75s"" */
static void note_above(struct reading *r, int line, const struct bound *value,
                       const struct bound *most_allowed)
{
    char value_text[UNITS_SIZE], bound_text[UNITS_SIZE];

    reading_problem(r, PROBLEM_ERROR, line, "%s is \"%s\", more than %s; write at most \"%s\"",
                    value->name, units_write_duration(value->ms, value_text, sizeof(value_text)),
                    most_allowed->name,
                    units_write_duration(most_allowed->ms, bound_text, sizeof(bound_text)));
}

static void settle_retention(struct reading *r, int line, int64_t period_ms)
{
    struct job_spec *spec = &r->job->spec;
    char written[UNITS_SIZE], needed[UNITS_SIZE];

    if (line == 0)
        spec->retention_ms = most(RETENTION_DEFAULT_MS, 2 * period_ms);
    else if (spec->retention_ms > 0 && spec->retention_ms < 2 * period_ms)
        reading_problem(r, PROBLEM_ERROR, line,
                        "retention is \"%s\", less than two periods, so that a turn could be "
                        "forgotten before the "
                        "next; write \"%s\" or more",
                        units_write_duration(spec->retention_ms, written, sizeof(written)),
                        units_write_duration(2 * period_ms, needed, sizeof(needed)));
}

/* A duration that is at most `bound`, and where it is not written that or `otherwise_ms`, whichever
 * is less. */
static int64_t settle_bounded(struct reading *r, int line, const struct bound *value,
                              const struct bound *bound, int64_t otherwise_ms)
{
    if (line == 0)
        return least(otherwise_ms, bound->ms);
    if (value->ms > bound->ms)
        note_above(r, line, value, bound);
    return value->ms;
}

/* What depends on the period: bounds, and defaults of what is not written. */
static void settle_schedule(struct reading *r, const struct schema_group *g,
                            const struct group_lines *lines)
{
    struct job_spec *spec = &r->job->spec;
    struct bound every = { "every", spec->schedule.every_ms };
    struct bound period = { "the period", schedule_period_ms(&spec->schedule) };
    struct bound quarter = { "a quarter of the period", period.ms / 4 };

    spec->schedule.offset_ms =
        settle_bounded(r, group_line(g, lines, "offset"),
                       &(struct bound){ "offset", spec->schedule.offset_ms }, &every, 0);
    spec->schedule.offset_ms %= every.ms;
    spec->catch_up_ms = settle_bounded(r, group_line(g, lines, "catch_up"),
                                       &(struct bound){ "catch_up", spec->catch_up_ms }, &period,
                                       CATCH_UP_DEFAULT_MS);
    spec->splay_ms =
        settle_bounded(r, group_line(g, lines, "splay"), &(struct bound){ "splay", spec->splay_ms },
                       &quarter, SPLAY_DEFAULT_MS);
    settle_retention(r, group_line(g, lines, "retention"), period.ms);
}

static void check_name(struct reading *r, const config_setting_t *s)
{
    if (!text_is_job_name(r->job->name))
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "this is no job's name; names are letters, digits, _ and -, begin with a "
                        "letter and have at "
                        "most %d bytes",
                        JOB_NAME_MAX);
}

static void read_keys(struct reading *r, const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_JOB);
    struct job_config *job = r->job;
    struct group_lines lines;

    group_defaults(r, g, job);
    group_read(r, g, s, job, &lines);
    if (job->spec.schedule.every_ms > 0)
        settle_schedule(r, g, &lines);
    if (job->spec.timing.worst_case_ms > 0)
        job_timing_settle(r, g, &lines, parse_line(s));
    if (job->plugin)
        plugin_find(r, group_line(g, &lines, "plugin"));
    job_print_all(job);
}

static void append(struct reading *r, struct job_config *job)
{
    struct config *c = r->config;
    struct job_config *jobs = realloc(c->jobs, (c->job_count + 1) * sizeof(*jobs));

    if (!jobs) {
        r->no_memory = true;
        job_free(job);
        return;
    }
    c->jobs = jobs;
    jobs[c->job_count++] = *job;
}

void job_read(struct reading *r, const config_setting_t *s)
{
    struct job_config job = { 0 };
    char quoted[PARSE_QUOTE_SIZE];

    job.line = parse_line(s);
    job.file = reading_copy(r, r->file);
    job.name = reading_copy(r, config_setting_name(s));
    job.spec.name = job.name;
    if (!job.file || !job.name) {
        job_free(&job);
        return;
    }
    r->job = &job;
    check_name(r, s);
    if (config_setting_is_group(s))
        read_keys(r, s);
    else
        reading_problem(r, PROBLEM_ERROR, job.line,
                        "a job is a group; write %s = { plugin = \"exec\"; every = \"5m\"; "
                        "worst_case = \"1m\"; }; "
                        "instead of %s",
                        job.name, parse_quote(s, quoted, sizeof(quoted)));
    r->job = NULL;
    append(r, &job);
}

void job_free(struct job_config *job)
{
    group_free(schema_group(SCHEMA_JOB), job);
    free(job->name);
    free(job->file);
    free(job->invalid_why);
    free(job->plugin_path);
}
