/* SPDX-License-Identifier: MIT
 * A call on its way to several servers. It lives until the last of them has replied, long after its
 * owner was told. */
#include "base/text.h"
#include "redis/quorum_internal.h"
#include <stdlib.h>
#include <string.h>

/* What a finish as `unstarted` is made of. The owner's texts are gone by then. */
struct giving {
    struct job_spec job;
    char key[JOB_NAME_MAX + 1];
    char token[TOKEN_SIZE];
    char *lock_key; /* or NULL */
};

struct child {
    struct store_call call;
    struct quorum_call *parent;
    bool tried;             /* with a question */
    bool gives_back;        /* that is what it is out for, or was */
    bool owes;              /* and will be, as soon as the server can be told */
    struct boot owes_until; /* 0: it never owed; kept over repeats */
    uint32_t attempt;
    struct wall turn;
};

struct quorum_call {
    struct quorum_call *next;
    struct quorum_store *q;
    struct store_call *owner;            /* NULL: answered, or cancelled */
    const struct store_request *request; /* while it is sent */
    struct quorum_round round;
    struct giving *giving;            /* of an acquire; else NULL */
    struct quorum_raw *raw;           /* of what people change; else NULL */
    const struct redis_raw *question; /* of theirs; else NULL */
    size_t out;                       /* children that are */
    size_t owing;                     /* children that owe */
    bool busy;                        /* it must stay, whatever is answered */
    struct child children[];
};

static size_t number_of(const struct child *child)
{
    return (size_t)(child - child->parent->children);
}

static struct quorum_server *server_of(const struct child *child)
{
    return &child->parent->q->servers[number_of(child)];
}

/* --- its life --- */

static void free_giving(struct giving *giving)
{
    if (giving)
        free(giving->lock_key);
    free(giving);
}

static void free_call(struct quorum_call *c)
{
    free_giving(c->giving);
    quorum_raw_free(c->raw);
    free(c);
}

/* Of the job what a finish sends (codec.c), but no history: a grant that came to nothing is no run.
 */
static struct giving *new_giving(const struct store_request *request)
{
    const struct job_spec *job = request->job;
    struct giving *giving = calloc(1, sizeof *giving);

    if (!giving)
        return NULL;
    text_copy(giving->key, sizeof giving->key, job->key);
    text_copy(giving->token, sizeof giving->token, request->token);
    giving->lock_key = job->lock_key ? strdup(job->lock_key) : NULL;
    giving->job = (struct job_spec){ .name = giving->key,
                                     .key = giving->key,
                                     .lock_key = giving->lock_key,
                                     .timing.lease_ms = job->timing.lease_ms,
                                     .retry_delay_ms = job->retry_delay_ms,
                                     .retention_ms = job->retention_ms,
                                     .attempts = job->attempts };
    if (job->lock_key && !giving->lock_key) {
        free_giving(giving);
        return NULL;
    }
    return giving;
}

static bool prepare(struct quorum_call *c, const struct store_request *request)
{
    const struct redis_raw *raw;

    if (request->verb == STORE_ACQUIRE)
        return (c->giving = new_giving(request)) != NULL;
    if (request->verb != STORE_RAW)
        return true;
    raw = request->raw;
    if (raw->changes)
        return (c->raw = quorum_raw_new()) != NULL;
    c->question = raw;
    return true;
}

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request);
static void on_answer(struct store_call *call, const struct store_reply *reply);

static struct quorum_call *new_call(struct quorum_store *q, const struct store_request *request)
{
    struct quorum_call *c = calloc(1, sizeof *c + q->n * sizeof c->children[0]);

    if (!c)
        return NULL;
    c->q = q;
    for (size_t i = 0; i < q->n; i++) {
        c->children[i].call = (struct store_call){ .compose = compose, .answer = on_answer };
        c->children[i].parent = c;
    }
    if (!prepare(c, request)) {
        free_call(c);
        return NULL;
    }
    c->next = q->calls;
    q->calls = c;
    return c;
}

static void release(struct quorum_call *c)
{
    struct quorum_call **at = &c->q->calls;

    if (c->out > 0 || c->owing > 0 || c->busy)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free_call(c);
}

/* --- sending --- */

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    const struct child *child = (const struct child *)call; /* its first member */
    const struct giving *giving = child->parent->giving;

    (void)now;
    if (!child->gives_back) {
        *ret_request = *child->parent->request;
        return true;
    }
    *ret_request = (struct store_request){
        .verb = STORE_FINISH,
        .job = &giving->job,
        .token = giving->token,
        .turn = child->turn,
        .attempt = child->attempt,
        .outcome = OUTCOME_UNSTARTED,
        .detail = "",
        .device = "",
        .boot = "",
        .clean = true,
    };
    return true;
}

/* At once, so that all servers are sent the one request; or, where the connection takes no more,
 * not at all. */
static void send_child(struct child *child)
{
    struct quorum_server *server = server_of(child);
    struct store_reply full = { .status = STORE_ERROR,
                                .fault = FAULT_LINK,
                                .received = redis_link_now(),
                                .error = "too much is on its way to it already" };

    server->out++;
    child->parent->out++;
    redis_store_submit(server->node, &child->call, false);
    redis_node_send(server->node);
    if (child->call.state != CALL_QUEUED)
        return;
    redis_store_cancel(server->node, &child->call);
    on_answer(&child->call, &full);
}

/* A server that hangs may have the acquire still before it, and grant it when it goes on. After a
 * lease the lock has ended by itself, unless it hung for longer: then it may grant once more, for a
 * lease that nobody gives back. */
static void owe(struct child *child)
{
    int64_t lease_ms = child->parent->giving->job.timing.lease_ms;

    if (child->parent->q->owed == QUORUM_OWED_MAX)
        return;
    child->owes = true;
    if (child->owes_until.ms == 0)
        child->owes_until = boot_add(redis_link_now(), lease_ms);
    child->parent->owing++;
    child->parent->q->owed++;
}

static void give_back(struct quorum_call *c)
{
    for (size_t i = 0; i < c->q->n; i++) {
        struct child *child = &c->children[i];
        struct wall turn;
        uint32_t attempt;

        if (child->gives_back || !quorum_gives_back(&c->round, (unsigned)i, &attempt, &turn))
            continue;
        child->gives_back = true;
        child->attempt = attempt;
        child->turn = turn;
        if (quorum_can_ask(server_of(child)))
            send_child(child);
        else
            owe(child);
    }
}

static void pay_debts(struct quorum_call *c)
{
    c->busy = true;
    for (size_t i = 0; i < c->q->n; i++) {
        struct child *child = &c->children[i];
        bool late = child->owes && boot_reached(redis_link_now(), child->owes_until);

        if (!child->owes || (!late && !quorum_can_ask(server_of(child))))
            continue;
        child->owes = false;
        c->owing--;
        c->q->owed--;
        if (!late)
            send_child(child);
    }
    c->busy = false;
    release(c);
}

void quorum_call_pay(struct quorum_store *q)
{
    struct quorum_call *next;

    for (struct quorum_call *c = q->calls; c && q->owed > 0; c = next) {
        next = c->next;
        if (c->owing > 0)
            pay_debts(c);
    }
}

/* --- people's questions: one server is asked --- */

static bool is_better(const struct quorum_server *a, const struct quorum_server *b)
{
    if ((a->out == 0) != (b->out == 0)) /* one that owes no answer does not hang */
        return a->out == 0;
    return a->up_since.ms < b->up_since.ms; /* it has missed the least */
}

/* False where nobody is left. */
static bool ask_next(struct quorum_call *c)
{
    const struct store_request request = { .verb = STORE_RAW, .raw = c->question };
    struct child *best = NULL;

    for (size_t i = 0; i < c->q->n; i++) {
        struct child *child = &c->children[i];

        if (child->tried || !quorum_can_ask(server_of(child)))
            continue;
        if (!best || is_better(server_of(child), server_of(best)))
            best = child;
    }
    if (!best)
        return false;
    best->tried = true;
    c->request = &request;
    send_child(best);
    c->request = NULL;
    return true;
}

/* --- answers --- */

static void tell_owner(struct quorum_call *c, const struct store_reply *reply)
{
    struct store_call *owner = c->owner;

    c->owner = NULL;
    c->q->undecided--;
    owner->state = CALL_IDLE;
    owner->answer(owner, reply);
}

static void take(struct quorum_call *c, size_t i, const struct store_reply *reply)
{
    struct store_reply merged = *reply;
    bool decided;

    if (c->question)
        decided = c->owner && (reply->status == STORE_ANSWERED || !ask_next(c));
    else if (c->raw)
        decided = quorum_raw_take(c->raw, reply, &merged);
    else
        decided = quorum_take(&c->round, (unsigned)i, reply, &merged);
    if (decided && c->owner)
        tell_owner(c, &merged);
}

static void on_answer(struct store_call *call, const struct store_reply *reply)
{
    struct child *child = (struct child *)call; /* its first member */
    struct quorum_call *c = child->parent;
    bool nested = c->busy;

    c->busy = true;
    server_of(child)->out--;
    c->out--;
    quorum_kick(c->q);
    if (!child->gives_back && !c->question && !c->raw)
        quorum_refusal_heard(server_of(child), call, c->round.verb, reply);
    if (!child->gives_back)
        take(c, number_of(child), reply);
    else if (reply->status == STORE_NO_ANSWER)
        owe(child);
    if (c->giving)
        give_back(c);
    if (nested)
        return;
    c->busy = false;
    release(c);
}

/* --- from the owner --- */

static void answer_unsent(struct store_call *owner, struct boot now)
{
    struct store_reply reply = { .status = STORE_ERROR,
                                 .sent = now,
                                 .received = now,
                                 .fault = FAULT_OURS,
                                 .error = "memory is short" };

    owner->state = CALL_IDLE;
    owner->answer(owner, &reply);
}

static unsigned who_can_be_asked(const struct quorum_store *q)
{
    unsigned mask = 0;

    for (size_t i = 0; i < q->n; i++)
        mask |= quorum_can_ask(&q->servers[i]) ? 1U << i : 0;
    return mask;
}

static void ask_all(struct quorum_call *c, const struct store_request *request, struct boot now)
{
    unsigned asked = who_can_be_asked(c->q);
    uint16_t slot = c->owner->slot; /* it may be told before the last one is asked */

    quorum_init(&c->round, &c->q->clock,
                &(struct quorum_asked){ .servers = (unsigned)c->q->n, .who = asked, .sent = now },
                request);
    if (c->raw)
        quorum_raw_expect(c->raw, c->q->n, asked);
    c->request = request;
    for (size_t i = 0; i < c->q->n; i++) {
        c->children[i].call.slot = slot;
        if (asked >> i & 1)
            send_child(&c->children[i]);
    }
    c->request = NULL;
}

void quorum_call_start(struct quorum_store *q, struct store_call *owner)
{
    struct boot now = redis_link_now();
    struct store_request request = { 0 };
    struct quorum_call *c;

    if (!owner->compose(owner, now, &request))
        return;
    c = new_call(q, &request);
    if (!c) {
        answer_unsent(owner, now);
        return;
    }
    owner->state = CALL_SENT;
    owner->sent = now;
    owner->verb = request.verb;
    c->owner = owner;
    q->undecided++;
    c->busy = true;
    if (c->question)
        (void)ask_next(c); /* there is a majority */
    else
        ask_all(c, &request, now);
    c->busy = false;
    release(c);
}

void quorum_call_cancel(struct quorum_store *q, struct store_call *owner)
{
    struct quorum_call *c = q->calls;

    owner->state = CALL_IDLE;
    while (c && c->owner != owner)
        c = c->next;
    if (!c)
        return;
    c->owner = NULL;
    q->undecided--;
    if (!c->giving)
        return;
    quorum_drop(&c->round);
    c->busy = true;
    give_back(c);
    c->busy = false;
    release(c);
}

size_t quorum_call_pending(const struct quorum_store *q)
{
    return q->undecided;
}

void quorum_call_free_all(struct quorum_store *q)
{
    while (q->calls) {
        struct quorum_call *c = q->calls;

        q->calls = c->next;
        free_call(c);
    }
}
