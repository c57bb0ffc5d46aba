/* SPDX-License-Identifier: MIT
 * redis/settings.h: a copy of the settings that owns its texts. */
#ifndef ROTA_REDIS_SETTINGS_H
#define ROTA_REDIS_SETTINGS_H
#include "redis/store.h"

/* All but a quorum's servers. 0 and *ret_copy, one block: redis_settings_free() it; or -ENOMEM. */
int redis_settings_copy(const struct redis_settings *settings, struct redis_settings **ret_copy);
/* Replaces the server's password, or that of its sentinels; NULL: there is none any more. 1: it is
 * another one; 0: it is the same; -ENOMEM. */
int redis_settings_set_password(struct redis_settings *settings, bool of_sentinels,
                                const char *password);
/* Wipes the password. Accepts NULL. */
void redis_settings_free(struct redis_settings *settings);
#endif
