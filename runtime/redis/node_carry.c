/* SPDX-License-Identifier: MIT
 * Commands that go from node to node of a cluster. */
#include "base/text.h"
#include "redis/node_internal.h"
#include <errno.h>
#include <stdlib.h>

/* What a command is refused with for which the connection came too late; the node's address. */
#define TOO_LATE "too little time was left to ask its node %s, which has the job's keys"

static bool on_announced(struct redis_link_request *request, const redisReply *reply,
                         const struct redis_fault *fault)
{
    (void)reply; /* the command behind it has the reply that counts */
    (void)fault;
    free(request);
    return true;
}

static int announce(const struct redis_parcel *parcel)
{
    static const char *const words[] = { "ASKING" };
    static const size_t lengths[] = { sizeof "ASKING" - 1 };
    const struct redis_command command = { 1, words, lengths };
    struct redis_link_request *request = calloc(1, sizeof *request);
    int r;

    if (!request)
        return -ENOMEM;
    request->done = on_announced;
    request->deadline = parcel->request.deadline;
    r = redis_link_send(parcel->node->link, &command, request);
    if (r < 0)
        free(request);
    return r;
}

static void refuse_first(struct redis_node *node, bool late)
{
    struct redis_parcel *parcel = node->carried;
    char words[REDIS_FAULT_REASON_SIZE];
    struct redis_store_facts facts;

    redis_store_facts(&node->store, &facts);
    text_format(words, sizeof words, late ? TOO_LATE : REDIS_NODE_AWAY, facts.endpoint);
    redis_node_move_parcel(&node->carried, &node->parcels, parcel);
    redis_node_refuse(parcel, FAULT_BUSY, words);
}

/* Half of its time is for the answer. A command that is sent with less would end the connection by
 * its time-out, and on a long way each of its repeats would, too; refused, it is asked again, and
 * goes straight to this connection, with all of its time. */
static bool is_late(const struct redis_parcel *parcel)
{
    struct boot deadline = parcel->request.deadline;

    return boot_between(redis_link_now(), deadline) < boot_between(parcel->instant, deadline) / 2;
}

static void send_first(struct redis_node *node)
{
    struct redis_parcel *parcel = node->carried;
    bool late = is_late(parcel);

    if (parcel->call && !late && redis_node_send_parcel(parcel) == 0)
        redis_node_move_parcel(&node->carried, &node->parcels, parcel);
    else
        refuse_first(node, late);
}

static void move(struct redis_node *node, bool refuses)
{
    while (node->carried && refuses)
        refuse_first(node, false);
    while (node->carried && redis_link_has_room(node->link))
        send_first(node);
}

void redis_node_carry(struct redis_store *s, struct redis_parcel *parcel, bool asking)
{
    static const struct redis_carrier carrier = { .move = move, .announce = announce };
    struct redis_node *node = redis_node_of(s);

    node->carrier = &carrier;
    redis_node_move_parcel(&parcel->node->parcels, &node->carried, parcel);
    parcel->node = node;
    parcel->asking = asking;
    redis_link_kick(node->link, true);
}

void redis_node_hand_over(struct redis_store *from, uint16_t slot, struct redis_store *to)
{
    struct call_queue *queue = &redis_node_of(from)->queue;
    struct store_call *call = queue->first, *next;

    for (; call; call = next) {
        next = call->next;
        if (call->slot != slot)
            continue;
        call_queue_remove(queue, call);
        redis_store_submit(to, call, false);
    }
}
