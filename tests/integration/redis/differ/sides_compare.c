/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides_compare.h"

#include "base/text.h"
#include "core/memory_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sides_compare_failed(struct sides *s, const char *what, const char *memory, const char *redis)
{
    if (!s->difference[0])
        text_format(s->difference, sizeof s->difference, "%s: in memory \"%s\", in Redis \"%s\"",
                    what, memory, redis);
}

void sides_compare_text(struct sides *s, const char *what, const char *memory, const char *redis)
{
    if (!memory || !redis || strcmp(memory, redis) != 0)
        sides_compare_failed(s, what, memory ? memory : "nothing", redis ? redis : "nothing");
}

void sides_compare_number(struct sides *s, const char *what, int64_t memory, int64_t redis)
{
    char a[24], b[24];

    if (memory == redis)
        return;
    text_format(a, sizeof a, "%" PRId64, memory);
    text_format(b, sizeof b, "%" PRId64, redis);
    sides_compare_failed(s, what, a, b);
}

void sides_compare_end(struct sides *s, const char *what, struct wall end, const redisReply *pttl)
{
    if (pttl->integer != -2)
        sides_compare_number(s, what, wall_between(s->now, end), pttl->integer);
}

const char *sides_compare_text_of(const redisReply *element)
{
    return element->type == REDIS_REPLY_STRING ? element->str : "";
}

redisReply *sides_compare_next(struct sides *s)
{
    void *reply;

    if (redisGetReply(s->redis, &reply) != REDIS_OK)
        sides_give_up("the connection to redis-server was lost");
    return reply;
}

static void compare_acquire(struct sides *s, const struct store_reply *memory,
                            const struct store_reply *redis)
{
    __auto_type a = &memory->acquire;
    __auto_type b = &redis->acquire;

    sides_compare_number(s, "answer", a->answer, b->answer);
    sides_compare_number(s, "fence", (int64_t)a->fence, (int64_t)b->fence);
    sides_compare_number(s, "attempt", a->attempt, b->attempt);
    sides_compare_number(s, "turn", a->turn.ms, b->turn.ms);
    sides_compare_number(s, "left", a->left_ms, b->left_ms);
    sides_compare_text(s, "holder", a->holder, b->holder);
    sides_compare_number(s, "holder's turn", a->holder_turn.ms, b->holder_turn.ms);
    sides_compare_number(s, "place", a->watch, b->watch);
    sides_compare_number(s, "seats", a->seats, b->seats);
    sides_compare_text(s, "why", a->why, b->why);
    sides_compare_number(s, "version", (int64_t)a->version, (int64_t)b->version);
    sides_compare_number(s, "first", a->first, b->first);
    sides_compare_text(s, "print", a->print, b->print);
    sides_compare_text(s, "printer", a->printer, b->printer);
}

static void compare_hello(struct sides *s, const struct store_reply *memory,
                          const struct store_reply *redis)
{
    __auto_type a = &memory->hello;
    __auto_type b = &redis->hello;

    sides_compare_number(s, "fleet", a->fleet, b->fleet);
    sides_compare_number(s, "hellos", a->hellos, b->hellos);
    sides_compare_number(s, "boots", a->boots, b->boots);
    sides_compare_number(s, "twin", a->twin, b->twin);
    sides_compare_number(s, "wanted", a->wanted, b->wanted);
    sides_compare_number(s, "jobs", (int64_t)a->jobs, (int64_t)b->jobs);
    sides_compare_number(s, "others", (int64_t)a->others, (int64_t)b->others);
    for (size_t i = 0; i < a->jobs && i < b->jobs; i++)
        sides_compare_number(s, "done", a->done[i].ms, b->done[i].ms);
    for (size_t i = 0; i < a->others && i < b->others; i++)
        sides_compare_text(s, "other", a->other[i], b->other[i]);
}

void sides_compare_replies(struct sides *s, enum store_verb verb, const struct store_reply *memory,
                           const struct store_reply *redis)
{
    sides_compare_number(s, "status", memory->status, redis->status);
    sides_compare_number(s, "server's time", memory->server.ms, redis->server.ms);
    if (memory->status != STORE_ANSWERED)
        return;
    switch (verb) {
    case STORE_ACQUIRE:
        compare_acquire(s, memory, redis);
        break;
    case STORE_RENEW:
        sides_compare_number(s, "answer", memory->renew.answer, redis->renew.answer);
        sides_compare_number(s, "left", memory->renew.left_ms, redis->renew.left_ms);
        sides_compare_text(s, "why", memory->renew.why, redis->renew.why);
        break;
    case STORE_FINISH:
        sides_compare_number(s, "held", memory->finish.held, redis->finish.held);
        sides_compare_number(s, "given up", memory->finish.gave_up, redis->finish.gave_up);
        sides_compare_number(s, "stopped", memory->finish.stopped, redis->finish.stopped);
        break;
    case STORE_HELLO:
        compare_hello(s, memory, redis);
        break;
    case STORE_CONFIG_GET:
        sides_compare_text(s, "text", memory->config.text, redis->config.text);
        break;
    case STORE_PAUSE:
    case STORE_RESUME:
        sides_compare_text(s, "before", memory->pause.before, redis->pause.before);
        break;
    case STORE_CLOCK:
    case STORE_INDEX:
    case STORE_CONFIG_PUT:
    case STORE_VERB_COUNT:
        break;
    }
}

#define NUMBERS                                                                                    \
    "turn", "attempt", "fence", "done", "retry", "delay", "ttl", "streak", "watch", "watched",     \
        "paused", "manual", "held", "version", "fails", "mean", "runs", "seat_ttl"
#define TEXTS "token", "state", "schedules", "sights", "fingerprint", "by", "ended", "v"

static void join_lists(const struct memory_claim *r, char *schedules, char *sights, size_t size)
{
    size_t used[2] = { 0, 0 };

    schedules[0] = sights[0] = '\0';
    for (size_t i = 0; i < MEMORY_SCHEDULES_MAX; i++) {
        if (r->schedules[i][0])
            used[0] += (size_t)snprintf(schedules + used[0], size - used[0], "%s%s", i ? " " : "",
                                        r->schedules[i]);
        if (r->sights[i].print[0])
            used[1] += (size_t)snprintf(
                sights + used[1], size - used[1], "%s%s:%" PRId64 ":%" PRId64, i ? " " : "",
                r->sights[i].print, r->sights[i].until.ms, r->sights[i].wait_ms);
    }
}

static int64_t layout_of(const char *v)
{
    int64_t layout = strtoll(v, NULL, 10);

    return layout > MEMORY_LAYOUT ? layout : MEMORY_LAYOUT;
}

static void compare_claim(struct sides *s, const struct memory_claim *r, const redisReply *claim)
{
    static const char *const names[] = { NUMBERS };
    const struct memory_seats *seats = r->seats;
    const int64_t numbers[] = {
        r->turn.ms, r->attempt, (int64_t)r->fence, r->done.ms,     r->retry.ms,  r->delay_ms,
        r->ttl_ms,  r->streak,  r->watch,          r->watched.ms,  r->paused.ms, r->manual,
        r->held,    r->version, seats->fails,      seats->mean_ms, seats->runs,  seats->longest_ms,
    };
    size_t count = sizeof names / sizeof names[0];
    redisReply **texts = claim->element + count;
    char schedules[400], sights[400];

    if (claim->type != REDIS_REPLY_ARRAY || claim->elements != count + 8)
        sides_give_up("HMGET gave something else");
    for (size_t i = 0; i < count; i++)
        sides_compare_number(s, names[i], numbers[i],
                             strtoll(sides_compare_text_of(claim->element[i]), NULL, 10));
    join_lists(r, schedules, sights, sizeof schedules);
    sides_compare_text(s, "token", r->token, sides_compare_text_of(texts[0]));
    sides_compare_text(s, "state", memory_state_word(r->state, r->outcome),
                       sides_compare_text_of(texts[1]));
    sides_compare_text(s, "schedules", schedules, sides_compare_text_of(texts[2]));
    sides_compare_text(s, "sights", sights, sides_compare_text_of(texts[3]));
    sides_compare_text(s, "fingerprint", r->fingerprint, sides_compare_text_of(texts[4]));
    sides_compare_text(s, "by", seats->by, sides_compare_text_of(texts[5]));
    sides_compare_number(s, "ended", r->ended, sides_compare_text_of(texts[6])[0] != '\0');
    sides_compare_number(s, "layout", r->layout > MEMORY_LAYOUT ? r->layout : MEMORY_LAYOUT,
                         layout_of(sides_compare_text_of(texts[7])));
}

void sides_compare_claim_seen(struct sides *s, size_t job)
{
    struct memory_claim *r = &s->jobs[job].record;

    if (s->now.ms > r->expires.ms)
        memory_forget(r);
}

/* A key with a text that may have no end. */
static void compare_ended(struct sides *s, const char *what, char *value, const redisReply *text,
                          int64_t left_ms, const redisReply *pttl)
{
    if (left_ms < -1)
        value[0] = '\0'; /* looked at, so it is gone */
    sides_compare_text(s, what, value, sides_compare_text_of(text));
    if (value[0])
        sides_compare_number(s, what, left_ms, pttl->integer);
}

static int64_t left_ms(const struct sides *s, bool endless, struct wall until)
{
    if (endless)
        return -1;
    return s->now.ms > until.ms ? -2 : wall_between(s->now, until);
}

static void compare_job(struct sides *s, size_t job)
{
    struct sides_job *j = &s->jobs[job];
    struct memory_lock *lock = j->record.lock;
    redisReply *replies[6];

    for (size_t i = 0; i < 6; i++)
        replies[i] = sides_compare_next(s);
    sides_compare_claim_seen(s, job);
    compare_claim(s, &j->record, replies[0]);
    sides_compare_end(s, "claim's time left", j->record.expires, replies[1]);
    compare_ended(s, "lock", lock->value, replies[2], left_ms(s, lock->endless, lock->until),
                  replies[3]);
    compare_ended(s, "pause", j->pause.why, replies[4],
                  left_ms(s, j->pause.endless, j->pause.until), replies[5]);
    for (size_t i = 0; i < 6; i++)
        freeReplyObject(replies[i]);
}

static void send_job(struct sides *s, size_t job)
{
    static const char *const fields[] = { "HMGET", "", NUMBERS, TEXTS };
    const char *command[sizeof fields / sizeof fields[0]];
    char key[SIDES_KEY_SIZE];

    memcpy(command, fields, sizeof fields);
    command[1] = sides_key(job, "claim", key);
    redisAppendCommandArgv(s->redis, sizeof fields / sizeof fields[0], command, NULL);
    redisAppendCommand(s->redis, "PTTL %s", key);
    sides_key(job, "lock", key);
    redisAppendCommand(s->redis, "GETRANGE %s 0 127", key);
    redisAppendCommand(s->redis, "PTTL %s", key);
    sides_key(job, "pause", key);
    redisAppendCommand(s->redis, "GETRANGE %s 0 255", key);
    redisAppendCommand(s->redis, "PTTL %s", key);
}

void sides_compare_records(struct sides *s)
{
    for (size_t i = 0; i < SIDES_JOBS; i++) {
        send_job(s, i);
        sides_compare_send_seats(s, i);
    }
    sides_compare_send_fleet(s);
    for (size_t i = 0; i < SIDES_JOBS; i++) {
        compare_job(s, i);
        sides_compare_seats(s, i);
    }
    sides_compare_fleet(s);
}
