/* SPDX-License-Identifier: MIT
 * supervisor/check_online_words.h: the six lines about one Redis. */
#ifndef ROTA_SUPERVISOR_CHECK_ONLINE_WORDS_H
#define ROTA_SUPERVISOR_CHECK_ONLINE_WORDS_H
#include "redis/survey.h"

/* What the server is tried as. */
enum check_online_role {
    ONLINE_ALONE,
    ONLINE_MASTER, /* as its sentinels say */
    ONLINE_NODE,   /* of a Redis Cluster */
    ONLINE_VOICE,  /* in a quorum */
    ONLINE_SENTINEL
};

/* What is bad stays so when more of it needs a look. */
enum check_online_level { ONLINE_GOOD = 0, ONLINE_LOOK = 1, ONLINE_BAD = 2 };

/* `settings`: of the one server that was tried. To stdout, at most 80 columns wide: name,
 * connection, tls, login, scripts, server; "!" before a line that needs a look, "x" before what
 * keeps rota from working. `keys_left`: lock_keys that were not looked up. Returns the exit status
 * that this server calls for: 0, EX_UNAVAILABLE or EX_NOPERM; or -ENOMEM. */
int check_online_words_print(const struct redis_settings *settings,
                             const struct redis_survey_end *end, enum check_online_role role,
                             size_t keys_left);
/* Of a sentinel: the first four of these lines, and the same status. */
int check_online_words_sentinel(const struct redis_settings *settings,
                                const struct redis_survey_end *end);
/* One more line. `level`: of enum check_online_level, or-ed. Whatever is in it is escaped. */
void check_online_words_line(const char *name, unsigned int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
