/* SPDX-License-Identifier: MIT
 * config/folders.h: the schema's type for a list of absolute paths, char ** that ends with NULL. */
#ifndef ROTA_CONFIG_FOLDERS_H
#define ROTA_CONFIG_FOLDERS_H
#include "config/parse.h"
#include "config/schema.h"

void folders_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                  void *dest);
bool folders_is_set(const void *dest);
void folders_print(const struct schema_key *k, const void *dest, FILE *out);
bool folders_equal(const void *a, const void *b, size_t size);
void folders_free(void *dest);
#endif
