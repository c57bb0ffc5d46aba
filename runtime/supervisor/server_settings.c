/* SPDX-License-Identifier: MIT */
#include "supervisor/server_settings.h"
#include "base/units.h"
#include "supervisor/process.h"
#include "supervisor/wall_clock.h"

#include <stdlib.h>

/* The part of *end that is used up moves on. */
static const struct redis_endpoint *fill_endpoints(const struct redis_config *r,
                                                   const struct redis_addresses *addresses,
                                                   struct redis_endpoint **end)
{
    const struct redis_endpoint *first = *end;

    for (size_t i = 0; i < addresses->count; i++) {
        const struct redis_address *a = &addresses->items[i];

        *(*end)++ = (struct redis_endpoint){
            .is_unix = a->kind == ADDRESS_UNIX,
            .host = a->host,
            .port = a->port,
            .text = a->text,
            .tls = r->tls && a->kind != ADDRESS_UNIX,
        };
    }
    return first;
}

static void fill(const struct config *c, const struct redis_config *r, const char *device,
                 struct redis_endpoint **end, struct redis_settings *ret_settings)
{
    *ret_settings = (struct redis_settings){
        .endpoints = fill_endpoints(r, &r->addresses, end),
        .endpoint_count = r->addresses.count,
        .prefix = c->prefix,
        .client_name = device,
        .username = r->username,
        .password = r->password,
        .database = r->database,
        .tls = { .module = r->tls ? process_tls_path() : NULL,
                 .ca = r->tls_ca,
                 .cert = r->tls_cert,
                 .key = r->tls_key,
                 .name = r->tls_name,
                 .earliest_s = wall_clock_built().ms / SECOND_MS },
        .connect_timeout_ms = r->connect_timeout_ms,
        .command_timeout_ms = r->command_timeout_ms,
        .backoff_min_ms = r->backoff_min_ms,
        .backoff_max_ms = r->backoff_max_ms,
        .idle_timeout_ms = r->idle_timeout_ms,
        .keepalive_ms = r->keepalive_ms,
        .sentinels = fill_endpoints(r, &r->sentinels, end),
        .sentinel_count = r->sentinels.count,
        .master = r->master,
        .sentinel_username = r->sentinel_username,
        .sentinel_password = r->sentinel_password,
        .cluster = r->cluster,
        .server_count = r->server_count,
    };
}

static size_t count_endpoints(const struct redis_config *r)
{
    return r->addresses.count + r->sentinels.count;
}

void *server_settings_fill(const struct config *c, const char *device,
                           struct redis_settings *ret_settings)
{
    const struct redis_config *r = &c->redis;
    size_t count = count_endpoints(r);
    struct redis_settings *servers;
    struct redis_endpoint *end;

    for (size_t i = 0; i < r->server_count; i++)
        count += count_endpoints(&r->servers[i]);
    servers = malloc(r->server_count * sizeof *servers + count * sizeof *end);
    if (!servers)
        return NULL;
    end = (struct redis_endpoint *)(servers + r->server_count);
    fill(c, r, device, &end, ret_settings);
    ret_settings->servers = servers;
    for (size_t i = 0; i < r->server_count; i++)
        fill(c, &r->servers[i], device, &end, &servers[i]);
    return servers;
}
