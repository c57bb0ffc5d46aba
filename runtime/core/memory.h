/* SPDX-License-Identifier: MIT
 * core/memory.h: the in-memory store: exactly what redis/scripts/ do, to claims in this process
 * (DESIGN section 4). It serves `store = "local"` and the simulator; a test runs the same random
 * commands against it and a real redis-server and demands the same replies.
 *
 * The caller owns the claims and says what time it is by the store's clock. History is not kept
 * here: no reply depends on it. What device scope takes is in core/memory_seats.h, what the fleet
 * as a whole takes in core/memory_fleet.h. */
#ifndef ROTA_CORE_MEMORY_H
#define ROTA_CORE_MEMORY_H
#include "core/store.h"

/* What the scripts read of a lock's value. */
#define MEMORY_VALUE_SIZE 129
/* Schedules and first sights that a claim keeps. */
#define MEMORY_SCHEDULES_MAX 4
/* The layout of claims. */
#define MEMORY_LAYOUT 1

/* May be shared by claims, as a lock_key is by jobs. */
struct memory_lock {
    char value[MEMORY_VALUE_SIZE]; /* "" where it is free */
    bool endless;                  /* a foreign one without expiry */
    struct wall until;             /* its last millisecond */
};

enum memory_state {
    MEMORY_NONE, /* no claim */
    MEMORY_ASSUMED,
    MEMORY_BLANK,
    MEMORY_RUNNING,
    MEMORY_GAVE_UP,
    MEMORY_ENDED /* by `outcome` */
};

struct memory_sight {
    char print[FINGERPRINT_SIZE]; /* "": none; "*": every schedule waits */
    struct wall until;
    int64_t wait_ms;
};

struct memory_pause {
    char why[STORE_TEXT_SIZE]; /* "": not paused */
    bool endless;
    struct wall until; /* its last millisecond */
};

/* What answers say of what they replaced. */
struct memory_texts {
    char print[FINGERPRINT_SIZE], printer[TOKEN_SIZE];
    char before[STORE_TEXT_SIZE];
};

/* The claim of one job; all zero but the pointers: there is none. What they point to is the
 * caller's, and stays when the claim expires. */
struct memory_claim {
    struct memory_lock *lock;
    struct memory_pause *pause; /* NULL: nobody pauses it; never with seats */
    struct memory_seats *seats; /* NULL: nobody asks for it in device scope */
    struct memory_texts *texts; /* may be of all claims; NULL: answers leave them out */
    enum memory_state state;
    enum outcome outcome;
    struct wall turn, done, retry, paused, watched;
    struct wall expires; /* its last millisecond (retention) */
    int64_t delay_ms, ttl_ms;
    uint64_t fence;
    uint32_t attempt, streak, watch;
    uint32_t version; /* the highest that has succeeded */
    uint32_t layout;  /* above MEMORY_LAYOUT: a newer rota's, which nothing here changes */
    char token[TOKEN_SIZE];
    char fingerprint[FINGERPRINT_SIZE];
    enum job_scope scope; /* by which whoever has that fingerprint asked */
    char schedules[MEMORY_SCHEDULES_MAX][FINGERPRINT_SIZE]; /* the newest first */
    struct memory_sight sights[MEMORY_SCHEDULES_MAX];
    bool manual, ended, held;
};

/* Does what the script of request->verb does at `now`, and fills the reply but for `sent` and
 * `received`. Its texts are valid until the claim, or what it points to, is next changed. For a
 * job's verbs; NULL will do for STORE_CLOCK. */
void memory_answer(struct memory_claim *r, struct wall now, const struct store_request *request,
                   struct store_reply *ret_reply);
/* The same for a store that one device has to itself: scope = "device" means no more there than
 * "fleet", and is answered as that. It takes no seats along into the program. */
void memory_answer_alone(struct memory_claim *r, struct wall now,
                         const struct store_request *request, struct store_reply *ret_reply);
/* The value that holds the lock at `now`; "" where it is free. */
const char *memory_holder(const struct memory_lock *lock, struct wall now);
/* From the first moment that a store with no past knows a job: the turns up to `latest` have
 * passed, as though they had been asked for too late. A claim with a turn stays as it is. */
void memory_assume(struct memory_claim *r, struct wall now, const struct job_spec *spec,
                   struct wall latest);
/* As if the claim had never been. */
void memory_forget(struct memory_claim *r);
#endif
