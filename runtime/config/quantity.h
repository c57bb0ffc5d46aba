/* SPDX-License-Identifier: MIT
 * config/quantity.h: the schema's types whose values are texts with units: durations, into int64_t
 * ms, and sizes, into int64_t bytes. */
#ifndef ROTA_CONFIG_QUANTITY_H
#define ROTA_CONFIG_QUANTITY_H
#include "config/parse.h"
#include "config/schema.h"

void quantity_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                   void *dest);
/* A default of the schema; "auto" is 0. */
int64_t quantity_default(const struct schema_key *k);
#endif
