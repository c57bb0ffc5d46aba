/* SPDX-License-Identifier: MIT */
#include "guard/network.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int raise_loopback(void)
{
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };

    return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0 ? -errno : 0;
}

int network_leave(void)
{
    return unshare(CLONE_NEWNET) < 0 ? -errno : raise_loopback();
}

static int write_file(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int map_to_itself(const char *path, unsigned id)
{
    char line[32];

    snprintf(line, sizeof(line), "%u %u 1\n", id, id);
    return write_file(path, line);
}

int network_leave_as(uid_t uid, gid_t gid)
{
    int r;

    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return -errno;
    /* Else the files below are root's. */
    if (prctl(PR_SET_DUMPABLE, 1) < 0)
        return -errno;
    r = map_to_itself("/proc/self/uid_map", uid);
    if (r == 0)
        r = write_file("/proc/self/setgroups", "deny");
    if (r == 0)
        r = map_to_itself("/proc/self/gid_map", gid);
    return r < 0 ? r : raise_loopback();
}
