/* SPDX-License-Identifier: MIT
 * redis/ask.h: one command that is none of the store's, on the store's connection, for people. It
 * waits in the store's queue for a connection, and is sent when the store says that it may be: it
 * opens one where there is none, but hurries nothing. */
#ifndef ROTA_REDIS_ASK_H
#define ROTA_REDIS_ASK_H
#include "redis/outbox.h"
#include "redis/store.h"

struct redis_ask;
struct redisReply; /* hiredis's, to be read by the functions below */

struct redis_ask_plan {
    struct redis_store *store;
    struct redis_command command; /* its texts must stay until sent() */
    int64_t timeout_ms;           /* for the reply; then the store's connection is closed */
    void (*sent)(void *context);
    /* Once, from the event loop, and the ask is freed: the reply, which is valid during the call,
     * or NULL where none has come; and why it is of no use, a sentence part, or NULL. */
    void (*done)(void *context, const struct redisReply *reply, const char *reason);
    void *context;
};

/* Copies the plan. 0 or -ENOMEM. */
int redis_ask_new(const struct redis_ask_plan *plan, struct redis_ask **ret_ask);
/* Nothing is called any more, whatever arrives. Accepts NULL. */
void redis_ask_free(struct redis_ask *ask);

/* False where it is none. */
bool redis_ask_number(const struct redisReply *reply, int64_t *ret_number);
bool redis_ask_text(const struct redisReply *reply, const char **ret_text, size_t *ret_length);
bool redis_ask_array(const struct redisReply *reply, size_t *ret_count);
/* There must be one. */
const struct redisReply *redis_ask_element(const struct redisReply *array, size_t i);
#endif
