/* SPDX-License-Identifier: MIT */
#include "core/call_queue.h"

void call_queue_push(struct call_queue *q, struct store_call *call)
{
    call->next = NULL;
    call->state = CALL_QUEUED;
    if (q->last)
        q->last->next = call;
    else
        q->first = call;
    q->last = call;
}

void call_queue_remove(struct call_queue *q, struct store_call *call)
{
    struct store_call *before = NULL, *c = q->first;

    for (; c != call; c = c->next)
        before = c;
    if (before)
        before->next = call->next;
    else
        q->first = call->next;
    if (q->last == call)
        q->last = before;
    call->next = NULL;
    call->state = CALL_IDLE;
}

struct store_call *call_queue_pop(struct call_queue *q)
{
    struct store_call *call = q->first;

    if (call)
        call_queue_remove(q, call);
    return call;
}

size_t call_queue_count(const struct call_queue *q)
{
    size_t count = 0;

    for (const struct store_call *call = q->first; call; call = call->next)
        count++;
    return count;
}

void call_queue_clear(struct call_queue *q)
{
    while (call_queue_pop(q))
        continue;
}
