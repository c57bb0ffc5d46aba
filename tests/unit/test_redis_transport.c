/* SPDX-License-Identifier: MIT
 * What a connection does whose TLS, here one of the test's own, is led by a server that means ill.
 */
#include "redis/wire.h"
#include "unit.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE_SIZE 4096
/* What a server may send for no reply: in the handshake, and then. */
#define SHAKE_BYTES ((size_t)256 * 1024)
#define BOUND_BYTES ((size_t)96 * 1024)

struct tls_stream {
    size_t fed;
    unsigned int reads;
    int shaken; /* what shake() says */
};

static struct tls_stream stream;

static int begin(struct tls *tls, const struct tls_peer *peer, struct tls_stream **ret_stream,
                 struct tls_fault *ret_fault)
{
    (void)tls;
    (void)peer;
    (void)ret_fault;
    stream = (struct tls_stream){ 0 };
    *ret_stream = &stream;
    return 0;
}

static int feed(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault)
{
    (void)bytes;
    (void)ret_fault;
    s->fed += size;
    return 0;
}

static int shake(struct tls_stream *s, struct tls_fault *ret_fault)
{
    (void)ret_fault;
    return s->shaken;
}

/* Nothing but what TLS has for itself. */
static ssize_t read_none(struct tls_stream *s, void *buffer, size_t size,
                         struct tls_fault *ret_fault)
{
    (void)buffer;
    (void)size;
    (void)ret_fault;
    s->reads++;
    return 0;
}

static int write_failing(struct tls_stream *s, const void *bytes, size_t size,
                         struct tls_fault *ret_fault)
{
    (void)s;
    (void)bytes;
    (void)size;
    ret_fault->kind = TLS_FAULT_MEMORY;
    strcpy(ret_fault->reason, "memory is short");
    return -EPROTO;
}

static void leave(struct tls_stream *s)
{
    (void)s;
}

static size_t take(struct tls_stream *s, void *buffer, size_t size)
{
    (void)s;
    (void)buffer;
    (void)size;
    return 0;
}

static const struct tls_module module = {
    .interface = TLS_INTERFACE,
    .begin = begin,
    .feed = feed,
    .shake = shake,
    .read = read_none,
    .write = write_failing,
    .leave = leave,
    .take = take,
    .end = leave,
};

/* Connected by TLS; the server's end of the socket. */
static int open_wire(struct redis_wire *wire)
{
    const struct redis_secure secure = { .module = &module };
    const struct tls_peer peer = { .name = "redis.test" };
    int ends[2];

    redis_wire_init(wire);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(redis_inbox_init(&wire->inbox), 0);
    wire->transport.fd = ends[0];
    assert_int_equal(redis_transport_secure(&wire->transport, &secure, &peer), 0);
    return ends[1];
}

static void send_piece(int fd)
{
    static const char bytes[PIECE_SIZE];

    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), (ssize_t)sizeof bytes);
}

static void finish_handshake(struct redis_wire *wire, int fd)
{
    stream.shaken = 1;
    send_piece(fd);
    assert_int_equal(redis_transport_shake(&wire->transport), 1);
    stream.fed = 0;
}

static void assert_ends(const struct redis_wire *wire, int r, size_t fed)
{
    assert_int_equal(r, -EPROTO);
    assert_int_equal(wire->transport.fault.kind, TLS_FAULT_ALIEN);
    assert_string_equal(wire->transport.fault.reason, "it sends on and on, and no reply");
    assert_int_equal(stream.fed, fed);
}

static void test_a_handshake_without_end(void **state)
{
    struct redis_wire wire;
    int fd = open_wire(&wire), r = 0;

    (void)state;
    for (size_t sent = 0; r == 0 && sent < 4 * SHAKE_BYTES; sent += PIECE_SIZE) {
        send_piece(fd);
        r = redis_transport_shake(&wire.transport);
    }
    assert_ends(&wire, r, SHAKE_BYTES);
    redis_wire_done(&wire);
    close(fd);
}

/* Tickets, new keys: each is in order, and costs work, and may want an answer. */
static void test_records_without_end(void **state)
{
    struct redis_wire wire;
    int fd = open_wire(&wire), r = 0;

    (void)state;
    finish_handshake(&wire, fd);
    for (size_t sent = 0; r == 0 && sent < 4 * BOUND_BYTES; sent += PIECE_SIZE) {
        send_piece(fd);
        r = redis_wire_receive(&wire);
    }
    assert_ends(&wire, r, BOUND_BYTES);
    redis_wire_done(&wire);
    close(fd);
}

static void test_a_reply_makes_room_for_more(void **state)
{
    struct redis_link_request request = { 0 };
    struct redis_wire wire;
    int fd = open_wire(&wire);

    (void)state;
    finish_handshake(&wire, fd);
    for (size_t sent = 0; sent < 4 * BOUND_BYTES; sent += PIECE_SIZE) {
        send_piece(fd);
        assert_int_equal(redis_wire_receive(&wire), 0);
        redis_wire_push_back(&wire, &request);
        assert_ptr_equal(redis_wire_pop(&wire), &request);
    }
    redis_wire_done(&wire);
    close(fd);
}

/* Then TLS is in no state to be asked; and why it failed is not lost. */
static void test_what_cannot_be_sealed(void **state)
{
    const char *word = "PING";
    size_t length = 4;
    const struct redis_command command = { .count = 1, .arguments = &word, .lengths = &length };
    struct redis_wire wire;
    int fd = open_wire(&wire);

    (void)state;
    assert_int_equal(redis_outbox_add(&wire.outbox, &command), 0);
    assert_int_equal(redis_wire_flush(&wire), -EPROTO);
    send_piece(fd);
    assert_int_equal(redis_wire_receive(&wire), -EPROTO);
    assert_string_equal(wire.transport.fault.reason, "memory is short");
    assert_int_equal(stream.reads, 0);
    redis_wire_done(&wire);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handshake_without_end),
        cmocka_unit_test(test_records_without_end),
        cmocka_unit_test(test_a_reply_makes_room_for_more),
        cmocka_unit_test(test_what_cannot_be_sealed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
