/* SPDX-License-Identifier: MIT
 * guard/settings.h: name=value texts of a command line as parameters. A name that comes more than
 * once is a list. */
#ifndef ROTA_GUARD_SETTINGS_H
#define ROTA_GUARD_SETTINGS_H
#include "ipc/messages.h"

/* `texts` ends with NULL; their storage is changed and must outlive the result. 0; -EINVAL where
 * one of them is no name=value (*ret_bad); -ENOMEM. Free with settings_free(). */
int settings_parse(char *const *texts, struct param_value **ret_params, uint32_t *ret_count,
                   const char **ret_bad);
void settings_free(struct param_value *params, uint32_t count);
#endif
