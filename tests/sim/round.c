/* SPDX-License-Identifier: MIT
 * A device's store where there is a quorum of servers, as redis/quorum.h has it: each request is
 * put to all that a link is up to, once these are most of them, and core/quorum.h says what their
 * answers amount to. */
#include "base/text.h"
#include "sim.h"
#include <stdlib.h>

struct round;

/* What one server is asked; and then, what it is given back. */
struct child {
    struct store_call call;
    struct round *round;
    bool out, gives_back;
    uint32_t attempt;
    struct wall turn;
};

struct round {
    LIST_ENTRY(round) entry;
    struct quorum_round core;
    struct device *device;
    struct store_call *owner; /* NULL: it was told, or wants it no more */
    struct store_request request;
    char token[TOKEN_SIZE];
    int64_t sent_ms;
    struct child children[QUORUM_SERVERS_MAX];
};

struct rounds {
    struct store_call *queued, **queued_end;
    LIST_HEAD(, round) out;
    struct quorum_clock clock;
};

static void reset(struct rounds *q)
{
    q->queued = NULL;
    q->queued_end = &q->queued;
    LIST_INIT(&q->out);
    q->clock = (struct quorum_clock){ 0 };
}

void round_init(struct device *d)
{
    if (d->sim->plan.quorum == 0)
        return;
    d->rounds = sim_new(sizeof *d->rounds);
    reset(d->rounds);
}

void round_submit(struct device *d, struct store_call *call, bool urgent)
{
    struct rounds *q = d->rounds;

    call->next = NULL;
    *q->queued_end = call;
    q->queued_end = &call->next;
    for (unsigned i = 0; urgent && i < d->sim->plan.quorum; i++) {
        struct link *l = &d->links[i];

        if (l->state != LINK_WAITING || l->hurried)
            continue;
        l->hurried = true;
        l->at_ms = d->sim->now_ms;
    }
}

void round_cancel(struct device *d, struct store_call *call)
{
    struct store_call **at = &d->rounds->queued;
    struct round *r;

    while (*at && *at != call)
        at = &(*at)->next;
    if (*at) {
        *at = call->next;
        if (d->rounds->queued_end == &call->next)
            d->rounds->queued_end = at;
    }
    LIST_FOREACH(r, &d->rounds->out, entry)
    if (r->owner == call)
        r->owner = NULL;
}

/* --- what one server is sent --- */

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    const struct child *c = (const struct child *)call;
    const struct round *r = c->round;

    (void)now;
    *ret_request = r->request;
    if (!c->gives_back)
        return true;
    *ret_request = (struct store_request){ .verb = STORE_FINISH,
                                           .job = r->request.job,
                                           .token = r->token,
                                           .device = r->request.device,
                                           .boot = r->request.boot,
                                           .turn = c->turn,
                                           .attempt = c->attempt,
                                           .outcome = OUTCOME_UNSTARTED,
                                           .detail = "",
                                           .clean = true };
    return true;
}

static void send(struct child *c)
{
    struct round *r = c->round;
    struct link *l = &r->device->links[c - r->children];

    c->out = true;
    net_link_submit(l, &c->call, false);
    net_link_send(l);
}

/* Where the link is gone, when it is there again. */
static void give_back(struct child *c)
{
    struct round *r = c->round;
    unsigned i = (unsigned)(c - r->children);

    if (!quorum_gives_back(&r->core, i, &c->attempt, &c->turn))
        return;
    c->gives_back = true;
    send(c);
}

/* --- what comes of it --- */

static void settle(struct round *r)
{
    for (unsigned i = 0; i < r->core.servers; i++)
        if (r->children[i].out)
            return;
    LIST_REMOVE(r, entry);
    free(r);
}

static void decide(struct round *r, const struct store_reply *reply)
{
    struct store_call *owner = r->owner;

    trace_decided(r->device, &r->request, reply);
    r->device->sim->tally.splits += r->request.verb == STORE_ACQUIRE &&
                                    reply->status == STORE_ANSWERED &&
                                    reply->acquire.answer == ACQUIRE_SPLIT;
    if (r->request.verb == STORE_FINISH && reply->status == STORE_ANSWERED)
        check_quorum_recorded(r->device, &r->request, r->sent_ms);
    r->owner = NULL;
    for (unsigned i = 0; i < r->core.servers; i++)
        give_back(&r->children[i]);
    if (owner)
        owner->answer(owner, reply);
}

static void answer(struct store_call *call, const struct store_reply *reply)
{
    struct child *c = (struct child *)call;
    struct round *r = c->round;
    bool decided = r->core.decided;
    struct store_reply merged;

    c->out = false;
    if (c->gives_back)
        ;
    else if (quorum_take(&r->core, (unsigned)(c - r->children), reply, &merged))
        decide(r, &merged);
    else if (decided)
        give_back(c);
    settle(r);
}

/* --- rounds --- */

static unsigned reachable(const struct device *d)
{
    unsigned servers = 0;

    for (unsigned i = 0; i < d->sim->plan.quorum; i++)
        servers |= (unsigned)net_link_is_free(&d->links[i]) << i;
    return servers;
}

static bool is_majority(const struct device *d, unsigned servers)
{
    return (unsigned)__builtin_popcount(servers) >= quorum_majority(d->sim->plan.quorum);
}

bool round_waits(const struct device *d)
{
    return d->rounds->queued && is_majority(d, reachable(d));
}

/* All are sent it in one step, so that what the request points to is still there. */
static void begin(struct device *d, unsigned servers)
{
    struct rounds *q = d->rounds;
    struct store_call *call = q->queued;
    struct round *r = sim_new(sizeof *r);
    struct boot now = device_boot(d);

    round_cancel(d, call);
    if (!call->compose(call, now, &r->request)) {
        free(r);
        return;
    }
    call->verb = r->request.verb;
    r->device = d;
    r->owner = call;
    r->sent_ms = d->sim->now_ms;
    text_copy(r->token, sizeof r->token, r->request.token ? r->request.token : "");
    r->request.token = r->request.token ? r->token : NULL;
    quorum_init(
        &r->core, &q->clock,
        &(struct quorum_asked){ .servers = d->sim->plan.quorum, .who = servers, .sent = now },
        &r->request);
    LIST_INSERT_HEAD(&q->out, r, entry);
    for (unsigned i = 0; i < r->core.servers; i++) {
        r->children[i] =
            (struct child){ .call = { .compose = compose, .answer = answer }, .round = r };
        if (servers >> i & 1)
            send(&r->children[i]);
    }
}

void round_move(struct device *d)
{
    while (round_waits(d))
        begin(d, reachable(d));
}

void round_done(struct device *d)
{
    struct round *r;

    while ((r = LIST_FIRST(&d->rounds->out))) {
        LIST_REMOVE(r, entry);
        free(r);
    }
    reset(d->rounds);
}
