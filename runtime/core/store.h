/* SPDX-License-Identifier: MIT
 * core/store.h: the port between the core and whatever keeps the turns.
 *
 * A request is bound late: the owner submits a call, and when the store is able to send, it asks
 * the owner to compose the request for *that* instant. So a request never carries a time to live or
 * a turn that grew old while the link was down, and `sent` is the instant before its first byte was
 * handed over. */
#ifndef ROTA_CORE_STORE_H
#define ROTA_CORE_STORE_H
#include "core/fault.h"
#include "core/outcome.h"
#include "core/spec.h"

/* "device:32 hex digits", with its end. */
#define TOKEN_SIZE (DEVICE_NAME_MAX + 1 + 32 + 1)
/* Texts that come from Redis are cut to this, with the end. */
#define STORE_TEXT_SIZE 257

enum store_verb {
    STORE_CLOCK,   /* the server's time, nothing else; until hello exists */
    STORE_ACQUIRE, /* protocol/acquire.lua */
    STORE_RENEW,   /* protocol/renew.lua */
    STORE_FINISH,  /* protocol/finish.lua */
    STORE_VERB_COUNT
};

struct store_request {
    enum store_verb verb;
    const struct job_spec *job; /* NULL with STORE_CLOCK */
    const char *token;
    struct wall turn;
    uint32_t attempt; /* renew, finish */
    uint64_t fence;   /* acquire: the largest seen; renew, finish: the lease's own */
    int64_t ttl_ms;   /* acquire, renew */
    /* acquire */
    struct wall next; /* the first turn after `turn` */
    int64_t fresh_ms; /* how late a job without any record may still be taken */
    bool first_ask;   /* of this token */
    /* finish */
    enum outcome outcome;
    struct wall covers; /* the latest turn due at the run's end */
    int64_t ran_ms;
    const char *detail; /* for people; "" where there is none */
    bool clean;         /* false: some of the tree could not be killed */
};

enum store_status {
    STORE_ANSWERED,  /* `reply` holds */
    STORE_NO_ANSWER, /* sent, and no whole reply came: the outcome is unknown */
    STORE_ERROR      /* an error reply: nothing was changed (see `error`) */
};

enum acquire_answer {
    ACQUIRE_GRANTED,
    ACQUIRE_SPARE, /* granted before, and the turn was settled since: not to be started, to be given
                      back */
    ACQUIRE_HELD,
    ACQUIRE_DONE,
    ACQUIRE_PASSED,
    ACQUIRE_WAIT,
    ACQUIRE_EXHAUSTED,
    ACQUIRE_PAUSED,
    ACQUIRE_EARLY,
    ACQUIRE_OVER
};

enum renew_answer { RENEW_RENEWED, RENEW_REGAINED, RENEW_LOST };

/* Texts are valid during the call of answer() only, and untrusted: bounded, but not escaped. */
struct store_reply {
    enum store_status status;
    struct boot sent;     /* the instant before the first byte was handed to the socket */
    struct boot received; /* when the whole reply was there */
    struct wall server;   /* the server's clock; valid with STORE_ANSWERED */
    union {
        struct {
            enum acquire_answer answer;
            uint64_t fence;     /* granted: ours; held: the claim's newest */
            uint32_t attempt;   /* granted; exhausted: how many were made */
            struct wall turn;   /* granted; done, passed: the newest settled or taken */
            int64_t left_ms;    /* held: the lock's time left, -1 where it has none; wait, early */
            const char *holder; /* held: the lock's value; done: token of who ran it, or "" */
            struct wall holder_turn; /* held: 0 where the holder is not of this job */
            uint32_t watch;          /* held: place among those who were refused; 0: not counted */
            const char *why;         /* done, wait, paused, over */
            bool first;              /* exhausted: this question found it out */
        } acquire;
        struct {
            enum renew_answer answer;
            int64_t left_ms;
            const char *why; /* lost: the present holder, or a state */
        } renew;
        struct {
            bool held;    /* the lock was still ours */
            bool gave_up; /* no try is left for this turn */
        } finish;
    };
    enum fault fault;  /* STORE_ERROR, STORE_NO_ANSWER: its class; else FAULT_NONE */
    const char *error; /* STORE_ERROR, STORE_NO_ANSWER: a sentence part for people */
};

/* Embedded in its owner. */
struct store_call {
    /* Fills *ret_request for sending at `now`; false: not wanted any more, the call is dropped.
     * Pointers in the request are valid until any call is composed next: who sends it later copies
     * their texts. */
    bool (*compose)(struct store_call *call, struct boot now, struct store_request *ret_request);
    /* Exactly once for each submit() that was composed and not cancelled. */
    void (*answer)(struct store_call *call, const struct store_reply *reply);
    /* the store's own */
    struct store_call *next;
    struct boot sent;
    enum store_verb verb;
    uint8_t state; /* 0: idle; else the store's */
};
#endif
