/* SPDX-License-Identifier: MIT
 * redis/codec_read.h: a script's reply taken apart, by the shape that its first word calls for. */
#ifndef ROTA_REDIS_CODEC_READ_H
#define ROTA_REDIS_CODEC_READ_H
#include "redis/codec.h"

/* Beyond this Lua's numbers are no longer whole. */
#define REDIS_CODEC_NUMBER_MAX ((INT64_C(1) << 53) - 1)
#define REDIS_CODEC_ELEMENTS_MAX 14

/* One answer of a script: its first word, and the types of what follows the server's time: n a
 * number that is not negative, o one that may be missing, l a time left (-1: for ever), s a text, t
 * one that may be missing, x one that may be long, D an array of turns, S one of short texts. */
struct redis_codec_shape {
    const char *word;
    const char *types;
    int answer;
};

/* A reply on its way into an answer. */
struct redis_codec_reading {
    struct redis_codec_texts *texts;
    size_t copied; /* of them */
    /* The elements after word and time, by their place: a number or a text each. */
    int64_t number[REDIS_CODEC_ELEMENTS_MAX];
    const char *text[REDIS_CODEC_ELEMENTS_MAX];
    size_t turns, others;
    const char *other[STORE_HELLO_OTHERS_MAX];
};

/* A reply by one of `shapes` (word NULL ends them): fills *ret_server and *reading, whose texts are
 * set. NULL where it is none of them. */
const struct redis_codec_shape *redis_codec_read(const struct redis_codec_shape *shapes,
                                                 const redisReply *reply, struct wall *ret_server,
                                                 struct redis_codec_reading *reading);
#endif
