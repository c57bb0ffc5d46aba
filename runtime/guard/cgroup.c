/* SPDX-License-Identifier: MIT */
#include "guard/cgroup.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "guard/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_text(int folder, const char *name, const char *text)
{
    CLEANUP_CLOSE int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Whether the limit is kept. A group that is taken again may have an older one: 0 is written too.
 */
static bool set_limit(int folder, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return write_text(folder, name, value > 0 ? text : "max") == 0;
}

/* The number that follows `key` in a file of lines "KEY NUMBER"; -1 where there is none. */
static long read_number(int folder, const char *name, const char *key)
{
    CLEANUP_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    char text[512], *at;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (n < 0)
        return -1;
    text[n] = '\0';
    at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static void set_limits(const struct limits *limits, struct cgroup *group)
{
    int64_t tasks = limits->processes > 0 ? limits->processes + LIMITS_OWN_THREADS : 0;

    group->has_memory = set_limit(group->folder, "memory.max", limits->memory_bytes);
    if (group->has_memory) {
        /* What would be swapped out counts too, and no half of a job goes on alone. Either file may
         * be absent, by the kernel's settings. */
        write_text(group->folder, "memory.swap.max", limits->memory_bytes > 0 ? "0" : "max");
        write_text(group->folder, "memory.oom.group", "1");
    }
    group->has_processes = set_limit(group->folder, "pids.max", tasks);
}

int cgroup_make(const char *parent, const char *job, const struct limits *limits,
                struct cgroup *ret_group)
{
    struct cgroup group = { .folder = -1 };
    char path[PATH_MAX];

    if (!text_format(path, sizeof(path), "%s/%s", parent, job))
        return -ENAMETOOLONG;
    /* One that a killed guard left behind has counted already. */
    rmdir(path);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    group.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group.folder < 0)
        return -errno;
    /* A former run may have left what nobody can kill. */
    if (read_number(group.folder, "cgroup.events", "populated ") != 0) {
        close(group.folder);
        return -EBUSY;
    }
    set_limits(limits, &group);
    *ret_group = group;
    return 0;
}

int cgroup_join(const char *parent, const char *job)
{
    char path[PATH_MAX];

    if (!text_format(path, sizeof(path), "%s/%s/cgroup.procs", parent, job))
        return -ENAMETOOLONG;
    return write_text(AT_FDCWD, path, "0");
}

void cgroup_kill(int folder)
{
    if (folder >= 0)
        write_text(folder, "cgroup.kill", "1");
}

bool cgroup_ran_out_of_memory(int folder)
{
    return folder >= 0 && read_number(folder, "memory.events", "oom_kill ") > 0;
}

void cgroup_remove(const char *parent, const char *job, int folder)
{
    char path[PATH_MAX];

    if (folder < 0)
        return;
    close(folder);
    if (text_format(path, sizeof(path), "%s/%s", parent, job))
        rmdir(path);
}
