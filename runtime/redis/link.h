/* SPDX-License-Identifier: MIT
 * redis/link.h: one connection to Redis: connecting, login, time-outs, back-off, and a queue of
 * requests whose replies come in order. It knows nothing of jobs and scripts.
 *
 * It connects when it is kicked and somebody wants it, and again, with back-off, as long as that is
 * so. It closes, and opens ahead, as redis_link_expect() says. Callbacks are made from the event
 * loop only, never from within redis_link_kick() or redis_link_send(). */
#ifndef ROTA_REDIS_LINK_H
#define ROTA_REDIS_LINK_H
#include "redis/fault.h"
#include "redis/outbox.h"
#include "redis/route.h"
#include "redis/store.h"
#include "redis/traffic.h"
#include "tls/tls.h"
#include <hiredis/hiredis.h>

/* Sent and not yet answered; more wait with their owner, so that they are composed late. */
#define REDIS_LINK_IN_FLIGHT_MAX 32
struct redis_link;

/* Embedded in its owner, which keeps it until done(). */
struct redis_link_request {
    /* The reply, with its fault where it is an error; or NULL, and the fault is why. False: this
     * reply cannot be the request's; the link is then closed, and done() comes a last time, with
     * NULL. Otherwise the request is the owner's again. */
    bool (*done)(struct redis_link_request *request, const redisReply *reply,
                 const struct redis_fault *fault);
    struct boot deadline;
    struct redis_link_request *next; /* the link's own */
};

/* How far a try has come, in this order. */
enum redis_link_step {
    REDIS_LINK_NAMED,     /* a host name's addresses are known; a numeric one skips this */
    REDIS_LINK_CONNECTED, /* the peer has taken the connection; ready() is once it is secured, too
                           */
    REDIS_LINK_LOGGED_IN
};

struct redis_link_owner {
    /* Commands may be sent: send what there is while redis_link_has_room(). */
    void (*ready)(void *context);
    /* Something waits for a connection. */
    bool (*wants)(void *context);
    /* As redis_link_watch. NULL: nobody wants to know. */
    redis_link_watch *changed;
    /* A reply that answers no request: what was published to the connection. False, or NULL: it
     * is none, too. */
    bool (*heard)(void *context, const redisReply *reply);
    /* NULL: nobody wants to know. It may change nothing. */
    void (*step)(void *context, enum redis_link_step step);
    void *context;
};

/* Both are copied; the settings' texts must live as long as the link. */
int redis_link_new(const struct redis_settings *settings, const struct redis_store_env *env,
                   const struct redis_link_owner *owner, struct redis_link **ret_link);
/* Closes. Requests in flight get done() with NULL. */
void redis_link_free(struct redis_link *link);

/* Something waits: connects, or calls ready(), from the event loop. `urgent`: does not wait for the
 * first window of the back-off, once for each time that the connection is lost. */
void redis_link_kick(struct redis_link *link, bool urgent);
/* What the last try ended by may have changed: where the next one is waited for, it comes at once.
 */
void redis_link_retry(struct redis_link *link);
/* There is a connection, it takes bytes, and less than the greatest number of requests is in
 * flight. */
bool redis_link_has_room(const struct redis_link *link);
/* Sends behind what was sent before, also where there is no room. 0, and the link has the request;
 * or -ENOTCONN, -ENOMEM, and nothing was done. */
int redis_link_send(struct redis_link *link, const struct redis_command *command,
                    struct redis_link_request *request);

/* Its connection has served. */
bool redis_link_is_up(const struct redis_link *link);
/* See redis_store_expect(). */
void redis_link_expect(struct redis_link *link, const struct store_need *need);
/* See redis_store_sound(). */
bool redis_link_sound(const struct redis_link *link, struct boot now, int64_t slack_ms);
/* Which address is connected to, or was last tried. */
const struct redis_route *redis_link_route(const struct redis_link *link);
/* What TLS has agreed on. False: there is no connection, or it is in the clear. */
bool redis_link_facts(const struct redis_link *link, struct tls_facts *ret_facts);
/* CLOCK_BOOTTIME. */
struct boot redis_link_now(void);
#endif
