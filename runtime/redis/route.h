/* SPDX-License-Identifier: MIT
 * redis/route.h: which server is tried, and by which of its addresses. Pure.
 *
 * Servers are tried in the order of the settings, the addresses of a name in the order in which it
 * was resolved. A name is resolved anew for every connection; what was learned is where to begin.
 */
#ifndef ROTA_REDIS_ROUTE_H
#define ROTA_REDIS_ROUTE_H
#include "redis/store.h"

struct redis_route {
    const struct redis_settings *settings;
    const struct redis_endpoint *found; /* a finder's; NULL: those of the settings */
    size_t endpoint;
    struct redis_names names; /* of a named endpoint, in the order of trying; none: not resolved */
    size_t at;                /* in names */
    size_t tried;             /* addresses of this endpoint that were of no use */
    char mark[REDIS_ADDRESS_SIZE]; /* where a resolved list is begun; "": at its first */
    bool behind;                   /* not there, but behind it */
};

/* `settings` is kept. */
void redis_route_init(struct redis_route *route, const struct redis_settings *settings);
/* The server that is tried. */
const struct redis_endpoint *redis_route_server(const struct redis_route *route);
/* For people. */
const char *redis_route_text(const struct redis_route *route);
/* A host name that is to be resolved before this connection can be made. */
bool redis_route_needs_names(const struct redis_route *route);
/* `names` has at least one. */
void redis_route_take_names(struct redis_route *route, const struct redis_names *names);
/* What to connect to. Points into the route. */
struct redis_endpoint redis_route_target(const struct redis_route *route);
/* Addresses that this try may still use, the present one with them. */
size_t redis_route_left(const struct redis_route *route);
/* The present address cannot be reached. True where another one is now the target. */
bool redis_route_step(struct redis_route *route);
/* The try is over. The next one begins with the same server and address ... */
void redis_route_stay(struct redis_route *route);
/* ... or with the address behind it, and with the next server where it was the last one. */
void redis_route_leave(struct redis_route *route);
#endif
