/* SPDX-License-Identifier: MIT
 * A device's one connection, as redis/link.h has it: requests behind one another, replies in their
 * order, one that takes too long closes it for all, and then it is made again with back-off. What
 * the network does to it is chance: once a message is lost, so is all that follows it. */
#include "base/text.h"
#include "base/units.h"
#include "sim.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* As redis/link.h. */
#define IN_FLIGHT_MAX 32
#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS MINUTE_MS

void net_init(struct device *d)
{
    struct link *l = &d->link;

    *l = (struct link){ .backoff = { .min_ms = BACKOFF_MIN_MS, .max_ms = BACKOFF_MAX_MS },
                        .dead_until = l->dead_until };
    l->queued_end = &l->queued;
    TAILQ_INIT(&l->flights);
}

static struct server *server_of(struct device *d)
{
    return &d->sim->servers[d->home];
}

void net_submit(void *context, struct store_call *call, bool urgent)
{
    struct device *d = context;
    struct link *l = &d->link;

    if (call->local) {
        local_submit(d, call);
        return;
    }
    for (const struct store_call *c = l->queued; c; c = c->next)
        assert(c != call);
    call->next = NULL;
    *l->queued_end = call;
    l->queued_end = &call->next;
    if (!urgent || l->state != LINK_WAITING || l->hurried)
        return;
    l->hurried = true;
    l->at_ms = d->sim->now_ms;
}

static void unqueue(struct link *l, struct store_call *call)
{
    struct store_call **at = &l->queued;

    while (*at && *at != call)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = call->next;
    if (l->queued_end == &call->next)
        l->queued_end = at;
}

void net_cancel(void *context, struct store_call *call)
{
    struct device *d = context;
    struct flight *f;

    if (call->local) {
        local_cancel(d, call);
        return;
    }
    unqueue(&d->link, call);
    TAILQ_FOREACH(f, &d->link.flights, entry)
    if (f->call == call)
        f->call = NULL;
}

/* --- flights --- */

static struct flight *new_flight(struct sim *s)
{
    struct flight *f = s->spares;

    if (!f)
        return sim_new(sizeof *f);
    s->spares = f->next_spare;
    memset(f, 0,
           offsetof(struct flight, keys)); /* what follows is read only where it was written */
    return f;
}

static void spare(struct sim *s, struct flight *f)
{
    f->next_spare = s->spares;
    s->spares = f;
}

void net_free_spares(struct sim *s)
{
    struct flight *f;

    while ((f = s->spares)) {
        s->spares = f->next_spare;
        free(f);
    }
}

void net_drop(struct flight *f)
{
    queue_set(&f->device->sim->queue, &f->arrival, QUEUE_NEVER);
    spare(f->device->sim, f);
}

static void wait_no_more(struct link *l, struct flight *f)
{
    TAILQ_REMOVE(&l->flights, f, entry);
    l->flight_count--;
    f->waited_for = false;
}

static void answer(struct device *d, struct flight *f)
{
    f->reply.sent = f->sent;
    f->reply.received = device_boot(d);
    if (f->reply.status == STORE_ANSWERED)
        d->heard_ms = d->sim->now_ms;
    if (!f->call)
        return;
    d->answering = f;
    f->call->answer(f->call, &f->reply);
    d->answering = NULL;
}

static void fly(struct device *d, struct flight *f)
{
    struct sim *s = d->sim;
    struct link *l = &d->link;
    int64_t at = s->now_ms + chance_in(&s->net, 1, s->plan.trip_ms);

    TAILQ_INSERT_TAIL(&l->flights, f, entry);
    l->flight_count++;
    l->deaf_out = l->deaf_out || chance_of(&s->net, s->plan.lost);
    if (l->deaf_out || s->now_ms < l->dead_until)
        return;
    if (chance_of(&s->net, s->plan.slow))
        at += chance_in(&s->net, 100, 20 * SECOND_MS);
    l->last_out = at > l->last_out ? at : l->last_out;
    f->travels = true;
    queue_set(&s->queue, &f->arrival, l->last_out);
}

/* Its texts last until the next call is composed. */
static void keep_request(struct flight *f)
{
    struct store_request *q = &f->request;

    text_copy(f->token, sizeof f->token, q->token ? q->token : "");
    q->token = f->token;
    q->detail = "";
    if (q->verb == STORE_HELLO) {
        text_copy(f->keys, sizeof f->keys, q->hello.jobs);
        text_copy(f->digest, sizeof f->digest, q->hello.digest);
        q->hello.jobs = f->keys;
        q->hello.digest = f->digest;
    } else if (q->verb == STORE_CONFIG_GET || q->verb == STORE_CONFIG_PUT) {
        text_copy(f->digest, sizeof f->digest, q->config.digest);
        text_copy(f->config, sizeof f->config, q->config.text ? q->config.text : "");
        q->config.digest = f->digest;
        q->config.text = f->config;
    }
}

static void send_one(struct device *d)
{
    struct link *l = &d->link;
    struct store_call *call = l->queued;
    struct flight *f = new_flight(d->sim);
    struct boot now = device_boot(d);

    unqueue(l, call);
    if (!call->compose(call, now, &f->request)) {
        spare(d->sim, f);
        return;
    }
    f->arrival.happen = server_arrival;
    f->device = d;
    f->call = call;
    call->verb = f->request.verb;
    keep_request(f);
    f->sent = now;
    f->deadline = boot_add(now, device_spec(d, 0)->timing.command_timeout_ms);
    f->server = d->home;
    f->epoch = server_of(d)->epoch;
    f->waited_for = true;
    fly(d, f);
}

/* --- the connection --- */

static bool is_accepted(const struct device *d)
{
    const struct sim *s = d->sim;
    const struct server *server = &s->servers[d->home];

    return s->now_ms >= server->down_until && s->now_ms >= server->refusing_until &&
           s->now_ms >= server->stalled_until && s->now_ms >= d->link.dead_until;
}

static void wait_to_connect(struct device *d)
{
    struct link *l = &d->link;

    l->state = LINK_WAITING;
    l->at_ms = d->sim->now_ms + backoff_next_ms(&l->backoff, chance_next(&d->chance));
    l->hurried = false;
}

static void close_link(struct device *d)
{
    struct link *l = &d->link;

    l->state = LINK_NONE;
    l->deaf_in = l->deaf_out = false;
    l->last_out = l->last_in = 0;
}

/* It may still arrive: the flight goes on with what it asks, and this answer is its own. */
static void answer_lost(struct device *d, struct flight *f)
{
    struct flight lost = *f;

    lost.reply = (struct store_reply){ .status = STORE_NO_ANSWER,
                                       .fault = FAULT_LINK,
                                       .error = "no answer" };
    d->sim->tally.unanswered++;
    device_disturb(d, d->sim->now_ms);
    answer(d, &lost);
}

void net_lose(struct device *d, bool told)
{
    struct flight *f;

    close_link(d);
    wait_to_connect(d);
    while (told && (f = TAILQ_FIRST(&d->link.flights))) {
        wait_no_more(&d->link, f);
        answer_lost(d, f);
        if (!f->travels)
            net_drop(f);
    }
}

static void connect_now(struct device *d)
{
    struct link *l = &d->link;

    l->state = LINK_CONNECTING;
    l->at_ms = d->sim->now_ms + (is_accepted(d) ? 2 * d->sim->plan.trip_ms
                                                : device_spec(d, 0)->timing.connect_timeout_ms);
}

static void connected(struct device *d)
{
    struct link *l = &d->link;

    if (!is_accepted(d)) {
        device_disturb(d, d->sim->now_ms);
        wait_to_connect(d);
        return;
    }
    l->state = LINK_UP;
    d->sim->tally.connects++;
    l->epoch = server_of(d)->epoch;
    if (l->backoff.failures > 0)
        device_disturb(d, d->sim->now_ms);
    backoff_reset(&l->backoff);
}

static bool is_late(const struct device *d, const struct flight *f)
{
    return boot_reached(device_boot(d), f->deadline);
}

/* Where both are there, because nobody looked for a while, either may be seen first. */
static bool hear_one(struct device *d)
{
    struct link *l = &d->link;
    struct flight *f = TAILQ_FIRST(&l->flights);
    bool heard;

    if (!f)
        return false;
    heard = f->replied && d->sim->now_ms >= f->reply_ms;
    if (!heard && !is_late(d, f))
        return false;
    if (!heard || (is_late(d, f) && chance_of(&d->chance, 5000))) {
        trace_say(d->sim, d, "closes its connection: no reply in time");
        net_lose(d, true);
        return false;
    }
    wait_no_more(l, f);
    answer(d, f);
    net_drop(f);
    return true;
}

void net_move(struct device *d)
{
    struct link *l = &d->link;

    /* The server was restarted while the supervisor stood still. */
    if (l->state != LINK_UP && !TAILQ_EMPTY(&l->flights))
        net_lose(d, true);
    while (l->state == LINK_UP && hear_one(d))
        ;
    if (l->state == LINK_WAITING && d->sim->now_ms >= l->at_ms)
        l->state = LINK_NONE;
    if (l->state == LINK_CONNECTING && d->sim->now_ms >= l->at_ms)
        connected(d);
    if (l->state == LINK_NONE && l->queued)
        connect_now(d);
    while (l->state == LINK_UP && l->queued && l->flight_count < IN_FLIGHT_MAX)
        send_one(d);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t net_next(const struct device *d)
{
    const struct link *l = &d->link;
    const struct flight *f = TAILQ_FIRST(&l->flights);
    int64_t next = QUEUE_NEVER;

    if (l->state == LINK_CONNECTING || (l->state == LINK_WAITING && l->queued))
        next = l->at_ms;
    else if (l->queued && l->flight_count < IN_FLIGHT_MAX)
        next = d->sim->now_ms;
    if (f)
        next = earlier(next, device_when(d, f->deadline));
    if (f && f->replied)
        next = earlier(next, f->reply_ms);
    return next;
}

void net_done(struct device *d)
{
    struct link *l = &d->link;
    struct flight *f;

    while ((f = TAILQ_FIRST(&l->flights))) {
        wait_no_more(l, f);
        f->call = NULL;
        if (!f->travels)
            net_drop(f);
    }
    net_init(d);
}
