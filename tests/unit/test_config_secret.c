/* SPDX-License-Identifier: MIT
 * The password: from a file that only its owner may read, or from a credential of systemd. */
#include "config/secret.h"
#include "test_config_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define CREDENTIALS "CREDENTIALS_DIRECTORY"
#define REDIS                                                                                      \
    "redis = { address = \"127.0.0.1:6379\"; username = \"rota\"; password_file = \"%s\"; };"
#define READABLE "it holds a secret, but others than its owner may read it; chmod it 0600"
#define SECRET "s3cret \"x"

/* problem "": it is read. */
static void expect(const struct place *p, const char *from, const char *problem)
{
    const char *name = secret_is_credential(from) ? from : "/password";
    char text[1024], expected[1024] = "";
    struct config *c;

    snprintf(text, sizeof(text), REDIS, from);
    c = place_load_text(p, text);
    if (problem[0] != '\0')
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:1: redis.password_file '%s' is not used: %s\n", name, problem);
    place_expect(p, c, expected);
    assert_int_equal(c->fatal, problem[0] != '\0');
    assert_int_equal(c->redis.password == NULL, problem[0] != '\0');
    if (c->redis.password)
        assert_string_equal(c->redis.password, SECRET);
    config_free(c);
}

static void expect_file(const struct place *p, const char *problem)
{
    expect(p, place_path(p, "password"), problem);
}

static void set_mode(const struct place *p, const char *name, mode_t mode)
{
    assert_int_equal(chmod(place_path(p, name), mode), 0);
}

static void test_file(void **state)
{
    static char large[4097];

    expect_file(*state, "it cannot be read: No such file or directory");
    place_write(*state, "password", SECRET "\nsecond line\n");
    expect_file(*state, READABLE);
    set_mode(*state, "password", 0640);
    expect_file(*state, READABLE);
    set_mode(*state, "password", 0400);
    expect_file(*state, "");
    set_mode(*state, "password", 0600);
    place_write(*state, "password", SECRET);
    expect_file(*state, "");
    place_write(*state, "password", "\nx");
    expect_file(*state, "its first line is empty; write the password there");
    place_write(*state, "password", SECRET "\r\n");
    expect_file(*state, "it has a carriage return at the end of its first line, which would be "
                        "part of the password; write the file with plain line ends");
    place_write_bytes(*state, "password", "a\0b", 3);
    expect_file(*state, "it holds a NUL byte");
    memset(large, 'x', sizeof(large));
    place_write_bytes(*state, "password", large, sizeof(large));
    expect_file(*state, "it has 4097 bytes; at most 4096 are read");
}

/* In systemd's files the group's bits are the limit of an ACL, which lets the service's user in. */
static void test_credential(void **state)
{
    assert_int_equal(setenv(CREDENTIALS, place_path(*state, "given"), 1), 0);
    place_write(*state, "given/redis", SECRET "\n");
    set_mode(*state, "given/redis", 0444);
    expect(*state, "credential:redis", READABLE);
    set_mode(*state, "given/redis", 0440);
    expect(*state, "credential:redis", "");
    expect(*state, "credential:other",
           "systemd gave none by this name when the unit started; write the file that its "
           "LoadCredential= reads, then restart rotad");
    unsetenv(CREDENTIALS);
}

static void test_credential_outside_of_the_unit(void **state)
{
    struct config_source source = { .only_checks = true };
    char text[512];
    struct config *c;

    unsetenv(CREDENTIALS);
    expect(*state, "credential:redis",
           "systemd gives it with LoadCredential= in the unit, and has given none here");
    snprintf(text, sizeof(text), REDIS, "credential:redis");
    place_write(*state, "rotad.conf", text);
    source.file = place_path(*state, "rotad.conf");
    assert_int_equal(config_load(&source, &c), 0);
    place_expect(
        *state, c,
        "warning /rotad.conf:1: redis.password_file is \"credential:redis\", and only a "
        "rotad that systemd starts can read it; the device needs it before rotad starts\n");
    assert_false(c->fatal);
    config_free(c);
}

static void test_names_of_credentials(void **state)
{
    static const char *const bad[] = { "", "../passwd", "a/b", ".hidden" };
    char text[512], expected[512];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char from[64];
        struct config *c;

        snprintf(from, sizeof(from), "credential:%s", bad[i]);
        snprintf(text, sizeof(text), REDIS, from);
        c = place_load_text(*state, text);
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:1: redis.password_file is \"%s\", which names no credential; "
                 "write credential:NAME, as in LoadCredential=NAME:PATH\n",
                 from);
        place_expect(*state, c, expected);
        config_free(c);
    }
    assert_null(secret_name_fault("credential:redis.password-2_b"));
}

static void test_is_never_printed_and_no_edit_of_the_file(void **state)
{
    char text[1024], *printed = NULL;
    size_t size = 0;
    struct config *a, *b;
    FILE *out = open_memstream(&printed, &size);

    assert_non_null(out);
    place_write(*state, "password", "hunter2");
    set_mode(*state, "password", 0600);
    snprintf(text, sizeof(text), REDIS, place_path(*state, "password"));
    a = place_load_text(*state, text);
    assert_int_equal(config_print(a, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_null(strstr(printed, "hunter2"));
    place_write(*state, "password", "hunter3");
    b = place_load_text(*state, text);
    assert_null(config_fixed_change(a, b));
    free(printed);
    config_free(a);
    config_free(b);
}

static void test_who_holds_it_leaves_no_core(void **state)
{
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
    place_write(*state, "password", SECRET);
    set_mode(*state, "password", 0600);
    expect_file(*state, "");
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file),
        TEST(test_credential),
        TEST(test_credential_outside_of_the_unit),
        TEST(test_names_of_credentials),
        TEST(test_is_never_printed_and_no_edit_of_the_file),
        TEST(test_who_holds_it_leaves_no_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
