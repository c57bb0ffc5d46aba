/* SPDX-License-Identifier: MIT */
#include "redis/cluster_internal.h"

static bool is_whole(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (cluster_is_for_people(c->nodes[i]->fault))
            return false;
    return true;
}

/* Or have, and only rest. */
static bool serves(const struct cluster_node *node)
{
    return node->state == REDIS_LINK_UP || (node->state == REDIS_LINK_IDLE && node->was_up);
}

static bool others_serve(const struct cluster_node *node)
{
    const struct cluster *c = node->cluster;

    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i] != node && serves(c->nodes[i]))
            return true;
    return false;
}

static void tell_of_node(struct cluster *c, const struct redis_link_change *change)
{
    uint32_t bit = UINT32_C(1) << change->fault;
    bool first = (c->said & bit) == 0;

    c->said |= bit;
    if (c->people.node)
        c->people.node(c->people.context, change, first);
}

static void tell_all_well(struct cluster *c)
{
    if (c->said != 0 && c->people.node)
        c->people.node(c->people.context, NULL, false);
    c->said = 0;
}

static void tell(struct cluster_node *node, const struct redis_link_change *change)
{
    struct cluster *c = node->cluster;

    if (change->state == REDIS_LINK_WAITING && others_serve(node)) {
        tell_of_node(c, change);
        return;
    }
    c->shown = node;
    if (change->state == REDIS_LINK_UP && is_whole(c))
        tell_all_well(c);
    if (c->env.watch)
        c->env.watch(c->env.context, change);
}

/* Nobody is told of a failure yet while there is a node left that has not failed, too. */
static bool is_hopeful(const struct cluster_node *node)
{
    return node->state == REDIS_LINK_UP || node->state == REDIS_LINK_CONNECTING ||
           node->fault == FAULT_NONE;
}

/* Some other node may have its slots now, or knows who has: the failed one is asked again when
 * another one says that it has them still.
 *
 * People are told that the cluster is away where no node of it is left to be tried, and of what
 * waits for them. That one node of several is away shows in what the jobs say that need it. */
static void on_failure(struct cluster_node *node, const struct redis_link_change *change)
{
    struct cluster *c = node->cluster;
    bool is_missed = node->slots > 0;
    struct cluster_node *other = is_missed ? cluster_nodes_choose(c, node) : NULL;
    bool hopeful = other && is_hopeful(other);

    if (other)
        cluster_nodes_give_all(c, node, other);
    if ((is_missed && !hopeful) || cluster_is_for_people(change->fault))
        tell(node, change);
}

static void on_change(void *context, const struct redis_link_change *change)
{
    struct cluster_node *node = context;
    bool was_up = node->state == REDIS_LINK_UP;

    node->state = change->state;
    if (change->state == REDIS_LINK_UP)
        node->fault = FAULT_NONE;
    else if (change->fault != FAULT_NONE)
        node->fault = change->fault;
    if (change->state == REDIS_LINK_UP || change->state == REDIS_LINK_WAITING)
        node->was_up = was_up || change->state == REDIS_LINK_UP;
    if (change->state == REDIS_LINK_WAITING)
        on_failure(node, change);
    else
        tell(node, change);
    cluster_nodes_tidy(node->cluster);
}

static void on_random(void *context, void *buffer, size_t size)
{
    struct cluster_node *node = context;
    const struct redis_store_env *env = &node->cluster->env;

    env->random(env->context, buffer, size);
}

static int on_resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct cluster_node *node = context;

    return redis_lookups_ask(&node->cluster->lookups, host, port, lookup);
}

static void on_resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct cluster_node *node = context;

    redis_lookups_cancel(&node->cluster->lookups, lookup);
}

void cluster_links_fill(struct cluster_node *node, struct redis_store_env *ret_env)
{
    *ret_env = (struct redis_store_env){
        .event = node->cluster->env.event,
        .priority = node->cluster->env.priority,
        .random = on_random,
        .watch = on_change,
        .resolve = on_resolve,
        .resolve_cancel = on_resolve_cancel,
        .redirect = cluster_redirect,
        .adjust = cluster_clock_adjust,
        .context = node,
    };
}
