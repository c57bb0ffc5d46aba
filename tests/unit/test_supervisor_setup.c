/* SPDX-License-Identifier: MIT
 * What a guard is told of as whom, where and within what its job runs. */
#include "supervisor/setup.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct worker_user fallback;
static struct delegation cgroups;
static struct setup_env env;
static struct job_setup job;
static const struct job_config config = { .setup = &job };
static const uint32_t groups[] = { 20, 21 };

static int setup(void **state)
{
    (void)state;
    fallback = (struct worker_user){
        .other = true, .user = { .uid = 990, .gid = 991, .name = "rota-job", .home = "/home/j" }
    };
    cgroups = (struct delegation){ .folder = NULL };
    env = (struct setup_env){ .user = &fallback, .cgroups = &cgroups };
    job = (struct job_setup){ .network = true, .limits = LIMITS_NONE };
    return 0;
}

static void name_user(uint32_t uid)
{
    static char user[] = "kim", home[] = "/home/kim";

    job.user = user;
    job.identity = (struct job_identity){
        .uid = uid,
        .gid = 1001,
        .groups = (uint32_t *)(uintptr_t)groups,
        .group_count = 2,
        .home = home,
    };
}

static void test_the_default_user(void **state)
{
    struct message_setup s = setup_of_job(&env, &config);

    (void)state;
    assert_int_equal(s.switch_user, user_may_switch());
    assert_int_equal(s.uid, 990);
    assert_int_equal(s.gid, 991);
    assert_int_equal(s.group_count, 0);
    assert_string_equal(s.user, "rota-job");
    assert_string_equal(s.home, "/home/j");
    assert_true(s.apart);
    assert_null(s.working_dir);
    assert_false(s.no_network);
    assert_null(s.cgroup);
}

/* The folder is known to those alone whose parameters name what is in it. */
static void test_credentials(void **state)
{
    const char *list[] = { "credential:pg" };
    struct param_value params[] = {
        { .name = "a", .kind = PARAM_TEXT, .text = "credentials" },
        { .name = "b", .kind = PARAM_LIST, .items = list, .count = 1 },
        { .name = "c", .kind = PARAM_TEXT, .text = "credential:pg" },
    };
    struct job_config named = { .setup = &job, .params = params, .param_count = 2 };

    (void)state;
    setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1);
    assert_null(setup_of_job(&env, &config).credentials);
    assert_null(setup_of_job(&env, &named).credentials);
    named.param_count = 3;
    assert_string_equal(setup_of_job(&env, &named).credentials, "/run/credentials/x");
    unsetenv("CREDENTIALS_DIRECTORY");
    assert_null(setup_of_job(&env, &named).credentials);
}

static void test_a_user_of_its_own(void **state)
{
    struct message_setup s;

    (void)state;
    name_user(1000);
    s = setup_of_job(&env, &config);
    assert_int_equal(s.switch_user, user_may_switch());
    assert_int_equal(s.uid, 1000);
    assert_int_equal(s.gid, 1001);
    assert_int_equal(s.group_count, 2);
    assert_ptr_equal(s.groups, groups);
    assert_string_equal(s.user, "kim");
    assert_string_equal(s.home, "/home/kim");
    assert_false(s.apart);
}

static void test_a_group_alone(void **state)
{
    static char group[] = "dialout";
    struct message_setup s;

    (void)state;
    job.group = group;
    job.identity.gid = 20;
    s = setup_of_job(&env, &config);
    assert_int_equal(s.uid, 990);
    assert_int_equal(s.gid, 20);
    assert_int_equal(s.group_count, 0);
    assert_true(s.apart);
    fallback.other = false;
    assert_int_equal(setup_of_job(&env, &config).switch_user, user_may_switch());
}

static void test_rotads_own_user(void **state)
{
    struct message_setup s;

    (void)state;
    fallback.other = false;
    s = setup_of_job(&env, &config);
    assert_false(s.switch_user);
    assert_true(s.apart);
    fallback.user.uid = 0;
    assert_false(setup_of_job(&env, &config).apart);
}

/* 64 of them, unless that would count those of a person or a service. */
static void test_processes(void **state)
{
    (void)state;
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 64);
    name_user(1000);
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 0);
    job.user = NULL;
    fallback.other = false;
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 0);
    cgroups.folder = (char[]){ "/cgroup" };
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 0);
    assert_string_equal(setup_of_job(&env, &config).cgroup, "/cgroup");
    cgroups.counts_processes = true;
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 64);
    job.limits.processes = 5;
    assert_int_equal(setup_of_job(&env, &config).limits.processes, 5);
}

static void test_the_rest(void **state)
{
    static char a[] = "A=1", b[] = "B=", place[] = "/data";
    char *variables[] = { a, b, NULL };
    struct message_setup s;

    (void)state;
    job.environment = variables;
    job.working_dir = place;
    job.network = false;
    job.limits.core_bytes = 9;
    env.cgroups = NULL;
    s = setup_of_job(&env, &config);
    assert_int_equal(s.environment_count, 2);
    assert_string_equal(s.environment[1], "B=");
    assert_string_equal(s.working_dir, "/data");
    assert_true(s.no_network);
    assert_int_equal(s.limits.core_bytes, 9);
    assert_true(s.limits.file_size_bytes == -1);
}

#define TEST(function) cmocka_unit_test_setup(function, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_default_user), TEST(test_credentials),     TEST(test_a_user_of_its_own),
        TEST(test_a_group_alone),    TEST(test_rotads_own_user), TEST(test_processes),
        TEST(test_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
