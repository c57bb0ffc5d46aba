/* SPDX-License-Identifier: MIT */
#include "redis/codec.h"
#include "base/text.h"
#include "core/hash_tag.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the kinds of a script's keys, of which no script has more than 9. */
#define KEYS_SIZE 48

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

static void add_word(struct redis_codec_command *c, const char *word)
{
    add(c, "%s", word);
}

static void add_i64(struct redis_codec_command *c, int64_t value)
{
    add(c, "%" PRId64, value);
}

static void add_u64(struct redis_codec_command *c, uint64_t value)
{
    add(c, "%" PRIu64, value);
}

/* A text that may be long is copied to the heap: who composed it may let it go, and a script that
 * the server lost makes the command go a second time. */
static void add_large(struct redis_codec_command *c, const char *text, size_t most)
{
    size_t len = strnlen(text, most + 1);

    if (len > most) {
        c->used = sizeof c->text + 1;
        return;
    }
    c->large = malloc(len + 1);
    if (!c->large)
        return;
    memcpy(c->large, text, len);
    c->large[len] = '\0';
    add_text(c, c->large, len);
}

static void add_job_key(struct redis_codec_command *c, const struct job_spec *job,
                        const char *prefix, const char *kind)
{
    const char *tag = job->lock_key;
    size_t length;

    if (!job->lock_key) {
        add(c, "%s{%s}:%s", prefix, job->key, kind);
    } else if (strcmp(kind, "lock") == 0) {
        add_word(c, job->lock_key);
    } else {
        length = hash_tag(job->lock_key, &tag);
        if (length == 0)
            length = strlen(tag);
        add(c, "%s{%.*s}:%s:%s", prefix, (int)length, tag, job->key, kind);
    }
}

static void add_machine(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->device);
    add_word(c, q->boot);
}

static void add_acquire(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->turn.ms);
    add_i64(c, q->next.ms);
    add_i64(c, q->ttl_ms);
    add_u64(c, q->job->attempts);
    add_u64(c, q->fence);
    add_i64(c, q->fresh_ms);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->history);
    add(c, "%d", q->first_ask ? 1 : 0);
    add_word(c, q->job->fingerprint);
    add_word(c, q->job->schedule_print);
    add_u64(c, q->job->version);
}

static void add_renew(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->ttl_ms);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_u64(c, q->fence);
    add_i64(c, q->job->timing.lease_ms);
    add_i64(c, q->job->retention_ms);
}

/* How the run ended, in either scope. */
static void add_end(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, outcome_name(q->outcome));
    add_i64(c, q->covers.ms);
    add_i64(c, q->job->retry_delay_ms);
    add_u64(c, q->job->attempts);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->history);
    add(c, "%.*s", REDIS_CODEC_DETAIL_MAX, q->detail);
    add_i64(c, q->ran_ms);
    add(c, "%d", q->clean ? 1 : 0);
    add_u64(c, q->job->version);
}

static void add_finish(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_u64(c, q->fence);
    add_end(c, q);
    add_i64(c, q->job->timing.lease_ms);
}

static void add_seat_acquire(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->turn.ms);
    add_i64(c, q->next.ms);
    add_i64(c, q->ttl_ms);
    add_u64(c, q->job->attempts);
    add_i64(c, q->fresh_ms);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->history);
    add_word(c, q->job->fingerprint);
    add_word(c, q->job->schedule_print);
    add_u64(c, q->job->version);
    add_u64(c, q->job->concurrency);
    add_machine(c, q);
    add_u64(c, q->job->stop_after_failures);
}

static void add_seat_renew(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->ttl_ms);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_i64(c, q->job->retention_ms);
    add_u64(c, q->job->concurrency);
    add_machine(c, q);
}

static void add_seat_finish(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->token);
    add_i64(c, q->turn.ms);
    add_u64(c, q->attempt);
    add_end(c, q);
    add_machine(c, q);
    add_u64(c, q->job->stop_after_failures);
    add_i64(c, q->job->timing.lease_ms);
}

static void add_hello(struct redis_codec_command *c, const struct store_request *q)
{
    add_i64(c, q->hello.weight_ms);
    add_i64(c, q->hello.retention_ms);
    add_machine(c, q);
    add_word(c, q->hello.version);
    add_word(c, q->hello.digest);
    add_large(c, q->hello.jobs, (size_t)STORE_HELLO_JOBS_MAX * (JOB_NAME_MAX + 1));
    add_i64(c, q->hello.used_ms);
}

static void add_index(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->job->key);
    add_i64(c, q->turn.ms);
    add_i64(c, q->job->retention_ms);
}

static void add_config_get(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->config.digest);
}

static void add_config_put(struct redis_codec_command *c, const struct store_request *q)
{
    add_word(c, q->config.digest);
    add_large(c, q->config.text, STORE_CONFIG_TEXT_MAX);
    add_i64(c, q->config.retention_ms);
}

static void add_pause(struct redis_codec_command *c, const struct store_request *q)
{
    add(c, "%.*s", STORE_TEXT_SIZE - 1, q->pause.text);
    add_i64(c, q->pause.for_ms);
}

static void add_resume(struct redis_codec_command *c, const struct store_request *q)
{
    add(c, "%d", q->resume.catch_up ? 1 : 0);
}

/* What a verb sends: its script, the kinds of its keys in the script's order, its arguments. */
struct form {
    const struct redis_script *script;
    const char *keys; /* a blank between two */
    void (*add)(struct redis_codec_command *c, const struct store_request *request);
};

static const struct form forms[STORE_VERB_COUNT] = {
    [STORE_ACQUIRE] = { &redis_script_acquire, "lock claim pause history seats", add_acquire },
    [STORE_RENEW] = { &redis_script_renew, "lock claim", add_renew },
    [STORE_FINISH] = { &redis_script_finish, "lock claim history", add_finish },
    [STORE_HELLO] = { &redis_script_hello, "size jobs devices confs seen", add_hello },
    [STORE_INDEX] = { &redis_script_index, "jobs", add_index },
    [STORE_CONFIG_GET] = { &redis_script_config_get, "confs", add_config_get },
    [STORE_CONFIG_PUT] = { &redis_script_config_put, "confs seen", add_config_put },
    [STORE_PAUSE] = { &redis_script_pause, "pause", add_pause },
    [STORE_RESUME] = { &redis_script_resume, "pause claim", add_resume },
};

/* In device scope. */
static const struct form seat_forms[] = {
    [STORE_ACQUIRE] = { &redis_script_seat_acquire, "seats claim pause devices history lock queue",
                        add_seat_acquire },
    [STORE_RENEW] = { &redis_script_seat_renew, "seats claim devices", add_seat_renew },
    [STORE_FINISH] = { &redis_script_seat_finish, "seats claim devices history pause",
                       add_seat_finish },
};

static const struct form *form_of(const struct store_request *q)
{
    bool is_run = q->verb == STORE_ACQUIRE || q->verb == STORE_RENEW || q->verb == STORE_FINISH;

    return is_run && q->job->scope == SCOPE_DEVICE ? &seat_forms[q->verb] : &forms[q->verb];
}

/* The fleet's own keys are in one slot, each job's in one of its own. */
static bool is_fleets(enum store_verb verb)
{
    return verb == STORE_HELLO || verb == STORE_INDEX || verb == STORE_CONFIG_GET ||
           verb == STORE_CONFIG_PUT;
}

static const char digits[][2] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };

static void add_keys(struct redis_codec_command *c, const struct store_request *q,
                     const char *prefix, const char *kinds)
{
    char copy[KEYS_SIZE], *rest = copy, *kind;
    size_t count = c->count++; /* their number comes before them, and is known after */

    text_copy(copy, sizeof copy, kinds);
    while ((kind = strsep(&rest, " "))) {
        if (is_fleets(q->verb))
            add(c, "%s{_fleet}:%s", prefix, kind);
        else
            add_job_key(c, q->job, prefix, kind);
    }
    c->arguments[count] = digits[c->count - count - 1];
    c->lengths[count] = 1;
}

int redis_codec_compose(const struct store_request *request, const char *prefix,
                        struct redis_codec_command *ret_command)
{
    struct redis_codec_command *c = ret_command;
    const struct form *form = form_of(request);
    bool has_large = request->verb == STORE_HELLO || request->verb == STORE_CONFIG_PUT;

    c->verb = request->verb;
    c->script = form->script;
    c->count = 0;
    c->used = 0;
    c->large = c->body = NULL;
    if (!form->script) {
        add(c, "TIME");
        return 0;
    }
    add(c, "EVALSHA");
    add_text(c, form->script->sha1, strlen(form->script->sha1));
    add_keys(c, request, prefix, form->keys);
    form->add(c, request);
    if (c->used > sizeof c->text)
        return -EMSGSIZE;
    return has_large && !c->large ? -ENOMEM : 0;
}

void redis_codec_done(struct redis_codec_command *command)
{
    free(command->large);
    free(command->body);
    command->large = command->body = NULL;
}

int redis_codec_use_body(struct redis_codec_command *command)
{
    command->body = redis_scripts_body(command->script);
    if (!command->body)
        return -ENOMEM;
    command->arguments[0] = "EVAL";
    command->lengths[0] = strlen("EVAL");
    command->arguments[1] = command->body;
    command->lengths[1] = command->script->size;
    return 0;
}

struct redis_command redis_codec_view(const struct redis_codec_command *command)
{
    return (struct redis_command){
        .count = command->count,
        .arguments = command->arguments,
        .lengths = command->lengths,
    };
}
