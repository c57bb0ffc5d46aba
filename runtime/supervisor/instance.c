/* SPDX-License-Identifier: MIT */
#include "supervisor/instance.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

int instance_lock(const char *runtime_dir, int *ret_fd)
{
    CLEANUP_CLOSE int fd = -1;
    char path[PATH_MAX];

    if (!text_format(path, sizeof(path), "%s/lock", runtime_dir))
        return -ENAMETOOLONG;
    if (mkdir(runtime_dir, 0755) < 0 && errno != EEXIST)
        return -errno;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    *ret_fd = cleanup_take_fd(&fd);
    return 0;
}
