/* SPDX-License-Identifier: MIT
 * config/params.h: the schema's type for a plugin's settings, into params, param_lines and
 * param_count of struct job_config, in order of name. What they mean is the plugin's; the probe
 * checks that. */
#ifndef ROTA_CONFIG_PARAMS_H
#define ROTA_CONFIG_PARAMS_H
#include "config/parse.h"
#include "config/schema.h"

/* Names and texts of one job: with the rest of a start they fit into one frame to the guard. */
#define PARAMS_BYTES_MAX ((size_t)64 * 1024)
#define PARAMS_NAME_MAX 63

void params_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                 void *dest);
bool params_equal(const void *a, const void *b, size_t size);
void params_free(void *dest);
#endif
