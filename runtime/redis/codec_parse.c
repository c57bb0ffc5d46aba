/* SPDX-License-Identifier: MIT */
#include "redis/codec.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this Lua's numbers are no longer whole. */
#define NUMBER_MAX ((INT64_C(1) << 53) - 1)
#define ELEMENTS_MAX 7

/* One answer of a script: its first word, and the types of what follows the server's time: n a
 * number that is not negative, l a time left (-1: for ever), s a text, t a text that may be
 * missing. */
struct shape {
    const char *word;
    const char *types;
    int answer;
};

static const struct shape acquire_shapes[] = {
    { "acquired", "nnn", ACQUIRE_GRANTED },
    { "spare", "nnn", ACQUIRE_SPARE },
    { "held", "lsnnn", ACQUIRE_HELD },
    { "done", "nst", ACQUIRE_DONE },
    { "passed", "n", ACQUIRE_PASSED },
    { "wait", "ns", ACQUIRE_WAIT },
    { "exhausted", "nn", ACQUIRE_EXHAUSTED },
    { "paused", "s", ACQUIRE_PAUSED },
    { "early", "n", ACQUIRE_EARLY },
    { "over", "s", ACQUIRE_OVER },
    { NULL, NULL, 0 },
};

static const struct shape renew_shapes[] = {
    { "renewed", "l", RENEW_RENEWED },
    { "regained", "l", RENEW_REGAINED },
    { "lost", "ls", RENEW_LOST },
    { NULL, NULL, 0 },
};

static const struct shape finish_shapes[] = {
    { "recorded", "nn", 0 },
    { NULL, NULL, 0 },
};

/* The elements after word and time, by their place: a number or a text each. */
struct elements {
    int64_t number[ELEMENTS_MAX];
    const char *text[ELEMENTS_MAX];
};

static bool read_number(const redisReply *element, int64_t least, int64_t *ret_number)
{
    if (element->type != REDIS_REPLY_INTEGER || element->integer < least ||
        element->integer > NUMBER_MAX)
        return false;
    *ret_number = element->integer;
    return true;
}

/* A foreign key may live for ages, and is no reason to call the reply none of rota's. */
static bool read_left(const redisReply *element, int64_t *ret_number)
{
    if (element->type == REDIS_REPLY_INTEGER && element->integer > NUMBER_MAX) {
        *ret_number = NUMBER_MAX;
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

static const struct shape *find_shape(const struct shape *shapes, const redisReply *reply)
{
    const redisReply *word;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return NULL;
    word = reply->element[0];
    if (word->type != REDIS_REPLY_STRING)
        return NULL;
    for (const struct shape *shape = shapes; shape->word; shape++)
        if (strcmp(word->str, shape->word) == 0)
            return shape;
    return NULL;
}

static bool read_elements(const struct shape *shape, const redisReply *reply,
                          struct redis_codec_texts *texts, struct elements *ret_elements)
{
    size_t copied = 0;

    for (size_t i = 0; shape->types[i]; i++) {
        const redisReply *element = i + 2 < reply->elements ? reply->element[i + 2] : NULL;
        char type = shape->types[i];
        bool fits;

        if (type == 's' || type == 't') {
            char *copy;

            assert(copied < REDIS_CODEC_TEXTS_MAX);
            copy = texts->text[copied++];
            copy[0] = '\0';
            ret_elements->text[i] = copy;
            fits = element ? read_text(element, copy) : type == 't';
        } else {
            int64_t *number = &ret_elements->number[i];

            fits = element &&
                   (type == 'l' ? read_left(element, number) : read_number(element, 0, number));
        }
        if (!fits)
            return false;
    }
    return true;
}

static int fill_acquire(enum acquire_answer answer, const struct elements *e,
                        struct store_reply *reply)
{
    __auto_type a = &reply->acquire;

    memset(a, 0, sizeof *a);
    a->answer = answer;
    a->holder = "";
    a->why = "";
    switch (answer) {
    case ACQUIRE_GRANTED:
    case ACQUIRE_SPARE:
        a->fence = (uint64_t)e->number[0];
        a->attempt = (uint32_t)e->number[1];
        a->turn.ms = e->number[2];
        return e->number[1] >= 1 && e->number[1] <= UINT32_MAX ? 0 : -EBADMSG;
    case ACQUIRE_HELD:
        a->left_ms = e->number[0];
        a->holder = e->text[1];
        a->holder_turn.ms = e->number[2];
        a->fence = (uint64_t)e->number[3];
        a->watch = e->number[4] > UINT32_MAX ? UINT32_MAX : (uint32_t)e->number[4];
        return 0;
    case ACQUIRE_DONE:
        a->turn.ms = e->number[0];
        a->why = e->text[1];
        a->holder = e->text[2];
        return 0;
    case ACQUIRE_PASSED:
        a->turn.ms = e->number[0];
        return 0;
    case ACQUIRE_WAIT:
        a->left_ms = e->number[0];
        a->why = e->text[1];
        return 0;
    case ACQUIRE_EXHAUSTED:
        a->attempt = (uint32_t)e->number[0];
        a->first = e->number[1] != 0;
        return e->number[0] <= UINT32_MAX ? 0 : -EBADMSG;
    case ACQUIRE_EARLY:
        a->left_ms = e->number[0];
        return 0;
    case ACQUIRE_PAUSED:
    case ACQUIRE_OVER:
        a->why = e->text[0];
        return 0;
    }
    return -EBADMSG;
}

static int fill_renew(enum renew_answer answer, const struct elements *e, struct store_reply *reply)
{
    reply->renew.answer = answer;
    reply->renew.left_ms = e->number[0];
    reply->renew.why = answer == RENEW_LOST ? e->text[1] : "";
    return 0;
}

static bool read_decimal(const redisReply *element, int64_t *ret_number)
{
    char *end;
    long long number;

    /* strtoll takes blanks and signs, TIME gives none. */
    if (element->type != REDIS_REPLY_STRING || element->str[0] < '0' || element->str[0] > '9')
        return false;
    errno = 0;
    number = strtoll(element->str, &end, 10);
    if (errno != 0 || *end || number > NUMBER_MAX / 1000)
        return false;
    *ret_number = number;
    return true;
}

/* TIME: seconds, and the microseconds of the present one. */
static int parse_clock(const redisReply *reply, struct store_reply *ret_reply)
{
    int64_t seconds, micros;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !read_decimal(reply->element[0], &seconds) || !read_decimal(reply->element[1], &micros) ||
        micros >= 1000000)
        return -EBADMSG;
    ret_reply->server.ms = seconds * 1000 + micros / 1000;
    return 0;
}

int redis_codec_parse(enum store_verb verb, const redisReply *reply,
                      struct redis_codec_texts *texts, struct store_reply *ret_reply)
{
    static const struct shape *const shapes[STORE_VERB_COUNT] = {
        [STORE_ACQUIRE] = acquire_shapes,
        [STORE_RENEW] = renew_shapes,
        [STORE_FINISH] = finish_shapes,
    };
    const struct shape *shape;
    struct elements elements = { 0 };

    if (verb == STORE_CLOCK)
        return parse_clock(reply, ret_reply);
    shape = find_shape(shapes[verb], reply);
    if (!shape || !read_number(reply->element[1], 1, &ret_reply->server.ms) ||
        !read_elements(shape, reply, texts, &elements))
        return -EBADMSG;
    if (verb == STORE_ACQUIRE)
        return fill_acquire((enum acquire_answer)shape->answer, &elements, ret_reply);
    if (verb == STORE_RENEW)
        return fill_renew((enum renew_answer)shape->answer, &elements, ret_reply);
    ret_reply->finish.held = elements.number[0] != 0;
    ret_reply->finish.gave_up = elements.number[1] != 0;
    return 0;
}
