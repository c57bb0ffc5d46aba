/* SPDX-License-Identifier: MIT
 * config/value.h: one key's value: read, default, compare and free, each by the schema's
 * type. `base` is the struct that the key's group describes. */
#ifndef ROTA_CONFIG_VALUE_H
#define ROTA_CONFIG_VALUE_H
#include "config/parse.h"
#include "config/schema.h"

/* Where the value is kept. */
void *value_at(const struct schema_key *k, void *base);
const void *value_at_const(const struct schema_key *k, const void *base);
/* Of the types whose value is a number. */
int64_t value_number(const struct schema_key *k, const void *base);
/* Reads the setting into base, or notes what is wrong with it and leaves what was there. Of groups
 * it does nothing: whose they are reads them. */
void value_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                void *base);
/* Of texts and numbers, to where there is none yet. */
void value_copy(struct reading *r, const struct schema_key *k, const void *from, void *to);
/* The schema's default, where there is a plain one. */
void value_default(struct reading *r, const struct schema_key *k, void *base);
/* A number's: it is the schema's default. */
bool value_is_default(const struct schema_key *k, const void *base);
bool value_equal(const struct schema_key *k, const void *a, const void *b);
void value_free(const struct schema_key *k, void *base);

/* "name = "example"" for messages. Returns buf. */
char *value_example(const struct schema_key *k, char *buf, size_t size);
#define VALUE_EXAMPLE_SIZE 128
#endif
