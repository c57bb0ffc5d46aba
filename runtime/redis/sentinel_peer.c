/* SPDX-License-Identifier: MIT */
#include "redis/sentinel_peer.h"
#include "base/units.h"
#include "redis/settings.h"
#include <string.h>

#define WORDS_MAX 3
/* In a second. A failover of all that a sentinel watches may be more; then it is connected to anew,
 * and asked, which harms nobody. */
#define NEWS_MAX 200

void sentinel_peer_init(struct sentinel_peer *peer, const struct sentinel_peer_owner *owner,
                        const struct redis_store_env *env, const struct redis_settings *settings,
                        size_t number)
{
    *peer = (struct sentinel_peer){ .owner = owner, .env = env, .all = settings, .number = number };
}

void sentinel_peer_close(struct sentinel_peer *peer)
{
    peer->open = false;
    peer->asked = false;
    peer->wants = false;
}

void sentinel_peer_sweep(struct sentinel_peer *peer)
{
    struct redis_link *link = peer->link;

    if (peer->open)
        return;
    peer->link = NULL;
    redis_link_free(link);
    redis_settings_free(peer->own);
    peer->own = NULL;
}

void sentinel_peer_done(struct sentinel_peer *peer)
{
    sentinel_peer_close(peer);
    sentinel_peer_sweep(peer);
}

static void fail(struct sentinel_peer *peer, enum fault class, const char *reason)
{
    const struct sentinel_peer_owner *owner = peer->owner;

    if (!peer->open)
        return;
    peer->open = false;
    peer->wants = false;
    owner->failed(owner->context, peer, class, reason);
}

static bool on_address(struct redis_link_request *request, const redisReply *reply,
                       const struct redis_fault *fault)
{
    struct sentinel_peer *peer =
        (struct sentinel_peer *)((char *)request - offsetof(struct sentinel_peer, get));
    const struct sentinel_peer_owner *owner = peer->owner;
    struct sentinel_address address;
    int r;

    /* Where the connection is lost, on_changed() says so. */
    if (!peer->open || !reply)
        return true;
    if (fault) {
        fail(peer, fault->class, fault->reason);
        return true;
    }
    r = sentinel_answer_read(reply, &address);
    if (r < 0)
        return false;
    peer->asking = false;
    owner->answered(owner->context, peer, r == 0 ? NULL : &address);
    return true;
}

/* Where the subscription is refused, the connection is still one less to make for the next
 * question. */
static bool on_subscribed(struct redis_link_request *request, const redisReply *reply,
                          const struct redis_fault *fault)
{
    struct sentinel_peer *peer =
        (struct sentinel_peer *)((char *)request - offsetof(struct sentinel_peer, subscribe));

    peer->subscribed = reply && !fault;
    peer->busy = false;
    return true;
}

/* Where it is refused, the question behind it is, too, and that ends the connection. */
static bool on_unsubscribed(struct redis_link_request *request, const redisReply *reply,
                            const struct redis_fault *fault)
{
    (void)request;
    (void)reply;
    (void)fault;
    return true;
}

static int send_words(struct sentinel_peer *peer, const char *const words[WORDS_MAX],
                      struct redis_link_request *request)
{
    size_t lengths[WORDS_MAX], count = 0;
    struct redis_command command;

    for (; count < WORDS_MAX && words[count]; count++)
        lengths[count] = strlen(words[count]);
    command = (struct redis_command){ .count = count, .arguments = words, .lengths = lengths };
    request->deadline = boot_add(redis_link_now(), peer->all->command_timeout_ms);
    return redis_link_send(peer->link, &command, request);
}

/* In one flight, which a sentinel takes at once: no switch falls between the answer and the
 * subscription. */
static void ask(struct sentinel_peer *peer)
{
    const char *const leave[WORDS_MAX] = { "UNSUBSCRIBE" };
    const char *const get[WORDS_MAX] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", peer->all->master };
    const char *const join[WORDS_MAX] = { "SUBSCRIBE", "+switch-master" };
    int r = 0;

    peer->wants = false;
    peer->asking = true;
    peer->busy = true;
    if (peer->subscribed)
        r = send_words(peer, leave, &peer->unsubscribe);
    if (r == 0)
        r = send_words(peer, get, &peer->get);
    if (r == 0)
        r = send_words(peer, join, &peer->subscribe);
    if (r < 0)
        fail(peer, FAULT_LINK, "memory is short");
}

static void on_ready(void *context)
{
    struct sentinel_peer *peer = context;

    if (peer->wants && !peer->busy && redis_link_has_room(peer->link))
        ask(peer);
}

static bool on_wants(void *context)
{
    const struct sentinel_peer *peer = context;

    return peer->wants;
}

/* Connections to servers go before all else: who publishes without end would take the timers' time,
 * too, and who does so whenever it was asked would be asked without end. */
static bool is_too_much(struct sentinel_peer *peer)
{
    struct boot now = redis_link_now();

    if (boot_between(peer->heard_since, now) >= SECOND_MS) {
        peer->heard_since = now;
        peer->heard = 0;
    }
    return ++peer->heard > NEWS_MAX;
}

static bool on_heard(void *context, const redisReply *reply)
{
    struct sentinel_peer *peer = context;

    if (!sentinel_answer_is_news(reply))
        return false;
    if (is_too_much(peer)) {
        fail(peer, FAULT_ALIEN, "it publishes without end");
        return true;
    }
    /* Only a hint: what counts is the answer to the question. It goes as soon as all that has come
     * is taken. */
    if (peer->open && sentinel_answer_is_switch(reply, peer->all->master)) {
        peer->wants = true;
        redis_link_kick(peer->link, true);
    }
    return true;
}

static void on_changed(void *context, const struct redis_link_change *change)
{
    if (change->state == REDIS_LINK_WAITING || change->state == REDIS_LINK_IDLE)
        fail(context, change->fault, change->reason ? change->reason : "it is closed");
}

/* The password may be another one by now. */
static int copy_settings(struct sentinel_peer *peer)
{
    const struct redis_settings *all = peer->all;
    const struct redis_settings own = {
        .endpoints = &all->sentinels[peer->number],
        .endpoint_count = 1,
        .client_name = all->client_name,
        .username = all->sentinel_username,
        .password = all->sentinel_password,
        .tls = all->tls,
        .connect_timeout_ms = all->connect_timeout_ms,
        .command_timeout_ms = all->command_timeout_ms,
        .backoff_min_ms = all->backoff_min_ms,
        .backoff_max_ms = all->backoff_max_ms,
        .idle_timeout_ms = all->idle_timeout_ms,
        .keepalive_ms = all->keepalive_ms,
    };

    return redis_settings_copy(&own, &peer->own);
}

static int connect_anew(struct sentinel_peer *peer)
{
    struct redis_link_owner owner = { .ready = on_ready,
                                      .wants = on_wants,
                                      .changed = on_changed,
                                      .heard = on_heard,
                                      .context = peer };
    int r;

    sentinel_peer_sweep(peer);
    peer->asking = false;
    peer->busy = false;
    peer->subscribed = false;
    peer->heard = 0;
    peer->heard_since = redis_link_now();
    peer->get.done = on_address;
    peer->subscribe.done = on_subscribed;
    peer->unsubscribe.done = on_unsubscribed;
    r = copy_settings(peer);
    return r < 0 ? r : redis_link_new(peer->own, peer->env, &owner, &peer->link);
}

int sentinel_peer_ask(struct sentinel_peer *peer)
{
    int r = peer->open ? 0 : connect_anew(peer);

    if (r < 0)
        return r;
    peer->open = true;
    peer->wants = !peer->asking;
    redis_link_kick(peer->link, true);
    return 0;
}
