/* SPDX-License-Identifier: MIT
 * redis/cluster_internal.h: what the files of the cluster share: cluster.c (the store, and where a
 * command goes), cluster_nodes.c (which nodes there are, and which slots they have),
 * cluster_links.c (what becomes of their connections), cluster_clock.c (their clocks). */
#ifndef ROTA_REDIS_CLUSTER_INTERNAL_H
#define ROTA_REDIS_CLUSTER_INTERNAL_H
#include "core/fleet_clock.h"
#include "core/slot.h"
#include "redis/cluster.h"
#include "redis/fault.h"
#include "redis/lookups.h"
#include "redis/node.h"

/* As many as may be needed at the same time: so much can nobody who answers make a device open. */
#define CLUSTER_NODES_MAX 128

struct cluster_node {
    struct cluster *cluster;
    struct redis_store *store;
    char *host, *text; /* of the endpoint; `text` for people */
    bool is_unix;
    uint16_t port;
    enum redis_link_state state;
    enum fault fault; /* that its last connection, or try, has ended by; FAULT_NONE: it serves */
    bool was_up;      /* it has served, and since then no try has failed */
    unsigned slots;   /* that it has, or that it is asked for first */
    struct boot used; /* when a command was last given to it */
    struct fleet_clock clock;
    bool is_measured;
    int64_t ahead_ms; /* of the home node's clock, once it is measured */
};

struct cluster {
    struct redis_store store;
    struct redis_settings *settings;
    struct redis_store_env env;
    struct redis_cluster_people people;
    uint32_t said; /* a bit for each class that single nodes have shown */
    struct redis_lookups lookups;
    sd_event_source *sweep; /* enabled: some node may be of no use any more */
    struct cluster_node *nodes[CLUSTER_NODES_MAX];
    size_t count;
    size_t seed;               /* of the settings' endpoints: the next to try */
    struct redis_traffic gone; /* of nodes that are freed */
    struct store_need need;
    struct boot calm;                 /* when last no lease was held */
    uint16_t home_slot;               /* of the fleet's own keys */
    const struct cluster_node *shown; /* what people are told of; NULL: none */
    /* By slot, 1 + the number of the node that is asked; 0: nobody was asked yet. All calls of the
     * slot that are not sent yet are in that node's queue. */
    uint8_t owners[SLOT_COUNT];
};

/* A person has to act, whatever the other nodes do. */
static inline bool cluster_is_for_people(enum fault fault)
{
    return fault == FAULT_OPERATOR || fault == FAULT_CLOCK;
}

/* cluster_nodes.c */

/* The node of that endpoint, made where there is none. NULL: there are too many, or memory is
 * short. */
struct cluster_node *cluster_nodes_get(struct cluster *c, const struct redis_endpoint *endpoint);
/* Who is asked where nobody knows better, in this order: a node that serves, one that is being
 * connected to, one that has no connection for now, the next of the configured ones, one whose last
 * try has failed. Never `but`, nor one whose next try is waited for. NULL: there is none. */
struct cluster_node *cluster_nodes_choose(struct cluster *c, const struct cluster_node *but);
/* Who has the slot, as far as it is known; NULL: nobody was asked yet. */
struct cluster_node *cluster_nodes_owner(const struct cluster *c, uint16_t slot);
/* From now on this one. Calls that wait go there. */
void cluster_nodes_give(struct cluster *c, uint16_t slot, struct cluster_node *node);
/* All slots of `from`. */
void cluster_nodes_give_all(struct cluster *c, struct cluster_node *from, struct cluster_node *to);
/* Tells the node's connection when it will be needed. */
void cluster_nodes_expect(struct cluster *c, struct cluster_node *node);
/* Arms the sweep if there is a node to free: one that has no slot, no command and no connection. */
void cluster_nodes_tidy(struct cluster *c);
/* Frees them. Never from a call of one of them. */
void cluster_nodes_sweep(struct cluster *c);
void cluster_nodes_free(struct cluster_node *node);

/* cluster_links.c */

/* For a node: its watch, and its names. */
void cluster_links_fill(struct cluster_node *node, struct redis_store_env *ret_env);

/* cluster_clock.c: redis_store_env.adjust of a node. */
void cluster_clock_adjust(void *context, struct store_reply *reply);

/* cluster.c: redis_store_env.redirect of a node. */
bool cluster_redirect(void *context, struct redis_parcel *parcel, const char *error);
#endif
