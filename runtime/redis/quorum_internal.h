/* SPDX-License-Identifier: MIT
 * redis/quorum_internal.h: what the files of the quorum share: quorum.c (the servers, and when a
 * call may be sent), quorum_call.c (a call on its way), quorum_refusal.c (a server that refuses),
 * quorum_raw.c (people's commands). */
#ifndef ROTA_REDIS_QUORUM_INTERNAL_H
#define ROTA_REDIS_QUORUM_INTERNAL_H
#include "core/call_queue.h"
#include "core/quorum.h"
#include "redis/alarm.h"
#include "redis/lookups.h"
#include "redis/node.h"
#include "redis/quorum.h"

/* Commands that one server has not answered; it is passed over where it has so many. A connection
 * takes REDIS_LINK_IN_FLIGHT_MAX, and what is given back must find room. */
#define QUORUM_OUT_MAX 24

/* Grants to be given back to servers that cannot be told for now. */
#define QUORUM_OWED_MAX 64

struct quorum_store;
struct quorum_call;

struct quorum_server {
    struct quorum_store *q;
    struct redis_store *node;
    enum redis_link_state state;
    bool away;                    /* the last try failed, and it has not served since */
    bool served;                  /* it has, and nothing has failed since */
    bool refuses;                 /* its newest answer to a `refused_verb` of that slot was that */
    enum store_verb refused_verb; /* of its newest refusal */
    uint16_t refused_slot;        /* SLOT_COUNT: of no command */
    enum fault refused_fault;
    struct boot refused_at;
    uint32_t out; /* commands that it has not answered */
    struct boot up_since;
};

struct quorum_store {
    struct redis_store store;
    struct redis_store_env env;
    struct redis_quorum_people people;
    struct redis_lookups lookups;
    int64_t idle_timeout_ms;
    struct call_queue queue;   /* that wait for a majority */
    struct quorum_call *calls; /* that were sent */
    size_t undecided;          /* of them */
    struct quorum_clock clock;
    size_t owed;
    struct store_need need;
    sd_event_source *kick;
    struct redis_alarm alarm;   /* rings at the end of the patience */
    struct boot wanted_since;   /* connections are */
    struct boot patience;       /* a majority is there: the others are waited for until then */
    enum redis_link_state told; /* to env.watch */
    bool keeps, hurried, faulty;
    size_t n;
    struct quorum_server servers[QUORUM_SERVERS_MAX];
};

/* --- quorum.c --- */

/* Whether a command may be sent there now. */
bool quorum_can_ask(const struct quorum_server *server);
/* From the event loop, soon: what is queued may go, or what is kept need not be any more. */
void quorum_kick(struct quorum_store *q);
/* Servers that are not known to be away, nor to refuse; those that were never reached yet are among
 * them: nobody knows. */
size_t quorum_count_left(const struct quorum_store *q);

/* --- quorum_refusal.c --- */

/* It refuses that; `slot` is SLOT_COUNT where it was no command. */
void quorum_refusal_note(struct quorum_server *server, enum store_verb verb, uint16_t slot,
                         enum fault fault);
/* What it says to one request of its own, not of people: whether it is of use. The call has the
 * slot of the request's keys. */
void quorum_refusal_heard(struct quorum_server *server, const struct store_call *call,
                          enum store_verb verb, const struct store_reply *reply);

/* --- quorum_call.c --- */

/* Asks all servers that can be asked; the owner is CALL_SENT until it is answered, or was not
 * wanted any more. */
void quorum_call_start(struct quorum_store *q, struct store_call *owner);
/* The call of a round that is out. What it is granted is given back. */
void quorum_call_cancel(struct quorum_store *q, struct store_call *owner);
/* Gives back what is owed to servers that can be told by now. */
void quorum_call_pay(struct quorum_store *q);
size_t quorum_call_pending(const struct quorum_store *q);
/* The servers' nodes are gone, and with them all that was out. */
void quorum_call_free_all(struct quorum_store *q);

/* --- quorum_raw.c: what people change, of whose replies the first word says what became of it ---
 */

struct quorum_raw;

struct quorum_raw *quorum_raw_new(void);
void quorum_raw_free(struct quorum_raw *r); /* accepts NULL */
/* The servers that are asked, a bit each, of `servers`. */
void quorum_raw_expect(struct quorum_raw *r, size_t servers, unsigned asked);
/* Takes one reply. True once: a majority has said the same; or all have replied, and it is what
 * most of them said, if these are a majority: of two, the one that names something. Else it is
 * unknown: on some it may have been done. *ret_reply is valid until the next call. */
bool quorum_raw_take(struct quorum_raw *r, const struct store_reply *reply,
                     struct store_reply *ret_reply);
#endif
