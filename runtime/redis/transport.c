/* SPDX-License-Identifier: MIT */
#include "redis/transport.h"
#include "base/text.h"
#include "redis/socket.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Read at once, on the stack; the loop comes back for more. Replies are far smaller. */
#define READ_SIZE 4096
/* Bytes for no reply. In the handshake: a chain of certificates, up to 100 KB. */
#define UNANSWERED_SHAKE_MAX ((size_t)256 * 1024)
/* Then: a reply, and half as much for its seals and for tickets. New keys, which a server may send
 * without end, cost this device a derivation for each 26 bytes. */
#define UNANSWERED_MAX (REDIS_INBOX_BYTES_MAX + REDIS_INBOX_BYTES_MAX / 2)
/* More than a close_notify has. */
#define GOODBYE_SIZE 128

void redis_transport_init(struct redis_transport *t)
{
    *t = (struct redis_transport){ .fd = -1 };
}

void redis_transport_done(struct redis_transport *t)
{
    redis_transport_close(t);
    redis_outbox_done(&t->sealed);
}

int redis_transport_open(struct redis_transport *t, const struct redis_endpoint *endpoint,
                         int64_t keepalive_ms)
{
    t->heard = false;
    t->end = 0;
    t->fault.reason[0] = '\0';
    return redis_socket_open(endpoint, keepalive_ms, &t->fd);
}

/* So that the server knows that nothing was cut off. MSG_MORE: in one packet with the end. */
static void say_goodbye(struct redis_transport *t)
{
    char bytes[GOODBYE_SIZE];
    size_t size;

    t->tls->leave(t->stream);
    if (!redis_outbox_is_empty(&t->sealed))
        return;
    size = t->tls->take(t->stream, bytes, sizeof bytes);
    if (size > 0)
        (void)send(t->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
}

void redis_transport_close(struct redis_transport *t)
{
    if (t->stream) {
        say_goodbye(t);
        t->tls->end(t->stream);
    }
    if (t->fd >= 0)
        close(t->fd);
    redis_outbox_clear(&t->sealed);
    t->fd = -1;
    t->tls = NULL;
    t->stream = NULL;
}

/* Hands the socket what TLS has for it. */
static int push(struct redis_transport *t)
{
    char bytes[READ_SIZE];
    size_t size;
    int r = 0;

    while (r == 0 && (size = t->tls->take(t->stream, bytes, sizeof bytes)) > 0)
        r = redis_outbox_append(&t->sealed, bytes, size);
    return r < 0 ? r : redis_outbox_flush(&t->sealed, t->fd, &t->traffic.sent_bytes);
}

int redis_transport_secure(struct redis_transport *t, const struct redis_secure *secure,
                           const struct tls_peer *peer)
{
    int r = secure->module->begin(secure->tls, peer, &t->stream, &t->fault);

    t->unanswered = 0;
    t->unanswered_max = UNANSWERED_SHAKE_MAX;
    t->tls = secure->module;
    return r < 0 ? r : push(t);
}

static int feed(struct redis_transport *t, const char *bytes, size_t size)
{
    t->unanswered += size;
    if (t->unanswered <= t->unanswered_max)
        return t->tls->feed(t->stream, bytes, size, &t->fault);
    t->fault.kind = TLS_FAULT_ALIEN;
    text_copy(t->fault.reason, sizeof t->fault.reason, "it sends on and on, and no reply");
    return -EPROTO;
}

/* Reads once. How many bytes; 0: none for now. */
static ssize_t pull(struct redis_transport *t, char bytes[READ_SIZE])
{
    ssize_t n = recv(t->fd, bytes, READ_SIZE, 0);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    t->heard = true;
    t->traffic.received_bytes += (size_t)n;
    return n;
}

/* 0, also where nothing came. */
static int pull_sealed(struct redis_transport *t)
{
    char bytes[READ_SIZE];
    ssize_t n = pull(t, bytes);

    return n <= 0 ? (int)n : feed(t, bytes, (size_t)n);
}

/* 1: bytes came. 0: none for now. */
static int pull_clear(struct redis_transport *t, struct redis_inbox *inbox)
{
    char bytes[READ_SIZE];
    ssize_t n = pull(t, bytes);
    int r;

    if (n <= 0)
        return (int)n;
    r = redis_inbox_feed(inbox, bytes, (size_t)n);
    return r < 0 ? r : 1;
}

int redis_transport_shake(struct redis_transport *t)
{
    int r = pull_sealed(t), done;

    if (r < 0)
        return r;
    done = t->tls->shake(t->stream, &t->fault);
    if (done == 1) {
        t->unanswered = 0;
        t->unanswered_max = UNANSWERED_MAX;
    }
    /* Also where it has failed: the peer is told why. Its end waits for the first commands. */
    r = done == 1 ? 0 : push(t);
    return done < 0 || r == 0 ? done : r;
}

int redis_transport_send(struct redis_transport *t, struct redis_outbox *clear)
{
    int r = 0;

    if (!t->stream)
        return redis_outbox_flush(clear, t->fd, &t->traffic.sent_bytes);
    if (!redis_outbox_is_empty(clear))
        r = t->tls->write(t->stream, clear->bytes, clear->used, &t->fault);
    redis_outbox_clear(clear);
    if (r < 0)
        t->end = r; /* who reads what the peer has said last must not ask TLS for it */
    return r < 0 ? r : push(t);
}

bool redis_transport_facts(const struct redis_transport *t, struct tls_facts *ret_facts)
{
    if (t->stream)
        t->tls->facts(t->stream, ret_facts);
    return t->stream != NULL;
}

bool redis_transport_is_blocked(const struct redis_transport *t, const struct redis_outbox *clear)
{
    return !redis_outbox_is_empty(clear) || !redis_outbox_is_empty(&t->sealed);
}

/* All that was fed, so that nothing waits in there unseen by the loop; sets `end`. False: there was
 * nothing. */
static bool drain(struct redis_transport *t, struct redis_inbox *inbox)
{
    char bytes[READ_SIZE];
    bool some = false;
    int r = 0;
    ssize_t n;

    while ((n = t->tls->read(t->stream, bytes, sizeof bytes, &t->fault)) > 0) {
        r = redis_inbox_feed(inbox, bytes, (size_t)n);
        some = true;
        if (r < 0)
            break;
    }
    if (r == 0)
        r = (int)n;
    t->end = r;
    return some;
}

int redis_transport_receive(struct redis_transport *t, struct redis_inbox *inbox)
{
    int r = t->end;
    bool some;

    if (!t->stream)
        return pull_clear(t, inbox);
    if (r == 0)
        r = pull_sealed(t);
    if (r < 0)
        return r;
    some = drain(t, inbox);
    /* What was read may want an answer: the other side may renew its keys. */
    r = push(t);
    if (t->end == 0 && r < 0)
        t->end = r;
    return some ? 1 : t->end;
}
