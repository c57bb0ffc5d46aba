/* SPDX-License-Identifier: MIT
 * Fleet time is the clock of one node, the one that has the fleet's own keys: each node has a clock
 * of its own, and a fleet whose time went from one to the other with each answer would lose turns.
 * The others are ahead of it or behind by what was measured, so that their answers tell of it, too.
 */
#include "redis/cluster_internal.h"

/* A node whose clock has moved by more was set: how far it is ahead is measured anew. */
#define SET_MS 200

static void measure(struct cluster_node *node, const struct cluster_node *home)
{
    node->ahead_ms = time_sub_ms(node->clock.offset_ms, home->clock.offset_ms);
    node->is_measured = true;
}

/* Its newest sample is the best moment: afterwards only the two servers' drift adds to the error.
 */
static void measure_all(struct cluster *c, const struct cluster_node *home)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i]->clock.known)
            measure(c->nodes[i], home);
}

void cluster_clock_adjust(void *context, struct store_reply *reply)
{
    struct cluster_node *node = context;
    const struct cluster_node *home = cluster_nodes_owner(node->cluster, node->cluster->home_slot);
    int64_t moved_ms =
        fleet_clock_sample(&node->clock, reply->sent, reply->received, reply->server);

    if (!home || !home->clock.known)
        return;
    if (node == home)
        measure_all(node->cluster, home);
    else if (!node->is_measured || moved_ms > SET_MS || moved_ms < -SET_MS)
        measure(node, home);
    reply->server = wall_add(reply->server, time_sub_ms(0, node->ahead_ms));
}
