/* SPDX-License-Identifier: MIT */
#include "redis/link_internal.h"
#include <errno.h>
#include <sys/epoll.h>

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context);

static int watch_socket(struct redis_link *link)
{
    int r = sd_event_add_io(link->env.event, &link->io, link->wire.fd, EPOLLOUT, on_io, link);

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

static void connected(struct redis_link *link)
{
    int r = redis_wire_begin(&link->wire, link->settings);

    if (r < 0) {
        if (!redis_link_connect_next(link))
            redis_link_lose(link, r);
        return;
    }
    link->phase = PHASE_UNPROVEN;
    link->owner.ready(link->owner.context);
    if (link->wire.login.left == 0 && !link->wire.first)
        redis_link_become_up(link);
    redis_link_flush(link);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct redis_link *link = context;

    (void)source;
    (void)fd;
    if (link->phase == PHASE_CONNECTING) {
        connected(link);
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

static void on_names(struct redis_lookup *lookup, const struct redis_names *names, const char *why)
{
    struct redis_link *link =
        (struct redis_link *)((char *)lookup - offsetof(struct redis_link, lookup));

    if (!names) {
        drop_nameless(link, why);
        return;
    }
    redis_route_take_names(&link->route, names);
    open_any(link);
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
    link->connect_deadline = boot_add(redis_link_now(), link->settings->connect_timeout_ms);
    if (redis_route_needs_names(&link->route))
        ask_names(link);
    else
        open_any(link);
}
