/* SPDX-License-Identifier: MIT
 * supervisor/topology_words.h: what people are told of each server of a quorum, and of the nodes of
 * a cluster, by themselves; of the whole words_fault.h tells. librota-topology.so's. */
#ifndef ROTA_SUPERVISOR_TOPOLOGY_WORDS_H
#define ROTA_SUPERVISOR_TOPOLOGY_WORDS_H
#include "redis/quorum.h"
#include "supervisor/manager.h"

/* Of a cluster: one line for what a person has to mend at a node, and one when all are well again;
 * see redis/cluster.h. `context`: the manager. */
void topology_words_node(void *context, const struct redis_link_change *change, bool first);

/* Of a quorum: one line when a server is away, one when it is back; and a password that it refuses
 * is read again. 0, and *ret_people for redis_quorum_new(); or -ENOMEM. */
int topology_words_new(struct manager *m, size_t servers, struct redis_quorum_people *ret_people);
#endif
