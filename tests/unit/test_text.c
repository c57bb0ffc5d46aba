/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/text.h"
#include <string.h>

static void test_same_and_ends_with(void **state)
{
    char other[] = "ab";

    (void)state;
    assert_true(text_same("ab", other) && text_same(NULL, NULL));
    assert_false(text_same("ab", "a") || text_same("ab", NULL) || text_same(NULL, "ab"));
    assert_true(text_ends_with("a.so", ".so") && text_ends_with(".so", ".so"));
    assert_false(text_ends_with("a.sox", ".so") || text_ends_with("so", ".so"));
}

static void test_copy(void **state)
{
    char buf[5] = "xxxx";

    (void)state;
    assert_true(text_copy(buf, sizeof(buf), "abcd"));
    assert_string_equal(buf, "abcd");
    assert_false(text_copy(buf, sizeof(buf), "abcde"));
    assert_string_equal(buf, "abcd");
    assert_true(text_copy(buf, sizeof(buf), ""));
    assert_string_equal(buf, "");
    assert_true(text_copy(buf, 1, ""));
    assert_false(text_copy(buf, 0, ""));
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "b"));
    assert_false(text_equal("a", NULL));
    assert_false(text_equal(NULL, "a"));
    assert_false(text_equal(NULL, NULL));
}

static void test_format(void **state)
{
    char buf[5];

    (void)state;
    assert_true(text_format(buf, sizeof(buf), "%d", 1234));
    assert_string_equal(buf, "1234");
    assert_false(text_format(buf, sizeof(buf), "%d", 12345));
    assert_string_equal(buf, "1234");
}

struct escape_case {
    const char *src;
    size_t size; /* of the destination */
    const char *text;
};

static void test_escape(void **state)
{
    static const struct escape_case cases[] = {
        { "", 64, "" },
        { "plain text", 64, "plain text" },
        { "exact", 6, "exact" },
        { "longer", 6, "lo..." },
        { "longer", 4, "..." },
        { "longer", 3, ".." },
        { "longer", 1, "" },
        { "a\nb\tc\x7f", 64, "a\\x0ab\\x09c\\x7f" },
        { "\x1b[31mred", 64, "\\x1b[31mred" },
        { "gr\xc3\xbc\xc3\x9f", 64, "gr\xc3\xbc\xc3\x9f" },
        { "\xe2\x82\xac \xf0\x9f\x98\x80", 64, "\xe2\x82\xac \xf0\x9f\x98\x80" },
        /* no UTF-8: a lone byte, cut off, overlong, a surrogate, past the end */
        { "\xff", 64, "\\xff" },
        { "\x80", 64, "\\x80" },
        { "\xc3", 64, "\\xc3" },
        { "\xe2\x82", 64, "\\xe2\\x82" },
        { "\xc0\xaf", 64, "\\xc0\\xaf" },
        { "\xe0\x80\xaf", 64, "\\xe0\\x80\\xaf" },
        { "\xed\xa0\x80", 64, "\\xed\\xa0\\x80" },
        { "\xf4\x90\x80\x80", 64, "\\xf4\\x90\\x80\\x80" },
        /* UTF-8 that a terminal acts upon: C1's CSI, right-to-left override, line separator */
        { "\xc2\x9b", 64, "\\xc2\\x9b" },
        { "\xe2\x80\xae", 64, "\\xe2\\x80\\xae" },
        { "\xe2\x80\xa8", 64, "\\xe2\\x80\\xa8" },
        /* a cut leaves no half of a character or escape */
        { "ab\xe2\x82\xac"
          "def",
          8, "ab..." },
        { "ab\n\n\n", 9, "ab..." },
        { "\xc3\xbc\xc3\xbc\xc3\xbc", 6, "\xc3\xbc..." },
    };
    char buf[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        memset(buf, 'x', sizeof(buf));
        text_escape(buf, cases[i].size, cases[i].src, strlen(cases[i].src));
        if (strcmp(buf, cases[i].text) != 0)
            fail_msg("case %zu gives \"%s\"", i, buf);
    }
    text_escape(buf, sizeof(buf), "a\0b", 3);
    assert_string_equal(buf, "a\\x00b");
}

/* As much as fits, and how much that is. */
static void test_escape_part(void **state)
{
    static const struct {
        const char *src;
        size_t size, taken;
        const char *text;
    } cases[] = {
        { "plain", 64, 5, "plain" },    { "plain", 6, 5, "plain" },
        { "plain", 5, 4, "plai" },      { "plain", 1, 0, "" },
        { "a\nb", 6, 2, "a\\x0a" },     { "a\nb", 5, 1, "a" },
        { "a\xe2\x82\xac", 4, 1, "a" }, { "a\xe2\x82\xac", 5, 4, "a\xe2\x82\xac" },
    };
    char buf[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        memset(buf, 'x', sizeof(buf));
        assert_int_equal(text_escape_part(buf, cases[i].size, cases[i].src, strlen(cases[i].src)),
                         cases[i].taken);
        assert_string_equal(buf, cases[i].text);
    }
    assert_int_equal(text_escape_part(NULL, 0, "x", 1), 0);
}

static void test_skip_level(void **state)
{
    static const struct {
        const char *line, *rest;
        int level;
    } cases[] = {
        { "<3>disk full", "disk full", 3 },
        { "<0>", "", 0 },
        { "<7><3>x", "<3>x", 7 },
        { "<8>x", "<8>x", 6 },
        { "<12>x", "<12>x", 6 },
        { "<3", "<3", 6 },
        { " <3>x", " <3>x", 6 },
        { "", "", 6 },
        { "<", "<", 6 },
        { "</>x", "</>x", 6 },
        { "<b>x", "<b>x", 6 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int level = 6;

        assert_string_equal(text_skip_level(cases[i].line, &level), cases[i].rest);
        assert_int_equal(level, cases[i].level);
    }
}

static void test_escape_any_bytes(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t length = (size_t)unit_random_in(&random, 0, 40);
        size_t size = (size_t)unit_random_in(&random, 1, 80);
        /* On the heap, so that a sanitizer sees every step past an end. */
        char *src = malloc(length + 1);
        char *dst = malloc(size);

        assert_non_null(src);
        assert_non_null(dst);
        for (size_t j = 0; j < length; j++)
            src[j] = (char)unit_random_next(&random);
        text_escape(dst, size, src, length);
        assert_non_null(memchr(dst, '\0', size));
        for (const char *p = dst; *p; p++)
            assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
        free(src);
        free(dst);
    }
}

static void test_nearest(void **state)
{
    static const char *const keys[] = {
        "worst_case", "every", "cron", "lease", "attempts", "user"
    };
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        { "worst_case", "worst_case" },
        { "worstcase", "worst_case" },
        { "wosrt_case", "worst_case" },
        { "WORST_CASE", "worst_case" },
        { "worst-caze", "worst_case" },
        { "evry", "every" },
        { "corn", "cron" },
        { "leese", "lease" },
        { "attempt", "attempts" },
        { "atempst", "attempts" },
        { "password", NULL },
        { "us", NULL },
        { "", NULL },
        { "wxxxx_xxxx", NULL },
    };
    char longest[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *nearest = text_nearest(cases[i].word, keys, COUNT_OF(keys));

        if (!cases[i].nearest)
            assert_null(nearest);
        else if (!nearest || strcmp(nearest, cases[i].nearest) != 0)
            fail_msg("\"%s\" gives \"%s\"", cases[i].word, nearest ? nearest : "nothing");
    }
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(text_nearest(longest, keys, COUNT_OF(keys)));
    assert_null(text_nearest("every", (const char *const[]){ longest }, 1));
    assert_null(text_nearest(longest + 134, (const char *const[]){ longest + 135 }, 1));
    assert_non_null(text_nearest(longest + 135, (const char *const[]){ longest + 136 }, 1));
}

static void test_job_name(void **state)
{
    char name[65];

    (void)state;
    assert_true(text_is_job_name("a"));
    assert_true(text_is_job_name("Nightly_report-2"));
    assert_false(text_is_job_name(""));
    assert_false(text_is_job_name("_fleet"));
    assert_false(text_is_job_name("2nd"));
    assert_false(text_is_job_name("-a"));
    assert_false(text_is_job_name("a.b"));
    assert_false(text_is_job_name("a b"));
    assert_false(text_is_job_name("a{b}"));
    assert_false(text_is_job_name("gr\xc3\xbcn"));
    memset(name, 'n', sizeof(name));
    name[63] = '\0';
    assert_true(text_is_job_name(name));
    name[63] = 'n';
    name[64] = '\0';
    assert_false(text_is_job_name(name));
}

static void test_print(void **state)
{
    char *empty = text_print("%s", "");
    char *text = text_print("%s is %d", "answer", 42);

    (void)state;
    assert_string_equal(empty, "");
    assert_string_equal(text, "answer is 42");
    free(empty);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_and_ends_with),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_escape_part),
        cmocka_unit_test(test_skip_level),
        cmocka_unit_test(test_escape_any_bytes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_job_name),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
