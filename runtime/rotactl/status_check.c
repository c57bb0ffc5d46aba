/* SPDX-License-Identifier: MIT
 * The line of a check for a monitor. */
#include "rotactl/output.h"
#include "rotactl/status_view.h"
#include <string.h>

/* Jobs that are named; of one alone the reason is said too. */
#define NAMED_MAX 5

static bool needs_look(const struct status_job *job)
{
    return strchr("!x~", status_mark(job)) != NULL;
}

void status_print_check(FILE *out, const struct status *s)
{
    const char *before = "; look at ", *reason = NULL;
    size_t count = 0;

    output_monitor(out, s->line);
    for (size_t i = 0; i < s->job_count; i++) {
        if (!needs_look(&s->jobs[i]) || count++ >= NAMED_MAX)
            continue;
        reason = status_reason(&s->jobs[i]);
        fputs(before, out);
        output_monitor(out, s->jobs[i].name);
        before = ", ";
    }
    if (count > NAMED_MAX)
        fprintf(out, " and %zu more", count - NAMED_MAX);
    if (count == 1 && reason) {
        fputs(": ", out);
        output_monitor(out, reason);
    }
    putc('\n', out);
}
