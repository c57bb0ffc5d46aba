/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_job_and_time(const void *a, const void *b)
{
    const struct due *x = a, *y = b;
    int order = timeline_order_names(x->job, y->job);

    return order ? order : timeline_order_numbers(x->at, y->at);
}

/* Whether the job's due instants are known; else they are those that somebody ran. */
static bool has_schedule(const struct due *due, size_t count, const char *job)
{
    struct due least = { job, 0 };
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_job_and_time(&due[middle], &least) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(due[low].job, job) == 0;
}

/* By job and time, each once, of the span alone. */
static size_t collect(const struct timeline *t, const struct runs *runs,
                      const struct timeline_query *q, size_t run_count, struct due *to)
{
    size_t count = 0, given, kept = 0;

    for (size_t i = 0; i < runs->due_count; i++)
        if (timeline_view_chooses(q, runs->due[i].job))
            to[count++] = runs->due[i];
    qsort(to, count, sizeof *to, by_job_and_time);
    given = count;
    for (size_t i = 0; i < run_count; i++)
        if (!has_schedule(to, given, t->runs[i].run->job))
            to[count++] = (struct due){ t->runs[i].run->job, t->runs[i].run->turn };
    qsort(to, count, sizeof *to, by_job_and_time);
    for (size_t i = 0; i < count; i++)
        if (to[i].at >= t->since && to[i].at <= t->until &&
            (kept == 0 || by_job_and_time(&to[kept - 1], &to[i]) != 0))
            to[kept++] = to[i];
    return kept;
}

/* Goes along the due instants of all jobs and, beside them, along the runs by job and turn. */
struct walk {
    const struct timeline_run *run, *end;
    const char *job;
    int64_t newest;  /* the newest turn that somebody ran, not later than the due instant */
    int64_t covered; /* until then a run that settled its turn covers what falls due */
};

static void pass_run(struct walk *w)
{
    const struct run *run = w->run->run;

    if (run->outcome != RUN_DECLINED && run->outcome != RUN_UNSTARTED)
        w->newest = run->turn;
    if ((runs_settled(run->outcome) || run->outcome == RUN_RUNNING) && w->run->to > w->covered)
        w->covered = w->run->to;
    w->run++;
}

static void enter_job(struct walk *w, const char *job)
{
    if (w->job && strcmp(w->job, job) == 0)
        return;
    while (w->run < w->end && timeline_order_names(w->run->run->job, job) < 0)
        w->run++;
    w->job = job;
    w->newest = w->covered = RUNS_NO_TIME;
}

static enum timeline_due_state judge(struct walk *w, const struct due *due, int64_t now)
{
    enter_job(w, due->job);
    while (w->run < w->end && strcmp(w->run->run->job, due->job) == 0 &&
           w->run->run->turn <= due->at)
        pass_run(w);
    if (w->newest == due->at || w->covered >= due->at)
        return TIMELINE_RAN;
    return due->at > now - TIMELINE_PATIENCE_MS ? TIMELINE_COMING : TIMELINE_MISSED;
}

static void put(struct timeline *t, const struct due *due, size_t count, size_t run_count)
{
    struct walk w = { .run = t->runs, .end = t->runs + run_count };
    struct timeline_job *job = t->job;

    for (size_t i = 0; i < count; i++) {
        while (strcmp(job->name, due[i].job) != 0)
            job++;
        if (job->due_count == 0)
            job->due = &t->dues[i];
        job->due_count++;
        t->dues[i] = (struct timeline_due){ due[i].at, judge(&w, &due[i], t->now) };
        t->missed += t->dues[i].state == TIMELINE_MISSED;
    }
}

int timeline_due_find(struct timeline *t, const struct runs *runs,
                      const struct timeline_query *query, size_t run_count)
{
    struct due *due = calloc(runs->due_count + run_count + 1, sizeof *due);
    size_t count;

    if (!due)
        return -ENOMEM;
    count = collect(t, runs, query, run_count, due);
    t->dues = calloc(count + 1, sizeof *t->dues);
    if (t->dues)
        put(t, due, count, run_count);
    free(due);
    return t->dues ? 0 : -ENOMEM;
}
