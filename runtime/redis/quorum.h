/* SPDX-License-Identifier: MIT
 * redis/quorum.h: the store on several independent servers, of which a majority decides (Redlock):
 * what the answers amount to is core/quorum.h's. librota-topology.so's.
 *
 * A call is one round: its request is composed once, and goes in the same instant to every server
 * that is up, so long as these are a majority; until then it is queued. It is answered as soon as
 * the answers decide it, so that a server that hangs costs no time. What comes later is only looked
 * at for a grant, which is given back where the acquire was not granted, or was cancelled.
 *
 * A question for people (STORE_RAW) goes to one server, and to the next where that has no answer; a
 * command of theirs that changes something goes to all.
 *
 * The connections are kept as with one server (redis_store_expect()). While they are, a server that
 * is away is tried again and again, so that it takes part as soon as it is back. */
#ifndef ROTA_REDIS_QUORUM_H
#define ROTA_REDIS_QUORUM_H
#include "redis/store.h"

struct redis_refusal {
    const char *endpoint;
    const char *reason;
    enum fault fault;
};

/* For people, about each server by itself; env.watch tells of all together: REDIS_LINK_UP is a
 * majority, REDIS_LINK_WAITING that there can be none for now. Servers are numbered from 0, in the
 * order of settings->servers. */
struct redis_quorum_people {
    /* As redis_link_watch. `serving`: how many of all are not known to be away, nor to refuse. */
    void (*changed)(void *context, size_t server, const struct redis_link_change *change,
                    size_t serving);
    /* It is connected, and refuses what it is asked, as `fault`; `reason` NULL: not any more. */
    void (*refused)(void *context, size_t server, const struct redis_refusal *refusal,
                    size_t serving);
    /* With the store. */
    void (*free)(void *context);
    void *context;
};

/* Of settings->servers, 3 to 7 and an odd number. `people` is copied; NULL: nobody wants to know.
 * As redis_node_new(); where that is not 0, people->free() is not called. */
int redis_quorum_new(const struct redis_settings *settings, const struct redis_store_env *env,
                     const struct redis_quorum_people *people, struct redis_store **ret_store);
#endif
