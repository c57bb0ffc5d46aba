/* SPDX-License-Identifier: MIT
 * Keys that had another name before: the reader with rows of the test's own. */
#define RENAMED_KEYS                                                                               \
    { SCHEMA_TOP, "least_level", "log_level", 0, 7 }, { SCHEMA_REDIS, "server", "address", 0, 7 }, \
        { SCHEMA_JOB, "longest", "worst_case", 0, 7 }, { SCHEMA_LIMITS, "ram", "memory", 1, 2 },
#include "config/group.c"

#include "test_config_support.h"
#include <stdlib.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"

static void test_an_old_name_is_read_as_the_new_one(void **state)
{
    struct config *c = place_load_text(*state, "prefix = \"a:\";\n"
                                               "least_level = \"debug\";\n"
                                               "redis = {\n  server = \"127.0.0.1:6379\"; };\n"
                                               "jobs = { a = { plugin = \"exec\"; every = \"5m\";\n"
                                               "  longest = \"40s\";\n"
                                               "  limits = {\n    ram = \"2MiB\"; }; }; };\n");

    place_expect(*state, c,
                 "warning /rotad.conf:2: least_level is the old name of log_level, and works up to "
                 "rota 0.8; write log_level\n"
                 "warning /rotad.conf:4: redis.server is the old name of redis.address, and works "
                 "up to rota 0.8; write address\n"
                 "warning /rotad.conf:6: job 'a': longest is the old name of worst_case, and works "
                 "up to rota 0.8; write worst_case\n"
                 "warning /rotad.conf:8: job 'a': limits.ram is the old name of limits.memory, and "
                 "works up to rota 1.3; write memory\n");
    assert_false(c->fatal);
    assert_int_equal(c->log_level, 7);
    assert_true(c->redis.configured);
    assert_true(config_job_runs(&c->jobs[0]));
    assert_int_equal(c->jobs[0].spec.timing.worst_case_ms, 40000);
    assert_int_equal(c->jobs[0].setup->limits.memory_bytes, 2 << 20);
    config_free(c);
}

static void expect_both(void **state, const char *first, const char *second, int line)
{
    char text[512], problems[256];
    struct config *c;

    snprintf(text, sizeof(text),
             SERVER "jobs = { a = { plugin = \"exec\"; every = \"5m\";\n%s\n%s\n}; };\n", first,
             second);
    snprintf(problems, sizeof(problems),
             "error /rotad.conf:%d: job 'a': longest is the old name of worst_case, which is "
             "written too; remove longest\n",
             line);
    c = place_load_text(*state, text);
    place_expect(*state, c, problems);
    assert_true(c->jobs[0].invalid);
    config_free(c);
}

static void test_both_names_are_a_mistake_at_the_old_one(void **state)
{
    expect_both(state, "longest = \"40s\";", "worst_case = \"30s\";", 3);
    expect_both(state, "worst_case = \"30s\";", "longest = \"40s\";", 4);
}

static void test_a_wrong_value_is_told_under_the_new_name(void **state)
{
    struct config *c = place_load_text(*state, SERVER "jobs = { a = { plugin = \"exec\"; "
                                                      "every = \"5m\";\nlongest = true;\n}; };\n");
    char *problems = place_problems(*state, c);

    assert_non_null(strstr(problems, "error /rotad.conf:3: job 'a': worst_case is true; write "));
    assert_null(strstr(problems, "is missing"));
    free(problems);
    config_free(c);
}

/* A slip of it, and it in another group: both are led to names of today. */
static void test_old_names_are_not_offered(void **state)
{
    struct config *c = place_load_text(
        *state, SERVER "longest = \"1m\";\n"
                       "jobs = { a = { plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\";\n"
                       "longes = \"40s\";\n}; };\n");

    place_expect(*state, c,
                 "error /rotad.conf:2: unknown key 'longest'\n"
                 "error /rotad.conf:4: job 'a': unknown key 'longes'\n");
    config_free(c);
}

static void test_nothing_tells_the_two_apart_afterwards(void **state)
{
    static const char text[] = SERVER "jobs = { a = { plugin = \"exec\"; every = \"5m\";\n"
                                      "%s = \"40s\";\n}; };\n";
    const char *const names[] = { "longest", "worst_case" };
    struct config *c[2];
    char *printed[2];
    size_t size;

    for (int i = 0; i < 2; i++) {
        char conf[512];
        FILE *out = open_memstream(&printed[i], &size);

        assert_non_null(out);
        snprintf(conf, sizeof(conf), text, names[i]);
        c[i] = place_load_text(*state, conf);
        assert_int_equal(config_print(c[i], out), 0);
        assert_int_equal(fclose(out), 0);
    }
    assert_string_equal(printed[0], printed[1]);
    assert_non_null(strstr(printed[0], "    worst_case = \"40s\";\n"));
    assert_null(config_fixed_change(c[0], c[1]));
    assert_true(config_job_equal(&c[0]->jobs[0], &c[1]->jobs[0]));
    for (int i = 0; i < 2; i++) {
        config_free(c[i]);
        free(printed[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_old_name_is_read_as_the_new_one, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(test_both_names_are_a_mistake_at_the_old_one, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(test_a_wrong_value_is_told_under_the_new_name, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(test_old_names_are_not_offered, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_tells_the_two_apart_afterwards, place_setup,
                                        place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
