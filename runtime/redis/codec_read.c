/* SPDX-License-Identifier: MIT */
#include "redis/codec_read.h"
#include "redis/inbox.h"
#include <assert.h>
#include <string.h>

/* Of a digest. */
#define OTHER_MAX 64
static_assert(STORE_HELLO_JOBS_MAX <= REDIS_INBOX_NESTED_MAX, "hello's reply comes in whole");

static bool read_number(const redisReply *element, int64_t least, int64_t *ret_number)
{
    if (element->type != REDIS_REPLY_INTEGER || element->integer < least ||
        element->integer > REDIS_CODEC_NUMBER_MAX)
        return false;
    *ret_number = element->integer;
    return true;
}

/* A foreign key may live for ages, and is no reason to call the reply none of rota's. */
static bool read_left(const redisReply *element, int64_t *ret_number)
{
    if (element->type == REDIS_REPLY_INTEGER && element->integer > REDIS_CODEC_NUMBER_MAX) {
        *ret_number = REDIS_CODEC_NUMBER_MAX;
        return true;
    }
    return read_number(element, -1, ret_number);
}

/* Cut to what is kept, and at a NUL. */
static bool read_text(const redisReply *element, char copy[STORE_TEXT_SIZE])
{
    size_t len;

    if (element->type != REDIS_REPLY_STRING)
        return false;
    len = strnlen(element->str, STORE_TEXT_SIZE - 1);
    memcpy(copy, element->str, len);
    copy[len] = '\0';
    return true;
}

static const struct redis_codec_shape *find_shape(const struct redis_codec_shape *shapes,
                                                  const redisReply *reply)
{
    const redisReply *word;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return NULL;
    word = reply->element[0];
    if (word->type != REDIS_REPLY_STRING)
        return NULL;
    for (const struct redis_codec_shape *shape = shapes; shape->word; shape++)
        if (strcmp(word->str, shape->word) == 0)
            return shape;
    return NULL;
}

/* The reply's own. One with a NUL counts as empty: somebody has damaged it, which is to cost no
 * connection, since others wait for it. */
static bool read_long(const redisReply *element, size_t most, const char **ret_text)
{
    if (element->type != REDIS_REPLY_STRING || element->len > most)
        return false;
    *ret_text = strlen(element->str) == element->len ? element->str : "";
    return true;
}

static bool read_turns(const redisReply *element, struct redis_codec_reading *reading)
{
    struct wall *done = reading->texts->done;

    if (element->type != REDIS_REPLY_ARRAY || element->elements > STORE_HELLO_JOBS_MAX)
        return false;
    for (size_t i = 0; i < element->elements; i++)
        if (!read_number(element->element[i], 0, &done[i].ms))
            return false;
    reading->turns = element->elements;
    return true;
}

static bool read_others(const redisReply *element, struct redis_codec_reading *reading)
{
    if (element->type != REDIS_REPLY_ARRAY || element->elements > STORE_HELLO_OTHERS_MAX)
        return false;
    for (size_t i = 0; i < element->elements; i++)
        if (!read_long(element->element[i], OTHER_MAX, &reading->other[i]))
            return false;
    reading->others = element->elements;
    return true;
}

static bool read_short(const redisReply *element, size_t place, struct redis_codec_reading *reading)
{
    char *copy;

    assert(reading->copied < REDIS_CODEC_TEXTS_MAX);
    copy = reading->texts->text[reading->copied++];
    copy[0] = '\0';
    reading->text[place] = copy;
    return !element || read_text(element, copy);
}

static bool read_element(char type, const redisReply *element, size_t place,
                         struct redis_codec_reading *reading)
{
    if (!element)
        return type == 'o' || (type == 't' && read_short(NULL, place, reading));
    switch (type) {
    case 's':
    case 't':
        return read_short(element, place, reading);
    case 'x':
        return read_long(element, STORE_CONFIG_TEXT_MAX, &reading->text[place]);
    case 'D':
        return read_turns(element, reading);
    case 'S':
        return read_others(element, reading);
    case 'l':
        return read_left(element, &reading->number[place]);
    default:
        return read_number(element, 0, &reading->number[place]);
    }
}

static bool read_elements(const struct redis_codec_shape *shape, const redisReply *reply,
                          struct redis_codec_reading *reading)
{
    for (size_t i = 0; shape->types[i]; i++) {
        const redisReply *element = i + 2 < reply->elements ? reply->element[i + 2] : NULL;

        if (!read_element(shape->types[i], element, i, reading))
            return false;
    }
    return true;
}

const struct redis_codec_shape *redis_codec_read(const struct redis_codec_shape *shapes,
                                                 const redisReply *reply, struct wall *ret_server,
                                                 struct redis_codec_reading *reading)
{
    const struct redis_codec_shape *shape = find_shape(shapes, reply);

    if (!shape || !read_number(reply->element[1], 1, &ret_server->ms) ||
        !read_elements(shape, reply, reading))
        return NULL;
    return shape;
}
