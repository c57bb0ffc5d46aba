/* SPDX-License-Identifier: MIT
 * What is remembered of a job's runs and turns here, and what the newest run said. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/show_view.h"
#include "rotactl/when.h"
#include <inttypes.h>
#include <string.h>

#define LINE_SIZE 1024

/* --- its last runs --- */

/* Where a run's columns begin: day, turn, try, result, time, reason. */
#define RUN_FORMAT "  %-16s  %-10s  %3s  %-10s  %s"
/* Of the time, where a reason follows. */
#define TOOK_COLUMNS 10

/* On a terminal the reason is cut at its edge, as the cells of a table are. */
static void print_run(FILE *out, const struct screen *screen, const struct show_run *run,
                      int64_t now_ms)
{
    char day[WHEN_SIZE], clock[WHEN_SIZE], try[16], outcome[32], took[UNITS_SIZE];
    char line[LINE_SIZE], shown[LINE_SIZE];

    text_format(try, sizeof try, "%" PRIu32, run->attempt);
    text_format(line, sizeof line, RUN_FORMAT, when_day_name(run->turn, now_ms, screen->local, day),
                when_time(run->turn, screen->local, clock), try,
                text_escape(outcome, sizeof outcome, run->outcome, strlen(run->outcome)),
                units_say_duration(run->ran_ms, took, sizeof took));
    if (run->why && *run->why) {
        size_t used = strlen(line), blanks = TOOK_COLUMNS + 2;

        blanks -= strlen(took) < TOOK_COLUMNS ? strlen(took) : TOOK_COLUMNS;
        text_format(line + used, sizeof line - used, "%*s%s", (int)blanks, "",
                    text_escape(shown, sizeof shown, run->why, strlen(run->why)));
    }
    screen_print_cut(out, screen, line);
}

static void print_runs(FILE *out, const struct screen *screen, const struct show *s)
{
    char heading[LINE_SIZE];

    text_format(heading, sizeof heading, RUN_FORMAT, "LAST RUNS HERE", "TURN", "TRY", "RESULT",
                "TOOK");
    if (s->past.run_count > 0 && screen->headings)
        screen_print_cut(out, screen, heading);
    for (size_t i = 0; i < s->past.run_count; i++)
        print_run(out, screen, &s->past.runs[i], s->facts.now);
}

static void print_times(FILE *out, const struct screen *screen, const struct show_past *p)
{
    char median[UNITS_SIZE], most[UNITS_SIZE], longest[UNITS_SIZE], line[LINE_SIZE];

    if (p->times == 0)
        return;
    text_format(line, sizeof line, "  run times, 30 days: median %s, 95 %% %s, longest %s",
                units_say_duration(p->median_ms, median, sizeof median),
                units_say_duration(p->p95_ms, most, sizeof most),
                units_say_duration(p->longest_ms, longest, sizeof longest));
    screen_print_hanging(out, screen, 4, line);
}

static void print_advice(FILE *out, const struct screen *screen, const struct show_past *p)
{
    char line[LINE_SIZE];

    if (!p->advice_key[0])
        return;
    text_format(line, sizeof line, "  these do not fit its settings; write %s = \"%s\"%s%s%s",
                p->advice_key, p->advice_value, *p->advice_lease ? " and lease = \"" : "",
                p->advice_lease, *p->advice_lease ? "\"" : "");
    screen_print_hanging(out, screen, 4, line);
}

/* --- turns not taken --- */

static uint32_t count_of(const struct show_past *p, const char *name)
{
    for (size_t i = 0; i < p->count_count; i++)
        if (strcmp(p->counts[i].name, name) == 0)
            return p->counts[i].count;
    return 0;
}

static const struct {
    const char *name, *words;
    bool always; /* where any of them is not 0 */
} passes[] = {
    { "passed_done", "done by others", true },
    { "passed_held", "held", true },
    { "passed_error", "no Redis", true },
    { "passed_running", "while it ran", false },
    { "passed_full", "no free place", false },
    { "passed_paused", "paused", false },
    { "passed_barred", "kept from running", false },
};
#define PASSES (sizeof passes / sizeof passes[0])

static bool has_passes(const struct show_past *p)
{
    uint32_t any = 0;

    for (size_t i = 0; i < PASSES; i++)
        any |= count_of(p, passes[i].name);
    return any > 0;
}

static void print_passes(FILE *out, const struct screen *screen, const struct show *s)
{
    char line[LINE_SIZE], up[WHEN_SIZE + 4] = "", span[WHEN_SIZE];
    const char *before = ":";

    if (s->facts.uptime_ms != FACT_NONE)
        text_format(up, sizeof up, " (%s)", when_say_span(s->facts.uptime_ms, span));
    text_format(line, sizeof line, "  turns not taken since start%s", up);
    for (size_t i = 0; i < PASSES; i++) {
        uint32_t count = count_of(&s->past, passes[i].name);
        const char *words = passes[i].words;
        size_t used = strlen(line);

        if (count == 0 && !passes[i].always)
            continue;
        if (i == 0 && text_equal(s->facts.scope, "device")) /* its own, before a restart */
            words = "done already";
        text_format(line + used, sizeof line - used, "%s %" PRIu32 " %s", before, count, words);
        before = ",";
    }
    screen_print_hanging(out, screen, 4, line);
}

/* --- its output --- */

static void print_output(FILE *out, const struct screen *screen, const struct show *s)
{
    char at[WHEN_SIZE], line[2 * LINE_SIZE];

    if (s->line_count > 0)
        fputs("  last output\n", out);
    for (size_t i = 0; i < s->line_count; i++) {
        when_say_exact(s->lines[i].at, s->facts.now, screen->local, at);
        text_format(line, sizeof line, "    %s %s", at, s->lines[i].text);
        screen_print_hanging(out, screen, 4 + strlen(at) + 1, line);
    }
}

void show_print_past(FILE *out, const struct screen *screen, const struct show *s)
{
    const struct show_past *p = &s->past;

    if (s->has_past && (p->run_count > 0 || p->times > 0 || p->advice_key[0])) {
        putc('\n', out);
        print_runs(out, screen, s);
        print_times(out, screen, p);
        print_advice(out, screen, p);
    }
    if ((s->has_past && has_passes(p)) || s->line_count > 0)
        putc('\n', out);
    if (s->has_past && has_passes(p))
        print_passes(out, screen, s);
    print_output(out, screen, s);
}
