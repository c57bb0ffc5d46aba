/* SPDX-License-Identifier: MIT
 * redis/traffic.h: what a link has cost since it was made, over all its connections. */
#ifndef ROTA_REDIS_TRAFFIC_H
#define ROTA_REDIS_TRAFFIC_H
#include <stdint.h>

struct redis_link;

struct redis_traffic {
    uint64_t sent_bytes, received_bytes; /* with those of TLS, without those of TCP and below */
    uint32_t connections;                /* on which Redis has answered */
};

/* Valid as long as the link. */
const struct redis_traffic *redis_link_traffic(const struct redis_link *link);
#endif
