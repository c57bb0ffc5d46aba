/* SPDX-License-Identifier: MIT
 * A server of a quorum that is connected, and refuses what it is asked. A majority goes on without
 * it, and the owner of the call is not told. */
#include "base/units.h"
#include "core/slot.h"
#include "redis/quorum_internal.h"

/* So long after its newest refusal any answer will do. */
#define REFUSED_MS HOUR_MS

void quorum_refusal_note(struct quorum_server *server, enum store_verb verb, uint16_t slot,
                         enum fault fault)
{
    server->refused_verb = verb;
    server->refused_slot = slot;
    server->refused_fault = fault;
    server->refused_at = redis_link_now();
}

/* Where the connection is at fault, or it is a replica, the connection's own change tells of that.
 */
static bool is_refusal(const struct store_reply *reply)
{
    return reply->status == STORE_ERROR && reply->fault != FAULT_LINK &&
           reply->fault != FAULT_REPLICA && reply->fault != FAULT_OURS;
}

/* Whether it does what it has refused. A full server takes renewals and ends all the while, and a
 * replica tells what grants nothing. Who never wins a turn sees no grant: what was not refused for
 * so long is over. */
static bool does_again(const struct quorum_server *server, const struct store_call *call,
                       enum store_verb verb, const struct store_reply *reply)
{
    int64_t since_ms = boot_between(server->refused_at, redis_link_now());

    if (server->refused_fault == FAULT_BUSY || since_ms >= REFUSED_MS)
        return verb == STORE_ACQUIRE || verb == STORE_RENEW;
    if (!fault_is_shared(server->refused_fault) && call->slot != server->refused_slot)
        return false;
    if (verb == STORE_ACQUIRE)
        return reply->acquire.answer == ACQUIRE_GRANTED;
    if (server->refused_fault == FAULT_REPLICA)
        return verb == STORE_RENEW && reply->renew.answer != RENEW_LOST;
    return verb == server->refused_verb;
}

/* So people are told. What it still does, such as telling the time, or another job's requests where
 * one job's key is at fault, does not end it. */
void quorum_refusal_heard(struct quorum_server *server, const struct store_call *call,
                          enum store_verb verb, const struct store_reply *reply)
{
    struct quorum_store *q = server->q;
    bool refuses = is_refusal(reply);
    bool ends = reply->status == STORE_ANSWERED && does_again(server, call, verb, reply);
    struct redis_store_facts facts;

    if (refuses)
        quorum_refusal_note(server, verb, call->slot, reply->fault);
    if (refuses == server->refuses || (!refuses && !ends))
        return;
    server->refuses = refuses;
    redis_store_facts(server->node, &facts);
    if (q->people.refused)
        q->people.refused(q->people.context, (size_t)(server - q->servers),
                          &(struct redis_refusal){ .endpoint = facts.endpoint,
                                                   .reason = refuses ? reply->error : NULL,
                                                   .fault = reply->fault },
                          quorum_count_left(q));
}
