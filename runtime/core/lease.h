/* SPDX-License-Identifier: MIT
 * core/lease.h: one try of one turn, from the first question to the recorded end: a state machine.
 *
 * It owns the token, keeps one store call at a time, repeats what was not answered, renews, and
 * works out the deadline D before which the run's whole tree has to be gone. It decides nothing
 * about the schedule or the process: that is the job's, to which it speaks through `ops`. */
#ifndef ROTA_CORE_LEASE_H
#define ROTA_CORE_LEASE_H
#include "core/backoff.h"
#include "core/port.h"

#define LEASE_STATES(X)                                                                            \
    X(NONE, "no token is out")                                                                     \
    X(ASKING, "acquire is on its way; the store has not seen this token, or refused it")           \
    X(UNKNOWN, "acquire was sent and not answered: the same token is repeated")                    \
    X(HELD, "granted; no request is out")                                                          \
    X(RENEWING, "a renewal is on its way")                                                         \
    X(GONE, "the store said that it is another's: never renewed again")                            \
    X(CLOSING, "finish is on its way, repeated until it is recorded")

#define LEASE_EVENTS(X)                                                                            \
    X(ASK, "the job wants a turn")                                                                 \
    X(DROP, "the job wants it no more, and nothing was sent")                                      \
    X(REFUSE, "any answer but a grant: held, full, done, wait, paused, not for this device, ...")  \
    X(GRANT, "acquired, within the command time-out")                                              \
    X(MISS, "sent, and no whole reply; or a grant that came too late to be used")                  \
    X(REJECT, "an error reply: nothing was changed")                                               \
    X(EXPIRE, "the time to live has passed since the unknown acquire was last sent")               \
    X(DUE, "L/3 has passed since the last confirmed sending, or a back-off is over")               \
    X(CONFIRM, "renewed or regained")                                                              \
    X(USELESS, "a renewal would not move the deadline: the budget is used up")                     \
    X(TAKE, "the store says lost")                                                                 \
    X(END, "the run has ended, or will not be started")                                            \
    X(RECORD, "finish is recorded")

#define LEASE_ENUM_STATE(name, text) LEASE_##name,
#define LEASE_ENUM_EVENT(name, text) LEASE_EVENT_##name,
enum lease_state { LEASE_STATES(LEASE_ENUM_STATE) LEASE_STATE_COUNT } __attribute__((packed));
enum lease_event { LEASE_EVENTS(LEASE_ENUM_EVENT) LEASE_EVENT_COUNT };

struct lease;

/* What the lease tells its owner, and asks of it. All from inside a call or an answer of the store.
 */
struct lease_ops {
    /* Which turn to ask for, to be sent at `now`; false: none any more. */
    bool (*choose)(struct lease *l, struct boot now, struct wall *ret_turn);
    /* In ms: by so much more may the first question for l->turn come late, if the store has no
     * record of the job. */
    int64_t (*spread_ms)(const struct lease *l);
    /* Whether this device has a place among the watchers of that turn, and needs no second one. */
    bool (*watches)(const struct lease *l);
    /* choose() said none: no question is out any more. Nothing may be asked from inside. */
    void (*dropped)(struct lease *l, struct boot now);
    void (*granted)(struct lease *l, const struct store_reply *reply);
    /* `reply` says how; no token is out any more, unless the same turn is asked for again. */
    void (*refused)(struct lease *l, const struct store_reply *reply);
    /* An error reply, and nothing is out: ask again not before delay_ms from now. */
    void (*rejected)(struct lease *l, struct boot now, int64_t delay_ms);
    /* A request had no answer or an error reply; told before what follows from it. */
    void (*unanswered)(struct lease *l, enum store_verb verb, const struct store_reply *reply);
    /* A request had an answer that counts; told before what follows from it. */
    void (*answered)(struct lease *l);
    /* left_ms: so long before its run would have been asked to stop. */
    void (*confirmed)(struct lease *l, const struct store_reply *reply, int64_t left_ms);
    void (*taken)(struct lease *l, const struct store_reply *reply);
    void (*recorded)(struct lease *l, const struct store_reply *reply);
    /* Any reply, before what follows from it (its server time is a sample); and when all of that is
     * done, so that l->wake may have changed. */
    void (*heard)(struct lease *l, const struct store_reply *reply);
    void (*changed)(struct lease *l, struct boot now);
    /* An event that the present state does not know: a bug; counted and said, nothing is changed.
     */
    void (*illegal)(struct lease *l, enum lease_event event);
};

/* What all leases of a device share. */
struct lease_env {
    const struct lease_ops *ops;
    const struct core_port *port;
    const char *device;
    const char *machine;    /* store_request.device */
    const char *boot;       /* store_request.boot */
    char token[TOKEN_SIZE]; /* of the request that was composed last */
};

/* How the run ended, kept until finish is recorded. */
struct lease_end {
    struct wall covers;
    int64_t ran_ms;
    char *detail; /* kept by the port; NULL: nothing to say, or memory is short */
    enum outcome outcome;
    bool clean;
};

/* 128 random bits; the store sees them in hex, behind the device's name. */
#define LEASE_TOKEN_BYTES 16

/* What a lease is for. */
enum lease_way {
    LEASE_BY_SCHEDULE,
    LEASE_BY_HAND,     /* a turn of its own, at the store's now (PROTOCOL rule 15) */
    LEASE_BY_FORCE,    /* the same, also where the job is paused in the whole fleet */
    LEASE_WITHOUT_LOCK /* the same, and the store is neither asked nor told */
} __attribute__((packed));

struct lease {
    struct store_call call;
    struct lease_env *env;
    const struct job_spec *spec;

    uint8_t token[LEASE_TOKEN_BYTES];
    enum lease_state state;
    bool has_token;
    bool asked;     /* the store may know this token: it answered it once, or an answer was lost */
    bool in_flight; /* this question was handed to the store */
    bool quiet;     /* it is not repeated any more */
    enum lease_way way;
    uint8_t answer; /* the owner's: what became of the newest turn by the last answer, an enum
                       acquire_answer; ACQUIRE_EXHAUSTED also by the answer to finish */
    uint32_t attempt;
    uint32_t failures; /* error replies in a row */
    struct wall turn;  /* that this token asks for */
    uint64_t fence;
    uint64_t fence_seen;   /* the largest that this device has seen of the job */
    struct boot sent;      /* the last acquire with this token; t0, once it is granted */
    int64_t sent_ttl_ms;   /* what the last request asked for */
    struct boot deadline;  /* D; only a confirmed renewal moves it */
    struct boot confirmed; /* the sending of the last confirmed request */
    struct boot expires;   /* by that request the server ends the lock not later than this */
    struct boot wake;      /* lease_tick() has something to do then */
    struct lease_end end;
};

/* `env` and `spec` are kept, and must outlive the lease. */
void lease_init(struct lease *l, struct lease_env *env, const struct job_spec *spec);
/* Drops whatever is out, without a word to the store. */
void lease_done(struct lease *l);

/* Wants a turn: ops->choose says which, when it can be sent. Only with no token out. */
void lease_ask(struct lease *l, struct boot now);
/* LEASE_WITHOUT_LOCK: granted at once by the owner; its end is told to nobody. Only with no token
 * out. */
void lease_take(struct lease *l, struct boot now, struct wall turn);
/* The next question is one of a new token, even for the same turn. */
void lease_renew_token(struct lease *l);
/* A question without an answer is not repeated any more: it is granted what it may have been, and
 * no more. */
void lease_hush(struct lease *l);
/* Takes a question back, if there is one. False where it was sent, and might be granted yet, or has
 * been: then the answer is waited for. */
bool lease_drop(struct lease *l, struct boot now);
/* Of a question without an answer: whatever it was granted has run out by then. */
struct boot lease_unknown_until(const struct lease *l);
/* The run has ended (or is not started): l->end, which the owner has filled in, is told to the
 * store until that has recorded it. */
void lease_finish(struct lease *l, struct boot now);
/* The end, which the store was not told yet, is told it by the owner: as though it had recorded it.
 */
void lease_close(struct lease *l, struct boot now, bool gave_up);
/* Does what is due at l->wake. */
void lease_tick(struct lease *l, struct boot now);

/* The token as the store sees it; "" where there is none. */
void lease_token_text(const struct lease *l, char ret_text[TOKEN_SIZE]);
/* The device's name in a token, copied to ret_name; "" where the token is not one of ours. */
void lease_token_device(const char *token, char ret_name[DEVICE_NAME_MAX + 1]);

/* For tests and for the drawing in docs/: whether a cell is there, and where it leads. */
bool lease_cell(enum lease_state state, enum lease_event event, enum lease_state *ret_next);
const char *lease_state_name(enum lease_state state);
const char *lease_event_name(enum lease_event event);
#endif
