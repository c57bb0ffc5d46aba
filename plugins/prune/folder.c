/* SPDX-License-Identifier: MIT */
#include "folder.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

/* Nobody means these as a whole. Compared by what they are, so that no spelling and no link to one
 * gets past. */
static const char *const system_folders[] = {
    "/",        "/bin",     "/boot",      "/dev",      "/etc",       "/home", "/lib",     "/lib32",
    "/lib64",   "/libx32",  "/proc",      "/root",     "/run",       "/sbin", "/sys",     "/usr",
    "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var",  "/var/lib",
};

#define SYSTEM_FOLDERS (sizeof(system_folders) / sizeof(system_folders[0]))

int folder_open(const char *path, int mode)
{
    int fd = open(path, mode | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

const char *folder_why_not(int fd)
{
    struct statx st, other;
    struct statfs fs;

    if (fstatfs(fd, &fs) == 0 && (fs.f_type == (__typeof__(fs.f_type))PROC_SUPER_MAGIC ||
                                  fs.f_type == (__typeof__(fs.f_type))SYSFS_MAGIC))
        return "is the kernel's";
    if (walk_look(fd, "", &st) < 0)
        return NULL;
    for (size_t i = 0; i < SYSTEM_FOLDERS; i++)
        if (statx(AT_FDCWD, system_folders[i], AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &other) == 0 &&
            walk_is_same(&st, &other))
            return "is a folder of the system, which is not pruned as a whole";
    return NULL;
}
