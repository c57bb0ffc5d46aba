/* SPDX-License-Identifier: MIT
 * config/address.h: the schema's type for Redis servers: one text or a list, into struct
 * redis_addresses. */
#ifndef ROTA_CONFIG_ADDRESS_H
#define ROTA_CONFIG_ADDRESS_H
#include "config/parse.h"
#include "config/schema.h"

void address_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                  void *dest);
bool address_equal(const void *a, const void *b, size_t size);
void address_free(void *dest);

/* Bytes on the way there pass no network. */
bool address_is_local(const struct redis_address *a);
#endif
