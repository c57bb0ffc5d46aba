/* SPDX-License-Identifier: MIT */
#include "rotactl/show_view.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/when.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define SHOW(name, kind)                                                                           \
    {                                                                                              \
#name, kind, offsetof(struct show_facts, name)                                             \
    }
#define LINE_SIZE 1024

const struct fact show_facts[] = {
    SHOW(device, FACT_TEXT),
    SHOW(description, FACT_TEXT),
    SHOW(plugin, FACT_TEXT),
    SHOW(plugin_version, FACT_TEXT),
    SHOW(file, FACT_TEXT),
    SHOW(line, FACT_NUMBER),
    SHOW(version, FACT_NUMBER),
    SHOW(fingerprint, FACT_TEXT),
    SHOW(cron, FACT_TEXT),
    SHOW(timezone, FACT_TEXT),
    SHOW(every_ms, FACT_NUMBER),
    SHOW(offset_ms, FACT_NUMBER),
    SHOW(catch_up_ms, FACT_NUMBER),
    SHOW(scope, FACT_TEXT),
    SHOW(concurrency, FACT_NUMBER),
    SHOW(lock, FACT_TEXT),
    SHOW(worst_case_ms, FACT_NUMBER),
    SHOW(lease_ms, FACT_NUMBER),
    SHOW(stop_grace_ms, FACT_NUMBER),
    SHOW(retry_delay_ms, FACT_NUMBER),
    SHOW(fence, FACT_NUMBER),
    SHOW(started, FACT_NUMBER),
    SHOW(lease_renewed_ms, FACT_NUMBER),
    SHOW(lease_left_ms, FACT_NUMBER),
    SHOW(permille, FACT_NUMBER),
    SHOW(progress, FACT_TEXT),
    SHOW(now, FACT_NUMBER),
    SHOW(uptime_ms, FACT_NUMBER),
};
const size_t show_facts_count = sizeof show_facts / sizeof show_facts[0];

/* Two spaces, what it is about, and what there is to say. */
#define ROW_FORMAT "  %-10s  "
#define ROW_SPACES 14

static void print_row(FILE *out, const struct screen *screen, const char *about, const char *text)
{
    char line[LINE_SIZE];

    text_format(line, sizeof line, ROW_FORMAT "%s", about, text);
    screen_print_hanging(out, screen, ROW_SPACES, line);
}

/* Appends; what does not fit is left out. */
__attribute__((format(printf, 2, 3))) static void add(char *line, const char *format, ...)
{
    size_t used = strlen(line);
    va_list args;

    va_start(args, format);
    vsnprintf(line + used, LINE_SIZE - used, format, args);
    va_end(args);
}

static const char *say(int64_t ms, char *buf)
{
    return units_say_duration(ms, buf, UNITS_SIZE);
}

static void print_from(FILE *out, const struct screen *screen, const struct show_facts *f)
{
    char line[LINE_SIZE] = "";

    add(line, "%s", f->file ? f->file : "-");
    if (f->line > 0)
        add(line, ":%" PRId64, f->line);
    if (f->version > 0)
        add(line, ", version %" PRId64, f->version);
    if (f->fingerprint)
        add(line, ", fingerprint %.8s", f->fingerprint);
    print_row(out, screen, "from", line);
}

static void print_schedule(FILE *out, const struct screen *screen, const struct show_facts *f)
{
    char line[LINE_SIZE] = "", ms[UNITS_SIZE];

    if (f->cron)
        add(line, "%s %s", f->cron, f->timezone ? f->timezone : "UTC");
    else
        add(line, "every %s", say(f->every_ms, ms));
    if (!f->cron && f->offset_ms > 0)
        add(line, ", %s later than that grid", say(f->offset_ms, ms));
    if (text_equal(f->lock, "none"))
        add(line, ", every device, without a lock");
    else if (text_equal(f->scope, "device"))
        add(line, ", each device, at most %" PRId64 " at once", f->concurrency);
    else
        add(line, ", one device of the fleet");
    add(line, ", late by at most %s", say(f->catch_up_ms, ms));
    print_row(out, screen, "schedule", line);
}

static void print_next(FILE *out, const struct screen *screen, const struct show *s)
{
    char line[LINE_SIZE] = "", at[WHEN_SIZE];

    for (size_t i = 0; i < s->next_count; i++)
        add(line, "%s%s", i ? ", " : "",
            when_say_short(s->next[i], s->facts.now, screen->local, at));
    if (s->next_count > 0)
        print_row(out, screen, "next", line);
}

static void print_timing(FILE *out, const struct screen *screen, const struct show *s)
{
    const struct show_facts *f = &s->facts;
    int64_t attempts = s->job.attempts;
    char line[LINE_SIZE] = "", ms[UNITS_SIZE];

    add(line, "worst case %s", say(f->worst_case_ms, ms));
    add(line, ", lease %s", say(f->lease_ms, ms));
    add(line, ", grace %s", say(f->stop_grace_ms, ms));
    add(line, ", %" PRId64 " attempt%s", attempts, attempts == 1 ? "" : "s");
    if (attempts > 1 && f->retry_delay_ms > 0)
        add(line, ", %s apart", say(f->retry_delay_ms, ms));
    print_row(out, screen, "timing", line);
}

/* How its lease is, and how far it says that it is; nothing where neither is known. */
static void print_lease(FILE *out, const struct screen *screen, const struct show_facts *f)
{
    char line[LINE_SIZE] = "", span[WHEN_SIZE];
    const char *before = "";

    if (f->lease_renewed_ms != FACT_NONE) {
        add(line, "lease renewed %s ago", when_say_span(f->lease_renewed_ms, span));
        add(line, ", %s left", when_say_span(f->lease_left_ms, span));
        before = "; ";
    }
    if (f->permille != FACT_NONE) {
        add(line, "%s%" PRId64 " %%", before, f->permille / 10);
        before = " ";
    }
    if (f->progress)
        add(line, "%s\"%s\"", before, f->progress);
    if (*line)
        print_row(out, screen, "", line);
}

static void print_run(FILE *out, const struct screen *screen, const struct show *s)
{
    char line[LINE_SIZE] = "", at[WHEN_SIZE];

    add(line, "%s here", status_state(&s->job));
    if (s->facts.started != FACT_NONE)
        add(line, " since %s", when_say_short(s->facts.started, s->facts.now, screen->local, at));
    if (s->job.attempt != FACT_NONE)
        add(line, ", attempt %" PRId64, s->job.attempt);
    if (s->facts.fence > 0)
        add(line, ", fence %" PRId64, s->facts.fence);
    print_row(out, screen, "now", line);
    print_lease(out, screen, &s->facts);
}

static void print_now(FILE *out, const struct screen *screen, const struct show *s)
{
    char line[LINE_SIZE] = "", cell[STATUS_CELL_SIZE];
    const struct status all = { .now_ms = s->facts.now, .device = s->facts.device };

    if (status_runs(&s->job)) {
        print_run(out, screen, s);
        return;
    }
    add(line, "%s", status_state(&s->job));
    if (s->job.turn != FACT_NONE) {
        status_last(&all, &s->job, screen->local, cell);
        add(line, "; turn of %s: ", cell);
        status_result(&all, &s->job, cell);
        add(line, "%s", cell);
    }
    if (s->job.again != FACT_NONE) {
        status_next(&all, &s->job, screen->local, cell);
        add(line, "; asks again %s", cell);
    }
    print_row(out, screen, "now", line);
}

static void print_title(FILE *out, const struct screen *screen, const struct show *s)
{
    const struct show_facts *f = &s->facts;
    char line[LINE_SIZE] = "";

    add(line, "%s: ", s->job.name);
    if (f->description)
        add(line, "\"%s\" ", f->description);
    add(line, "%s %s", f->description ? "Plugin" : "plugin", f->plugin ? f->plugin : "-");
    if (f->plugin_version)
        add(line, " %s", f->plugin_version);
    screen_print_text(out, screen, line);
}

void show_print(FILE *out, const struct screen *screen, const struct show *s)
{
    const char *reason = status_reason(&s->job);
    char line[LINE_SIZE] = "";

    print_title(out, screen, s);
    print_from(out, screen, &s->facts);
    if (s->facts.worst_case_ms != FACT_NONE) {
        print_schedule(out, screen, &s->facts);
        print_next(out, screen, s);
        print_timing(out, screen, s);
    }
    print_now(out, screen, s);
    if (reason) {
        add(line, "%s%s", status_reason_begin(&s->job), reason);
        print_row(out, screen, "look", line);
    }
    show_print_past(out, screen, s);
}
