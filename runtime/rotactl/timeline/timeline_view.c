/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_view.h"
#include "rotactl/timeline/timeline_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a span that nobody named: empty at both ends, in parts of it; and at least so much. */
#define PAD_PARTS 50
#define PAD_LEAST_MS 1000

bool timeline_view_chooses(const struct timeline_query *query, const char *job)
{
    if (!query->jobs || !query->jobs[0])
        return true;
    for (const char *const *name = query->jobs; *name; name++)
        if (strcmp(*name, job) == 0)
            return true;
    return false;
}

/* --- the runs, each once --- */

static struct timeline_run place(const struct run *run, int64_t now)
{
    struct timeline_run placed = {
        .run = run, .lane = TIMELINE_HIDDEN, .from = run->started, .to = run->ended
    };

    if (run->ended == RUNS_NO_TIME)
        placed.to = now > run->started ? now : run->started;
    if (run->started == RUNS_NO_TIME || placed.from > placed.to)
        placed.from = placed.to;
    return placed;
}

/* What is known better goes behind: an end, and of two ends that which is no guess. */
static int knowledge(enum run_outcome outcome)
{
    return outcome == RUN_RUNNING ? 0 : outcome == RUN_VANISHED ? 1 : 2;
}

static int by_identity(const void *a, const void *b)
{
    const struct run *x = ((const struct timeline_run *)a)->run;
    const struct run *y = ((const struct timeline_run *)b)->run;
    int order = timeline_order_names(x->job, y->job);

    if (order == 0)
        order = timeline_order_numbers(x->turn, y->turn);
    if (order == 0)
        order = timeline_order_names(x->device, y->device);
    if (order == 0)
        order = timeline_order_numbers(x->attempt, y->attempt);
    if (order == 0)
        order = timeline_order_numbers(x->fence, y->fence);
    if (order == 0)
        order = knowledge(x->outcome) - knowledge(y->outcome);
    return order ? order : timeline_order_numbers(x->ended, y->ended);
}

static bool is_same(const struct run *x, const struct run *y)
{
    return x->turn == y->turn && x->attempt == y->attempt && x->fence == y->fence &&
           strcmp(x->job, y->job) == 0 && strcmp(x->device, y->device) == 0;
}

/* By job and turn. How many there are. */
static size_t collect(struct timeline *t, const struct runs *runs, const struct timeline_query *q)
{
    size_t all = 0, count = 0;

    for (size_t i = 0; i < runs->run_count; i++)
        if (timeline_view_chooses(q, runs->run[i].job))
            t->runs[all++] = place(&runs->run[i], t->now);
    qsort(t->runs, all, sizeof *t->runs, by_identity);
    for (size_t i = 0; i < all; i++) {
        if (count > 0 && is_same(t->runs[count - 1].run, t->runs[i].run))
            count--;
        t->runs[count++] = t->runs[i];
    }
    return count;
}

/* --- the span --- */

struct span {
    int64_t first, last;
};

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void widen(struct span *s, int64_t from, int64_t to)
{
    s->first = min_ms(s->first, from);
    s->last = max_ms(s->last, to);
}

static void choose_span(struct timeline *t, size_t count, const struct runs *runs,
                        const struct timeline_query *q)
{
    struct span all = { RUNS_TIME_MAX, 0 };
    int64_t pad;

    for (size_t i = 0; i < count; i++)
        widen(&all, t->runs[i].from, t->runs[i].to);
    for (size_t i = 0; i < runs->due_count; i++)
        if (timeline_view_chooses(q, runs->due[i].job))
            widen(&all, runs->due[i].at, runs->due[i].at);
    if (q->since != RUNS_NO_TIME)
        all.first = q->since;
    if (q->until != RUNS_NO_TIME)
        all.last = q->until;
    pad = (all.last - all.first) / PAD_PARTS;
    if (pad < PAD_LEAST_MS)
        pad = PAD_LEAST_MS;
    t->since = q->since == RUNS_NO_TIME ? min_ms(all.first, all.last) - pad : q->since;
    t->until = q->until == RUNS_NO_TIME ? max_ms(all.first, all.last) + pad : q->until;
    if (t->since < 0)
        t->since = 0;
    if (t->until <= t->since)
        t->until = t->since + PAD_LEAST_MS;
}

static int by_lane(const void *a, const void *b)
{
    const struct timeline_run *x = a, *y = b;
    int order = timeline_order_names(x->run->job, y->run->job);

    if (order == 0)
        order = timeline_order_names(x->run->device, y->run->device);
    if (order == 0)
        order = timeline_order_numbers(x->from, y->from);
    return order ? order : by_identity(a, b);
}

/* By job, device and start. How many there are. */
static size_t keep_span(struct timeline *t, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (t->runs[i].to >= t->since && t->runs[i].from <= t->until)
            t->runs[kept++] = t->runs[i];
    qsort(t->runs, kept, sizeof *t->runs, by_lane);
    return kept;
}

/* --- all of it --- */

static int by_name(const void *a, const void *b)
{
    const struct timeline_job *x = a, *y = b;

    return timeline_order_names(x->name, y->name);
}

/* Of all that was chosen, also outside of the span. */
static int find_jobs(struct timeline *t, size_t run_count, const struct runs *runs,
                     const struct timeline_query *q)
{
    size_t all = 0, count = 0;

    t->job = calloc(run_count + runs->due_count + 1, sizeof *t->job);
    if (!t->job)
        return -ENOMEM;
    for (size_t i = 0; i < run_count; i++)
        if (i == 0 || strcmp(t->runs[i - 1].run->job, t->runs[i].run->job) != 0)
            t->job[all++].name = t->runs[i].run->job;
    for (size_t i = 0; i < runs->due_count; i++)
        if (timeline_view_chooses(q, runs->due[i].job) &&
            (i == 0 || strcmp(runs->due[i - 1].job, runs->due[i].job) != 0))
            t->job[all++].name = runs->due[i].job;
    qsort(t->job, all, sizeof *t->job, by_name);
    for (size_t i = 0; i < all; i++)
        if (count == 0 || strcmp(t->job[count - 1].name, t->job[i].name) != 0)
            t->job[count++] = t->job[i];
    t->job_count = count;
    return 0;
}

static void drop_empty_jobs(struct timeline *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->job_count; i++)
        if (t->job[i].run_count > 0 || t->job[i].due_count > 0)
            t->job[kept++] = t->job[i];
    t->job_count = kept;
}

static int build(struct timeline *t, const struct runs *runs, const struct timeline_query *q)
{
    size_t count;
    int rc;

    t->runs = calloc(runs->run_count + 1, sizeof *t->runs);
    if (!t->runs)
        return -ENOMEM;
    count = collect(t, runs, q);
    choose_span(t, count, runs, q);
    rc = find_jobs(t, count, runs, q);
    if (rc == 0)
        rc = timeline_due_find(t, runs, q, count);
    if (rc < 0)
        return rc;
    count = keep_span(t, count);
    rc = timeline_lanes_find(t, count);
    if (rc == 0)
        rc = timeline_takeover_find(t, count);
    if (rc < 0)
        return rc;
    drop_empty_jobs(t);
    return t->job_count > 0 ? 0 : -ENODATA;
}

int timeline_view_init(const struct runs *runs, const struct timeline_query *query,
                       struct timeline *ret_view)
{
    struct timeline t = { .now = query->now };
    int rc = build(&t, runs, query);

    if (rc < 0)
        timeline_view_done(&t);
    else
        *ret_view = t;
    return rc;
}

void timeline_view_done(struct timeline *view)
{
    if (!view)
        return;
    free(view->runs);
    free(view->lanes);
    free(view->dues);
    free(view->job);
    *view = (struct timeline){ 0 };
}
