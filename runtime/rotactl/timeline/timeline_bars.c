/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_bars.h"
#include "rotactl/timeline/timeline_look.h"

static int severity(enum run_outcome o)
{
    return timeline_look(o)->severity;
}

static void join(struct timeline_bar *bar, const struct timeline_run *run)
{
    enum run_outcome o = run->run->outcome;

    bar->count++;
    bar->outcomes[o]++;
    if (run->to > bar->until)
        bar->until = run->to;
    if (severity(o) > severity(bar->worst))
        bar->worst = o;
    if (bar->outcomes[o] > bar->outcomes[bar->commonest])
        bar->commonest = o;
}

static bool is_narrow(const struct timeline_bars *b, const struct timeline_run *run)
{
    return timeline_axis_at(b->axis, run->to) - timeline_axis_at(b->axis, run->from) < b->narrow;
}

bool timeline_bars_next(struct timeline_bars *b, struct timeline_bar *ret_bar)
{
    struct timeline_bar bar = { .run = b->run };
    bool joins;

    if (b->run == b->end)
        return false;
    bar.commonest = bar.worst = b->run->run->outcome;
    bar.from = timeline_axis_at(b->axis, b->run->from);
    bar.to = timeline_axis_at(b->axis, b->run->to);
    if (bar.to < bar.from + b->least)
        bar.to = bar.from + b->least;
    joins = is_narrow(b, b->run);
    join(&bar, b->run++);
    while (joins && b->run < b->end && is_narrow(b, b->run) &&
           timeline_axis_at(b->axis, b->run->from) < bar.from + b->least)
        join(&bar, b->run++);
    *ret_bar = bar;
    return true;
}
