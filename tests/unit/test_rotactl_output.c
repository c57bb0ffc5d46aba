/* SPDX-License-Identifier: MIT
 * What rotad says, on a terminal and in JSON: whoever wrote it, it is only text there. */
#include "rotactl/output.h"
#include "unit.h"

#include <string.h>

typedef void print(FILE *out, const char *text);

static void check(print *how, const char *text, const char *expected)
{
    char buffer[8192];
    FILE *out = fmemopen(buffer, sizeof buffer, "w");

    assert_non_null(out);
    how(out, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(buffer, expected);
}

static void test_text(void **state)
{
    (void)state;
    check(output_text, "", "");
    check(output_text, "a plain \xc3\xa4", "a plain \xc3\xa4");
    check(output_text, "\x1b]0;owned\x07\n", "\\x1b]0;owned\\x07\\x0a");
    check(output_text,
          "\xc2\x9b"
          "2J",
          "\\xc2\\x9b2J"); /* the same escape in one character */
}

static void test_json(void **state)
{
    (void)state;
    check(output_json, "", "\"\"");
    check(output_json, "say \"a\\b\"", "\"say \\\"a\\\\b\\\"\"");
    check(output_json, "\x1b[2J\n\t\x7f", "\"\\u001b[2J\\u000a\\u0009\\u007f\"");
    check(output_json, "\xc3\xa4 \xf0\x9f\x98\x80", "\"\xc3\xa4 \xf0\x9f\x98\x80\"");
    check(output_json,
          "\xc2\x9b"
          "2J",
          "\"\\u009b2J\"");
    check(output_json, "\xe2\x80\xaegnp\xd8\x9c \xef\xbb\xbf\xe2\x81\xa9",
          "\"\\u202egnp\\u061c \\ufeff\\u2069\"");
    /* Neighbours of these, and what is cut off. */
    check(output_json, "\xe2\x80\x93\xef\xbb\xbe\xd8\x9b\xc2\xa0",
          "\"\xe2\x80\x93\xef\xbb\xbe\xd8\x9b\xc2\xa0\"");
    /* What is no UTF-8, as of a file: an 8-bit terminal takes the first for an escape. */
    check(output_json,
          "\x9b"
          "2J \xc2+ \xe2\x80 \xc0\x80 \xed\xa0\x80 \xf0\x9f\x98",
          "\"\357\277\2752J \357\277\275+ \357\277\275\357\277\275 \357\277\275\357\277\275 "
          "\357\277\275\357\277\275\357\277\275 "
          "\357\277\275\357\277\275\357\277\275\"");
}

static void test_monitor(void **state)
{
    (void)state;
    check(output_monitor, "2 jobs|x=1\x1b|", "2 jobs/x=1\\x1b/");
}

static void test_long_text(void **state)
{
    static char text[10000];
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);

    (void)state;
    assert_non_null(out);
    memset(text, 'x', sizeof text - 1);
    output_text(out, text);
    assert_int_equal(fclose(out), 0);
    assert_true(size < 4200);
    assert_string_equal(buffer + size - 3, "...");
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_monitor),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_long_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
