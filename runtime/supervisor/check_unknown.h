/* SPDX-License-Identifier: MIT
 * supervisor/check_unknown.h: the words that other tools have for what a key of rota says. */
#ifndef ROTA_SUPERVISOR_CHECK_UNKNOWN_H
#define ROTA_SUPERVISOR_CHECK_UNKNOWN_H
#include "config/schema.h"
#include <stdbool.h>

/* config_source.advise. The text is static. */
const char *check_unknown_advise(const struct schema_group *g, const char *name, bool is_group,
                                 const char **ret_key);
#endif
