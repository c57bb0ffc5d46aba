/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "redis/node_internal.h"
#include "redis/settings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct redis_node *node_of_const(const struct redis_store *s)
{
    return (const struct redis_node *)s;
}

static struct redis_parcel *parcel_of(struct redis_link_request *request)
{
    return (struct redis_parcel *)((char *)request - offsetof(struct redis_parcel, request));
}

static void free_parcel(struct redis_parcel *parcel)
{
    redis_codec_done(&parcel->command);
    free(parcel);
}

static void drop_parcel(struct redis_parcel *parcel)
{
    struct redis_parcel *out = NULL;

    redis_node_move_parcel(&parcel->node->parcels, &out, parcel);
    free_parcel(parcel);
}

/* The call may submit itself again in its answer(): by then nothing here refers to it. */
static void answer(struct store_call *call, const struct store_reply *reply)
{
    call->state = CALL_IDLE;
    call->answer(call, reply);
}

static void answer_fault(struct store_call *call, enum store_status status, struct boot instant,
                         const struct redis_fault *fault)
{
    struct store_reply reply = {
        .status = status,
        .sent = instant,
        .received = redis_link_now(),
        .fault = fault->class,
        .error = fault->reason,
    };

    answer(call, &reply);
}

int redis_node_send_parcel(struct redis_parcel *parcel)
{
    const struct redis_node *node = parcel->node;
    struct redis_command view =
        parcel->raw ? *parcel->raw->command : redis_codec_view(&parcel->command);
    /* It is forgotten with each command, refused or not. */
    int r = parcel->asking ? node->carrier->announce(parcel) : 0;

    return r < 0 ? r : redis_link_send(node->link, &view, &parcel->request);
}

/* The same command again with the script's body. */
static bool send_body(struct redis_parcel *parcel)
{
    if (parcel->by_body || !parcel->call || parcel->raw || !parcel->command.script)
        return false;
    parcel->by_body = true;
    return redis_codec_use_body(&parcel->command) == 0 && redis_node_send_parcel(parcel) == 0;
}

static void deliver_fault(struct redis_parcel *parcel, enum store_status status,
                          const struct redis_fault *fault)
{
    struct store_call *call = parcel->call;
    struct boot instant = parcel->instant;

    drop_parcel(parcel);
    if (call)
        answer_fault(call, status, instant, fault);
}

static bool deliver_answer(struct redis_parcel *parcel, const redisReply *reply)
{
    struct store_call *call = parcel->call;
    struct redis_codec_texts texts;
    struct store_reply parsed = {
        .status = STORE_ANSWERED,
        .sent = parcel->instant,
        .received = redis_link_now(),
    };

    if (parcel->raw)
        parsed.raw = reply;
    else if (redis_codec_parse(parcel->command.verb, reply, &texts, &parsed) < 0)
        return false;
    else if (parcel->node->env.adjust)
        parcel->node->env.adjust(parcel->node->env.context, &parsed);
    drop_parcel(parcel);
    if (call)
        answer(call, &parsed);
    return true;
}

/* Another node's from now on, or nobody's: the one that it was sent to is done with it. */
static bool is_redirected(struct redis_parcel *parcel, const redisReply *reply)
{
    const struct redis_store_env *env = &parcel->node->env;

    return reply && parcel->call && env->redirect &&
           env->redirect(env->context, parcel, reply->str);
}

static bool on_done(struct redis_link_request *request, const redisReply *reply,
                    const struct redis_fault *fault)
{
    struct redis_parcel *parcel = parcel_of(request);

    if (!fault)
        return deliver_answer(parcel, reply);
    if ((fault->wants_body && send_body(parcel)) || is_redirected(parcel, reply))
        return true;
    deliver_fault(parcel, reply ? STORE_ERROR : STORE_NO_ANSWER, fault);
    return true;
}

static struct redis_parcel *new_parcel(struct redis_node *node, struct store_call *call,
                                       const struct store_request *request, struct boot instant)
{
    const struct redis_raw *raw = request->verb == STORE_RAW ? request->raw : NULL;
    int64_t timeout_ms = raw ? raw->timeout_ms : node->settings->command_timeout_ms;
    struct redis_parcel *parcel = malloc(sizeof *parcel);

    if (!parcel)
        return NULL;
    parcel->request.done = on_done;
    parcel->request.deadline = boot_add(instant, timeout_ms);
    parcel->node = node;
    parcel->call = call;
    parcel->raw = raw;
    parcel->instant = instant;
    parcel->by_body = parcel->asking = false;
    parcel->hops = 0;
    parcel->slot = call->slot;
    parcel->command.large = parcel->command.body = NULL;
    parcel->next = node->parcels;
    node->parcels = parcel;
    return parcel;
}

static int send_request(struct redis_node *node, struct store_call *call,
                        const struct store_request *request, struct boot now)
{
    struct redis_parcel *parcel = new_parcel(node, call, request, now);
    int r = 0;

    if (!parcel)
        return -ENOMEM;
    if (!parcel->raw)
        r = redis_codec_compose(request, node->settings->prefix, &parcel->command);
    if (r == 0)
        r = redis_node_send_parcel(parcel);
    if (r < 0) {
        drop_parcel(parcel);
        return r;
    }
    call->state = CALL_SENT;
    call->sent = now;
    call->verb = request->verb;
    return 0;
}

/* Never sent, so nothing is unknown. */
static void answer_unsent(struct store_call *call, struct boot now, int error)
{
    struct redis_fault fault = { .class = FAULT_OURS };

    text_copy(fault.reason, sizeof fault.reason,
              error == -EMSGSIZE ? "the request is too long" : "memory is short");
    answer_fault(call, STORE_ERROR, now, &fault);
}

static void send_call(struct redis_node *node, struct store_call *call)
{
    struct boot now = redis_link_now();
    struct store_request request = { 0 };
    int r;

    if (!call->compose(call, now, &request))
        return;
    r = send_request(node, call, &request, now);
    if (r < 0)
        answer_unsent(call, now, r);
}

void redis_node_refuse(struct redis_parcel *parcel, enum fault class, const char *words)
{
    struct redis_fault fault = { .class = class };

    text_copy(fault.reason, sizeof fault.reason, words);
    deliver_fault(parcel, STORE_ERROR, &fault);
}

/* --- the link's owner --- */

static void on_ready(void *context)
{
    struct redis_node *node = context;

    if (node->carried)
        node->carrier->move(node, false);
    while (node->queue.first && redis_link_has_room(node->link))
        send_call(node, call_queue_pop(&node->queue));
}

static bool on_wants(void *context)
{
    const struct redis_node *node = context;

    return node->queue.first || node->carried || node->keeps;
}

/* Where there is no connection to be had, nothing waits here that came for one node alone. */
static void on_change(void *context, const struct redis_link_change *change)
{
    struct redis_node *node = context;

    if (node->carried && change->state == REDIS_LINK_WAITING)
        node->carrier->move(node, true);
    if (node->env.watch)
        node->env.watch(node->env.context, change);
}

/* --- the store --- */

static void free_node(struct redis_store *s)
{
    struct redis_node *node = redis_node_of(s);

    call_queue_clear(&node->queue);
    while (node->carried)
        redis_node_move_parcel(&node->carried, &node->parcels, node->carried);
    for (struct redis_parcel *parcel = node->parcels; parcel; parcel = parcel->next)
        parcel->call = NULL;
    redis_link_free(node->link);
    for (struct redis_parcel *parcel = node->parcels, *next; parcel; parcel = next) {
        next = parcel->next;
        free_parcel(parcel);
    }
    redis_settings_free(node->settings);
    free(node);
}

static void submit(struct redis_store *s, struct store_call *call, bool urgent)
{
    struct redis_node *node = redis_node_of(s);

    call_queue_push(&node->queue, call);
    redis_link_kick(node->link, urgent);
}

static void forget(struct redis_parcel *parcel, const struct store_call *call)
{
    for (; parcel; parcel = parcel->next)
        if (parcel->call == call)
            parcel->call = NULL;
}

static void cancel(struct redis_store *s, struct store_call *call)
{
    struct redis_node *node = redis_node_of(s);

    if (call->state == CALL_QUEUED) {
        call_queue_remove(&node->queue, call);
        return;
    }
    forget(node->parcels, call);
    forget(node->carried, call);
    call->state = CALL_IDLE;
}

static int set_password(struct redis_store *s, size_t of, const char *password)
{
    struct redis_node *node = redis_node_of(s);
    int r =
        redis_settings_set_password(node->settings, of == REDIS_PASSWORD_OF_SENTINELS, password);

    if (r > 0)
        redis_link_retry(node->link);
    return r;
}

static void retry(struct redis_store *s)
{
    redis_link_retry(redis_node_of(s)->link);
}

static void expect(struct redis_store *s, const struct store_need *need)
{
    redis_link_expect(redis_node_of(s)->link, need);
}

static bool sound(const struct redis_store *s, struct boot now, int64_t slack_ms)
{
    return redis_link_sound(node_of_const(s)->link, now, slack_ms);
}

static size_t count(const struct redis_parcel *parcel)
{
    size_t n = 0;

    for (; parcel; parcel = parcel->next)
        n += parcel->call ? 1 : 0;
    return n;
}

static size_t pending(const struct redis_store *s)
{
    const struct redis_node *node = node_of_const(s);

    return call_queue_count(&node->queue) + count(node->parcels) + count(node->carried);
}

static void facts(const struct redis_store *s, struct redis_store_facts *ret_facts)
{
    const struct redis_node *node = node_of_const(s);

    *ret_facts = (struct redis_store_facts){
        .traffic = *redis_link_traffic(node->link),
        .servers = 1,
        .up = redis_link_is_up(node->link),
        .endpoint = redis_route_text(redis_link_route(node->link)),
        .address = redis_route_target(redis_link_route(node->link)).host,
    };
}

static const struct redis_store_ops ops = {
    .free = free_node,
    .submit = submit,
    .cancel = cancel,
    .set_password = set_password,
    .retry = retry,
    .expect = expect,
    .sound = sound,
    .pending = pending,
    .facts = facts,
};

int redis_node_new(const struct redis_settings *settings, const struct redis_store_env *env,
                   struct redis_store **ret_store)
{
    struct redis_node *node = calloc(1, sizeof *node);
    struct redis_link_owner owner = {
        .ready = on_ready, .wants = on_wants, .changed = on_change, .context = node
    };
    int r;

    if (!node)
        return -ENOMEM;
    node->store.ops = &ops;
    node->env = *env;
    r = redis_settings_copy(settings, &node->settings);
    if (r == 0)
        r = redis_link_new(node->settings, env, &owner, &node->link);
    if (r < 0) {
        free_node(&node->store);
        return r;
    }
    *ret_store = &node->store;
    return 0;
}

void redis_node_keep(struct redis_store *s, bool keeps)
{
    struct redis_node *node = redis_node_of(s);

    node->keeps = keeps;
    redis_link_kick(node->link, false); /* it connects, or plans when to close */
}

void redis_node_send(struct redis_store *s)
{
    on_ready(redis_node_of(s));
}
