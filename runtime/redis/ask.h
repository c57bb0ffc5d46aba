/* SPDX-License-Identifier: MIT
 * redis/ask.h: one command that is none of the store's, for people. It waits in the store's queue
 * for a connection: it opens one where there is none, but hurries nothing. */
#ifndef ROTA_REDIS_ASK_H
#define ROTA_REDIS_ASK_H
#include "redis/outbox.h"
#include "redis/store.h"

struct redis_ask;
struct redisReply; /* redis/reply.h */

struct redis_ask_plan {
    struct redis_store *store;
    struct redis_command command; /* its texts must stay until done() or redis_ask_free() */
    const char *key;              /* the first of its keys */
    int64_t timeout_ms;           /* for the reply; then the connection is closed */
    bool changes;                 /* it is no question */
    void (*sent)(void *context);
    /* Once, from the event loop, and the ask is freed: the reply, which is valid during the call;
     * or NULL, and why there is none, a sentence part. `lost`: it was sent, and may have arrived.
     */
    void (*done)(void *context, const struct redisReply *reply, const char *reason, bool lost);
    void *context;
};

/* Copies the plan. 0 or -ENOMEM. */
int redis_ask_new(const struct redis_ask_plan *plan, struct redis_ask **ret_ask);
/* Nothing is called any more, whatever arrives. Accepts NULL. */
void redis_ask_free(struct redis_ask *ask);
#endif
