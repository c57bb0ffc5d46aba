/* SPDX-License-Identifier: MIT
 * store_driver: the store on Redis under a test's hand. Requests come as lines on standard input,
 * what the store does goes out as lines of JSON. store_harness.py is its user.
 *
 *   store_driver KEY=VALUE...      endpoint=unix:/PATH or endpoint=HOST PORT, more than once; or
 * sentinel=HOST PORT, more than once, master=NAME sentinel_password= sentinel_username=; or
 * quorum=1, and each endpoint is one of its servers; or cluster=1, and each is one of its nodes;
 * password= username= database= connect= command= min= max= keepalive= idle= (ms) tls=MODULE ca=
 * cert= key= server_name= earliest= (s), which all endpoints have then   submit ID VERB
 * KEY=VALUE... KEY: token turn next ttl attempts fence first attempt outcome covers detail clean
 * schedule fingerprint version scope (device) seats stop lock_key device boot; hello: weight digest
 * names (a comma between two); config_put: digest text, config_get: digest; pause: text for;
 * resume: catch_up; urgent=1; again=N: submits itself N times in answer(); cancels=ID: cancels that
 * in answer(); unwanted=1: compose() says no cancel ID, pending, sound MS, expect NEXT WATCH: ms
 * from now, or "never", or "now" for a token that is out end of file ends it */
#include "base/text.h"
#include "base/units.h"
#include "core/slot.h"
#include "redis/cluster.h"
#include "redis/link.h"
#include "redis/node.h"
#include "redis/quorum.h"
#include "redis/sentinel.h"
#include "store_driver_print.h"
#include "tls/tls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#define CALLS_MAX 64
#define WORDS_MAX 32
#define ENDPOINTS_MAX 7
#define SENTINELS_MAX 16
#define LINE_SIZE 4096
#define VALUE_SIZE 600

struct driven {
    struct store_call call;
    char id[16], token[VALUE_SIZE], detail[VALUE_SIZE], cancels[16];
    char device[VALUE_SIZE], boot[VALUE_SIZE], lock_key[VALUE_SIZE];
    char digest[VALUE_SIZE], text[LINE_SIZE];
    struct job_spec job;
    struct store_request request;
    long again;
    bool urgent, unwanted;
};

static struct {
    sd_event *event;
    struct redis_store *store;
    struct driven calls[CALLS_MAX];
    char line[LINE_SIZE];
    size_t line_len;
    bool inside; /* a submit() or cancel(): nothing may be called back from there */
} driver;

static void begin(const char *event)
{
    printf("{\"event\":\"%s\",\"inside\":%d", event, driver.inside ? 1 : 0);
}

static void end(void)
{
    puts("}");
    fflush(stdout);
}

static struct driven *find(const char *id)
{
    for (size_t i = 0; i < CALLS_MAX; i++)
        if (strcmp(driver.calls[i].id, id) == 0)
            return &driver.calls[i];
    return NULL;
}

static void cancel(const char *id)
{
    struct driven *d = find(id);

    if (!d)
        return;
    driver.inside = true;
    redis_store_cancel(driver.store, &d->call);
    driver.inside = false;
}

static void submit(struct driven *d)
{
    driver.inside = true;
    redis_store_submit(driver.store, &d->call, d->urgent);
    driver.inside = false;
}

static void on_answer(struct store_call *call, const struct store_reply *reply)
{
    static const char *const statuses[] = {
        [STORE_ANSWERED] = "answered", [STORE_NO_ANSWER] = "none", [STORE_ERROR] = "error"
    };
    struct driven *d = (struct driven *)call;

    begin("answer");
    store_driver_text("id", d->id);
    store_driver_text("status", statuses[reply->status]);
    store_driver_number("sent", reply->sent.ms);
    store_driver_number("took", boot_between(reply->sent, reply->received));
    store_driver_text("fault", fault_name(reply->fault));
    if (reply->status != STORE_ANSWERED) {
        store_driver_text("error", reply->error);
    } else {
        store_driver_answer(call->verb, reply);
    }
    end();
    if (d->cancels[0])
        cancel(d->cancels);
    if (d->again > 0) {
        d->again--;
        submit(d);
    }
}

static bool on_compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    struct driven *d = (struct driven *)call;

    begin("composed");
    store_driver_text("id", d->id);
    store_driver_number("now", now.ms);
    end();
    if (d->unwanted)
        return false;
    *ret_request = d->request;
    return true;
}

static const char *const link_states[] = {
    [REDIS_LINK_IDLE] = "idle",
    [REDIS_LINK_CONNECTING] = "connecting",
    [REDIS_LINK_UP] = "up",
    [REDIS_LINK_WAITING] = "waiting",
};

static void on_link(void *context, const struct redis_link_change *change)
{
    (void)context;
    begin("link");
    store_driver_text("state", link_states[change->state]);
    store_driver_text("endpoint", change->endpoint);
    store_driver_text("fault", fault_name(change->fault));
    store_driver_text("reason", change->reason ? change->reason : "");
    store_driver_number("window", change->window_ms);
    if (change->tls) {
        store_driver_text("version", change->tls->version);
        store_driver_text("cipher", change->tls->cipher);
        store_driver_number("resumed", change->tls->resumed);
        store_driver_number("expires", change->tls->expires_s);
    }
    store_driver_number("at", redis_link_now().ms);
    end();
}

static void on_server(void *context, size_t server, const struct redis_link_change *change,
                      size_t serving)
{
    (void)context;
    begin("server");
    store_driver_number("number", (int64_t)server);
    store_driver_text("state", link_states[change->state]);
    store_driver_text("reason", change->reason ? change->reason : "");
    store_driver_number("serving", (int64_t)serving);
    end();
}

static void on_random(void *context, void *buffer, size_t size)
{
    (void)context;
    if (getrandom(buffer, size, 0) != (ssize_t)size)
        abort();
}

static const struct driven fresh = {
    .device = "device",
    .boot = "b1",
    .job = { .name = "backup-2",
             .key = "backup",
             .concurrency = 1,
             .attempts = 3,
             .history = 10,
             .retention_ms = 3600000,
             .timing = { .lease_ms = 10000 },
             .fingerprint = "f1",
             .schedule_print = "s1" },
    .request = { .detail = "",
                 .ttl_ms = 10000,
                 .fresh_ms = 13000,
                 .first_ask = true,
                 .attempt = 1,
                 .fence = 1,
                 .clean = true },
};

static bool set_number(struct driven *d, const char *key, int64_t value)
{
    struct store_request *q = &d->request;

    if (strcmp(key, "turn") == 0)
        q->turn.ms = value;
    else if (strcmp(key, "next") == 0)
        q->next.ms = value;
    else if (strcmp(key, "ttl") == 0)
        q->ttl_ms = value;
    else if (strcmp(key, "attempts") == 0)
        d->job.attempts = (uint32_t)value;
    else if (strcmp(key, "fence") == 0)
        q->fence = (uint64_t)value;
    else if (strcmp(key, "attempt") == 0)
        q->attempt = (uint32_t)value;
    else if (strcmp(key, "covers") == 0)
        q->covers.ms = value;
    else if (strcmp(key, "clean") == 0)
        q->clean = value != 0;
    else if (strcmp(key, "version") == 0)
        d->job.version = (uint32_t)value;
    else if (strcmp(key, "seats") == 0)
        d->job.concurrency = (uint32_t)value;
    else if (strcmp(key, "stop") == 0)
        d->job.stop_after_failures = (uint32_t)value;
    else if (strcmp(key, "weight") == 0)
        q->hello.weight_ms = value;
    else if (strcmp(key, "for") == 0)
        q->pause.for_ms = value;
    else if (strcmp(key, "catch_up") == 0)
        q->resume.catch_up = value != 0;
    else if (strcmp(key, "urgent") == 0)
        d->urgent = value != 0;
    else if (strcmp(key, "again") == 0)
        d->again = value;
    else if (strcmp(key, "unwanted") == 0)
        d->unwanted = value != 0;
    else
        return false;
    return true;
}

/* A line's words have no blanks: commas stand for them. */
static void set_text(struct driven *d, const char *value)
{
    text_copy(d->text, sizeof d->text, value);
    for (char *c = strchr(d->text, ','); c; c = strchr(c, ','))
        *c = ' ';
}

static void set_value(struct driven *d, const char *key, const char *value)
{
    if (strcmp(key, "token") == 0)
        text_copy(d->token, sizeof d->token, value);
    else if (strcmp(key, "detail") == 0)
        text_copy(d->detail, sizeof d->detail, value);
    else if (strcmp(key, "cancels") == 0)
        text_copy(d->cancels, sizeof d->cancels, value);
    else if (strcmp(key, "schedule") == 0)
        text_copy(d->job.schedule_print, sizeof d->job.schedule_print, value);
    else if (strcmp(key, "fingerprint") == 0)
        text_copy(d->job.fingerprint, sizeof d->job.fingerprint, value);
    else if (strcmp(key, "scope") == 0)
        d->job.scope = strcmp(value, "device") == 0 ? SCOPE_DEVICE : SCOPE_FLEET;
    else if (strcmp(key, "lock_key") == 0)
        text_copy(d->lock_key, sizeof d->lock_key, value);
    else if (strcmp(key, "device") == 0)
        text_copy(d->device, sizeof d->device, value);
    else if (strcmp(key, "boot") == 0)
        text_copy(d->boot, sizeof d->boot, value);
    else if (strcmp(key, "digest") == 0)
        text_copy(d->digest, sizeof d->digest, value);
    else if (strcmp(key, "text") == 0 || strcmp(key, "names") == 0)
        set_text(d, value);
    else if (strcmp(key, "outcome") == 0)
        outcome_from_name(value, &d->request.outcome);
    else if (!set_number(d, key, strtoll(value, NULL, 10)))
        abort();
}

static enum store_verb verb_named(const char *name)
{
    static const char *const names[STORE_VERB_COUNT] = {
        [STORE_CLOCK] = "clock",           [STORE_ACQUIRE] = "acquire",
        [STORE_RENEW] = "renew",           [STORE_FINISH] = "finish",
        [STORE_HELLO] = "hello",           [STORE_INDEX] = "index",
        [STORE_CONFIG_GET] = "config_get", [STORE_CONFIG_PUT] = "config_put",
        [STORE_PAUSE] = "pause",           [STORE_RESUME] = "resume"
    };

    for (size_t i = 0; i < STORE_VERB_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum store_verb)i;
    abort();
}

/* What the verb says beside the values that were set. */
static void finish_request(struct driven *d)
{
    struct store_request *q = &d->request;

    q->job = &d->job;
    d->job.lock_key = d->lock_key[0] ? d->lock_key : NULL;
    q->token = d->token;
    q->detail = d->detail;
    q->device = d->device;
    q->boot = d->boot;
    if (q->verb == STORE_HELLO) {
        q->hello.retention_ms = d->job.retention_ms;
        q->hello.used_ms = DAY_MS;
        q->hello.version = "0.1.0";
        q->hello.digest = d->digest;
        q->hello.jobs = d->text;
    } else if (q->verb == STORE_CONFIG_GET || q->verb == STORE_CONFIG_PUT) {
        q->config.digest = d->digest;
        q->config.text = d->text;
        q->config.retention_ms = d->job.retention_ms;
    } else if (q->verb == STORE_PAUSE) {
        q->pause.text = d->text;
    }
}

static void run_submit(char *const *words, size_t count)
{
    struct driven *d = find(words[1]);

    if (!d)
        d = find("");
    if (!d)
        abort();
    *d = fresh;
    d->call.compose = on_compose;
    d->call.answer = on_answer;
    text_copy(d->id, sizeof d->id, words[1]);
    d->request.verb = verb_named(words[2]);
    for (size_t i = 3; i < count; i++) {
        char *value = strchr(words[i], '=');

        *value = '\0';
        set_value(d, words[i], value + 1);
    }
    finish_request(d);
    d->call.slot = d->request.verb == STORE_ACQUIRE || d->request.verb == STORE_RENEW ||
                           d->request.verb == STORE_FINISH || d->request.verb == STORE_PAUSE ||
                           d->request.verb == STORE_RESUME
                       ? slot_of_job(&d->job)
                       : slot_of_key(SLOT_FLEET_TAG);
    submit(d);
}

static struct boot instant_of(const char *word)
{
    if (strcmp(word, "never") == 0)
        return BOOT_NEVER;
    if (strcmp(word, "now") == 0)
        return STORE_NEED_NOW;
    return boot_add(redis_link_now(), atoll(word));
}

static void expect(const char *next, const char *watch)
{
    struct store_need need = { .next = instant_of(next),
                               .watch = instant_of(watch),
                               .watch_slot = slot_of_job(&fresh.job) };

    driver.inside = true;
    redis_store_expect(driver.store, &need);
    driver.inside = false;
    begin("expected");
    store_driver_number("at", redis_link_now().ms);
    end();
}

static void run_line(char *line)
{
    char *words[WORDS_MAX];
    size_t count = 0;

    for (char *w = strtok(line, " "); w && count < WORDS_MAX; w = strtok(NULL, " "))
        words[count++] = w;
    if (count >= 3 && strcmp(words[0], "submit") == 0) {
        run_submit(words, count);
    } else if (count == 2 && strcmp(words[0], "cancel") == 0) {
        cancel(words[1]);
    } else if (count == 3 && strcmp(words[0], "expect") == 0) {
        expect(words[1], words[2]);
    } else if (count == 2 && strcmp(words[0], "sound") == 0) {
        begin("sound");
        store_driver_number("sound",
                            redis_store_sound(driver.store, redis_link_now(), atoll(words[1])));
        end();
    } else if (count == 1 && strcmp(words[0], "pending") == 0) {
        begin("pending");
        store_driver_number("count", (int64_t)redis_store_pending(driver.store));
        end();
    } else {
        abort();
    }
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
    char *end_of_line;
    ssize_t n;

    (void)source;
    (void)events;
    (void)context;
    if (driver.line_len >= sizeof driver.line)
        abort();
    n = read(fd, driver.line + driver.line_len, sizeof driver.line - driver.line_len);
    if (n <= 0)
        return sd_event_exit(driver.event, 0);
    driver.line_len += (size_t)n;
    while ((end_of_line = memchr(driver.line, '\n', driver.line_len))) {
        size_t used = (size_t)(end_of_line - driver.line) + 1;

        *end_of_line = '\0';
        run_line(driver.line);
        driver.line_len -= used;
        memmove(driver.line, driver.line + used, driver.line_len);
    }
    return 0;
}

static struct redis_endpoint endpoint_of(char *text)
{
    struct redis_endpoint endpoint = { .text = text };
    char *space = strchr(text, ' ');

    if (strncmp(text, "unix:", 5) == 0) {
        endpoint.is_unix = true;
        endpoint.host = text + 5;
        return endpoint;
    }
    *space = '\0';
    endpoint.host = text;
    endpoint.port = (uint16_t)atoi(space + 1);
    return endpoint;
}

static bool set_tls(struct redis_tls *tls, const char *option, const char *value)
{
    if (strcmp(option, "tls") == 0)
        tls->module = value;
    else if (strcmp(option, "ca") == 0)
        tls->ca = value;
    else if (strcmp(option, "cert") == 0)
        tls->cert = value;
    else if (strcmp(option, "key") == 0)
        tls->key = value;
    else if (strcmp(option, "server_name") == 0)
        tls->name = value;
    else if (strcmp(option, "earliest") == 0)
        tls->earliest_s = atoll(value);
    else
        return false;
    return true;
}

static struct redis_settings servers[ENDPOINTS_MAX];

static bool set_sentinel(struct redis_settings *settings, struct redis_endpoint *sentinels,
                         const char *option, char *value)
{
    if (strcmp(option, "sentinel") == 0)
        sentinels[settings->sentinel_count++] = endpoint_of(value);
    else if (strcmp(option, "master") == 0)
        settings->master = value;
    else if (strcmp(option, "sentinel_username") == 0)
        settings->sentinel_username = value;
    else if (strcmp(option, "sentinel_password") == 0)
        settings->sentinel_password = value;
    else
        return false;
    settings->finder = &redis_sentinel_finder;
    settings->endpoints = sentinels; /* see redis/finder.h */
    settings->endpoint_count = 1;
    return true;
}

static void set_option(struct redis_settings *settings, struct redis_endpoint *endpoints,
                       struct redis_endpoint *sentinels, char *option)
{
    char *value = strchr(option, '=');

    *value++ = '\0';
    if (strcmp(option, "endpoint") == 0)
        endpoints[settings->endpoint_count++] = endpoint_of(value);
    else if (strcmp(option, "password") == 0)
        settings->password = value;
    else if (strcmp(option, "username") == 0)
        settings->username = value;
    else if (strcmp(option, "name") == 0)
        settings->client_name = *value ? value : NULL;
    else if (strcmp(option, "database") == 0)
        settings->database = atoi(value);
    else if (strcmp(option, "connect") == 0)
        settings->connect_timeout_ms = atoll(value);
    else if (strcmp(option, "command") == 0)
        settings->command_timeout_ms = atoll(value);
    else if (strcmp(option, "min") == 0)
        settings->backoff_min_ms = atoll(value);
    else if (strcmp(option, "max") == 0)
        settings->backoff_max_ms = atoll(value);
    else if (strcmp(option, "keepalive") == 0)
        settings->keepalive_ms = atoll(value);
    else if (strcmp(option, "idle") == 0)
        settings->idle_timeout_ms = atoll(value);
    else if (strcmp(option, "quorum") == 0)
        settings->servers = servers;
    else if (strcmp(option, "cluster") == 0)
        settings->cluster = true;
    else if (!set_tls(&settings->tls, option, value) &&
             !set_sentinel(settings, sentinels, option, value))
        abort();
}

static int open_store(struct redis_settings *settings, const struct redis_store_env *env)
{
    const struct redis_quorum_people people = { .changed = on_server };

    if (settings->cluster)
        return redis_cluster_new(settings, env, NULL, &driver.store);
    if (!settings->servers)
        return redis_node_new(settings, env, &driver.store);
    settings->servers = NULL;
    for (size_t i = 0; i < settings->endpoint_count; i++) {
        servers[i] = *settings;
        servers[i].endpoints = &settings->endpoints[i];
        servers[i].endpoint_count = 1;
    }
    settings->servers = servers;
    settings->server_count = settings->endpoint_count;
    return redis_quorum_new(settings, env, &people, &driver.store);
}

int main(int argc, char **argv)
{
    struct redis_endpoint endpoints[ENDPOINTS_MAX], sentinels[SENTINELS_MAX];
    struct redis_settings settings = {
        .endpoints = endpoints,
        .sentinels = sentinels,
        .prefix = "test:",
        .client_name = "driver",
        .connect_timeout_ms = 5000,
        .command_timeout_ms = 5000,
        .backoff_min_ms = 20,
        .backoff_max_ms = 200,
    };
    struct redis_store_env env = { .random = on_random, .watch = on_link };
    int r;

    for (int i = 1; i < argc; i++)
        set_option(&settings, endpoints, sentinels, argv[i]);
    for (size_t i = 0; i < settings.endpoint_count; i++)
        endpoints[i].tls = settings.tls.module != NULL;
    for (size_t i = 0; i < settings.sentinel_count; i++)
        sentinels[i].tls = settings.tls.module != NULL;
    r = sd_event_new(&driver.event);
    if (r < 0)
        return EXIT_FAILURE;
    env.event = driver.event;
    r = open_store(&settings, &env);
    if (r >= 0)
        r = sd_event_add_io(driver.event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
    if (r >= 0)
        r = sd_event_loop(driver.event);
    redis_store_free(driver.store);
    sd_event_unref(driver.event);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
