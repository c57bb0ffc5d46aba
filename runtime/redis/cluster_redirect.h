/* SPDX-License-Identifier: MIT
 * redis/cluster_redirect.h: what a node of a Redis Cluster says where another one has the keys:
 * "MOVED 3999 192.0.2.1:6379", "ASK 3999 2001:db8::1:6379", "MOVED 3999 :6379". Pure. */
#ifndef ROTA_REDIS_CLUSTER_REDIRECT_H
#define ROTA_REDIS_CLUSTER_REDIRECT_H
#include "redis/host.h"
#include <stdbool.h>
#include <stdint.h>

struct cluster_redirect {
    bool asks;                  /* ASK: for this one command; MOVED: from now on */
    uint16_t port;              /* never 0 */
    char host[REDIS_HOST_SIZE]; /* an address or a name; "": that of the node that says so */
};

/* 0; -ENOENT where the error is neither; -EDESTADDRREQ where the node does not know the other's
 * name ("?"); -EBADMSG where the rest is not what Redis says. */
int cluster_redirect_read(const char *error, struct cluster_redirect *ret_redirect);
#endif
