/* SPDX-License-Identifier: MIT
 * Which server and address is tried next, how soon, and what its socket is told. */
#include "redis/outbox.h"
#include "redis/retry.h"
#include "redis/route.h"
#include "redis/socket.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct redis_endpoint servers[] = {
    { .host = "192.0.2.1", .port = 1, .text = "192.0.2.1:1" },
    { .host = "redis.example", .port = 2, .text = "redis.example:2" },
    { .host = "/run/redis.sock", .is_unix = true, .text = "unix:/run/redis.sock" },
};
static const struct redis_settings settings = { .endpoints = servers, .endpoint_count = 3 };
static const struct redis_names abc = { 3, { "192.0.2.10", "192.0.2.11", "2001:db8::12" } };

static void resolve(struct redis_route *r, const struct redis_names *names)
{
    assert_true(redis_route_needs_names(r));
    redis_route_take_names(r, names);
    assert_false(redis_route_needs_names(r));
}

static void assert_target(const struct redis_route *r, const char *host)
{
    assert_string_equal(redis_route_target(r).host, host);
}

/* --- routes --- */

static void test_servers_in_turn(void **state)
{
    struct redis_route r;

    (void)state;
    redis_route_init(&r, &settings);
    for (int round = 0; round < 2; round++) {
        assert_false(redis_route_needs_names(&r));
        assert_target(&r, "192.0.2.1");
        assert_false(redis_route_step(&r));
        redis_route_stay(&r);
        assert_target(&r, "192.0.2.1");
        redis_route_leave(&r);
        assert_true(redis_route_needs_names(&r));
        redis_route_leave(&r); /* it has no address */
        assert_string_equal(redis_route_text(&r), "unix:/run/redis.sock");
        assert_false(redis_route_needs_names(&r));
        redis_route_leave(&r);
    }
}

static void to_name(struct redis_route *r)
{
    redis_route_init(r, &settings);
    redis_route_leave(r);
}

static void test_addresses_within_one_try(void **state)
{
    struct redis_route r;

    (void)state;
    to_name(&r);
    resolve(&r, &abc);
    for (size_t i = 0; i < 3; i++) {
        assert_target(&r, abc.address[i]);
        assert_int_equal(redis_route_target(&r).port, 2);
        assert_int_equal(redis_route_left(&r), 3 - i);
        assert_int_equal(redis_route_step(&r), i < 2);
    }
    redis_route_leave(&r);
    assert_string_equal(redis_route_text(&r), "unix:/run/redis.sock");
}

/* Each is a replica, say: one a try, and then the next server. */
static void test_addresses_over_several_tries(void **state)
{
    struct redis_route r;

    (void)state;
    to_name(&r);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(redis_route_text(&r), "redis.example:2");
        resolve(&r, &abc);
        assert_target(&r, abc.address[i]);
        assert_int_equal(redis_route_left(&r), 3 - i);
        redis_route_leave(&r);
    }
    assert_string_equal(redis_route_text(&r), "unix:/run/redis.sock");
}

static void test_what_served_is_sought_again(void **state)
{
    static const struct redis_names turned = { 3, { "2001:db8::12", "192.0.2.11", "192.0.2.10" } };
    static const struct redis_names moved = { 1, { "192.0.2.99" } };
    struct redis_route r;

    (void)state;
    to_name(&r);
    resolve(&r, &abc);
    assert_true(redis_route_step(&r));
    redis_route_stay(&r);
    resolve(&r, &turned);
    assert_target(&r, "192.0.2.11");
    assert_int_equal(redis_route_left(&r), 3);
    redis_route_stay(&r);
    resolve(&r, &moved);
    assert_target(&r, "192.0.2.99");
    assert_false(redis_route_step(&r));
}

/* A list that became shorter meanwhile still has an address to try, and an end. */
static void test_a_shorter_list(void **state)
{
    static const struct redis_names one = { 1, { "192.0.2.10" } };
    struct redis_route r;

    (void)state;
    to_name(&r);
    resolve(&r, &abc);
    assert_true(redis_route_step(&r));
    redis_route_leave(&r);
    resolve(&r, &one);
    assert_target(&r, "192.0.2.10");
    assert_int_equal(redis_route_left(&r), 1);
    redis_route_leave(&r);
    assert_string_equal(redis_route_text(&r), "unix:/run/redis.sock");
}

/* --- delays --- */

static int64_t window_after(struct redis_retry *r, enum fault class)
{
    (void)redis_retry_next_ms(r, class, 0);
    return redis_retry_window_ms(r);
}

static void test_windows_grow_faster_where_a_person_has_to_act(void **state)
{
    struct redis_retry r;

    (void)state;
    redis_retry_init(&r, 500, 60000);
    assert_int_equal(window_after(&r, FAULT_LINK), 500);
    assert_int_equal(window_after(&r, FAULT_LINK), 1000);
    redis_retry_init(&r, 500, 60000);
    assert_int_equal(window_after(&r, FAULT_OPERATOR), 15000);
    assert_int_equal(window_after(&r, FAULT_OPERATOR), 30000);
    assert_int_equal(window_after(&r, FAULT_OPERATOR), 60000);
    assert_int_equal(window_after(&r, FAULT_OPERATOR), 60000);
    redis_retry_init(&r, 500, 60000);
    assert_int_equal(window_after(&r, FAULT_ALIEN), 15000);
}

static void test_windows_begin_anew_after_service(void **state)
{
    struct redis_retry r;
    struct boot t = { 1000 };

    (void)state;
    redis_retry_init(&r, 500, 60000);
    for (int i = 0; i < 4; i++)
        (void)window_after(&r, FAULT_LINK);
    redis_retry_ended(&r, FAULT_LINK, t); /* it was never up */
    assert_int_equal(window_after(&r, FAULT_LINK), 8000);
    redis_retry_up(&r, t);
    redis_retry_ended(&r, FAULT_REPLICA, boot_add(t, 60000)); /* it only told the time, say */
    assert_int_equal(window_after(&r, FAULT_REPLICA), 16000);
    redis_retry_up(&r, t);
    redis_retry_ended(&r, FAULT_REPLICA, boot_add(t, 60001)); /* a failover */
    assert_int_equal(window_after(&r, FAULT_REPLICA), 500);
    (void)window_after(&r, FAULT_LINK);
    redis_retry_up(&r, t);
    redis_retry_ended(&r, FAULT_LINK, boot_add(t, 1));
    assert_int_equal(window_after(&r, FAULT_LINK), 500);
}

/* --- sockets --- */

static int listener(struct redis_endpoint *ret_endpoint)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_endpoint = (struct redis_endpoint){ .host = "127.0.0.1", .port = ntohs(address.sin_port) };
    return fd;
}

static int option_of(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;

    assert_int_equal(getsockopt(fd, level, option, &value, &size), 0);
    return value;
}

static void test_what_a_socket_is_told(void **state)
{
    struct redis_endpoint endpoint;
    int ours = -1, theirs = listener(&endpoint);

    (void)state;
    assert_int_equal(redis_socket_open(&endpoint, 120000, &ours), 0);
    assert_true(fcntl(ours, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(ours, F_GETFL) & O_NONBLOCK);
    assert_true(option_of(ours, IPPROTO_TCP, TCP_NODELAY));
    assert_true(option_of(ours, SOL_SOCKET, SO_KEEPALIVE));
    assert_int_equal(option_of(ours, IPPROTO_TCP, TCP_KEEPIDLE), 120);
    /* It bounds connecting too, so not before that is done. */
    assert_int_equal(option_of(ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    assert_int_equal(redis_socket_set_timeout(ours, 3000), 0);
    assert_int_equal(option_of(ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
    close(ours);
    assert_int_equal(redis_socket_open(&endpoint, 0, &ours), 0);
    assert_false(option_of(ours, SOL_SOCKET, SO_KEEPALIVE));
    close(ours);
    close(theirs);
}

static void test_a_unix_socket_has_none_of_these(void **state)
{
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(redis_socket_set_timeout(pair[0], 3000), 0);
    close(pair[0]);
    close(pair[1]);
}

/* The peer is gone: an error, and no signal that ends the process. */
static void test_a_write_that_nobody_reads(void **state)
{
    const char *const arguments[] = { "TIME" };
    const size_t lengths[] = { 4 };
    struct redis_outbox outbox = { 0 };
    uint64_t sent = 0;
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[1]);
    assert_int_equal(redis_outbox_add(&outbox, &(struct redis_command){ 1, arguments, lengths }),
                     0);
    assert_int_equal(redis_outbox_flush(&outbox, pair[0], &sent), -EPIPE);
    assert_int_equal(sent, 0);
    redis_outbox_done(&outbox);
    close(pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers_in_turn),
        cmocka_unit_test(test_addresses_within_one_try),
        cmocka_unit_test(test_addresses_over_several_tries),
        cmocka_unit_test(test_what_served_is_sought_again),
        cmocka_unit_test(test_a_shorter_list),
        cmocka_unit_test(test_windows_grow_faster_where_a_person_has_to_act),
        cmocka_unit_test(test_windows_begin_anew_after_service),
        cmocka_unit_test(test_what_a_socket_is_told),
        cmocka_unit_test(test_a_unix_socket_has_none_of_these),
        cmocka_unit_test(test_a_write_that_nobody_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
