/* SPDX-License-Identifier: MIT */
#include "redis/ask.h"
#include "core/slot.h"
#include <errno.h>
#include <stdlib.h>

struct redis_ask {
    struct store_call call;
    struct redis_raw raw;
    struct redis_ask_plan plan;
};

static struct redis_ask *ask_of(struct store_call *call)
{
    return (struct redis_ask *)call; /* its first member */
}

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    struct redis_ask *ask = ask_of(call);

    (void)now;
    *ret_request = (struct store_request){ .verb = STORE_RAW, .raw = &ask->raw };
    ask->plan.sent(ask->plan.context);
    return true;
}

static void answer(struct store_call *call, const struct store_reply *reply)
{
    struct redis_ask *ask = ask_of(call);
    struct redis_ask_plan plan = ask->plan;

    free(ask);
    if (reply->status == STORE_ANSWERED)
        plan.done(plan.context, reply->raw, NULL, false);
    else
        plan.done(plan.context, NULL, reply->error, reply->status == STORE_NO_ANSWER);
}

int redis_ask_new(const struct redis_ask_plan *plan, struct redis_ask **ret_ask)
{
    struct redis_ask *ask = calloc(1, sizeof *ask);

    if (!ask)
        return -ENOMEM;
    ask->plan = *plan;
    ask->raw = (struct redis_raw){ .command = &ask->plan.command,
                                   .timeout_ms = plan->timeout_ms,
                                   .changes = plan->changes };
    ask->call =
        (struct store_call){ .compose = compose, .answer = answer, .slot = slot_of_key(plan->key) };
    redis_store_submit(plan->store, &ask->call, false);
    *ret_ask = ask;
    return 0;
}

void redis_ask_free(struct redis_ask *ask)
{
    if (!ask)
        return;
    redis_store_cancel(ask->plan.store, &ask->call);
    free(ask);
}
