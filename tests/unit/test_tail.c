/* SPDX-License-Identifier: MIT
 * The newest lines: against a plain array of all lines, and its bounds. */
#include "unit.h"

#include "base/tail.h"
#include <stdio.h>
#include <string.h>

#define RECORD_BYTES 16
#define LINE_MAX 300
#define LINES 400

/* All lines that were ever added; those from `oldest` on should be there. */
struct model {
    char text[LINES][LINE_MAX];
    uint32_t oldest, count;
};

static size_t bytes_of(const struct model *m)
{
    size_t bytes = 0;

    for (uint32_t i = m->oldest; i < m->count; i++)
        bytes += RECORD_BYTES + strlen(m->text[i]) + 1;
    return bytes;
}

static void assert_holds(const struct tail *t, const struct model *m)
{
    struct tail_line line;
    uint32_t i = m->oldest;

    for (size_t at = 0; tail_next(t, &at, &line); i++) {
        assert_in_range(i, m->oldest, m->count - 1);
        assert_string_equal(line.text, m->text[i]);
        assert_int_equal(line.at.ms, INT64_MAX - i);
        assert_int_equal(line.stream, i % 3);
        assert_int_equal(line.level, i % 8);
    }
    assert_int_equal(i, m->count);
    assert_int_equal(t->lines, m->count - m->oldest);
}

static void add_random(struct tail *t, struct model *m, struct unit_random *random)
{
    uint32_t i = m->count++, oldest = m->oldest;
    size_t length = (size_t)unit_random_in(random, 0, LINE_MAX - 1);

    memset(m->text[i], 'a' + (int)(i % 26), length);
    m->text[i][length] = '\0';
    if (RECORD_BYTES + length + 1 > t->bytes_max)
        m->oldest = m->count--; /* is not kept, and takes no other's place */
    else
        while (m->count - m->oldest > t->lines_max || bytes_of(m) > t->bytes_max)
            m->oldest++;
    if (m->count == i) {
        m->oldest = oldest;
        oldest--;
    }
    assert_int_equal(tail_add(t, &(struct tail_line){ .at = { INT64_MAX - i },
                                                      .stream = (uint8_t)(i % 3),
                                                      .level = (uint8_t)(i % 8),
                                                      .text = m->text[i] }),
                     m->oldest - oldest);
}

static void test_agrees_with_an_array(void **state)
{
    struct unit_random random = unit_random_begin();
    static struct model m;
    struct tail t;

    (void)state;
    for (int round = 0; round < 60; round++) {
        m.oldest = m.count = 0;
        tail_init(&t, (uint32_t)unit_random_in(&random, 1, 40),
                  (size_t)unit_random_in(&random, RECORD_BYTES, 8000));
        for (int i = 0; i < LINES; i++) {
            add_random(&t, &m, &random);
            if (t.lines > 0 && unit_random_in(&random, 0, 5) == 0) {
                tail_drop(&t);
                m.oldest++;
            }
            assert_holds(&t, &m);
            assert_true(t.size <= t.bytes_max + t.bytes_max / 4);
        }
        tail_done(&t);
    }
}

static void test_nothing_wanted_takes_no_memory(void **state)
{
    struct tail_line line = { .text = "x" };
    struct tail t;
    size_t at = 0;

    (void)state;
    tail_init(&t, 0, 1000);
    assert_int_equal(tail_add(&t, &line), 1);
    assert_false(tail_next(&t, &at, &line));
    tail_init(&t, 1000, 200000);
    assert_null(t.bytes);
    assert_int_equal(tail_add(&t, &line), 0);
    assert_in_range(t.size, 1, 512);
    tail_done(&t);
    assert_null(t.bytes);
    assert_false(tail_next(&t, &at, &line));
    assert_int_equal(tail_add(&t, &line), 0);
    tail_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_an_array),
        cmocka_unit_test(test_nothing_wanted_takes_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
