/* SPDX-License-Identifier: MIT
 * The whole screen of status: what needs a look stands below the table, with why. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/columns.h"
#include "rotactl/status_view.h"
#include <inttypes.h>

static bool has_reasons(const struct status *s)
{
    bool any = status_redis_needs_look(&s->rotad) || s->rotad.unread;

    for (size_t i = 0; i < s->job_count && !any; i++)
        any = status_reason(&s->jobs[i]) != NULL;
    return any;
}

static void print_redis(FILE *out, const struct screen *screen, const struct status_facts *f)
{
    char line[1280], since[UNITS_SIZE], down[UNITS_SIZE + 8] = "";
    int64_t missed = f->missed == FACT_NONE ? 0 : f->missed;

    if (f->redis_down_ms != FACT_NONE)
        text_format(down, sizeof down, ", for %s",
                    units_say_duration(f->redis_down_ms, since, sizeof since));
    if (status_lacks_servers(f))
        text_format(line, sizeof line,
                    "! redis: %" PRId64 " of the quorum's %" PRId64 " servers %s not serve",
                    f->servers - f->servers_ok, f->servers,
                    f->servers - f->servers_ok == 1 ? "does" : "do");
    else
        text_format(line, sizeof line, "! redis: %s%s; %" PRId64 " turn%s missed",
                    f->redis_why ? f->redis_why : f->redis, down, missed, missed == 1 ? "" : "s");
    screen_print_text(out, screen, line);
}

static void print_reasons(FILE *out, const struct screen *screen, const struct status *s)
{
    char line[4096];

    if (status_redis_needs_look(&s->rotad))
        print_redis(out, screen, &s->rotad);
    if (s->rotad.unread) {
        text_format(line, sizeof line,
                    "x %s: not in use for its mistakes; rotad --check says which", s->rotad.unread);
        screen_print_text(out, screen, line);
    }
    for (size_t i = 0; i < s->job_count; i++) {
        const struct status_job *job = &s->jobs[i];
        const char *reason = status_reason(job);

        if (!reason)
            continue;
        text_format(line, sizeof line, "%c %s: %s%s", status_mark(job), job->name,
                    status_reason_begin(job), reason);
        screen_print_text(out, screen, line);
    }
}

int status_print(FILE *out, const struct screen *screen, const struct status *s,
                 const char *columns)
{
    bool whole = screen->headings && !columns;
    int rc = 0;

    if (whole)
        status_print_head(out, screen, s);
    if (whole && s->job_count > 0)
        putc('\n', out);
    if (s->job_count > 0)
        rc = columns_print(out, screen, s, columns);
    if (whole && has_reasons(s)) {
        putc('\n', out);
        print_reasons(out, screen, s);
    }
    return rc;
}
