/* SPDX-License-Identifier: MIT
 * config/list.h: the schema's type for a list of texts, char ** that ends with NULL; one text alone
 * may stand for a list of one. The default is held as NULL. */
#ifndef ROTA_CONFIG_LIST_H
#define ROTA_CONFIG_LIST_H
#include "config/parse.h"
#include "config/schema.h"

void list_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
               void *dest);
bool list_equal(const void *a, const void *b, size_t size);
void list_free(void *dest);
#endif
