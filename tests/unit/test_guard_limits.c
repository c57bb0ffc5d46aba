/* SPDX-License-Identifier: MIT
 * Which limits are kept, by what, and what is said of the others. */
#include "guard/limits.h"
#include "unit.h"

#include <signal.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

static const struct limits all = {
    .memory_bytes = 64 * MIB,
    .cpu_time_ms = 2500,
    .open_files = 4096,
    .processes = 16,
    .file_size_bytes = 0,
    .core_bytes = MIB,
};

static struct limits_plan plan;

static struct limits_ground endless(void)
{
    struct limits_ground ground = { .may_raise = false };

    for (int i = 0; i < LIMIT_COUNT; i++)
        ground.now[i] = (struct rlimit){ .rlim_cur = 10, .rlim_max = RLIM_INFINITY };
    return ground;
}

static void assert_wanted(enum limit limit, rlim_t soft, rlim_t hard)
{
    assert_true(plan.is_set[limit]);
    assert_true(plan.wanted[limit].rlim_cur == soft);
    assert_true(plan.wanted[limit].rlim_max == hard);
}

static void test_each_is_kept_by_the_process(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    limits_plan(&all, &ground, &plan);
    assert_wanted(LIMIT_MEMORY, 64 * MIB, 64 * MIB);
    assert_wanted(LIMIT_CPU_TIME, 3, 4);
    assert_wanted(LIMIT_OPEN_FILES, 4096, 4096);
    assert_wanted(LIMIT_PROCESSES, 17, 17);
    assert_wanted(LIMIT_FILE_SIZE, 0, 0);
    assert_wanted(LIMIT_CORE, MIB, MIB);
    assert_string_equal(plan.unapplied, "");
}

static void test_what_is_not_limited_stays(void **state)
{
    const struct limits none = LIMITS_NONE;
    struct limits_ground ground = endless();

    (void)state;
    limits_plan(&none, &ground, &plan);
    for (int i = 0; i < LIMIT_COUNT; i++)
        assert_int_equal(plan.is_set[i], i == LIMIT_CORE);
    assert_wanted(LIMIT_CORE, 0, 0);
    assert_string_equal(plan.unapplied, "");
}

static void test_a_group_keeps_what_is_of_the_whole_tree(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.wants_group = ground.group_has_memory = ground.group_has_processes = true;
    ground.is_root = true;
    limits_plan(&all, &ground, &plan);
    assert_false(plan.is_set[LIMIT_MEMORY]);
    assert_false(plan.is_set[LIMIT_PROCESSES]);
    assert_true(plan.is_set[LIMIT_OPEN_FILES]);
    assert_string_equal(plan.unapplied, "");
}

static void test_a_group_without_controllers_is_told(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.wants_group = true;
    limits_plan(&all, &ground, &plan);
    assert_true(plan.is_set[LIMIT_MEMORY] && plan.is_set[LIMIT_PROCESSES]);
    assert_string_equal(plan.unapplied,
                        "limits.memory holds for each process, not for all together, since its "
                        "group has no memory controller; limits.processes counts all processes of "
                        "the job's user, since its group has no pids controller");
}

static void test_no_group_is_told_with_its_reason(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.wants_group = true;
    ground.is_root = true;
    ground.no_group = "the sky is low";
    limits_plan(&all, &ground, &plan);
    assert_string_equal(plan.unapplied,
                        "limits.memory holds for each process, not for all together, since the sky "
                        "is low; limits.processes is not kept, since the job runs as root");
    assert_false(plan.is_set[LIMIT_PROCESSES]);
}

static void test_a_hard_limit_that_cannot_rise_is_kept_and_told(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.now[LIMIT_OPEN_FILES].rlim_max = 100;
    ground.now[LIMIT_PROCESSES].rlim_max = 8;
    ground.now[LIMIT_MEMORY].rlim_max = 16 * MIB;
    ground.now[LIMIT_CPU_TIME].rlim_max = 2;
    limits_plan(&all, &ground, &plan);
    assert_wanted(LIMIT_OPEN_FILES, 100, 100);
    assert_wanted(LIMIT_PROCESSES, 8, 8);
    assert_wanted(LIMIT_MEMORY, 16 * MIB, 16 * MIB);
    assert_wanted(LIMIT_CPU_TIME, 2, 2);
    assert_string_equal(plan.unapplied,
                        "limits.memory is 16MiB, as the system allows no more; limits.cpu_time is "
                        "2s, as the system allows no more; limits.open_files is 100, as the system "
                        "allows no more; limits.processes is 7, as the system allows no more");
}

static void test_only_the_second_between_the_two_is_lost(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.now[LIMIT_CPU_TIME].rlim_max = 3;
    limits_plan(&all, &ground, &plan);
    assert_wanted(LIMIT_CPU_TIME, 3, 3);
    assert_string_equal(plan.unapplied, "");
}

static void test_who_may_raise_is_told_nothing(void **state)
{
    struct limits_ground ground = endless();

    (void)state;
    ground.may_raise = true;
    ground.now[LIMIT_OPEN_FILES].rlim_max = 100;
    limits_plan(&all, &ground, &plan);
    assert_wanted(LIMIT_OPEN_FILES, 4096, 4096);
    assert_string_equal(plan.unapplied, "");
}

static void test_much_to_tell_is_cut(void **state)
{
    struct limits_ground ground = endless();
    char why[LIMITS_UNAPPLIED_SIZE];

    (void)state;
    memset(why, 'x', sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    ground.wants_group = true;
    ground.no_group = why;
    limits_plan(&all, &ground, &plan);
    assert_int_equal(strlen(plan.unapplied), sizeof(plan.unapplied) - 1);
}

static void test_deaths_by_a_limit(void **state)
{
    (void)state;
    assert_string_equal(limits_death(SIGXCPU), "it used up its limits.cpu_time");
    assert_string_equal(limits_death(SIGXFSZ), "it wrote more than its limits.file_size");
    assert_null(limits_death(SIGKILL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_kept_by_the_process),
        cmocka_unit_test(test_what_is_not_limited_stays),
        cmocka_unit_test(test_a_group_keeps_what_is_of_the_whole_tree),
        cmocka_unit_test(test_a_group_without_controllers_is_told),
        cmocka_unit_test(test_no_group_is_told_with_its_reason),
        cmocka_unit_test(test_a_hard_limit_that_cannot_rise_is_kept_and_told),
        cmocka_unit_test(test_only_the_second_between_the_two_is_lost),
        cmocka_unit_test(test_who_may_raise_is_told_nothing),
        cmocka_unit_test(test_much_to_tell_is_cut),
        cmocka_unit_test(test_deaths_by_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
