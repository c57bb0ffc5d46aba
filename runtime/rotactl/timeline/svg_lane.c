/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_bars.h"
#include "rotactl/timeline/timeline_look.h"
#include <inttypes.h>

/* Tenths of a pixel: what is shorter than half of one is joined to its like; no bar is narrower
 * than can be seen; narrow ones have neither edge nor pattern, of which nothing would be seen; and
 * how near to each other signs of the same weight may be. */
#define NARROW 5
#define BAR_LEAST 25
#define HATCH_LEAST 40
#define MARK_APART 70
/* Of a bar of several runs, what is left to the worst of them. */
#define WORST_HEIGHT 4
/* More than the difference of two clocks: a device's estimate of the fleet's clock, and the
 * fleet's. */
#define CLOCK_OFF_MS 2000
/* Of a device's: its characters may be many, and take no columns. */
#define NAME_SIZE 512

/* --- what is said where somebody points at it --- */

static void say_time(FILE *out, const char *before, int64_t ms)
{
    char time[TIMELINE_TIME_SIZE];

    fprintf(out, "%s%s", before, timeline_look_time(ms, time));
}

static void say_outcome(FILE *out, const struct timeline_run *r)
{
    char took[UNITS_SIZE];

    svg_text_put(out, r->run->word);
    /* Else how long it took, nobody knows. */
    if (r->run->started != r->from || r->run->outcome == RUN_VANISHED)
        return;
    fprintf(out, r->run->outcome == RUN_RUNNING ? " for %s so far" : " after %s",
            units_say_duration(r->to - r->from, took, sizeof took));
}

static void say_times(FILE *out, const struct run *run)
{
    bool has_start = run->started != RUNS_NO_TIME;
    bool is_guess = !has_start || run->outcome == RUN_VANISHED;

    if (has_start)
        say_time(out, "\n", run->started);
    if (run->ended != RUNS_NO_TIME)
        say_time(out,
                 !has_start ? "\nfound gone "
                 : is_guess ? ", found gone "
                            : " to ",
                 run->ended);
    fputs(" UTC", out);
}

static void say_oddity(FILE *out, const struct timeline_run *r, int64_t now)
{
    const struct run *run = r->run;

    if (run->started != RUNS_NO_TIME && run->ended != RUNS_NO_TIME && run->started > run->ended)
        fputs("\na clock was off: it ended before it began", out);
    else if (run->turn - r->from > CLOCK_OFF_MS)
        fputs("\na clock was off: it began before it was due", out);
    else if (r->from - now > CLOCK_OFF_MS)
        fputs("\na clock was off: it began later than now", out);
}

static void say_run(const struct svg *s, const struct timeline_run *r)
{
    const struct run *run = r->run;
    FILE *out = s->out;

    svg_text_device(out, run->device);
    fputs(": ", out);
    say_outcome(out, r);
    say_time(out, "\nturn of ", run->turn);
    fprintf(out, " UTC, attempt %" PRId64, run->attempt);
    if (run->fence > 0)
        fprintf(out, ", fence %" PRId64, run->fence);
    say_times(out, run);
    if (r->after) {
        fprintf(out, "\nbefore it, attempt %" PRId64 " on ", r->after->run->attempt);
        svg_text_device(out, r->after->run->device);
        fputs(": ", out);
        svg_text_put(out, r->after->run->word);
    }
    say_oddity(out, r, s->view->now);
    if (run->detail[0]) {
        putc('\n', out);
        svg_text_put(out, run->detail);
    }
}

static void say_bar(const struct svg *s, const struct timeline_bar *bar)
{
    const char *comma = "\n";
    FILE *out = s->out;
    char count[48];

    if (bar->count == 1) {
        say_run(s, bar->run);
        return;
    }
    svg_text_device(out, bar->run->run->device);
    fprintf(out, ": %s", timeline_look_count(bar->count, "run", "runs", count, sizeof count));
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++) {
        const char *name = runs_outcome_name(o);

        if (bar->outcomes[o] == 0)
            continue;
        fprintf(out, "%s%s", comma,
                timeline_look_count(bar->outcomes[o], name, name, count, sizeof count));
        comma = ", ";
    }
    say_time(out, "\n", bar->run->from);
    say_time(out, " to ", bar->until);
    fputs(" UTC", out);
}

/* --- what is drawn --- */

static void put_rect(const struct svg *s, const struct timeline_bar *bar, enum run_outcome o, int y,
                     int height)
{
    if (bar->to - bar->from < HATCH_LEAST)
        fprintf(s->out, "<rect fill=\"%s\"", timeline_look(o)->fill);
    else
        fprintf(s->out, "<rect class=\"bar %s\"", runs_outcome_name(o));
    svg_text_tenths(s->out, "x", SVG_LEFT * 10 + bar->from);
    svg_text_tenths(s->out, "width", bar->to - bar->from);
    fprintf(s->out, " y=\"%d\" height=\"%d\"/>", y, height);
}

/* The signs of a lane: the last one, and whether a next one is worth its place. */
struct marks {
    int last;
    int severity;
};

static bool wants_mark(struct marks *m, const struct timeline_bar *bar, int middle)
{
    const struct timeline_look *look = timeline_look(bar->worst);

    if (!look->mark[0] || (middle - m->last < MARK_APART && look->severity <= m->severity))
        return false;
    m->last = middle;
    m->severity = look->severity;
    return true;
}

static void put_mark(const struct svg *s, const struct timeline_bar *bar, int middle, int y)
{
    fprintf(s->out, "<use href=\"#rota-mark-%s\" class=\"mark\"", runs_outcome_name(bar->worst));
    svg_text_tenths(s->out, "x", middle);
    fprintf(s->out, " y=\"%d\"/>", y + SVG_MARK_MIDDLE);
}

static void put_bar(const struct svg *s, const struct timeline_bar *bar, struct marks *marks, int y)
{
    int middle = SVG_LEFT * 10 + bar->to - (bar->to - bar->from) / 2;

    if (bar->to - bar->from > MARK_APART) /* how it ended belongs to the end */
        middle = SVG_LEFT * 10 + bar->to - MARK_APART / 2;
    fputs("<g><title>", s->out);
    say_bar(s, bar);
    fputs("</title>", s->out);
    put_rect(s, bar, bar->commonest, y + SVG_BAR_TOP, SVG_BAR_HEIGHT);
    if (bar->worst != bar->commonest)
        put_rect(s, bar, bar->worst, y + SVG_BAR_TOP + SVG_BAR_HEIGHT - WORST_HEIGHT, WORST_HEIGHT);
    if (wants_mark(marks, bar, middle))
        put_mark(s, bar, middle, y);
    fputs("</g>\n", s->out);
}

static void put_name(const struct svg *s, const struct timeline_lane *lane, int y)
{
    char name[NAME_SIZE], count[48];

    timeline_look_name(name, sizeof name, lane->device, 26, true);
    fputs("<text clip-path=\"url(#rota-names)\"", s->out);
    fprintf(s->out, " x=\"12\" y=\"%d\"><title>", y + SVG_BAR_TOP + SVG_BAR_HEIGHT - 1);
    svg_text_device(s->out, lane->device);
    fprintf(s->out, "\n%s</title>",
            timeline_look_count(lane->count, "run", "runs", count, sizeof count));
    svg_text_put(s->out, name);
    fputs("</text>\n", s->out);
}

void svg_lane_put(const struct svg *s, const struct timeline_lane *lane, int y)
{
    struct timeline_bars bars = { .axis = &s->axis,
                                  .run = lane->run,
                                  .end = lane->run + lane->count,
                                  .narrow = NARROW,
                                  .least = BAR_LEAST };
    struct marks marks = { .last = -MARK_APART };
    struct timeline_bar bar;

    put_name(s, lane, y);
    while (timeline_bars_next(&bars, &bar))
        put_bar(s, &bar, &marks, y);
}
