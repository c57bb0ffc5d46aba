/* SPDX-License-Identifier: MIT */
#include "config/fleet_summary.h"
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

int fleet_summary_text(const struct config *c, char **ret_text)
{
    char line[FLEET_TEXT_LINE_SIZE], *text = malloc(STORE_CONFIG_TEXT_MAX + 1);
    size_t used = 0;

    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < c->job_count; i++) {
        size_t length = line_of(&c->jobs[i], line);

        if (used + length > STORE_CONFIG_TEXT_MAX)
            break;
        memcpy(text + used, line, length);
        used += length;
    }
    text[used] = '\0';
    *ret_text = text;
    return 0;
}
