/* SPDX-License-Identifier: MIT
 * rotactl/timeline/timeline_bars.h: the bars of a lane. Runs too short to be told apart become one
 * bar. */
#ifndef ROTA_ROTACTL_TIMELINE_BARS_H
#define ROTA_ROTACTL_TIMELINE_BARS_H
#include "rotactl/timeline/timeline_axis.h"
#include "rotactl/timeline/timeline_view.h"

struct timeline_bars {
    const struct timeline_axis *axis;
    const struct timeline_run *run, *end;
    int32_t narrow; /* runs of fewer units are joined */
    int32_t least;  /* no bar has fewer, and what begins within so many is joined */
};

struct timeline_bar {
    const struct timeline_run *run; /* the first */
    size_t count;
    int64_t until;    /* the latest end of them */
    int32_t from, to; /* units */
    size_t outcomes[RUN_OUTCOMES];
    enum run_outcome commonest, worst; /* by severity; the same in a bar of one run */
};

/* False where there is none any more. */
bool timeline_bars_next(struct timeline_bars *b, struct timeline_bar *ret_bar);
#endif
