/* SPDX-License-Identifier: MIT
 * redis/cluster.h: the store on a Redis Cluster: a node (redis/node.h) for each of its servers that
 * is needed. librota-topology.so's. */
#ifndef ROTA_REDIS_CLUSTER_H
#define ROTA_REDIS_CLUSTER_H
#include "redis/store.h"

/* For people, about a node by itself; env.watch tells of all together: REDIS_LINK_WAITING is that
 * no node serves. */
struct redis_cluster_people {
    /* REDIS_LINK_WAITING: this one is for a person to mend, and others serve; `first`: of that
     * fault, since all were well. NULL: all that are needed are well again. */
    void (*node)(void *context, const struct redis_link_change *change, bool first);
    void *context;
};

/* settings->endpoints are nodes of the cluster, any of them. `people` is copied; NULL: nobody wants
 * to know. As redis_node_new(). */
int redis_cluster_new(const struct redis_settings *settings, const struct redis_store_env *env,
                      const struct redis_cluster_people *people, struct redis_store **ret_store);
#endif
