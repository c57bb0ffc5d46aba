/* SPDX-License-Identifier: MIT
 * config/version.h: the key `requires`. */
#ifndef ROTA_CONFIG_VERSION_H
#define ROTA_CONFIG_VERSION_H
#include "config/parse.h"

/* False, and noted, where the file needs a newer rota than this: it may then hold anything. True
 * too for what is no version. `s`: its setting, or NULL. */
bool version_suffices(struct reading *r, const config_setting_t *s);
/* Notes where config->requires is no version. `line`: where it stands. */
void version_check(struct reading *r, int line);
#endif
