/* SPDX-License-Identifier: MIT
 * redis/node.h: the store on one Redis server: one connection of our own, hiredis's reader and
 * formatter as the codec, the Lua scripts by EVALSHA. Connects lazily, at the first submitted call.
 * Alone it is all of the store (one server, or the one that is tried in turn or that Sentinel
 * names); a cluster and a quorum have one for each server. */
#ifndef ROTA_REDIS_NODE_H
#define ROTA_REDIS_NODE_H
#include "redis/codec.h"
#include "redis/link.h"

struct redis_node;

/* A command that was composed. It outlives a cancelled call, since its reply still comes. In a
 * cluster it may go from node to node: the instant of its sending and its deadline stay those of
 * the first, so that the lease that its holder counts from them is never longer than the server's.
 */
struct redis_parcel {
    struct redis_link_request request;
    struct redis_node *node;     /* which has it now */
    struct store_call *call;     /* NULL: cancelled */
    const struct redis_raw *raw; /* NULL: a command of the store's */
    struct boot instant;
    bool by_body; /* EVAL was tried already */
    bool asking;  /* ASKING goes ahead of it */
    uint8_t hops; /* how often it was carried; for who redirects */
    uint16_t slot;
    struct redis_parcel *next; /* the node's, in no order: the link keeps that */
    struct redis_codec_command command;
};

/* From now on it wants a connection, and keeps it, also while nothing is queued; or no more. */
void redis_node_keep(struct redis_store *s, bool keeps);
/* Sends what is queued at once, as far as the connection takes it. Answers come later. */
void redis_node_send(struct redis_store *s);
/* The calls that are queued and have that slot go to another node, in their order. */
void redis_node_hand_over(struct redis_store *from, uint16_t slot, struct redis_store *to);

/* env.redirect(context, parcel, error): an error reply, which has changed nothing, may say in
 * `error` that the parcel belongs elsewhere. True: it is taken, by redis_node_carry() or
 * redis_node_refuse(). False: its call is answered with that error. It is never called for a
 * cancelled call's.
 *
 * redis_node_carry(): the parcel becomes this node's, and is sent, at the latest when the node has
 * a connection; where that cannot be had, or less than half of the parcel's time is left by then,
 * its call is answered STORE_ERROR: nothing was changed. It may be called from redirect() alone. */
void redis_node_carry(struct redis_store *s, struct redis_parcel *parcel, bool asking);
/* Its call is answered STORE_ERROR with these words. From redirect() alone, too. */
void redis_node_refuse(struct redis_parcel *parcel, enum fault class, const char *words);
/* What it is refused with where there is no connection to be had; the node's address. */
#define REDIS_NODE_AWAY "its node %s, which has the job's keys, cannot be reached"
#endif
