/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "redis/reply.h"
#include "supervisor/control_ask.h"
#include <errno.h>
#include <string.h>

/* A text of Redis's, escaped: four bytes for each of those that a script gives at most. */
#define SHOWN_SIZE 2100

static int append_text(sd_bus_message *answer, const struct redisReply *e)
{
    static char shown[SHOWN_SIZE]; /* in the one thread */
    const char *text;
    size_t length;

    if (!redis_reply_text(e, &text, &length))
        return -EBADMSG;
    return sd_bus_message_append(answer, "s", text_escape(shown, sizeof shown, text, length));
}

static int append_element(sd_bus_message *answer, const struct redisReply *e, char type)
{
    int64_t number;

    if (type == 's')
        return append_text(answer, e);
    if (!redis_reply_number(e, &number))
        return -EBADMSG;
    if (type == 'x')
        return sd_bus_message_append(answer, "x", number);
    if (number < 0)
        return -EBADMSG;
    /* What somebody has damaged may be larger. */
    return sd_bus_message_append(answer, "u",
                                 (uint32_t)(number < UINT32_MAX ? number : UINT32_MAX));
}

/* Rows of `types`, one behind the other in the one array. */
static int append_rows(sd_bus_message *answer, const struct redisReply *array, size_t count,
                       const char *types)
{
    size_t columns = strlen(types);
    int rc = count % columns == 0 ? 0 : -EBADMSG;

    for (size_t i = 0; i < count && rc >= 0; i += columns) {
        rc = sd_bus_message_open_container(answer, 'r', types);
        for (size_t column = 0; column < columns && rc >= 0; column++)
            rc = append_element(answer, redis_reply_element(array, i + column), types[column]);
        if (rc >= 0)
            rc = sd_bus_message_close_container(answer);
    }
    return rc;
}

/* *at: behind the 'a', moves past it: "as" or "a(...)" with single types. */
static int append_array(sd_bus_message *answer, const struct redisReply *array, const char **at)
{
    char contents[16], types[16] = "";
    size_t length = **at == '(' ? strcspn(*at, ")") + 1 : 1;
    size_t count;
    int rc;

    if (!redis_reply_array(array, &count))
        return -EBADMSG;
    memcpy(contents, *at, length);
    contents[length] = 0;
    if (length > 1)
        memcpy(types, *at + 1, length - 2); /* the rest is 0 */
    *at += length;
    rc = sd_bus_message_open_container(answer, 'a', contents);
    if (rc >= 0 && length > 1)
        rc = append_rows(answer, array, count, types);
    for (size_t i = 0; i < count && length == 1 && rc >= 0; i++)
        rc = append_element(answer, redis_reply_element(array, i), contents[0]);
    return rc < 0 ? rc : sd_bus_message_close_container(answer);
}

static int append_rest(sd_bus_message *answer, const struct redisReply *reply, size_t count,
                       const char *signature)
{
    size_t i = 2;
    int rc = 0;

    while (*signature && rc >= 0) {
        if (i == count)
            return -EBADMSG;
        if (*signature == 'a') {
            signature++;
            rc = append_array(answer, redis_reply_element(reply, i), &signature);
        } else {
            rc = append_element(answer, redis_reply_element(reply, i), *signature++);
        }
        i++;
    }
    return rc < 0 ? rc : i == count ? 0 : -EBADMSG;
}

int control_reply_append(sd_bus_message *answer, const struct redisReply *reply,
                         const char *signature)
{
    size_t count;
    int rc;

    if (!redis_reply_array(reply, &count) || count < 2)
        return -EBADMSG;
    rc = append_element(answer, redis_reply_element(reply, 0), 's');
    if (rc >= 0)
        rc = append_element(answer, redis_reply_element(reply, 1), 'x');
    return rc < 0 ? rc : append_rest(answer, reply, count, signature);
}
