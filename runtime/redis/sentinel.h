/* SPDX-License-Identifier: MIT
 * redis/sentinel.h: the finder that asks Sentinels where the master is, by the steps that Redis's
 * documentation has for clients (redis.io/docs/reference/sentinel-clients). librota-topology.so's.
 *
 * Sentinels are asked in turn, the one that answered last first. One that has not answered for half
 * a second is waited for on, but the next one is asked, too: the first address counts. Who does not
 * know the name is passed over. Whether the address is a master's is found out there (ROLE, see
 * redis/login.h); where it was not, the next question begins with another sentinel.
 *
 * The connection to the sentinel that answered stays, subscribed to +switch-master: a switch is a
 * hint to ask again. Where that connection is lost, the sentinels are asked again, in turn. */
#ifndef ROTA_REDIS_SENTINEL_H
#define ROTA_REDIS_SENTINEL_H
#include "redis/finder.h"

/* For settings with sentinels, at least one, and a master. The sentinels have TLS as their
 * endpoints say, and the master has it where the first of them has. */
extern const struct redis_finder_ops redis_sentinel_finder;
#endif
