/* SPDX-License-Identifier: MIT
 * rotactl/timeline/timeline_axis.h: where an instant is in a picture, and at which instants there
 * is a line with a time. UTC. */
#ifndef ROTA_ROTACTL_TIMELINE_AXIS_H
#define ROTA_ROTACTL_TIMELINE_AXIS_H
#include <stdbool.h>
#include <stdint.h>

/* Units are what the picture is drawn in: tenths of a pixel, or columns. At most this many. */
#define TIMELINE_AXIS_UNITS_MAX 20000

struct timeline_axis {
    int64_t since, until; /* 0 <= since < until < 2^48 */
    int32_t units;        /* from `since` to `until` */
};

/* 0 ... axis->units: what lies outside is at the end that is nearer. */
int32_t timeline_axis_at(const struct timeline_axis *axis, int64_t ms);

struct timeline_tick {
    int64_t at;
    int32_t unit;
    bool is_day;   /* midnight */
    char date[16]; /* "2026-11-30", "2026-11" or "2026" */
    char time[16]; /* "02:30", or "02:30:05"; "" at midnight and where ticks are whole days */
};

struct timeline_ticks {
    const struct timeline_axis *axis;
    const struct timeline_step *step;
    int64_t next;
};

/* Ticks at least `apart` units from each other, at even times. */
void timeline_axis_begin(struct timeline_ticks *t, const struct timeline_axis *axis, int32_t apart);
/* False where there is none any more. */
bool timeline_axis_next(struct timeline_ticks *t, struct timeline_tick *ret_tick);
#endif
