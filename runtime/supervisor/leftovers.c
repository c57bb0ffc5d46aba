/* SPDX-License-Identifier: MIT */
#include "supervisor/leftovers.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int leftovers_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* State and parent from /proc/PID/stat: "pid (name) S ppid ..."; the name may hold anything, so
 * from its last ')'. */
static bool read_stat(pid_t pid, char *ret_state, pid_t *ret_parent)
{
    char path[40], line[512];
    const char *after;
    ssize_t n;
    int fd, parent;

    text_format(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n <= 0)
        return false;
    line[n] = 0;
    after = strrchr(line, ')');
    if (!after || sscanf(after, ") %c %d", ret_state, &parent) != 2)
        return false;
    *ret_parent = parent;
    return true;
}

int leftovers_kill(bool (*is_ours)(void *context, pid_t pid), void *context)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t self = getpid();
    int found = 0;

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent;
        char state;

        if (pid <= 1 || !read_stat(pid, &state, &parent) || parent != self || is_ours(context, pid))
            continue;
        if (state == 'Z' || state == 'X')
            continue;
        kill(pid, SIGKILL);
        found++;
    }
    closedir(proc);
    return found;
}
