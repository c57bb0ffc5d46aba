/* SPDX-License-Identifier: MIT
 * What people change on a quorum: each server replies with a word, its time and a text (release.lua
 * and the like), and what counts is what most of them say. */
#include "base/text.h"
#include "redis/quorum_internal.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_WORD, SAID_TIME, SAID_TEXT, SAID_ELEMENTS };

/* A reply of that form, copied: the connection's own is gone with its answer(). */
struct said {
    redisReply whole, elements[SAID_ELEMENTS];
    redisReply *pointers[SAID_ELEMENTS];
    char text[];
};

struct quorum_raw {
    size_t majority, out, count;
    struct said *said[QUORUM_SERVERS_MAX];
    struct store_reply failure; /* what one of them failed by */
    char error[REDIS_FAULT_REASON_SIZE];
    bool missed; /* one may have done it all the same */
};

struct quorum_raw *quorum_raw_new(void)
{
    return calloc(1, sizeof(struct quorum_raw));
}

void quorum_raw_free(struct quorum_raw *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        free(r->said[i]);
    free(r);
}

void quorum_raw_expect(struct quorum_raw *r, size_t servers, unsigned asked)
{
    r->majority = quorum_majority((unsigned)servers);
    r->out = (size_t)__builtin_popcount(asked);
}

static bool has_the_form(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == SAID_ELEMENTS &&
           reply->element[SAID_WORD]->type == REDIS_REPLY_STRING &&
           reply->element[SAID_TIME]->type == REDIS_REPLY_INTEGER &&
           reply->element[SAID_TEXT]->type == REDIS_REPLY_STRING;
}

static struct said *copy(const redisReply *reply)
{
    const redisReply *word = reply->element[SAID_WORD], *text = reply->element[SAID_TEXT];
    struct said *said = malloc(sizeof *said + word->len + text->len + 2);

    if (!said)
        return NULL;
    said->whole = *reply;
    said->whole.element = said->pointers;
    for (size_t i = 0; i < SAID_ELEMENTS; i++) {
        said->elements[i] = *reply->element[i];
        said->pointers[i] = &said->elements[i];
    }
    said->elements[SAID_WORD].str = said->text;
    said->elements[SAID_TEXT].str = said->text + word->len + 1;
    memcpy(said->elements[SAID_WORD].str, word->str, word->len + 1);
    memcpy(said->elements[SAID_TEXT].str, text->str, text->len + 1);
    return said;
}

static void note_failure(struct quorum_raw *r, const struct store_reply *reply)
{
    text_copy(r->error, sizeof r->error, reply->error);
    r->failure = *reply;
    r->missed = r->missed || reply->status == STORE_NO_ANSWER;
}

static void note(struct quorum_raw *r, const struct store_reply *reply)
{
    struct store_reply failed = { .status = STORE_NO_ANSWER, .fault = FAULT_OURS };
    const redisReply *raw = reply->raw;
    struct said *said;

    if (reply->status != STORE_ANSWERED) {
        note_failure(r, reply);
        return;
    }
    said = has_the_form(raw) ? copy(raw) : NULL;
    if (said) {
        r->said[r->count++] = said;
        return;
    }
    failed.error = has_the_form(raw) ? "memory is short" : "its reply is not rota's";
    note_failure(r, &failed);
}

static bool is_same(const struct said *a, const struct said *b)
{
    assert(a && b);
    return strcmp(a->elements[SAID_WORD].str, b->elements[SAID_WORD].str) == 0;
}

static size_t count_same(const struct quorum_raw *r, const struct said *said)
{
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++)
        count += is_same(r->said[i], said);
    return count;
}

static bool names_something(const struct said *said)
{
    return said->elements[SAID_TEXT].len > 0;
}

static bool is_before(const struct quorum_raw *r, const struct said *a, const struct said *b)
{
    size_t as_a = count_same(r, a), as_b = count_same(r, b);

    return as_a > as_b || (as_a == as_b && names_something(a) && !names_something(b));
}

/* NULL: nobody has said anything. */
static struct said *most(const struct quorum_raw *r)
{
    struct said *best = NULL;

    for (size_t i = 0; i < r->count; i++)
        if (!best || is_before(r, r->said[i], best))
            best = r->said[i];
    return best;
}

static void fail(const struct quorum_raw *r, struct store_reply *ret_reply)
{
    *ret_reply = r->failure;
    ret_reply->error = r->error;
    ret_reply->status = r->missed || r->count > 0 ? STORE_NO_ANSWER : STORE_ERROR;
}

bool quorum_raw_take(struct quorum_raw *r, const struct store_reply *reply,
                     struct store_reply *ret_reply)
{
    struct said *best;

    r->out--;
    note(r, reply);
    best = most(r);
    if (r->out > 0 && (!best || count_same(r, best) < r->majority))
        return false;
    if (r->count < r->majority) {
        fail(r, ret_reply);
        return true;
    }
    *ret_reply = (struct store_reply){ .status = STORE_ANSWERED,
                                       .sent = reply->sent,
                                       .received = reply->received,
                                       .raw = &best->whole };
    return true;
}
