/* SPDX-License-Identifier: MIT
 * core/call_queue.h: the calls that wait until a store can send them, the oldest first. It owns
 * none, and uses their fields next and state. All zero: empty. */
#ifndef ROTA_CORE_CALL_QUEUE_H
#define ROTA_CORE_CALL_QUEUE_H
#include "core/store.h"
#include <stddef.h>

/* Of store_call.state. */
enum call_state {
    CALL_IDLE,
    CALL_QUEUED,
    CALL_SENT /* the store's own */
};

struct call_queue {
    struct store_call *first, *last;
};

/* The call is CALL_QUEUED then. It must not be in a queue. */
void call_queue_push(struct call_queue *q, struct store_call *call);
/* Takes a call that is in the queue out of it. It is CALL_IDLE then. */
void call_queue_remove(struct call_queue *q, struct store_call *call);
/* The oldest, taken out; NULL: there is none. */
struct store_call *call_queue_pop(struct call_queue *q);
size_t call_queue_count(const struct call_queue *q);
/* Takes all out. */
void call_queue_clear(struct call_queue *q);
#endif
