/* SPDX-License-Identifier: MIT
 * supervisor/topology_module.h: the contract between rotad and librota-topology.so, which makes one
 * store of several servers: a master that Sentinel names, a Redis Cluster, a quorum. It is loaded
 * where one of these is configured, before the store is opened, and stays; it calls functions of
 * rotad, those of lent.list. */
#ifndef ROTA_SUPERVISOR_TOPOLOGY_MODULE_H
#define ROTA_SUPERVISOR_TOPOLOGY_MODULE_H
#include "redis/store.h"
#include "supervisor/module.h"

/* The module's one symbol, a const struct topology_module. */
#define TOPOLOGY_SYMBOL "rota_topology"

struct topology_module {
    struct module module;
    /* As redis_node_new(), env's context being the manager, by which of settings' sentinels,
     * cluster and servers is there. */
    int (*make)(const struct redis_settings *settings, const struct redis_store_env *env,
                struct redis_store **ret_store);
    /* What finds a master by settings->sentinels: settings->finder of who opens a link itself. */
    const struct redis_finder_ops *sentinel;
};
#endif
