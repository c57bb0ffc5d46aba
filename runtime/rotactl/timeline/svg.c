/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/svg.h"
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_look.h"

#define TITLE_Y 28
#define SPAN_Y 48
#define LEGEND_TOP 62
#define AXIS_HEIGHT 38
#define GAP 10
#define BOTTOM 14
/* Tenths of a pixel: a date has room. */
#define TICKS_APART 820
/* Jobs whose names are in the title. */
#define TITLE_JOBS 3
#define WORDS_SIZE 64
/* Of the title's letters, about; what is kept free beside it; and what no name is longer than. */
#define TITLE_LETTER 10
#define TITLE_MARGIN 24
#define NAME_COLUMNS 500
#define NAME_SIZE 512

static int job_height(const struct timeline_job *job)
{
    int lanes = SVG_JOB_HEIGHT + (int)job->lane_count * SVG_LANE_HEIGHT;

    return lanes + (job->hidden_lanes ? SVG_LANE_HEIGHT : 0) + GAP;
}

static int body_height(const struct timeline *t)
{
    int height = 0;

    for (size_t i = 0; i < t->job_count; i++)
        height += job_height(&t->job[i]);
    return height;
}

/* --- what it is --- */

/* Each name in at most so many columns. */
static void say_jobs(const struct svg *s, int columns)
{
    const struct timeline *t = s->view;
    char words[WORDS_SIZE], name[NAME_SIZE];

    if (t->job_count > TITLE_JOBS) {
        fputs(timeline_look_count(t->job_count, "job", "jobs", words, sizeof words), s->out);
        return;
    }
    for (size_t i = 0; i < t->job_count; i++) {
        if (i > 0)
            fputs(", ", s->out);
        timeline_look_name(name, sizeof name, t->job[i].name, columns, true);
        svg_text_put(s->out, name);
    }
}

static void say_span(const struct svg *s)
{
    char since[TIMELINE_TIME_SIZE], until[TIMELINE_TIME_SIZE];

    fprintf(s->out, "%s to %s UTC", timeline_look_time(s->view->since, since),
            timeline_look_time(s->view->until, until));
}

static void say_sums(const struct svg *s)
{
    const struct timeline *t = s->view;
    size_t runs = 0;
    char words[WORDS_SIZE];

    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++)
        runs += t->outcomes[o];
    fputs(timeline_look_count(runs, "run", "runs", words, sizeof words), s->out);
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++) {
        const char *name = runs_outcome_name(o);

        if (t->outcomes[o] > 0)
            fprintf(s->out, ", %s",
                    timeline_look_count(t->outcomes[o], name, name, words, sizeof words));
    }
    if (t->takeovers > 0)
        fprintf(s->out, "; %s went on to another device",
                timeline_look_count(t->takeovers, "turn", "turns", words, sizeof words));
    if (t->missed > 0)
        fprintf(s->out, "; %s that nobody ran",
                timeline_look_count(t->missed, "due instant", "due instants", words, sizeof words));
}

static void put_head(const struct svg *s, int height)
{
    fprintf(s->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rota\" role=\"img\" "
            "aria-labelledby=\"rota-title rota-sums\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"system-ui,sans-serif\" font-size=\"12\">\n",
            s->width, height, s->width, height);
    fputs("<title id=\"rota-title\">", s->out);
    say_jobs(s, NAME_COLUMNS);
    fputs(", ", s->out);
    say_span(s);
    fputs("</title>\n<desc id=\"rota-sums\">", s->out);
    say_sums(s);
    fputs("</desc>\n", s->out);
    svg_style_put(s->out);
    fprintf(s->out, "<path class=\"paper\" d=\"M0 0h%dv%dH0z\"/>\n", s->width, height);
}

static void put_title(const struct svg *s)
{
    int columns = (s->width - TITLE_MARGIN) / TITLE_LETTER;

    fprintf(s->out, "<text x=\"12\" y=\"%d\" font-size=\"17\" font-weight=\"600\">", TITLE_Y);
    say_jobs(s, columns / (int)s->view->job_count - 2);
    fprintf(s->out, "</text>\n<text class=\"quiet\" x=\"12\" y=\"%d\">", SPAN_Y);
    say_span(s);
    fputs("</text>\n", s->out);
}

/* --- the time --- */

static void put_tick(const struct svg *s, const struct timeline_tick *tick, bool first, int y)
{
    int x = SVG_LEFT * 10 + tick->unit;

    if (tick->is_day || first || !tick->time[0])
        fprintf(s->out, "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">%s</text>", x / 10, y + 14,
                tick->date);
    if (tick->time[0])
        fprintf(s->out, "<text class=\"quiet\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%s</text>",
                x / 10, y + 30, tick->time);
    putc('\n', s->out);
}

static void put_axis(const struct svg *s, int y)
{
    struct timeline_ticks ticks;
    struct timeline_tick tick;
    bool first = true;

    timeline_axis_begin(&ticks, &s->axis, TICKS_APART);
    for (; timeline_axis_next(&ticks, &tick); first = false)
        put_tick(s, &tick, first, y);
}

static void put_rules(const struct svg *s, int top, int bottom)
{
    struct timeline_ticks ticks;
    struct timeline_tick tick;

    timeline_axis_begin(&ticks, &s->axis, TICKS_APART);
    while (timeline_axis_next(&ticks, &tick)) {
        int x = SVG_LEFT * 10 + tick.unit;

        fprintf(s->out, "<path class=\"%s\" d=\"M%d.5 %dV%d\"/>\n", tick.is_day ? "day" : "rule",
                x / 10, top, bottom);
    }
}

static void put_now(const struct svg *s, int top, int bottom)
{
    int x = svg_tenths(s, s->view->now);

    if (svg_shows_now(s))
        fprintf(s->out, "<path class=\"now\" d=\"M%d.%d %dV%d\"><title>now</title></path>\n",
                x / 10, x % 10, top, bottom);
}

/* --- the jobs --- */

static void put_stripes(const struct svg *s, const struct timeline_job *job, int y)
{
    for (size_t i = 0; i < job->lane_count; i += 2)
        fprintf(s->out, "<path class=\"lane\" d=\"M0 %dh%dv%dH0z\"/>\n",
                y + SVG_JOB_HEIGHT + (int)i * SVG_LANE_HEIGHT, s->width, SVG_LANE_HEIGHT);
}

static void put_name(const struct svg *s, const struct timeline_job *job, int y)
{
    char name[NAME_SIZE], runs[WORDS_SIZE];

    timeline_look_name(name, sizeof name, job->name, 24, true);
    fputs("<text clip-path=\"url(#rota-names)\" font-weight=\"600\" x=\"12\" ", s->out);
    fprintf(s->out, "y=\"%d\"><title>", y + 18);
    svg_text_put(s->out, job->name);
    fprintf(s->out, "\n%s</title>",
            timeline_look_count(job->run_count, "run", "runs", runs, sizeof runs));
    svg_text_put(s->out, name);
    fputs("</text>\n", s->out);
}

static void put_hidden(const struct svg *s, const struct timeline_job *job, int y)
{
    char devices[WORDS_SIZE], runs[WORDS_SIZE];

    if (job->hidden_lanes == 0)
        return;
    fprintf(s->out, "<text class=\"quiet\" x=\"%d\" y=\"%d\">%s with %s not shown</text>\n",
            SVG_LEFT, y + 15,
            timeline_look_count(job->hidden_lanes, "more device", "more devices", devices,
                                sizeof devices),
            timeline_look_count(job->hidden_runs, "run is", "runs are", runs, sizeof runs));
}

static void put_job(const struct svg *s, const struct timeline_job *job, int y)
{
    int lanes = y + SVG_JOB_HEIGHT;

    put_name(s, job, y);
    svg_due_put(s, job, y);
    svg_takeover_put(s, job, y);
    for (size_t i = 0; i < job->lane_count; i++)
        svg_lane_put(s, &job->lane[i], lanes + (int)i * SVG_LANE_HEIGHT);
    put_hidden(s, job, lanes + (int)job->lane_count * SVG_LANE_HEIGHT);
}

/* The stripes lie below all lines, and those below all bars. */
static void put_jobs(const struct svg *s, int top, int bottom)
{
    const struct timeline *t = s->view;
    int y = top;

    for (size_t i = 0; i < t->job_count; y += job_height(&t->job[i++]))
        put_stripes(s, &t->job[i], y);
    put_rules(s, top, bottom);
    put_now(s, top, bottom);
    y = top;
    for (size_t i = 0; i < t->job_count; y += job_height(&t->job[i++]))
        put_job(s, &t->job[i], y);
}

void svg_write(FILE *out, const struct timeline *view, int width)
{
    struct svg s = { .out = out, .view = view, .width = width };
    int body = body_height(view), legend, top;

    s.axis =
        (struct timeline_axis){ view->since, view->until, (width - SVG_LEFT - SVG_RIGHT) * 10 };
    legend = svg_legend_height(&s);
    top = LEGEND_TOP + legend + AXIS_HEIGHT;
    put_head(&s, top + body + AXIS_HEIGHT + BOTTOM);
    put_title(&s);
    svg_legend_put(&s, LEGEND_TOP);
    put_axis(&s, LEGEND_TOP + legend);
    put_jobs(&s, top, top + body);
    put_axis(&s, top + body);
    fputs("</svg>\n", out);
}
