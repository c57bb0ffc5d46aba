/* SPDX-License-Identifier: MIT
 * redis/refusal.h: error replies that concern the connection, not the command. */
#ifndef ROTA_REDIS_REFUSAL_H
#define ROTA_REDIS_REFUSAL_H
#include <stdbool.h>

/* True where the server will serve nobody on this connection: it is a replica, is loading, is full,
 * or asks for a login. Judged by the error's first word, since the rest differs between servers; a
 * server before 7.0 wraps an error from within a script in an ERR of its own. */
bool redis_refusal_closes(const char *error);
/* EVALSHA of a script that the server does not have (any more). */
bool redis_refusal_wants_body(const char *error);
#endif
