/* SPDX-License-Identifier: MIT */
#include "config/config.h"
#include "base/text.h"
#include "config/job.h"
#include "config/server.h"
#include "config/zones.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void problems_done(struct problems *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].file);
        free(p->items[i].text);
    }
    free(p->items);
}

/* Of packed jobs only invalid_why is an allocation of its own. */
static void jobs_done(struct config *c)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (c->job_block)
            free(c->jobs[i].invalid_why);
        else
            job_free(&c->jobs[i]);
    free(c->job_block);
    free(c->jobs);
}

void config_free(struct config *c)
{
    if (!c)
        return;
    jobs_done(c);
    zones_free(c);
    server_free(&c->redis);
    group_free(schema_group(SCHEMA_TOP), c);
    free(c->device_written);
    problems_done(&c->problems);
    free(c);
}

int config_job_problem(struct config *c, struct job_config *job, int param, const char *format, ...)
{
    struct reading r = { .config = c, .root = "", .file = job->file, .job = job };
    int line =
        param >= 0 && (uint32_t)param < job->param_count ? job->param_lines[param] : job->line;
    va_list args;

    va_start(args, format);
    reading_vproblem(&r, PROBLEM_ERROR, line, format, args);
    va_end(args);
    return r.no_memory ? -ENOMEM : 0;
}

char *config_problem_text(const struct problem *p)
{
    if (p->file[0] == '\0')
        return text_print("%s", p->text);
    if (p->line > 0)
        return text_print("%s:%d: %s", p->file, p->line, p->text);
    return text_print("%s: %s", p->file, p->text);
}

static int compare_name(const void *name, const void *job)
{
    return strcmp(name, ((const struct job_config *)job)->name);
}

struct job_config *config_find_job(struct config *c, const char *name)
{
    return c->job_count > 0 ? bsearch(name, c->jobs, c->job_count, sizeof(*c->jobs), compare_name)
                            : NULL;
}

bool config_job_runs(const struct job_config *job)
{
    return !job->invalid && job->enabled && !job->elsewhere;
}

const char *config_job_probe_path(const struct config *c, const struct job_config *job)
{
    if (job->invalid || job->elsewhere)
        return NULL;
    return c->described ? job->description : job->plugin_path;
}

/* The fingerprints tell what no key does: that the rules of a zone are others than they were. */
bool config_job_equal(const struct job_config *a, const struct job_config *b)
{
    return strcmp(a->name, b->name) == 0 && a->invalid == b->invalid &&
           text_same(a->plugin_path, b->plugin_path) &&
           strcmp(a->spec.fingerprint, b->spec.fingerprint) == 0 &&
           !group_difference(schema_group(SCHEMA_JOB), a, b, SCHEMA_LIVE) &&
           !group_difference(schema_group(SCHEMA_LIMITS), &a->setup->limits, &b->setup->limits, 0);
}

const char *config_fixed_change(const struct config *a, const struct config *b)
{
    const struct schema_key *k =
        group_difference(schema_group(SCHEMA_TOP), a, b, SCHEMA_LIVE | SCHEMA_TEMPLATE);

    if (!k)
        k = group_difference(schema_group(SCHEMA_REDIS), &a->redis, &b->redis, 0);
    if (k)
        return k->path;
    if (!text_same(a->device_written, b->device_written) && !text_same(a->device, b->device))
        return "device";
    if (a->device_file && !text_same(a->device, b->device))
        return "device_file";
    return NULL;
}
