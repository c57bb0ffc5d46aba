/* SPDX-License-Identifier: MIT
 * core/memory.h: the in-memory store: exactly what redis/scripts/ do, to records in this process
 * (DESIGN section 4). It serves `store = "local"` and the simulator; a test runs the same random
 * commands against it and a real redis-server and demands the same replies.
 *
 * The caller owns the records and says what time it is by the store's clock. History is not kept
 * here: no reply depends on it. */
#ifndef ROTA_CORE_MEMORY_H
#define ROTA_CORE_MEMORY_H
#include "core/store.h"

/* What the scripts read of a lock's value. */
#define MEMORY_VALUE_SIZE 129
/* Schedules and first sights that a claim keeps. */
#define MEMORY_SCHEDULES_MAX 4

/* May be shared by records, as a lock_key is by jobs. */
struct memory_lock {
    char value[MEMORY_VALUE_SIZE]; /* "" where it is free */
    bool endless;                  /* a foreign one without expiry */
    struct wall until;             /* its last millisecond */
};

enum memory_state {
    MEMORY_NONE, /* no record */
    MEMORY_ASSUMED,
    MEMORY_BLANK,
    MEMORY_RUNNING,
    MEMORY_GAVE_UP,
    MEMORY_ENDED /* by `outcome` */
};

struct memory_sight {
    char print[FINGERPRINT_SIZE]; /* "": none */
    struct wall until;
    int64_t wait_ms;
};

/* The claim of one job; all zero: no record. */
struct memory_record {
    struct memory_lock *lock;
    const char *pause; /* why, at most 256 bytes; NULL: not paused. The caller's */
    enum memory_state state;
    enum outcome outcome;
    struct wall turn, done, retry, paused, watched;
    struct wall expires; /* its last millisecond (retention) */
    int64_t delay_ms, ttl_ms;
    uint64_t fence;
    uint32_t attempt, streak, watch;
    char token[TOKEN_SIZE];
    char schedules[MEMORY_SCHEDULES_MAX][FINGERPRINT_SIZE]; /* the newest first */
    struct memory_sight sights[MEMORY_SCHEDULES_MAX];
    bool manual, ended, held;
};

/* Does what the script of request->verb does at `now`, and fills the reply but for `sent` and
 * `received`. Its texts are valid until the record or its lock is next changed. NULL will do for
 * STORE_CLOCK. */
void memory_answer(struct memory_record *r, struct wall now, const struct store_request *request,
                   struct store_reply *ret_reply);
/* The value that holds the lock at `now`; "" where it is free. */
const char *memory_holder(const struct memory_lock *lock, struct wall now);
/* From the first moment that a store with no past knows a job: the turns up to `latest` have
 * passed, as though they had been asked for too late. A record with a turn stays as it is. */
void memory_assume(struct memory_record *r, struct wall now, const struct job_spec *spec,
                   struct wall latest);
#endif
