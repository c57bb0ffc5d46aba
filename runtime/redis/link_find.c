/* SPDX-License-Identifier: MIT */
#include "redis/link_internal.h"

/* After a failover no fleet comes all at once; who cannot wait does not (redis_link_kick()). */
#define MOVED_SPREAD_MS 1000

static void on_found(void *context, const struct redis_names *names,
                     const struct redis_fault *fault)
{
    struct redis_link *link = context;

    if (link->phase != PHASE_NAMING)
        return;
    if (names)
        redis_link_take_names(link, names);
    else
        redis_link_drop(link, fault);
}

static void on_moved(void *context, const struct redis_fault *fault)
{
    struct redis_link *link = context;
    uint64_t random = 0;

    if (link->phase == PHASE_IDLE || link->phase == PHASE_NAMING)
        return;
    link->hurried = false;
    link->moved = link->phase == PHASE_UP && link->close_at.ms == BOOT_NEVER.ms;
    if (link->phase != PHASE_WAITING)
        redis_link_drop(link, fault);
    link->env.random(link->env.context, &random, sizeof random);
    link->retry_at = boot_add(redis_link_now(), (int64_t)(random % MOVED_SPREAD_MS));
    redis_link_rearm(link);
}

int redis_link_make_finder(struct redis_link *link)
{
    struct redis_finder_env env = { .settings = link->settings,
                                    .loop = &link->env,
                                    .found = on_found,
                                    .moved = on_moved,
                                    .context = link };
    int r = link->settings->finder->make(&env, &link->finder);

    if (r >= 0)
        link->route.found = &link->finder->server;
    return r;
}

void redis_link_find(struct redis_link *link)
{
    redis_link_set_phase(link, PHASE_NAMING, &REDIS_LINK_NO_FAULT);
    link->settings->finder->find(link->finder, link->route.behind);
    redis_link_rearm(link);
}
