/* SPDX-License-Identifier: MIT */
#include "redis/reply.h"
#include <hiredis/hiredis.h>

bool redis_reply_number(const struct redisReply *reply, int64_t *ret_number)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        *ret_number = reply->integer;
    return reply->type == REDIS_REPLY_INTEGER;
}

bool redis_reply_text(const struct redisReply *reply, const char **ret_text, size_t *ret_length)
{
    if (reply->type != REDIS_REPLY_STRING)
        return false;
    *ret_text = reply->str;
    *ret_length = reply->len;
    return true;
}

bool redis_reply_status(const struct redisReply *reply, const char **ret_text)
{
    if (reply->type == REDIS_REPLY_STATUS)
        *ret_text = reply->str;
    return reply->type == REDIS_REPLY_STATUS;
}

bool redis_reply_array(const struct redisReply *reply, size_t *ret_count)
{
    if (reply->type == REDIS_REPLY_ARRAY)
        *ret_count = reply->elements;
    return reply->type == REDIS_REPLY_ARRAY;
}

const struct redisReply *redis_reply_element(const struct redisReply *array, size_t i)
{
    return array->element[i];
}
