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
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_long_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
