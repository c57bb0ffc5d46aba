/* SPDX-License-Identifier: MIT
 * Which store this rotad has: Redis, or its own memory. */
#include "base/cleanup.h"
#include "supervisor/clock.h"
#include "supervisor/manager.h"
#include "supervisor/words_clock.h"
#include <errno.h>
#include <stdlib.h>

void manager_submit(void *context, struct store_call *call, bool urgent)
{
    struct manager *m = context;

    if (m->local)
        local_store_submit(m->local, call);
    else
        redis_store_submit(m->store, call, urgent);
}

void manager_cancel(void *context, struct store_call *call)
{
    struct manager *m = context;

    if (m->local)
        local_store_cancel(m->local, call);
    else if (m->store)
        redis_store_cancel(m->store, call);
}

static void link_changed(void *context, const struct redis_link_change *change)
{
    struct manager *m = context;

    m->status_stale = true;
    words_fault_link(&m->link_words, change, m->fleet.missed, clock_boot());
}

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct manager *m = context;

    return resolver_ask(&m->resolver, host, port, lookup);
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct manager *m = context;

    (void)lookup;
    resolver_cancel(&m->resolver);
}

static int open_redis(struct manager *m)
{
    const struct config *c = m->generation->config;
    const struct redis_config *r = &c->redis;
    struct redis_store_env env = { .event = m->event,
                                   .priority = PRIORITY_STORE,
                                   .random = m->port.random,
                                   .watch = link_changed,
                                   .resolve = resolve,
                                   .resolve_cancel = resolve_cancel,
                                   .context = m };
    CLEANUP_FREE struct redis_endpoint *endpoints = NULL;

    endpoints = calloc(r->address_count, sizeof *endpoints);
    if (!endpoints)
        return -ENOMEM;
    for (size_t i = 0; i < r->address_count; i++)
        endpoints[i] = (struct redis_endpoint){
            .is_unix = r->addresses[i].kind == ADDRESS_UNIX,
            .host = r->addresses[i].host,
            .port = r->addresses[i].port,
            .text = r->addresses[i].text,
        };
    return redis_store_new(
        &(struct redis_settings){
            .endpoints = endpoints,
            .endpoint_count = r->address_count,
            .prefix = c->prefix,
            .client_name = m->device,
            .username = r->username,
            .password = r->password,
            .database = r->database,
            .connect_timeout_ms = r->connect_timeout_ms,
            .command_timeout_ms = r->command_timeout_ms,
            .backoff_min_ms = r->backoff_min_ms,
            .backoff_max_ms = r->backoff_max_ms,
            .keepalive_ms = r->keepalive_ms,
        },
        &env, &m->store);
}

static void clock_moved(void *context, const struct store_reply *sample)
{
    struct manager *m = context;

    m->status_stale = true;
    fleet_sample(&m->fleet, sample);
}

static void clock_news(void *context, enum device_clock_news news)
{
    struct manager *m = context;

    m->status_stale = true;
    words_clock_news(local_store_clock(m->local), news, clock_boot());
}

static int open_local(struct manager *m)
{
    struct local_store_env env = { .event = m->event,
                                   .priority = PRIORITY_STORE,
                                   .moved = clock_moved,
                                   .clock_news = clock_news,
                                   .context = m };

    return local_store_new(&env, &m->local);
}

bool manager_has_store(const struct manager *m)
{
    return m->store || m->local;
}

int manager_prepare(struct manager *m)
{
    int rc = manager_find_user(m);

    if (rc < 0)
        return rc;
    if (manager_has_store(m))
        return 0;
    return m->generation->config->store == CONFIG_STORE_LOCAL ? open_local(m) : open_redis(m);
}
