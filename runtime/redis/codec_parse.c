/* SPDX-License-Identifier: MIT */
#include "redis/codec.h"
#include "redis/codec_read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct redis_codec_shape acquire_shapes[] = {
    { "acquired", "nnntt", ACQUIRE_GRANTED },
    { "spare", "nnntt", ACQUIRE_SPARE },
    { "held", "lsnnntt", ACQUIRE_HELD },
    { "full", "nnntt", ACQUIRE_FULL },
    { "done", "nsttt", ACQUIRE_DONE },
    { "passed", "ntt", ACQUIRE_PASSED },
    { "wait", "nstt", ACQUIRE_WAIT },
    { "exhausted", "nntt", ACQUIRE_EXHAUSTED },
    { "paused", "sl", ACQUIRE_PAUSED },
    { "early", "n", ACQUIRE_EARLY },
    { "over", "s", ACQUIRE_OVER },
    { "mismatch", "sss", ACQUIRE_MISMATCH },
    { "outdated", "n", ACQUIRE_OUTDATED },
    { "newer", "n", ACQUIRE_NEWER },
    { NULL, NULL, 0 },
};

static const struct redis_codec_shape renew_shapes[] = {
    { "renewed", "l", RENEW_RENEWED },
    { "regained", "l", RENEW_REGAINED },
    { "lost", "ls", RENEW_LOST },
    { NULL, NULL, 0 },
};

static const struct redis_codec_shape finish_shapes[] = {
    { "recorded", "nno", 0 },
    { NULL, NULL, 0 },
};

static const struct redis_codec_shape hello_shapes[] = { { "hello", "nnnnnDS", 0 },
                                                         { NULL, NULL, 0 } };
static const struct redis_codec_shape index_shapes[] = { { "indexed", "", 0 }, { NULL, NULL, 0 } };
static const struct redis_codec_shape get_shapes[] = { { "config", "x", 0 }, { NULL, NULL, 0 } };
static const struct redis_codec_shape put_shapes[] = { { "stored", "", 0 }, { NULL, NULL, 0 } };
static const struct redis_codec_shape pause_shapes[] = { { "paused", "s", 0 }, { NULL, NULL, 0 } };
static const struct redis_codec_shape resume_shapes[] = { { "resumed", "s", 0 },
                                                          { NULL, NULL, 0 } };

/* More than there can be comes from a damaged field, and is to cost no connection. */
static uint32_t to_u32(int64_t number)
{
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* What an answer of the claim has behind its `own` elements. */
static void fill_print(const struct redis_codec_reading *r, size_t own, struct store_reply *reply)
{
    reply->acquire.print = r->text[own];
    reply->acquire.printer = r->text[own + 1];
}

static int fill_granted(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.fence = (uint64_t)e->number[0];
    reply->acquire.attempt = to_u32(e->number[1]);
    reply->acquire.turn.ms = e->number[2];
    fill_print(e, 3, reply);
    return e->number[1] >= 1 ? 0 : -EBADMSG;
}

static int fill_held(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.left_ms = e->number[0];
    reply->acquire.holder = e->text[1];
    reply->acquire.holder_turn.ms = e->number[2];
    reply->acquire.fence = (uint64_t)e->number[3];
    reply->acquire.watch = to_u32(e->number[4]);
    fill_print(e, 5, reply);
    return 0;
}

static int fill_full(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.left_ms = e->number[0];
    reply->acquire.seats = to_u32(e->number[1]);
    reply->acquire.watch = to_u32(e->number[2]);
    fill_print(e, 3, reply);
    return 0;
}

static int fill_done(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.turn.ms = e->number[0];
    reply->acquire.why = e->text[1];
    reply->acquire.holder = e->text[2];
    fill_print(e, 3, reply);
    return 0;
}

static int fill_exhausted(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.attempt = to_u32(e->number[0]);
    reply->acquire.first = e->number[1] != 0;
    fill_print(e, 2, reply);
    return 0;
}

static int fill_mismatch(const struct redis_codec_reading *e, struct store_reply *reply)
{
    reply->acquire.why = e->text[1];
    reply->acquire.holder = e->text[2];
    return 0;
}

static int fill_acquire(enum acquire_answer answer, const struct redis_codec_reading *e,
                        struct store_reply *reply)
{
    __auto_type a = &reply->acquire;

    memset(a, 0, sizeof *a);
    a->answer = answer;
    a->holder = a->why = a->print = a->printer = "";
    switch (answer) {
    case ACQUIRE_GRANTED:
    case ACQUIRE_SPARE:
        return fill_granted(e, reply);
    case ACQUIRE_HELD:
        return fill_held(e, reply);
    case ACQUIRE_FULL:
        return fill_full(e, reply);
    case ACQUIRE_DONE:
        return fill_done(e, reply);
    case ACQUIRE_EXHAUSTED:
        return fill_exhausted(e, reply);
    case ACQUIRE_MISMATCH:
        return fill_mismatch(e, reply);
    case ACQUIRE_PASSED:
        a->turn.ms = e->number[0];
        fill_print(e, 1, reply);
        return 0;
    case ACQUIRE_WAIT:
        a->left_ms = e->number[0];
        a->why = e->text[1];
        fill_print(e, 2, reply);
        return 0;
    case ACQUIRE_PAUSED:
        a->left_ms = e->number[1];
        __attribute__((fallthrough));
    case ACQUIRE_OVER:
        a->why = e->text[0];
        return 0;
    case ACQUIRE_EARLY:
        a->left_ms = e->number[0];
        return 0;
    case ACQUIRE_OUTDATED:
    case ACQUIRE_NEWER:
        a->version = (uint64_t)e->number[0];
        return 0;
    case ACQUIRE_SPLIT: /* a quorum's own: no script says it */
        break;
    }
    return -EBADMSG;
}

static int fill_renew(enum renew_answer answer, const struct redis_codec_reading *e,
                      struct store_reply *reply)
{
    reply->renew.answer = answer;
    reply->renew.left_ms = e->number[0];
    reply->renew.why = answer == RENEW_LOST ? e->text[1] : "";
    return 0;
}

static int fill_hello(const struct redis_codec_reading *e, struct store_reply *reply)
{
    __auto_type h = &reply->hello;

    memset(h, 0, sizeof *h);
    h->fleet = to_u32(e->number[0]);
    h->hellos = to_u32(e->number[1]);
    h->boots = to_u32(e->number[2]);
    h->twin = e->number[3] != 0;
    h->wanted = e->number[4] != 0;
    h->jobs = e->turns;
    h->done = e->texts->done;
    h->others = e->others;
    for (size_t i = 0; i < e->others; i++)
        h->other[i] = e->other[i];
    return h->fleet > 0 ? 0 : -EBADMSG;
}

/* By `answer`, the shape's. */
static int fill(enum store_verb verb, int answer, const struct redis_codec_reading *e,
                struct store_reply *reply)
{
    switch (verb) {
    case STORE_ACQUIRE:
        return fill_acquire((enum acquire_answer)answer, e, reply);
    case STORE_RENEW:
        return fill_renew((enum renew_answer)answer, e, reply);
    case STORE_FINISH:
        reply->finish.held = e->number[0] != 0;
        reply->finish.gave_up = e->number[1] != 0;
        reply->finish.stopped = e->number[2] != 0;
        return 0;
    case STORE_HELLO:
        return fill_hello(e, reply);
    case STORE_CONFIG_GET:
        reply->config.text = e->text[0];
        return 0;
    case STORE_PAUSE:
    case STORE_RESUME:
        reply->pause.before = e->text[0];
        return 0;
    case STORE_INDEX:
    case STORE_CONFIG_PUT:
    case STORE_CLOCK:
    case STORE_VERB_COUNT:
        break;
    }
    return 0;
}

static bool read_decimal(const redisReply *element, int64_t *ret_number)
{
    char *end;
    long long number;

    /* strtoll takes blanks and signs, TIME gives none. */
    if (element->type != REDIS_REPLY_STRING || element->str[0] < '0' || element->str[0] > '9')
        return false;
    errno = 0;
    number = strtoll(element->str, &end, 10);
    if (errno != 0 || *end || number > REDIS_CODEC_NUMBER_MAX / 1000)
        return false;
    *ret_number = number;
    return true;
}

/* TIME: seconds, and the microseconds of the present one. */
static int parse_clock(const redisReply *reply, struct store_reply *ret_reply)
{
    int64_t seconds, micros;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !read_decimal(reply->element[0], &seconds) || !read_decimal(reply->element[1], &micros) ||
        micros >= 1000000)
        return -EBADMSG;
    ret_reply->server.ms = seconds * 1000 + micros / 1000;
    return 0;
}

int redis_codec_parse(enum store_verb verb, const redisReply *reply,
                      struct redis_codec_texts *texts, struct store_reply *ret_reply)
{
    static const struct redis_codec_shape *const shapes[STORE_VERB_COUNT] = {
        [STORE_ACQUIRE] = acquire_shapes, [STORE_RENEW] = renew_shapes,
        [STORE_FINISH] = finish_shapes,   [STORE_HELLO] = hello_shapes,
        [STORE_INDEX] = index_shapes,     [STORE_CONFIG_GET] = get_shapes,
        [STORE_CONFIG_PUT] = put_shapes,  [STORE_PAUSE] = pause_shapes,
        [STORE_RESUME] = resume_shapes,
    };
    const struct redis_codec_shape *shape;
    struct redis_codec_reading reading = { .texts = texts };

    if (verb == STORE_CLOCK)
        return parse_clock(reply, ret_reply);
    shape = redis_codec_read(shapes[verb], reply, &ret_reply->server, &reading);
    if (!shape)
        return -EBADMSG;
    return fill(verb, shape->answer, &reading, ret_reply);
}
