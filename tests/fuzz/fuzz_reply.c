/* SPDX-License-Identifier: MIT
 * What comes back from whatever listens where Redis should: replies to each verb. However the bytes
 * are cut up, the same replies come out; a parsed one is within its bounds.
 *
 * An input is a letter, then bytes: 'a' is the first verb, the one after the last the survey. With
 * a small letter each end of line stands for the protocol's "\r\n"; with a capital, for itself. */
#include "fuzz.h"
#include "redis/codec.h"
#include "redis/codec_read.h"
#include "redis/fault.h"
#include "redis/inbox.h"
#include "redis/login.h"
#include <ctype.h>
#include <errno.h>

#define NUMBER_MAX ((INT64_C(1) << 53) - 1)

struct bytes {
    char *at;
    size_t size;
};

static struct bytes wire_bytes(const uint8_t *data, size_t size, bool plain)
{
    struct bytes b = { .at = malloc(2 * size + 1) };

    assert(b.at);
    for (size_t i = 0; i < size; i++) {
        if (!plain && data[i] == '\n')
            b.at[b.size++] = '\r';
        b.at[b.size++] = (char)data[i];
    }
    return b;
}

static void check_number(int64_t number)
{
    assert(number >= 0 && number <= NUMBER_MAX);
}

static void check_short(const char *text)
{
    assert(strlen(text) < STORE_TEXT_SIZE);
}

static void check_acquire(const struct store_reply *reply)
{
    const __auto_type a = &reply->acquire;

    assert(a->answer <= ACQUIRE_NEWER);
    assert(a->fence <= (uint64_t)NUMBER_MAX && a->version <= (uint64_t)NUMBER_MAX);
    assert(a->left_ms >= -1 && a->left_ms <= NUMBER_MAX);
    check_number(a->turn.ms);
    check_number(a->holder_turn.ms);
    check_short(a->holder);
    check_short(a->why);
    check_short(a->print);
    check_short(a->printer);
    if (a->answer == ACQUIRE_GRANTED || a->answer == ACQUIRE_SPARE)
        assert(a->attempt >= 1);
}

static void check_hello(const struct store_reply *reply)
{
    const __auto_type h = &reply->hello;

    assert(h->fleet >= 1 && h->jobs <= STORE_HELLO_JOBS_MAX && h->others <= STORE_HELLO_OTHERS_MAX);
    for (size_t i = 0; i < h->jobs; i++)
        check_number(h->done[i].ms);
    for (size_t i = 0; i < h->others; i++)
        assert(strlen(h->other[i]) <= 64);
}

static void check_answer(enum store_verb verb, const struct store_reply *reply)
{
    check_number(reply->server.ms);
    switch (verb) {
    case STORE_ACQUIRE:
        check_acquire(reply);
        break;
    case STORE_RENEW:
        assert(reply->renew.answer <= RENEW_LOST && reply->renew.left_ms >= -1);
        check_short(reply->renew.why);
        break;
    case STORE_HELLO:
        check_hello(reply);
        break;
    case STORE_CONFIG_GET:
        assert(strlen(reply->config.text) <= STORE_CONFIG_TEXT_MAX);
        break;
    case STORE_PAUSE:
    case STORE_RESUME:
        check_short(reply->pause.before);
        break;
    default:
        break;
    }
}

static void check_error(const redisReply *reply)
{
    struct redis_fault fault;

    redis_fault_of_error(reply->str, &fault);
    assert(fault.class != FAULT_NONE && fault.class < FAULT_COUNT);
    assert(fault.reason[0] != '\0' && memchr(fault.reason, '\0', sizeof(fault.reason)));
    for (const char *at = fault.reason; *at; at++)
        assert((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_login(const redisReply *reply)
{
    struct redis_login login = { .left = 2, .named = true };
    struct redis_fault fault = { 0 };

    while (login.left > 0) {
        int r = redis_login_take(&login, reply, &fault);

        assert(r == 0 || r == -EBADMSG || r == -EACCES);
        assert(r != -EACCES || fault.reason[0] != '\0');
    }
}

static void check_survey(const redisReply *reply)
{
    static const struct redis_codec_shape shapes[] = { { "survey", "xnxnnxx", 0 },
                                                       { NULL, NULL, 0 } };
    struct redis_codec_reading reading = { 0 };
    struct wall server;

    if (!redis_codec_read(shapes, reply, &server, &reading))
        return;
    check_number(reading.number[1]);
    assert(strlen(reading.text[0]) <= STORE_CONFIG_TEXT_MAX && reading.text[6]);
}

static void check_reply(enum store_verb verb, const redisReply *reply)
{
    static struct redis_codec_texts texts;
    struct store_reply answer = { 0 };
    int r;

    check_login(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        check_error(reply);
    } else if (verb == STORE_VERB_COUNT) {
        check_survey(reply);
    } else {
        r = redis_codec_parse(verb, reply, &texts, &answer);
        assert(r == 0 || r == -EBADMSG);
        if (r == 0)
            check_answer(verb, &answer);
    }
}

/* Takes all whole replies, adds to *count; the last result. */
static int take_all(struct redis_inbox *inbox, enum store_verb verb, int *count)
{
    redisReply *reply;
    int r;

    while ((r = redis_inbox_take(inbox, &reply)) == 1) {
        check_reply(verb, reply);
        freeReplyObject(reply);
        ++*count;
    }
    assert(r == 0 || r == -EBADMSG || r == -EMSGSIZE);
    return r;
}

/* Fed in two parts; how it ends, and *ret_count replies. */
static int play(const struct bytes *b, size_t cut, enum store_verb verb, int *ret_count)
{
    struct redis_inbox inbox;
    int r, count = 0;

    assert(redis_inbox_init(&inbox) == 0);
    assert(redis_inbox_feed(&inbox, b->at, cut) == 0);
    r = take_all(&inbox, verb, &count);
    if (r == 0) {
        assert(redis_inbox_feed(&inbox, b->at + cut, b->size - cut) == 0);
        r = take_all(&inbox, verb, &count);
    }
    redis_inbox_done(&inbox);
    *ret_count = count;
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b;
    int verb, whole, parts;

    if (size == 0 || !isalpha(data[0]))
        return 0;
    verb = (tolower(data[0]) - 'a') % (STORE_VERB_COUNT + 1);
    b = wire_bytes(data + 1, size - 1, isupper(data[0]) != 0);
    if (play(&b, b.size, (enum store_verb)verb, &whole) == 0) {
        size_t cut = (size_t)fuzz_number(data, size, (int64_t)b.size + 1);

        assert(play(&b, cut, (enum store_verb)verb, &parts) == 0);
        assert(whole == parts);
    }
    free(b.at);
    return 0;
}
