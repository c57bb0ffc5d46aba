/* SPDX-License-Identifier: MIT */
#include "supervisor/check_topology.h"

#include <stdio.h>

void check_topology_print(const struct config *c)
{
    const struct redis_config *redis = &c->redis;
    size_t servers = redis->server_count, sentinels = redis->sentinels.count;

    if (c->store == CONFIG_STORE_LOCAL)
        return;
    if (!redis->tls && (sentinels > 0 || redis->cluster))
        puts("All goes in the clear, also to servers that are learned: redis.tls is false.");
    if (servers > 0)
        printf("A lock is held where %zu of %zu servers grant it: %zu of them may be down. That\n"
               "is more available than one server, and no safer: an efficiency lock without a\n"
               "fence, on masters that share nothing. One that comes back without its newest\n"
               "writes can give a lock away a second time: rotad(8), QUORUM. Each question goes\n"
               "to all of them, and is so many times counted in what jobs cost.\n\n",
               servers / 2 + 1, servers, servers - servers / 2 - 1);
    else if (sentinels > 0)
        printf("Redis is the master that %s. Around a failover two servers can\n"
               "both be master for some seconds, and a turn may run twice: rotad(8), SENTINEL.\n\n",
               sentinels == 1 ? "a sentinel names" : "sentinels name");
    else if (redis->cluster)
        puts("Redis is a cluster. A failover of one of its nodes can lose the newest writes, a\n"
             "lock too, and a turn may run twice: rotad(8), CLUSTER.\n");
}
