/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/chart.h"
#include "base/cleanup.h"
#include "rotactl/timeline/timeline_axis.h"
#include "rotactl/timeline/timeline_look.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 8
#define NAME_SIZE 512
#define WORDS_SIZE 64
/* Between the names and the picture. */
#define SPACE 2
/* A date, the sign before it and a space. */
#define TICKS_APART 12
#define NONE RUN_OUTCOMES

/* What stands in a job's own row; where there are several, the greatest. */
enum sign { SIGN_NONE, SIGN_DUE, SIGN_COMING, SIGN_TAKEOVER, SIGN_MISSED, SIGNS };

static const struct {
    const char *ascii, *utf8, *colour, *words;
} signs[SIGNS] = {
    [SIGN_NONE] = { " ", " ", "", "" },
    [SIGN_DUE] = { "|", "╵", "2", "due" },
    [SIGN_COMING] = { ":", "┊", "2", "not due yet" },
    [SIGN_TAKEOVER] = { "^", "↳", "35", "went on to another device" },
    [SIGN_MISSED] = { "o", "◇", "31", "due, and nobody ran it" },
};

struct chart {
    FILE *out;
    const struct timeline *view;
    const struct chart_options *options;
    struct timeline_axis axis; /* in columns */
    int names;                 /* columns of the names */
    unsigned char *cells;      /* a row: enum run_outcome or enum sign */
    int legend;                /* columns of its line so far */
    bool has_sign[SIGNS];
};

static void begin_colour(const struct chart *c, const char *colour)
{
    if (c->options->colour && colour[0])
        fprintf(c->out, "\033[%sm", colour);
}

static void end_colour(const struct chart *c, const char *colour)
{
    if (c->options->colour && colour[0])
        fputs("\033[m", c->out);
}

/* --- names --- */

static int widest_name(const struct timeline *t, bool utf8, int most)
{
    char name[NAME_SIZE];
    int widest = NAME_LEAST;

    for (size_t i = 0; i < t->job_count; i++) {
        const struct timeline_job *job = &t->job[i];
        int width = timeline_look_name(name, sizeof name, job->name, most, utf8);

        widest = width > widest ? width : widest;
        for (size_t k = 0; k < job->lane_count; k++) {
            width = timeline_look_name(name, sizeof name, job->lane[k].device, most, utf8);
            widest = width > widest ? width : widest;
        }
    }
    return widest;
}

static void put_name(const struct chart *c, const char *name, const char *colour)
{
    char shown[NAME_SIZE];
    int width = timeline_look_name(shown, sizeof shown, name, c->names, c->options->utf8);

    begin_colour(c, colour);
    fputs(shown, c->out);
    end_colour(c, colour);
    fprintf(c->out, "%*s", c->names - width + SPACE, "");
}

/* --- the time --- */

/* Writes `text` into a row of spaces at the column, with a sign before it. */
static void place(char *row, int columns, int at, const char *text)
{
    int length = (int)strlen(text);

    if (at + 1 + length > columns)
        length = columns - at - 1;
    if (length < (int)strlen(text) || at >= columns)
        return;
    row[at] = '|';
    memcpy(row + at + 1, text, (size_t)length);
}

static void put_row(const struct chart *c, const char *row)
{
    int length = c->axis.units;

    while (length > 0 && row[length - 1] == ' ')
        length--;
    if (length > 0)
        fprintf(c->out, "%*s%.*s\n", c->names + SPACE, "", length, row);
}

static void put_axis(const struct chart *c)
{
    char dates[CHART_COLUMNS_MOST], times[CHART_COLUMNS_MOST];
    struct timeline_ticks ticks;
    struct timeline_tick tick;
    bool first = true;

    memset(dates, ' ', sizeof dates);
    memset(times, ' ', sizeof times);
    timeline_axis_begin(&ticks, &c->axis, TICKS_APART);
    for (; timeline_axis_next(&ticks, &tick); first = false) {
        if (first || tick.is_day || !tick.time[0])
            place(dates, c->axis.units, tick.unit, tick.date);
        if (tick.time[0])
            place(times, c->axis.units, tick.unit, tick.time);
    }
    put_row(c, dates);
    put_row(c, times);
}

/* --- rows --- */

static int column(const struct chart *c, int64_t ms)
{
    int at = timeline_axis_at(&c->axis, ms);

    return at < c->axis.units ? at : c->axis.units - 1;
}

static const char *cell_text(const struct chart *c, unsigned cell, bool is_lane, char buf[2])
{
    if (!is_lane)
        return c->options->utf8 ? signs[cell].utf8 : signs[cell].ascii;
    if (cell == NONE)
        return " ";
    if (c->options->utf8)
        return timeline_look((enum run_outcome)cell)->block;
    buf[0] = timeline_look((enum run_outcome)cell)->letter;
    buf[1] = '\0';
    return buf;
}

static const char *cell_colour(unsigned cell, bool is_lane)
{
    if (!is_lane)
        return signs[cell].colour;
    return cell == NONE ? "" : timeline_look((enum run_outcome)cell)->colour;
}

static void put_cells(const struct chart *c, bool is_lane)
{
    unsigned empty = is_lane ? NONE : SIGN_NONE;
    int end = c->axis.units;
    char buf[2];

    while (end > 0 && c->cells[end - 1] == empty)
        end--;
    for (int i = 0, next; i < end; i = next) {
        const char *colour = cell_colour(c->cells[i], is_lane);

        begin_colour(c, colour);
        for (next = i; next < end && c->cells[next] == c->cells[i]; next++)
            fputs(cell_text(c, c->cells[i], is_lane, buf), c->out);
        end_colour(c, colour);
    }
    putc('\n', c->out);
}

static void put_lane(const struct chart *c, const struct timeline_lane *lane)
{
    memset(c->cells, NONE, (size_t)c->axis.units);
    for (size_t i = 0; i < lane->count; i++) {
        const struct timeline_run *r = &lane->run[i];
        int severity = timeline_look(r->run->outcome)->severity;
        int to = column(c, r->to);

        for (int at = column(c, r->from); at <= to; at++) {
            unsigned char *cell = &c->cells[at];

            if (*cell == NONE || timeline_look((enum run_outcome) * cell)->severity < severity)
                *cell = (unsigned char)r->run->outcome;
        }
    }
    put_name(c, lane->device, "");
    put_cells(c, true);
}

static void put_sign(struct chart *c, int64_t ms, enum sign sign)
{
    unsigned char *cell = &c->cells[column(c, ms)];

    c->has_sign[sign] = true;
    if (*cell < sign)
        *cell = (unsigned char)sign;
}

static void put_job(struct chart *c, const struct timeline_job *job)
{
    static const enum sign of_state[] = {
        [TIMELINE_RAN] = SIGN_DUE, [TIMELINE_MISSED] = SIGN_MISSED, [TIMELINE_COMING] = SIGN_COMING
    };
    char devices[WORDS_SIZE], runs[WORDS_SIZE];

    memset(c->cells, SIGN_NONE, (size_t)c->axis.units);
    for (size_t i = 0; i < job->due_count; i++)
        put_sign(c, job->due[i].at, of_state[job->due[i].state]);
    for (size_t i = 0; i < job->run_count; i++)
        if (job->run[i].after)
            put_sign(c, job->run[i].from, SIGN_TAKEOVER);
    put_name(c, job->name, "1");
    put_cells(c, false);
    for (size_t i = 0; i < job->lane_count; i++)
        put_lane(c, &job->lane[i]);
    if (job->hidden_lanes > 0)
        fprintf(c->out, "%s with %s not shown\n",
                timeline_look_count(job->hidden_lanes, "more device", "more devices", devices,
                                    sizeof devices),
                timeline_look_count(job->hidden_runs, "run is", "runs are", runs, sizeof runs));
}

/* --- the legend --- */

static void put_entry(struct chart *c, const char *sign, const char *colour, const char *words)
{
    int width = 2 + (int)strlen(words);

    if (c->legend > 0 && c->legend + 2 + width > c->options->columns) {
        putc('\n', c->out);
        c->legend = 0;
    }
    if (c->legend > 0)
        fputs("  ", c->out);
    c->legend += width + (c->legend > 0 ? 2 : 0);
    begin_colour(c, colour);
    fputs(sign, c->out);
    end_colour(c, colour);
    fprintf(c->out, " %s", words);
}

static void put_legend(struct chart *c)
{
    char words[WORDS_SIZE], buf[2];

    putc('\n', c->out);
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++) {
        const char *name = runs_outcome_name(o);

        if (c->view->outcomes[o] > 0)
            put_entry(c, cell_text(c, o, true, buf), timeline_look(o)->colour,
                      timeline_look_count(c->view->outcomes[o], name, name, words, sizeof words));
    }
    for (enum sign s = SIGN_DUE; s < SIGNS; s++)
        if (c->has_sign[s])
            put_entry(c, cell_text(c, s, false, buf), signs[s].colour, signs[s].words);
    putc('\n', c->out);
}

int chart_write(FILE *out, const struct timeline *view, const struct chart_options *options)
{
    CLEANUP_FREE unsigned char *cells = NULL;
    struct chart c = { .out = out, .view = view, .options = options };
    char since[TIMELINE_TIME_SIZE], until[TIMELINE_TIME_SIZE];

    c.names = widest_name(view, options->utf8, options->columns / 3);
    c.axis = (struct timeline_axis){ view->since, view->until, options->columns - c.names - SPACE };
    c.cells = cells = malloc((size_t)c.axis.units);
    if (!cells)
        return -ENOMEM;
    fprintf(out, "%s to %s UTC\n", timeline_look_time(view->since, since),
            timeline_look_time(view->until, until));
    put_axis(&c);
    for (size_t i = 0; i < view->job_count; i++)
        put_job(&c, &view->job[i]);
    put_legend(&c);
    return 0;
}
