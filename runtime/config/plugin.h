/* SPDX-License-Identifier: MIT
 * config/plugin.h: from a plugin as a job names it to the file. Nothing is loaded here. */
#ifndef ROTA_CONFIG_PLUGIN_H
#define ROTA_CONFIG_PLUGIN_H
#include "config/reading.h"

/* Sets plugin_path of the present job, or notes why there is none. `line`: where `plugin` stands.
 */
void plugin_find(struct reading *r, int line);
#endif
