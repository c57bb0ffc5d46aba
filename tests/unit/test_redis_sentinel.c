/* SPDX-License-Identifier: MIT
 * What sentinels say, what a round of questions has come to, and who is asked next. */
#include "redis/sentinel_answer.h"
#include "redis/sentinel_order.h"
#include "unit.h"
#include <errno.h>
#include <hiredis/hiredis.h>
#include <string.h>

/* A reply out of its bytes, as hiredis reads it. */
static redisReply *reply_of(const char *bytes)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static int read_answer(const char *bytes, struct sentinel_address *ret_address)
{
    redisReply *reply = reply_of(bytes);
    int r = sentinel_answer_read(reply, ret_address);

    freeReplyObject(reply);
    return r;
}

static void test_an_address(void **state)
{
    static const struct {
        const char *bytes, *text;
        uint16_t port;
    } rows[] = {
        { "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n", "10.0.0.1:6379", 6379 },
        { "*2\r\n$3\r\n::1\r\n$1\r\n1\r\n", "[::1]:1", 1 },
        { "*2\r\n$13\r\nredis-1.shop_\r\n$5\r\n65535\r\n", "redis-1.shop_:65535", 65535 },
        { "*2\r\n$8\r\nfe80::1%\r\n$5\r\n00080\r\n", "[fe80::1%]:80", 80 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sentinel_address address;
        char text[SENTINEL_TEXT_SIZE];

        assert_int_equal(read_answer(rows[i].bytes, &address), 1);
        assert_int_equal(address.port, rows[i].port);
        sentinel_address_text(&address, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_no_address(void **state)
{
    static const char *const bytes[] = {
        "+OK\r\n",
        ":1\r\n",
        "$1\r\na\r\n",
        "*0\r\n",
        "*1\r\n$1\r\na\r\n",
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n",
        "*2\r\n$1\r\na\r\n:1\r\n",
        "*2\r\n:1\r\n$1\r\n1\r\n",
        "*2\r\n$-1\r\n$1\r\n1\r\n",
        "*2\r\n$1\r\na\r\n$-1\r\n",
        "*2\r\n$0\r\n\r\n$1\r\n1\r\n",
        "*2\r\n$2\r\n-a\r\n$1\r\n1\r\n",
        "*2\r\n$2\r\n.a\r\n$1\r\n1\r\n",
        "*2\r\n$3\r\na b\r\n$1\r\n1\r\n",
        "*2\r\n$2\r\na\n\r\n$1\r\n1\r\n",
        "*2\r\n$2\r\na/\r\n$1\r\n1\r\n",
        "*2\r\n$1\r\na\r\n$0\r\n\r\n",
        "*2\r\n$1\r\na\r\n$1\r\n0\r\n",
        "*2\r\n$1\r\na\r\n$5\r\n65536\r\n",
        "*2\r\n$1\r\na\r\n$6\r\n000080\r\n",
        "*2\r\n$1\r\na\r\n$2\r\n-1\r\n",
        "*2\r\n$1\r\na\r\n$2\r\n 1\r\n",
        "*2\r\n$1\r\na\r\n$2\r\n1x\r\n",
    };
    struct sentinel_address address;

    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        assert_int_equal(read_answer(bytes[i], &address), -EBADMSG);
    assert_int_equal(read_answer("*-1\r\n", &address), 0);
    assert_int_equal(read_answer("$-1\r\n", &address), 0);
}

static void test_a_host_is_bounded(void **state)
{
    char bytes[400];
    struct sentinel_address address;

    (void)state;
    snprintf(bytes, sizeof bytes, "*2\r\n$253\r\n%0253d\r\n$1\r\n1\r\n", 0);
    assert_int_equal(read_answer(bytes, &address), 1);
    snprintf(bytes, sizeof bytes, "*2\r\n$254\r\n%0254d\r\n$1\r\n1\r\n", 0);
    assert_int_equal(read_answer(bytes, &address), -EBADMSG);
    /* An end of the text in its middle. */
    redisReply *reply = reply_of("*2\r\n$3\r\naXb\r\n$1\r\n1\r\n");

    reply->element[0]->str[1] = '\0';
    assert_int_equal(sentinel_answer_read(reply, &address), -EBADMSG);
    freeReplyObject(reply);
}

static bool is_switch(const char *bytes, const char *master)
{
    redisReply *reply = reply_of(bytes);
    bool is = sentinel_answer_is_news(reply) && sentinel_answer_is_switch(reply, master);

    freeReplyObject(reply);
    return is;
}

static void test_news(void **state)
{
    const char *of_shop = "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$12\r\nshop a 1 b 2\r\n";

    (void)state;
    assert_true(is_switch(of_shop, "shop"));
    assert_false(is_switch(of_shop, "shop a 1 b 2"));
    assert_false(is_switch(of_shop, "sho"));
    assert_false(is_switch(of_shop, "shops"));
    assert_false(is_switch("*3\r\n$7\r\nmessage\r\n$6\r\n+sdown\r\n$6\r\nshop a\r\n", "shop"));
    assert_false(is_switch("*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n:1\r\n", "shop"));
    assert_false(is_switch("*3\r\n$7\r\nmessage\r\n:1\r\n$6\r\nshop a\r\n", "shop"));
    assert_false(is_switch("*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n", "shop"));
    assert_false(is_switch("*2\r\n$7\r\nmessage\r\n$6\r\nshop a\r\n", "shop"));
    assert_false(is_switch("*0\r\n", "shop"));
}

static void test_what_a_round_has_come_to(void **state)
{
    struct sentinel_round round = { 0 };
    struct redis_fault fault = { .wants_body = true };

    (void)state;
    sentinel_round_failed(&round, "a:1", FAULT_OPERATOR,
                          "it wants a password; write redis.password_file (NOAUTH)");
    sentinel_round_fault(&round, "shop", &fault);
    assert_int_equal(fault.class, FAULT_OPERATOR);
    assert_true(fault.closes);
    assert_false(fault.wants_body);
    assert_string_equal(fault.reason, "no sentinel answers; a:1: it wants a password; write "
                                      "redis.sentinel_password_file (NOAUTH)");
    sentinel_round_failed(&round, "a:1", FAULT_OPERATOR,
                          "it lacks a command that rota needs (ERR)");
    sentinel_round_fault(&round, "m", &fault);
    assert_non_null(strstr(fault.reason, "it is no sentinel; is that the port of a server? (ERR)"));
    sentinel_round_failed(&round, "a:1", FAULT_OPERATOR,
                          "its ACL does not allow the user what rota needs (NOPERM)");
    sentinel_round_fault(&round, "m", &fault);
    /* Others that are away do not hide it, nor that a new password may be in the file. */
    sentinel_round_failed(&round, "b:2", FAULT_LINK, "connection refused");
    sentinel_round_fault(&round, "shop", &fault);
    assert_int_equal(fault.class, FAULT_OPERATOR);
    assert_non_null(strstr(fault.reason, "a:1: its user may not ask for the master"));
    round = (struct sentinel_round){ 0 };
    sentinel_round_failed(&round, "b:2", FAULT_LINK, "connection refused");
    sentinel_round_fault(&round, "shop", &fault);
    assert_int_equal(fault.class, FAULT_LINK);
    assert_string_equal(fault.reason, "no sentinel answers; b:2: connection refused");
    /* What TLS says of itself stays. */
    sentinel_round_failed(&round, "b:2", FAULT_OPERATOR, "its certificate is not for b");
    sentinel_round_fault(&round, "shop", &fault);
    assert_string_equal(fault.reason, "no sentinel answers; b:2: its certificate is not for b");
    /* One that answers counts more than many that do not. */
    round.unknown = 1;
    sentinel_round_fault(&round, "a\nb", &fault);
    assert_int_equal(fault.class, FAULT_OPERATOR);
    assert_non_null(strstr(fault.reason, "knows a master 'a\\x0ab'; write into redis.master"));
}

static void test_a_long_name_leaves_room_for_what_to_write(void **state)
{
    struct sentinel_round round = { .unknown = 1 };
    struct redis_fault fault;
    char name[1000];

    (void)state;
    memset(name, '\n', sizeof name);
    name[sizeof name - 1] = '\0';
    sentinel_round_fault(&round, name, &fault);
    assert_non_null(strstr(fault.reason, "in their sentinel.conf"));
}

static void test_the_order(void **state)
{
    struct sentinel_order o = { .count = 3 };
    size_t number;

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* nobody has answered: the order as it is written */
        sentinel_order_begin(&o, false);
        for (size_t j = 0; j < 3; j++) {
            assert_true(sentinel_order_next(&o, &number));
            assert_int_equal(number, j);
        }
        assert_false(sentinel_order_next(&o, &number));
    }
    sentinel_order_answered(&o, 2);
    sentinel_order_begin(&o, false);
    assert_true(sentinel_order_next(&o, &number));
    assert_int_equal(number, 2);
    assert_true(sentinel_order_next(&o, &number));
    assert_int_equal(number, 0);
    sentinel_order_begin(&o, true); /* and last of all the one that has misled */
    for (size_t j = 0; j < 3; j++) {
        assert_true(sentinel_order_next(&o, &number));
        assert_int_equal(number, j);
    }
    for (size_t j = 1; j < 5; j++) { /* nobody has answered: each is once the first */
        sentinel_order_begin(&o, true);
        assert_true(sentinel_order_next(&o, &number));
        assert_int_equal(number, j % 3);
    }
    o = (struct sentinel_order){ .count = 1 };
    sentinel_order_begin(&o, true);
    assert_true(sentinel_order_next(&o, &number));
    assert_int_equal(number, 0);
    assert_false(sentinel_order_next(&o, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address),
        cmocka_unit_test(test_no_address),
        cmocka_unit_test(test_a_host_is_bounded),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_what_a_round_has_come_to),
        cmocka_unit_test(test_a_long_name_leaves_room_for_what_to_write),
        cmocka_unit_test(test_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
