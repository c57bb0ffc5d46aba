/* SPDX-License-Identifier: MIT */
#include "redis/link_internal.h"
#include <errno.h>

static void drop_alien(struct redis_link *link)
{
    struct redis_fault fault;

    redis_fault_of_alien(&fault);
    redis_link_drop(link, &fault);
}

static void take_login_reply(struct redis_link *link, const redisReply *reply)
{
    struct redis_fault fault;
    int r = redis_login_take(&link->wire.login, reply, &fault);

    if (r == 0 && link->wire.login.left == 0)
        redis_link_tell(link, REDIS_LINK_LOGGED_IN);
    if (r == -EACCES) {
        link->login_first = true;
        redis_link_drop(link, &fault);
    } else if (r < 0) {
        drop_alien(link);
    } else if (link->wire.login.left == 0 && !link->wire.first) {
        redis_link_become_up(link);
    }
}

static void take_stray_reply(struct redis_link *link, const redisReply *reply)
{
    struct redis_fault fault;

    if (reply->type != REDIS_REPLY_ERROR) {
        drop_alien(link);
        return;
    }
    /* Servers say why they are about to close a connection. */
    redis_fault_of_error(reply->str, &fault);
    redis_link_drop(link, &fault);
}

static void take_command_reply(struct redis_link *link, const redisReply *reply)
{
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    struct redis_fault fault = REDIS_LINK_NO_FAULT;
    struct redis_link_request *request;

    if (!link->wire.first) {
        take_stray_reply(link, reply);
        return;
    }
    if (is_error)
        redis_fault_of_error(reply->str, &fault);
    request = redis_wire_pop(&link->wire);
    if (!fault.closes && link->phase == PHASE_UNPROVEN)
        redis_link_become_up(link);
    if (!request->done(request, reply, is_error ? &fault : NULL)) {
        redis_wire_push_back(&link->wire, request);
        drop_alien(link);
    } else if (fault.closes) {
        redis_link_drop(link, &fault);
    }
}

static void take_replies(struct redis_link *link)
{
    while (redis_link_is_connected(link)) {
        redisReply *reply;
        int r = redis_inbox_take(&link->wire.inbox, &reply);

        if (r == 0)
            return;
        if (r < 0) {
            drop_alien(link);
            return;
        }
        if (link->wire.login.left > 0)
            take_login_reply(link, reply);
        else if (!link->owner.heard || !link->owner.heard(link->owner.context, reply))
            take_command_reply(link, reply);
        freeReplyObject(reply);
    }
}

void redis_link_receive(struct redis_link *link)
{
    int r;

    do {
        r = redis_wire_receive(&link->wire);
        if (r < 0)
            redis_link_lose(link, r);
        else if (r > 0)
            take_replies(link);
    } while (r > 0 && redis_link_is_connected(link) && link->wire.transport.end < 0);
}

void redis_link_pump(struct redis_link *link)
{
    if (redis_link_is_connected(link))
        link->owner.ready(link->owner.context);
    redis_link_rearm(link);
}

void redis_link_flush(struct redis_link *link)
{
    int r = redis_wire_flush(&link->wire);

    if (r < 0)
        redis_link_receive(link); /* the server may have said why, before it closed */
    if (r < 0 && redis_link_is_connected(link))
        redis_link_lose(link, r);
}
