/* SPDX-License-Identifier: MIT */
#include "redis/store.h"
#include "base/text.h"
#include "core/call_queue.h"
#include "redis/codec.h"
#include "redis/link.h"
#include "redis/settings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A command that was sent. It outlives a cancelled call, since its reply still comes. */
struct sent {
    struct redis_link_request request;
    struct redis_store *store;
    struct store_call *call; /* NULL: cancelled */
    struct boot instant;
    bool by_body; /* EVAL was tried already */
    struct sent *next;
    struct redis_codec_command command;
};

struct redis_store {
    struct redis_settings *settings;
    struct redis_link *link;
    struct call_queue queue;
    struct sent *sent; /* in no order: the link keeps that */
};

static struct sent *sent_of(struct redis_link_request *request)
{
    return (struct sent *)((char *)request - offsetof(struct sent, request));
}

static void free_sent(struct sent *sent)
{
    struct sent **at = &sent->store->sent;

    while (*at != sent)
        at = &(*at)->next;
    *at = sent->next;
    redis_codec_done(&sent->command);
    free(sent);
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

/* The same command again with the script's body. Its deadline and the instant of its sending stay
 * those of the first: the lease that the holder counts from them is then never longer than the
 * server's. */
static bool send_body(struct sent *sent)
{
    struct redis_command view;

    if (sent->by_body || !sent->call || !sent->command.script)
        return false;
    sent->by_body = true;
    if (redis_codec_use_body(&sent->command) < 0)
        return false;
    view = redis_codec_view(&sent->command);
    return redis_link_send(sent->store->link, &view, &sent->request) == 0;
}

static void deliver_fault(struct sent *sent, enum store_status status,
                          const struct redis_fault *fault)
{
    struct store_call *call = sent->call;
    struct boot instant = sent->instant;

    free_sent(sent);
    if (call)
        answer_fault(call, status, instant, fault);
}

static bool deliver_answer(struct sent *sent, const redisReply *reply)
{
    struct store_call *call = sent->call;
    struct redis_codec_texts texts;
    struct store_reply parsed = {
        .status = STORE_ANSWERED,
        .sent = sent->instant,
        .received = redis_link_now(),
    };

    if (redis_codec_parse(sent->command.verb, reply, &texts, &parsed) < 0)
        return false;
    free_sent(sent);
    if (call)
        answer(call, &parsed);
    return true;
}

static bool on_done(struct redis_link_request *request, const redisReply *reply,
                    const struct redis_fault *fault)
{
    struct sent *sent = sent_of(request);

    if (!fault)
        return deliver_answer(sent, reply);
    if (fault->wants_body && send_body(sent))
        return true;
    deliver_fault(sent, reply ? STORE_ERROR : STORE_NO_ANSWER, fault);
    return true;
}

static struct sent *new_sent(struct redis_store *s, struct store_call *call, struct boot instant)
{
    struct sent *sent = malloc(sizeof *sent);

    if (!sent)
        return NULL;
    sent->request.done = on_done;
    sent->request.deadline = boot_add(instant, s->settings->command_timeout_ms);
    sent->store = s;
    sent->call = call;
    sent->instant = instant;
    sent->by_body = false;
    sent->next = s->sent;
    s->sent = sent;
    return sent;
}

static int send_request(struct redis_store *s, struct store_call *call,
                        const struct store_request *request, struct boot now)
{
    struct sent *sent = new_sent(s, call, now);
    struct redis_command view;
    int r;

    if (!sent)
        return -ENOMEM;
    r = redis_codec_compose(request, s->settings->prefix, &sent->command);
    if (r == 0) {
        view = redis_codec_view(&sent->command);
        r = redis_link_send(s->link, &view, &sent->request);
    }
    if (r < 0) {
        free_sent(sent);
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

static void send_call(struct redis_store *s, struct store_call *call)
{
    struct boot now = redis_link_now();
    struct store_request request = { 0 };
    int r;

    if (!call->compose(call, now, &request))
        return;
    r = send_request(s, call, &request, now);
    if (r < 0)
        answer_unsent(call, now, r);
}

static void on_ready(void *context)
{
    struct redis_store *s = context;

    while (s->queue.first && redis_link_has_room(s->link))
        send_call(s, call_queue_pop(&s->queue));
}

static bool on_wants(void *context)
{
    const struct redis_store *s = context;

    return s->queue.first != NULL;
}

int redis_store_new(const struct redis_settings *settings, const struct redis_store_env *env,
                    struct redis_store **ret_store)
{
    struct redis_store *s = calloc(1, sizeof *s);
    struct redis_link_owner owner = { .ready = on_ready, .wants = on_wants, .context = s };
    int r;

    if (!s)
        return -ENOMEM;
    r = redis_settings_copy(settings, &s->settings);
    if (r == 0)
        r = redis_link_new(s->settings, env, &owner, &s->link);
    if (r < 0) {
        redis_store_free(s);
        return r;
    }
    *ret_store = s;
    return 0;
}

void redis_store_free(struct redis_store *s)
{
    if (!s)
        return;
    call_queue_clear(&s->queue);
    for (struct sent *sent = s->sent; sent; sent = sent->next)
        sent->call = NULL;
    redis_link_free(s->link);
    redis_settings_free(s->settings);
    free(s);
}

void redis_store_submit(struct redis_store *s, struct store_call *call, bool urgent)
{
    call_queue_push(&s->queue, call);
    redis_link_kick(s->link, urgent);
}

void redis_store_cancel(struct redis_store *s, struct store_call *call)
{
    if (call->state == CALL_QUEUED) {
        call_queue_remove(&s->queue, call);
        return;
    }
    for (struct sent *sent = s->sent; sent; sent = sent->next)
        if (sent->call == call)
            sent->call = NULL;
    call->state = CALL_IDLE;
}

int redis_store_set_password(struct redis_store *s, const char *password)
{
    int r = redis_settings_set_password(s->settings, password);

    if (r > 0)
        redis_link_retry(s->link);
    return r;
}

void redis_store_retry(struct redis_store *s)
{
    redis_link_retry(s->link);
}

struct redis_link *redis_store_link(struct redis_store *s)
{
    return s->link;
}

void redis_store_expect(struct redis_store *s, const struct store_need *need)
{
    redis_link_expect(s->link, need);
}

bool redis_store_sound(const struct redis_store *s, struct boot now, int64_t slack_ms)
{
    return redis_link_sound(s->link, now, slack_ms);
}

size_t redis_store_pending(const struct redis_store *s)
{
    size_t pending = call_queue_count(&s->queue);

    for (const struct sent *sent = s->sent; sent; sent = sent->next)
        pending += sent->call ? 1 : 0;
    return pending;
}
