/* SPDX-License-Identifier: MIT
 * config/server.h: what the keys of `redis` must be together, and the password. */
#ifndef ROTA_CONFIG_SERVER_H
#define ROTA_CONFIG_SERVER_H
#include "config/group.h"

/* Reads the group (NULL: there is none) into config->redis, checks it whole, and reads
 * password_file. */
void server_read(struct reading *r, const config_setting_t *s);
/* Overwrites, then frees. */
void server_free(struct redis_config *redis);
#endif
