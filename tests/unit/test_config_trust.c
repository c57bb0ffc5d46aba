/* SPDX-License-Identifier: MIT
 * Files that somebody else could change, and that are no files. */
#include "test_config_support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "a = { plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\"; };"
/* Not the tests' own user, whoever that is. */
#define FOREIGN_USER 4242

static void expect_refused(const struct place *p, const char *why)
{
    struct config *c = place_load(p, "rotad.conf");

    assert_true(c->fatal);
    place_expect(p, c, why);
    config_free(c);
}

static void test_writable_by_others(void **state)
{
    place_write(*state, "rotad.conf", SERVER);
    assert_int_equal(chmod(place_path(*state, "rotad.conf"), 0664), 0);
    expect_refused(*state, "error /rotad.conf: this file is not used: '/rotad.conf' can be changed "
                           "by its group; chmod "
                           "it go-w\n");
    assert_int_equal(chmod(place_path(*state, "rotad.conf"), 0646), 0);
    expect_refused(*state, "error /rotad.conf: this file is not used: '/rotad.conf' can be changed "
                           "by everybody; chmod "
                           "it go-w\n");
    place_write(*state, "open/rotad.conf", SERVER);
    assert_int_equal(chmod(place_path(*state, "open"), 0777), 0);
    assert_int_equal(unlink(place_path(*state, "rotad.conf")), 0);
    assert_int_equal(symlink("open/rotad.conf", place_path(*state, "rotad.conf")), 0);
    expect_refused(
        *state,
        "error /rotad.conf: this file is not used: '/open' can be changed by everybody; chmod it "
        "go-w\n");
    assert_int_equal(chmod(place_path(*state, "open"), 01777), 0);
    config_free(place_load(*state, "rotad.conf"));
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void test_foreign_owner(void **state)
{
    need_root();
    place_write(*state, "rotad.conf", SERVER);
    assert_int_equal(chown(place_path(*state, "rotad.conf"), FOREIGN_USER, (gid_t)-1), 0);
    expect_refused(
        *state,
        "error /rotad.conf: this file is not used: '/rotad.conf' belongs to user 4242, who could "
        "replace it; chown it to root or to the user of rotad, or call rotad as that user\n");
}

static void test_foreign_plugin(void **state)
{
    static const char refused[] = "error /rotad.conf:2: job 'a': plugin 'exec' is not used: '%s' "
                                  "belongs to user 4242, who could replace it; "
                                  "chown it to root or to the user of rotad, or call rotad "
                                  "as that user\n";
    char expected[512];
    struct config *c;

    need_root();
    place_write(*state, "rotad.conf", SERVER "jobs = { " JOB " };");
    assert_int_equal(chown(place_path(*state, "plugins/exec.so"), FOREIGN_USER, (gid_t)-1), 0);
    c = place_load(*state, "rotad.conf");
    assert_false(c->fatal);
    assert_null(c->jobs[0].plugin_path);
    snprintf(expected, sizeof(expected), refused, "/plugins/exec.so");
    place_expect(*state, c, expected);
    config_free(c);
    assert_int_equal(chown(place_path(*state, "plugins/exec.so"), 0, (gid_t)-1), 0);
    assert_int_equal(chown(place_path(*state, "plugins"), FOREIGN_USER, (gid_t)-1), 0);
    c = place_load(*state, "rotad.conf");
    snprintf(expected, sizeof(expected), refused, "/plugins");
    place_expect(*state, c, expected);
    config_free(c);
}

static void test_plugin_that_others_could_change(void **state)
{
    struct config *c;

    place_write(*state, "rotad.conf", SERVER "jobs = { " JOB " };");
    assert_int_equal(chmod(place_path(*state, "plugins"), 0775), 0);
    c = place_load(*state, "rotad.conf");
    place_expect(*state, c,
                 "error /rotad.conf:2: job 'a': plugin 'exec' is not used: '/plugins' can be "
                 "changed by its group; "
                 "chmod it go-w\n");
    config_free(c);
}

static void test_odd_files(void **state)
{
    static char large[256 * 1024 + 1];

    assert_int_equal(mkfifo(place_path(*state, "rotad.conf"), 0600), 0);
    expect_refused(*state, "error /rotad.conf: this file is not used: it is no regular file\n");
    assert_int_equal(unlink(place_path(*state, "rotad.conf")), 0);
    memset(large, '\n', sizeof(large));
    place_write_bytes(*state, "rotad.conf", large, sizeof(large));
    expect_refused(
        *state,
        "error /rotad.conf: this file is not used: it has 262145 bytes; at most 262144 are read\n");
    place_write_bytes(*state, "rotad.conf", large, sizeof(large) - 1);
    config_free(place_load(*state, "rotad.conf"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_writable_by_others), TEST(test_foreign_owner),
        TEST(test_foreign_plugin),     TEST(test_plugin_that_others_could_change),
        TEST(test_odd_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
