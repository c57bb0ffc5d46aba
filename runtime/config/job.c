/* SPDX-License-Identifier: MIT */
#include "config/job.h"
#include "base/text.h"
#include "config/device.h"
#include "config/job_print.h"
#include "config/job_schedule.h"
#include "config/job_setup.h"
#include "config/job_sharing.h"
#include "config/job_timing.h"
#include "config/plugin.h"
#include <stdlib.h>
#include <string.h>

static void check_name(struct reading *r, const config_setting_t *s)
{
    if (!text_is_job_name(r->job->name))
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "this is no job's name; names are letters, digits, _ and -, begin with a "
                        "letter and have at "
                        "most %d bytes",
                        JOB_NAME_MAX);
}

static void check_was(struct reading *r, int line)
{
    const struct job_config *job = r->job;

    if (job->was && !text_is_job_name(job->was))
        reading_problem(r, PROBLEM_ERROR, line,
                        "was is \"%s\", which is no job's name; write the name that the job had",
                        job->was);
}

/* What other matchers know, and would match no device without a word. */
static void check_patterns(struct reading *r, int line)
{
    for (char **p = r->job->devices; line > 0 && p && *p; p++)
        if (**p == '!' || strpbrk(*p, "[]{}|"))
            reading_problem(
                r, PROBLEM_WARNING, line,
                "devices has \"%s\"; only * and ? stand for other characters, all else is "
                "taken as it is written",
                *p);
}

/* Where neither the caller nor the files know the name, it may be any. */
static bool is_elsewhere(const struct reading *r)
{
    if (r->source->device)
        return !device_is_meant(r->job->devices, r->source->device);
    return !r->config->device_open && !device_is_meant(r->job->devices, r->config->device);
}

static void read_keys(struct reading *r, const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_JOB);
    struct job_config *job = r->job;
    struct group_lines lines;
    bool scheduled;

    group_defaults(r, g, job);
    group_read(r, g, s, job, &lines);
    check_was(r, group_line(g, &lines, "was"));
    check_patterns(r, group_line(g, &lines, "devices"));
    job_point_to_names(job);
    job->elsewhere = is_elsewhere(r);
    job_sharing_settle(r, g, &lines);
    scheduled = job_schedule_settle(r, g, &lines, parse_line(s));
    if (job->spec.timing.worst_case_ms > 0)
        job_timing_settle(r, g, &lines, scheduled ? schedule_period_ms(&job->spec.schedule) : 0,
                          parse_line(s));
    job_setup_settle(r, g, &lines, s);
    if (job->plugin && !job->elsewhere)
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
    struct job_config job = { .setup = calloc(1, sizeof(*job.setup)) };
    char quoted[PARSE_QUOTE_SIZE];

    if (!job.setup) {
        r->no_memory = true;
        return;
    }
    job.line = parse_line(s);
    job.file = reading_copy(r, r->file);
    job.name = reading_copy(r, config_setting_name(s));
    job_point_to_names(&job);
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

static int by_key(const void *a, const void *b)
{
    const struct job_config *x = *(struct job_config *const *)a;
    const struct job_config *y = *(struct job_config *const *)b;
    int order = strcmp(x->spec.key, y->spec.key);

    return order != 0 ? order : strcmp(x->name, y->name);
}

static void note_same_key(struct reading *r, struct job_config *job, const struct job_config *other)
{
    r->job = job;
    r->file = job->file;
    reading_problem(r, PROBLEM_ERROR, job->line,
                    "it and job '%s' (%s:%d) would have the same keys in Redis, those of '%s', by "
                    "was; remove the former job, or change was",
                    other->name, other->file, other->line, job->spec.key);
    r->job = NULL;
}

void job_note_same_keys(struct reading *r)
{
    struct config *c = r->config;
    struct job_config **jobs = calloc(c->job_count + 1, sizeof(struct job_config *));

    if (!jobs) {
        r->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->job_count; i++)
        jobs[i] = &c->jobs[i];
    qsort(jobs, c->job_count, sizeof(struct job_config *), by_key);
    for (size_t i = 1; i < c->job_count; i++)
        if (strcmp(jobs[i - 1]->spec.key, jobs[i]->spec.key) == 0) {
            note_same_key(r, jobs[i - 1], jobs[i]);
            note_same_key(r, jobs[i], jobs[i - 1]);
        }
    free(jobs);
}

void job_point_to_names(struct job_config *job)
{
    job->spec.name = job->name;
    job->spec.key = job->was ? job->was : job->name;
}

void job_free(struct job_config *job)
{
    group_free(schema_group(SCHEMA_JOB), job);
    free(job->name);
    free(job->file);
    free(job->invalid_why);
    free(job->plugin_path);
    free(job->description);
    free(job->setup->identity.home);
    free(job->setup->identity.groups);
    free(job->setup);
}
