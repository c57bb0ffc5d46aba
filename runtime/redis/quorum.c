/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "core/slot.h"
#include "redis/quorum_internal.h"
#include <errno.h>
#include <stdlib.h>

/* For people, where one server's address would stand. */
#define WHOLE "the quorum"
/* A majority is there: servers that are still being connected to are waited for as long again as it
 * took, within these. */
#define PATIENCE_MIN_MS 10
#define PATIENCE_MAX_MS 250

static struct quorum_store *quorum_of(struct redis_store *s)
{
    return (struct quorum_store *)s; /* its first member */
}

static const struct quorum_store *quorum_of_const(const struct redis_store *s)
{
    return (const struct quorum_store *)s;
}

static size_t majority(const struct quorum_store *q)
{
    return quorum_majority((unsigned)q->n);
}

static size_t count_up(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += q->servers[i].state == REDIS_LINK_UP;
    return count;
}

static size_t count_away(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += q->servers[i].away;
    return count;
}

static size_t count_serving(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += q->servers[i].served && !q->servers[i].refuses;
    return count;
}

size_t quorum_count_left(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += !q->servers[i].away && !q->servers[i].refuses;
    return count;
}

static bool is_lost(const struct quorum_store *q)
{
    return count_away(q) > q->n - majority(q);
}

/* --- when a call may be sent --- */

bool quorum_can_ask(const struct quorum_server *server)
{
    return server->state == REDIS_LINK_UP && server->out < QUORUM_OUT_MAX;
}

static size_t count_asked(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += quorum_can_ask(&q->servers[i]);
    return count;
}

/* Connections are made side by side, and the majority's may be there first by a hair: without the
 * others each of its servers would have to grant. One that was away is not waited for. */
static bool waits_for_more(const struct quorum_store *q, struct boot now)
{
    if (boot_reached(now, q->patience))
        return false;
    for (size_t i = 0; i < q->n; i++)
        if (q->servers[i].state == REDIS_LINK_CONNECTING && !q->servers[i].away)
            return true;
    return false;
}

static bool may_send(const struct quorum_store *q)
{
    return count_asked(q) >= majority(q);
}

static bool is_used(const struct quorum_store *q)
{
    return q->queue.first || q->undecided > 0;
}

/* --- the connections --- */

static void keep(struct quorum_store *q, bool keeps)
{
    if (keeps == q->keeps)
        return;
    q->keeps = keeps;
    q->wanted_since = redis_link_now();
    for (size_t i = 0; i < q->n; i++)
        redis_node_keep(q->servers[i].node, keeps);
}

/* No majority is to be had without one whose next try is waited for, or that was away. */
static bool is_held_up(const struct quorum_store *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += q->servers[i].away || q->servers[i].state == REDIS_LINK_WAITING;
    return count > q->n - majority(q);
}

/* Once for each time that the majority was lost. */
static void hurry(struct quorum_store *q)
{
    if (q->hurried || !is_held_up(q))
        return;
    q->hurried = true;
    redis_store_retry(&q->store);
}

/* As a connection by itself is kept (link_idle.c), and with them the tries to get the others. */
static bool is_needed_soon(const struct quorum_store *q)
{
    return boot_between(redis_link_now(), q->need.next) <= q->idle_timeout_ms;
}

static void settle(struct quorum_store *q)
{
    struct boot now = redis_link_now();
    bool waits = q->queue.first && may_send(q) && waits_for_more(q, now);

    if (!is_used(q) && !is_needed_soon(q))
        keep(q, false);
    if (redis_alarm_set(&q->alarm, waits ? q->patience : BOOT_NEVER) < 0)
        q->faulty = true;
}

static void pump(struct quorum_store *q)
{
    quorum_call_pay(q);
    while (q->queue.first && may_send(q) && !waits_for_more(q, redis_link_now()))
        quorum_call_start(q, call_queue_pop(&q->queue));
    settle(q);
}

static int on_kick(sd_event_source *source, void *context)
{
    (void)source;
    pump(context);
    return 0;
}

static int on_alarm(sd_event_source *source, uint64_t usec, void *context)
{
    struct quorum_store *q = context;

    (void)source;
    (void)usec;
    redis_alarm_rang(&q->alarm);
    pump(q);
    return 0;
}

void quorum_kick(struct quorum_store *q)
{
    if (sd_event_source_set_enabled(q->kick, SD_EVENT_ONESHOT) < 0)
        q->faulty = true;
}

/* --- what people are told --- */

static enum redis_link_state state_of_all(const struct quorum_store *q)
{
    if (count_up(q) >= majority(q))
        return REDIS_LINK_UP;
    if (is_lost(q))
        return REDIS_LINK_WAITING;
    for (size_t i = 0; i < q->n; i++)
        if (q->servers[i].state == REDIS_LINK_CONNECTING)
            return REDIS_LINK_CONNECTING;
    return REDIS_LINK_IDLE;
}

/* Of the whole, where that has changed; `last` is the change of one server that did it. */
static void tell(struct quorum_store *q, const struct redis_link_change *last)
{
    struct redis_link_change change = { .endpoint = WHOLE, .state = state_of_all(q) };
    char reason[REDIS_FAULT_REASON_SIZE];

    if (change.state == q->told)
        return;
    q->told = change.state;
    if (change.state == REDIS_LINK_UP) {
        q->hurried = false;
        change.tls = last->tls;
    } else if (change.state == REDIS_LINK_WAITING) {
        text_format(reason, sizeof reason, "%zu of its %zu servers are away; %s: %s", count_away(q),
                    q->n, last->endpoint, last->reason ? last->reason : "no reply");
        change.fault = last->fault;
        change.reason = reason;
        change.window_ms = last->window_ms;
    }
    if (q->env.watch)
        q->env.watch(q->env.context, &change);
}

/* A majority is whole by this change. */
static void begin_patience(struct quorum_store *q)
{
    struct boot now = redis_link_now();
    int64_t took = boot_between(q->wanted_since, now);

    if (took < PATIENCE_MIN_MS)
        took = PATIENCE_MIN_MS;
    q->patience = boot_add(now, took < PATIENCE_MAX_MS ? took : PATIENCE_MAX_MS);
}

/* Servers and carriers close connections on which nothing goes on (link_state.c): this one is made
 * anew. Where it cannot be, that try tells. */
static bool is_only_closed(const struct quorum_server *server,
                           const struct redis_link_change *change)
{
    return change->state == REDIS_LINK_WAITING && change->fault == FAULT_LINK &&
           server->state == REDIS_LINK_UP && server->out == 0;
}

static void take_state(struct quorum_server *server, const struct redis_link_change *change,
                       bool closed)
{
    struct quorum_store *q = server->q;
    size_t before = count_up(q);

    server->state = change->state;
    if (change->state == REDIS_LINK_UP) {
        server->up_since = redis_link_now();
        server->away = false;
        server->served = true;
        if (before + 1 == majority(q))
            begin_patience(q);
    } else if (change->state == REDIS_LINK_WAITING && !closed) {
        server->away = true;
        server->served = false;
        /* A replica lets in whoever may log in: that it serves shows in what it is asked. */
        server->refuses = change->fault == FAULT_REPLICA;
        quorum_refusal_note(server, STORE_ACQUIRE, SLOT_COUNT, change->fault);
    }
}

static void on_change(void *context, const struct redis_link_change *change)
{
    struct quorum_server *server = context;
    struct quorum_store *q = server->q;
    size_t number = (size_t)(server - q->servers);
    bool closed = is_only_closed(server, change), unproven;

    take_state(server, change, closed);
    /* That it serves again shows in what it is asked. */
    unproven = change->state == REDIS_LINK_UP && server->refuses;
    if (q->people.changed && !closed && !unproven)
        q->people.changed(q->people.context, number, change, quorum_count_left(q));
    tell(q, change);
    quorum_kick(q);
}

/* --- what the servers' nodes ask of their surroundings --- */

static void on_random(void *context, void *buffer, size_t size)
{
    const struct redis_store_env *env = &((struct quorum_server *)context)->q->env;

    env->random(env->context, buffer, size);
}

static int on_resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct quorum_server *server = context;

    return redis_lookups_ask(&server->q->lookups, host, port, lookup);
}

static void on_resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct quorum_server *server = context;

    redis_lookups_cancel(&server->q->lookups, lookup);
}

/* --- the store --- */

static void free_quorum(struct redis_store *s)
{
    struct quorum_store *q = quorum_of(s);

    call_queue_clear(&q->queue);
    redis_lookups_done(&q->lookups); /* first: where one is cancelled, the next is asked */
    for (size_t i = 0; i < q->n; i++)
        redis_store_free(q->servers[i].node);
    quorum_call_free_all(q);
    redis_alarm_done(&q->alarm);
    sd_event_source_disable_unref(q->kick);
    if (q->people.free)
        q->people.free(q->people.context);
    free(q);
}

static void submit(struct redis_store *s, struct store_call *call, bool urgent)
{
    struct quorum_store *q = quorum_of(s);

    call_queue_push(&q->queue, call);
    keep(q, true);
    if (urgent)
        hurry(q);
    quorum_kick(q);
}

static void cancel(struct redis_store *s, struct store_call *call)
{
    struct quorum_store *q = quorum_of(s);

    if (call->state == CALL_QUEUED)
        call_queue_remove(&q->queue, call);
    else if (call->state == CALL_SENT)
        quorum_call_cancel(q, call);
    quorum_kick(q);
}

static int set_password(struct redis_store *s, size_t of, const char *password)
{
    const struct quorum_store *q = quorum_of(s);

    return of < q->n ? redis_store_set_password(q->servers[of].node, 0, password) : 0;
}

static void retry(struct redis_store *s)
{
    struct quorum_store *q = quorum_of(s);

    for (size_t i = 0; i < q->n; i++)
        redis_store_retry(q->servers[i].node);
}

static void expect(struct redis_store *s, const struct store_need *need)
{
    struct quorum_store *q = quorum_of(s);

    q->need = *need;
    settle(q);
    for (size_t i = 0; i < q->n; i++)
        redis_store_expect(q->servers[i].node, need);
}

/* Such a connection waits for nothing, and has no timer. */
static bool is_only_kept(const struct quorum_server *server)
{
    return server->q->keeps && server->state == REDIS_LINK_UP && server->out == 0;
}

static bool sound(const struct redis_store *s, struct boot now, int64_t slack_ms)
{
    const struct quorum_store *q = quorum_of_const(s);
    bool kicked = sd_event_source_get_enabled(q->kick, NULL) > 0;

    if (q->faulty || boot_reached(now, boot_add(q->alarm.armed, slack_ms)))
        return false;
    for (size_t i = 0; i < q->n; i++)
        if (!is_only_kept(&q->servers[i]) && !redis_store_sound(q->servers[i].node, now, slack_ms))
            return false;
    /* What is queued waits for a server, for the patience's end, or for rounds that are out. */
    return kicked || !q->queue.first || !may_send(q) || q->alarm.armed.ms != BOOT_NEVER.ms;
}

static size_t pending(const struct redis_store *s)
{
    const struct quorum_store *q = quorum_of_const(s);

    return call_queue_count(&q->queue) + quorum_call_pending(q);
}

static void facts(const struct redis_store *s, struct redis_store_facts *ret_facts)
{
    const struct quorum_store *q = quorum_of_const(s);
    struct redis_store_facts one;

    *ret_facts =
        (struct redis_store_facts){ .servers = q->n, .up = count_serving(q), .endpoint = WHOLE };
    for (size_t i = 0; i < q->n; i++) {
        redis_store_facts(q->servers[i].node, &one);
        ret_facts->traffic.sent_bytes += one.traffic.sent_bytes;
        ret_facts->traffic.received_bytes += one.traffic.received_bytes;
        ret_facts->traffic.connections += one.traffic.connections;
    }
}

static const struct redis_store_ops ops = {
    .free = free_quorum,
    .submit = submit,
    .cancel = cancel,
    .set_password = set_password,
    .retry = retry,
    .expect = expect,
    .sound = sound,
    .pending = pending,
    .facts = facts,
};

static int add_sources(struct quorum_store *q)
{
    int r = redis_alarm_init(&q->alarm, q->env.event, q->env.priority, on_alarm, q);

    if (r >= 0)
        r = sd_event_add_defer(q->env.event, &q->kick, on_kick, q);
    return r < 0 ? r : redis_alarm_prepare(q->kick, q->env.priority, "redis-quorum");
}

static int add_server(struct quorum_store *q, const struct redis_settings *settings)
{
    struct quorum_server *server = &q->servers[q->n];
    struct redis_store_env env = q->env;

    env.watch = on_change;
    env.random = on_random;
    env.resolve = q->env.resolve ? on_resolve : NULL;
    env.resolve_cancel = on_resolve_cancel;
    env.context = server;
    server->q = q;
    q->n++;
    return redis_node_new(settings, &env, &server->node);
}

int redis_quorum_new(const struct redis_settings *settings, const struct redis_store_env *env,
                     const struct redis_quorum_people *people, struct redis_store **ret_store)
{
    struct quorum_store *q = calloc(1, sizeof *q);
    int r;

    if (!q)
        return -ENOMEM;
    q->store.ops = &ops;
    q->env = *env;
    q->lookups.env = &q->env;
    q->need = (struct store_need){ .next = STORE_NEED_NOW, .watch = BOOT_NEVER };
    q->idle_timeout_ms = settings->idle_timeout_ms;
    q->patience = (struct boot){ INT64_MIN };
    r = add_sources(q);
    for (size_t i = 0; r >= 0 && i < settings->server_count; i++)
        r = add_server(q, &settings->servers[i]);
    if (r < 0) {
        redis_store_free(&q->store);
        return r;
    }
    if (people)
        q->people = *people;
    *ret_store = &q->store;
    return 0;
}
