/* SPDX-License-Identifier: MIT
 * redis/sentinel_peer.h: one sentinel: a connection on which it is asked for the master's address,
 * and which then stays subscribed to the news that the master is another one.
 * librota-topology.so's.
 */
#ifndef ROTA_REDIS_SENTINEL_PEER_H
#define ROTA_REDIS_SENTINEL_PEER_H
#include "redis/link.h"
#include "redis/sentinel_answer.h"

struct sentinel_peer;

/* Called from the event loop only. */
struct sentinel_peer_owner {
    /* The answer to sentinel_peer_ask(), or to what it asked by itself, since there was news; NULL:
     * it knows no master of that name. */
    void (*answered)(void *context, struct sentinel_peer *peer,
                     const struct sentinel_address *address);
    /* There is no connection, or none any more: it was closed. */
    void (*failed)(void *context, struct sentinel_peer *peer, enum fault class, const char *reason);
    void *context;
};

/* Embedded in its owner. */
struct sentinel_peer {
    const struct sentinel_peer_owner *owner;
    const struct redis_store_env *env;
    const struct redis_settings *all; /* it is one of their sentinels, */
    size_t number;                    /* this one */
    struct redis_settings *own;       /* the link's */
    struct redis_link *link;          /* NULL: none; what is closed is freed later */
    bool open;                        /* it is used */
    bool asked;                       /* for the owner: its answer is waited for */
    bool wants;                       /* it is to be asked */
    bool asking;                      /* its answer is on its way */
    bool busy;                        /* or that to the subscription behind it */
    bool subscribed;                  /* RESP2 takes no question meanwhile */
    unsigned heard;                   /* how much news since then: */
    struct boot heard_since;
    struct redis_link_request get, subscribe, unsubscribe;
};

/* Keeps all. `number`: which of the settings' sentinels. */
void sentinel_peer_init(struct sentinel_peer *peer, const struct sentinel_peer_owner *owner,
                        const struct redis_store_env *env, const struct redis_settings *settings,
                        size_t number);
void sentinel_peer_done(struct sentinel_peer *peer);
/* Asks it, once, on the connection that there is, or on a new one. Not to be called from its own
 * callbacks. 0, -ENOMEM, or an error of sd-event. */
int sentinel_peer_ask(struct sentinel_peer *peer);
/* Nothing comes any more. The connection is there until sentinel_peer_sweep(). */
void sentinel_peer_close(struct sentinel_peer *peer);
/* Frees what was closed. Not to be called from its callbacks. */
void sentinel_peer_sweep(struct sentinel_peer *peer);
#endif
