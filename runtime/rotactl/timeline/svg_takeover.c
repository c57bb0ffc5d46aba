/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/svg_parts.h"

/* Tenths of a pixel: between the same lanes, arrows nearer than that are one. */
#define APART 30

static int middle(size_t lane, int y)
{
    return y + SVG_JOB_HEIGHT + (int)lane * SVG_LANE_HEIGHT + SVG_BAR_TOP + SVG_BAR_HEIGHT / 2;
}

static void put_takeover(const struct svg *s, const struct timeline_run *r, int y)
{
    int from = svg_tenths(s, r->after->to), to = svg_tenths(s, r->from);

    fputs("<path class=\"over\" marker-end=\"url(#rota-tip)\" ", s->out);
    fprintf(s->out, "d=\"M%d.%d %dL%d.%d %d\"><title>from ", from / 10, from % 10,
            middle(r->after->lane, y), to / 10, to % 10, middle(r->lane, y));
    svg_text_device(s->out, r->after->run->device);
    fputs(" (", s->out);
    svg_text_put(s->out, r->after->run->word);
    fputs(") to ", s->out);
    svg_text_device(s->out, r->run->device);
    fputs("</title></path>\n", s->out);
}

void svg_takeover_put(const struct svg *s, const struct timeline_job *job, int y)
{
    const struct timeline_run *last = NULL;

    for (size_t i = 0; i < job->run_count; i++) {
        const struct timeline_run *r = &job->run[i];

        if (!r->after || r->lane == TIMELINE_HIDDEN || r->after->lane == TIMELINE_HIDDEN)
            continue;
        if (last && last->lane == r->lane && last->after->lane == r->after->lane &&
            svg_tenths(s, r->from) - svg_tenths(s, last->from) < APART)
            continue;
        put_takeover(s, r, y);
        last = r;
    }
}
