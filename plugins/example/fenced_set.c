/* SPDX-License-Identifier: MIT
 * Sets a string in a Redis that keeps data, unless a run with a newer fence has set it: an example
 * of a storage that checks the fence. It is built with this file, rota/plugin.h and hiredis alone:
 *   gcc -shared -fPIC $(pkg-config --cflags rota hiredis) -o fenced_set.so fenced_set.c \
 *       $(pkg-config --libs hiredis)
 * fenced_set.lua, beside it, is the script with its comments. */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <rota/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME_SIZE 640
#define PASSWORD_SIZE 512
#define VALUE_MAX 1048576 /* of what a command prints */
#define ANSWER_MS 5000    /* the longest wait for one answer of the server */
#define MARGIN_MS 500     /* of the lease, to end by oneself and be heard */

/* The script, without its comments, and its SHA-1. */
static const char script[] =
    "local key, mark = KEYS[1], KEYS[2]\n"
    "local value, text, turn, device, ms = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4] or '', "
    "ARGV[5] or ''\n"
    "local function refuse(...) return redis.error_reply('FENCE ' .. table.concat({...})) end\n"
    "local function whole(digits)\n"
    "  local number = string.match(digits or '', '^[1-9]%d*$') and tonumber(digits)\n"
    "  return number and number < 2^53 and number or nil\n"
    "end\n"
    "if #KEYS ~= 2 or key == mark or not value or not text then\n"
    "  return refuse('it takes two keys that differ, a value and a fence')\n"
    "end\n"
    "local fence = whole(text)\n"
    "if not fence then\n"
    "  return refuse('the fence given is \"', string.sub(text, 1, 20), '\", which is no "
    "whole number from 1 to 2^53 - 1')\n"
    "end\n"
    "if ms ~= '' and not whole(ms) then\n"
    "  return refuse('the time given is \"', string.sub(ms, 1, 20), '\", which is no number "
    "of milliseconds')\n"
    "end\n"
    "local kind = redis.call('TYPE', key).ok\n"
    "if kind ~= 'none' and kind ~= 'string' then return refuse(key, ' is a ', kind, ', and "
    "no string to be set') end\n"
    "kind = redis.call('TYPE', mark).ok\n"
    "if kind ~= 'none' and kind ~= 'hash' then return refuse(mark, ' is a ', kind, ', and no "
    "hash with a fence') end\n"
    "local last = redis.call('HMGET', mark, 'fence', 'turn', 'device')\n"
    "local newest = whole(last[1])\n"
    "if kind == 'hash' and not newest then return refuse(mark, ' is a hash with no fence "
    "that is a number') end\n"
    "if newest and newest > fence then return {0, last[1], last[2] or '', last[3] or ''} end\n"
    "redis.call('HSET', mark, 'fence', text, 'turn', turn, 'device', device)\n"
    "if ms == '' then redis.call('SET', key, value) else redis.call('SET', key, value, 'PX', "
    "ms) end\n"
    "return {1, text}\n";
static const char script_sha[] = "523947aafd862148ee026b2b650740a3e38a5010";

static const struct rota_param params[] = {
    { .name = "address",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED,
      .help = "unix:/path, or host:port; of a Redis Cluster, the node that has the key." },
    { .name = "clear",
      .type = ROTA_BOOLEAN,
      .def = "false",
      .help = "A server beyond this machine may be talked to, which is done without TLS." },
    { .name = "username", .type = ROTA_STRING, .help = "Redis's user." },
    { .name = "password_file",
      .type = ROTA_STRING,
      .help = "Its first line is the password; a path, or credential:NAME." },
    { .name = "key",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED,
      .min = "1",
      .max = "512",
      .help = "The string that is set." },
    { .name = "fence_key",
      .type = ROTA_STRING,
      .min = "1",
      .max = "512",
      .help = "Who has set it last; else KEY:fence if key has a {tag}, else {KEY}:fence." },
    { .name = "value", .type = ROTA_STRING, .help = "What it is set to." },
    { .name = "command",
      .type = ROTA_STRING,
      .help = "Instead of value: a line for the shell, whose output is the value." },
    { .name = "expires",
      .type = ROTA_DURATION,
      .min = "1ms",
      .help = "How long the string stays; else for ever. Its fence stays in any case." },
    { .name = NULL },
};

struct place {
    char host[256]; /* or the path of a socket */
    int port;       /* 0: a socket */
};

static int find_place(const char *address, struct place *ret)
{
    struct place p = { .port = 0 };
    const char *colon = strrchr(address, ':');

    if (strncmp(address, "unix:/", 6) == 0) {
        snprintf(p.host, sizeof p.host, "%s", address + 5);
    } else {
        int bracket = address[0] == '[';
        int length = colon ? (int)(colon - address) - 2 * bracket : 0;
        char *end = NULL;
        long port = colon ? strtol(colon + 1, &end, 10) : 0;

        if (length < 1 || length >= (int)sizeof p.host || port < 1 || port > 65535 ||
            *end != '\0' || (bracket && colon[-1] != ']'))
            return -EINVAL;
        snprintf(p.host, sizeof p.host, "%.*s", length, address + bracket);
        p.port = (int)port;
    }
    *ret = p;
    return 0;
}

static int is_here(const struct place *p)
{
    return p->port == 0 || strcmp(p->host, "localhost") == 0 || strcmp(p->host, "::1") == 0 ||
           strncmp(p->host, "127.", 4) == 0;
}

/* In the key's slot of a Redis Cluster: that is found by what is between the first braces, if any.
 */
static int name_fence_key(const struct rota_run *r, char name[NAME_SIZE])
{
    const char *key = rota_string(r, "key"), *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;

    if (rota_is_set(r, "fence_key"))
        snprintf(name, NAME_SIZE, "%s", rota_string(r, "fence_key"));
    else if (close && close > open + 1)
        snprintf(name, NAME_SIZE, "%s:fence", key);
    else if (strpbrk(key, "{}"))
        return -EINVAL;
    else
        snprintf(name, NAME_SIZE, "{%s}:fence", key);
    return 0;
}

static int check(const struct rota_run *r)
{
    const char *address = rota_string(r, "address"), *file = rota_string(r, "password_file");
    char name[NAME_SIZE];
    struct place place;

    if (find_place(address, &place) != 0)
        return rota_fail(r, ROTA_REFUSED, "address is \"%s\"; write unix:/path or host:port",
                         address);
    if (!is_here(&place) && !rota_boolean(r, "clear"))
        return rota_fail(r, ROTA_REFUSED,
                         "address is \"%s\", beyond this machine, and this plugin has no TLS; "
                         "write clear = true if nobody else can read or change what is on the way",
                         address);
    if (file && file[0] != '/' && strncmp(file, "credential:", 11) != 0)
        return rota_fail(r, ROTA_REFUSED,
                         "password_file is \"%s\"; write an absolute path or credential:NAME",
                         file);
    if (rota_is_set(r, "username") && !file)
        return rota_fail(r, ROTA_REFUSED, "username is set, and no password_file; write both");
    if (name_fence_key(r, name) != 0)
        return rota_fail(r, ROTA_REFUSED,
                         "key has braces and no {tag}; write fence_key, too, by a name that is in "
                         "the same slot");
    if (strcmp(name, rota_string(r, "key")) == 0)
        return rota_fail(r, ROTA_REFUSED, "key and fence_key are the same; write two names");
    if (rota_is_set(r, "value") == rota_is_set(r, "command"))
        return rota_fail(r, ROTA_REFUSED, "write value or command, one of the two");
    return ROTA_SUCCEEDED;
}

/* The command's output, without its last newline; where it has failed, why it did is on its own
 * standard error. */
static int run_command(const struct rota_run *r, const char **ret, size_t *ret_length)
{
    static char output[VALUE_MAX + 1];
    char number[24];
    size_t length = 0;
    ssize_t n = 1;
    FILE *pipe;
    int status;

    snprintf(number, sizeof number, "%" PRIi64, r->turn_ms);
    setenv("ROTA_TURN", number, 1);
    pipe = popen(rota_string(r, "command"), "re");
    if (!pipe)
        return rota_fail(r, ROTA_FAILED, "no shell was started: %s", strerror(errno));
    while (n != 0 && length < sizeof output && !rota_should_stop(r)) {
        n = read(fileno(pipe), output + length, sizeof output - length);
        if (n < 0 && errno != EINTR)
            break;
        length += n > 0 ? (size_t)n : 0;
    }
    status = pclose(pipe);
    if (rota_should_stop(r))
        return rota_fail(r, ROTA_DECLINED, "stopped before anything was set");
    if (length > VALUE_MAX)
        return rota_fail(r, ROTA_FAILED, "the command has printed more than 1 MiB");
    if (n < 0 || status != 0)
        return rota_fail(r, ROTA_FAILED, "(the command has ended with %s %d; nothing was set)",
                         WIFSIGNALED(status) ? "signal" : "status",
                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    length -= length > 0 && output[length - 1] == '\n';
    *ret = output;
    *ret_length = length;
    return ROTA_SUCCEEDED;
}

/* Why there is no answer, in words. */
static const char *why(const redisContext *c)
{
    return strcmp(c->errstr, strerror(EAGAIN)) == 0 ? "no answer in time" : c->errstr;
}

/* What an answer may take: it comes while the lease is held, or does not count. */
static struct timeval time_left(const struct rota_run *r)
{
    int64_t ms = r->lease_left_ms(r) - MARGIN_MS;

    ms = ms < 1 ? 1 : ms > ANSWER_MS ? ANSWER_MS : ms;
    return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
}

static redisReply *ask(const struct rota_run *r, redisContext *c, int count, const char **words)
{
    return redisSetTimeout(c, time_left(r)) == REDIS_OK ? redisCommandArgv(c, count, words, NULL)
                                                        : NULL;
}

static int read_password(const struct rota_run *r, char password[PASSWORD_SIZE])
{
    const char *path = rota_string(r, "password_file"),
               *secret = rota_credential(r, "password_file");
    struct stat st;
    ssize_t n;
    int fd;

    if (secret) {
        snprintf(password, PASSWORD_SIZE, "%s", secret);
        return ROTA_SUCCEEDED;
    }
    if (path[0] != '/') /* the host has said why there is none */
        return ROTA_FAILED;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return rota_fail(r, ROTA_FAILED, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || (st.st_mode & 077) != 0) {
        close(fd);
        return rota_fail(r, ROTA_FAILED, "%s can be read by others; type chmod 600 %s", path, path);
    }
    n = read(fd, password, PASSWORD_SIZE - 1);
    close(fd);
    password[n > 0 ? n : 0] = '\0';
    password[strcspn(password, "\r\n")] = '\0';
    if (password[0] == '\0')
        return rota_fail(r, ROTA_FAILED, "%s has no password in its first line", path);
    return ROTA_SUCCEEDED;
}

static int log_in(const struct rota_run *r, redisContext *c)
{
    const char *words[3] = { "AUTH" };
    char password[PASSWORD_SIZE];
    redisReply *reply;
    int count = 1, result;

    if (!rota_is_set(r, "password_file"))
        return ROTA_SUCCEEDED;
    result = read_password(r, password);
    if (result != ROTA_SUCCEEDED)
        return result;
    if (rota_is_set(r, "username"))
        words[count++] = rota_string(r, "username");
    words[count++] = password;
    reply = ask(r, c, count, words);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        result = rota_fail(r, ROTA_FAILED, "%s: login: %s", rota_string(r, "address"),
                           reply ? reply->str : why(c));
    freeReplyObject(reply);
    return result;
}

static int connect_to(const struct rota_run *r, redisContext **ret)
{
    struct place place;
    redisContext *c;

    if (find_place(rota_string(r, "address"), &place) != 0)
        return ROTA_REFUSED;
    signal(SIGPIPE, SIG_IGN); /* hiredis writes where nobody may be any more */
    c = place.port ? redisConnectWithTimeout(place.host, place.port, time_left(r))
                   : redisConnectUnixWithTimeout(place.host, time_left(r));
    if (!c || c->err) {
        int result = rota_fail(r, ROTA_FAILED, "%s: %s", rota_string(r, "address"),
                               c ? why(c) : "no memory");
        redisFree(c);
        return result;
    }
    *ret = c;
    return ROTA_SUCCEEDED;
}

static const char *text_of(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ? reply->str : "";
}

/* By hand there is no fence, and nothing is set. */
static int look(const struct rota_run *r, redisContext *c, const char *fence_key)
{
    redisReply *reply = ask(r, c, 4, (const char *[]){ "HMGET", fence_key, "fence", "device" });
    int result = ROTA_SUCCEEDED;

    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        const char *fence = text_of(reply->element[0]);
        rota_log(r, ROTA_NOTICE, "by hand nothing is set; the newest fence is %.20s%s%.64s",
                 fence[0] ? fence : "none", fence[0] ? ", of " : "", text_of(reply->element[1]));
    } else {
        result = rota_fail(r, ROTA_FAILED, "%s: %s", fence_key,
                           !reply                             ? why(c)
                           : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                              : "no answer to HMGET");
    }
    freeReplyObject(reply);
    return result;
}

/* The answer of a newer run: 0, its fence, its turn, its device. */
static int say_lost(const struct rota_run *r, const redisReply *reply)
{
    time_t at = (time_t)(strtoll(text_of(reply->element[2]), NULL, 10) / 1000);
    char turn[32] = "";
    struct tm tm;

    if (gmtime_r(&at, &tm))
        strftime(turn, sizeof turn, "%Y-%m-%d %H:%M:%S", &tm);
    return rota_fail(r, ROTA_LOST,
                     "fence %" PRIu64 " is older than %.20s, with which %.64s has set %s for the "
                     "turn of %s UTC",
                     r->fence, text_of(reply->element[1]), text_of(reply->element[3]),
                     rota_string(r, "key"), turn);
}

static int is_answer(const redisReply *reply, long long first, size_t count)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == count &&
           reply->element[0]->type == REDIS_REPLY_INTEGER && reply->element[0]->integer == first;
}

static int judge(const struct rota_run *r, const redisContext *c, const redisReply *reply)
{
    const char *address = rota_string(r, "address");

    if (!reply)
        return rota_fail(r, ROTA_FAILED,
                         "%s: %s; whether %s was set is not known, the next try sets it again",
                         address, why(c), rota_string(r, "key"));
    if (reply->type == REDIS_REPLY_ERROR)
        return rota_fail(r, strncmp(reply->str, "FENCE ", 6) == 0 ? ROTA_REFUSED : ROTA_FAILED,
                         "%s: %s", address, reply->str);
    if (is_answer(reply, 1, 2))
        return ROTA_SUCCEEDED;
    if (is_answer(reply, 0, 4))
        return say_lost(r, reply);
    return rota_fail(r, ROTA_FAILED, "%s: an answer that is none of the script's", address);
}

struct value {
    const char *bytes;
    size_t length;
};

static int set(const struct rota_run *r, redisContext *c, const char *fence_key, struct value value)
{
    char fence[24], turn[24], ms[24] = "";
    const char *words[] = { "EVALSHA", script_sha,  "2",   rota_string(r, "key"),
                            fence_key, value.bytes, fence, turn,
                            r->device, ms };
    size_t lengths[sizeof words / sizeof *words];
    redisReply *reply = NULL;
    int result;

    snprintf(fence, sizeof fence, "%" PRIu64, r->fence);
    snprintf(turn, sizeof turn, "%" PRIi64, r->turn_ms);
    if (rota_is_set(r, "expires"))
        snprintf(ms, sizeof ms, "%" PRIi64, rota_duration_ms(r, "expires"));
    /* A second time as a whole: a server that has been started anew does not know the script. */
    for (int known = 1; known >= 0; known--) {
        words[0] = known ? "EVALSHA" : "EVAL";
        words[1] = known ? script_sha : script;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            lengths[i] = words[i] == value.bytes ? value.length : strlen(words[i]);
        freeReplyObject(reply);
        reply = redisSetTimeout(c, time_left(r)) == REDIS_OK
                    ? redisCommandArgv(c, sizeof words / sizeof *words, words, lengths)
                    : NULL;
        if (!reply || reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "NOSCRIPT", 8) != 0)
            break;
    }
    result = judge(r, c, reply);
    freeReplyObject(reply);
    return result;
}

static int run(const struct rota_run *r)
{
    struct value value = { .bytes = rota_string(r, "value") };
    char fence_key[NAME_SIZE];
    redisContext *c = NULL;
    int result = ROTA_SUCCEEDED;

    if (r->fence == 0 && r->purpose != ROTA_FOR_TRY)
        return rota_fail(r, ROTA_REFUSED,
                         "this run has no fence, and nothing was set: write require_fence = true "
                         "into the job, and rotad --check says why");
    if (name_fence_key(r, fence_key) != 0)
        return ROTA_REFUSED;
    if (value.bytes)
        value.length = strlen(value.bytes);
    else
        result = run_command(r, &value.bytes, &value.length);
    if (result == ROTA_SUCCEEDED)
        result = connect_to(r, &c);
    if (result == ROTA_SUCCEEDED)
        result = log_in(r, c);
    if (result == ROTA_SUCCEEDED)
        result = r->purpose == ROTA_FOR_TRY ? look(r, c, fence_key) : set(r, c, fence_key, value);
    redisFree(c);
    return result;
}

ROTA_PLUGIN(.name = "fenced_set", .version = "1",
            .summary = "Sets a string in Redis, unless a run with a newer fence has set it.",
            .needs = ROTA_NEEDS_LOST | ROTA_NEEDS_CREDENTIAL, .params = params, .run = run,
            .check = check);
