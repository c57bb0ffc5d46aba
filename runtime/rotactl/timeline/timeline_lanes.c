/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_look.h"
#include "rotactl/timeline/timeline_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where there are many jobs, each may have so many lanes in any case. */
#define LANES_LEAST 10

static bool begins_lane(const struct timeline_run *run)
{
    return strcmp(run[-1].run->job, run->run->job) != 0 ||
           strcmp(run[-1].run->device, run->run->device) != 0;
}

static size_t count_lanes(const struct timeline *t, size_t run_count)
{
    size_t lanes = run_count > 0;

    for (size_t i = 1; i < run_count; i++)
        lanes += begins_lane(&t->runs[i]);
    return lanes;
}

static void put_lane(struct timeline_job *job, struct timeline_lane *lane,
                     const struct timeline_run *run)
{
    if (job->lane_count == 0) {
        job->lane = lane;
        job->run = run;
    }
    *lane = (struct timeline_lane){ .device = run->run->device, .run = run };
    job->lane_count++;
}

static void put(struct timeline *t, size_t run_count)
{
    struct timeline_lane *lane = t->lanes - 1;
    struct timeline_job *job = t->job;

    for (size_t i = 0; i < run_count; i++) {
        const struct run *run = t->runs[i].run;

        while (strcmp(job->name, run->job) != 0)
            job++;
        if (i == 0 || begins_lane(&t->runs[i]))
            put_lane(job, ++lane, &t->runs[i]);
        job->run_count++;
        lane->count++;
        lane->bad += timeline_look(run->outcome)->severity >= TIMELINE_SEVERITY_BAD;
        t->outcomes[run->outcome]++;
    }
}

static int by_interest(const void *a, const void *b)
{
    const struct timeline_lane *x = *(struct timeline_lane *const *)a;
    const struct timeline_lane *y = *(struct timeline_lane *const *)b;

    if (x->bad != y->bad)
        return x->bad > y->bad ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return timeline_order_names(x->device, y->device);
}

static void drop_hidden(struct timeline_job *job)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->lane_count; i++) {
        if (!job->lane[i].hidden) {
            job->lane[kept++] = job->lane[i];
            continue;
        }
        job->hidden_lanes++;
        job->hidden_runs += job->lane[i].count;
    }
    job->lane_count = kept;
}

static int hide(struct timeline_job *job, size_t most)
{
    struct timeline_lane **order;

    if (job->lane_count <= most)
        return 0;
    order = calloc(job->lane_count, sizeof(struct timeline_lane *));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < job->lane_count; i++)
        order[i] = &job->lane[i];
    qsort(order, job->lane_count, sizeof(struct timeline_lane *), by_interest);
    for (size_t i = most; i < job->lane_count; i++)
        order[i]->hidden = true;
    free(order);
    drop_hidden(job);
    return 0;
}

/* The runs that are drawn know where. */
static void number(struct timeline *t, const struct timeline_job *job)
{
    for (size_t i = 0; i < job->lane_count; i++) {
        struct timeline_run *run = t->runs + (job->lane[i].run - t->runs);

        for (size_t k = 0; k < job->lane[i].count; k++)
            run[k].lane = i;
    }
}

int timeline_lanes_find(struct timeline *t, size_t run_count)
{
    size_t most = TIMELINE_LANES_MAX / (t->job_count ? t->job_count : 1);
    int rc = 0;

    t->lanes = calloc(count_lanes(t, run_count) + 1, sizeof *t->lanes);
    if (!t->lanes)
        return -ENOMEM;
    put(t, run_count);
    if (most < LANES_LEAST)
        most = LANES_LEAST;
    for (size_t i = 0; rc == 0 && i < t->job_count; i++) {
        rc = hide(&t->job[i], most);
        number(t, &t->job[i]);
    }
    return rc;
}
