/* SPDX-License-Identifier: MIT
 * What the plugins for PostgreSQL make of names and texts, without a server. */
#include "unit.h"
#include "words.h"

#include <string.h>

static void test_flatten(void **state)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        { "", "" },
        { "a", "a" },
        { "\n a\n", "a" },
        { "a\n\tb\n\n  c  \n", "a; b; c" },
        { "a \nb", "a; b" },
        { "a\x1b[1m\tb", "a [1m b" },
        { "a  b\r", "a b" },
        { "12345678901234", "1234567890..." },
        { "12345678901", "12345678901" },
    };
    char buf[16];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(words_flatten(cases[i].text, buf, sizeof(buf)), cases[i].line) != 0)
            fail_msg("'%s': '%s'", cases[i].text, buf);
}

/* However long, it fits, ends in "..." where it was cut, and never within a character. */
static void test_flatten_cuts(void **state)
{
    static const char text[] =
        "aa\n\xc3\xb6\xc3\xb6\n\xe2\x82\xac\xe2\x82\xac b\n\xf0\x9f\x98\x80 c";
    char whole[64], buf[64];

    (void)state;
    words_flatten(text, whole, sizeof(whole));
    assert_string_equal(whole,
                        "aa; \xc3\xb6\xc3\xb6; \xe2\x82\xac\xe2\x82\xac b; \xf0\x9f\x98\x80 c");
    for (size_t size = 8; size < sizeof(buf); size++) {
        size_t length;

        memset(buf, 'x', sizeof(buf));
        length = strlen(words_flatten(text, buf, size));
        assert_in_range(length, 0, size - 1);
        if (strcmp(buf, whole) == 0)
            continue;
        assert_true(length >= 3);
        assert_string_equal(buf + length - 3, "...");
        assert_memory_equal(buf, whole, length - 3);
        assert_int_not_equal((unsigned char)whole[length - 3] & 0xc0, 0x80);
    }
}

static void test_line(void **state)
{
    static const char text[] = "ab\n\xc3\xb6\xe2\x82\xac\n\nc";
    static const int lines[] = { 0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (words_line(text, (int)i) != lines[i])
            fail_msg("position %zu: line %d", i, words_line(text, (int)i));
    assert_int_equal(words_line("", 1), 1);
    assert_int_equal(words_line(text, -1), 0);
}

static void test_table(void **state)
{
    static const char longest[] = "a23456789012345678901234567890123456789012345678901234567890123";
    static const char *const wrong[] = { "",    "a.",   ".a",  "a.b.c", "A",        "1",  "a b",
                                         "\"a", "a\"b", "a;b", "a$",    "\xc3\xb6", "a.B" };
    char buf[WORDS_TABLE_SIZE], name[2 * sizeof(longest)];

    (void)state;
    assert_string_equal(words_table("rota_fence", buf), "\"rota_fence\"");
    assert_string_equal(words_table("ops.order", buf), "\"ops\".\"order\"");
    assert_string_equal(words_table("_1", buf), "\"_1\"");
    snprintf(name, sizeof(name), "%s.%s", longest, longest);
    assert_int_equal(strlen(words_table(name, buf)), sizeof(buf) - 1);
    snprintf(name, sizeof(name), "%sx", longest);
    assert_null(words_table(name, buf));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (words_table(wrong[i], buf))
            fail_msg("'%s': %s", wrong[i], buf);
}

static void test_local(void **state)
{
    static const char *const local[] = { "",          "/run/postgresql", "@x",   "localhost",
                                         "127.0.0.1", "127.255.1.2",     "::1",  "/a,localhost,::1",
                                         ",/a",       "0:0:0:0:0:0:0:1", "/a,/b" };
    static const char *const remote[] = {
        "db",    "128.0.0.1", "127.0.0.1.example", "126.1.1.1",          "::2", "/a,db",
        "db,/a", "127.1",     "localhost.example", "localhost,192.0.2.1"
    };
    char name[400];

    (void)state;
    assert_true(words_is_local(NULL));
    for (size_t i = 0; i < COUNT_OF(local); i++)
        if (!words_is_local(local[i]))
            fail_msg("'%s'", local[i]);
    for (size_t i = 0; i < COUNT_OF(remote); i++)
        if (words_is_local(remote[i]))
            fail_msg("'%s'", remote[i]);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_false(words_is_local(name));
    name[0] = '/';
    assert_true(words_is_local(name));
    assert_int_equal(words_count(NULL), 1);
    assert_int_equal(words_count("a,b,,c"), 4);
}

static void test_time(void **state)
{
    static const struct {
        long long ms;
        const char *text;
    } cases[] = { { 0, "0ms" },       { 999, "999ms" },     { 1000, "1.0s" },
                  { 48149, "48.1s" }, { 59949, "59.9s" },   { 59950, "1m0s" },
                  { 125000, "2m5s" }, { 3600000, "60m0s" }, { 119960, "2m0s" } };
    char buf[WORDS_TIME_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(words_time(cases[i].ms, buf), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flatten), cmocka_unit_test(test_flatten_cuts),
        cmocka_unit_test(test_line),    cmocka_unit_test(test_table),
        cmocka_unit_test(test_local),   cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
