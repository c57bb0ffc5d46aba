/* SPDX-License-Identifier: MIT
 * config/server.h: what the keys of `redis` must be together, and the passwords. */
#ifndef ROTA_CONFIG_SERVER_H
#define ROTA_CONFIG_SERVER_H
#include "config/group.h"

/* A group of the keys of `redis`, and where they stand. */
struct server_keys {
    struct redis_config *redis;
    struct group_lines own;   /* in the group itself */
    struct group_lines lines; /* and, of a quorum's server, of the keys that it has from `redis` */
};

/* Reads the group (NULL: there is none) into config->redis, checks it whole, and reads the
 * passwords. */
void server_read(struct reading *r, const config_setting_t *s);
/* Whether the keys of login and TLS go together; reads the files. */
void server_check_access(struct reading *r, const struct server_keys *keys);
/* 0: not written. */
int server_line(const struct server_keys *keys, const char *name);
/* Overwrites, then frees. */
void server_free(struct redis_config *redis);
#endif
