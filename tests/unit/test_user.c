/* SPDX-License-Identifier: MIT
 * base/user: the group file, and the right to switch. */
#include "base/user.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/rota-user-XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_group_by_name(void **state)
{
    gid_t gid = 7;

    (void)state;
    write_file("# a comment\nroot:x:0:\n\nbroken\nodd:x:-3:\nodd:x:12a:\nodd:x:4294967295:\n"
               "odd:x:99999999999999999999:\nstaff:x:50:kim,lee\nlast:x:51:");
    assert_int_equal(user_group_by_name_in(path, "staff", &gid), 0);
    assert_int_equal(gid, 50);
    assert_int_equal(user_group_by_name_in(path, "last", &gid), 0);
    assert_int_equal(gid, 51);
    assert_int_equal(user_group_by_name_in(path, "root", &gid), 0);
    assert_int_equal(gid, 0);
    gid = 7;
    assert_int_equal(user_group_by_name_in(path, "odd", &gid), -ENOENT);
    assert_int_equal(user_group_by_name_in(path, "kim", &gid), -ENOENT);
    assert_int_equal(user_group_by_name_in("/no/such/file", "root", &gid), -ENOENT);
    assert_int_equal(gid, 7);
}

static void test_groups_of_a_user(void **state)
{
    uint32_t groups[USER_GROUPS_MAX];

    (void)state;
    write_file("kim:x:1000:\na:x:1:kim\nb:x:2:lee,kim\nc:x:3:kimberly,akim\nd:x:4:x,kim,y\n"
               "e:x:5:kim:extra");
    assert_int_equal(user_groups_in(path, "kim", groups), 3);
    assert_int_equal(groups[0], 1);
    assert_int_equal(groups[1], 2);
    assert_int_equal(groups[2], 4);
    assert_int_equal(user_groups_in(path, "nobody", groups), 0);
    assert_int_equal(user_groups_in("/no/such/file", "kim", groups), -ENOENT);
}

/* The C library gives a line "+" the uid 0, and no folder. */
static void test_lines_of_nis_name_nobody(void **state)
{
    uint32_t groups[USER_GROUPS_MAX];
    struct user user;
    gid_t gid;

    (void)state;
    write_file("+\n+kim::::::\n-lee::::::\n+@all::::::\nkim:x:1000:100:Kim:/home/kim:/bin/sh\n");
    assert_int_equal(user_by_name_in(path, "+", &user), -ENOENT);
    assert_int_equal(user_by_name_in(path, "+kim", &user), -ENOENT);
    assert_int_equal(user_by_name_in(path, "-lee", &user), -ENOENT);
    assert_int_equal(user_by_name_in(path, "kim", &user), 0);
    assert_int_equal(user.uid, 1000);
    assert_string_equal(user.home, "/home/kim");
    write_file("+:::\n+staff:x:60:kim\nstaff:x:50:kim\n");
    assert_int_equal(user_group_by_name_in(path, "+", &gid), -ENOENT);
    assert_int_equal(user_group_by_name_in(path, "+staff", &gid), -ENOENT);
    assert_int_equal(user_groups_in(path, "kim", groups), 1);
    assert_int_equal(groups[0], 50);
}

/* A group of a whole company, whose last member counts too. */
static void test_long_lines(void **state)
{
    char *text = malloc(256 * 1024);
    uint32_t groups[USER_GROUPS_MAX];
    size_t used = 0;
    gid_t gid;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "all:x:600:");
    for (int i = 0; i < 10000; i++)
        used += (size_t)sprintf(text + used, "person%05d,", i);
    strcpy(text + used, "kim\nnext:x:601:kim\n");
    write_file(text);
    free(text);
    assert_int_equal(user_groups_in(path, "kim", groups), 2);
    assert_int_equal(groups[0], 600);
    assert_int_equal(user_group_by_name_in(path, "all", &gid), 0);
    assert_int_equal(user_group_by_name_in(path, "next", &gid), 0);
}

/* Of a user's line only the short ones are understood; a long one hides no other. */
static void test_long_lines_of_users(void **state)
{
    struct user user;
    char text[8192];

    (void)state;
    snprintf(text, sizeof(text),
             "lee:x:1:1:%05000d:/:/bin/sh\n%02047d\nkim:x:1000:100::/home/kim:/bin/sh", 0, 0);
    write_file(text);
    assert_int_equal(user_by_name_in(path, "lee", &user), -ENOENT);
    assert_int_equal(user_by_name_in(path, "kim", &user), 0);
    assert_int_equal(user.uid, 1000);
}

static void test_too_many_groups(void **state)
{
    uint32_t groups[USER_GROUPS_MAX];
    char text[32 * (USER_GROUPS_MAX + 1)];
    size_t used = 0;

    (void)state;
    for (int i = 0; i < USER_GROUPS_MAX; i++)
        used += (size_t)sprintf(text + used, "g%d:x:%d:kim\n", i, i);
    write_file(text);
    assert_int_equal(user_groups_in(path, "kim", groups), USER_GROUPS_MAX);
    strcpy(text + used, "more:x:999:kim\n");
    write_file(text);
    assert_int_equal(user_groups_in(path, "kim", groups), -E2BIG);
}

static void test_who_may_switch(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (!user_may_switch())
        skip();
    pid = fork();
    if (pid == 0)
        _exit(setresuid(65534, 65534, 65534) < 0 || user_may_switch());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_by_name),
        cmocka_unit_test(test_groups_of_a_user),
        cmocka_unit_test(test_lines_of_nis_name_nobody),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_long_lines_of_users),
        cmocka_unit_test(test_too_many_groups),
        cmocka_unit_test(test_who_may_switch),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
