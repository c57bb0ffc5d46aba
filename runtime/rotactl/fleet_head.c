/* SPDX-License-Identifier: MIT
 * What stands around the table of the fleet's jobs, and the one line of --check. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/fleet_view.h"
#include "rotactl/output.h"
#include "rotactl/when.h"
#include <stdarg.h>
#include <string.h>

#define LINE_SIZE 2048
/* Where the time begins in the first line. */
#define CLOCK_STOP 62
/* So many versions are told, and in one line so many jobs. */
#define VERSIONS_SHOWN 4
#define JOBS_SHOWN 5

__attribute__((format(printf, 2, 3))) static void add(char *line, const char *format, ...)
{
    size_t used = strlen(line);
    va_list args;

    va_start(args, format);
    vsnprintf(line + used, LINE_SIZE - used, format, args);
    va_end(args);
}

/* A prefix mostly ends in a colon, which is not of the name. */
static int name_length(const struct fleet *f)
{
    size_t length = strlen(f->prefix);

    return (int)(length - (length > 0 && f->prefix[length - 1] == ':'));
}

static void print_first(FILE *out, const struct screen *screen, const struct fleet *f)
{
    char line[LINE_SIZE] = "", clock[WHEN_SIZE];
    size_t columns, blanks;

    add(line, "%.*s on %s", name_length(f), f->prefix, f->address ? f->address : "Redis");
    if (*f->server)
        add(line, ", %s", f->server);
    if (*f->policy)
        add(line, ", %s", f->policy);
    columns = screen_columns(line);
    blanks = columns + 2 > CLOCK_STOP ? 2 : CLOCK_STOP - columns;
    when_clock(f->now_ms, screen->local, clock);
    /* In a line that is broken there is no place for it. */
    if (screen->width && columns + blanks + strlen(clock) > screen->width)
        blanks = 2;
    add(line, "%*s%s", (int)blanks, "", clock);
    screen_print_text(out, screen, line);
}

static void add_versions(char *line, const struct fleet *f)
{
    char count[FLEET_COUNT_SIZE];
    size_t rest = 0;

    for (size_t i = 0; i < f->version_count; i++) {
        const struct fleet_tally *v = &f->versions[i];

        if (i >= VERSIONS_SHOWN) {
            rest += v->devices;
            continue;
        }
        add(line, "%s%s", i ? ", " : "; rota ", v->text);
        if (f->version_count > 1)
            add(line, " (%s)", fleet_count(v->devices, count));
    }
    if (rest > 0)
        add(line, ", others (%s)", fleet_count(rest, count));
}

static void add_devices(char *line, const struct fleet *f)
{
    char count[FLEET_COUNT_SIZE];

    add(line, "%s device%s in the last day", fleet_count(f->devices, count),
        f->devices == 1 ? "" : "s");
    if (f->silent > 0)
        add(line, "; %s silent", fleet_count(f->silent, count));
}

void fleet_print_head(FILE *out, const struct screen *screen, const struct fleet *f)
{
    char line[LINE_SIZE] = "";

    print_first(out, screen, f);
    add_devices(line, f);
    add_versions(line, f);
    screen_print_text(out, screen, line);
}

/* --- below --- */

static bool is_missing(const struct fleet_job *job)
{
    return job->each && job->done != 0 && !job->retired && job->has_done < job->devices;
}

static void print_missing(FILE *out, const struct screen *screen, const struct fleet_job *job)
{
    size_t left = job->devices - job->has_done, to_go;
    char line[LINE_SIZE] = "", command[128], count[FLEET_COUNT_SIZE];

    to_go = left > job->running ? left - job->running : 0;
    text_format(command, sizeof command, "rotactl fleet %s --missing", job->name);
    add(line, "  %-37slists the ", command);
    if (to_go > 0)
        add(line, "%s to go", fleet_count(to_go, count));
    if (job->running > 0)
        add(line, "%s%s running", to_go ? " and " : "", fleet_count(job->running, count));
    screen_print_text(out, screen, line);
}

void fleet_print_reasons(FILE *out, const struct screen *screen, const struct fleet *f)
{
    char reason[FLEET_REASON_SIZE], line[LINE_SIZE];
    bool any = false;

    for (size_t i = 0; i < f->job_count && !any; i++)
        any = fleet_reason(&f->jobs[i], reason) || is_missing(&f->jobs[i]);
    if (any)
        fputc('\n', out);
    for (size_t i = 0; i < f->job_count; i++) {
        const struct fleet_job *job = &f->jobs[i];

        if (!fleet_reason(job, reason))
            continue;
        text_format(line, sizeof line, "%c %s: %s", fleet_mark(job), job->name, reason);
        screen_print_text(out, screen, line);
    }
    for (size_t i = 0; i < f->job_count; i++)
        if (is_missing(&f->jobs[i]))
            print_missing(out, screen, &f->jobs[i]);
}

/* --- --check --- */

static void add_trouble(char *line, const struct fleet_job *job, size_t number)
{
    char state[FLEET_CELL_SIZE], mark = fleet_mark(job);

    fleet_state(job, state);
    add(line, "%s%s ", number ? ", " : "; ", job->name);
    if (mark == '~')
        add(line, "%zu configurations", job->conf_count);
    else
        add(line, "%s", state);
}

void fleet_print_check(FILE *out, const struct fleet *f)
{
    char line[LINE_SIZE] = "";
    size_t shown = 0, more = 0;

    add(line, "%.*s: %zu job%s, ", name_length(f), f->prefix, f->job_count,
        f->job_count == 1 ? "" : "s");
    add_devices(line, f);
    for (size_t i = 0; i < f->job_count; i++) {
        if (!strchr("!~", fleet_mark(&f->jobs[i])))
            continue;
        if (shown < JOBS_SHOWN)
            add_trouble(line, &f->jobs[i], shown++);
        else
            more++;
    }
    if (more > 0)
        add(line, " and %zu more", more);
    output_monitor(out, line);
    putc('\n', out);
}
