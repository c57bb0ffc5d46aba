/* SPDX-License-Identifier: MIT
 * redis/sentinel_order.h: which sentinel is asked next: each once a round, the one that answered
 * last first. Pure. librota-topology.so's. */
#ifndef ROTA_REDIS_SENTINEL_ORDER_H
#define ROTA_REDIS_SENTINEL_ORDER_H
#include <stdbool.h>
#include <stddef.h>

struct sentinel_order {
    size_t count;
    size_t front; /* the one that answered last */
    size_t begin; /* of this round */
    size_t asked; /* in this round */
};

/* A round begins: with the front one, or, where what it said was of no use, or nobody has answered,
 * with the one behind the one that the last round began with: who begins may take the others' time
 * (names are resolved one after the other), so each of them begins once. */
static inline void sentinel_order_begin(struct sentinel_order *o, bool others)
{
    o->begin = others ? o->begin + 1 : o->front;
    o->asked = 0;
}

/* False: all were asked in this round. */
static inline bool sentinel_order_next(struct sentinel_order *o, size_t *ret_number)
{
    if (o->asked == o->count)
        return false;
    *ret_number = (o->begin + o->asked) % o->count;
    o->asked++;
    return true;
}

static inline void sentinel_order_answered(struct sentinel_order *o, size_t number)
{
    o->front = number;
    o->begin = number;
}
#endif
