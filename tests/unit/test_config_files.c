/* SPDX-License-Identifier: MIT
 * Which files are read, and how many jobs. */
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

static void write_system(const struct place *p)
{
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
                 "error /jobs.d/b.conf:1: a { that opens here is never closed; write }; after "
                 "what it holds\n"
                 "error /jobs.d/c.conf:1: 'redis' does not belong here; a file in jobs.d holds one "
                 "jobs = { NAME = { ... }; }; and "
                 "all else stands in rotad.conf\n"
                 "error /jobs.d/d.conf: this link leads to nowhere, which is not there; remove the "
                 "link, or let it lead to /dev/null, which masks the files of its name\n"
                 "error /jobs.d/e.conf: this file is not used: it is no regular file\n");
    config_free(c);
}

static void test_folder_that_is_none(void **state)
{
    struct config *c;

    place_write(*state, "rotad.conf", SERVER);
    place_write(*state, "jobs.d", "");
    c = place_load(*state, "rotad.conf");
    place_expect(*state, c, "error /jobs.d: this folder cannot be read: Not a directory\n");
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

/* By default: the host's name, and digits that follow from the machine-id but are none of it. */
static void test_device_name(void **state)
{
    FILE *f = fopen("/etc/machine-id", "re");
    char first[DEVICE_NAME_MAX + 1], id[64] = "";
    struct config *c = place_load_text(*state, "");

    place_expect(*state, c, "");
    snprintf(first, sizeof(first), "%s", c->device);
    assert_int_equal(strspn(strrchr(first, '-') + 1, "0123456789abcdef"), 4);
    assert_int_equal(strlen(strrchr(first, '-') + 1), 4);
    if (f && fgets(id, sizeof(id), f))
        assert_int_not_equal(strncmp(id, strrchr(first, '-') + 1, 4), 0);
    if (f)
        fclose(f);
    config_free(c);
    c = place_load_text(*state, "");
    assert_string_equal(c->device, first);
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
                 "is the most that one rotad takes; give the others to a second rotad, by -c and "
                 "--runtime-dir\n");
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
    place_expect(*state, c,
                 "error /rotad.conf:2: one group holds at most 256 settings; leave some out\n");
    config_free(c);
    free(text);
}

static void test_too_many_jobs_in_one_file(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c;

    assert_non_null(out);
    fputs("jobs={\n", out);
    for (int i = 0; i < 2001; i++)
        fprintf(out, "a%d={};\n", i);
    fputs("};", out);
    assert_int_equal(fclose(out), 0);
    c = place_load_text(*state, text);
    place_expect(*state, c,
                 "error /rotad.conf:2002: this group has more than 2000 settings, and one rotad "
                 "takes at most so many jobs; give the others to a second rotad, by -c and "
                 "--runtime-dir\n");
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

/* Its examples of jobs are files of their own: tests/integration/test_examples.py. */
static void test_shipped_file(void **state)
{
    struct config *c;

    place_write(*state, "etc/rota/redis.password", "secret\n");
    assert_int_equal(chmod(place_path(*state, "etc/rota/redis.password"), 0600), 0);
    write_shipped(*state, SHIPPED "/rotad.conf", "etc/rota/rotad.conf", false);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    assert_int_equal(c->job_count, 0);
    config_free(c);
    write_shipped(*state, SHIPPED "/rotad.conf", "etc/rota/rotad.conf", true);
    c = place_load_system(*state);
    place_expect(*state, c, "");
    assert_string_equal(c->prefix, "acme-gw:");
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
        TEST(test_folder_that_is_none),
        TEST(test_broken_main_is_fatal),
        TEST(test_job_in_two_files),
        TEST(test_device_name),
        TEST(test_many_jobs),
        TEST(test_large_group_is_refused_at_once),
        TEST(test_too_many_jobs_in_one_file),
        TEST(test_shipped_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
