/* SPDX-License-Identifier: MIT
 * What of a client's bytes sd-bus gets to see: however they are cut, and never a message that is
 * larger than a client has use for. */
#include "supervisor/control_gate.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define GREETING "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"
#define ROUNDS 20000

struct stream {
    uint8_t bytes[4 * CONTROL_MESSAGE_MAX_BYTES];
    size_t size;
};

static void add(struct stream *s, const void *bytes, size_t size)
{
    assert_true(s->size + size <= sizeof s->bytes);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

static void greet(struct stream *s)
{
    s->size = 0;
    add(s, GREETING, sizeof GREETING - 1);
}

/* A header that says so, and as many bytes as there are in both, if `with_rest`. */
static void add_message(struct stream *s, uint32_t fields, uint32_t body, bool with_rest)
{
    static const uint8_t rest[CONTROL_MESSAGE_MAX_BYTES];
    const uint16_t one = 1;
    uint8_t header[CONTROL_HEADER_BYTES] = { *(const uint8_t *)&one ? 'l' : 'B', 1, 0, 1 };

    memcpy(header + 4, &body, sizeof body);
    memcpy(header + 12, &fields, sizeof fields);
    add(s, header, sizeof header);
    if (with_rest)
        add(s, rest, ((fields + 7) & ~7u) + body);
}

static int pass(const struct stream *s, struct control_gate *ret_gate)
{
    *ret_gate = (struct control_gate){ .state = CONTROL_GATE_GREETING };
    return control_gate_pass(ret_gate, s->bytes, s->size);
}

/* In pieces of all sizes; the same, or the error comes at the same byte. */
static int pass_cut(const struct stream *s, struct unit_random *random,
                    struct control_gate *ret_gate)
{
    size_t at = 0;
    int rc = 0;

    *ret_gate = (struct control_gate){ .state = CONTROL_GATE_GREETING };
    while (at < s->size && rc == 0) {
        size_t size = (size_t)unit_random_in(random, 1, 40);

        size = size < s->size - at ? size : s->size - at;
        rc = control_gate_pass(ret_gate, s->bytes + at, size);
        at += size;
    }
    return rc;
}

static void test_messages(void **state)
{
    struct control_gate gate;
    struct stream s;

    (void)state;
    greet(&s);
    assert_int_equal(pass(&s, &gate), 0);
    assert_int_equal(gate.state, CONTROL_GATE_HEADER);
    add_message(&s, 110, 0, true);
    add_message(&s, 0, 0, true);
    add_message(&s, 5, 3, true);
    assert_int_equal(pass(&s, &gate), 0);
    assert_int_equal(gate.state, CONTROL_GATE_HEADER);
    assert_int_equal(gate.count, 0);
    add_message(&s, 16, 4, false);
    assert_int_equal(pass(&s, &gate), 0);
    assert_int_equal(gate.state, CONTROL_GATE_BODY);
    assert_int_equal(gate.count, 20);
}

static void test_sizes(void **state)
{
    static const struct {
        uint32_t fields, body;
        int result;
    } rows[] = {
        { 8, CONTROL_MESSAGE_MAX_BYTES - CONTROL_HEADER_BYTES - 8, 0 },
        { 8, CONTROL_MESSAGE_MAX_BYTES - CONTROL_HEADER_BYTES - 7, -EMSGSIZE },
        { 1, CONTROL_MESSAGE_MAX_BYTES - CONTROL_HEADER_BYTES - 7, -EMSGSIZE }, /* padded */
        { UINT32_MAX, 0, -EMSGSIZE },
        { 0, UINT32_MAX, -EMSGSIZE },
        { UINT32_MAX, UINT32_MAX, -EMSGSIZE },
        { UINT32_MAX - 6, 8, -EMSGSIZE },
        { 8, 64 << 20, -EMSGSIZE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct control_gate gate;
        struct stream s;

        greet(&s);
        add_message(&s, rows[i].fields, rows[i].body, false);
        assert_int_equal(pass(&s, &gate), rows[i].result);
    }
}

static void test_greetings(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        int result;
        enum control_gate_state state;
    } rows[] = {
        { "A", 1, -EBADMSG, CONTROL_GATE_GREETING },
        { "\0AUTH\r\nBEGIN\r\n", 14, 0, CONTROL_GATE_HEADER },
        { "\0BEGIN\r\n", 8, 0, CONTROL_GATE_HEADER },
        { "\0BEGIN\n", 7, 0, CONTROL_GATE_GREETING },
        { "\0BEGIN \r\n", 9, 0, CONTROL_GATE_GREETING },
        { "\0 BEGIN\r\n", 9, 0, CONTROL_GATE_GREETING },
        { "\0XBEGIN\r\n", 9, 0, CONTROL_GATE_GREETING },
        { "\0BEGIN\r\r\n", 9, 0, CONTROL_GATE_GREETING },
        { "\0BEGIN\r\nAUTH EXTERNAL 30\r\n", 26, -EBADMSG, CONTROL_GATE_HEADER },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct control_gate gate = { .state = CONTROL_GATE_GREETING };

        assert_int_equal(control_gate_pass(&gate, (const uint8_t *)rows[i].text, rows[i].size),
                         rows[i].result);
        assert_int_equal(gate.state, rows[i].state);
    }
}

static void test_greeting_without_end(void **state)
{
    static uint8_t bytes[CONTROL_GREETING_MAX_BYTES + 1];
    struct control_gate gate = { .state = CONTROL_GATE_GREETING };

    (void)state;
    memset(bytes + 1, 'A', sizeof bytes - 1);
    assert_int_equal(control_gate_pass(&gate, bytes, CONTROL_GREETING_MAX_BYTES), 0);
    assert_int_equal(control_gate_pass(&gate, bytes + 1, 1), -EMSGSIZE);
}

/* Random ones, right and wrong: what is said of them does not depend on how they come. */
static void test_cut(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct control_gate whole, cut;
        struct stream s;
        int rc;

        greet(&s);
        for (int64_t i = unit_random_in(&random, 0, 3); i > 0; i--)
            add_message(&s, (uint32_t)unit_random_in(&random, 0, 200),
                        (uint32_t)unit_random_in(&random, 0, 200), true);
        s.bytes[unit_random_in(&random, 0, (int64_t)s.size - 1)] ^=
            (uint8_t)unit_random_in(&random, 0, 1);
        rc = pass(&s, &whole);
        assert_int_equal(pass_cut(&s, &random, &cut), rc);
        if (rc == 0) {
            assert_int_equal(cut.state, whole.state);
            assert_int_equal(cut.count, whole.count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),  cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_greetings), cmocka_unit_test(test_greeting_without_end),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
