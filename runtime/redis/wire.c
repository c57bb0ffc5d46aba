/* SPDX-License-Identifier: MIT */
#include "redis/wire.h"
#include "redis/socket.h"
#include <errno.h>
#include <unistd.h>

/* Read at once, on the stack; the loop comes back for more. Replies are far smaller. */
#define READ_SIZE 4096

void redis_wire_init(struct redis_wire *wire)
{
    *wire = (struct redis_wire){ .fd = -1 };
}

void redis_wire_done(struct redis_wire *wire)
{
    redis_wire_close(wire);
    redis_outbox_done(&wire->outbox);
}

int redis_wire_open(struct redis_wire *wire, const struct redis_endpoint *endpoint,
                    int64_t keepalive_ms)
{
    int r = redis_socket_open(endpoint, keepalive_ms, &wire->fd);

    return r < 0 ? r : redis_inbox_init(&wire->inbox);
}

struct redis_link_request *redis_wire_close(struct redis_wire *wire)
{
    struct redis_link_request *orphans = wire->first;

    if (wire->fd >= 0)
        close(wire->fd);
    redis_inbox_done(&wire->inbox);
    redis_outbox_clear(&wire->outbox);
    wire->fd = -1;
    wire->login = (struct redis_login){ 0 };
    wire->first = NULL;
    wire->last = NULL;
    wire->in_flight = 0;
    return orphans;
}

int redis_wire_begin(struct redis_wire *wire, const struct redis_settings *settings)
{
    int r = redis_socket_result(wire->fd);

    if (r == 0)
        r = redis_socket_set_timeout(wire->fd, settings->command_timeout_ms);
    return r < 0 ? r : redis_login_begin(settings, &wire->outbox, &wire->login);
}

int redis_wire_add(struct redis_wire *wire, const struct redis_command *command,
                   struct redis_link_request *request)
{
    int r = redis_outbox_add(&wire->outbox, command);

    if (r < 0)
        return r;
    request->next = NULL;
    if (wire->last)
        wire->last->next = request;
    else
        wire->first = request;
    wire->last = request;
    wire->in_flight++;
    return 0;
}

int redis_wire_flush(struct redis_wire *wire)
{
    return redis_outbox_flush(&wire->outbox, wire->fd);
}

bool redis_wire_is_blocked(const struct redis_wire *wire)
{
    return !redis_outbox_is_empty(&wire->outbox);
}

int redis_wire_receive(struct redis_wire *wire)
{
    char bytes[READ_SIZE];
    ssize_t n = read(wire->fd, bytes, sizeof bytes);
    int r;

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    r = redis_inbox_feed(&wire->inbox, bytes, (size_t)n);
    return r < 0 ? r : 1;
}

struct redis_link_request *redis_wire_pop(struct redis_wire *wire)
{
    struct redis_link_request *request = wire->first;

    wire->first = request->next;
    if (!wire->first)
        wire->last = NULL;
    wire->in_flight--;
    return request;
}

void redis_wire_push_back(struct redis_wire *wire, struct redis_link_request *request)
{
    request->next = wire->first;
    wire->first = request;
    if (!wire->last)
        wire->last = request;
    wire->in_flight++;
}

struct boot redis_wire_deadline(const struct redis_wire *wire)
{
    struct boot earliest = BOOT_NEVER;

    for (const struct redis_link_request *r = wire->first; r; r = r->next)
        earliest = boot_min(earliest, r->deadline);
    return earliest;
}
