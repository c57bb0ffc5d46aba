/* SPDX-License-Identifier: MIT
 * redis/wire.h: what makes one connection: the socket, the bytes on their way in and out, the
 * login, and the requests whose replies are to come. No timers, no callbacks, no decisions: those
 * are the link's. */
#ifndef ROTA_REDIS_WIRE_H
#define ROTA_REDIS_WIRE_H
#include "redis/inbox.h"
#include "redis/link.h"
#include "redis/login.h"
#include "redis/outbox.h"
#include "redis/transport.h"

struct redis_wire {
    struct redis_transport transport;
    struct redis_inbox inbox;
    struct redis_outbox outbox;
    struct redis_login login;
    struct redis_link_request *first, *last; /* in the order of their sending */
    size_t in_flight;
};

void redis_wire_init(struct redis_wire *wire);
/* Closes; nothing may be in flight. */
void redis_wire_done(struct redis_wire *wire);
/* Starts to connect; 0 or a negative errno, see redis_socket_open(). The wire is to be closed in
 * both cases. */
int redis_wire_open(struct redis_wire *wire, const struct redis_endpoint *endpoint,
                    int64_t keepalive_ms);
/* Closes, keeps the memory for the next connection. Returns what was in flight. */
struct redis_link_request *redis_wire_close(struct redis_wire *wire);

/* The socket has become writable for the first time: finds out how connecting ended. 0 or a
 * negative errno. */
int redis_wire_connected(struct redis_wire *wire, int64_t command_timeout_ms);
/* Puts the login ahead of all commands. 0 or -ENOMEM. */
int redis_wire_begin(struct redis_wire *wire, const struct redis_settings *settings);
/* Queues a command's bytes and its request. 0 or -ENOMEM. */
int redis_wire_add(struct redis_wire *wire, const struct redis_command *command,
                   struct redis_link_request *request);
/* 0, also where some bytes wait for the socket; or a negative errno. */
int redis_wire_flush(struct redis_wire *wire);
/* True where bytes wait for the socket. */
bool redis_wire_is_blocked(const struct redis_wire *wire);
/* Reads once. 1: bytes came, take the replies. 0: none for now. -EPIPE: the end. Or another
 * negative errno. */
int redis_wire_receive(struct redis_wire *wire);
/* The request that the next reply is for. There must be one. */
struct redis_link_request *redis_wire_pop(struct redis_wire *wire);
/* Takes the popped one back, ahead of all. */
void redis_wire_push_back(struct redis_wire *wire, struct redis_link_request *request);
/* The earliest deadline of what is in flight; BOOT_NEVER where nothing is. */
struct boot redis_wire_deadline(const struct redis_wire *wire);
#endif
