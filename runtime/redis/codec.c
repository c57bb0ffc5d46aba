/* SPDX-License-Identifier: MIT */
#include "redis/codec.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct redis_script *script_of(enum store_verb verb)
{
    switch (verb) {
    case STORE_ACQUIRE:
        return &redis_script_acquire;
    case STORE_RENEW:
        return &redis_script_renew;
    case STORE_FINISH:
        return &redis_script_finish;
    case STORE_CLOCK:
    case STORE_VERB_COUNT:
        break;
    }
    return NULL;
}

static void add_text(struct redis_codec_command *c, const char *text, size_t len)
{
    c->arguments[c->count] = text;
    c->lengths[c->count] = len;
    c->count++;
}

/* A text that does not fit is left out, and `used` then says so. */
static void __attribute__((format(printf, 2, 3)))
add(struct redis_codec_command *c, const char *format, ...)
{
    size_t room = c->used < sizeof c->text ? sizeof c->text - c->used : 0;
    char *text = c->text + sizeof c->text - room;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, room, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= room) {
        c->used = sizeof c->text + 1;
        return;
    }
    add_text(c, text, (size_t)len);
    c->used += (size_t)len + 1;
}

static void add_i64(struct redis_codec_command *c, int64_t value)
{
    add(c, "%" PRId64, value);
}

static void add_u64(struct redis_codec_command *c, uint64_t value)
{
    add(c, "%" PRIu64, value);
}

static void add_keys(struct redis_codec_command *c, const struct store_request *q,
                     const char *prefix, const char *const *kinds)
{
    size_t count = 0;

    while (kinds[count])
        count++;
    add_u64(c, count);
    for (size_t i = 0; i < count; i++)
        add(c, "%s{%s}:%s", prefix, q->job->key, kinds[i]);
}

static void compose_acquire(struct redis_codec_command *c, const struct store_request *q,
                            const char *prefix)
{
    static const char *const keys[] = { "lock", "claim", "pause", "history", NULL };

    add_keys(c, q, prefix, keys);
    add(c, "%s", q->token);
    add_i64(c, q->turn.ms);
    add_i64(c, q->next.ms);
    add_i64(c, q->ttl_ms);
    add_u64(c, q->job->attempts);
    add_u64(c, q->fence);
    add_i64(c, q->fresh_ms);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->history);
    add(c, "%d", q->first_ask ? 1 : 0);
    add(c, "%s", q->job->fingerprint);
    add(c, "%s", q->job->schedule_print);
}

static void compose_renew(struct redis_codec_command *c, const struct store_request *q,
                          const char *prefix)
{
    static const char *const keys[] = { "lock", "claim", NULL };

    add_keys(c, q, prefix, keys);
    add(c, "%s", q->token);
    add_i64(c, q->ttl_ms);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_u64(c, q->fence);
    add_i64(c, q->job->timing.lease_ms);
    add_i64(c, q->job->retention_ms);
}

static void compose_finish(struct redis_codec_command *c, const struct store_request *q,
                           const char *prefix)
{
    static const char *const keys[] = { "lock", "claim", "history", NULL };

    add_keys(c, q, prefix, keys);
    add(c, "%s", q->token);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_u64(c, q->fence);
    add(c, "%s", outcome_name(q->outcome));
    add_i64(c, q->covers.ms);
    add_i64(c, q->job->retry_delay_ms);
    add_u64(c, q->job->attempts);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->history);
    add(c, "%.*s", REDIS_CODEC_DETAIL_MAX, q->detail);
    add_i64(c, q->ran_ms);
    add(c, "%d", q->clean ? 1 : 0);
}

int redis_codec_compose(const struct store_request *request, const char *prefix,
                        struct redis_codec_command *ret_command)
{
    struct redis_codec_command *c = ret_command;
    const struct redis_script *script = script_of(request->verb);

    c->verb = request->verb;
    c->script = script;
    c->count = 0;
    c->used = 0;
    if (!script) {
        add(c, "TIME");
        return 0;
    }
    add(c, "EVALSHA");
    add_text(c, script->sha1, strlen(script->sha1));
    if (request->verb == STORE_ACQUIRE)
        compose_acquire(c, request, prefix);
    else if (request->verb == STORE_RENEW)
        compose_renew(c, request, prefix);
    else
        compose_finish(c, request, prefix);
    return c->used <= sizeof c->text ? 0 : -EMSGSIZE;
}

void redis_codec_use_body(struct redis_codec_command *command)
{
    const struct redis_script *script = command->script;

    if (!script)
        return;
    command->arguments[0] = "EVAL";
    command->lengths[0] = strlen("EVAL");
    command->arguments[1] = script->body;
    command->lengths[1] = script->body_len;
}

struct redis_command redis_codec_view(const struct redis_codec_command *command)
{
    return (struct redis_command){
        .count = command->count,
        .arguments = command->arguments,
        .lengths = command->lengths,
    };
}
