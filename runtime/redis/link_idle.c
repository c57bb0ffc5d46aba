/* SPDX-License-Identifier: MIT */
#include "redis/link_internal.h"

/* What was just used often is again: a person's next command, the next job of the same second. A
 * connection costs more than this second. */
#define LINGER_MS 1000

/* From when on a connection is to be there for the next watch. */
static struct boot ahead_of_watch(const struct redis_link *link)
{
    if (link->need.watch.ms == BOOT_NEVER.ms)
        return BOOT_NEVER;
    return boot_add(link->need.watch, -link->settings->command_timeout_ms);
}

struct boot redis_link_open_at(const struct redis_link *link)
{
    /* Once for each instant: a server that closes every connection at once is not asked without
     * end. */
    return link->need.watch.ms == link->opened_for.ms ? BOOT_NEVER : ahead_of_watch(link);
}

static bool is_needed_soon(const struct redis_link *link, struct boot now)
{
    return boot_between(now, link->need.next) <= link->settings->idle_timeout_ms ||
           boot_reached(now, ahead_of_watch(link));
}

void redis_link_plan_close(struct redis_link *link)
{
    struct boot now = redis_link_now();

    if (link->phase != PHASE_UP || redis_link_is_used(link) || is_needed_soon(link, now))
        link->close_at = BOOT_NEVER;
    else if (link->close_at.ms == BOOT_NEVER.ms)
        link->close_at = boot_add(now, LINGER_MS);
}

void redis_link_open_ahead(struct redis_link *link)
{
    link->opened_for = link->need.watch;
    redis_link_connect(link);
}

void redis_link_expect(struct redis_link *link, const struct store_need *need)
{
    if (need->next.ms == link->need.next.ms && need->watch.ms == link->need.watch.ms)
        return;
    link->need = *need;
    redis_link_rearm(link);
}
