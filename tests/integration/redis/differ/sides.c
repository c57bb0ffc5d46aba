/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides.h"

#include "base/text.h"
#include "redis/codec.h"
#include "redis/differ/sides_compare.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PREFIX "differ:"
#define EXIT_TROUBLE 2

void sides_give_up(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("differ: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_TROUBLE);
}

static const char *const job_names[SIDES_JOBS] = { "plain", "frequent", "sharing" };

static size_t lock_of(size_t job)
{
    return job == SIDES_JOBS - 1 ? 0 : job;
}

const char *sides_key(size_t job, const char *kind, char key[SIDES_KEY_SIZE])
{
    bool lock = strcmp(kind, "lock") == 0;

    text_format(key, SIDES_KEY_SIZE, PREFIX "{%s}:%s", job_names[lock ? lock_of(job) : job], kind);
    return key;
}

static redisReply *take(redisReply *reply)
{
    if (!reply)
        sides_give_up("the connection to redis-server was lost");
    return reply;
}

/* One command whose answer is of no interest. */
static void __attribute__((format(printf, 2, 3))) order(struct sides *s, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = take(redisvCommand(s->redis, format, args));
    va_end(args);
    if (reply->type == REDIS_REPLY_ERROR)
        sides_give_up("redis-server says: %s", reply->str);
    freeReplyObject(reply);
}

/* The script with its defect. The caller frees it. */
static char *body_of(const struct redis_script *script, const char *name, const struct defect *d)
{
    const char *at;
    char *body;

    if (!d->script || strcmp(d->script, name) != 0) {
        body = strdup(script->body);
    } else {
        at = strstr(script->body, d->old);
        if (!at || strstr(at + 1, d->old))
            sides_give_up("%s.lua does not have this text exactly once: %s", name, d->old);
        body = text_print("%.*s%s%s", (int)(at - script->body), script->body, d->instead,
                          at + strlen(d->old));
    }
    if (!body)
        sides_give_up("there is no memory left");
    return body;
}

static void load(struct sides *s, enum store_verb verb, const char *name,
                 const struct redis_script *script, const struct defect *d)
{
    char *body = body_of(script, name, d);
    redisReply *reply = take(redisCommand(s->redis, "SCRIPT LOAD %s", body));

    free(body);
    if (reply->type != REDIS_REPLY_STRING)
        sides_give_up("%s.lua does not load: %s", name, reply->str);
    text_copy(s->sha1[verb], sizeof s->sha1[verb], reply->str);
    freeReplyObject(reply);
}

void sides_open(struct sides *s, const char *socket, const char *clock, const struct defect *d)
{
    int fd = open(clock, O_RDWR | O_CLOEXEC);

    memset(s, 0, sizeof *s);
    if (fd < 0)
        sides_give_up("%s: %m", clock);
    s->clock = mmap(NULL, sizeof *s->clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s->clock == MAP_FAILED)
        sides_give_up("%s: %m", clock);
    s->redis = redisConnectUnix(socket);
    if (!s->redis || s->redis->err)
        sides_give_up("%s: %s", socket, s->redis ? s->redis->errstr : "there is no memory left");
    load(s, STORE_ACQUIRE, "acquire", &redis_script_acquire, d);
    load(s, STORE_RENEW, "renew", &redis_script_renew, d);
    load(s, STORE_FINISH, "finish", &redis_script_finish, d);
    /* What nobody looked at since it expired is there again once the clock is set back. */
    order(s, "DEBUG SET-ACTIVE-EXPIRE 0");
}

void sides_close(struct sides *s)
{
    redisFree(s->redis);
    munmap(s->clock, sizeof *s->clock);
}

static void set_clock(struct sides *s, int64_t ms)
{
    s->now.ms = ms;
    /* the microseconds are to be left out */
    __atomic_store_n(&s->clock->frozen_us, ms * 1000 + ms % 1000, __ATOMIC_SEQ_CST);
}

static void flush(struct sides *s)
{
    order(s, "FLUSHALL");
    memset(s->locks, 0, sizeof s->locks);
    memset(s->records, 0, sizeof s->records);
    for (size_t i = 0; i < SIDES_JOBS; i++)
        s->records[i].lock = &s->locks[lock_of(i)];
}

void sides_reset(struct sides *s)
{
    set_clock(s, SIDES_BEGIN_MS);
    flush(s);
    s->difference[0] = '\0';
}

struct question {
    struct job_spec spec;
    struct store_request request;
    char token[TOKEN_SIZE];
};

static void token_text(int64_t number, char token[TOKEN_SIZE])
{
    text_format(token, TOKEN_SIZE, "device-%" PRId64 ":%032" PRIx64, number % 5, number);
}

static void make_question(const struct step *step, enum store_verb verb, struct question *q)
{
    const int64_t *f = step->field;

    *q = (struct question){
        .spec = { .name = job_names[f[FIELD_JOB]],
                  .key = job_names[f[FIELD_JOB]],
                  .attempts = (uint32_t)f[FIELD_ATTEMPTS],
                  .history = (uint32_t)f[FIELD_HISTORY],
                  .retention_ms = f[FIELD_KEEP],
                  .retry_delay_ms = f[FIELD_DELAY],
                  .timing = { .lease_ms = f[FIELD_LEASE] },
                  .fingerprint = "f" },
        .request = { .verb = verb,
                     .turn = { f[FIELD_TURN] },
                     .next = { f[FIELD_NEXT] },
                     .attempt = (uint32_t)f[FIELD_ATTEMPT],
                     .fence = (uint64_t)f[FIELD_FENCE],
                     .ttl_ms = f[FIELD_TTL],
                     .fresh_ms = f[FIELD_FRESH],
                     .first_ask = f[FIELD_FIRST] != 0,
                     .outcome = (enum outcome)f[FIELD_OUTCOME],
                     .covers = { f[FIELD_COVERS] },
                     .ran_ms = 5,
                     .detail = "",
                     .clean = f[FIELD_CLEAN] != 0 },
    };
    text_format(q->spec.schedule_print, sizeof q->spec.schedule_print, "%08" PRIx32,
                (uint32_t)f[FIELD_PRINT]);
    token_text(f[FIELD_TOKEN], q->token);
    q->request.job = &q->spec;
    q->request.token = q->token;
}

static redisReply *ask_redis(struct sides *s, const struct question *q, size_t job)
{
    struct redis_codec_command command;
    char lock[SIDES_KEY_SIZE];

    if (redis_codec_compose(&q->request, PREFIX, &command) < 0)
        sides_give_up("a command is longer than its limit");
    if (command.script) {
        command.arguments[1] = s->sha1[q->request.verb];
        command.arguments[3] = sides_key(job, "lock", lock);
        command.lengths[3] = strlen(lock);
    }
    return take(redisCommandArgv(s->redis, (int)command.count, command.arguments, command.lengths));
}

static void ask(struct sides *s, const struct step *step, enum store_verb verb)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    struct store_reply redis = { .status = STORE_ANSWERED };
    struct redis_codec_texts texts;
    struct question q;
    redisReply *reply;

    make_question(step, verb, &q);
    memory_answer(&s->records[job], s->now, &q.request, &s->reply);
    reply = ask_redis(s, &q, job);
    if (reply->type == REDIS_REPLY_ERROR)
        sides_compare_failed(s, "reply", "an answer", reply->str);
    else if (redis_codec_parse(verb, reply, &texts, &redis) < 0)
        sides_compare_failed(s, "reply", "an answer", "one that is none of the script's");
    else
        sides_compare_replies(s, verb, &s->reply, &redis);
    freeReplyObject(reply);
}

#define LONG_X                                                                                     \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
    "xxxxxxxx"

static void set_lock(struct sides *s, const struct step *step)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    struct memory_lock *lock = s->records[job].lock;
    int64_t number = step->field[FIELD_VALUE], px = step->field[FIELD_PX];
    const char *value = number == 0 ? "somebody else" : LONG_X LONG_X;
    char key[SIDES_KEY_SIZE], token[TOKEN_SIZE];

    if (number > 0) {
        token_text(number, token);
        value = token;
    }
    text_copy(lock->value, sizeof lock->value, value);
    lock->endless = px == 0;
    lock->until = wall_add(s->now, px);
    if (px == 0)
        order(s, "SET %s %s", sides_key(job, "lock", key), value);
    else
        order(s, "SET %s %s PX %lld", sides_key(job, "lock", key), value, (long long)px);
}

static void set_pause(struct sides *s, const struct step *step)
{
    static const char *const texts[] = { NULL, "by anna: maintenance", LONG_X LONG_X };
    size_t job = (size_t)step->field[FIELD_JOB];
    const char *why = texts[step->field[FIELD_VALUE]];
    char key[SIDES_KEY_SIZE];

    s->records[job].pause = why;
    if (why)
        order(s, "SET %s %s", sides_key(job, "pause", key), why);
    else
        order(s, "DEL %s", sides_key(job, "pause", key));
}

void sides_forget(struct memory_record *r)
{
    *r = (struct memory_record){ .lock = r->lock, .pause = r->pause };
}

bool sides_do(struct sides *s, const struct step *step)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    char key[SIDES_KEY_SIZE];

    switch (step->kind) {
    case STEP_CLOCK:
        set_clock(s, step->field[FIELD_AT]);
        break;
    case STEP_TIME:
        ask(s, step, STORE_CLOCK);
        break;
    case STEP_ACQUIRE:
        ask(s, step, STORE_ACQUIRE);
        break;
    case STEP_RENEW:
        ask(s, step, STORE_RENEW);
        break;
    case STEP_FINISH:
        ask(s, step, STORE_FINISH);
        break;
    case STEP_LOCK:
        set_lock(s, step);
        break;
    case STEP_UNLOCK:
        s->records[job].lock->value[0] = '\0';
        order(s, "DEL %s", sides_key(job, "lock", key));
        break;
    case STEP_PAUSE:
        set_pause(s, step);
        break;
    case STEP_FORGET:
        sides_forget(&s->records[job]);
        order(s, "DEL %s", sides_key(job, "claim", key));
        break;
    case STEP_FLUSH:
        flush(s);
        break;
    case STEP_COMPARE:
        sides_compare_records(s);
        break;
    case STEP_KIND_COUNT:
        sides_give_up("a step of no kind");
    }
    return !s->difference[0];
}
