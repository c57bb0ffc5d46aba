/* SPDX-License-Identifier: MIT
 * supervisor/check_online_words.h: the six lines about one Redis. */
#ifndef ROTA_SUPERVISOR_CHECK_ONLINE_WORDS_H
#define ROTA_SUPERVISOR_CHECK_ONLINE_WORDS_H
#include "redis/survey.h"

/* `settings`: of the one server that was tried. To stdout, at most 80 columns wide: name,
 * connection, tls, login, scripts, server; "!" before a line that needs a look, "x" before what
 * keeps rota from working. `keys_left`: lock_keys that were not looked up. Returns the exit status
 * that this server calls for: 0, EX_UNAVAILABLE or EX_NOPERM. */
int check_online_words_print(const struct redis_settings *settings,
                             const struct redis_survey_end *end, size_t keys_left);
#endif
