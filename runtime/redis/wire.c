/* SPDX-License-Identifier: MIT */
#include "redis/wire.h"
#include "redis/socket.h"

void redis_wire_init(struct redis_wire *wire)
{
    *wire = (struct redis_wire){ 0 };
    redis_transport_init(&wire->transport);
}

void redis_wire_done(struct redis_wire *wire)
{
    redis_wire_close(wire);
    redis_transport_done(&wire->transport);
    redis_outbox_done(&wire->outbox);
}

int redis_wire_open(struct redis_wire *wire, const struct redis_endpoint *endpoint,
                    int64_t keepalive_ms)
{
    int r = redis_transport_open(&wire->transport, endpoint, keepalive_ms);

    return r < 0 ? r : redis_inbox_init(&wire->inbox);
}

struct redis_link_request *redis_wire_close(struct redis_wire *wire)
{
    struct redis_link_request *orphans = wire->first;

    redis_transport_close(&wire->transport);
    redis_inbox_done(&wire->inbox);
    redis_outbox_clear(&wire->outbox);
    wire->login = (struct redis_login){ 0 };
    wire->first = NULL;
    wire->last = NULL;
    wire->in_flight = 0;
    return orphans;
}

int redis_wire_connected(struct redis_wire *wire, int64_t command_timeout_ms)
{
    int r = redis_socket_result(wire->transport.fd);

    return r < 0 ? r : redis_socket_set_timeout(wire->transport.fd, command_timeout_ms);
}

int redis_wire_begin(struct redis_wire *wire, const struct redis_settings *settings)
{
    return redis_login_begin(settings, &wire->outbox, &wire->login);
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
    return redis_transport_send(&wire->transport, &wire->outbox);
}

bool redis_wire_is_blocked(const struct redis_wire *wire)
{
    return redis_transport_is_blocked(&wire->transport, &wire->outbox);
}

int redis_wire_receive(struct redis_wire *wire)
{
    return redis_transport_receive(&wire->transport, &wire->inbox);
}

struct redis_link_request *redis_wire_pop(struct redis_wire *wire)
{
    struct redis_link_request *request = wire->first;

    wire->first = request->next;
    if (!wire->first)
        wire->last = NULL;
    wire->in_flight--;
    wire->transport.unanswered = 0;
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
