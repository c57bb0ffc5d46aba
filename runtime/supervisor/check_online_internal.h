/* SPDX-License-Identifier: MIT
 * supervisor/check_online_internal.h: one try after the other. Private to check_online*.c. */
#ifndef ROTA_SUPERVISOR_CHECK_ONLINE_INTERNAL_H
#define ROTA_SUPERVISOR_CHECK_ONLINE_INTERNAL_H
#include "supervisor/check_online_words.h"
#include "supervisor/resolver.h"

struct online;

/* Of a command, at most; a NULL or the array ends it. */
#define ONLINE_WORDS_MAX 3

/* One command, and what is made of it. */
struct online_question {
    const char *words[ONLINE_WORDS_MAX];
    /* Of the answer: false where no server that is meant says such a thing. NULL: any will do. */
    bool (*take)(const struct online_question *q, const struct redisReply *reply);
    /* Of the end: a status, or a negative errno. */
    int (*say)(const struct online_question *q, const struct redis_settings *server,
               const struct redis_survey_end *end);
    void *context; /* of these two */
};

struct online {
    struct redis_settings settings; /* as the store has them */
    struct redis_store_env env;
    struct resolver resolver;
    const char *keys[REDIS_SURVEY_KEYS_MAX];
    size_t key_count, keys_left; /* those that are looked up, and the others */

    /* The try that goes on: with the six lines about a server, or, where there is one, a question.
     */
    const struct redis_settings *server;
    enum check_online_role role;
    const struct online_question *question;
    bool ended;
    int status;
    /* Of the last server. */
    bool done;    /* it answered whole */
    bool cluster; /* it is a node of one */
    bool tells;   /* it may be asked by INFO */
};

/* One server, with its six lines. Its status as check_online()'s, or a negative errno. */
int online_try_server(struct online *o, const struct redis_settings *server,
                      enum check_online_role role);
/* One command there. What say() returns, or a negative errno. */
int online_ask(struct online *o, const struct redis_settings *server,
               const struct online_question *question);
/* Whether that user may send `command` there, which is one word and harmless: where not, one line
 * says which right is missing, "+" and the word. 0 or EX_NOPERM, or a negative errno. */
int online_may(struct online *o, const struct redis_settings *server, const char *command,
               const char *right);
/* Settings of the one endpoint alone: no sentinels, no quorum. */
struct redis_settings online_alone(const struct redis_settings *settings,
                                   const struct redis_endpoint *endpoint);

/* Each returns as check_online() does. */
int online_sentinels(struct online *o);
int online_cluster(struct online *o);
int online_quorum(struct online *o);
#endif
