/* SPDX-License-Identifier: MIT
 * redis/lookups.h: questions for names of several links, one after the other, where only one may be
 * out (redis_store_env.resolve). librota-topology.so's. */
#ifndef ROTA_REDIS_LOOKUPS_H
#define ROTA_REDIS_LOOKUPS_H
#include "redis/store.h"

struct redis_lookups_entry;

/* Embedded in its owner; all zero but `env`: none. */
struct redis_lookups {
    const struct redis_store_env *env; /* whose resolve answers; kept */
    struct redis_lookup out;           /* the one that is out: the first's */
    struct redis_lookups_entry *first;
};

/* As redis_store_env.resolve: also while others wait. */
int redis_lookups_ask(struct redis_lookups *l, const char *host, uint16_t port,
                      struct redis_lookup *lookup);
/* As redis_store_env.resolve_cancel; safe on one that is not out. */
void redis_lookups_cancel(struct redis_lookups *l, struct redis_lookup *lookup);
/* Forgets all. */
void redis_lookups_done(struct redis_lookups *l);
#endif
