/* SPDX-License-Identifier: MIT
 * librota-topology.so: its one symbol. */
#include "redis/cluster.h"
#include "redis/quorum.h"
#include "redis/sentinel.h"
#include "supervisor/topology_module.h"
#include "supervisor/topology_words.h"

static int make_quorum(const struct redis_settings *settings, const struct redis_store_env *env,
                       struct redis_store **ret_store)
{
    struct redis_quorum_people people;
    int r = topology_words_new(env->context, settings->server_count, &people);

    if (r < 0)
        return r;
    r = redis_quorum_new(settings, env, &people, ret_store);
    if (r < 0)
        people.free(people.context);
    return r;
}

static int make(const struct redis_settings *settings, const struct redis_store_env *env,
                struct redis_store **ret_store)
{
    struct redis_settings found = *settings;

    if (settings->server_count > 0)
        return make_quorum(settings, env, ret_store);
    if (settings->cluster)
        return redis_cluster_new(
            settings, env,
            &(struct redis_cluster_people){ .node = topology_words_node, .context = env->context },
            ret_store);
    found.finder = &redis_sentinel_finder;
    found.endpoints = settings->sentinels; /* see redis/finder.h */
    found.endpoint_count = 1;
    return redis_node_new(&found, env, ret_store);
}

extern const struct topology_module rota_topology;
__attribute__((visibility("default"))) const struct topology_module rota_topology = {
    .module = { .version = ROTA_VERSION, .layout = MODULE_LAYOUT },
    .make = make,
    .sentinel = &redis_sentinel_finder,
};
