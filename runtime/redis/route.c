/* SPDX-License-Identifier: MIT */
#include "redis/route.h"
#include "base/text.h"
#include "redis/host.h"
#include <string.h>

void redis_route_init(struct redis_route *route, const struct redis_settings *settings)
{
    *route = (struct redis_route){ .settings = settings };
}

const struct redis_endpoint *redis_route_server(const struct redis_route *route)
{
    return route->found ? route->found : &route->settings->endpoints[route->endpoint];
}

const char *redis_route_text(const struct redis_route *route)
{
    return redis_route_server(route)->text;
}

bool redis_route_needs_names(const struct redis_route *route)
{
    const struct redis_endpoint *server = redis_route_server(route);

    return !server->is_unix && route->names.count == 0 && !redis_host_is_numeric(server->host);
}

/* Where the list is begun, so that each try goes on where the last one ended. */
static size_t find_start(const struct redis_route *route, const struct redis_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->address[i], route->mark) == 0)
            return (i + (route->behind ? 1 : 0)) % names->count;
    return 0;
}

void redis_route_take_names(struct redis_route *route, const struct redis_names *names)
{
    size_t start = find_start(route, names);

    for (size_t i = 0; i < names->count; i++)
        text_copy(route->names.address[i], sizeof route->names.address[i],
                  names->address[(start + i) % names->count]);
    route->names.count = names->count;
    route->at = 0;
}

struct redis_endpoint redis_route_target(const struct redis_route *route)
{
    struct redis_endpoint target = *redis_route_server(route);

    if (route->names.count > 0)
        target.host = route->names.address[route->at];
    return target;
}

size_t redis_route_left(const struct redis_route *route)
{
    return route->names.count > route->tried ? route->names.count - route->tried : 1;
}

bool redis_route_step(struct redis_route *route)
{
    if (redis_route_left(route) < 2 || route->at + 1 >= route->names.count)
        return false;
    route->at++;
    route->tried++;
    return true;
}

static void end_try(struct redis_route *route, bool behind)
{
    if (route->names.count > 0)
        text_copy(route->mark, sizeof route->mark, route->names.address[route->at]);
    route->behind = behind;
    route->names.count = 0;
}

void redis_route_stay(struct redis_route *route)
{
    route->tried = 0;
    end_try(route, false);
}

void redis_route_leave(struct redis_route *route)
{
    bool all_tried = redis_route_left(route) < 2;

    end_try(route, true);
    route->tried++;
    if (!all_tried)
        return;
    route->endpoint = (route->endpoint + 1) % route->settings->endpoint_count;
    route->tried = 0;
    route->mark[0] = '\0';
}
