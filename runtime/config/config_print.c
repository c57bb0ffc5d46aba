/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "config/config.h"
#include "config/value_print.h"
#include <errno.h>
#include <string.h>

static void print_invalid(const struct job_config *job, FILE *out)
{
    const char *text = job->invalid_why ? job->invalid_why : "";
    char why[512];

    text_escape(why, sizeof(why), text, strlen(text));
    fprintf(out, "  # %s is left out: %s\n", job->name, why);
}

static void print_job(const struct job_config *job, FILE *out)
{
    fprintf(out, "  %s = {\n", job->name);
    value_print_group(schema_group(SCHEMA_JOB), job, "    ", out);
    fputs("    limits = {\n", out);
    value_print_group(schema_group(SCHEMA_LIMITS), &job->setup->limits, "      ", out);
    fputs("    };\n  };\n", out);
}

/* The keys at the top. A name that comes from a file, or that is still to be made, is no setting.
 */
static void print_top(const struct config *c, FILE *out)
{
    struct config shown = *c;

    if (c->device_file || c->device_open)
        shown.device = NULL;
    value_print_group(schema_group(SCHEMA_TOP), &shown, "", out);
    if (c->device_open && c->device_written) {
        fputs("device = ", out);
        value_print_text(c->device_written, out);
        fputs(";\n", out);
    }
}

int config_print(const struct config *c, FILE *out)
{
    print_top(c, out);
    fputs("redis = {\n", out);
    value_print_group(schema_group(SCHEMA_REDIS), &c->redis, "  ", out);
    fputs("};\njobs = {\n", out);
    for (size_t i = 0; i < c->job_count; i++) {
        if (c->jobs[i].invalid)
            print_invalid(&c->jobs[i], out);
        else
            print_job(&c->jobs[i], out);
    }
    fputs("};\n", out);
    if (fflush(out) != 0)
        return -errno;
    return ferror(out) ? -EIO : 0; /* of an earlier line, whose error is gone */
}
