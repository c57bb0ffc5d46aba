/* SPDX-License-Identifier: MIT
 * Which device this is, which jobs are its own, and by which names they are known. */
#include "test_config_support.h"

#include "base/text.h"
#include "config/device.h"
#include "config/identity.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\";"
#define MACHINE_ID "0123456789abcdef0123456789abcdef\n"

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool same;
    } cases[] = {
        { "*", "gate-7", true },
        { "gate-7", "gate-7", true },
        { "gate-7", "gate-77", false },
        { "gate-77", "gate-7", false },
        { "gate-?", "gate-7", true },
        { "gate-?", "gate-", false },
        { "gate-?", "gate-77", false },
        { "gate-*", "gate-", true },
        { "*-7", "gate-7-7", true },
        { "*-7", "gate-7-8", false },
        { "g*t*7", "gate-7", true },
        { "g*t*7", "gate-7x", false },
        { "**7", "gate-7", true },
        { "*?", "", false },
        { "[g]ate-7", "gate-7", false },
        { "[g]*", "[g]7", true },
        { "\\*", "*", false },
        { "Gate-7", "gate-7", false },
        { "*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *patterns[] = { (char *)(uintptr_t)cases[i].pattern, NULL };

        if (device_is_meant(patterns, cases[i].name) != cases[i].same)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
    }
    assert_true(device_is_meant(NULL, "gate-7"));
    assert_true(
        device_is_meant((char *[]){ (char[]){ "x" }, (char[]){ "gate-*" }, NULL }, "gate-7"));
    assert_false(device_is_meant((char *[]){ (char[]){ "x" }, (char[]){ "y" }, NULL }, "gate-7"));
}

static void test_whose_job_it_is(void **state)
{
    struct config *c = place_load_text(
        *state, SERVER "device = \"gate-7\"; jobs = {\n"
                       "a_here = { " JOB " devices = [ \"x\", \"gate-*\" ]; };\n"
                       "b_there = { plugin = \"nowhere\"; every = \"5m\"; worst_case = \"1m\"; "
                       "devices = \"x\"; };\n"
                       "c_off = { " JOB " enabled = false; was = \"former\"; };\n"
                       "d_bad = { " JOB " x = 1; };\n"
                       "};");

    place_expect(*state, c, "error /rotad.conf:6: job 'd_bad': unknown key 'x'\n");
    assert_true(config_job_runs(&c->jobs[0]));
    assert_false(c->jobs[0].elsewhere);
    assert_string_equal(c->jobs[0].spec.key, "a_here");
    assert_non_null(config_job_probe_path(c, &c->jobs[0]));
    assert_false(config_job_runs(&c->jobs[1]));
    assert_true(c->jobs[1].elsewhere);
    assert_null(c->jobs[1].plugin_path);
    assert_null(config_job_probe_path(c, &c->jobs[1]));
    assert_false(config_job_runs(&c->jobs[2]));
    assert_non_null(config_job_probe_path(c, &c->jobs[2]));
    assert_string_equal(c->jobs[2].spec.key, "former");
    assert_string_equal(c->jobs[2].spec.name, "c_off");
    assert_false(config_job_runs(&c->jobs[3]));
    config_free(c);
}

/* The same file on a device that was renamed. */
static void test_another_device_is_another_job(void **state)
{
    static const char *const jobs = "jobs = { a = { " JOB " devices = \"gate-*\"; }; };";
    char text[512];
    struct config *here, *there;

    snprintf(text, sizeof(text), SERVER "device = \"gate-7\"; %s", jobs);
    here = place_load_text(*state, text);
    snprintf(text, sizeof(text), SERVER "device = \"door-7\"; %s", jobs);
    there = place_load_text(*state, text);
    assert_false(config_job_equal(&here->jobs[0], &there->jobs[0]));
    config_free(here);
    config_free(there);
}

/* A rotad that runs goes by its name until it ends, and so do its patterns. */
static void test_patterns_are_matched_by_the_running_name(void **state)
{
    struct config_source source = { .plugin_dir_default = place_path(*state, "plugins") };
    struct config *c;

    place_write(*state, "rotad.conf", SERVER "jobs = { a = { " JOB " devices = \"gate-*\"; }; };");
    source.file = place_path(*state, "rotad.conf");
    source.device = "gate-7";
    assert_int_equal(config_load(&source, &c), 0);
    assert_true(config_job_runs(&c->jobs[0]));
    assert_string_not_equal(c->device, "gate-7");
    config_free(c);
    source.device = "roof";
    assert_int_equal(config_load(&source, &c), 0);
    assert_true(c->jobs[0].elsewhere);
    config_free(c);
}

static struct config *load_file(const struct place *p, const char *more)
{
    char text[2 * PATH_SIZE];

    snprintf(text, sizeof(text), "device_file = \"%s\"; %s", place_path(p, "name"), more);
    return place_load_text(p, text);
}

static void expect_name(const struct place *p, const char *content, const char *name)
{
    struct config *c;

    place_write(p, "name", content);
    c = load_file(p, "");
    place_expect(p, c, "");
    assert_string_equal(c->device, name);
    assert_null(c->device_written);
    config_free(c);
}

static void test_device_file(void **state)
{
    expect_name(*state, "gate-7", "gate-7");
    expect_name(*state, "gate-7\n", "gate-7");
    expect_name(*state, " \tgate-7 \r\nmore\n", "gate-7");
    expect_name(*state, "50%H\n", "50%H");
}

static void expect_no_name(const struct place *p, const char *content, const char *said)
{
    char expected[512];
    struct config *c;

    if (content)
        place_write(p, "name", content);
    c = load_file(p, "");
    assert_true(c->fatal);
    snprintf(expected, sizeof(expected), "error /rotad.conf:1: device_file %s\n", said);
    place_expect(p, c, expected);
    config_free(c);
}

static void test_device_file_mistakes(void **state)
{
    const struct place *p = *state;
    struct config *c;

    expect_no_name(p, NULL,
                   "is \"/name\", and there is no such file; write this device's name into it");
    expect_no_name(p, "", "'/name' has an empty first line; write the device's name there");
    expect_no_name(p, " \ngate-7\n",
                   "'/name' has an empty first line; write the device's name there");
    expect_no_name(p, "gate 7\n",
                   "'/name' holds a space or a character beyond ASCII in its first line; use "
                   "letters, digits and signs");
    expect_no_name(p, "12345678901234567890123456789012345678901234567890123456789012345",
                   "'/name' has a first line of 65 bytes; a name has 1 to 64");
    place_write_bytes(p, "name", "gate\0-7\n", 8);
    expect_no_name(
        p, NULL,
        "'/name' is no text: its byte 5 is a NUL; write the device's name there, and the "
        "end of the line");
    assert_int_equal(chmod(place_path(p, "name"), 0666), 0);
    expect_no_name(p, NULL,
                   "'/name' is not used: '/name' can be changed by everybody; chmod it go-w");
    place_write(p, "other", "x");
    assert_int_equal(unlink(place_path(p, "name")), 0);
    place_write(p, "name", "gate-7\n");
    c = load_file(p, "device = \"x\";");
    place_expect(
        p, c, "error /rotad.conf:1: device and device_file are both written; keep one of them\n");
    config_free(c);
}

static void test_device_file_on_reload(void **state)
{
    struct config *before, *after;

    place_write(*state, "name", "gate-7\n");
    before = load_file(*state, "");
    after = load_file(*state, "");
    assert_null(config_fixed_change(before, after));
    config_free(after);
    place_write(*state, "name", "gate-8\n");
    after = load_file(*state, "");
    assert_string_equal(config_fixed_change(before, after), "device_file");
    config_free(after);
    config_free(before);
}

static void test_print_of_a_name_from_a_file(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c, *again;

    assert_non_null(out);
    place_write(*state, "name", "gate-7\n");
    c = load_file(*state, "requires = \"0.0\"; store = \"local\";");
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    again = place_load_text(*state, text);
    place_expect(*state, again, "");
    assert_string_equal(again->device, "gate-7");
    assert_string_equal(again->requires, "0.0");
    assert_int_equal(again->store, CONFIG_STORE_LOCAL);
    assert_null(config_fixed_change(c, again));
    config_free(c);
    config_free(again);
    free(text);
}

static enum identity read_id(const struct place *p, const char *content, char id[IDENTITY_SIZE])
{
    char etc[PATH_SIZE];

    assert_true(text_copy(etc, sizeof(etc), place_path(p, "etc")));
    place_write(p, "etc/machine-id", content);
    return identity_read(etc, id);
}

static void test_machine_id(void **state)
{
    const struct place *p = *state;
    char id[IDENTITY_SIZE];

    assert_int_equal(identity_read(place_path(p, "etc"), id), IDENTITY_ABSENT);
    assert_int_equal(read_id(p, MACHINE_ID, id), IDENTITY_STAYS);
    assert_string_equal(id, "0123456789abcdef0123456789abcdef");
    assert_int_equal(read_id(p, "", id), IDENTITY_ABSENT);
    assert_string_equal(id, "");
    assert_int_equal(read_id(p, "uninitialized\n", id), IDENTITY_ABSENT);
    assert_string_equal(id, "");
    assert_int_equal(read_id(p, "0123456789abcdef\n", id), IDENTITY_ABSENT);
    assert_int_equal(read_id(p, "00000000000000000000000000000000\n", id), IDENTITY_ABSENT);
    assert_string_equal(id, "");
    identity_read_boot(id);
    assert_int_equal(strlen(id), 8);
}

/* As where systemd has mounted its own over the file: in memory, on another file system. */
static void test_machine_id_of_this_boot_only(void **state)
{
    const struct place *p = *state;
    char memory[] = "/dev/shm/rota-machine-id-XXXXXX", etc[PATH_SIZE], id[IDENTITY_SIZE];
    struct stat ours, theirs;
    int fd = mkstemp(memory);

    if (fd < 0)
        skip();
    assert_int_equal(write(fd, MACHINE_ID, strlen(MACHINE_ID)), strlen(MACHINE_ID));
    close(fd);
    place_write(p, "etc/hostname", "");
    assert_true(text_copy(etc, sizeof(etc), place_path(p, "etc")));
    assert_int_equal(symlink(memory, place_path(p, "etc/machine-id")), 0);
    assert_int_equal(stat(etc, &ours), 0);
    assert_int_equal(stat(memory, &theirs), 0);
    assert_int_equal(identity_read(etc, id),
                     ours.st_dev == theirs.st_dev ? IDENTITY_STAYS : IDENTITY_TRANSIENT);
    assert_string_equal(id, "0123456789abcdef0123456789abcdef");
    unlink(memory);
}

static void expect_requires(const struct place *p, const char *version, const char *expected)
{
    char text[256];
    struct config *c;

    snprintf(text, sizeof(text), "later = 1;\nrequires = \"%s\"; device = 5;", version);
    c = place_load_text(p, text);
    place_expect(p, c, expected);
    assert_true(c->fatal);
    assert_int_equal(c->job_count, 0);
    config_free(c);
}

/* What comes with a newer version is no mistake of this file. */
static void test_requires_a_newer_one(void **state)
{
    int major, minor;

    assert_int_equal(sscanf(ROTA_VERSION, "%d.%d", &major, &minor), 2);
    place_write(*state, "jobs.d/a.conf", "jobs = { later = { also = 1; }; };");
    for (int i = 0; i < 3; i++) {
        char version[32], expected[256];

        snprintf(version, sizeof(version), "%d.%d", major + (i > 0), i == 0 ? minor + 1 : 5 * i);
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:2: this file needs rota %s; this is " ROTA_VERSION
                 "; upgrade rota\n",
                 version);
        expect_requires(*state, version, expected);
    }
}

static void test_requires(void **state)
{
    static const char *const bad[] = {
        "1", "1.", ".1", "1.0.0", "v1.0", "-1.0", "1.0 ", "10000.x"
    };
    char good[32], text[256], expected[256];
    int major, minor;
    struct config *c;

    assert_int_equal(sscanf(ROTA_VERSION, "%d.%d", &major, &minor), 2);
    snprintf(good, sizeof(good), "%d.%d", major, minor);
    snprintf(text, sizeof(text), "requires = \"%s\";", good);
    c = place_load_text(*state, text);
    place_expect(*state, c, "");
    config_free(c);
    c = place_load_text(*state, "requires = \"0.0\";");
    place_expect(*state, c, "");
    config_free(c);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), "requires = \"%s\";", bad[i]);
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:1: requires is \"%s\"; write two numbers with a dot between "
                 "them, such as requires = \"%s\"\n",
                 bad[i], good);
        c = place_load_text(*state, text);
        place_expect(*state, c, expected);
        config_free(c);
    }
}

static void test_requires_no_such_version(void **state)
{
    static const char *const large[] = { "10000.0", "0.10000" };
    char text[64], expected[256];
    int major, minor;

    assert_int_equal(sscanf(ROTA_VERSION, "%d.%d", &major, &minor), 2);
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        struct config *c;

        snprintf(text, sizeof(text), "requires = \"%s\";", large[i]);
        snprintf(expected, sizeof(expected),
                 "error /rotad.conf:1: requires is \"%s\", and a version's numbers have at most 4 "
                 "digits; this is rota %d.%d\n",
                 large[i], major, minor);
        c = place_load_text(*state, text);
        place_expect(*state, c, expected);
        config_free(c);
    }
}

static void test_local_store(void **state)
{
    struct config *c = place_load_text(*state, "store = \"local\"; jobs = { a = { " JOB " }; };");
    struct config *shared = place_load_text(*state, SERVER "jobs = { a = { " JOB " }; };");

    place_expect(*state, c, "");
    assert_true(config_job_runs(&c->jobs[0]));
    assert_int_equal(c->store, CONFIG_STORE_LOCAL);
    assert_int_equal(shared->store, CONFIG_STORE_REDIS);
    assert_string_equal(config_fixed_change(shared, c), "prefix");
    assert_string_equal(c->jobs[0].spec.fingerprint, shared->jobs[0].spec.fingerprint);
    config_free(c);
    config_free(shared);
    /* The lease is not padded for replies of a server. */
    c = place_load_text(*state, "store = \"local\"; jobs = { a = { plugin = \"exec\"; every = "
                                "\"5m\"; worst_case = \"1s\"; stop_grace = \"0s\"; }; };");
    assert_int_equal(c->jobs[0].spec.timing.lease_ms, 1000 + 1000 + 250 + 100);
    config_free(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        TEST(test_whose_job_it_is),
        TEST(test_another_device_is_another_job),
        TEST(test_patterns_are_matched_by_the_running_name),
        TEST(test_device_file),
        TEST(test_device_file_mistakes),
        TEST(test_device_file_on_reload),
        TEST(test_print_of_a_name_from_a_file),
        TEST(test_machine_id),
        TEST(test_machine_id_of_this_boot_only),
        TEST(test_requires_a_newer_one),
        TEST(test_requires),
        TEST(test_requires_no_such_version),
        TEST(test_local_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
