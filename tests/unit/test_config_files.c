/* SPDX-License-Identifier: MIT
 * Which files are read, and who may have written them. */
#include "test_config_support.h"

#include "base/units.h"
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\";"
#define JOBS(name) "jobs = { " name " = { " JOB " }; };"
#define MACHINE_ID "0123456789abcdef0123456789abcdef\n"
/* Not the tests' own user, whoever that is. */
#define FOREIGN_USER 4242

static void write_system(const struct place *p)
{
    place_write(p, "etc/machine-id", MACHINE_ID);
    place_write(p, "etc/rota/rotad.conf", SERVER);
}

/* "a b c" */
static void expect_jobs(const struct config *c, const char *names)
{
    char all[256] = "";

    for (size_t i = 0; i < c->job_count; i++) {
        strcat(all, i > 0 ? " " : "");
        strcat(all, c->jobs[i].name);
    }
    assert_string_equal(all, names);
}

static void test_nothing_configured(void **state)
{
    struct config *c;

    write_system(*state);
    place_write(*state, "etc/rota/rotad.conf", "");
    c = place_load_system(*state);
    place_expect(*state, c, "");
    assert_false(c->fatal);
    assert_false(c->redis.configured);
    assert_string_equal(c->prefix, "");
    assert_int_equal(c->job_count, 0);
    config_free(c);
}

static void test_three_folders(void **state)
{
    struct config *c;

    write_system(*state);
    place_write(*state, "etc/rota/rotad.conf", SERVER JOBS("main"));
    place_write(*state, "usr/lib/rota/jobs.d/a.conf", JOBS("vendor_a"));
    place_write(*state, "usr/lib/rota/jobs.d/b.conf", JOBS("vendor_b"));
    place_write(*state, "usr/lib/rota/jobs.d/c.conf", JOBS("vendor_c"));
    place_write(*state, "usr/lib/rota/jobs.d/d.conf", JOBS("vendor_d"));
    place_write(*state, "etc/rota/jobs.d/b.conf", JOBS("local_b"));
    place_write(*state, "etc/rota/jobs.d/c.conf", JOBS("local_c"));
    place_write(*state, "run/rota/jobs.d/c.conf", JOBS("run_c"));
    assert_int_equal(symlink("/dev/null", place_path(*state, "run/rota/jobs.d/d.conf")), 0);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    expect_jobs(c, "local_b main run_c vendor_a");
    assert_string_equal(c->jobs[3].plugin_path, place_path(*state, "plugins/exec.so"));
    config_free(c);
}

static void test_other_names_are_left_alone(void **state)
{
    static const char *const names[] = {
        "etc/rota/jobs.d/.hidden.conf", "etc/rota/jobs.d/a.conf.dpkg-old", "etc/rota/jobs.d/README",
        "etc/rota/jobs.d/.conf",        "etc/rota/jobs.d/a.conf~",         "etc/rota/jobs.d/aconf"
    };
    struct config *c;

    write_system(*state);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        place_write(*state, names[i], "not a conf file");
    c = place_load_system(*state);
    place_expect(*state, c, "");
    assert_int_equal(c->job_count, 0);
    config_free(c);
}

static void test_folder_beside(void **state)
{
    struct config *c;
    char *cwd = getcwd(NULL, 0);
    struct config_source source = { .file = "rotad.conf" };

    place_write(*state, "rotad.conf", SERVER);
    place_write(*state, "jobs.d/a.conf", "\n" JOBS("a"));
    c = place_load(*state, "rotad.conf");
    place_expect(*state, c, "");
    expect_jobs(c, "a");
    config_free(c);
    /* Without a folder in its name, messages have none either. */
    assert_int_equal(chdir(place_path(*state, "")), 0);
    assert_int_equal(config_load(&source, &c), 0);
    assert_int_equal(chdir(cwd), 0);
    assert_string_equal(c->jobs[0].file, "jobs.d/a.conf");
    assert_int_equal(c->jobs[0].line, 2);
    config_free(c);
    free(cwd);
}

static void test_broken_part_harms_no_other(void **state)
{
    struct config *c;

    place_write(*state, "rotad.conf", SERVER JOBS("main"));
    place_write(*state, "jobs.d/a.conf", JOBS("a"));
    place_write(*state, "jobs.d/b.conf", "jobs = {");
    place_write(*state, "jobs.d/c.conf", "redis = { }; " JOBS("c"));
    assert_int_equal(symlink("nowhere", place_path(*state, "jobs.d/d.conf")), 0);
    place_write(*state, "jobs.d/e.conf/x", "");
    c = place_load(*state, "rotad.conf");
    assert_false(c->fatal);
    expect_jobs(c, "a c main");
    place_expect(*state, c,
                 "error /jobs.d/b.conf:1: the { that opens here is never closed\n"
                 "error /jobs.d/c.conf:1: 'redis' does not belong here; a file in jobs.d holds one "
                 "jobs = { ... }; and "
                 "all else stands in rotad.conf\n"
                 "error /jobs.d/d.conf: there is no such file; write it, or name another with -c\n"
                 "error /jobs.d/e.conf: this file is not used: it is no regular file\n");
    config_free(c);
}

static void test_broken_main_is_fatal(void **state)
{
    struct config *c;

    place_write(*state, "jobs.d/a.conf", JOBS("a"));
    c = place_load(*state, "rotad.conf");
    assert_true(c->fatal);
    place_expect(*state, c,
                 "error /rotad.conf: there is no such file; write it, or name another with -c\n");
    config_free(c);
    place_write(*state, "rotad.conf", "prefix = ;");
    c = place_load(*state, "rotad.conf");
    assert_true(c->fatal);
    expect_jobs(c, "a");
    assert_non_null(c->device);
    config_free(c);
}

static void test_job_in_two_files(void **state)
{
    struct config *c;

    place_write(*state, "rotad.conf", SERVER JOBS("a"));
    place_write(*state, "jobs.d/x.conf", JOBS("a"));
    place_write(*state, "jobs.d/y.conf", JOBS("b"));
    c = place_load(*state, "rotad.conf");
    assert_false(c->fatal);
    expect_jobs(c, "a b");
    assert_true(c->jobs[0].invalid);
    assert_false(c->jobs[1].invalid);
    place_expect(
        *state, c,
        "error /jobs.d/x.conf:1: job 'a': it stands here and in /rotad.conf:2; keep one of them\n"
        "error /rotad.conf:2: job 'a': it stands here and in /jobs.d/x.conf:1; keep one of them\n");
    config_free(c);
}

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
        "replace it; chown it to root or to the user of rotad\n");
}

static void test_foreign_plugin(void **state)
{
    static const char refused[] = "error /rotad.conf:2: job 'a': plugin 'exec' is not used: '%s' "
                                  "belongs to user 4242, who could replace it; "
                                  "chown it to root or to the user of rotad\n";
    char expected[512];
    struct config *c;

    need_root();
    place_write(*state, "rotad.conf", SERVER JOBS("a"));
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

    place_write(*state, "rotad.conf", SERVER JOBS("a"));
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

static void expect_password(const struct place *p, const char *problem)
{
    char text[1024], expected[1024] = "";
    struct config *c;

    snprintf(
        text, sizeof(text),
        "redis = { address = \"127.0.0.1:6379\"; username = \"rota\"; password_file = \"%s\"; };",
        place_path(p, "password"));
    c = place_load_text(p, text);
    if (problem[0] != '\0')
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:1: redis.password_file '/password' %s\n", problem);
    place_expect(p, c, expected);
    assert_int_equal(c->fatal, problem[0] != '\0');
    assert_int_equal(c->redis.password == NULL, problem[0] != '\0');
    if (c->redis.password)
        assert_string_equal(c->redis.password, "s3cret \"x");
    config_free(c);
}

static void test_password(void **state)
{
    static char large[4097];

    expect_password(*state, "is not used: it cannot be read: No such file or directory");
    place_write(*state, "password", "s3cret \"x\nsecond line\n");
    expect_password(
        *state,
        "is not used: it holds a secret, but others than its owner may read it; chmod it 0600");
    assert_int_equal(chmod(place_path(*state, "password"), 0640), 0);
    expect_password(
        *state,
        "is not used: it holds a secret, but others than its owner may read it; chmod it 0600");
    assert_int_equal(chmod(place_path(*state, "password"), 0400), 0);
    expect_password(*state, "");
    assert_int_equal(chmod(place_path(*state, "password"), 0600), 0);
    place_write(*state, "password", "s3cret \"x");
    expect_password(*state, "");
    place_write(*state, "password", "\nx");
    expect_password(*state, "has an empty first line");
    place_write_bytes(*state, "password", "a\0b", 3);
    expect_password(*state, "holds a NUL byte");
    memset(large, 'x', sizeof(large));
    place_write_bytes(*state, "password", large, sizeof(large));
    expect_password(*state, "is not used: it has 4097 bytes; at most 4096 are read");
}

static void test_password_is_never_printed(void **state)
{
    char text[1024], *printed = NULL;
    size_t size = 0;
    struct config *a, *b;
    FILE *out = open_memstream(&printed, &size);

    assert_non_null(out);
    place_write(*state, "password", "hunter2");
    assert_int_equal(chmod(place_path(*state, "password"), 0600), 0);
    snprintf(text, sizeof(text),
             "redis = { address = \"127.0.0.1:6379\"; password_file = \"%s\"; };",
             place_path(*state, "password"));
    a = place_load_text(*state, text);
    assert_int_equal(config_print(a, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_null(strstr(printed, "hunter2"));
    place_write(*state, "password", "hunter3");
    b = place_load_text(*state, text);
    assert_string_equal(config_fixed_change(a, b), "redis.password_file");
    free(printed);
    config_free(a);
    config_free(b);
}

static void test_device_name(void **state)
{
    struct config *c;
    char first[DEVICE_NAME_MAX + 1];

    write_system(*state);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    snprintf(first, sizeof(first), "%s", c->device);
    assert_int_equal(strspn(strrchr(first, '-') + 1, "0123456789abcdef"), 4);
    assert_null(strstr(MACHINE_ID, strrchr(first, '-') + 1));
    config_free(c);
    c = place_load_system(*state);
    assert_string_equal(c->device, first);
    config_free(c);
    place_write(*state, "etc/machine-id", "1123456789abcdef0123456789abcdef\n");
    c = place_load_system(*state);
    assert_string_not_equal(c->device, first);
    config_free(c);
    place_write(*state, "etc/machine-id", "uninitialized\n");
    c = place_load_system(*state);
    place_expect(*state, c,
                 "warning /etc/rota/rotad.conf: /etc/machine-id holds no machine-id, so that this "
                 "device's name "
                 "changes at each boot; write for example device = \"gate-0007\"\n");
    assert_int_equal(strspn(strrchr(c->device, '-') + 1, "0123456789abcdef"), 4);
    config_free(c);
}

static char *many_jobs(int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    fputs(SERVER "jobs = {\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "j%d = { " JOB " params = { a = %d; }; };\n", i, i);
    fputs("};\n", out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_many_jobs(void **state)
{
    char *text = many_jobs(2000);
    struct config *c = place_load_text(*state, text);

    place_expect(*state, c, "");
    assert_int_equal(c->job_count, 2000);
    assert_non_null(config_find_job(c, "j1999"));
    assert_null(config_find_job(c, "j2000"));
    config_free(c);
    place_write(*state, "jobs.d/one.conf", JOBS("more"));
    c = place_load(*state, "rotad.conf");
    place_expect(*state, c,
                 "error /jobs.d/one.conf:1: with these 1 jobs there would be more than 2000, which "
                 "is the most that "
                 "one rotad takes\n");
    assert_true(c->fatal);
    config_free(c);
    free(text);
}

/* libconfig compares every new name with all before it: 30,000 settings would take seconds. */
static void test_large_group_is_refused_at_once(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    clock_t start;
    struct config *c;

    assert_non_null(out);
    fputs("jobs={a={params={\n", out);
    for (int i = 0; i < 28000; i++)
        fprintf(out, "a%d=1;", i);
    fputs("};};};", out);
    assert_int_equal(fclose(out), 0);
    start = clock();
    c = place_load_text(*state, text);
    assert_true(clock() - start < CLOCKS_PER_SEC);
    place_expect(*state, c, "error /rotad.conf:2: one group holds at most 256 settings\n");
    config_free(c);
    free(text);
}

/* A comment's line that would be a conf file's without its "# ". */
static bool is_example(const char *line)
{
    size_t name = strspn(line + 2, "abcdefghijklmnopqrstuvwxyz_");

    if (strncmp(line, "# ", 2) != 0)
        return false;
    return strchr(" }", line[2]) ||
           (name > 0 && line[2 + name + strspn(line + 2 + name, " ")] == '=');
}

/* Copies a shipped file into the place, its examples brought to life. */
static void write_shipped(const struct place *p, const char *shipped, const char *name, bool alive)
{
    char line[512], *text = NULL;
    size_t size = 0;
    FILE *in = fopen(shipped, "re"), *out = open_memstream(&text, &size);

    assert_non_null(in);
    assert_non_null(out);
    while (fgets(line, sizeof(line), in))
        fputs(alive && is_example(line) ? line + 2 : line, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    place_write(p, name, text);
    free(text);
}

static void write_all_shipped(const struct place *p, bool alive)
{
    write_shipped(p, SHIPPED "/rotad.conf", "etc/rota/rotad.conf", alive);
    write_shipped(p, SHIPPED "/jobs.d/nightly_report.conf", "etc/rota/jobs.d/a.conf", alive);
    write_shipped(p, SHIPPED "/jobs.d/sync_prices.conf", "etc/rota/jobs.d/b.conf", alive);
}

static void test_shipped_files(void **state)
{
    struct config *c;

    place_write(*state, "etc/machine-id", MACHINE_ID);
    place_write(*state, "etc/rota/redis.password", "secret\n");
    assert_int_equal(chmod(place_path(*state, "etc/rota/redis.password"), 0600), 0);
    write_all_shipped(*state, false);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    assert_int_equal(c->job_count, 0);
    config_free(c);
    write_all_shipped(*state, true);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    expect_jobs(c, "nightly_report sync_prices");
    assert_string_equal(c->device, "gate-0007");
    assert_string_equal(c->redis.password, "secret");
    config_free(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_configured),
        TEST(test_three_folders),
        TEST(test_other_names_are_left_alone),
        TEST(test_folder_beside),
        TEST(test_broken_part_harms_no_other),
        TEST(test_broken_main_is_fatal),
        TEST(test_job_in_two_files),
        TEST(test_writable_by_others),
        TEST(test_foreign_owner),
        TEST(test_foreign_plugin),
        TEST(test_plugin_that_others_could_change),
        TEST(test_odd_files),
        TEST(test_password),
        TEST(test_password_is_never_printed),
        TEST(test_device_name),
        TEST(test_many_jobs),
        TEST(test_large_group_is_refused_at_once),
        TEST(test_shipped_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
