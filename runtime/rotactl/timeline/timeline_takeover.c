/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_try(const void *a, const void *b)
{
    const struct timeline_run *x = *(struct timeline_run *const *)a;
    const struct timeline_run *y = *(struct timeline_run *const *)b;
    int order = timeline_order_names(x->run->job, y->run->job);

    if (order == 0)
        order = timeline_order_numbers(x->run->turn, y->run->turn);
    if (order == 0)
        order = timeline_order_numbers(x->run->attempt, y->run->attempt);
    if (order == 0)
        order = timeline_order_numbers(x->from, y->from);
    return order ? order : timeline_order_names(x->run->device, y->run->device);
}

static bool is_same_turn(const struct run *a, const struct run *b)
{
    return a->turn == b->turn && strcmp(a->job, b->job) == 0;
}

/* Those give their attempt back: the next one has the same number. */
static bool counts(const struct run *run)
{
    return run->outcome != RUN_DECLINED && run->outcome != RUN_UNSTARTED;
}

/* A turn that each device runs for itself, in device scope, has no takeovers. */
static bool is_parallel(struct timeline_run *const *turn, size_t count)
{
    const struct run *last = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct run *run = turn[i]->run;

        if (!counts(run))
            continue;
        if (last && last->attempt == run->attempt && strcmp(last->device, run->device) != 0)
            return true;
        last = run;
    }
    return false;
}

static size_t link_turn(struct timeline_run **turn, size_t count)
{
    size_t links = 0;

    if (is_parallel(turn, count))
        return 0;
    for (size_t i = 1; i < count; i++) {
        if (strcmp(turn[i - 1]->run->device, turn[i]->run->device) == 0)
            continue;
        turn[i]->after = turn[i - 1];
        links++;
    }
    return links;
}

int timeline_takeover_find(struct timeline *t, size_t run_count)
{
    struct timeline_run **order = calloc(run_count + 1, sizeof(struct timeline_run *));
    size_t begin = 0;

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < run_count; i++)
        order[i] = &t->runs[i];
    qsort(order, run_count, sizeof(struct timeline_run *), by_try);
    for (size_t i = 1; i <= run_count; i++) {
        if (i < run_count && is_same_turn(order[begin]->run, order[i]->run))
            continue;
        t->takeovers += link_turn(order + begin, i - begin);
        begin = i;
    }
    free(order);
    return 0;
}
