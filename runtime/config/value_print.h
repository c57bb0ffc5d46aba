/* SPDX-License-Identifier: MIT
 * config/value_print.h: values as a conf file holds them, each by the schema's type. */
#ifndef ROTA_CONFIG_VALUE_PRINT_H
#define ROTA_CONFIG_VALUE_PRINT_H
#include "config/schema.h"
#include <stdio.h>

/* "name = value;" a line, each behind `indent`; of a group's values those that there are. `base` is
 * the struct that the group describes. */
void value_print_group(const struct schema_group *g, const void *base, const char *indent,
                       FILE *out);
/* A text in quotes that libconfig reads back to the same bytes. */
void value_print_text(const char *text, FILE *out);
#endif
