/* SPDX-License-Identifier: MIT
 * config/topology.h: what Redis is: one server or another of a list, the master that sentinels
 * know, a cluster, or a quorum of servers; and the schema's type for the groups of the last. */
#ifndef ROTA_CONFIG_TOPOLOGY_H
#define ROTA_CONFIG_TOPOLOGY_H
#include "config/server.h"

/* Checks the keys of `redis`, which have been read, and reads the groups of `quorum` (NULL: it is
 * not written). */
void topology_read(struct reading *r, const struct server_keys *keys,
                   const config_setting_t *quorum);

bool topology_servers_equal(const void *a, const void *b, size_t size);
void topology_servers_free(void *dest);
#endif
