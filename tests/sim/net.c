/* SPDX-License-Identifier: MIT
 * A device's connection to a server, as redis/link.h has it: requests behind one another, replies
 * in their order, one that takes too long closes it for all, and then it is made again with
 * back-off. What the network does to it is chance: once a message is lost, so is all that follows
 * it. */
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

static void init_link(struct link *l)
{
    *l = (struct link){ .device = l->device,
                        .home = l->home,
                        .wanted = l->device->rounds != NULL,
                        .calm_ms = l->calm_ms,
                        .backoff = { .min_ms = BACKOFF_MIN_MS, .max_ms = BACKOFF_MAX_MS },
                        .dead_until = l->dead_until };
    l->queued_end = &l->queued;
    TAILQ_INIT(&l->flights);
}

void net_init(struct device *d)
{
    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++)
        init_link(&d->links[i]);
}

static struct server *server_of(const struct link *l)
{
    return &l->device->sim->servers[l->home];
}

void net_link_submit(struct link *l, struct store_call *call, bool urgent)
{
    for (const struct store_call *c = l->queued; c; c = c->next)
        assert(c != call);
    call->next = NULL;
    *l->queued_end = call;
    l->queued_end = &call->next;
    if (!urgent || l->state != LINK_WAITING || l->hurried)
        return;
    l->hurried = true;
    l->at_ms = l->device->sim->now_ms;
}

void net_submit(void *context, struct store_call *call, bool urgent)
{
    struct device *d = context;

    if (call->local)
        local_submit(d, call);
    else if (d->rounds)
        round_submit(d, call, urgent);
    else
        net_link_submit(&d->links[0], call, urgent);
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
    if (d->rounds) {
        round_cancel(d, call);
        return;
    }
    unqueue(&d->links[0], call);
    TAILQ_FOREACH(f, &d->links[0].flights, entry)
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

static void fly(struct link *l, struct flight *f)
{
    struct sim *s = l->device->sim;
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

static void send_one(struct link *l)
{
    struct device *d = l->device;
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
    f->link = l;
    f->call = call;
    call->verb = f->request.verb;
    keep_request(f);
    f->sent = now;
    f->deadline = boot_add(now, device_spec(d, 0)->timing.command_timeout_ms);
    f->server = l->home;
    f->epoch = server_of(l)->epoch;
    f->waited_for = true;
    fly(l, f);
}

/* --- the connection --- */

static bool is_accepted(const struct link *l)
{
    const struct sim *s = l->device->sim;
    const struct server *server = server_of(l);

    return s->now_ms >= server->down_until && s->now_ms >= server->refusing_until &&
           s->now_ms >= server->stalled_until && s->now_ms >= l->dead_until;
}

static void wait_to_connect(struct link *l)
{
    struct device *d = l->device;

    l->state = LINK_WAITING;
    l->at_ms = d->sim->now_ms + backoff_next_ms(&l->backoff, chance_next(&d->chance));
    l->hurried = false;
}

static void close_link(struct link *l)
{
    l->state = LINK_NONE;
    l->deaf_in = l->deaf_out = false;
    l->last_out = l->last_in = 0;
}

/* A quorum does without the one or the other. */
static void disturb(struct link *l)
{
    int64_t now_ms = l->device->sim->now_ms;

    if (now_ms > l->calm_ms)
        l->calm_ms = now_ms;
    if (!l->device->rounds)
        device_disturb(l->device, now_ms);
}

/* It may still arrive: the flight goes on with what it asks, and this answer is its own. */
static void answer_lost(struct link *l, struct flight *f)
{
    struct device *d = l->device;
    struct flight lost = *f;

    lost.reply = (struct store_reply){ .status = STORE_NO_ANSWER,
                                       .fault = FAULT_LINK,
                                       .error = "no answer" };
    d->sim->tally.unanswered++;
    disturb(l);
    answer(d, &lost);
}

void net_lose(struct link *l, bool told)
{
    struct flight *f;

    close_link(l);
    wait_to_connect(l);
    while (told && (f = TAILQ_FIRST(&l->flights))) {
        wait_no_more(l, f);
        answer_lost(l, f);
        if (!f->travels)
            net_drop(f);
    }
}

static void connect_now(struct link *l)
{
    struct device *d = l->device;

    l->state = LINK_CONNECTING;
    l->at_ms = d->sim->now_ms + (is_accepted(l) ? 2 * d->sim->plan.trip_ms
                                                : device_spec(d, 0)->timing.connect_timeout_ms);
}

static void connected(struct link *l)
{
    if (!is_accepted(l)) {
        disturb(l);
        wait_to_connect(l);
        return;
    }
    l->state = LINK_UP;
    l->device->sim->tally.connects++;
    l->epoch = server_of(l)->epoch;
    if (l->backoff.failures > 0)
        disturb(l);
    backoff_reset(&l->backoff);
}

static bool is_late(const struct device *d, const struct flight *f)
{
    return boot_reached(device_boot(d), f->deadline);
}

/* Where both are there, because nobody looked for a while, either may be seen first. */
static bool hear_one(struct link *l)
{
    struct device *d = l->device;
    struct flight *f = TAILQ_FIRST(&l->flights);
    bool heard;

    if (!f)
        return false;
    heard = f->replied && d->sim->now_ms >= f->reply_ms;
    if (!heard && !is_late(d, f))
        return false;
    if (!heard || (is_late(d, f) && chance_of(&d->chance, 5000))) {
        trace_say(d->sim, d, "closes its connection: no reply in time");
        net_lose(l, true);
        return false;
    }
    wait_no_more(l, f);
    answer(d, f);
    net_drop(f);
    return true;
}

bool net_link_is_free(const struct link *l)
{
    return l->state == LINK_UP && !l->queued && l->flight_count < IN_FLIGHT_MAX;
}

void net_link_send(struct link *l)
{
    while (l->state == LINK_UP && l->queued && l->flight_count < IN_FLIGHT_MAX)
        send_one(l);
}

static bool is_wanted(const struct link *l)
{
    return l->queued || l->wanted;
}

static void move_link(struct link *l)
{
    int64_t now_ms = l->device->sim->now_ms;

    /* The server was restarted while the supervisor stood still. */
    if (l->state != LINK_UP && !TAILQ_EMPTY(&l->flights))
        net_lose(l, true);
    while (l->state == LINK_UP && hear_one(l))
        ;
    if (l->state == LINK_WAITING && now_ms >= l->at_ms)
        l->state = LINK_NONE;
    if (l->state == LINK_CONNECTING && now_ms >= l->at_ms)
        connected(l);
    if (l->state == LINK_NONE && is_wanted(l))
        connect_now(l);
    net_link_send(l);
}

void net_move(struct device *d)
{
    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++)
        move_link(&d->links[i]);
    if (d->rounds)
        round_move(d);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_of(const struct link *l)
{
    const struct flight *f = TAILQ_FIRST(&l->flights);
    int64_t next = QUEUE_NEVER;

    if (l->state == LINK_CONNECTING || (l->state == LINK_WAITING && is_wanted(l)))
        next = l->at_ms;
    else if (l->queued && l->flight_count < IN_FLIGHT_MAX)
        next = l->device->sim->now_ms;
    if (f)
        next = earlier(next, device_when(l->device, f->deadline));
    if (f && f->replied)
        next = earlier(next, f->reply_ms);
    return next;
}

int64_t net_next(const struct device *d)
{
    int64_t next = d->rounds && round_waits(d) ? d->sim->now_ms : QUEUE_NEVER;

    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++)
        next = earlier(next, next_of(&d->links[i]));
    return next;
}

int64_t net_calm_ms(const struct device *d)
{
    const struct sim *s = d->sim;
    int64_t calm[QUORUM_SERVERS_MAX] = { 0 };

    if (!d->rounds)
        return d->links[0].state == LINK_UP ? 0 : QUEUE_NEVER;
    for (unsigned i = 0; i < s->plan.quorum; i++) {
        bool up = d->links[i].state == LINK_UP;
        int64_t link = up ? d->links[i].calm_ms : QUEUE_NEVER, server = s->servers[i].calm_ms;
        int64_t since = link > server ? link : server;
        unsigned place = i;

        for (; place > 0 && calm[place - 1] > since; place--)
            calm[place] = calm[place - 1];
        calm[place] = since;
    }
    return calm[quorum_majority(s->plan.quorum) - 1];
}

static void end_link(struct link *l)
{
    struct flight *f;

    while ((f = TAILQ_FIRST(&l->flights))) {
        wait_no_more(l, f);
        f->call = NULL;
        if (!f->travels)
            net_drop(f);
    }
}

void net_done(struct device *d)
{
    for (unsigned i = 0; i < plan_links(&d->sim->plan); i++)
        end_link(&d->links[i]);
    net_init(d);
    if (d->rounds)
        round_done(d);
}
