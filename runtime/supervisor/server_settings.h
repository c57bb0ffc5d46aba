/* SPDX-License-Identifier: MIT
 * supervisor/server_settings.h: what the configuration says of Redis, for the store and for who
 * tries it out. */
#ifndef ROTA_SUPERVISOR_SERVER_SETTINGS_H
#define ROTA_SUPERVISOR_SERVER_SETTINGS_H
#include "config/config.h"
#include "redis/store.h"

/* Fills all of *ret_settings: it points into `c`, `device` (for people at the server) and one block
 * with the endpoints and a quorum's servers, which is returned: the caller frees it. NULL: memory
 * is short. */
void *server_settings_fill(const struct config *c, const char *device,
                           struct redis_settings *ret_settings);
#endif
