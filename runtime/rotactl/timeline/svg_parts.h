/* SPDX-License-Identifier: MIT
 * rotactl/timeline/svg_parts.h: what svg.c is made of, and nobody else's. Lengths are
 * pixels, and along the time tenths of them. */
#ifndef ROTA_ROTACTL_SVG_PARTS_H
#define ROTA_ROTACTL_SVG_PARTS_H
#include "rotactl/timeline/timeline_axis.h"
#include "rotactl/timeline/timeline_view.h"
#include <stdio.h>

/* The column of the names, and what is free at the right. */
#define SVG_LEFT 190
#define SVG_RIGHT 40
/* Of a job's own row, and of a lane: signs above, the bar below them. */
#define SVG_JOB_HEIGHT 26
#define SVG_LANE_HEIGHT 21
#define SVG_BAR_TOP 9
#define SVG_BAR_HEIGHT 10
#define SVG_MARK_MIDDLE 4

struct svg {
    FILE *out;
    const struct timeline *view;
    struct timeline_axis axis;
    int width;
};

/* As text of XML; what could break it, or mislead, escaped; cut where it is endless. */
void svg_text_put(FILE *out, const char *text);
/* The same of a device's name, which may be empty. */
void svg_text_device(FILE *out, const char *name);
/* x="123.4", with a space before it: tenths of a pixel from the picture's left. */
void svg_text_tenths(FILE *out, const char *key, int tenths);

/* The style, the patterns and the signs. */
void svg_style_put(FILE *out);
/* What of it the picture uses, from y on, and how many there are of each. */
void svg_legend_put(const struct svg *s, int y);
int svg_legend_height(const struct svg *s);

/* The bars and signs of a lane whose top is at y. */
void svg_lane_put(const struct svg *s, const struct timeline_lane *lane, int y);
/* The due instants of a job whose own row begins at y. */
void svg_due_put(const struct svg *s, const struct timeline_job *job, int y);
/* From each try to the next one, on another device. */
void svg_takeover_put(const struct svg *s, const struct timeline_job *job, int y);

static inline bool svg_shows_now(const struct svg *s)
{
    return s->view->now > s->view->since && s->view->now < s->view->until;
}

static inline int svg_tenths(const struct svg *s, int64_t ms)
{
    return SVG_LEFT * 10 + timeline_axis_at(&s->axis, ms);
}
#endif
