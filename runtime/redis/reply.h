/* SPDX-License-Identifier: MIT
 * redis/reply.h: a reply, for those who do not see hiredis. */
#ifndef ROTA_REDIS_REPLY_H
#define ROTA_REDIS_REPLY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply; /* hiredis's */

/* False where it is none. Texts end with a NUL, and belong to the reply. */
bool redis_reply_number(const struct redisReply *reply, int64_t *ret_number);
bool redis_reply_text(const struct redisReply *reply, const char **ret_text, size_t *ret_length);
/* One of Redis's own lines: "OK". */
bool redis_reply_status(const struct redisReply *reply, const char **ret_text);
bool redis_reply_array(const struct redisReply *reply, size_t *ret_count);
/* There must be one. */
const struct redisReply *redis_reply_element(const struct redisReply *array, size_t i);
#endif
