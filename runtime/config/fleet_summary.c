/* SPDX-License-Identifier: MIT */
#include "config/fleet_summary.h"
#include "base/text.h"
#include "base/units.h"
#include "core/fleet_text.h"
#include "core/store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The job's line. 0: it has none. */
static size_t line_of(const struct job_config *job, char ret_text[FLEET_TEXT_LINE_SIZE])
{
    struct fleet_text_line line;

    if (job->invalid || !job->enabled)
        return 0;
    fleet_text_describe(&job->spec, &line);
    return fleet_text_format(&line, ret_text);
}

void fleet_summary_digest(const struct config *c, char ret_digest[FINGERPRINT_SIZE])
{
    char line[FLEET_TEXT_LINE_SIZE];
    struct fingerprint f;
    bool any = false;

    fingerprint_init(&f);
    for (size_t i = 0; i < c->job_count; i++)
        if (line_of(&c->jobs[i], line) > 0) {
            fingerprint_text(&f, "job", line);
            any = true;
        }
    ret_digest[0] = '\0';
    if (any)
        fingerprint_final(&f, ret_digest);
}

/* The longest are left out: they are for people to read. */
static size_t schedule_line_of(const struct job_config *job, char ret_text[FLEET_TEXT_LINE_SIZE])
{
    char every[UNITS_SIZE];
    bool fits;

    if (job->invalid || !job->enabled)
        return 0;
    if (job->cron)
        fits = text_format(ret_text, FLEET_TEXT_LINE_SIZE, "@%s %s %s\n", job->spec.key, job->cron,
                           job->timezone ? job->timezone : "UTC");
    else
        fits = text_format(ret_text, FLEET_TEXT_LINE_SIZE, "@%s every %s\n", job->spec.key,
                           units_write_duration(job->spec.schedule.every_ms, every, sizeof every));
    return fits ? strlen(ret_text) : 0;
}

/* Appends the lines of all jobs, until one has no room. */
static size_t append(const struct config *c, size_t (*of)(const struct job_config *job, char *text),
                     char *text, size_t used)
{
    char line[FLEET_TEXT_LINE_SIZE];

    for (size_t i = 0; i < c->job_count; i++) {
        size_t length = of(&c->jobs[i], line);

        if (used + length > STORE_CONFIG_TEXT_MAX)
            break;
        memcpy(text + used, line, length);
        used += length;
    }
    return used;
}

int fleet_summary_text(const struct config *c, char **ret_text)
{
    char *text = malloc(STORE_CONFIG_TEXT_MAX + 1);
    size_t used;

    if (!text)
        return -ENOMEM;
    used = append(c, line_of, text, 0);
    used = append(c, schedule_line_of, text, used);
    text[used] = '\0';
    *ret_text = text;
    return 0;
}
