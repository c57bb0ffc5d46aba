/* SPDX-License-Identifier: MIT
 * store_driver: the store on Redis under a test's hand. Requests come as lines on standard input,
 * what the store does goes out as lines of JSON. store_harness.py is its user.
 *
 *   store_driver KEY=VALUE...      endpoint=unix:/PATH or endpoint=HOST PORT, more than once;
 * password= username= database= connect= command= min= max= keepalive= (ms) submit ID VERB
 * KEY=VALUE... KEY: token turn next ttl attempts fence first attempt outcome covers detail clean
 * schedule; urgent=1; again=N: submits itself N times in answer(); cancels=ID: cancels that in
 * answer(); unwanted=1: compose() says no cancel ID, pending, sound MS   end of file ends it */
#include "base/text.h"
#include "redis/link.h"
#include "redis/store.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#define CALLS_MAX 64
#define WORDS_MAX 32
#define ENDPOINTS_MAX 4
#define LINE_SIZE 4096
#define VALUE_SIZE 600

struct driven {
    struct store_call call;
    char id[16], token[VALUE_SIZE], detail[VALUE_SIZE], cancels[16];
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

static void print_text(const char *key, const char *text)
{
    printf(",\"%s\":\"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (isalnum(*c) || strchr(" {}()<>.,:;'/*@_+=-", *c))
            putchar(*c);
        else
            printf("\\u%04x", *c);
    }
    putchar('"');
}

static void print_number(const char *key, int64_t number)
{
    printf(",\"%s\":%lld", key, (long long)number);
}

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

static void print_acquire(const struct store_reply *reply)
{
    static const char *const names[] = {
        [ACQUIRE_GRANTED] = "granted",     [ACQUIRE_SPARE] = "spare",   [ACQUIRE_HELD] = "held",
        [ACQUIRE_DONE] = "done",           [ACQUIRE_PASSED] = "passed", [ACQUIRE_WAIT] = "wait",
        [ACQUIRE_EXHAUSTED] = "exhausted", [ACQUIRE_PAUSED] = "paused", [ACQUIRE_EARLY] = "early",
        [ACQUIRE_OVER] = "over",
    };

    print_text("answer", names[reply->acquire.answer]);
    print_number("fence", (int64_t)reply->acquire.fence);
    print_number("attempt", reply->acquire.attempt);
    print_number("turn", reply->acquire.turn.ms);
    print_number("left", reply->acquire.left_ms);
    print_text("holder", reply->acquire.holder);
    print_number("holder_turn", reply->acquire.holder_turn.ms);
    print_number("watch", reply->acquire.watch);
    print_text("why", reply->acquire.why);
    print_number("first", reply->acquire.first);
}

static void print_renew(const struct store_reply *reply)
{
    static const char *const names[] = {
        [RENEW_RENEWED] = "renewed", [RENEW_REGAINED] = "regained", [RENEW_LOST] = "lost"
    };

    print_text("answer", names[reply->renew.answer]);
    print_number("left", reply->renew.left_ms);
    print_text("why", reply->renew.why);
}

static void on_answer(struct store_call *call, const struct store_reply *reply)
{
    static const char *const statuses[] = {
        [STORE_ANSWERED] = "answered", [STORE_NO_ANSWER] = "none", [STORE_ERROR] = "error"
    };
    struct driven *d = (struct driven *)call;

    begin("answer");
    print_text("id", d->id);
    print_text("status", statuses[reply->status]);
    print_number("sent", reply->sent.ms);
    print_number("took", boot_between(reply->sent, reply->received));
    print_text("fault", fault_name(reply->fault));
    if (reply->status != STORE_ANSWERED) {
        print_text("error", reply->error);
    } else {
        print_number("server", reply->server.ms);
        if (call->verb == STORE_ACQUIRE)
            print_acquire(reply);
        if (call->verb == STORE_RENEW)
            print_renew(reply);
        if (call->verb == STORE_FINISH) {
            print_number("held", reply->finish.held);
            print_number("gave_up", reply->finish.gave_up);
        }
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
    print_text("id", d->id);
    print_number("now", now.ms);
    end();
    if (d->unwanted)
        return false;
    *ret_request = d->request;
    return true;
}

static void on_link(void *context, const struct redis_link_change *change)
{
    static const char *const names[] = {
        [REDIS_LINK_IDLE] = "idle",
        [REDIS_LINK_CONNECTING] = "connecting",
        [REDIS_LINK_UP] = "up",
        [REDIS_LINK_WAITING] = "waiting",
    };

    (void)context;
    begin("link");
    print_text("state", names[change->state]);
    print_text("endpoint", change->endpoint);
    print_text("fault", fault_name(change->fault));
    print_text("reason", change->reason ? change->reason : "");
    print_number("window", change->window_ms);
    print_number("at", redis_link_now().ms);
    end();
}

static void on_random(void *context, void *buffer, size_t size)
{
    (void)context;
    if (getrandom(buffer, size, 0) != (ssize_t)size)
        abort();
}

static const struct driven fresh = {
    .job = { .name = "backup-2",
             .key = "backup",
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
    else if (strcmp(key, "outcome") == 0)
        outcome_from_name(value, &d->request.outcome);
    else if (!set_number(d, key, strtoll(value, NULL, 10)))
        abort();
}

static enum store_verb verb_named(const char *name)
{
    static const char *const names[STORE_VERB_COUNT] = { [STORE_CLOCK] = "clock",
                                                         [STORE_ACQUIRE] = "acquire",
                                                         [STORE_RENEW] = "renew",
                                                         [STORE_FINISH] = "finish" };

    for (size_t i = 0; i < STORE_VERB_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum store_verb)i;
    abort();
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
    d->request.job = &d->job;
    d->request.token = d->token;
    d->request.detail = d->detail;
    for (size_t i = 3; i < count; i++) {
        char *value = strchr(words[i], '=');

        *value = '\0';
        set_value(d, words[i], value + 1);
    }
    submit(d);
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
    } else if (count == 2 && strcmp(words[0], "sound") == 0) {
        begin("sound");
        print_number("sound", redis_store_sound(driver.store, redis_link_now(), atoll(words[1])));
        end();
    } else if (count == 1 && strcmp(words[0], "pending") == 0) {
        begin("pending");
        print_number("count", (int64_t)redis_store_pending(driver.store));
        end();
    } else {
        abort();
    }
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
    size_t room = sizeof driver.line - driver.line_len;
    ssize_t n = read(fd, driver.line + driver.line_len, room);
    char *end_of_line;

    (void)source;
    (void)events;
    (void)context;
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

static void set_option(struct redis_settings *settings, struct redis_endpoint *endpoints,
                       char *option)
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
    else
        abort();
}

int main(int argc, char **argv)
{
    struct redis_endpoint endpoints[ENDPOINTS_MAX];
    struct redis_settings settings = {
        .endpoints = endpoints,
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
        set_option(&settings, endpoints, argv[i]);
    r = sd_event_new(&driver.event);
    if (r < 0)
        return EXIT_FAILURE;
    env.event = driver.event;
    r = redis_store_new(&settings, &env, &driver.store);
    if (r >= 0)
        r = sd_event_add_io(driver.event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
    if (r >= 0)
        r = sd_event_loop(driver.event);
    redis_store_free(driver.store);
    sd_event_unref(driver.event);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
