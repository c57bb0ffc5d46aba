/* SPDX-License-Identifier: MIT
 * redis/node_internal.h: what node.c and node_carry.c share. The latter is librota-topology.so's: a
 * device with one server has none of it. */
#ifndef ROTA_REDIS_NODE_INTERNAL_H
#define ROTA_REDIS_NODE_INTERNAL_H
#include "core/call_queue.h"
#include "redis/node.h"

/* node_carry.c, as node.c calls it. */
struct redis_carrier {
    /* Sends what is carried, as far as the connection takes it; or refuses all of it. */
    void (*move)(struct redis_node *node, bool refuses);
    /* Lets a node that does not have the slot yet serve the next command. 0 or a negative errno. */
    int (*announce)(const struct redis_parcel *parcel);
};

struct redis_node {
    struct redis_store store;
    struct redis_settings *settings;
    struct redis_store_env env;
    struct redis_link *link;
    struct call_queue queue;
    struct redis_parcel *parcels;        /* that were handed to the link */
    struct redis_parcel *carried;        /* from other nodes, until the link takes them */
    const struct redis_carrier *carrier; /* NULL: nothing was carried here yet */
    bool keeps;
};

static inline struct redis_node *redis_node_of(struct redis_store *s)
{
    return (struct redis_node *)s; /* its first member */
}

static inline void redis_node_move_parcel(struct redis_parcel **from, struct redis_parcel **to,
                                          struct redis_parcel *parcel)
{
    while (*from != parcel)
        from = &(*from)->next;
    *from = parcel->next;
    parcel->next = *to;
    *to = parcel;
}

/* 0, -ENOTCONN or -ENOMEM: as redis_link_send(). */
int redis_node_send_parcel(struct redis_parcel *parcel);
#endif
