/* SPDX-License-Identifier: MIT
 * What configurations tell each other of their jobs: our own line, and texts of others, which may
 * hold anything. */
#include "core/fleet_text.h"
#include "unit.h"

#include <string.h>

static void expect_line(const struct job_spec *job, const char *expected)
{
    struct fleet_text_line line, again;
    char text[FLEET_TEXT_LINE_SIZE];
    const char *at = text;

    fleet_text_describe(job, &line);
    assert_int_equal(fleet_text_format(&line, text), strlen(expected));
    assert_string_equal(text, expected);
    assert_true(fleet_text_next(&at, &again));
    assert_string_equal(again.key, job->key);
    assert_int_equal(fleet_text_compare(&line, &again), FLEET_TEXT_SAME);
    assert_false(fleet_text_next(&at, &again));
}

static void test_our_line(void **state)
{
    char longest[JOB_NAME_MAX + 1], lock[200 + 1], expected[FLEET_TEXT_LINE_SIZE];
    struct job_spec job = { .name = "new", .key = "old", .fingerprint = "5c1d9e02" };

    (void)state;
    expect_line(&job, "old 5c1d9e02 fleet own\n");
    job.lock = LOCK_NONE;
    expect_line(&job, "old 5c1d9e02 fleet none\n");
    job.lock = LOCK_STORE;
    memset(longest, 'x', JOB_NAME_MAX);
    longest[JOB_NAME_MAX] = '\0';
    job.key = longest;
    job.scope = SCOPE_DEVICE;
    memset(lock, '{', sizeof(lock) - 1);
    lock[sizeof(lock) - 1] = '\0';
    job.lock_key = lock;
    snprintf(expected, sizeof(expected), "%s 5c1d9e02 device key %s\n", longest, lock);
    expect_line(&job, expected);
    job.lock_key = "two words\nno line";
    snprintf(expected, sizeof(expected), "%s 5c1d9e02 device key two words no line\n", longest);
    expect_line(&job, expected);
}

/* All keys in the text, each with an end of word. */
static void expect_keys(const char *text, const char *keys)
{
    struct fleet_text_line line;
    char found[256] = "";

    while (fleet_text_next(&text, &line)) {
        strcat(found, line.key);
        strcat(found, " ");
    }
    assert_string_equal(found, keys);
    assert_string_equal(text, "");
}

static void test_texts_of_others(void **state)
{
    (void)state;
    expect_keys("", "");
    expect_keys("\n\n", "");
    expect_keys("a 00000000 fleet own", "a ");
    expect_keys("a 00000000 fleet own\nb 00000000 device none\n", "a b ");
    /* what is for people alone */
    expect_keys("a 00000000 fleet own\n@a 30 2 * * * UTC\n@b every 5m\n", "a ");
    /* of a later version */
    expect_keys("a 00000000 fleet own more words, of any kind\nb 0 region 7\n", "a b ");
    /* no lines of ours */
    expect_keys("a 00000000 fleet\nb 00000000 fleet own\n", "b ");
    expect_keys("a  00000000 fleet own\n a 0 fleet own\n\ta 0 fleet own\nb 0 fleet own\n", "b ");
    expect_keys("a 000000000 fleet own\na 0 fleeeeeeeeeeeeet own\na 0 fleet key \n", "");
    expect_keys("a\x1b[2J 0 fleet own\na 0 fl\xc3\xa4t own\na 0 fleet own\x07\nb 0 fleet own\n",
                "b ");
}

static void test_a_key_that_is_too_long(void **state)
{
    char text[JOB_NAME_MAX + 32];
    struct fleet_text_line line;
    const char *at = text;

    (void)state;
    memset(text, 'x', JOB_NAME_MAX + 1);
    strcpy(text + JOB_NAME_MAX + 1, " 0 fleet own\n");
    assert_false(fleet_text_next(&at, &line));
    at = text + 1;
    assert_true(fleet_text_next(&at, &line));
    assert_int_equal(strlen(line.key), JOB_NAME_MAX);
}

static void test_a_lock_key_that_is_too_long(void **state)
{
    char text[FLEET_TEXT_LINE_SIZE + 1] = "a 0 fleet key ";
    struct fleet_text_line line;
    const char *at = text;

    (void)state;
    memset(text + strlen(text), 'x', 200);
    assert_true(fleet_text_next(&at, &line));
    assert_int_equal(strlen(fleet_text_lock_key(line.lock)), 200);
    strcat(text, "x");
    at = text;
    assert_false(fleet_text_next(&at, &line));
}

static void expect_match(const char *lock, const char *text, enum fleet_text_match match)
{
    struct fleet_text_line ours = { "a", "00000001", "fleet", "" }, theirs;

    strcpy(ours.lock, lock);
    assert_true(fleet_text_next(&text, &theirs));
    assert_int_equal(fleet_text_compare(&ours, &theirs), match);
}

static void test_compare(void **state)
{
    (void)state;
    expect_match("own", "a 00000001 fleet own", FLEET_TEXT_SAME);
    expect_match("own", "a 00000002 fleet own", FLEET_TEXT_MIXED);
    expect_match("own", "a 00000002 device own", FLEET_TEXT_OTHER_SCOPE);
    expect_match("own", "a 00000002 device none", FLEET_TEXT_OTHER_SCOPE);
}

/* Of any two locks the same one goes on, whoever looks. */
static void test_one_lock_goes_on(void **state)
{
    static const char *const locks[] = { "own", "key a", "key b", "none" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(locks); i++)
        for (size_t k = 0; k < COUNT_OF(locks); k++) {
            char text[64];

            snprintf(text, sizeof(text), "a 00000001 fleet %s", locks[k]);
            expect_match(locks[i], text,
                         i < k   ? FLEET_TEXT_OUR_LOCK
                         : i > k ? FLEET_TEXT_THEIR_LOCK
                                 : FLEET_TEXT_SAME);
        }
    expect_match("own", "a 00000001 fleet later", FLEET_TEXT_OUR_LOCK);
}

/* Whatever the bytes: each step goes on, ends in the text, and gives words that end. */
static void test_any_bytes(void **state)
{
    static const char some[] = "key0_ -\n\n  \x1b\xff";
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t length = (size_t)unit_random_in(&random, 0, 60);
        char *text = malloc(length + 1);
        struct fleet_text_line line;
        const char *at = text, *before = text;

        assert_non_null(text);
        for (size_t n = 0; n < length; n++)
            text[n] = some[unit_random_in(&random, 0, sizeof(some) - 2)];
        text[length] = '\0';
        while (fleet_text_next(&at, &line)) {
            assert_true(at > before && at <= text + length);
            assert_true(line.key[0] != '\0' && line.lock[0] != '\0');
            before = at;
        }
        assert_ptr_equal(at, text + length);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_line),
        cmocka_unit_test(test_texts_of_others),
        cmocka_unit_test(test_a_key_that_is_too_long),
        cmocka_unit_test(test_a_lock_key_that_is_too_long),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_one_lock_goes_on),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
