/* SPDX-License-Identifier: MIT */
#include "supervisor/server_settings.h"
#include "base/units.h"
#include "supervisor/process.h"
#include "supervisor/wall_clock.h"

#include <stdlib.h>

struct redis_endpoint *server_settings_fill(const struct config *c, const char *device,
                                            struct redis_settings *ret_settings)
{
    const struct redis_config *r = &c->redis;
    struct redis_endpoint *endpoints = calloc(r->address_count, sizeof *endpoints);

    if (!endpoints)
        return NULL;
    for (size_t i = 0; i < r->address_count; i++)
        endpoints[i] = (struct redis_endpoint){
            .is_unix = r->addresses[i].kind == ADDRESS_UNIX,
            .host = r->addresses[i].host,
            .port = r->addresses[i].port,
            .text = r->addresses[i].text,
            .tls = r->tls && r->addresses[i].kind != ADDRESS_UNIX,
        };
    *ret_settings = (struct redis_settings){
        .endpoints = endpoints,
        .endpoint_count = r->address_count,
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
    };
    return endpoints;
}
