/* SPDX-License-Identifier: MIT
 * support/model.h: the rules of acquire, renew and finish in little: one job's lock and claim,
 * without pause, history and fields that no rule reads. It is to judge the core by, so it is
 * written from PROTOCOL.md and the scripts alone, not from the core. */
#ifndef ROTA_TESTS_MODEL_H
#define ROTA_TESTS_MODEL_H
#include "core/store.h"

enum model_state {
    MODEL_EMPTY,
    MODEL_ASSUMED,
    MODEL_BLANK,
    MODEL_RUNNING,
    MODEL_GAVE_UP,
    MODEL_ENDED
};

struct model {
    char lock[TOKEN_SIZE]; /* "" where it is free */
    int64_t lock_end_ms;
    enum model_state state;
    char token[TOKEN_SIZE];
    int64_t turn, done, retry, delay, ttl;
    uint32_t attempt, streak, watch;
    int64_t watched; /* the turn that `watch` counts for */
    uint64_t fence;
    bool ended;         /* the newest attempt's end was told; not: only given up by others */
    bool held, gave_up; /* what the last finish answered: for its repeat */
};

/* The token that holds the lock at `now`; "" where it is free. */
const char *model_holder(const struct model *m, int64_t now);
/* What the script would answer to `r` at the server's `now`. */
struct store_reply model_acquire(struct model *m, int64_t now, const struct store_request *r);
struct store_reply model_renew(struct model *m, int64_t now, const struct store_request *r);
struct store_reply model_finish(struct model *m, int64_t now, const struct store_request *r);
#endif
