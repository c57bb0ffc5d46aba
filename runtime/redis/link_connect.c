/* SPDX-License-Identifier: MIT */
#include "redis/link_internal.h"
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context);

static int watch_socket(struct redis_link *link)
{
    int r =
        sd_event_add_io(link->env.event, &link->io, link->wire.transport.fd, EPOLLOUT, on_io, link);

    if (r >= 0)
        r = sd_event_source_set_priority(link->io, link->env.priority);
    if (r >= 0)
        r = sd_event_source_set_description(link->io, "redis-io");
    link->io_events = EPOLLOUT;
    return r;
}

/* The time that is left is shared out among the addresses that are left, so that one that swallows
 * everything does not take the others' too. */
static int open_address(struct redis_link *link)
{
    struct redis_endpoint target = redis_route_target(&link->route);
    struct boot now = redis_link_now();
    int64_t left_ms = boot_between(now, link->connect_deadline);
    int r;

    link->address_deadline = boot_add(now, left_ms / (int64_t)redis_route_left(&link->route));
    r = redis_wire_open(&link->wire, &target, link->settings->keepalive_ms);
    return r < 0 ? r : watch_socket(link);
}

/* Begins to connect to the first address that does not refuse at once. */
static void open_any(struct redis_link *link)
{
    int r;

    redis_link_set_phase(link, PHASE_CONNECTING, &REDIS_LINK_NO_FAULT);
    for (;;) {
        r = open_address(link);
        if (r >= 0 || !redis_route_step(&link->route))
            break;
        redis_link_disconnect(link);
    }
    if (r < 0)
        redis_link_lose(link, r);
    else
        redis_link_rearm(link);
}

bool redis_link_connect_next(struct redis_link *link)
{
    if (!redis_route_step(&link->route))
        return false;
    redis_link_disconnect(link);
    open_any(link);
    return true;
}

static void fail_address(struct redis_link *link, int error)
{
    if (!redis_link_connect_next(link))
        redis_link_lose(link, error);
}

/* The transport is whole: login and first commands go in one flight. */
static void begin(struct redis_link *link)
{
    int r = redis_wire_begin(&link->wire, link->settings);

    if (r < 0) {
        redis_link_lose(link, r);
        return;
    }
    link->phase = PHASE_UNPROVEN;
    link->owner.ready(link->owner.context);
    if (link->wire.login.left == 0 && !link->wire.first)
        redis_link_become_up(link);
    redis_link_flush(link);
}

static int64_t wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec;
}

/* Another address is no answer to what TLS has found out here. */
static void fail_securing(struct redis_link *link, int error)
{
    if (error == -EPROTO)
        redis_link_lose(link, error);
    else
        fail_address(link, error);
}

static void secure(struct redis_link *link)
{
    const struct redis_settings *settings = link->settings;
    size_t number = link->route.endpoint;
    const char *host = redis_route_server(&link->route)->host;
    struct tls_peer peer = { .name = settings->tls.name ? settings->tls.name : host,
                             .number = number,
                             .clock_s = wall_seconds(),
                             .earliest_s = settings->tls.earliest_s };
    struct redis_fault fault;
    int r;

    link->phase = PHASE_SECURING;
    if (redis_secure_open(&link->secure, settings, &fault) < 0) {
        redis_link_drop(link, &fault);
        return;
    }
    r = redis_transport_secure(&link->wire.transport, &link->secure, &peer);
    if (r < 0)
        fail_securing(link, r);
}

static void connected(struct redis_link *link)
{
    int r = redis_wire_connected(&link->wire, link->settings->command_timeout_ms);

    if (r < 0) {
        fail_address(link, r);
        return;
    }
    redis_link_tell(link, REDIS_LINK_CONNECTED);
    if (redis_route_server(&link->route)->tls)
        secure(link);
    else
        begin(link);
}

static void shake(struct redis_link *link)
{
    int r = redis_transport_shake(&link->wire.transport);

    if (r < 0)
        fail_securing(link, r);
    if (r <= 0)
        return;
    begin(link);
    if (redis_link_is_connected(link))
        redis_link_receive(link); /* the handshake's last bytes may have come with more */
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct redis_link *link = context;

    (void)source;
    (void)fd;
    if (link->phase == PHASE_CONNECTING) {
        connected(link);
    } else if (link->phase == PHASE_SECURING) {
        shake(link);
    } else {
        if (events & EPOLLOUT)
            redis_link_flush(link);
        if (redis_link_is_connected(link) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
            redis_link_receive(link);
    }
    redis_link_pump(link);
    return 0;
}

static void drop_nameless(struct redis_link *link, const char *why)
{
    struct redis_fault fault;

    link->phase = PHASE_CONNECTING; /* no question is out (any more) */
    redis_fault_of_name(why, &fault);
    redis_link_drop(link, &fault);
}

void redis_link_take_names(struct redis_link *link, const struct redis_names *names)
{
    redis_route_take_names(&link->route, names);
    redis_link_tell(link, REDIS_LINK_NAMED);
    open_any(link);
}

static void on_names(struct redis_lookup *lookup, const struct redis_names *names, const char *why)
{
    struct redis_link *link =
        (struct redis_link *)((char *)lookup - offsetof(struct redis_link, lookup));

    if (!names) {
        drop_nameless(link, why);
        return;
    }
    redis_link_take_names(link, names);
}

static void ask_names(struct redis_link *link)
{
    struct redis_endpoint host = redis_route_target(&link->route);
    int r;

    redis_link_set_phase(link, PHASE_NAMING, &REDIS_LINK_NO_FAULT);
    if (!link->env.resolve) {
        drop_nameless(link, "not a numeric address");
        return;
    }
    link->lookup.done = on_names;
    r = link->env.resolve(link->env.context, host.host, host.port, &link->lookup);
    if (r < 0)
        drop_nameless(link, "its name cannot be resolved");
    else
        redis_link_rearm(link);
}

void redis_link_connect(struct redis_link *link)
{
    link->hurried = link->hurried || link->urgent;
    link->urgent = false;
    link->moved = false;
    link->connect_deadline = boot_add(redis_link_now(), link->settings->connect_timeout_ms);
    if (link->finder)
        redis_link_find(link);
    else if (redis_route_needs_names(&link->route))
        ask_names(link);
    else
        open_any(link);
}
