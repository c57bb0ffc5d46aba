/* SPDX-License-Identifier: MIT
 * redis/scripts.h: the Lua scripts, embedded when rota is built (embed.cmake). */
#ifndef ROTA_REDIS_SCRIPTS_H
#define ROTA_REDIS_SCRIPTS_H
#include <stddef.h>

struct redis_script {
    const char *sha1; /* of the body, 40 lower-case hex digits: what EVALSHA asks for */
    const char *body; /* ends in NUL, which body_len does not count */
    size_t body_len;
};

extern const struct redis_script redis_script_acquire, redis_script_renew, redis_script_finish;
#endif
