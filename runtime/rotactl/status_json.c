/* SPDX-License-Identifier: MIT */
#include "rotactl/output.h"
#include "rotactl/status_view.h"

void status_print_job_json(FILE *out, const struct status_job *job)
{
    const char *reason = status_reason(job);

    fputs("\"job\": ", out);
    output_json(out, job->name);
    fputs(", \"state\": ", out);
    output_json(out, status_state(job));
    if (reason) {
        fputs(", \"look\": ", out);
        output_json(out, reason);
    }
    /* Without the state, which is a word of rotad's own. */
    facts_print_json(out, status_job_facts, status_job_facts_count - 1, job);
}

void status_print_json(FILE *out, const struct status *s)
{
    fputs("{\"device\": ", out);
    output_json(out, s->device);
    fputs(", \"status\": ", out);
    output_json(out, s->line);
    facts_print_json(out, status_facts, status_facts_count, &s->rotad);
    fputs(", \"jobs\": [", out);
    for (size_t i = 0; i < s->job_count; i++) {
        fputs(i ? ",\n  {" : "\n  {", out);
        status_print_job_json(out, &s->jobs[i]);
        putc('}', out);
    }
    fputs(s->job_count ? "\n]}\n" : "]}\n", out);
}
