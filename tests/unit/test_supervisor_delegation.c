/* SPDX-License-Identifier: MIT
 * What systemd has delegated: on a tree of plain files, and, where this machine lets us make
 * a group, on the kernel's own. */
#include "base/text.h"
#include "supervisor/delegation.h"
#include "support/folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define GROUP "/system.slice/rotad.service"

static char folder[64];
static bool refuses_cpu;

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (refuses_cpu && memmem(bytes, size, "+cpu", 4)) {
        errno = EINVAL;
        return -1;
    }
    return __real_write(fd, bytes, size);
}

static const char *path(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *p = paths[turn++ % 4];

    assert_true(text_format(p, sizeof(paths[0]), "%s%s", folder, name));
    return p;
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(path(name), "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_text(const char *name, const char *text)
{
    char found[256] = "";
    FILE *f = fopen(path(name), "re");

    assert_non_null(f);
    found[fread(found, 1, sizeof(found) - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(found, text);
}

static bool exists(const char *name)
{
    return access(path(name), F_OK) == 0;
}

static void make(const char *name)
{
    assert_return_code(mkdir(path(name), 0755), errno);
}

static void delegate(const char *name, const char *value)
{
    if (setxattr(path(name), "user.delegate", value, strlen(value), 0) < 0)
        skip(); /* a file system without them */
}

/* A service with all that systemd gives it, as the kernel shows it. */
static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/rota-delegation-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    make("/cgroup");
    make("/cgroup/system.slice");
    make("/cgroup" GROUP);
    make("/cgroup" GROUP "/_supervisor");
    write_text("/cgroup" GROUP "/_supervisor/cgroup.procs", "");
    write_text("/cgroup" GROUP "/cgroup.subtree_control", "");
    write_text("/cgroup" GROUP "/cgroup.controllers", "cpu io memory pids\n");
    write_text("/self", "5:memory:/x\n0::" GROUP "\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return folder_remove(folder);
}

static int take(struct delegation *d)
{
    const struct delegation_source source = { path("/self"), path("/cgroup") };

    *d = (struct delegation){ .folder = NULL };
    return delegation_take(&source, d);
}

static void expect_taken_at(const char *group, bool counts)
{
    char procs[128];
    struct delegation d;

    snprintf(procs, sizeof(procs), "%s/_supervisor/cgroup.procs", group);
    assert_return_code(take(&d), 0);
    assert_non_null(d.folder);
    assert_string_equal(d.folder, path(group));
    assert_int_equal(d.counts_processes, counts);
    expect_text(procs, "0");
    delegation_done(&d);
}

static void expect_taken(bool counts)
{
    expect_taken_at("/cgroup" GROUP, counts);
}

static void expect_nothing(void)
{
    struct delegation d;

    assert_return_code(take(&d), 0);
    assert_null(d.folder);
    expect_text("/cgroup" GROUP "/_supervisor/cgroup.procs", "");
    expect_text("/cgroup" GROUP "/cgroup.subtree_control", "");
    delegation_done(&d);
}

static void test_delegated(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    expect_taken(true);
    expect_text("/cgroup" GROUP "/cgroup.subtree_control", "+cpu +memory +pids");
}

/* Some kernels do, where a process in real time is outside of the root's group. */
static void test_cpu_is_refused(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    refuses_cpu = true;
    expect_taken(true);
    refuses_cpu = false;
    expect_text("/cgroup" GROUP "/cgroup.subtree_control", "+memory +pids");
}

static void test_not_delegated(void **state)
{
    (void)state;
    expect_nothing();
    delegate("/cgroup/system.slice", "1");
    expect_nothing();
    delegate("/cgroup" GROUP, "0");
    expect_nothing();
}

static void test_no_such_hierarchy(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    write_text("/self", "5:memory:" GROUP "\n");
    expect_nothing();
    write_text("/self", "0::/\n");
    expect_nothing();
    write_text("/self", "0::" GROUP "/below\n");
    expect_nothing();
    assert_return_code(unlink(path("/self")), errno);
    expect_nothing();
}

/* A system with the groups of version 1 too. */
static void test_one_level_down(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    assert_return_code(rename(path("/cgroup"), path("/unified")), errno);
    make("/cgroup");
    assert_return_code(rename(path("/unified"), path("/cgroup/unified")), errno);
    expect_taken_at("/cgroup/unified" GROUP, true);
}

/* systemd from 254 on can put the service into a group below at once. */
static void test_in_its_place_already(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    write_text("/self", "0::" GROUP "/_supervisor\n");
    expect_taken(true);
}

static void test_controllers_that_are_not_there(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    write_text("/cgroup" GROUP "/cgroup.controllers", "cpuset memory\n");
    expect_taken(false);
    expect_text("/cgroup" GROUP "/cgroup.subtree_control", "+memory ");
    write_text("/cgroup" GROUP "/cgroup.subtree_control", "");
    write_text("/cgroup" GROUP "/cgroup.controllers", "\n");
    expect_taken(false);
    expect_text("/cgroup" GROUP "/cgroup.subtree_control", "");
}

static void test_what_cannot_be_used(void **state)
{
    struct delegation d;

    (void)state;
    delegate("/cgroup" GROUP, "1");
    assert_return_code(unlink(path("/cgroup" GROUP "/cgroup.subtree_control")), errno);
    assert_int_equal(take(&d), -ENOENT);
    assert_null(d.folder);
    assert_return_code(unlink(path("/cgroup" GROUP "/_supervisor/cgroup.procs")), errno);
    assert_int_equal(take(&d), -ENOENT);
}

static void test_empty_groups_are_removed(void **state)
{
    (void)state;
    delegate("/cgroup" GROUP, "1");
    make("/cgroup" GROUP "/nightly");
    make("/cgroup" GROUP "/supervisor");
    make("/cgroup" GROUP "/.control");
    make("/cgroup" GROUP "/busy");
    make("/cgroup" GROUP "/busy/x");
    expect_taken(true);
    assert_false(exists("/cgroup" GROUP "/nightly"));
    assert_false(exists("/cgroup" GROUP "/supervisor"));
    assert_true(exists("/cgroup" GROUP "/.control"));
    assert_true(exists("/cgroup" GROUP "/busy"));
    assert_true(exists("/cgroup" GROUP "/_supervisor"));
}

#define REAL "/sys/fs/cgroup/unified"

/* In a process of its own: it moves. */
static void live_in(const char *group)
{
    const struct delegation_source source = { "/proc/self/cgroup", "/sys/fs/cgroup" };
    char text[256], own[256];
    struct delegation d = { .folder = NULL };
    int fd;

    snprintf(text, sizeof(text), "%s/cgroup.procs", group);
    fd = open(text, O_WRONLY);
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(1);
    if (delegation_take(&source, &d) < 0 || !d.folder || strcmp(d.folder, group) != 0)
        _exit(2);
    snprintf(text, sizeof(text), "0::%s/_supervisor\n", group + strlen(REAL));
    fd = open("/proc/self/cgroup", O_RDONLY);
    for (ssize_t n, used = 0; (n = read(fd, own + used, sizeof(own) - 1 - (size_t)used)) > 0;)
        own[used += n] = '\0';
    _exit(strstr(own, text) ? 0 : 3);
}

/* Waits until the kernel lets go of the group. */
static void remove_group(const char *group)
{
    for (int i = 0; i < 1000 && rmdir(group) < 0 && errno == EBUSY; i++)
        usleep(1000);
    assert_int_not_equal(access(group, F_OK), 0);
}

static void test_the_kernels_own(void **state)
{
    char group[128], below[192];
    int status;
    pid_t pid;

    (void)state;
    snprintf(group, sizeof(group), REAL "/rota-test-%d", (int)getpid());
    if (mkdir(group, 0755) < 0)
        skip();
    if (setxattr(group, "user.delegate", "1", 1, 0) < 0) {
        remove_group(group);
        skip();
    }
    snprintf(below, sizeof(below), "%s/leftover", group);
    assert_return_code(mkdir(below, 0755), errno);
    pid = fork();
    if (pid == 0)
        live_in(group);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(access(below, F_OK), 0);
    snprintf(below, sizeof(below), "%s/_supervisor", group);
    remove_group(below);
    remove_group(group);
    assert_int_equal(status, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_delegated),
        TEST(test_cpu_is_refused),
        TEST(test_not_delegated),
        TEST(test_no_such_hierarchy),
        TEST(test_one_level_down),
        TEST(test_in_its_place_already),
        TEST(test_controllers_that_are_not_there),
        TEST(test_what_cannot_be_used),
        TEST(test_empty_groups_are_removed),
        cmocka_unit_test(test_the_kernels_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
