/* SPDX-License-Identifier: MIT
 * link_swarm: many light devices in one process, each with a store of its own on Redis that asks
 * for the time again and again. test_s16_reconnect.py is its user.
 *
 *   link_swarm SOCKET COUNT MIN MAX ASK     back-off's windows, and how often each asks, in ms
 *
 * A line of JSON for each that gets a first answer over a new connection, or loses it; end of file
 * ends it. */
#include "redis/link.h"
#include "redis/node.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#define TIMEOUT_MS 5000

struct member {
    struct store_call call;
    struct redis_store *store;
    sd_event_source *timer;
    size_t number;
    bool serves; /* has had an answer since its connection was made */
};

static struct {
    sd_event *event;
    struct member *members;
    size_t count;
    int64_t ask_ms;
} swarm;

static void say(const struct member *m, const char *event)
{
    printf("{\"event\":\"%s\",\"device\":%zu,\"at\":%lld}\n", event, m->number,
           (long long)redis_link_now().ms);
    fflush(stdout);
}

static void on_random(void *context, void *buffer, size_t size)
{
    (void)context;
    if (getrandom(buffer, size, 0) != (ssize_t)size)
        abort();
}

static bool on_compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    (void)call;
    (void)now;
    *ret_request = (struct store_request){ .verb = STORE_CLOCK };
    return true;
}

static void ask_in(struct member *m, int64_t delay_ms)
{
    uint64_t at_us = (uint64_t)(redis_link_now().ms + delay_ms) * 1000;

    if (sd_event_source_set_time(m->timer, at_us) < 0 ||
        sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT) < 0)
        abort();
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
    struct member *m = context;

    (void)source;
    (void)usec;
    redis_store_submit(m->store, &m->call, false);
    return 0;
}

/* As the core does: what had no answer is asked again at once, and waits for a connection. */
static void on_answer(struct store_call *call, const struct store_reply *reply)
{
    struct member *m = (struct member *)call;

    if (reply->status != STORE_ANSWERED) {
        redis_store_submit(m->store, &m->call, false);
        return;
    }
    if (!m->serves)
        say(m, "serves");
    m->serves = true;
    ask_in(m, swarm.ask_ms);
}

static void on_link(void *context, const struct redis_link_change *change)
{
    struct member *m = context;

    if (change->state == REDIS_LINK_UP || !m->serves)
        return;
    m->serves = false;
    say(m, "lost");
}

static int add_member(struct member *m, const struct redis_settings *settings)
{
    struct redis_store_env env = {
        .event = swarm.event, .random = on_random, .watch = on_link, .context = m
    };
    uint32_t random;
    int r;

    m->call = (struct store_call){ .compose = on_compose, .answer = on_answer };
    r = redis_node_new(settings, &env, &m->store);
    if (r >= 0)
        r = sd_event_add_time(swarm.event, &m->timer, CLOCK_BOOTTIME, 0, 1000, on_timer, m);
    if (r < 0)
        return r;
    on_random(NULL, &random, sizeof random);
    ask_in(m, (int64_t)(random % (uint64_t)swarm.ask_ms));
    return 0;
}

static int add_members(const struct redis_settings *settings)
{
    int r = 0;

    for (size_t i = 0; i < swarm.count && r >= 0; i++) {
        swarm.members[i].number = i;
        r = add_member(&swarm.members[i], settings);
    }
    return r;
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
    char byte;

    (void)source;
    (void)events;
    (void)context;
    return read(fd, &byte, 1) > 0 ? 0 : sd_event_exit(swarm.event, 0);
}

static void disperse(void)
{
    for (size_t i = 0; i < swarm.count; i++) {
        redis_store_free(swarm.members[i].store);
        sd_event_source_disable_unref(swarm.members[i].timer);
    }
    free(swarm.members);
    sd_event_unref(swarm.event);
}

int main(int argc, char **argv)
{
    struct redis_endpoint endpoint = { .is_unix = true };
    struct redis_settings settings = {
        .endpoints = &endpoint,
        .endpoint_count = 1,
        .prefix = "test:",
        .client_name = "swarm",
        .connect_timeout_ms = TIMEOUT_MS,
        .command_timeout_ms = TIMEOUT_MS,
    };
    int r;

    if (argc != 6)
        return EXIT_FAILURE;
    endpoint.host = endpoint.text = argv[1];
    swarm.count = strtoul(argv[2], NULL, 10);
    settings.backoff_min_ms = atoll(argv[3]);
    settings.backoff_max_ms = atoll(argv[4]);
    swarm.ask_ms = atoll(argv[5]);
    swarm.members = calloc(swarm.count, sizeof *swarm.members);
    if (!swarm.members)
        return EXIT_FAILURE;
    r = sd_event_new(&swarm.event);
    if (r >= 0)
        r = add_members(&settings);
    if (r >= 0)
        r = sd_event_add_io(swarm.event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
    if (r >= 0)
        r = sd_event_loop(swarm.event);
    disperse();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
