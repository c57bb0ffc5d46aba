/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides.h"

#include "base/text.h"
#include "redis/scripts.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_TROUBLE 2

/* In the place of what the server draws of the hash by chance: the names that the in-memory store
 * looks at, whether they are to be forgotten (sides_ask.c). */
#define LOOKED_AT(hash, kind)                                                                      \
    "(function() redis.call('EXISTS', " hash ") local names = {} "                                 \
    "for name in string.gmatch(redis.call('GET', 'look:' .. " kind ") or '', '%S+') do "           \
    "names[#names + 1] = name end return names end)()"

static const struct loaded {
    enum store_verb verb;
    bool seats;
    const char *name;
    const struct redis_script *script;
    const char *chance, *instead;
} scripts[] = {
    { .verb = STORE_ACQUIRE, .name = "acquire", .script = &redis_script_acquire },
    { .verb = STORE_RENEW, .name = "renew", .script = &redis_script_renew },
    { .verb = STORE_FINISH, .name = "finish", .script = &redis_script_finish },
    { .verb = STORE_HELLO,
      .name = "hello",
      .script = &redis_script_hello,
      .chance = "redis.pcall('HRANDFIELD', key, 2)",
      .instead = LOOKED_AT("key", "string.match(key, '%w+$')") },
    { .verb = STORE_INDEX, .name = "index", .script = &redis_script_index },
    { .verb = STORE_CONFIG_GET, .name = "config_get", .script = &redis_script_config_get },
    { .verb = STORE_CONFIG_PUT, .name = "config_put", .script = &redis_script_config_put },
    { .verb = STORE_PAUSE, .name = "pause", .script = &redis_script_pause },
    { .verb = STORE_RESUME, .name = "resume", .script = &redis_script_resume },
    { .verb = STORE_ACQUIRE,
      .seats = true,
      .name = "seat_acquire",
      .script = &redis_script_seat_acquire,
      .chance = "redis.pcall('HRANDFIELD', devices, 2)",
      .instead = LOOKED_AT("devices", "'seats'") },
    { .verb = STORE_RENEW,
      .seats = true,
      .name = "seat_renew",
      .script = &redis_script_seat_renew },
    { .verb = STORE_FINISH,
      .seats = true,
      .name = "seat_finish",
      .script = &redis_script_seat_finish },
};

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

redisReply *sides_take(redisReply *reply)
{
    if (!reply)
        sides_give_up("the connection to redis-server was lost");
    return reply;
}

void sides_order(struct sides *s, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = sides_take(redisvCommand(s->redis, format, args));
    va_end(args);
    if (reply->type == REDIS_REPLY_ERROR)
        sides_give_up("redis-server says: %s", reply->str);
    freeReplyObject(reply);
}

/* The body with another text in the place of one that it has once. Frees the one given. */
static char *replace(char *body, const char *name, const char *old, const char *instead)
{
    const char *at = strstr(body, old);
    char *other;

    if (!at || strstr(at + 1, old))
        sides_give_up("%s.lua does not have this text exactly once: %s", name, old);
    other = text_print("%.*s%s%s", (int)(at - body), body, instead, at + strlen(old));
    free(body);
    if (!other)
        sides_give_up("there is no memory left");
    return other;
}

/* The caller frees it. */
static char *body_of(const struct loaded *l, const struct defect *d)
{
    char *body = redis_scripts_body(l->script);

    if (!body)
        sides_give_up("there is no memory left");
    if (l->chance)
        body = replace(body, l->name, l->chance, l->instead);
    if (d->script && strcmp(d->script, l->name) == 0)
        body = replace(body, l->name, d->old, d->instead);
    return body;
}

static void load(struct sides *s, const struct loaded *l, const struct defect *d)
{
    char *body = body_of(l, d);
    redisReply *reply = sides_take(redisCommand(s->redis, "SCRIPT LOAD %s", body));

    free(body);
    if (reply->type != REDIS_REPLY_STRING)
        sides_give_up("%s.lua does not load: %s", l->name, reply->str);
    text_copy(s->sha1[l->seats][l->verb], sizeof s->sha1[0][0], reply->str);
    freeReplyObject(reply);
}

static redisContext *connect_to(const char *socket)
{
    redisContext *redis = redisConnectUnix(socket);

    if (!redis || redis->err)
        sides_give_up("%s: %s", socket, redis ? redis->errstr : "there is no memory left");
    return redis;
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
    s->device = connect_to(socket);
    s->redis = connect_to(socket);
    sides_order(s, "AUTH tests any"); /* redis_server.py */
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        load(s, &scripts[i], d);
    /* What nobody looked at since it expired is there again once the clock is set back. */
    sides_order(s, "DEBUG SET-ACTIVE-EXPIRE 0");
}

void sides_close(struct sides *s)
{
    redisFree(s->redis);
    redisFree(s->device);
    munmap(s->clock, sizeof *s->clock);
}
