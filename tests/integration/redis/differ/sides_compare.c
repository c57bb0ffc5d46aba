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

static void compare_text(struct sides *s, const char *what, const char *memory, const char *redis)
{
    if (!memory || !redis || strcmp(memory, redis) != 0)
        sides_compare_failed(s, what, memory ? memory : "nothing", redis ? redis : "nothing");
}

static void compare(struct sides *s, const char *what, int64_t memory, int64_t redis)
{
    char a[24], b[24];

    if (memory == redis)
        return;
    text_format(a, sizeof a, "%" PRId64, memory);
    text_format(b, sizeof b, "%" PRId64, redis);
    sides_compare_failed(s, what, a, b);
}

static void compare_acquire(struct sides *s, const struct store_reply *memory,
                            const struct store_reply *redis)
{
    compare(s, "answer", memory->acquire.answer, redis->acquire.answer);
    compare(s, "fence", (int64_t)memory->acquire.fence, (int64_t)redis->acquire.fence);
    compare(s, "attempt", memory->acquire.attempt, redis->acquire.attempt);
    compare(s, "turn", memory->acquire.turn.ms, redis->acquire.turn.ms);
    compare(s, "left", memory->acquire.left_ms, redis->acquire.left_ms);
    compare_text(s, "holder", memory->acquire.holder, redis->acquire.holder);
    compare(s, "holder's turn", memory->acquire.holder_turn.ms, redis->acquire.holder_turn.ms);
    compare(s, "place", memory->acquire.watch, redis->acquire.watch);
    compare_text(s, "why", memory->acquire.why, redis->acquire.why);
    compare(s, "first", memory->acquire.first, redis->acquire.first);
}

void sides_compare_replies(struct sides *s, enum store_verb verb, const struct store_reply *memory,
                           const struct store_reply *redis)
{
    compare(s, "status", memory->status, redis->status);
    compare(s, "server's time", memory->server.ms, redis->server.ms);
    if (verb == STORE_ACQUIRE)
        compare_acquire(s, memory, redis);
    if (verb == STORE_RENEW) {
        compare(s, "answer", memory->renew.answer, redis->renew.answer);
        compare(s, "left", memory->renew.left_ms, redis->renew.left_ms);
        compare_text(s, "why", memory->renew.why, redis->renew.why);
    }
    if (verb == STORE_FINISH) {
        compare(s, "held", memory->finish.held, redis->finish.held);
        compare(s, "given up", memory->finish.gave_up, redis->finish.gave_up);
    }
}

#define NUMBERS                                                                                    \
    "turn", "attempt", "fence", "done", "retry", "delay", "ttl", "streak", "watch", "watched",     \
        "paused", "manual", "held"

static void join_lists(const struct memory_record *r, char *schedules, char *sights, size_t size)
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

static const char *text_of(const redisReply *element)
{
    return element->type == REDIS_REPLY_STRING ? element->str : "";
}

static void compare_claim(struct sides *s, const struct memory_record *r, const redisReply *claim)
{
    static const char *const names[] = { NUMBERS };
    const int64_t numbers[] = {
        r->turn.ms,   r->attempt, (int64_t)r->fence, r->done.ms, r->retry.ms,
        r->delay_ms,  r->ttl_ms,  r->streak,         r->watch,   r->watched.ms,
        r->paused.ms, r->manual,  r->held,
    };
    size_t count = sizeof names / sizeof names[0];
    char schedules[400], sights[400];

    if (claim->type != REDIS_REPLY_ARRAY || claim->elements != count + 5)
        sides_give_up("HMGET gave something else");
    for (size_t i = 0; i < count; i++)
        compare(s, names[i], numbers[i], strtoll(text_of(claim->element[i]), NULL, 10));
    join_lists(r, schedules, sights, sizeof schedules);
    compare_text(s, "token", r->token, text_of(claim->element[count]));
    compare_text(s, "state", memory_state_word(r), text_of(claim->element[count + 1]));
    compare_text(s, "schedules", schedules, text_of(claim->element[count + 2]));
    compare_text(s, "sights", sights, text_of(claim->element[count + 3]));
    compare(s, "ended", r->ended, text_of(claim->element[count + 4])[0] != '\0');
}

static redisReply *next_reply(struct sides *s)
{
    void *reply;

    if (redisGetReply(s->redis, &reply) != REDIS_OK)
        sides_give_up("the connection to redis-server was lost");
    return reply;
}

static void compare_job(struct sides *s, size_t job)
{
    struct memory_record *r = &s->records[job];
    struct memory_lock *lock = r->lock;
    redisReply *replies[4];

    for (size_t i = 0; i < 4; i++)
        replies[i] = next_reply(s);
    /* Looked at, so what had expired is gone, on both sides. */
    if (s->now.ms > r->expires.ms)
        sides_forget(r);
    if (!memory_holder(lock, s->now)[0])
        lock->value[0] = '\0';
    compare_claim(s, r, replies[0]);
    if (replies[1]->integer != -2)
        compare(s, "claim's time left", r->expires.ms - s->now.ms, replies[1]->integer);
    compare_text(s, "lock", lock->value, text_of(replies[2]));
    if (lock->value[0])
        compare(s, "lock's time left", lock->endless ? -1 : lock->until.ms - s->now.ms,
                replies[3]->integer);
    for (size_t i = 0; i < 4; i++)
        freeReplyObject(replies[i]);
}

static void request_job(struct sides *s, size_t job)
{
    static const char *const fields[] = { "HMGET", "",          NUMBERS,  "token",
                                          "state", "schedules", "sights", "ended" };
    const char *command[sizeof fields / sizeof fields[0]];
    char key[SIDES_KEY_SIZE];

    memcpy(command, fields, sizeof fields);
    command[1] = sides_key(job, "claim", key);
    redisAppendCommandArgv(s->redis, sizeof fields / sizeof fields[0], command, NULL);
    redisAppendCommand(s->redis, "PTTL %s", key);
    sides_key(job, "lock", key);
    redisAppendCommand(s->redis, "GETRANGE %s 0 127", key);
    redisAppendCommand(s->redis, "PTTL %s", key);
}

void sides_compare_records(struct sides *s)
{
    for (size_t i = 0; i < SIDES_JOBS; i++)
        request_job(s, i);
    for (size_t i = 0; i < SIDES_JOBS; i++)
        compare_job(s, i);
}
