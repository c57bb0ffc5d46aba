/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_look.h"

/* Tenths of a pixel: lines nearer than that are one; where they are nearer on average they do not
 * cross the lanes; and those that nobody ran are one. */
#define LINE_APART 30
#define DROP_APART 120
#define GAP_APART 60
#define LINE_LENGTH 8

static int below(const struct timeline_job *job, int y)
{
    return y + SVG_JOB_HEIGHT + (int)job->lane_count * SVG_LANE_HEIGHT;
}

static void put_line(const struct svg *s, const struct timeline_due *due, int y, int bottom)
{
    const char *coming = due->state == TIMELINE_COMING ? " coming" : "";
    int x = svg_tenths(s, due->at), lanes = y + SVG_JOB_HEIGHT;
    char time[TIMELINE_TIME_SIZE];

    fprintf(s->out, "<g><title>due %s UTC</title>", timeline_look_time(due->at, time));
    if (bottom > lanes)
        fprintf(s->out, "<path class=\"drop%s\" d=\"M%d.%d %dV%d\"/>", coming, x / 10, x % 10,
                lanes, bottom);
    fprintf(s->out, "<path class=\"due%s\" d=\"M%d.%d %dv%d\"/></g>\n", coming, x / 10, x % 10,
            lanes - LINE_LENGTH, LINE_LENGTH);
}

/* `count` due instants that nobody ran, from `first` to `last`. */
static void put_gap(const struct svg *s, const struct timeline_due *first, size_t count, int y,
                    int bottom)
{
    int from = svg_tenths(s, first->at), to = svg_tenths(s, first[count - 1].at);
    int top = y + SVG_JOB_HEIGHT - LINE_LENGTH / 2;
    char time[TIMELINE_TIME_SIZE], number[48];

    fprintf(s->out, "<g><title>%s",
            count == 1
                ? "due"
                : timeline_look_count(count, "due", "due instants, from", number, sizeof number));
    fprintf(s->out, " %s", timeline_look_time(first->at, time));
    if (count > 1)
        fprintf(s->out, " to %s", timeline_look_time(first[count - 1].at, time));
    fprintf(s->out, " UTC: nobody ran %s</title><rect class=\"gap\"", count == 1 ? "it" : "them");
    svg_text_tenths(s->out, "x", from - LINE_APART / 2);
    svg_text_tenths(s->out, "width", to - from + LINE_APART);
    fprintf(s->out, " y=\"%d\" height=\"%d\"/><use href=\"#rota-gone\" class=\"gone\"", top,
            bottom - top);
    svg_text_tenths(s->out, "x", from + (to - from) / 2);
    fprintf(s->out, " y=\"%d\"/></g>\n", top);
}

static size_t count_gap(const struct svg *s, const struct timeline_due *due, size_t most)
{
    size_t count = 1;

    while (count < most && due[count].state == TIMELINE_MISSED &&
           svg_tenths(s, due[count].at) - svg_tenths(s, due[count - 1].at) < GAP_APART)
        count++;
    return count;
}

static void put_lines(const struct svg *s, const struct timeline_job *job, int y, int bottom)
{
    bool is_crowd = job->due_count > (size_t)(s->axis.units / DROP_APART);
    int last = -LINE_APART;

    for (size_t i = 0; i < job->due_count; i++) {
        const struct timeline_due *due = &job->due[i];
        int x = svg_tenths(s, due->at);

        if (due->state == TIMELINE_MISSED || x - last < LINE_APART)
            continue;
        put_line(s, due, y, is_crowd ? y : bottom);
        last = x;
    }
}

void svg_due_put(const struct svg *s, const struct timeline_job *job, int y)
{
    int bottom = below(job, y);

    put_lines(s, job, y, bottom);
    for (size_t i = 0, count; i < job->due_count; i += count) {
        count = 1;
        if (job->due[i].state != TIMELINE_MISSED)
            continue;
        count = count_gap(s, &job->due[i], job->due_count - i);
        put_gap(s, &job->due[i], count, y, bottom);
    }
}
