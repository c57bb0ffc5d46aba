/* SPDX-License-Identifier: MIT
 * redis/transport.h: a connection's bytes, in the clear or by TLS. What is above it sees no
 * difference; what the socket is waited for does not differ either, since the module for TLS only
 * recodes: EPOLLIN always, EPOLLOUT where the transport is blocked. */
#ifndef ROTA_REDIS_TRANSPORT_H
#define ROTA_REDIS_TRANSPORT_H
#include "redis/inbox.h"
#include "redis/outbox.h"
#include "redis/secure.h"
#include "redis/traffic.h"

struct redis_transport {
    int fd;                       /* -1: closed */
    bool heard;                   /* the peer has said something */
    size_t unanswered;            /* bytes that TLS has had since the last reply, which resets it */
    size_t unanswered_max;        /* more are refused: by the handshake and by what follows it */
    const struct tls_module *tls; /* NULL: in the clear */
    struct tls_stream *stream;
    struct redis_outbox sealed;   /* by TLS: what waits for the socket */
    int end;                      /* 0, or the negative errno that follows the bytes received */
    struct redis_traffic traffic; /* of all connections */
    struct tls_fault fault; /* a reason: why a function has given -EPROTO; "": the socket has */
};

void redis_transport_init(struct redis_transport *t);
/* Closes, and frees its memory. */
void redis_transport_done(struct redis_transport *t);
/* Starts to connect; 0 or a negative errno, see redis_socket_open(). */
int redis_transport_open(struct redis_transport *t, const struct redis_endpoint *endpoint,
                         int64_t keepalive_ms);
/* Says goodbye where TLS has one, and closes. */
void redis_transport_close(struct redis_transport *t);

/* The socket is connected: begins a TLS handshake with `peer`. Goes on by
 * redis_transport_shake(). 0 or a negative errno. */
int redis_transport_secure(struct redis_transport *t, const struct redis_secure *secure,
                           const struct tls_peer *peer);
/* The socket is ready for the handshake. 1: it is over; what it still has to send goes with what is
 * sent next. 0: not yet. Or a negative errno. */
int redis_transport_shake(struct redis_transport *t);
/* Takes all of `clear`, and hands the socket what that takes. 0, also where some bytes wait for the
 * socket; or a negative errno. */
int redis_transport_send(struct redis_transport *t, struct redis_outbox *clear);
/* False: in the clear. */
bool redis_transport_facts(const struct redis_transport *t, struct tls_facts *ret_facts);
/* Bytes wait for the socket. */
bool redis_transport_is_blocked(const struct redis_transport *t, const struct redis_outbox *clear);
/* Reads once, into the inbox. 1: bytes came. 0: none for now. -EPIPE: the end. Or another negative
 * errno. */
int redis_transport_receive(struct redis_transport *t, struct redis_inbox *inbox);
#endif
