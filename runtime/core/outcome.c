/* SPDX-License-Identifier: MIT */
#include "core/outcome.h"
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct trait {
    const char *name;
    bool settles;
    bool retries;
    bool keeps_lock;
};

static const struct trait traits[OUTCOME_COUNT] = {
    [OUTCOME_SUCCEEDED] = { .name = "succeeded", .settles = true },
    [OUTCOME_NOTHING] = { .name = "nothing", .settles = true },
    [OUTCOME_FAILED] = { .name = "failed", .retries = true },
    [OUTCOME_REFUSED] = { .name = "refused" },
    [OUTCOME_DECLINED] = { .name = "declined" },
    [OUTCOME_STOPPED] = { .name = "stopped", .settles = true },
    [OUTCOME_CRASHED] = { .name = "crashed", .retries = true, .keeps_lock = true },
    [OUTCOME_OVERRUN] = { .name = "overrun", .retries = true, .keeps_lock = true },
    [OUTCOME_LOST] = { .name = "lost", .retries = true, .keeps_lock = true },
    [OUTCOME_UNSTARTED] = { .name = "unstarted" },
    [OUTCOME_VANISHED] = { .name = "vanished" },
};

static const struct trait *trait_of(enum outcome o)
{
    assert((unsigned)o < OUTCOME_COUNT);
    return &traits[o];
}

const char *outcome_name(enum outcome o)
{
    return trait_of(o)->name;
}

int outcome_from_name(const char *name, enum outcome *ret_outcome)
{
    for (unsigned i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(traits[i].name, name) == 0) {
            *ret_outcome = (enum outcome)i;
            return 0;
        }
    return -EINVAL;
}

bool outcome_settles(enum outcome o)
{
    return trait_of(o)->settles;
}

bool outcome_retries(enum outcome o)
{
    return trait_of(o)->retries;
}

bool outcome_frees_lock(enum outcome o)
{
    return !trait_of(o)->keeps_lock;
}
