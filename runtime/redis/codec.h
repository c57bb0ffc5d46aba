/* SPDX-License-Identifier: MIT
 * redis/codec.h: requests of the store as Redis commands, and replies of the scripts as answers.
 * Pure. */
#ifndef ROTA_REDIS_CODEC_H
#define ROTA_REDIS_CODEC_H
#include "core/store.h"
#include "redis/outbox.h"
#include "redis/scripts.h"
#include <hiredis/hiredis.h>

/* EVALSHA, its script, the number of keys, 7 keys, 15 arguments. */
#define REDIS_CODEC_ARGUMENTS_MAX 25
/* All keys, numbers and short texts of one command. */
#define REDIS_CODEC_TEXT_SIZE 3072
/* No answer has more short ones. */
#define REDIS_CODEC_TEXTS_MAX 4
/* `detail` is cut to this. */
#define REDIS_CODEC_DETAIL_MAX 512

/* A composed command. Points into itself: it must not move. */
struct redis_codec_command {
    enum store_verb verb;
    const struct redis_script *script; /* NULL with TIME */
    size_t count;
    const char *arguments[REDIS_CODEC_ARGUMENTS_MAX];
    size_t lengths[REDIS_CODEC_ARGUMENTS_MAX];
    char *large; /* on the heap: the one argument that may be long; or NULL */
    char *body;  /* on the heap: the script's, once it is to be sent; or NULL */
    size_t used;
    char text[REDIS_CODEC_TEXT_SIZE];
};

/* What store_reply points into, beside the reply itself. */
struct redis_codec_texts {
    char text[REDIS_CODEC_TEXTS_MAX][STORE_TEXT_SIZE];
    struct wall done[STORE_HELLO_JOBS_MAX];
};

/* Composes TIME or EVALSHA. 0; -EMSGSIZE where names and texts are longer than their limits;
 * -ENOMEM. In every case it is to be given to redis_codec_done(). */
int redis_codec_compose(const struct store_request *request, const char *prefix,
                        struct redis_codec_command *ret_command);
void redis_codec_done(struct redis_codec_command *command);
/* Turns EVALSHA into EVAL, all else the same; there must be a script, and this not be done yet.
 * 0 or -ENOMEM. */
int redis_codec_use_body(struct redis_codec_command *command);
struct redis_command redis_codec_view(const struct redis_codec_command *command);

/* Fills all of *ret_reply but status, sent, received and error; it is valid as long as reply and
 * texts are. 0, or -EBADMSG where the reply is
 * none that our script (or TIME) can give: a word that is none of ours, a missing element, a type
 * or number that cannot be. */
int redis_codec_parse(enum store_verb verb, const redisReply *reply,
                      struct redis_codec_texts *texts, struct store_reply *ret_reply);
#endif
