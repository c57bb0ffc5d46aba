/* SPDX-License-Identifier: MIT
 * redis/codec.h: requests of the store as Redis commands, and replies of the scripts as answers.
 * Pure. */
#ifndef ROTA_REDIS_CODEC_H
#define ROTA_REDIS_CODEC_H
#include "core/store.h"
#include "redis/outbox.h"
#include "redis/scripts.h"
#include <hiredis/hiredis.h>

/* EVALSHA, its script, the number of keys, 4 keys, 13 arguments. */
#define REDIS_CODEC_ARGUMENTS_MAX 20
/* All keys, numbers and texts of one command. */
#define REDIS_CODEC_TEXT_SIZE 2048
/* No answer has more. */
#define REDIS_CODEC_TEXTS_MAX 2
/* `detail` is cut to this. */
#define REDIS_CODEC_DETAIL_MAX 512

/* A composed command. Points into itself: it must not move. */
struct redis_codec_command {
    enum store_verb verb;
    const struct redis_script *script; /* NULL with TIME */
    size_t count;
    const char *arguments[REDIS_CODEC_ARGUMENTS_MAX];
    size_t lengths[REDIS_CODEC_ARGUMENTS_MAX];
    size_t used;
    char text[REDIS_CODEC_TEXT_SIZE];
};

/* The texts of one reply; store_reply points into them. */
struct redis_codec_texts {
    char text[REDIS_CODEC_TEXTS_MAX][STORE_TEXT_SIZE];
};

/* Composes TIME or EVALSHA. 0, or -EMSGSIZE where names and texts are longer than their limits. */
int redis_codec_compose(const struct store_request *request, const char *prefix,
                        struct redis_codec_command *ret_command);
/* Turns EVALSHA into EVAL, all else the same. Nothing happens to TIME. */
void redis_codec_use_body(struct redis_codec_command *command);
struct redis_command redis_codec_view(const struct redis_codec_command *command);

/* Fills all of *ret_reply but status, sent, received and error. 0, or -EBADMSG where the reply is
 * none that our script (or TIME) can give: a word that is none of ours, a missing element, a type
 * or number that cannot be. */
int redis_codec_parse(enum store_verb verb, const redisReply *reply,
                      struct redis_codec_texts *texts, struct store_reply *ret_reply);
#endif
