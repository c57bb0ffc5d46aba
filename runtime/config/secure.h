/* SPDX-License-Identifier: MIT
 * config/secure.h: what the keys redis.tls... must be together, and their files. */
#ifndef ROTA_CONFIG_SECURE_H
#define ROTA_CONFIG_SECURE_H
#include "config/server.h"

/* Settles `tls` where it is not written, and has the files tried by config_source.try_tls. A
 * rotad that starts without that finds what is wrong with them when it connects. */
void secure_check(struct reading *r, const struct server_keys *keys);
/* A file or a credential that is not there now may be, once it counts: a warning. */
void secure_note_late(struct reading *r, int line, const char *key, const char *file);
#endif
