/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/runs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

static const char *const names[RUN_OUTCOMES] = {
    [RUN_SUCCEEDED] = "succeeded", [RUN_NOTHING] = "nothing",   [RUN_FAILED] = "failed",
    [RUN_REFUSED] = "refused",     [RUN_DECLINED] = "declined", [RUN_STOPPED] = "stopped",
    [RUN_CRASHED] = "crashed",     [RUN_OVERRUN] = "overrun",   [RUN_LOST] = "lost",
    [RUN_UNSTARTED] = "unstarted", [RUN_VANISHED] = "vanished", [RUN_RUNNING] = "running",
    [RUN_OTHER] = "other",
};

const char *runs_outcome_name(enum run_outcome outcome)
{
    return names[outcome];
}

enum run_outcome runs_outcome(const char *word)
{
    for (enum run_outcome o = 0; o < RUN_OTHER; o++)
        if (strcmp(names[o], word) == 0)
            return o;
    return RUN_OTHER;
}

bool runs_settled(enum run_outcome outcome)
{
    return outcome == RUN_SUCCEEDED || outcome == RUN_NOTHING || outcome == RUN_STOPPED;
}

void runs_done(struct runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; i < runs->run_count; i++)
        free((void *)(uintptr_t)runs->run[i].job); /* the first of the run's texts */
    for (size_t i = 0; i < runs->due_count; i++)
        free((void *)(uintptr_t)runs->due[i].job);
    free(runs->run);
    free(runs->due);
    *runs = (struct runs){ 0 };
}

/* Room for one more of `size` bytes in *items, of which there are `count`. */
static int make_room(void **items, size_t size, size_t count, size_t *room)
{
    size_t more = *room ? *room * 2 : ROOM_FIRST;
    void *grown;

    if (count >= RUNS_MAX)
        return -E2BIG;
    if (count < *room)
        return 0;
    grown = reallocarray(*items, more, size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *room = more;
    return 0;
}

static int64_t hold(int64_t time)
{
    if (time == RUNS_NO_TIME)
        return time;
    return time < 0 ? 0 : time > RUNS_TIME_MAX ? RUNS_TIME_MAX : time;
}

/* Moves a text to *at, and *at behind it. */
static const char *put_text(char **at, const char *text)
{
    char *put = *at;

    *at = stpcpy(put, text) + 1;
    return put;
}

int runs_add(struct runs *runs, const struct run *run)
{
    size_t size = strlen(run->job) + strlen(run->device) + strlen(run->word) + strlen(run->detail);
    void *items = runs->run;
    struct run *added;
    char *text;
    int rc = make_room(&items, sizeof *run, runs->run_count, &runs->run_room);

    runs->run = items;
    if (rc < 0)
        return rc;
    text = malloc(size + 4);
    if (!text)
        return -ENOMEM;
    added = &runs->run[runs->run_count++];
    *added = *run;
    added->job = put_text(&text, run->job);
    added->device = put_text(&text, run->device);
    added->word = put_text(&text, run->word);
    added->detail = put_text(&text, run->detail);
    added->turn = hold(run->turn);
    added->started = hold(run->started);
    added->ended = hold(run->ended);
    added->outcome = runs_outcome(run->word);
    return 0;
}

int runs_add_due(struct runs *runs, const char *job, int64_t at)
{
    void *items = runs->due;
    char *name;
    int rc = make_room(&items, sizeof *runs->due, runs->due_count, &runs->due_room);

    runs->due = items;
    if (rc < 0)
        return rc;
    name = strdup(job);
    if (!name)
        return -ENOMEM;
    runs->due[runs->due_count].job = name;
    runs->due[runs->due_count++].at = hold(at);
    return 0;
}
