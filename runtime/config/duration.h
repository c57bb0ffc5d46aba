/* SPDX-License-Identifier: MIT
 * config/duration.h: the schema's type for a duration: a text with a unit, into int64_t ms. */
#ifndef ROTA_CONFIG_DURATION_H
#define ROTA_CONFIG_DURATION_H
#include "config/parse.h"
#include "config/schema.h"

void duration_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                   void *dest);
void duration_print(const struct schema_key *k, const void *dest, FILE *out);
#endif
