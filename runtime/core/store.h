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
#include <stddef.h>

/* "device:32 hex digits", with its end. */
#define TOKEN_SIZE (DEVICE_NAME_MAX + 1 + 32 + 1)
/* Texts that come from Redis are cut to this, with the end. */
#define STORE_TEXT_SIZE 257
/* store_request.next: by hand, also where the job is paused. */
#define STORE_NEXT_FORCED (-1)
/* Jobs that one hello may ask for; who has more asks in slices, by further hellos of weight -1 ...
 */
#define STORE_HELLO_JOBS_MAX 1000
/* ... and configurations of others that it is told of. */
#define STORE_HELLO_OTHERS_MAX 8
/* A configuration's text; more is not sent. */
#define STORE_CONFIG_TEXT_MAX 32768

enum store_verb {
    STORE_CLOCK, /* the server's time, nothing else */
    /* Of a job's lock, or in device scope of a seat: redis/scripts/NAME.lua or seat_NAME.lua. */
    STORE_ACQUIRE,
    STORE_RENEW,
    STORE_FINISH,
    /* Of the fleet. */
    STORE_HELLO,      /* its size, who is there, what was done: hello.lua */
    STORE_INDEX,      /* tells hello the newest settled turn of a job: index.lua */
    STORE_CONFIG_GET, /* the text of a configuration in use: config_get.lua */
    STORE_CONFIG_PUT, /* this device's own, where hello wants it: config_put.lua */
    /* Of a job, for people. */
    STORE_PAUSE,  /* pause.lua */
    STORE_RESUME, /* resume.lua */
    STORE_VERB_COUNT,
    STORE_RAW = STORE_VERB_COUNT /* a command that only the store itself understands */
};

struct store_request {
    enum store_verb verb;
    const struct job_spec *job; /* NULL with STORE_CLOCK, and with hello and configurations */
    const char *token;
    struct wall turn; /* index: the newest settled */
    /* Device scope, hello. Names this machine among all of the fleet, and stays over a restart: the
     * device's name and what tells it from another of that name. No blanks. */
    const char *device;
    const char *boot; /* changes with each boot; no blanks */
    uint32_t attempt; /* renew, finish */
    uint64_t fence;   /* acquire: the largest seen; renew, finish: the lease's own */
    int64_t ttl_ms;   /* acquire, renew */
    /* acquire */
    struct wall next; /* the first turn after `turn`; 0: by hand, and `turn` is 0, too */
    /* How late a job without any record may still be taken; in device scope, where this device saw
     * the turn come, with the time over which first questions are spread. */
    int64_t fresh_ms;
    bool first_ask; /* of this token */
    /* finish */
    enum outcome outcome;
    struct wall covers; /* the latest turn due at the run's end */
    int64_t ran_ms;
    const char *detail; /* for people; "" where there is none */
    bool clean;         /* false: some of the tree could not be killed */
    union {
        struct {
            int64_t weight_ms; /* until the next; 0: the first since this start; -1: a slice, which
                                  counts for nothing */
            int64_t retention_ms; /* the longest of the device's jobs */
            int64_t used_ms;      /* a configuration is in use for so long after a hello with it */
            const char *version;  /* rota's */
            const char *digest;   /* of the device's configuration; "": none */
            const char *jobs;     /* keys of jobs, a blank between two; "": none */
        } hello;
        struct {
            const char *digest;
            const char *text; /* put */
            int64_t retention_ms;
        } config;
        struct {
            const char *text; /* "WHO: WHY" */
            int64_t for_ms;   /* 0: until it is resumed */
        } pause;
        struct {
            bool catch_up; /* what fell due meanwhile has not passed */
        } resume;
        const void *raw; /* the store's own */
    };
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
    ACQUIRE_FULL, /* device scope: no seat is free; this device has a place in the queue */
    ACQUIRE_DONE,
    ACQUIRE_PASSED,
    ACQUIRE_WAIT,
    ACQUIRE_EXHAUSTED,
    ACQUIRE_PAUSED,
    ACQUIRE_EARLY,
    ACQUIRE_OVER,
    ACQUIRE_MISMATCH, /* the job runs now by the other scope */
    ACQUIRE_OUTDATED, /* a higher version of the job has succeeded */
    ACQUIRE_NEWER,    /* the claim is of a layout that this rota does not know */
    ACQUIRE_SPLIT     /* of a quorum alone: no device has a majority; to be asked again soon */
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
            uint64_t fence;   /* granted: ours; held: the claim's newest */
            uint32_t attempt; /* granted; exhausted: how many were made */
            struct wall turn; /* granted; done, passed: the newest settled or taken */
            /* held: the lock's time left, -1 where it has none; in device scope that of the seat of
             * this device's run before. paused: the pause's, -1 where it has no end. wait, early.
             * full, split: ask again then. */
            int64_t left_ms;
            const char *holder;      /* held: the lock's value; done: token of who ran it, or "";
                                        mismatch: whose run it is */
            struct wall holder_turn; /* held: 0 where the holder is not of this job */
            uint32_t watch;      /* held: place among those who were refused; 0: not counted. full:
                                    place in the queue, from 1 */
            uint32_t seats;      /* full: how many are taken */
            const char *why;     /* done, wait, paused, over; mismatch: the scope that runs */
            uint64_t version;    /* outdated: the highest that has succeeded; newer: the layout */
            bool first;          /* exhausted: this question found it out */
            const char *print;   /* the claim's fingerprint where that is another's; else "" */
            const char *printer; /* with print: token of the run that it is of, or "" */
        } acquire;
        struct {
            enum renew_answer answer;
            int64_t left_ms;
            const char *why; /* lost: the present holder, or a state */
        } renew;
        struct {
            bool held;    /* the lock was still ours */
            bool gave_up; /* no try is left for this turn */
            bool
                stopped; /* device scope: with this failure the job was paused in the whole fleet */
        } finish;
        struct {
            uint32_t fleet;  /* devices, from 1 */
            uint32_t hellos; /* what that estimate comes from, of this hour and the last */
            uint32_t boots;  /* first hellos, of devices that started in this hour or the last
                                 and had not been heard of for two */
            bool twin;       /* another machine says hello by this one's name */
            bool wanted;     /* the store has no text of the digest, and takes one */
            size_t jobs;     /* as many as were asked for, in that order */
            const struct wall *done; /* the newest settled turn of each; 0: not known */
            size_t others;
            const char *other[STORE_HELLO_OTHERS_MAX]; /* digests that others have used within
                                                          used_ms, the newest first */
        } hello;
        struct {
            const char *text; /* "": not there */
        } config;
        struct {
            const char *before; /* the text that stood there; "": it was not paused */
        } pause;                /* and resume */
        const void *raw;        /* the store's own; then `server` is not known */
    };
    enum fault fault; /* STORE_ERROR, STORE_NO_ANSWER: its class; else FAULT_NONE */
    bool spent;       /* acquire, of a quorum alone: its token was given back, and is over; the next
                         question needs another */
    const char *error; /* STORE_ERROR, STORE_NO_ANSWER: a sentence part for people */
};

/* A token is out: the connection is needed, whatever comes. */
#define STORE_NEED_NOW ((struct boot){ INT64_MIN })

/* What a device is going to ask, as far as it knows. */
struct store_need {
    struct boot next;  /* its next question, at the earliest; BOOT_NEVER: there is none */
    struct boot watch; /* the next that a takeover hangs on: a connection is to be there by then */
    uint16_t watch_slot; /* of that one, as store_call.slot */
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
    /* The owner's, changed only while the call is not submitted: for the store of this device
     * alone, where a shared one stands beside it. */
    bool local;
    /* The owner's, set for good: where a cluster has the keys of all its requests (core/slot.h). */
    uint16_t slot;
};
#endif
