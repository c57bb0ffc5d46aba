/* SPDX-License-Identifier: MIT */
#include "redis/ask.h"
#include "redis/link.h"
#include <errno.h>
#include <stdlib.h>

struct redis_ask {
    struct store_call call; /* its place in the store's queue; never composed to its end */
    struct redis_link_request request;
    struct redis_ask_plan plan;
    bool sent;
    bool unheard; /* freed while it was sent: its reply comes all the same */
};

static void end(struct redis_ask *ask, const redisReply *reply, const char *reason)
{
    struct redis_ask_plan plan = ask->plan;
    bool unheard = ask->unheard;

    free(ask);
    if (!unheard)
        plan.done(plan.context, reply, reason);
}

static bool on_done(struct redis_link_request *request, const redisReply *reply,
                    const struct redis_fault *fault)
{
    struct redis_ask *ask =
        (struct redis_ask *)((char *)request - offsetof(struct redis_ask, request));

    end(ask, reply, fault ? fault->reason : NULL);
    return true;
}

/* The store may send, and this is what it sends: a command behind its back. */
static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    struct redis_ask *ask = (struct redis_ask *)call; /* its first member */

    (void)ret_request;
    ask->request.done = on_done;
    ask->request.deadline = boot_add(now, ask->plan.timeout_ms);
    if (redis_link_send(redis_store_link(ask->plan.store), &ask->plan.command, &ask->request) < 0) {
        end(ask, NULL, "memory is short");
        return false;
    }
    ask->sent = true;
    ask->plan.sent(ask->plan.context);
    return false;
}

int redis_ask_new(const struct redis_ask_plan *plan, struct redis_ask **ret_ask)
{
    struct redis_ask *ask = calloc(1, sizeof *ask);

    if (!ask)
        return -ENOMEM;
    ask->plan = *plan;
    ask->call.compose = compose;
    redis_store_submit(plan->store, &ask->call, false);
    *ret_ask = ask;
    return 0;
}

void redis_ask_free(struct redis_ask *ask)
{
    if (!ask)
        return;
    ask->unheard = true;
    if (ask->sent)
        return;
    redis_store_cancel(ask->plan.store, &ask->call);
    free(ask);
}

bool redis_ask_number(const struct redisReply *reply, int64_t *ret_number)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        *ret_number = reply->integer;
    return reply->type == REDIS_REPLY_INTEGER;
}

bool redis_ask_text(const struct redisReply *reply, const char **ret_text, size_t *ret_length)
{
    if (reply->type != REDIS_REPLY_STRING)
        return false;
    *ret_text = reply->str;
    *ret_length = reply->len;
    return true;
}

bool redis_ask_array(const struct redisReply *reply, size_t *ret_count)
{
    if (reply->type == REDIS_REPLY_ARRAY)
        *ret_count = reply->elements;
    return reply->type == REDIS_REPLY_ARRAY;
}

const struct redisReply *redis_ask_element(const struct redisReply *array, size_t i)
{
    return array->element[i];
}
